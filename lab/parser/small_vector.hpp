// lab/parser/small_vector.hpp - up to N elements inside the object, malloc beyond: the limit for
// lists that live in nodes. Trivial elements only; as much of std::vector as the parser needs.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace lab::parser {

template <class T, std::size_t N>
class small_vector {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    small_vector() noexcept = default;
    small_vector(small_vector&& from) noexcept { take(from); }
    small_vector& operator=(small_vector&& from) noexcept {
        if (this != &from) {
            release();
            take(from);
        }
        return *this;
    }
    ~small_vector() { release(); }

    void push_back(T value) {
        if (size_ == capacity_) [[unlikely]]
            grow();
        data_[size_++] = value;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const T* begin() const noexcept { return data_; }
    [[nodiscard]] const T* end() const noexcept { return data_ + size_; }

private:
    [[gnu::noinline]] void grow() {
        T* const room = static_cast<T*>(std::malloc(2 * capacity_ * sizeof(T)));
        if (room == nullptr) throw std::bad_alloc{};
        std::memcpy(room, data_, size_ * sizeof(T));
        release();
        data_ = room;
        capacity_ *= 2;
    }
    void release() noexcept {
        if (data_ != inside_) std::free(data_);
    }
    void take(small_vector& from) noexcept {
        size_ = from.size_;
        capacity_ = from.capacity_;
        if (from.data_ == from.inside_) {
            data_ = inside_;
            std::memcpy(inside_, from.inside_, sizeof inside_);
        } else {
            data_ = from.data_;
        }
        from.data_ = from.inside_;
        from.size_ = 0;
        from.capacity_ = N;
    }

    T* data_ = inside_;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = N;
    T inside_[N];
};

}  // namespace lab::parser
