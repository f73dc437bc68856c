// cairn/collected/ref_array.hpp - a growable array of references, in a collected object.
//
//      squad (collected)                       16 << k bytes, collected too
//      +----------------------------+          +----+----+----+----+
//      | members: buffer, size, cap-+--------->| ref| ref| ref| -  |
//      +----------------------------+          +----+----+----+----+
//
//      struct squad {
//          cairn::ref_array<hero> members;
//          using references = cairn::refers_to<&squad::members>;
//      };
//
// The buffer is an object of the same heap: growth makes another, and the old one is garbage. Large
// buffers are traced 128 references at a time, so they lengthen no pause.
//
// Cost:    12 bytes; reading an element: two loads. push_back: amortized O(1); erase: O(size).
// Threads: that of the heap.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/collected/ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class T>
class ref_array {
public:
    using element_type = T;

    /// Goes through the elements as T*. Good until the array changes.
    class iterator {
    public:
        iterator(const ref_array* array, std::uint32_t index) noexcept
            : array_{array}, index_{index} {}
        T* operator*() const noexcept { return (*array_)[index_]; }
        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        friend bool operator==(const iterator& a, const iterator& b) noexcept {
            return a.index_ == b.index_;
        }

    private:
        const ref_array* array_;
        std::uint32_t index_;
    };

    ref_array() noexcept {
        if constexpr (asserts_enabled) { detail::check_new_ref(this, nullptr); }
    }
    ref_array(const ref_array&) = delete;
    ref_array& operator=(const ref_array&) = delete;

    [[nodiscard]] std::size_t size() const noexcept {
        if constexpr (asserts_enabled) { detail::check_load(&buffer_); }
        return buffer_ == 0 ? 0 : size_;
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return buffer_ == 0 ? 0 : capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }
    [[nodiscard]] iterator end() const noexcept {
        return {this, static_cast<std::uint32_t>(size())};
    }

    /// Requires: index < size().
    [[nodiscard]] T* operator[](std::size_t index) const noexcept {
        check_index(index);
        const detail::object_name name = words()[index];
        return name == 0 ? nullptr : static_cast<T*>(detail::object_at(this, name));
    }
    /// Requires: index < size(); `target` is null or in the same heap.
    void set(std::size_t index, T* target) noexcept {
        check_index(index);
        overwrite(words()[index], target);
    }

    /// Returns: false when the heap is exhausted; nothing has changed then.
    /// Requires: `target` is null or in the same heap.
    [[nodiscard]] bool push_back(T* target) noexcept {
        if (size() == capacity() && !reserve(size() == 0 ? 4 : 2 * size())) { return false; }
        overwrite(words()[size_], target);
        ++size_;
        return true;
    }
    /// Requires: not empty().
    void pop_back() noexcept {
        check_index(size_ - 1);
        overwrite(words()[--size_], nullptr);
    }
    /// Takes the element out; those behind it move up.
    void erase(std::size_t index) noexcept {
        check_index(index);
        for (std::size_t i = index + 1; i < size_; ++i) { set(i - 1, (*this)[i]); }
        pop_back();
    }
    /// Takes the element out; the last one takes its place.
    void swap_erase(std::size_t index) noexcept {
        check_index(index);
        set(index, (*this)[size_ - 1]);
        pop_back();
    }
    /// Takes all out; the buffer is garbage.
    void clear() noexcept {
        detail::overwrite(buffer_, 0);
        size_ = capacity_ = 0;
    }

    /// Makes room for `count` elements.
    /// Returns: false when the heap is exhausted; nothing has changed then.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        if (count <= capacity()) { return true; }
        if (count > detail::region_alignment / sizeof(detail::object_name)) { return false; }
        auto wanted = static_cast<std::uint32_t>(count);
        void* const buffer = detail::take_array(detail::region_of(this), wanted);
        if (buffer == nullptr) { return false; }
        for (std::size_t i = 0; i < size(); ++i) {
            static_cast<detail::object_name*>(buffer)[i] = words()[i];
        }
        size_ = static_cast<std::uint32_t>(size());
        // The old buffer stays as it is for the running cycle: it may be half traced.
        detail::overwrite(buffer_, detail::name_of(buffer));
        capacity_ = wanted;
        return true;
    }

private:
    friend visitor;

    [[nodiscard]] detail::object_name* words() const noexcept {
        return static_cast<detail::object_name*>(detail::object_at(this, buffer_));
    }
    void check_index([[maybe_unused]] std::size_t index) const noexcept {
        CAIRN_ASSERT(index < size(), "the index is below size()",
                     detail::beyond_end(this, "ref_array", index, size()));
    }
    void overwrite(detail::object_name& word, T* target) noexcept {
        if constexpr (asserts_enabled) { detail::check_store(&buffer_, target); }
        detail::overwrite(word, detail::name_of(target));
    }
    detail::object_name buffer_ = 0;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = 0;
};
static_assert(sizeof(ref_array<int>) == 12);

}}  // namespace cairn::CAIRN_FLAVOUR
