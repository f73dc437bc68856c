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
//            once; after reserve_address_space() it moves none. A peak keeps its memory until
//            shrink_to_fit().
// References die on growth (not inside reserved addresses); erasing renames the last row only.
// Callbacks: constructors, moves and destructors of objects, predicates, orders and visitors may
//            read this array and must not change it: a checked build stops. While rows move
//            (growth, erase_if, sort), constructors and destructors that move them read none.
// Threads:   one at a time; reading from many.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/inside/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Rows>
class row_batches;  // callers of batches() include <cairn/containers/batches.hpp>

/// What erasing did to the rows. from == to: the last row was erased and nothing moved.
struct moved_row {
    std::size_t from;  // the row that was last
    std::size_t to;    // where it lives now
    /// True when a row moved.
    [[nodiscard]] bool any() const noexcept { return from != to; }
};

/// Moves of objects are taken as noexcept: a move that throws ends the program. Sorting and erasing
/// move an object by assignment or by construction. Both must give the same value: a
/// std::tuple<int&>, which assigns through its reference, does not.
template <detail::element T>
class packed_array {
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

    /// An empty array, which takes no memory yet.
    packed_array() noexcept : packed_array{system_memory()} {}
    explicit packed_array(allocator_ref upstream) noexcept
        : memory_{storage_alignment(), upstream} {}

    /// Takes the objects and the memory of `other`, which is empty afterwards.
    packed_array(packed_array&& other) noexcept
        : rows_{std::exchange(other.rows_, nullptr)},
          size_{std::exchange(other.size_, 0)},
          capacity_{std::exchange(other.capacity_, 0)},
          memory_{std::move(other.memory_)},
          mark_{std::move(other.mark_)} {}
    packed_array& operator=(packed_array&& other) noexcept {
        return detail::begin_anew(*this, other);
    }
    explicit packed_array(std::size_t, ...) = delete;  // room for objects: reserve(1000)
    packed_array(const packed_array&) = delete;  // needs memory, can fail: copy_from(), or clone()
    packed_array& operator=(const packed_array&) = delete;  // copy_from(), or cairn::clone()
    ~packed_array() {
        expect_movable();
        clear();
        // A deallocate() of the user finds no object, and a change there stops.
        [[maybe_unused]] const auto change = begin_change();
        if constexpr (asserts_enabled) { memory_.release(); }
    }

    // ---- room ---------------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Objects for which there is room.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return memory_.upstream(); }

    /// Room for `count` objects in all. Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool reserve(std::size_t count) {
        return reserve_with(count, [] { return true; });
    }
    /// As reserve(), for an owner who keeps something beside the rows: also() makes room there, and
    /// is called once the room here is certain. Returns: false, too, when also() does; nothing has
    /// changed here then.
    template <class Also>
    [[nodiscard]] bool reserve_with(std::size_t count, Also&& also) {
        if (count <= capacity_) { return also(); }
        [[maybe_unused]] const auto change = begin_change();
        const detail::growable_memory::room room = memory_.find_room(count, sizeof(T));
        if (room.size == 0) { return false; }
        if (!also()) {
            if (room.block != nullptr) { memory_.cancel_move(room.block, room.size); }
            return false;
        }
        adopt(room, 0);
        return true;
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
        mark_.expect_free(this, type_name);
        return memory_.reserve_address_space(
            cairn::detail::saturating_multiply(count_max, sizeof(T)), how);
    }

    /// Gives back the room that no object needs. Cost: moves each object, unless the memory shrinks
    /// where it stands: inside reserved addresses, where pages go and the addresses stay.
    /// Returns: false when the upstream has no smaller block; nothing has changed then.
    [[nodiscard]] bool shrink_to_fit() noexcept {
        [[maybe_unused]] const auto change = begin_change();
        const std::size_t used = size_ * sizeof(T);
        const bool fits = memory_.try_shrink_in_place(used);
        std::byte* const block = fits ? nullptr : memory_.begin_move(used);
        adopt({block, used}, 0);  // without a block nothing moves
        return fits || block != nullptr;
    }

    // ---- reading ------------------------------------------------------------------------------

    /// All objects. Starts at a cache line. Dies with the next growth.
    [[nodiscard]] std::span<T> values() noexcept { return {rows_, size_}; }
    [[nodiscard]] std::span<const T> values() const noexcept { return {rows_, size_}; }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] T* data() noexcept {
        if constexpr (!is_plain) { mark_.expect_no_holes(this, type_name); }
        return rows_;
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] const T* data() const noexcept {
        if constexpr (!is_plain) { mark_.expect_no_holes(this, type_name); }
        return rows_;
    }

    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line. Callers
    /// include <cairn/containers/batches.hpp>.
    template <class Rows = std::span<T>>
    [[nodiscard]] row_batches<Rows> batches(std::size_t rows_per_batch) noexcept {
        return {values(), rows_per_batch};
    }
    template <class Rows = std::span<const T>>
    [[nodiscard]] row_batches<Rows> batches(std::size_t rows_per_batch) const noexcept {
        return {values(), rows_per_batch};
    }

    [[nodiscard]] T* begin() noexcept {
        mark_.expect_whole(this, type_name);
        return rows_;
    }
    [[nodiscard]] T* end() noexcept { return rows_ + size_; }
    [[nodiscard]] const T* begin() const noexcept {
        mark_.expect_whole(this, type_name);
        return rows_;
    }
    [[nodiscard]] const T* end() const noexcept { return rows_ + size_; }

    /// Requires: row < size().
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] T& operator[](std::size_t row) noexcept {
        expect_row(row);
        if constexpr (!is_plain) { mark_.expect_no_gap(this, type_name); }
        return rows_[row];
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] const T& operator[](std::size_t row) const noexcept {
        expect_row(row);
        if constexpr (!is_plain) { mark_.expect_no_gap(this, type_name); }
        return rows_[row];
    }

    // ---- copying ------------------------------------------------------------------------------

    /// Becomes a copy of `other`, in memory of its own upstream. (storage/clone.hpp: a copy by
    /// value.)
    /// Returns: false when exhausted; the array is empty or unchanged then.
    /// Throws:  what copying a T throws; the array holds some of the copies then.
    [[nodiscard]] bool copy_from(const packed_array& other) {
        if (this == compiler::address_of(other)) { return true; }
        [[maybe_unused]] const auto visit =
            other.mark_.visit(compiler::address_of(other), type_name);
        if (!reserve(other.size_)) { return false; }
        clear();
        for (const T& object : other) { emplace_in_room(object); }
        return true;
    }
    /// True when both hold equal objects in the same rows.
    friend bool operator==(const packed_array& a, const packed_array& b)
        requires std::equality_comparable<T>
    {
        [[maybe_unused]] const auto visit_a = a.mark_.visit(compiler::address_of(a), type_name);
        [[maybe_unused]] const auto visit_b = b.mark_.visit(compiler::address_of(b), type_name);
        bool are_equal = a.size_ == b.size_;
        for (std::size_t i = 0; are_equal && i < a.size_; ++i) { are_equal = a[i] == b[i]; }
        return are_equal;
    }

    // ---- changing -----------------------------------------------------------------------------

    /// A new object in row size(), built in place. `args` may refer to objects of this array.
    /// Returns: nullptr when exhausted; nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] T* emplace(Args&&... args) {
        expect_movable();
        if (size_ == capacity_) [[unlikely]] {
            return emplace_growing(std::forward<Args>(args)...);
        }
        return emplace_in_room(std::forward<Args>(args)...);
    }
    /// As emplace, for a caller who knows that there is room. Requires: size() < capacity().
    template <class... Args>
    [[CAIRN_FORCE_INLINE]] T* emplace_in_room(Args&&... args) {
        CAIRN_ASSERT(size_ < capacity_, "there is room");
        constexpr bool runs_code = !std::is_trivially_constructible_v<T, Args...>;
        [[maybe_unused]] const building scope{mark_, this, type_name, runs_code};
        T* const row = rows_ + size_;
        cairn::unpoison(row, sizeof(T));
        detail::construct_at<T>(static_cast<void*>(row), std::forward<Args>(args)...);
        ++size_;
        return row;
    }
    /// As emplace, for a caller who knows that there is none, or probably none.
    template <class... Args>
    [[CAIRN_FORCE_INLINE]] T* emplace_growing(Args&&... args) {
        [[maybe_unused]] const building scope{mark_, this, type_name};
        return add_growing<std::is_nothrow_constructible_v<T, Args...>>(
            [&](T* row) CAIRN_INLINE_LAMBDA {
                detail::construct_at<T>(static_cast<void*>(row), std::forward<Args>(args)...);
            });
    }
    /// As emplace, but the object is what `make()` returns, built in place (no copy, no move).
    template <class Make>
    [[nodiscard]] T* emplace_from(Make&& make) {
        [[maybe_unused]] const building scope{mark_, this, type_name};
        const auto build_at = [&](T* row) {
            ::new (static_cast<void*>(row)) T(std::forward<Make>(make)());
        };
        if (size_ == capacity_) [[unlikely]] {
            return add_growing<noexcept(T(std::forward<Make>(make)()))>(build_at);
        }
        T* const row = rows_ + size_;
        cairn::unpoison(row, sizeof(T));
        build_at(row);
        ++size_;
        return row;
    }
    /// As emplace, in the words of table: true, or false when exhausted.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] bool emplace_back(Args&&... args) {
        return emplace(std::forward<Args>(args)...) != nullptr;
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] bool push_back(const T& value) { return emplace_back(value); }
    [[nodiscard, CAIRN_FORCE_INLINE]] bool push_back(T&& value) {
        return emplace_back(std::move(value));
    }

    /// Destroys row `row`; the last object moves there.
    /// Returns: which row moved where.
    /// Requires: row < size().
    moved_row swap_erase(std::size_t row) noexcept {
        expect_row(row);
        [[maybe_unused]] const auto change = mark_.begin<!is_plain>(this, type_name);
        return move_last_to(row);
    }

    /// Erases `*where`. Returns: the same position, where the moved object is still to be visited:
    ///     for (auto it = a.begin(); it != a.end();) { it = dead(*it) ? a.erase(it) : it + 1; }
    T* erase(const T* where) {
        const auto row = static_cast<std::size_t>(where - rows_);
        swap_erase(row);
        return rows_ + row;
    }

    /// Erases every object that `predicate` is true for; the others keep their order. Each object
    /// is asked once, by row, 256 objects before any of them moves. The predicate reads no other
    /// row.
    /// Returns: how many were erased.
    /// Throws:  what the predicate throws; some of the objects for which it was true are gone then,
    ///          no other.
    /// Cost:    one move of each object behind the first that is erased.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        return erase_if(predicate, [](auto...) {});
    }
    /// The same for an owner who keeps something beside the rows: follow(first, is_erased, count)
    /// is called with the answers for the rows [first, first + count). Those before them have moved
    /// then, and these move next.
    template <class Predicate, class Follow>
    std::size_t erase_if(Predicate& predicate, Follow follow) {
        [[maybe_unused]] const auto change = begin_change();
        const std::size_t before = size_;
        erase_in_order([&](std::size_t first, bool* is_erased, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
                is_erased[i] = static_cast<bool>(predicate(rows_[first + i]));
            }
            follow(first, is_erased, count);
        });
        return before - size_;
    }
    /// The same where the order does not matter: the last object moves into each hole.
    /// Cost: one move for each object that is erased.
    template <class Predicate>
    std::size_t swap_erase_if(Predicate&& predicate) {
        [[maybe_unused]] const auto change = begin_change();
        const std::size_t before = size_;
        for (std::size_t row = 0; row < size_;) {
            if (static_cast<bool>(predicate(rows_[row]))) {
                move_last_to(row);
            } else {
                ++row;
            }
        }
        return before - size_;
    }

    /// Calls f(object) for every object, by row. `f` must not change this array.
    template <class F>
    void for_each(F&& f) {
        [[maybe_unused]] const auto visit = mark_.visit(this, type_name);
        for (T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }
    template <class F>
    void for_each(F&& f) const {
        [[maybe_unused]] const auto visit = mark_.visit(this, type_name);
        for (const T *row = begin(), *last = end(); row != last; ++row) { f(*row); }
    }

    void swap(packed_array& other) noexcept { std::swap(*this, other); }
    friend void swap(packed_array& a, packed_array& b) noexcept { a.swap(b); }

    /// Exchanges two rows.
    void swap_rows(std::size_t a, std::size_t b) {
        [[maybe_unused]] const auto change = begin_change();
        using std::swap;
        swap((*this)[a], (*this)[b]);
    }

    /// Sorts the objects with less(a, b), stable. Each object moves once.
    /// Returns: false when there is no memory for 8 bytes a row; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        [[maybe_unused]] const auto change = begin_change();
        const T* const objects = rows_;
        return detail::sort_rows(size_, upstream(), detail::compared_order{objects, less, size_}, 0,
                                 [this](auto order, void*) { return permute_rows(order); });
    }

    /// Row r becomes what row order[r] was. O(size), one move a row and one more per cycle.
    /// `order` is the identity afterwards. Returns: true, as permutations in place need no memory.
    /// Requires: `order` is a permutation of 0 ... size() - 1.
    bool permute(std::span<std::uint32_t> order) noexcept {
        CAIRN_ASSERT(order.size() == size_ && detail::names_each_once(order.data(), size_),
                     "a permutation names every row once");
        [[maybe_unused]] const auto change = begin_change();
        return permute_rows(order);
    }

    /// Destroys all objects, the last one first; keeps the memory.
    void clear() noexcept {
        [[maybe_unused]] const auto change = begin_change();
        if constexpr (std::is_trivially_destructible_v<T>) {
            cairn::poison(rows_, size_ * sizeof(T));
            size_ = 0;
        } else {
            while (size_ != 0) {
                T* const last = rows_ + --size_;
                last->~T();
                cairn::poison(last, sizeof(T));
            }
        }
    }

    /// A broken invariant stops a checked build.
    void validate() const noexcept {
        CAIRN_ASSERT(size_ <= capacity_ && capacity_ <= memory_.size() / sizeof(T),
                     "objects lie inside their memory");
    }

private:
    /// In members: T is complete there.
    static consteval void expect_movable() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        constexpr bool can_move = !detail::is_concrete<T> || std::is_move_constructible_v<T> ||
                                  requires { typename T::other_array_expects_movable; };
        static_assert(can_move,
                      "rows move when others are erased; stable_slot_map keeps objects "
                      "where they are");
    }
    [[nodiscard]] static constexpr alignment storage_alignment() noexcept {
        return alignment{alignof(T) > cache_line_size ? alignof(T) : cache_line_size};
    }

    static constexpr bool is_plain =
        std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>;
    static constexpr const char* type_name = "packed_array";
    using building = detail::callback_mark::building;
    [[nodiscard]] auto begin_change() noexcept { return mark_.begin(this, type_name); }
    void expect_row([[maybe_unused]] std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size_, "a row is below size()",
                     detail::beyond_end(this, type_name, row, size_));
    }

    moved_row move_last_to(std::size_t row) noexcept {
        T* const hole = rows_ + row;
        T* const last = rows_ + (size_ - 1);
        if constexpr (is_plain) {
            *hole = *last;  // maybe itself: a copy costs less than the question
        } else if (hole != last) {
            detail::replace(*hole, *last);
        }
        last->~T();
        cairn::poison(last, sizeof(T));
        --size_;
        return {size_, row};
    }
    /// Inside a change.
    bool permute_rows(std::span<std::uint32_t> order) noexcept {
        mark_.set_holes(true);
        detail::permute_range(order.data(), size_,
                              [this](std::size_t row) -> T& { return rows_[row]; });
        mark_.set_holes(false);
        return true;
    }

    //      | kept | no objects | not asked yet |
    //      0      kept         first           size_
    template <class Ask>
    void erase_in_order(Ask ask) {
        std::size_t kept = 0;
        std::size_t first = 0;
        // At the end, also when the predicate throws: the rows that were not asked close the gap.
        detail::rollback finish{[&]() noexcept {
            mark_.set_holes(true);
            for (; first != size_; ++first, ++kept) {
                if (kept != first) { bring(rows_ + kept, rows_ + first); }
            }
            cairn::poison(rows_ + kept, (size_ - kept) * sizeof(T));
            size_ = kept;
        }};
        while (first != size_) {
            bool is_erased[detail::asked_rows_max];
            const std::size_t left = size_ - first;
            const std::size_t count = left < detail::asked_rows_max ? left : detail::asked_rows_max;
            mark_.set_holes(false);
            ask(first, is_erased, count);
            mark_.set_holes(true);
            kept = keep_rows(kept, first, is_erased, count);
            mark_.set_gap(kept != first + count);
            first += count;
        }
    }
    /// Of the rows [first, first + count), those that stay move to row `kept` and behind it; the
    /// others end. Returns: the row behind the last that stays.
    std::size_t keep_rows(std::size_t kept, std::size_t first, const bool* is_erased,
                          std::size_t count) noexcept {
        T* const rows = rows_ + first;
        std::size_t i = kept == first ? detail::staying_in_front(is_erased, count) : 0;
        T* to = rows_ + kept + i;
        for (; i < count; ++i) {
            if constexpr (is_plain && sizeof(T) <= cache_line_size) {
                *to = rows[i];  // also what ends: a copy costs less than a mispredicted branch
                to += std::ptrdiff_t{1} - std::ptrdiff_t{is_erased[i]};
            } else if (is_erased[i]) {
                rows[i].~T();
            } else {
                if (to != rows + i) { bring(to, rows + i); }
                ++to;
            }
        }
        return static_cast<std::size_t>(to - rows_);
    }
    /// `to`, where no object is, becomes what `from` was.
    static void bring(T* to, T* from) noexcept {
        if constexpr (is_plain) {
            *to = *from;
        } else {
            detail::construct_at<T>(static_cast<void*>(to), std::move(*from));
            from->~T();
        }
    }

    //  1. room:    in place, or a block beside the old one   [ a | b | c ]   [   |   |   |   |   ]
    //  2. build:   the new object, where it will stand                       [   |   |   | d |   ]
    //  3. move:    the others; only now does the old block go                [ a | b | c | d |   ]
    //
    // In this order a new object may be built from one that is here, and a constructor that throws
    // leaves everything as it was. Growth is calls that take nothing of the caller's: a T{...}
    // whose address goes into a call lies in memory on every path, written in pieces and read back
    // wide, and costs 4 to 6 times as much as one that is built in place. So the lambda that builds
    // it is inlined, although this path is cold and gcc would call it.

    /// Adds the object that build_at(row) makes, after growth where there is no room.
    template <bool IsNothrow, class BuildAt>
    [[CAIRN_FORCE_INLINE]] T* add_growing(BuildAt build_at) {
        const detail::growable_memory::room room = find_next_room();
        if (room.size == 0) { return nullptr; }
        T* const row = (room.block ? reinterpret_cast<T*>(room.block) : rows_) + size_;
        if constexpr (IsNothrow) {
            build_at(row);
        } else {
            detail::rollback undo{[&]() noexcept {
                if (room.block != nullptr) { memory_.cancel_move(room.block, room.size); }
            }};
            build_at(row);
            undo.cancel();
        }
        return finish_growth(room);
    }
    [[nodiscard, CAIRN_NOINLINE, CAIRN_COLD]] detail::growable_memory::room
    find_next_room() noexcept {
        detail::growable_memory::room room{nullptr, memory_.size()};
        if (size_ == capacity_) {
            room = memory_.find_room_for_more(size_, sizeof(T));
            if (room.size == 0) { return room; }
            if (room.block == nullptr) { adopt(room, 0); }
        }
        std::byte* const block = room.block != nullptr ? room.block : memory_.data();
        cairn::unpoison(block + size_ * sizeof(T), sizeof(T));
        return room;
    }
    /// Object size() was built; where it stands in a block, the others move there.
    [[CAIRN_NOINLINE, CAIRN_COLD]] T* finish_growth(detail::growable_memory::room room) noexcept {
        if (room.block != nullptr) { adopt(room, 1); }
        ++size_;
        return rows_ + (size_ - 1);
    }
    /// The rows move into the block, where there is one and `made` objects stand behind them, and
    /// all the memory that is there counts.
    [[CAIRN_NOINLINE]] void adopt(detail::growable_memory::room room, std::size_t made) noexcept {
        detail::growable_memory::left_block old;
        if (room.block != nullptr) {
            if constexpr (std::is_trivially_copyable_v<T>) {
                memory_.finish_copy(room.block, room.size, size_ * sizeof(T), made * sizeof(T),
                                    &old);
            } else {
                [[maybe_unused]] const auto move = mark_.begin_object();
                mark_.set_holes(true);
                detail::construct_range(reinterpret_cast<T*>(room.block), rows_, size_);
                for (std::size_t i = size_; i != 0; --i) { rows_[i - 1].~T(); }
                memory_.finish_move(room.block, room.size, &old);
            }
        }
        rows_ = reinterpret_cast<T*>(memory_.data());
        capacity_ = memory_.size() / sizeof(T);
        const std::size_t used = (size_ + made) * sizeof(T);
        cairn::poison(memory_.data() + used, memory_.size() - used);
    }

    T* rows_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    detail::growable_memory memory_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;
};

}}  // namespace cairn::CAIRN_FLAVOUR
