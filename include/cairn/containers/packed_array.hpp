// cairn/containers/packed_array.hpp - contiguous, unordered: the last one moves into the hole.
//
//      +---+---+---+---+---+ - - - +         swap_erase(1)     +---+---+---+---+ - - - +
//      | a | b | c | d | e |       |         ------------>     | a | e | c | d |       |
//      +---+---+---+---+---+ - - - +       {from 4, to 1}      +---+---+---+---+ - - - +
//      0                   size()  capacity()
//
// Iteration is a pointer increment over exactly the live objects. Erasing returns which object
// moved, so that a program that stores row numbers can correct them.
//
// Use it for: objects that are all visited every frame and that have no references from outside.
// Look elsewhere for: references that survive erasing (slot_map), addresses that stay
//                     (stable_slot_map), order (std::vector).
//
// Invariant: rows 0 ... size() - 1 are alive, the rest of the capacity is poisoned.
// Cost:      emplace: one compare, one construction in place; a T{...} written in the call needs no
//            memory of its own. swap_erase: one move, one destruction. Growth moves every object
//            once; after reserve_address_space() it moves none.
// References die on growth (not inside reserved addresses); erasing renames the last row only.
// Re-entrancy: constructors, moves and destructors of objects may read this array and must not
//              change it.
// Threads:   one at a time; reading from many.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/batches.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/bits.hpp>
#include <cairn/core/construct.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/rollback.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/ranges.hpp>
#include <cairn/storage/sort_indices.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// What erasing did to the rows. from == to: the last row was erased and nothing moved.
struct moved_row {
    std::size_t from;  // the row that was last
    std::size_t to;    // where it lives now
    /// True when a row moved.
    [[nodiscard]] bool any() const noexcept { return from != to; }
};

/// What a visitor of for_each_erasing() wants done with the object it has just seen.
enum class after_visit { keep, erase };

template <class T>
class packed_array {
    static_assert(std::is_move_constructible_v<T>,
                  "rows move when others are erased; stable_slot_map keeps objects where they are");

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;

    explicit packed_array(allocator_ref upstream = system_memory()) noexcept
        : memory_{storage_alignment, upstream} {}

    packed_array(packed_array&& other) noexcept
        : memory_{std::move(other.memory_)},
          size_{std::exchange(other.size_, 0)},
          capacity_{std::exchange(other.capacity_, 0)} {}
    packed_array& operator=(packed_array&& other) noexcept {
        if (this != &other) {
            clear();
            memory_ = std::move(other.memory_);
            size_ = std::exchange(other.size_, 0);
            capacity_ = std::exchange(other.capacity_, 0);
        }
        return *this;
    }
    ~packed_array() { clear(); }

    // ---- reading ------------------------------------------------------------------------------

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

    /// All objects. Starts at a cache line. Dies with the next growth.
    [[nodiscard]] std::span<T> values() noexcept { return {rows(), size_}; }
    [[nodiscard]] std::span<const T> values() const noexcept { return {rows(), size_}; }

    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line.
    [[nodiscard]] row_batches<std::span<T>> batches(std::size_t rows_per_batch) noexcept {
        return {values(), rows_per_batch};
    }
    [[nodiscard]] row_batches<std::span<const T>> batches(
        std::size_t rows_per_batch) const noexcept {
        return {values(), rows_per_batch};
    }

    [[nodiscard]] T* begin() noexcept { return rows(); }
    [[nodiscard]] T* end() noexcept { return rows() + size_; }
    [[nodiscard]] const T* begin() const noexcept { return rows(); }
    [[nodiscard]] const T* end() const noexcept { return rows() + size_; }

    /// Requires: row < size().
    [[nodiscard]] [[gnu::always_inline]] T& operator[](std::size_t row) noexcept {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        return rows()[row];
    }
    [[nodiscard]] [[gnu::always_inline]] const T& operator[](std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        return rows()[row];
    }

    // ---- room ---------------------------------------------------------------------------------

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

    /// Becomes a copy of `other`, in memory of its own upstream. (storage/clone.hpp: a copy by
    /// value.)
    /// Returns: false when exhausted; the array is empty or unchanged then.
    /// Throws:  what copying a T throws; the array holds some of the copies then.
    [[nodiscard]] bool copy_from(const packed_array& other) {
        if (this == &other) { return true; }
        if (!reserve(other.size_)) { return false; }
        clear();
        for (const T& object : other) { emplace_in_room(object); }
        return true;
    }
    /// True when both hold equal objects in the same rows.
    friend bool operator==(const packed_array& a, const packed_array& b)
        requires std::equality_comparable<T>
    {
        bool are_equal = a.size_ == b.size_;
        for (std::size_t i = 0; are_equal && i < a.size_; ++i) { are_equal = a[i] == b[i]; }
        return are_equal;
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

    // ---- changing -----------------------------------------------------------------------------

    /// A new object in row size(), built in place. `args` may refer to objects of this array.
    /// Returns: nullptr when exhausted; nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    [[gnu::always_inline]] T* emplace(Args&&... args) {
        return add<std::is_nothrow_constructible_v<T, Args...>>(
            [&](T* row) { return build(row, std::forward<Args>(args)...); });
    }

    /// As emplace, for a caller who knows that there is room. Requires: size() < capacity().
    template <class... Args>
    [[gnu::always_inline]] T* emplace_in_room(Args&&... args) {
        CAIRN_ASSERT(size_ < capacity_, "there is room");
        T* const object = build(rows() + size_, std::forward<Args>(args)...);
        ++size_;
        return object;
    }

    /// As emplace, for a caller who knows that there is none, or probably none.
    template <class... Args>
    [[gnu::always_inline]] T* emplace_growing(Args&&... args) {
        return add_growing<std::is_nothrow_constructible_v<T, Args...>>(
            [&](T* row) { return build(row, std::forward<Args>(args)...); });
    }

    /// As emplace, in the words of table: true, or false when exhausted.
    template <class... Args>
    [[nodiscard, gnu::always_inline]] bool emplace_back(Args&&... args) {
        return emplace(std::forward<Args>(args)...) != nullptr;
    }
    [[nodiscard, gnu::always_inline]] bool push_back(const T& value) { return emplace_back(value); }
    [[nodiscard, gnu::always_inline]] bool push_back(T&& value) {
        return emplace_back(std::move(value));
    }

    /// As emplace, but the object is what `make()` returns, built in place (no copy, no move).
    template <class Make>
    T* emplace_from(Make&& make) {
        return add<noexcept(T(std::forward<Make>(make)()))>([&](T* row) {
            unpoison(row, sizeof(T));
            return ::new (static_cast<void*>(row)) T(std::forward<Make>(make)());
        });
    }

    /// Destroys row `row`; the last object moves there.
    /// Returns: which row moved where. Throws: only what a throwing move throws; the number of
    /// objects is unchanged then.
    /// Requires: row < size().
    moved_row swap_erase(std::size_t row) {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, "packed_array", row, size_));
        T* const hole = rows() + row;
        T* const last = rows() + (size_ - 1);
        if constexpr (std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>) {
            *hole = *last;  // maybe itself: a copy costs less than the question
        } else if (hole != last) {
            detail::replace(*hole, *last);
        }
        last->~T();
        poison(last, sizeof(T));
        --size_;
        return {size_, row};
    }

    /// Erases `*where`. Returns: the same position, where the moved object is still to be visited:
    ///     for (auto it = a.begin(); it != a.end();) { it = dead(*it) ? a.erase(it) : it + 1; }
    T* erase(const T* where) {
        const auto row = static_cast<std::size_t>(where - rows());
        swap_erase(row);
        return rows() + row;
    }

    /// Erases every object that `predicate` is true for. One pass; each object is asked once.
    /// Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        return for_each_erasing(
            [&](T& object) { return predicate(object) ? after_visit::erase : after_visit::keep; });
    }

    /// Calls f(object) for every object, by row. `f` must not change this array.
    template <class F>
    void for_each(F&& f) {
        for (T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }
    template <class F>
    void for_each(F&& f) const {
        for (const T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }

    /// Calls `f(object)` once for every object; `f` says whether it stays. Objects that `f` inserts
    /// are visited too. Returns: how many were erased.
    template <class F>
    std::size_t for_each_erasing(F&& f) {
        std::size_t erased_count = 0;
        for (std::size_t row = 0; row < size_;) {
            if (f(rows()[row]) == after_visit::erase) {
                swap_erase(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
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

    void swap(packed_array& other) noexcept {
        packed_array mine{std::move(*this)};
        *this = std::move(other);
        other = std::move(mine);
    }
    friend void swap(packed_array& a, packed_array& b) noexcept { a.swap(b); }

    /// Exchanges two rows.
    void swap_rows(std::size_t a, std::size_t b) {
        using std::swap;
        swap((*this)[a], (*this)[b]);
    }

    /// Sorts the objects with less(a, b), stable. Each object moves once.
    /// Returns: false when there is no memory for 8 bytes a row; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        growable_memory scratch{cache_line_alignment, upstream()};
        if (size_ < 2) { return true; }
        if (!scratch.grow(2 * size_ * sizeof(std::uint32_t), 0)) { return false; }
        auto* const order = reinterpret_cast<std::uint32_t*>(scratch.data());
        detail::sort_indices(order, order + size_, size_, [&](std::uint32_t a, std::uint32_t b) {
            return static_cast<bool>(less(std::as_const(rows()[a]), std::as_const(rows()[b])));
        });
        return permute({order, size_});
    }

    /// Row r becomes what row order[r] was. O(size), one move a row and one more per cycle.
    /// `order` is the identity afterwards. Returns: true, as permutations in place need no memory.
    /// Requires: `order` is a permutation of 0 ... size() - 1; moving a T does not throw.
    bool permute(std::span<std::uint32_t> order) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>,
                      "objects that are sorted have moves that do not throw");
        CAIRN_ASSERT(order.size() == size_ && detail::names_each_once(order.data(), size_),
                     "a permutation names every row once");
        detail::permute_range(order.data(), size_,
                              [this](std::size_t row) -> T& { return rows()[row]; });
        return true;
    }

    /// A broken invariant stops a checked build.
    void validate() const noexcept {
        CAIRN_ASSERT(size_ <= capacity_ && capacity_ <= memory_.size() / sizeof(T),
                     "objects lie inside their memory");
    }

private:
    static constexpr alignment storage_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                              : cache_line_size};

    [[gnu::always_inline]] T* rows() const noexcept { return reinterpret_cast<T*>(memory_.data()); }

    template <class... Args>
    static T* build(T* row, Args&&... args) {
        unpoison(row, sizeof(T));
        return detail::construct_at<T>(static_cast<void*>(row), std::forward<Args>(args)...);
    }

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

    growable_memory memory_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
