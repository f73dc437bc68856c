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
// Cost:      find: one bounds check, one 8-byte load, one compare, and the object.
//            emplace, erase: about ten loads and stores beside the object's own.
// Lifetimes: a handle finds its object until that object is erased, whatever moves meanwhile. A
//            reference ends when the map grows (never after reserve_address_space()). Erasing an
//            object moves the last one into its row: references to these two then lead to the other
//            object, or to none.
// While iterating: erase(iterator) returns the position of the next object to visit; erase_if
//            visits all once. An insertion may end iterators as it may end references; by row
//            number, new objects come last and are visited.
// Re-entrancy: constructors, moves and destructors of objects, `make` and predicates may look
//            things up in this map and must not change it: rows move under them. (stable_slot_map
//            allows it.) While an object is erased, its own handle and that of the last row must
//            not be looked up.
// Threads:   one at a time; find and iteration from many while no thread changes the map.
#pragma once

#include <cairn/containers/inside/slot_core.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map/found.hpp>
#include <cairn/containers/slot_policy.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

template <class T>
struct slot_map_parts {
    using value = T;
    using rows = packed_array<T>;
    using iterator = row_iterator<T>;
    using const_iterator = row_iterator<const T>;
    template <class U>
    using array = packed_array<U>;
    static constexpr const char* name = "slot_map";
};

}  // namespace detail

/// Everything but what is below stands in containers/inside/slot_core.hpp and its folder;
/// slot_table has it, too:
///     finding      contains  []  at  fault_of  dense_index  handle_at  handle_of(iterator)
///     all of them  size  capacity  handles  items  begin ... crend  for_each  ==
///     room         reserve  reserve_address_space
///     inserting    emplace  emplace_with  insert  promise_handle  is_promised  abandon
///     erasing      erase  erase_if  take  clear  retire  collect  recycle_slots
///     order        sort  swap_rows
template <class T, class Policy = slot_policy<>>
class slot_map : public detail::slot_core<detail::slot_map_parts<T>, Policy> {
    static_assert(!detail::is_table<T>,
                  "handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>");
    using core = detail::slot_core<detail::slot_map_parts<T>, Policy>;
    using core::rows_;
    using core::slots_;

public:
    using typename core::const_iterator;
    using typename core::handle_type;
    using pointer = T*;
    using const_pointer = const T*;

    using core::core;

    /// The object that `h` names; null (and == end()) when it is gone. Any handle may be asked for.
    [[nodiscard]] [[gnu::always_inline]] found<T> find(handle_type h) noexcept {
#ifdef __OPTIMIZE__
        return find_in(rows_.data(), h);
#else  // one call: the library is optimized in Debug builds, too
        const auto at =
            slots_.find_place(h.index(), h.generation(), rows_.data(), sizeof(T), rows_.size());
        if constexpr (core::asks_objects()) { ask(h, at.object); }
        found<T> answer;  // set, not built: that would be a call, or copies
        answer.object_ = static_cast<T*>(at.object);
        answer.end_ = static_cast<T*>(at.end);
        return answer;
#endif
    }
    [[nodiscard]] [[gnu::always_inline]] found<const T> find(handle_type h) const noexcept {
#ifdef __OPTIMIZE__
        return find_in(rows_.data(), h);
#else  // one call: the library is optimized in Debug builds, too
        const auto at =
            slots_.find_place(h.index(), h.generation(), rows_.data(), sizeof(T), rows_.size());
        if constexpr (core::asks_objects()) { ask(h, at.object); }
        found<const T> answer;  // set, not built: that would be a call, or copies
        answer.object_ = static_cast<const T*>(at.object);
        answer.end_ = static_cast<const T*>(at.end);
        return answer;
#endif
    }
    /// P0661's spelling of operator[]: as find(), pointer and iterator at once.
    /// Requires: contains(h).
    [[nodiscard]] found<T> find_unchecked(handle_type h,
                                          call_site from = call_site::current()) noexcept {
        T* const object = rows_.data() + core::live_row(h, from);
        return {detail::not_null(core::own(h, object)), rows_.end()};
    }
    [[nodiscard]] found<const T> find_unchecked(
        handle_type h, call_site from = call_site::current()) const noexcept {
        const T* const object = rows_.data() + core::live_row(h, from);
        return {detail::not_null(core::own(h, object)), rows_.end()};
    }
    /// The handle of an object that lives here. Requires: `object` is in values().
    [[nodiscard]] handle_type handle_of(const T& object) const noexcept {
        return core::handle_at(static_cast<std::size_t>(&object - rows_.data()));
    }
    using core::handle_of;

    /// All objects, packed, from a cache line on, in the order of handles().
    /// Requires: objects are changed where they are and do not change places through the span, by
    /// std::ranges::sort(values()) or std::swap: handles would find each other's objects. sort()
    /// and swap_rows() take the handles along. A checked build notices it at the next look-up where
    /// T knows its handle: a const member function handle() that returns handle_type (null: not
    /// yet).
    [[nodiscard]] std::span<T> values() noexcept { return rows_.values(); }
    [[nodiscard]] std::span<const T> values() const noexcept { return rows_.values(); }
    /// values() in pieces of about `rows_per_batch` whose boundaries share no cache line.
    [[nodiscard]] row_batches<std::span<T>> batches(std::size_t rows_per_batch) noexcept {
        return rows_.batches(rows_per_batch);
    }
    [[nodiscard]] row_batches<std::span<const T>> batches(
        std::size_t rows_per_batch) const noexcept {
        return rows_.batches(rows_per_batch);
    }

    /// Builds the object of a promised handle.
    /// Returns: nullptr when exhausted; the handle stays promised then.
    /// Requires: is_promised(h).
    template <class... Args>
    [[nodiscard]] T* fulfil(handle_type h, Args&&... args) {
        return core::fulfil_row(h, std::forward<Args>(args)...) ? rows_.end() - 1 : nullptr;
    }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<slot_map> clone() const { return clone(core::upstream()); }
    [[nodiscard]] std::optional<slot_map> clone(allocator_ref upstream) const {
        return cairn::clone(*this, upstream);
    }

    friend void swap(slot_map& a, slot_map& b) noexcept { a.swap(b); }

private:
    template <class U>
    [[nodiscard]] found<U> find_in(U* rows, handle_type h) const noexcept {
        std::uint32_t row;
        return {core::find_row(h, row) ? detail::not_null(core::own(h, rows + row)) : nullptr,
                rows + rows_.size()};
    }
    static void ask(handle_type h, const void* object) noexcept {
        if (object != nullptr) { (void)core::own(h, static_cast<const T*>(object)); }
    }
};

template <class T, class Policy>
struct detail::store_traits<slot_map<T, Policy>> : detail::map_traits<T, Policy> {};

/// Objects that cannot move: the sentence alone.
template <class T, class Policy>
    requires(detail::names_handles<Policy> && !std::is_move_constructible_v<T>)
class slot_map<T, Policy> {
    static_assert(std::is_move_constructible_v<T>,
                  "rows move when others are erased; stable_slot_map keeps objects where they are");
};

/// Another type in the policy's place: the sentence, and then a map with the default policy.
template <class T, class Policy>
    requires(!detail::names_handles<Policy>)
class slot_map<T, Policy> : public slot_map<T> {
    static_assert(detail::names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");

public:
    using slot_map<T>::slot_map;
};

}}  // namespace cairn::CAIRN_FLAVOUR
