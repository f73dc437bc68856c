// cairn/containers/stable_slot_map/look_ups.hpp - finding objects by handle, and going over all.
//
//      h       ->  object                  find  contains  []  at  fault_of
//      object  ->  handle                  handle_of
//      all objects, by slot                begin ... cend  for_each  for_each_in_chunk  items  ==
//
// The part of stable_slot_map that changes nothing by itself. Its functions in a loop may erase and
// insert: each says what it visits then.
//
// Cost:    find: chunk, generation, compare, object. ++: eight or nine instructions, and a call for
//          each 64 slots and after an erasure.
// Threads: from many at once, while no thread changes the map.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/containers/stable_slot_map/objects.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class T, class Policy, class Steps>
class stable_look_ups : public stable_objects<T, Policy, Steps> {
    using base = stable_objects<T, Policy, Steps>;

protected:
    using base::base;
    using base::found_or_stop, base::iterator_at, base::live, base::locate, base::slots_;
    using typename base::chunk, typename base::slots;

public:
    using base::size;
    /// Chunks, with or without memory behind them.
    using base::chunk_count;
    /// Objects that lie in one piece.
    using base::slots_per_chunk;
    using typename base::handle_type;
    using key_type = handle_type;
    using mapped_type = T;
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = stable_iterator<slots, handle_type, T>;
    using const_iterator = stable_iterator<slots, handle_type, const T>;

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; null (and == end()) when it is gone. Any handle may be asked for.
    /// What it returns is a pointer, or an iterator.
    [[nodiscard]] stable_found<iterator> find(handle_type h) noexcept {
        T* const object = locate(h);
        return {object, iterator_at(object, h)};
    }
    [[nodiscard]] stable_found<const_iterator> find(handle_type h) const noexcept {
        const T* const object = locate(h);
        return {object, iterator_at(object, h)};
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept { return locate(h) != nullptr; }

    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with
    /// it: null, of another map, not fulfilled yet, stale, and where it was asked for.
    [[nodiscard]] T& operator[](asked<handle_type> h) noexcept { return *live(h, line_of(h)); }
    [[nodiscard]] const T& operator[](asked<handle_type> h) const noexcept {
        return *live(h, line_of(h));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] T& at(handle_type h, call_site from = call_site::current()) noexcept {
        return *found_or_stop(h, from);
    }
    [[nodiscard]] const T& at(handle_type h, call_site from = call_site::current()) const noexcept {
        return *found_or_stop(h, from);
    }
    /// The handle of an object that lives here. Requires: `object` is in this map. Cost: O(chunks).
    [[nodiscard]] handle_type handle_of(const T& object) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(&object);
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            const auto first = reinterpret_cast<std::uintptr_t>(slots_.chunks()[p].objects);
            if (first != 0 && address - first < slots_per_chunk * sizeof(T)) {
                const auto slot = static_cast<std::uint32_t>((address - first) / sizeof(T));
                const std::uint32_t index = slots::index_of(p, slot);
                return handle_type::make(index, slots_.life(index));
            }
        }
        CAIRN_ASSERT(false, "the object lives in this map");
        return {};
    }
    /// The handle of the object here. Requires: `where` is in this map, and not end().
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return where.handle();
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return slots_.fault_of(h.index(), h.generation());
    }

    // ---- all of them --------------------------------------------------------------------------

    /// Calls f(object) or f(handle, object) for every object, by slot. The fastest way through.
    /// `f` may erase the object it is given and insert others (which may be visited or not); to
    /// erase others while iterating, use begin()/end().
    template <class F>
    void for_each(F&& f) {
        for (std::size_t p = 0; p < chunk_count(); ++p) { base::template visit_chunk<T>(p, f); }
    }
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            base::template visit_chunk<const T>(p, f);
        }
    }
    /// As for_each, one chunk only: chunks are for parallel loops, and no two of them share
    /// a cache line. Requires: p < chunk_count().
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) {
        base::template visit_chunk<T>(p, f);
    }
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) const {
        base::template visit_chunk<const T>(p, f);
    }

    /// Forward iteration in slot order. Erasing any object and inserting are allowed meanwhile.
    [[nodiscard]] iterator begin() noexcept { return {&slots_, 0}; }
    [[nodiscard]] iterator end() noexcept { return iterator{&slots_}; }
    [[nodiscard]] const_iterator begin() const noexcept { return {&slots_, 0}; }
    [[nodiscard]] const_iterator end() const noexcept { return const_iterator{&slots_}; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    /// Handle and object of each, by slot: for (auto [h, object] : map.items()).
    [[nodiscard]] auto items() noexcept {
        return stable_items<iterator, slot_item<handle_type, T&>>{begin(), end()};
    }
    [[nodiscard]] auto items() const noexcept {
        return stable_items<const_iterator, slot_item<handle_type, const T&>>{begin(), end()};
    }
    /// True when the same handles find equal objects in both.
    friend bool operator==(const stable_look_ups& a, const stable_look_ups& b)
        requires std::equality_comparable<T>
    {
        bool are_equal = a.size() == b.size();
        for (auto it = a.begin(); are_equal && it != a.end(); ++it) {
            const T* const other = b.locate(it.handle());
            are_equal = other != nullptr && *it == *other;
        }
        return are_equal;
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
