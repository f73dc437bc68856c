// cairn/containers/slot_map.hpp - packed objects behind handles that cannot lie.
//
//      handle {slot 2, life 5}
//              |              values:   +----+----+----+
//      slots:  v              (packed)  | a  | c  | d  |      iterate: a pointer increment
//      +---+---+---+---+                +----+----+----+
//      | 0 | - | 1 | 2 |      handles:  | h0 | h2 | h3 |      row -> handle
//      +---+---+---+---+                +----+----+----+
//        slot -> row             row:     0    1    2
//
// A packed_array and a dense_directory that walk in step. find() answers nullptr for every handle
// whose object is gone: erased, taken, retired, cleared, never filled.
//
// Use it for: entities, particles, assets: anything that is iterated and referred to.
// Look elsewhere for: addresses that must not change (stable_slot_map), columns instead of structs
//                     (slot_map<table<Row, soa>>), no references at all (packed_array).
//
// Invariant: handle_at(dense_index(h)) == h for every live h.
// Cost:      find: one bounds check, one 8-byte load, one compare, and the object.
//            emplace, erase: about ten loads and stores beside the object's own.
// Foreign:   a handle of another map of the same type, or of what this one held before it was replaced (m = {}),
//            moved from or made again, finds nothing either: never while few maps are made, else but for a chance
//            of 1 in 2^31 (64 bits), 4095 (32), 63 (16): alloc/generations.hpp. Tags (slot_policy) keep maps
//            apart at compile time.
// Handles keep through everything but the end of their object. References die on growth (never after
// reserve_address_space()) and rename when another object is erased (the last row moves).
// Re-entrancy: constructors, moves and destructors of objects, `make` and predicates may look things up in this
//            map and must not change it: rows move under them. (stable_slot_map allows it.) While an object is
//            erased, what its handle and that of the last row find is undefined: their rows are in between.
// Threads:   one at a time; find and iteration from many while nobody changes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map/found.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/storage/dense_directory.hpp>
#include <cairn/storage/sort_indices.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace detail {

/// An object that knows the handle by which its map finds it (emplace_with).
template <class T, class Handle>
concept tells_its_handle = requires(const T& object) {
    { object.handle() } -> std::same_as<Handle>;
};

}  // namespace detail

template <class T, class Policy = slot_policy<>>
class slot_map {
public:
    using handle_type = typename Policy::template handle_type<T>;
    using key_type = handle_type;  // the names of P0661
    using mapped_type = T;
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = row_iterator<T>;
    using const_iterator = row_iterator<const T>;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    explicit slot_map(allocator_ref upstream = system_memory(),
                      const slot_map_options& options = {}) noexcept
        : directory_{upstream, options.first_generation}, values_{upstream}, limbo_{upstream} {
        directory_.set_row_max(0);
    }
    slot_map(slot_map&&) noexcept = default;
    slot_map& operator=(slot_map&&) noexcept = default;

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; null (and == end()) when it is gone. Any handle may be asked for.
    [[nodiscard]] found<T> find(handle_type h) noexcept {
        T* const rows = values_.data();  // before the question: loops keep it in a register
        std::uint32_t row;
        return {directory_.find_row(h, row) ? detail::not_null(own(h, rows + row)) : nullptr,
                rows + values_.size()};
    }
    [[nodiscard]] found<const T> find(handle_type h) const noexcept {
        const T* const rows = values_.data();  // before the question: loops keep it in a register
        std::uint32_t row;
        return {directory_.find_row(h, row) ? detail::not_null(own(h, rows + row)) : nullptr,
                rows + values_.size()};
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept {
        std::uint32_t row;
        return directory_.find_row(h, row);
    }

    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with it:
    /// null, of another map, not fulfilled yet, stale.
    [[nodiscard]] T& operator[](handle_type h) noexcept {
        const std::uint32_t row = live_row(h);
        return *own(h, values_.data() + row);
    }
    [[nodiscard]] const T& operator[](handle_type h) const noexcept {
        const std::uint32_t row = live_row(h);
        return *own(h, values_.data() + row);
    }
    /// As operator[], and a handle that finds nothing stops every build. Checked builds tell the line that
    /// called; operators have no parameter for it.
    [[nodiscard]] T& at(handle_type h, call_site from = call_site::current()) noexcept {
        T* const object = find(h);
        if (object == nullptr) [[unlikely]] { directory_.refuse(h, this, from); }
        return *object;
    }
    [[nodiscard]] const T& at(handle_type h, call_site from = call_site::current()) const noexcept {
        const T* const object = find(h);
        if (object == nullptr) [[unlikely]] { directory_.refuse(h, this, from); }
        return *object;
    }
    /// P0661's spelling of operator[]: as find(), pointer and iterator at once. Requires: contains(h).
    [[nodiscard]] found<T> find_unchecked(handle_type h) noexcept {
        return {detail::not_null(&(*this)[h]), values_.end()};
    }
    [[nodiscard]] found<const T> find_unchecked(handle_type h) const noexcept {
        return {detail::not_null(&(*this)[h]), values_.end()};
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return directory_.fault_of(h);
    }

    // ---- all of them --------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
    [[nodiscard]] bool empty() const noexcept { return values_.empty(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return values_.capacity(); }
    [[nodiscard]] static constexpr std::size_t max_size() noexcept {
        return directory::row_count_max;
    }
    /// All slots: live, free, held and exhausted.
    [[nodiscard]] std::size_t slot_count() const noexcept { return directory_.slots().capacity(); }
    [[nodiscard]] allocator_ref upstream() const noexcept { return directory_.upstream(); }

    /// All objects, packed, from a cache line on; and their handles in the same order.
    /// Requires: objects are changed where they are and do not change places through the span, by
    /// std::ranges::sort(values()) or std::swap: handles would find each other's objects. sort() and
    /// swap_rows() take the handles along. A checked build notices it at the next look-up where T
    /// knows its handle: a const member function handle() that returns handle_type (null: not yet).
    [[nodiscard]] std::span<T> values() noexcept { return values_.values(); }
    [[nodiscard]] std::span<const T> values() const noexcept { return values_.values(); }
    [[nodiscard]] std::span<const handle_type> handles() const noexcept {
        return directory_.handles();
    }
    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line.
    [[nodiscard]] row_batches<std::span<T>> batches(std::size_t rows_per_batch) noexcept {
        return values_.batches(rows_per_batch);
    }
    [[nodiscard]] row_batches<std::span<const T>> batches(
        std::size_t rows_per_batch) const noexcept {
        return values_.batches(rows_per_batch);
    }
    [[nodiscard]] iterator begin() noexcept { return iterator{values_.begin()}; }
    [[nodiscard]] iterator end() noexcept { return iterator{values_.end()}; }
    [[nodiscard]] const_iterator begin() const noexcept { return cbegin(); }
    [[nodiscard]] const_iterator end() const noexcept { return cend(); }
    [[nodiscard]] const_iterator cbegin() const noexcept { return const_iterator{values_.begin()}; }
    [[nodiscard]] const_iterator cend() const noexcept { return const_iterator{values_.end()}; }
    [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator{end()}; }
    [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator{begin()}; }
    [[nodiscard]] const_reverse_iterator rbegin() const noexcept { return crbegin(); }
    [[nodiscard]] const_reverse_iterator rend() const noexcept { return crend(); }
    [[nodiscard]] const_reverse_iterator crbegin() const noexcept {
        return const_reverse_iterator{cend()};
    }
    [[nodiscard]] const_reverse_iterator crend() const noexcept {
        return const_reverse_iterator{cbegin()};
    }

    /// The row of `h` in values(), for a shader that addresses the uploaded values.
    /// Requires: contains(h).
    [[nodiscard]] std::size_t dense_index(handle_type h,
                                          call_site from = call_site::current()) const noexcept {
        const std::uint32_t row = live_row(h, from);
        return row;
    }
    /// The handle of row `row`. Requires: row < size().
    [[nodiscard]] handle_type handle_at(std::size_t row) const noexcept {
        return directory_.handle_at(row);
    }
    /// The handle of an object that lives here. Requires: `object` is in values().
    [[nodiscard]] handle_type handle_of(const T& object) const noexcept {
        return directory_.handle_at(static_cast<std::size_t>(&object - values_.data()));
    }
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return handle_of(*where);
    }

    // ---- room ---------------------------------------------------------------------------------

    /// Room for `count` objects in all; insertions up to there never allocate. A reserved handle counts
    /// as an object.
    /// Returns: false when exhausted; then nothing that can be seen has changed.
    bool reserve(std::size_t count) {
        if (!directory_.reserve(count) || !values_.reserve(count)) { return false; }
        directory_.set_row_max(values_.capacity());
        return true;
    }
    /// P0661: room for `count` slots.
    bool reserve_slots(std::size_t count) noexcept { return directory_.reserve(count); }

    /// From now on everything grows in place, up to `count_max` objects and what fits the last page beside
    /// them: nothing moves, no insertion copies the others, references survive growth. Costs addresses,
    /// not memory. It also fixes the number of slots: one whose generations are used up is not
    /// replaced (recycle_slots()).
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false for 0, for more than the handle can name, and when the system refuses; the map is
    /// still usable then.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max) noexcept {
        return directory_.reserve_address_space(count_max) &&
               values_.reserve_address_space(count_max);
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new object, built in place.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    handle_type emplace(Args&&... args) {
        if (!directory_.is_ready()) [[unlikely]] {
            return emplace_growing(std::forward<Args>(args)...);
        }
        const handle_type h = directory_.ready_handle();
        values_.emplace_in_room(std::forward<Args>(args)...);
        directory_.commit(h);
        return h;
    }

    /// A new object that knows its own handle: make(h) returns it, built in place.
    /// As emplace otherwise. `make` must not change this map.
    template <class Make>
    handle_type emplace_with(Make&& make) {
        const handle_type h = directory_.next_handle();
        if (!h) [[unlikely]] { return {}; }
        if (values_.emplace_from([&]() -> T { return make(h); }) == nullptr) [[unlikely]] {
            return {};
        }
        directory_.commit(h);
        return h;
    }

    handle_type insert(const T& value) { return emplace(value); }
    handle_type insert(T&& value) { return emplace(std::move(value)); }

    /// A handle now, the object later: find() answers null until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type reserve_handle() noexcept { return directory_.hold(); }

    /// True when `h` came from reserve_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_reserved(handle_type h) const noexcept { return directory_.is_held(h); }

    /// Builds the object of a reserved handle.
    /// Returns: nullptr when exhausted; the handle stays reserved then.
    /// Requires: is_reserved(h).
    template <class... Args>
    T* fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_reserved(h), "only a reserved handle can be fulfilled");
        if (!directory_.make_room()) [[unlikely]] { return nullptr; }
        T* const object = values_.emplace(std::forward<Args>(args)...);
        if (object != nullptr) [[likely]] { directory_.commit_held(h); }
        return object;
    }

    /// Gives a reserved handle back unused. Requires: is_reserved(h).
    void abandon(handle_type h) noexcept { directory_.abandon(h); }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the object; the last row moves into its place.
    /// Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) {
        std::uint32_t row;
        if (!directory_.find_row(h, row)) [[unlikely]] { return false; }
        (void)own(h, values_.data() + row);
        values_.erase_at(row);  // first: a move that throws leaves the handles as they were
        directory_.erase_row(row, h);
        return true;
    }

    /// Erases `*where`. Returns: the same position, where the moved object is still to be visited.
    iterator erase(const_iterator where) {
        const auto row = static_cast<std::size_t>(where - cbegin());
        erase_row(row);
        return iterator{values_.data() + row};
    }
    iterator erase(const_iterator first, const_iterator last) {
        const auto row = static_cast<std::size_t>(first - cbegin());
        for (auto end = static_cast<std::size_t>(last - cbegin()); end != row; --end) {
            erase_row(end - 1);
        }
        return iterator{values_.data() + row};
    }

    /// As packed_array::erase_if.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        std::size_t erased_count = 0;
        for (std::size_t row = 0; row < size();) {
            if (predicate(values_[row])) {
                erase_row(row);
                ++erased_count;
            } else {
                ++row;
            }
        }
        return erased_count;
    }

    /// Moves the object out and erases it. Returns: nothing when the handle is stale.
    /// Throws: what copying a T throws, where its move may throw, or erasing it; the object lives on then,
    /// with its value, as far as T's assignment keeps it. (A T that can only be moved may lose it.)
    [[nodiscard]] std::optional<T> take(handle_type h) {
        std::optional<T> object;  // one for every return: built where the caller wants it
        std::uint32_t row;
        if (directory_.find_row(h, row)) [[likely]] {
            object.emplace(std::move_if_noexcept(values_[row]));
            erase_row(row);
        }
        return object;
    }

    /// Every object is destroyed and every handle is stale, reserved ones too. Keeps the memory.
    /// What is retired still waits for its fence.
    void clear() noexcept {
        directory_.clear();
        values_.clear();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the object is moved aside and destroyed when collect() is told that
    /// `fence` has passed: a GPU or a job may still be using what it owns.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    /// Throws: as take(); the object is not retired then.
    bool retire(handle_type h, std::uint64_t fence) {
        std::uint32_t row;
        if (!directory_.find_row(h, row)) [[unlikely]] { return false; }
        const auto aside = [&] { return waiting{std::move_if_noexcept(values_[row]), fence}; };
        if (limbo_.emplace_from(aside) == nullptr) { return false; }
        detail::undo_last guard{&limbo_};
        erase_row(row);
        guard.rows = nullptr;
        return true;
    }

    /// Destroys what was retired with a fence <= completed. Returns: how many. O(retired).
    std::size_t collect(std::uint64_t completed) {
        return limbo_.erase_if([=](const waiting& w) { return w.fence <= completed; });
    }

    /// Objects that wait for their fence.
    [[nodiscard]] std::size_t retired_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t exhausted_slot_count() const noexcept {
        return directory_.slots().retired_count();
    }
    /// Brings exhausted slots back, all of them, with their first generation.
    /// Requires: no handle of any object that ever lived in them is left, anywhere. At a level change
    /// you may know that; say so with cairn::no_handles_left. Returns: how many came back.
    std::size_t recycle_slots(no_handles_left_t proof) noexcept {
        return directory_.recycle_retired(proof);
    }

    // ---- order --------------------------------------------------------------------------------

    /// Sorts values() by `less`, stable; handles stay valid. Each object moves once.
    /// Returns: false when there is no memory for 16 bytes a row; nothing has changed then.
    template <class Less>
    [[nodiscard]] bool sort(Less&& less) {
        const std::size_t count = size();
        if (count < 2) { return true; }
        growable_memory scratch{cache_line_alignment, upstream()};
        constexpr std::size_t row_size = 2 * sizeof(std::uint32_t) + sizeof(handle_type);
        if (!scratch.grow(count * row_size, 0)) { return false; }
        auto* const order = reinterpret_cast<std::uint32_t*>(scratch.data());
        auto* const spare = reinterpret_cast<handle_type*>(order + 2 * count);  // 8-byte aligned
        const T* const rows = values_.data();
        detail::sort_indices(order, order + count, count, [&](std::uint32_t a, std::uint32_t b) {
            return static_cast<bool>(less(rows[a], rows[b]));
        });
        directory_.permute(order, spare);
        values_.permute(order);
        return true;
    }

    /// Exchanges two rows; handles follow their objects.
    void swap_rows(std::size_t a, std::size_t b) {
        using std::swap;
        swap(values_[a], values_[b]);
        directory_.swap_rows(a, b);
    }

    void swap(slot_map& other) noexcept {
        slot_map mine{std::move(*this)};
        *this = std::move(other);
        other = std::move(mine);
    }
    friend void swap(slot_map& a, slot_map& b) noexcept { a.swap(b); }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        directory_.validate();
        CAIRN_ASSERT(directory_.size() == values_.size(), "every row has a handle");
    }

private:
    template <class... Args>
    [[gnu::noinline]] handle_type emplace_growing(Args&&... args) {
        const handle_type h = directory_.next_handle();
        if (!h || values_.emplace(std::forward<Args>(args)...) == nullptr) { return {}; }
        directory_.commit(h);
        directory_.set_row_max(values_.capacity());
        return h;
    }

    using directory = dense_directory<handle_type, Policy::order, Policy::free_min>;
    static constexpr std::uint32_t none = directory::none;

    struct waiting {
        T object;  // first: when its assignment throws, it keeps its fence
        std::uint64_t fence;
    };

    /// `object`, which `h` has found. Checked builds ask it for its handle, where it can tell.
    template <class U>
    [[nodiscard]] static U* own([[maybe_unused]] handle_type h, U* object) noexcept {
        if constexpr (asserts_enabled && detail::tells_its_handle<T, handle_type>) {
            [[maybe_unused]] const handle_type told = object->handle();
            CAIRN_ASSERT(
                !told || (told.index() == h.index() && told.generation() == h.generation()),
                "objects change places by sort() and swap_rows(), which tell their handles");
        }
        return object;
    }

    /// The row of `h`. Requires: contains(h).
    [[nodiscard]] std::uint32_t live_row(handle_type h,
                                         [[maybe_unused]] call_site from = {}) const noexcept {
        const std::uint32_t row = directory_.row_of(h);
#if CAIRN_ASSERTS
        if (row == none) [[unlikely]] { directory_.refuse(h, this, from); }
#endif
        return row;
    }

    void erase_row(std::size_t row) {
        values_.erase_at(row);  // first: a move that throws leaves the handles as they were
        directory_.erase_row(row);
    }

    directory directory_;
    packed_array<T> values_;
    packed_array<waiting> limbo_;
};

/// Another type in the policy's place: the sentence, and then a map with the default policy.
template <class T, class Policy>
    requires(!detail::names_handles<Policy>)
class slot_map<T, Policy> : public slot_map<T> {
    static_assert(detail::names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");

public:
    using slot_map<T>::slot_map;
};

}  // namespace cairn::inline CAIRN_FLAVOUR
