// cairn/containers/slot_map.hpp - packed objects behind handles that never find another object.
//
//      handle {slot 2, life 5}
//              |              values:   +----+----+----+
//      slots:  v              (packed)  | a  | c  | d  |      iterate: a pointer increment
//      +---+---+---+---+                +----+----+----+
//      | 0 | - | 1 | 2 |      handles:  | h0 | h2 | h3 |      row -> handle
//      +---+---+---+---+                +----+----+----+
//        slot -> row             row:     0    1    2
//
// find() answers null for every handle whose object is gone: erased, taken, retired, cleared, never
// filled; and for handles of other maps (storage/generations.hpp says how surely).
//
// Use it for: entities, particles, assets: anything that is iterated and referred to.
// Look elsewhere for: addresses that must not change (stable_slot_map), columns instead of structs
//                     (slot_table), no references at all (packed_array).
//
// Invariant: handle_at(dense_index(h)) == h for every live h.
// Memory:    a peak keeps its memory until shrink_to_fit().
// Cost:      find: one bounds check, one 8-byte load, one compare, and the object.
//            emplace, erase: about ten loads and stores beside the object's own.
// Lifetimes: a handle finds its object until that object is erased, whatever moves meanwhile. A
//            reference ends when the map grows (never after reserve_address_space()). Erasing an
//            object moves the last one into its row: references to these two then lead to the other
//            object, or to none.
// While iterating: erase(iterator) returns the position of the next object to visit; erase_if
//            visits all once. An insertion may end iterators as it may end references; by row
//            number, new objects come last and are visited.
// Callbacks: constructors, moves and destructors of objects, `make`, predicates, orders, visitors
//            may look things up in this map. They must not change it, because rows move under them,
//            and only constructors and visitors start a loop: a checked build stops.
//            (stable_slot_map allows changes.) An object is not found while its destructor runs;
//            take() and retire() move it out before that. The handle of the last row must not be
//            looked up meanwhile; while rows move (growth, erase_if(), sort()), none. size() still
//            counts an object that erase() destroys; during clear() it is not specified.
// Threads:   one at a time; find and iteration from many while no thread changes the map.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/storage/inside/growable_memory.hpp>
#include <cairn/storage/inside/index_iterator.hpp>
#include <cairn/storage/inside/slot_directory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// A position in a slot_map: a pointer in a class of its own, so that find(), which returns null,
/// is not compared with end() by mistake.
template <class T>
class row_iterator {
public:
    using iterator_concept = std::contiguous_iterator_tag;
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::remove_cv_t<T>;
    using element_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    constexpr row_iterator() noexcept = default;
    explicit constexpr row_iterator(T* row) noexcept : row_{row} {}
    /// To const.
    constexpr operator row_iterator<const T>() const noexcept
        requires(!std::is_const_v<T>)
    {
        return row_iterator<const T>{row_};
    }

    [[nodiscard]] constexpr T& operator*() const noexcept { return *row_; }
    [[nodiscard]] constexpr T* operator->() const noexcept { return row_; }
    [[nodiscard]] constexpr T& operator[](std::ptrdiff_t n) const noexcept { return row_[n]; }

    constexpr row_iterator& operator++() noexcept {
        ++row_;
        return *this;
    }
    constexpr row_iterator& operator--() noexcept {
        --row_;
        return *this;
    }
    constexpr row_iterator operator++(int) noexcept { return row_iterator{row_++}; }
    constexpr row_iterator operator--(int) noexcept { return row_iterator{row_--}; }
    constexpr row_iterator& operator+=(std::ptrdiff_t n) noexcept {
        row_ += n;
        return *this;
    }
    constexpr row_iterator& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
    friend constexpr row_iterator operator+(row_iterator a, std::ptrdiff_t n) noexcept {
        return a += n;
    }
    friend constexpr row_iterator operator+(std::ptrdiff_t n, row_iterator a) noexcept {
        return a += n;
    }
    friend constexpr row_iterator operator-(row_iterator a, std::ptrdiff_t n) noexcept {
        return a -= n;
    }
    friend constexpr std::ptrdiff_t operator-(row_iterator a, row_iterator b) noexcept {
        return a.row_ - b.row_;
    }
    friend constexpr bool operator==(row_iterator, row_iterator) noexcept = default;
    /// std::sort and its like compare positions, and would leave the handles behind.
    template <std::same_as<row_iterator> Other>
    friend constexpr std::strong_ordering operator<=>(row_iterator, Other) noexcept {
        static_assert(!std::is_same_v<Other, row_iterator>,
                      "slot_map::sort() takes the handles along; std::sort does not");
        return std::strong_ordering::equal;
    }
    /// std::ranges::partition, rotate and their like exchange objects by this name. The return type
    /// is deduced, so that a concept that asks for it (std::permutable) says the sentence, too.
    template <std::same_as<row_iterator> Other>
        requires(!std::is_const_v<T>)
    friend constexpr auto iter_swap(row_iterator, Other) noexcept {
        static_assert(!std::is_same_v<Other, row_iterator>,
                      "slot_map::swap_rows() takes the handles along; std::ranges do not");
    }

private:
    T* row_ = nullptr;
};

/// The objects of a map, packed: a span that is not sorted, because handles would find each other's
/// objects. It converts to std::span<T>.
template <class T>
class row_span : public std::span<T> {
public:
    using iterator = row_iterator<T>;

    constexpr row_span() noexcept = default;
    explicit constexpr row_span(std::span<T> rows) noexcept : std::span<T>{rows} {}
    [[nodiscard]] constexpr iterator begin() const noexcept { return iterator{this->data()}; }
    [[nodiscard]] constexpr iterator end() const noexcept {
        return iterator{this->data() + this->size()};
    }
};

/// The handles and rows of a map, side by side, in row order.
template <class Handle, class RowIterator>
class slot_items {
public:
    using value_type = slot_item<Handle, decltype(std::declval<const RowIterator&>()[0])>;

    slot_items() noexcept = default;
    slot_items(std::span<const Handle> handles, RowIterator rows) noexcept
        : handles_{handles}, rows_{rows} {}

    [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }
    /// Constant, so that `auto& [h, row]` binds it, too.
    [[nodiscard]] const value_type operator[](std::size_t row) const noexcept {
        return {handles_[row], rows_[static_cast<std::ptrdiff_t>(row)]};
    }
    [[nodiscard]] auto begin() const noexcept { return index_iterator{*this, 0}; }
    [[nodiscard]] auto end() const noexcept { return index_iterator{*this, size()}; }

private:
    std::span<const Handle> handles_{};
    RowIterator rows_{};
};

/// An object that knows the handle by which its map finds it (emplace_with).
template <class T, class Handle>
concept tells_its_handle = requires(const T& object) {
    { object.handle() } -> std::same_as<Handle>;
};

/// Packed rows, their handles and their slots, which change together. slot_map (rows are objects)
/// and slot_table (rows are columns) derive from it; all that both have stands here, once.
///
///     slots_       handle -> row        [ 0 ][ - ][ 1 ][ 2 ]      slot_directory
///     handles_     row -> handle        [ h0 ][ h2 ][ h3 ]
///     rows_        row -> object        [ a  ][ c  ][ d  ]        packed_array, table
///
///     insertion    room in all three; the row is built; slot and handle of the row are written
///     erasure      the last row moves into the hole; its slot is written; the slot of the erased
///                  row ends its life
///
/// A constructor that throws leaves slots and handles as they were.
///
/// `Parts`: the row type `value`, its `rows`, `iterator`, `const_iterator`, what find() returns
/// (`pointer`, `const_pointer`: null when nothing was found), and the map's `name` in reports.
template <class Parts, class Policy>
class slot_rows : public other_names_of_maps<slot_rows<Parts, Policy>> {
    static_assert(names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");
    using rules = std::conditional_t<names_handles<Policy>, Policy, slot_policy<>>;

protected:
    using rows_type = typename Parts::rows;

public:
    using handle_type = typename rules::template handle_type<typename Parts::value>;
    using value_type = typename Parts::value;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = decltype(std::declval<rows_type&>()[0]);
    using const_reference = decltype(std::declval<const rows_type&>()[0]);
    using pointer = typename Parts::pointer;
    using const_pointer = typename Parts::const_pointer;
    using iterator = typename Parts::iterator;
    using const_iterator = typename Parts::const_iterator;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;
    using options = slot_map_options;

    /// An empty map, which takes no memory yet.
    slot_rows() noexcept : slot_rows{system_memory()} {}
    explicit slot_rows(allocator_ref upstream, const options& how = {}) noexcept
        : slots_{{static_cast<std::uint32_t>(max_size()), handle_type::generation_max,
                  rules::free_min, how.first_generation},
                 upstream},
          handle_memory_{cache_line_alignment, upstream},
          rows_{upstream},
          limbo_{upstream} {
        static_assert(sizeof(concrete_rules<value_type>) != 0);
        slots_.set_live_max(0);
    }
    /// Takes the rows, handles and memory of `other`, which is empty afterwards; the handles find
    /// their rows here.
    slot_rows(slot_rows&& other) noexcept
        : slots_{std::move(other.slots_)},
          handles_{std::exchange(other.handles_, nullptr)},
          handle_capacity_{std::exchange(other.handle_capacity_, 0)},
          handle_memory_{std::move(other.handle_memory_)},
          rows_{std::move(other.rows_)},
          limbo_{std::move(other.limbo_)},
          mark_{std::move(other.mark_)} {
        other.slots_.set_live_max(0);
    }
    /// `other` may be part of an object of this map: the old objects are destroyed last, and then
    /// the handles of the new ones find them.
    slot_rows& operator=(slot_rows&& other) noexcept {
        if (this != compiler::address_of(other)) {
            mark_.expect_free(this, Parts::name);
            slot_rows taken{std::move(other)};
            std::swap(slots_, taken.slots_);
            std::swap(handles_, taken.handles_);
            std::swap(handle_capacity_, taken.handle_capacity_);
            std::swap(handle_memory_, taken.handle_memory_);
            std::swap(rows_, taken.rows_);
            std::swap(limbo_, taken.limbo_);
        }
        return *this;
    }
    explicit slot_rows(const options& how) noexcept : slot_rows{system_memory(), how} {}
    ~slot_rows() {
        mark_.close(this, Parts::name);
        owners_.expect_none(this, Parts::name);
        // Every handle is stale before the first destructor or deallocate() of the user runs.
        [[maybe_unused]] const auto ended = std::move(slots_);
        slots_.set_live_max(0);
        rows_.clear();
        limbo_.clear();
    }

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// Rows for which there is room.
    [[nodiscard]] std::size_t capacity() const noexcept { return rows_.capacity(); }
    [[nodiscard]] static constexpr std::size_t max_size() noexcept {
        return std::size_t{handle_type::index_max} + 1;
    }
    /// All slots: live, free, promised and worn out.
    [[nodiscard]] std::size_t slot_count() const noexcept { return slots_.capacity(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return handle_memory_.upstream(); }

    // ---- finding ------------------------------------------------------------------------------

    /// The row that `h` names; null when it is gone. Any handle may be asked for.
    ///     if (auto e = map.find(h)) { e->health = 0; }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] pointer find(handle_type h) noexcept {
        return find_in<pointer>(rows_, h);
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] const_pointer find(handle_type h) const noexcept {
        return find_in<const_pointer>(rows_, h);
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        std::uint32_t row;
        return find_row(h, row);
    }
    /// Requires: contains(h). Any other handle stops a checked build, with a message that names the
    /// caller's line and what is wrong: null, of another map, not fulfilled yet, stale.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] reference operator[](asked<handle_type> h) noexcept {
        return own_row(rows_, h, live_row(h, detail::line_of(h)));
    }
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] const_reference operator[](
        asked<handle_type> h) const noexcept {
        return own_row(rows_, h, live_row(h, detail::line_of(h)));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] reference at(handle_type h, call_site from = call_site::current()) noexcept {
        return own_row(rows_, h, live_row<true>(h, from));
    }
    [[nodiscard]] const_reference at(handle_type h,
                                     call_site from = call_site::current()) const noexcept {
        return own_row(rows_, h, live_row<true>(h, from));
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return slots_.fault_of(h.index(), h.generation());
    }
    /// The row of `h`, for a column of your own or a shader that addresses uploaded rows.
    /// Requires: contains(h).
    [[nodiscard]] std::size_t dense_index(handle_type h,
                                          call_site from = call_site::current()) const noexcept {
        return live_row(h, from);
    }
    /// The handle of row `row`. Requires: row < size().
    [[nodiscard]] handle_type handle_at(std::size_t row) const noexcept {
        CAIRN_ASSERT(row < size(), "a row is below size()",
                     detail::beyond_end(this, Parts::name, row, size()));
        return handles_[row];
    }
    /// The handle of the row here. Requires: `where` is in this map, and not end().
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return handle_at(row_number(where));
    }

    // ---- all of them --------------------------------------------------------------------------

    /// The handles of all rows, in row order.
    [[nodiscard]] std::span<const handle_type> handles() const noexcept {
        return {handles_, size()};
    }

    /// Handle and row of each, in row order: for (auto [h, row] : map.items()).
    [[nodiscard]] auto items() noexcept {
        return slot_items<handle_type, iterator>{handles(), begin()};
    }
    [[nodiscard]] auto items() const noexcept {
        return slot_items<handle_type, const_iterator>{handles(), begin()};
    }
    /// Calls f(row) or f(handle, row) for each, in row order. `f` must not insert or erase.
    /// Rows of a slot_table: as table::for_each.
    template <class F>
    void for_each(F&& f) {
        [[maybe_unused]] const auto loop = begin_loop();
        visit<reference>(*this, f);
    }
    template <class F>
    void for_each(F&& f) const {
        [[maybe_unused]] const auto loop = begin_loop();
        visit<const_reference>(*this, f);
    }
    /// True when the same handles find equal rows in both, in whatever order the rows stand.
    friend bool operator==(const slot_rows& a, const slot_rows& b)
        requires std::equality_comparable<value_type>
    {
        [[maybe_unused]] const auto loop_a = a.begin_loop();
        [[maybe_unused]] const auto loop_b = b.begin_loop();
        std::uint32_t there = 0;
        for (std::size_t row = 0; a.size() == b.size() && row < a.size(); ++row) {
            if (!b.find_row(a.handles_[row], there)) { return false; }
            const value_type& one = a.rows_[row];  // where rows are references: a copy
            const value_type& other = b.rows_[there];
            if (!(one == other)) { return false; }
        }
        return a.size() == b.size();
    }

    [[nodiscard]] iterator begin() noexcept {
        mark_.expect_whole(this, Parts::name);
        return first_row();
    }
    [[nodiscard]] iterator end() noexcept { return iterator{rows_.end()}; }
    [[nodiscard]] const_iterator begin() const noexcept { return cbegin(); }
    [[nodiscard]] const_iterator end() const noexcept { return cend(); }
    [[nodiscard]] const_iterator cbegin() const noexcept {
        mark_.expect_whole(this, Parts::name);
        return const_iterator{rows_.begin()};
    }
    [[nodiscard]] const_iterator cend() const noexcept { return const_iterator{rows_.end()}; }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator{end()}; }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator{begin()}; }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return crbegin(); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return crend(); }
    [[nodiscard]] auto crbegin() const noexcept { return const_reverse_iterator{cend()}; }
    [[nodiscard]] auto crend() const noexcept { return const_reverse_iterator{cbegin()}; }

    // ---- room ---------------------------------------------------------------------------------

    /// Room for `count` rows in all; insertions up to there never allocate. A promised handle
    /// counts as a row.
    /// Returns: false when exhausted, or when the handle has too few index bits; then nothing that
    /// can be seen has changed.
    [[nodiscard]] bool reserve(std::size_t count) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        // The slots last: they are written, and kept, where rows that find no room cost nothing.
        const auto also = [&] { return slots_.reserve(count) && reserve_handles(count); };
        if (count > max_size() || !rows_.reserve_with(count, also)) { return false; }
        set_row_max();
        return true;
    }
    /// From now on everything grows in place, up to `count_max` rows and what fits the last page
    /// beside them: nothing moves, no insertion copies the others, references survive growth. Costs
    /// addresses, not memory. It also fixes the number of slots: one whose generations are used up
    /// is not replaced (recycle_slots()). `how`: as packed_array's.
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false for 0, for more than the handle can name, and when the system refuses; the
    /// map is still usable then.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max,
                                             page_options how = {}) noexcept {
        CAIRN_ASSERT(slots_.capacity() == 0, "addresses are reserved before the first insertion");
        mark_.expect_free(this, Parts::name);
        return count_max != 0 && count_max <= max_size() &&
               slots_.reserve_address_space(count_max, how) &&
               handle_memory_.reserve_address_space(count_max * sizeof(handle_type), how) &&
               rows_.reserve_address_space(count_max, how);
    }

    /// Gives back the memory that rows, handles and slots do not need. Every handle finds what it
    /// found; a handle that found nothing never finds another row. References end.
    /// Cost:    moves each row, as shrink_to_fit() of a packed_array or table; O(slots). Free slots
    ///          before one that is in use, or that have lived more than 1/16 of their lives, stay.
    /// Returns: false when the upstream has no smaller block; what needs it stays as large then.
    [[nodiscard]] bool shrink_to_fit() {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        const bool rows_fit = rows_.shrink_to_fit();
        detail::growable_memory::left_block old;
        const bool handles_fit =
            use_handle_memory(handle_memory_.shrink(size() * sizeof(handle_type), &old));
        const bool slots_fit = slots_.shrink_to_fit();
        const bool waiting_fit = limbo_.shrink_to_fit();
        set_row_max();
        return rows_fit && handles_fit && slots_fit && waiting_fit;
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new row, built in place.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what the row's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] handle_type emplace(Args&&... args) {
        [[maybe_unused]] const callback_mark::building scope{mark_, this, Parts::name};
        if (!slots_.is_ready()) [[unlikely]] {
            const handle_type h = next_handle_growing();
            if (!h || !rows_.emplace_growing(std::forward<Args>(args)...)) { return {}; }
            commit_growing(h);
            return h;
        }
        const std::uint32_t slot = slots_.peek();
        const std::uint32_t life = slots_.generation(slot);
        rows_.emplace_in_room(std::forward<Args>(args)...);
        return commit(slot, life);
    }
    /// A new row that knows its own handle: make(h) returns it, built in place where rows are
    ///                                      objects.
    /// As emplace otherwise. `make` must not change this map.
    template <class Make>
    [[nodiscard]] handle_type emplace_with(Make&& make) {
        [[maybe_unused]] const callback_mark::building scope{mark_, this, Parts::name};
        const handle_type h = next_handle();
        if (!h || !rows_.emplace_from([&]() -> value_type { return make(h); })) [[unlikely]] {
            return {};
        }
        return commit(h.index(), h.generation());
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] handle_type insert(const value_type& value) {
        return emplace(value);
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] handle_type insert(value_type&& value) {
        return emplace(std::move(value));
    }

    /// A handle now, the row later: find() finds nothing until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type promise_handle() noexcept {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        const std::uint32_t slot = slots_.next();
        if (slot == none) [[unlikely]] { return {}; }
        const handle_type h = handle_type::make(slot, slots_.generation(slot));
        slots_.promise(slot);
        return h;
    }
    /// Builds the row of a promised handle.
    /// Returns: the row; null when exhausted, the handle stays promised then.
    /// Requires: is_promised(h).
    template <class... Args>
    [[nodiscard]] pointer fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        [[maybe_unused]] const callback_mark::building scope{mark_, this, Parts::name};
        if (!make_room() || !rows_.emplace_back(std::forward<Args>(args)...)) [[unlikely]] {
            return pointer{};
        }
        const std::size_t row = size() - 1;
        slots_.fulfil(h.index(), static_cast<std::uint32_t>(row));
        handles_[row] = h;
        return pointer_to<pointer>(rows_, row);
    }
    /// True when `h` came from promise_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_promised(handle_type h) const noexcept {
        return slots_.is_promised(h.index(), h.generation());
    }
    /// Gives a promised handle back unused: it is stale from now on. Requires: is_promised(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be abandoned");
        mark_.expect_free(this, Parts::name);
        slots_.vacate(h.index());
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the row; the last row moves into its place.
    /// Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) {
        std::uint32_t row;
        if (!find_row(h, row)) [[unlikely]] { return false; }
        (void)own_row(rows_, h, row);
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        erase_row(row, h);
        return true;
    }
    /// Erases `*where`. Returns: the same position, where the moved row is still to be visited:
    ///     for (auto it = m.begin(); it != m.end();) { it = dead(*it) ? m.erase(it) : it + 1; }
    iterator erase(const_iterator where) {
        const std::size_t row = row_number(where);
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        erase_row(row);
        return first_row() + static_cast<std::ptrdiff_t>(row);
    }
    iterator erase(const_iterator first, const_iterator last) {
        const std::size_t row = row_number(first);
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        for (std::size_t end = row_number(last); end != row; --end) { erase_row(end - 1); }
        return first_row() + static_cast<std::ptrdiff_t>(row);
    }
    /// Erases every row that `predicate` is true for; the others keep their order. Each row is
    /// asked once, by row. The predicate may look handles up; those of rows that this call erases
    /// may still find them, for rows leave in groups. Erase the children of erased rows in a second
    /// call.
    /// Returns: how many were erased.
    /// Throws:  what the predicate throws; some of the rows for which it was true are gone then, no
    ///          other.
    /// Cost:    behind the first row that is erased, one move of each row, and a store to its slot.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        static_assert(std::is_invocable_v<Predicate&, reference>,
                      "the predicate takes a row: auto&&");
        const std::size_t before = size();
        handle_mover handles{*this};
        rows_.erase_if(predicate, [&](std::size_t, const bool* is_erased, std::size_t count) {
            handles.move(is_erased, count);
        });
        return before - size();
    }
    /// The same where the order does not matter: the last row moves into each hole.
    /// Cost: as erase(), for each row that is erased.
    template <class Predicate>
    std::size_t swap_erase_if(Predicate&& predicate) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        static_assert(std::is_invocable_v<Predicate&, reference>,
                      "the predicate takes a row: auto&&");
        const std::size_t before = size();
        for (std::size_t row = 0; row < size();) {
            if (static_cast<bool>(predicate(rows_[row]))) {
                erase_row(row);
            } else {
                ++row;
            }
        }
        return before - size();
    }
    /// Moves the row out and erases it. Returns: nothing when the handle is stale.
    [[nodiscard]] std::optional<value_type> take(handle_type h) {
        std::optional<value_type> taken;  // one for every return: built where the caller wants it
        std::uint32_t row;
        if (find_row(h, row)) [[likely]] {
            [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
            taken.emplace(moved_out(row));
            erase_row(row, h);
        }
        return taken;
    }
    /// Every row is destroyed and every handle is stale, promised ones too. Keeps the memory.
    /// What is retired still waits for its fence. O(rows).
    void clear() noexcept {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        slots_.vacate_rows(handles_, size());
        slots_.vacate_promised();
        rows_.clear();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the row is moved aside and destroyed by the collect() whose argument
    /// reaches `fence`: a GPU or a job may still be using what it owns.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) {
        std::uint32_t row;
        if (!find_row(h, row)) [[unlikely]] { return false; }
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        const auto move_out = [&] {
            slots_.hide(h.index());  // a deallocate() of the user finds no row that has moved out
            return waiting{moved_out(row), fence};
        };
        {
            // Before the slot ends, and where the move throws: the row stays in the map then.
            const rollback find_again{[&]() noexcept { slots_.show(h.index(), h.generation()); }};
            if (limbo_.emplace_from(move_out) == nullptr) { return false; }
        }
        erase_row(row, h);
        return true;
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(pending).
    std::size_t collect(std::uint64_t completed) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        return limbo_.swap_erase_if([=](const waiting& w) { return w.fence <= completed; });
    }
    /// Rows that wait for their fence.
    [[nodiscard]] std::size_t pending_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// How often the slot of `h` can be used again once this row is gone.
    /// Requires: `h` finds a row.
    [[nodiscard]] std::size_t generations_left(handle_type h) const noexcept {
        CAIRN_ASSERT(contains(h), "the handle finds a row");
        return slots_.lives_behind(h.generation());
    }
    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t worn_out_slot_count() const noexcept {
        return slots_.worn_out_count();
    }
    /// Brings worn-out slots back, all of them, with their first generation.
    /// Requires: no handle of any row that ever lived in them is left, anywhere. At a level change
    /// you may know that; say so with cairn::no_handles_left. Returns: how many came back.
    std::size_t recycle_slots(no_handles_left_t proof) noexcept {
        mark_.expect_free(this, Parts::name);
        return slots_.recycle_worn_out(proof);
    }

    // ---- order --------------------------------------------------------------------------------

    /// Sorts the rows with less(row, row), stable; handles stay valid. Each row moves once.
    /// Returns: false when there is no memory for about 16 bytes a row, or for a copy of the widest
    /// column; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        return sorted(compared_order{std::as_const(rows_).begin(), less, size()});
    }
    /// Exchanges two rows; handles, and columns attached to a table, follow.
    void swap_rows(std::size_t a, std::size_t b) {
        CAIRN_ASSERT(a < size() && b < size(), "a row is below size()");
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        rows_.swap_rows(a, b);
        const handle_type first = handles_[a];
        lead(a, handles_[b]);
        lead(b, first);
    }

    // ---- all at once --------------------------------------------------------------------------

    /// The same rows, handles and slots as in `other`: see clone(). What is retired stays there.
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false when exhausted; the map can only be destroyed then.
    [[nodiscard]] bool copy_from(const slot_rows& other) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        [[maybe_unused]] const auto loop = other.begin_loop();
        if (!slots_.copy_from(other.slots_) || !reserve_handles(other.size()) ||
            !rows_.copy_from(other.rows_)) {
            return false;
        }
        for (std::size_t r = 0; r < size(); ++r) { handles_[r] = other.handles_[r]; }
        set_row_max();
        return true;
    }
    void swap(slot_rows& other) noexcept { std::swap(*this, other); }

    /// O(slots). A broken invariant stops a checked build.
    /// Requires: no insertion or erasure is under way: a callback does not ask.
    void validate() const noexcept {
        slots_.validate();
        rows_.validate();
        CAIRN_ASSERT(slots_.live_count() == size(), "every row has a handle");
        CAIRN_ASSERT(slots_.in_use_count() == size() + slots_.promised_count(),
                     "every slot in use has a row or is promised");
        for (std::size_t r = 0; asserts_enabled && r < size(); ++r) {
            CAIRN_ASSERT(slots_.find(handles_[r].index(), handles_[r].generation()) == r,
                         "slot and row lead to each other");
        }
    }

protected:
    static constexpr std::uint32_t none = 0xffff'ffff;  // no row, no slot
    static constexpr bool rows_are_objects = std::is_lvalue_reference_v<reference>;

    /// Whether a look-up asks the object that it found for its handle.
    static consteval bool asks_objects() {
        return asserts_enabled && tells_its_handle<value_type, handle_type>;
    }
    /// `object`, which `h` has found. Checked builds ask it for its handle, where it can tell.
    template <class Pointer>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static Pointer own([[maybe_unused]] handle_type h,
                                                            Pointer object) noexcept {
        if constexpr (rows_are_objects && asks_objects()) {
            [[maybe_unused]] const handle_type stored = object->handle();
            CAIRN_ASSERT(
                !stored || (stored.index() == h.index() && stored.generation() == h.generation()),
                "objects change places by sort() and swap_rows(), which tell their handles",
                {.object = object,
                 .type = "object",
                 .values = {{"slot", h.index()}, {"slot of the object", stored.index()}}});
        }
        return object;
    }
    /// True when `h` is alive; `row` is its row then.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] bool find_row(handle_type h,
                                                       std::uint32_t& row) const noexcept {
        return slots_.find(h.index(), h.generation(), row);
    }
    /// Row `row`, which a handle has just found. In erase_if(), too, where others have ended and
    /// rows_[row] stops a checked build.
    template <class Rows>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static decltype(auto) living_row(
        Rows& rows, std::size_t row) noexcept {
        if constexpr (requires { rows.data(); }) {
            return rows.data()[row];
        } else {
            if constexpr (!std::is_trivially_copyable_v<value_type>) {
                rows.rows_memory().mark.expect_no_holes(compiler::address_of(rows), Parts::name);
            }
            return rows.view()[row];
        }
    }
    template <class Pointer, class Rows>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static Pointer pointer_to(Rows& rows,
                                                                   std::size_t row) noexcept {
        if constexpr (rows_are_objects) {
            return detail::not_null(compiler::address_of(living_row(rows, row)));
        } else {
            return Pointer{living_row(rows, row)};
        }
    }
    template <class Pointer, class Rows>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] Pointer find_in(Rows& rows, handle_type h) const noexcept {
        std::uint32_t row;
        if constexpr (requires { rows.data(); }) {
            auto* const all = rows.data();  // before the question: loops keep it in a register
            return find_row(h, row) ? detail::not_null(own(h, all + row)) : nullptr;
        } else {
            return find_row(h, row) ? own(h, pointer_to<Pointer>(rows, row)) : Pointer{};
        }
    }
    template <class Rows>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] static decltype(auto) own_row(Rows& rows, handle_type h,
                                                                       std::size_t row) noexcept {
        if constexpr (rows_are_objects) {
            return *own(h, compiler::address_of(living_row(rows, row)));
        } else {
            return living_row(rows, row);
        }
    }
    /// The row of `h`. Where it finds nothing, checked builds stop; with `InEveryBuild` all do.
    template <bool InEveryBuild = asserts_enabled>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] std::uint32_t live_row(handle_type h,
                                                                call_site from) const noexcept {
        const std::uint32_t row = slots_.find(h.index(), h.generation());
        if (InEveryBuild && row == none) [[unlikely]] { refuse(h, from); }
        return row;
    }
    /// Stops the program and names what is wrong with `h`. Requires: it finds nothing.
    [[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] void refuse(handle_type h, call_site from) const {
        slots_.refuse(h.index(), h.generation(), this, Parts::name, from);
    }
    [[nodiscard]] std::size_t row_number(const_iterator where) const noexcept {
        return static_cast<std::size_t>(where - const_iterator{rows_.begin()});
    }

    /// A loop over the rows, until the scope ends.
    [[nodiscard]] auto begin_loop() const noexcept { return mark_.visit(this, Parts::name); }

    /// The rows take the order that `find_order` finds (sort_rows.hpp), and so do their handles.
    template <class FindOrder>
    [[nodiscard]] bool sorted(FindOrder find_order) {
        [[maybe_unused]] const auto change = mark_.begin(this, Parts::name);
        const auto use = [this](std::span<std::uint32_t> order, void* spare) {
            // Before permute(), which spoils `order`; into a copy, since a refusal there must
            // change no handle.
            auto* const moved_handles = static_cast<handle_type*>(spare);
            for (std::size_t r = 0; r < size(); ++r) { moved_handles[r] = handles_[order[r]]; }
            const auto lead_all = [&] {
                for (std::size_t r = 0; r < size(); ++r) { lead(r, moved_handles[r]); }
                return true;
            };
            // A table gives memory back: a deallocate() of the user may look handles up.
            if constexpr (requires { rows_.permute_with(order, lead_all); }) {
                return rows_.permute_with(order, lead_all);
            } else {
                return rows_.permute(order) && lead_all();
            }
        };
        return detail::sort_rows(size(), upstream(), find_order, size() * sizeof(handle_type), use);
    }

private:
    [[nodiscard]] iterator first_row() noexcept { return iterator{rows_.begin()}; }

    struct waiting {
        using other_array_expects_movable = void;  // the one of the rows: one sentence is enough
        value_type object;
        std::uint64_t fence;
    };

    /// The handles of rows that erase_if() moves.
    ///
    ///     | handles of rows that stay | ended or moved | not asked yet |
    ///     0                           kept             asked
    struct handle_mover {
        slot_rows& map;
        std::size_t kept = 0;
        std::size_t asked = 0;
        /// Where the predicate has thrown, the rows that were not asked have closed the gap.
        ~handle_mover() {
            if (kept == asked) { return; }
            for (; kept != map.size(); ++kept, ++asked) { map.lead(kept, map.handles_[asked]); }
        }
        void move(const bool* is_erased, std::size_t count) noexcept {
            typename handle_type::word_type ended[asked_rows_max];
            std::size_t ended_count = 0;
            const handle_type* const handles = map.handles_ + asked;
            for (std::size_t i = kept == asked ? staying_in_front(is_erased, count) : 0; i < count;
                 ++i) {
                // Also of a row that ends: a store costs less than a mispredicted branch.
                map.lead(kept + i - ended_count, handles[i]);
                ended[ended_count] = handles[i].raw();
                ended_count += is_erased[i];
            }
            kept += count - ended_count;
            asked += count;
            for (std::size_t i = 0; i < ended_count; ++i) {
                const handle_type h = handle_type::from_raw(ended[i]);
                map.slots_.vacate_live(h.index(), h.generation());
            }
        }
    };

    template <class Reference, class Self, class F>
    static void visit(Self& self, F& f) {
        if constexpr (std::is_invocable_v<F&, handle_type, Reference>) {
            const std::size_t count = self.size();
            const auto rows = self.begin();
            for (std::size_t row = 0; row < count; ++row) {
                f(self.handles_[row], rows[static_cast<std::ptrdiff_t>(row)]);
            }
        } else {
            self.rows_.for_each(f);
        }
    }
    /// The value of a row that is erased next.
    [[nodiscard]] decltype(auto) moved_out(std::size_t row) {
        if constexpr (rows_are_objects) {
            return std::move(rows_[row]);
        } else {
            return rows_[row].cairn_visit_fields(
                [](auto&... fields) { return value_type{std::move(fields)...}; });
        }
    }

    /// The slot, which the next insertion was to take, comes alive in the row that was just built.
    /// Returns: its handle.
    [[CAIRN_FORCE_INLINE]] handle_type commit(std::uint32_t slot, std::uint32_t life) noexcept {
        const std::uint32_t row = slots_.live_count();
        const handle_type h = handle_type::make(slot, life);
        slots_.occupy(slot, life, row);
        handles_[row] = h;
        return h;
    }
    /// The handle that the next insertion will have; room for it is made. Null when exhausted.
    [[nodiscard]] handle_type next_handle() noexcept {
        if (!make_room() || !slots_.prepare()) [[unlikely]] { return {}; }
        const std::uint32_t slot = slots_.peek();
        return handle_type::make(slot, slots_.generation(slot));
    }
    /// The two halves of an insertion that grows, around the building of the row: calls that take
    /// nothing of the caller's (packed_array.hpp says why).
    [[nodiscard, CAIRN_NOINLINE, CAIRN_COLD]] handle_type next_handle_growing() noexcept {
        return next_handle();
    }
    [[CAIRN_NOINLINE, CAIRN_COLD]] void commit_growing(handle_type h) noexcept {
        commit(h.index(), h.generation());
        set_row_max();
    }
    /// Row `row` is that of `h` from now on.
    void lead(std::size_t row, handle_type h) noexcept {
        handles_[row] = h;
        slots_.set_value(h.index(), static_cast<std::uint32_t>(row));
    }
    /// The row of `h` is destroyed, and the last row moves into its place.
    void erase_row(std::size_t row, handle_type h) noexcept {
        constexpr bool runs_code = !std::is_trivially_copyable_v<value_type>;
        CAIRN_ASSERT(slots_.find(h.index(), h.generation()) == row,
                     "the handle is that of the row");
        if constexpr (runs_code) { slots_.hide(h.index()); }
        rows_.swap_erase(row);
        if constexpr (runs_code) { slots_.stop_hiding(h.index(), h.generation()); }
        lead(row, handles_[slots_.live_count() - 1]);  // maybe itself
        slots_.vacate_live(h.index(), h.generation());
    }
    void erase_row(std::size_t row) noexcept { erase_row(row, handle_at(row)); }

    /// From now on slots_.is_ready() answers for handles and rows, too, in one comparison.
    void set_row_max() noexcept {
        const std::size_t rows = rows_.capacity();
        slots_.set_live_max(rows < handle_capacity_ ? rows : handle_capacity_);
    }
    /// Room for the handle of one row more.
    [[nodiscard]] bool make_room() noexcept {
        const std::size_t count = slots_.live_count();
        if (count < handle_capacity_) { return true; }
        growable_memory::left_block old;
        return use_handle_memory(handle_memory_.grow_for_more(count, sizeof(handle_type), &old));
    }
    [[nodiscard]] bool reserve_handles(std::size_t count) noexcept {
        constexpr std::size_t each = sizeof(handle_type);
        if (count <= handle_capacity_) { return true; }
        growable_memory::left_block old;
        return use_handle_memory(handle_memory_.grow(count * each, size() * each, &old));
    }
    /// The handles stand where their memory is now. Returns: `fits`, for the caller.
    bool use_handle_memory(bool fits) noexcept {
        handles_ = reinterpret_cast<handle_type*>(handle_memory_.data());
        // Inside reserved addresses more has become usable than was asked for: all of it counts.
        const std::size_t fitting = handle_memory_.size() / sizeof(handle_type);
        handle_capacity_ = fitting < max_size() ? fitting : max_size();
        return fits;
    }

protected:
    //  for each row r < size():  slots_ finds r with the handle handles_[r]
    //  slots_.live_count() == rows_.size(), but between the two halves of an insertion or erasure
    //  slots_.is_ready() compares with min(handle_capacity_, rows_.capacity()), too
    slot_directory<order_for(rules::order, handle_type::generation_bits)> slots_;
    handle_type* handles_ = nullptr;   // of each row
    std::size_t handle_capacity_ = 0;  // handles that fit handle_memory_
    growable_memory handle_memory_;
    rows_type rows_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] owner_count owners_;

private:
    template <class>
    friend class cairn::unique_handle;

    packed_array<waiting> limbo_;  // what was retired
    [[CAIRN_NO_UNIQUE_ADDRESS]] callback_mark mark_;
};

template <class T>
struct slot_map_parts {
    using value = T;
    using rows = packed_array<T>;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = row_iterator<T>;
    using const_iterator = row_iterator<const T>;
    static constexpr const char* name = "slot_map";
};

}  // namespace detail

/// The members that slot_table has, too, stand above, in slot_rows.
template <detail::element T, class Policy = slot_policy<>>
class slot_map : public detail::slot_rows<detail::slot_map_parts<T>, Policy> {
    static_assert(!detail::is_table<T>,
                  "handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>");
    using base = detail::slot_rows<detail::slot_map_parts<T>, Policy>;

public:
    using base::base;
    using base::handle_of;
    using typename base::handle_type;

    slot_map() noexcept = default;
    slot_map(slot_map&&) noexcept = default;
    slot_map& operator=(slot_map&&) noexcept = default;
    slot_map(const slot_map&) = delete;             // clone()
    slot_map& operator=(const slot_map&) = delete;  // clone()
    explicit slot_map(std::size_t, ...) = delete;   // room for objects: map.reserve(1000)

    /// The handle of an object that lives here. Requires: `object` is in values().
    [[nodiscard]] handle_type handle_of(const T& object) const noexcept {
        return this->handle_at(
            static_cast<std::size_t>(compiler::address_of(object) - this->rows_.data()));
    }

    /// All objects, packed, from a cache line on, in the order of handles().
    /// std::ranges::sort(values()) does not compile: handles would find each other's objects.
    /// Requires: objects do not change places by std::swap, or through a std::span made of these.
    ///           sort() and swap_rows() take the handles along. A checked build notices it at the
    ///           next look-up where T knows its handle: a const member function handle() that
    ///           returns handle_type (null: not yet).
    [[nodiscard]] detail::row_span<T> values() noexcept {
        return detail::row_span<T>{this->rows_.values()};
    }
    [[nodiscard]] detail::row_span<const T> values() const noexcept {
        return detail::row_span<const T>{this->rows_.values()};
    }
    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line. Callers
    /// include <cairn/containers/batches.hpp>.
    template <class Rows = std::span<T>>
    [[nodiscard]] row_batches<Rows> batches(std::size_t rows_per_batch) noexcept {
        return this->rows_.batches(rows_per_batch);
    }
    template <class Rows = std::span<const T>>
    [[nodiscard]] row_batches<Rows> batches(std::size_t rows_per_batch) const noexcept {
        return this->rows_.batches(rows_per_batch);
    }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<slot_map> clone() const { return clone(this->upstream()); }
    [[nodiscard]] std::optional<slot_map> clone(allocator_ref upstream) const {
        std::optional<slot_map> copy{std::in_place, upstream};
        if (!copy->copy_from(*this)) { copy.reset(); }
        return copy;
    }

    friend void swap(slot_map& a, slot_map& b) noexcept { a.swap(b); }
};

template <class T, class Policy>
struct detail::store_traits<slot_map<T, Policy>> : detail::map_traits<T, Policy> {};

}}  // namespace cairn::CAIRN_FLAVOUR

template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<cairn::detail::row_span<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<cairn::detail::row_span<T>> = true;
