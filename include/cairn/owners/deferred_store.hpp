// cairn/owners/deferred_store.hpp - a map whose objects may own others of it: no object ends
// within the end of another.
//
//      deferred_store
//      map:    | a | b | c | d |        the map, as ever
//      next:   | - | d | - | d |        a handle per waiting slot: b leads to d, which
//      first:  b                        leads to itself, being the last; null: it lives
//
//      struct door;
//      using doors = cairn::deferred_store<cairn::stable_slot_map<door>>;
//      struct door {
//          int number;
//          cairn::unique_handle<doors> behind;          // an owner of another one
//      };
//      doors all;
//      auto first = all.make(1, all.make(2));
//      first.reset();                                   // both are gone; no recursion
//
// erase() puts the object on a list and destroys all objects of the list, unless it is called
// during such a destruction. With destroys::in_collect collect() destroys them, within a limit.
// In both cases no handle finds the object from then on.
//
// Use it for: lists, trees and graphs of objects with handles; a level that ends over many frames.
// Look elsewhere for: many owners (shared_handle.hpp, which does the same); objects without handles
//   (std/deferred_in.hpp); objects that a GPU still uses (retire() of the maps).
//
// Order:     the newest first; an object before the objects that it owned.
// Cost:      a handle per slot of the map, 8 bytes; find() and contains() read it. Where a list
//            of owners ends: 106 instructions an object in a slot_map, 123 in a stable_slot_map. A
//            loop by hand over the same owners takes 202 and 242; one over bare handles, which own
//            nothing, 59 and 64 (gcc -O2, callgrind).
// Memory:    a peak keeps its memory until shrink_to_fit().
// Threads:   one at a time, as the map.
// Lifetimes: as the map. At its own end all objects go with it, in the order of the map.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/destruction_report.hpp>
#include <cairn/owners/inside/owned_map.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <cairn/storage/inside/store_traits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// `Map` is a slot_map, a stable_slot_map or a slot_table.
template <class Map>
class deferred_store : public detail::owned_map<deferred_store<Map>, Map,
                                                typename detail::store_traits<Map>::handle_type> {
    using base =
        detail::owned_map<deferred_store, Map, typename detail::store_traits<Map>::handle_type>;
    using base::map_;

public:
    using base::collect;
    using typename base::handle_type;
    using typename base::options;
    /// What make() returns: its end erases the object.
    using owner_type = unique_handle<deferred_store>;

    deferred_store() noexcept : deferred_store{system_memory()} {}
    explicit deferred_store(allocator_ref upstream, destroys when = destroys::at_once,
                            const options& how = {}) noexcept
        : base{upstream, when, how} {}
    deferred_store(allocator_ref upstream, const options& how) noexcept
        : deferred_store{upstream, destroys::at_once, how} {}
    explicit deferred_store(destroys when, const options& how = {}) noexcept
        : deferred_store{system_memory(), when, how} {}
    ~deferred_store() {
        is_ending_ = true;  // owners inside the map do nothing from now on
        map_.clear();
        owners_.expect_none(this, "deferred_store");
    }

    /// A new object. Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws: what the object's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard]] handle_type emplace(Args&&... args) {
        return base::emplace_with_cell(std::forward<Args>(args)...).handle;
    }
    /// The same, with an owner. Returns: an empty one when exhausted.
    template <class... Args>
    [[nodiscard]] owner_type make(Args&&... args) {
        return owner_type{*this, emplace(std::forward<Args>(args)...)};
    }

    [[nodiscard]] bool contains(handle_type h) const noexcept {
        return map_.contains(h) && !waits(h);
    }
    /// The object that `h` names; null when it is gone, or waits. Any handle may be asked for.
    [[nodiscard]] auto find(handle_type h) noexcept { return find_in(map_, h); }
    [[nodiscard]] auto find(handle_type h) const noexcept { return find_in(map_, h); }
    /// Requires: contains(h).
    [[nodiscard]] decltype(auto) operator[](handle_type h) noexcept {
        expect_living(h);
        return map_[h];
    }
    [[nodiscard]] decltype(auto) operator[](handle_type h) const noexcept {
        expect_living(h);
        return map_[h];
    }

    /// From now on no handle finds the object; it is destroyed at once or in collect().
    /// Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) noexcept {
        if (is_ending_ || !contains(h)) { return false; }
        if (newest_) {
            next_of(newest_) = first_ ? first_ : newest_;
            first_ = newest_;
        }
        newest_ = h;
        ++waiting_count_;
        base::collect_if_at_once();
        return true;
    }

    /// Destroys all waiting objects, and objects that they owned.
    destruction_report collect() noexcept { return collect(work_limit{}); }
    template <class Number>
        requires std::is_integral_v<Number>
    void collect(Number) = delete;  // the limit has a unit: {.steps = 64}

    /// Objects that handles find.
    [[nodiscard]] std::size_t size() const noexcept { return map_.size() - waiting_count_; }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    /// Objects that were erased and are not destroyed yet.
    [[nodiscard]] std::size_t waiting_count() const noexcept { return waiting_count_; }

private:
    friend base;
    friend owner_type;

    /// Its cell: the next waiting handle; its own at the end of the list; null: not waiting.
    [[nodiscard]] handle_type& next_of(handle_type h) const noexcept {
        return base::cell_at(h.index());
    }
    /// Requires: the map contains h.
    [[nodiscard]] bool waits(handle_type h) const noexcept { return h == newest_ || next_of(h); }
    [[nodiscard]] bool has_ended() const noexcept { return waiting_count_ != 0; }
    /// Off the list, before the erasure: a destructor may use the slot again.
    [[nodiscard]] handle_type take_ended() noexcept {
        --waiting_count_;
        if (newest_) { return std::exchange(newest_, handle_type{}); }
        handle_type& next = next_of(first_);
        const handle_type h = std::exchange(first_, next == first_ ? handle_type{} : next);
        next = {};
        return h;
    }
    template <class M>
    [[nodiscard]] auto find_in(M& map, handle_type h) const noexcept {
        auto found = map.find(h);
        return found && waits(h) ? map.find(handle_type{}) : found;
    }
    void expect_living(handle_type h) const noexcept {
        CAIRN_ASSERT(!map_.contains(h) || !waits(h), "an object that was erased is not asked for",
                     {.kind = misuse_kind::stale_handle,
                      .object = this,
                      .type = "deferred_store",
                      .values = {{"slot", h.index()}, {"life in the handle", h.generation()}}});
    }

    handle_type newest_{};  // first of the list of waiting objects
    handle_type first_{};   // of the others
    std::size_t waiting_count_ = 0;
    bool is_ending_ = false;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::owner_count owners_;
};

template <class Map>
struct detail::store_traits<deferred_store<Map>> {
    using handle_type = typename store_traits<Map>::handle_type;
    static constexpr bool may_own_its_kind = true;
    static constexpr bool keeps_addresses = store_traits<Map>::keeps_addresses;
};

}}  // namespace cairn::CAIRN_FLAVOUR
