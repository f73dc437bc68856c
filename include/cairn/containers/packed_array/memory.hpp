// cairn/containers/packed_array/memory.hpp - memory of packed objects, and how it grows.
//
//      1. room:    in place, or a block beside the old one   [ a | b | c ]   [   |   |   |   |   ]
//      2. build:   the new object, where it will stand                       [   |   |   | d |   ]
//      3. move:    the others; only now does the old block go                [ a | b | c | d |   ]
//
// In this order a new object may be built from one that is here, and a constructor that throws
// leaves everything as it was.
//
// Invariant: rows 0 ... size() - 1 are alive, the rest of the capacity is poisoned.
// Cost:      add: one compare, and the construction in place. Growth is calls that take nothing of
//            the caller's: see add_growing().
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/ranges.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/bits.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class T>
class packed_memory {
public:
    /// An empty array, which takes no memory yet.
    explicit packed_memory(allocator_ref upstream = system_memory()) noexcept
        : memory_{storage_alignment, upstream} {}

    /// Takes the objects and the memory of `other`, which is empty afterwards.
    packed_memory(packed_memory&& other) noexcept = default;
    packed_memory& operator=(packed_memory&& other) noexcept {
        if (this != &other) {
            clear();
            memory_ = std::move(other.memory_);
            size_ = std::move(other.size_);
            capacity_ = std::move(other.capacity_);
        }
        return *this;
    }
    ~packed_memory() { clear(); }

    [[nodiscard]] [[gnu::always_inline]] T* data() noexcept {
        return reinterpret_cast<T*>(memory_.data());
    }
    [[nodiscard]] [[gnu::always_inline]] const T* data() const noexcept {
        return reinterpret_cast<const T*>(memory_.data());
    }
    [[nodiscard]] [[gnu::always_inline]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return memory_.upstream(); }

    /// Room for `count` objects in all. Returns: false when exhausted; nothing has changed then.
    /// Throws: what copying a T throws, where its move may throw; nothing has changed then.
    [[nodiscard]] bool reserve(std::size_t count) {
        return count <= capacity_ || grow_to(count, [] { return true; });
    }
    /// As reserve(), for an owner who keeps something beside the rows: also() makes room there, and
    /// is called once the room here is certain. Returns: false, too, when also() does; nothing has
    /// changed here then.
    template <class Also>
    [[nodiscard]] bool reserve_with(std::size_t count, Also&& also) {
        return count <= capacity_ ? also() : grow_to(count, also);
    }

    /// From now on grows in place, up to `count_max` objects and what fits the last page beside
    /// them: no object ever moves, no reference dies, and no insertion copies the others. Costs
    /// addresses, not memory. With {.prefault = true} pages are touched when they get memory, by
    /// reserve() ahead of need, so that no insertion below capacity() meets a fault; with
    /// {.huge_pages = true} memory comes by 2 MiB, and one fault brings what 512 brought.
    /// Requires: no object was inserted or reserved yet.
    /// Returns: false when the system refuses; nothing has changed then.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max,
                                             page_options how = {}) noexcept {
        CAIRN_ASSERT(capacity_ == 0, "addresses are reserved before the first insertion");
        return memory_.reserve_address_space(saturating_multiply(count_max, sizeof(T)), how);
    }

    /// Destroys all objects, the last one first; keeps the memory.
    void clear() noexcept {
        if constexpr (std::is_trivially_destructible_v<T>) {
            poison(rows(), size_ * sizeof(T));
            size_ = 0;
        } else {
            while (size_ != 0) {
                T* const last = rows() + --size_;
                last->~T();
                poison(last, sizeof(T));
            }
        }
    }

    /// A broken invariant stops a checked build.
    void validate() const noexcept {
        CAIRN_ASSERT(size_ <= capacity_ && capacity_ <= memory_.size() / sizeof(T),
                     "objects lie inside their memory");
    }

protected:
    [[gnu::always_inline]] T* rows() const noexcept { return reinterpret_cast<T*>(memory_.data()); }

    template <class... Args>
    static T* build(T* row, Args&&... args) {
        unpoison(row, sizeof(T));
        return detail::construct_at<T>(static_cast<void*>(row), std::forward<Args>(args)...);
    }

    /// Adds what build_at(row) makes.
    template <bool IsNothrow, class BuildAt>
    [[gnu::always_inline]] T* add(BuildAt build_at) {
        if (size_ == capacity_) [[unlikely]] { return add_growing<IsNothrow>(build_at); }
        T* const object = build_at(rows() + size_);
        ++size_;
        return object;
    }
    /// The same after growth, which is calls that take nothing of the caller's: a T{...} whose
    /// address goes into a call lies in memory on every path, written in pieces and read back wide,
    /// and costs 4 to 6 times as much as one that is built in place.
    template <bool IsNothrow, class BuildAt>
    [[gnu::always_inline]] T* add_growing(BuildAt build_at) {
        const next_room room = begin_growth_by_one();
        if (room.size == 0) { return nullptr; }
        T* const row = (room.block == nullptr ? rows() : reinterpret_cast<T*>(room.block)) + size_;
        T* object;
        if constexpr (IsNothrow) {
            object = build_at(row);
        } else {
            detail::rollback undo{[&]() noexcept { cancel_growth(room); }};
            object = build_at(row);
            undo.cancel();
        }
        if (room.block != nullptr) {
            finish_growth(room.block, room.size);
        } else {
            ++size_;
        }
        return object;
    }

private:
    static constexpr alignment storage_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                              : cache_line_size};

    void destroy_rows() noexcept {
        for (std::size_t i = size_; i != 0; --i) { rows()[i - 1].~T(); }
    }

    void adopt_size() noexcept {
        const std::size_t fresh = memory_.size() / sizeof(T);
        poison(rows() + size_, memory_.size() - size_ * sizeof(T));
        capacity_ = fresh;
    }

    /// A block that is not yet the array's: goes back unless told otherwise.
    struct pending_block {
        growable_memory& memory;
        std::byte* block;
        std::size_t size;
        ~pending_block() {
            if (block != nullptr) { memory.cancel_move(block, size); }
        }
        void adopt() noexcept { memory.finish_move(std::exchange(block, nullptr), size); }
    };

    /// Moves all rows into the block, or copies them where a move might throw halfway; the block is
    /// the array's then. Behind the rows `made` objects are there already.
    void move_rows(pending_block& to, std::size_t made) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            memory_.finish_copy(std::exchange(to.block, nullptr), to.size, size_ * sizeof(T),
                                made * sizeof(T));
        } else {
            detail::construct_range(reinterpret_cast<T*>(to.block), rows(), size_);
            destroy_rows();
            to.adopt();
        }
    }

    /// Room for `count` rows: where they stand, or in a block that `fresh` holds then.
    /// Returns: false when exhausted.
    [[nodiscard]] bool begin_growth(std::size_t count, pending_block& fresh) noexcept {
        const std::size_t size = saturating_multiply(count, sizeof(T));
        if (memory_.try_grow_in_place(size)) { return true; }
        fresh.block = memory_.begin_move(size);
        fresh.size = size;
        return fresh.block != nullptr;
    }
    /// The same for one row more, and as many as can be had up to twice the room. The last rows of
    /// all come one by one only where they need no copy.
    [[nodiscard]] bool begin_growth(pending_block& fresh) noexcept {
        const std::size_t needed = size_ + 1;
        const std::size_t wish = memory_.is_reserved() ? needed : grown_count(capacity_, needed);
        const auto attempt = [&](std::size_t count) { return begin_growth(count, fresh); };
        return grow_by_halves(capacity_, needed, wish, attempt) != 0 ||
               memory_.try_grow_in_place(saturating_multiply(needed, sizeof(T)));
    }

    template <class Also>
    [[gnu::noinline]] bool grow_to(std::size_t count, Also&& also) {
        pending_block fresh{memory_, nullptr, 0};
        if (!begin_growth(count, fresh) || !also()) { return false; }
        if (fresh.block == nullptr) {
            adopt_size();
            return true;
        }
        move_rows(fresh, 0);
        adopt_size();
        return true;
    }

    /// What growth by one row took, before the object is built there.
    struct next_room {
        std::byte* block;  // to which the rows are to move; nullptr: they stay where they are
        std::size_t size;  // of the block; 0: exhausted
    };
    /// Room for one row more. The rows do not move before finish_growth(): the object may be built
    /// from one of them.
    [[nodiscard, gnu::noinline, gnu::cold]] next_room begin_growth_by_one() noexcept {
        if (size_ != capacity_) { return {nullptr, memory_.size()}; }
        pending_block fresh{memory_, nullptr, 0};
        if (!begin_growth(fresh)) { return {nullptr, 0}; }
        if (fresh.block == nullptr) {
            adopt_size();
            return {nullptr, memory_.size()};
        }
        return {std::exchange(fresh.block, nullptr), fresh.size};
    }
    [[gnu::noinline, gnu::cold]] void cancel_growth(next_room room) noexcept {
        if (room.block != nullptr) { memory_.cancel_move(room.block, room.size); }
    }
    /// Object size() was built in the block; the rows move there, too, and it is one of them.
    /// Throws: what copying them throws; the object and the block are gone then.
    [[gnu::noinline]] void finish_growth(std::byte* block, std::size_t block_size) {
        pending_block fresh{memory_, block, block_size};
        T* const to = reinterpret_cast<T*>(block);
        detail::rollback undo{[&]() noexcept { to[size_].~T(); }};
        move_rows(fresh, 1);
        undo.cancel();
        ++size_;
        adopt_size();
    }

protected:
    growable_memory memory_;
    moved<std::size_t> size_;
    moved<std::size_t> capacity_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
