// cairn/owners/inside/owned_map.hpp - the store under deferred_store and shared_store: a map whose
// objects have owners.
//
//      map:    | a | b | c | d |        the map, as ever
//      cells:  | . | . | . | . |        what the store knows of the object in each slot
//      list:   b -> d                   objects that ended and are not destroyed yet
//
// A store (`Self`) keeps the list, because a cell of each store has another form: has_ended() and
// take_ended() read it. collect() destroys the objects of the list and those that they owned, one
// after the other; a destructor that it runs only adds to the list, so no destruction is inside
// another one.
//
// Invariant: every object of the map has a cell. Cells never move (cell_blocks.hpp).
#pragma once

#include <cstddef>
#include <utility>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/owners/destruction_report.hpp>
#include <cairn/owners/inside/cell_blocks.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/inside/store_traits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The index of every handle of `map` is below it, until the map has more slots.
template <class Map>
[[nodiscard]] auto slot_count_of(const Map& map) noexcept {
    if constexpr (requires { map.slot_count(); }) {
        return map.slot_count();
    } else {
        return map.capacity();
    }
}

template <class Self, class Map, class Cell>
class owned_map {
public:
    using map_type = Map;
    using handle_type = typename store_traits<Map>::handle_type;
    using options = slot_map_options;  // of the map

    /// Not copied: owners point at their store.
    owned_map(const owned_map&) = delete;
    owned_map& operator=(const owned_map&) = delete;

    /// Room for `count` objects in all, those that wait for their destruction included: up to there
    /// no upstream is asked.
    /// Returns: false when exhausted, or when the handle has too few index bits; objects and
    ///          handles are as they were, and what was had is kept as room.
    [[nodiscard]] bool reserve(std::size_t count) {
        return map_.reserve(count) && cells_.reserve(detail::slot_count_of(map_));
    }

    /// Gives back the memory that objects and their cells do not need. The map shrinks, and the
    /// blocks of cells behind its last slot go. Cells never move, so there may be twice as many as
    /// the map has slots, and 64 more. Every handle finds what it found.
    /// Cost:     that of the map's shrink_to_fit().
    /// Requires: no other thread is in lock() or use_count().
    /// Returns:  false when the upstream has no smaller block for a part of the map.
    [[nodiscard]] bool shrink_to_fit() {
        const bool map_fits = map_.shrink_to_fit();
        cells_.shrink(detail::slot_count_of(map_));
        return map_fits;
    }

    /// Destroys objects that ended, and objects that only they owned, until the limit is reached.
    /// Does nothing inside a destructor that this store runs.
    destruction_report collect(const work_limit& limit) noexcept {
        if (is_collecting_) { return {}; }  // the outer call goes on with the list
        is_collecting_ = true;
        Self& self = static_cast<Self&>(*this);
        const destruction_report r = detail::destroy_within(
            limit, [&self] { return self.has_ended(); },
            [this, &self] { (void)map_.erase(self.take_ended()); });
        is_collecting_ = false;
        return r;
    }

    /// The objects, to find and to loop over. Erasing is the store's business.
    [[nodiscard]] Map& objects() noexcept { return map_; }
    [[nodiscard]] const Map& objects() const noexcept { return map_; }

protected:
    owned_map(allocator_ref upstream, destroys when, const options& how) noexcept
        : when_{when}, cells_{sizeof(Cell), upstream}, map_{upstream, how} {}
    ~owned_map() = default;

    struct made {
        handle_type handle;
        Cell* cell;
    };
    /// A new object and its cell. Returns: a null handle when exhausted; nothing has changed then.
    template <class... Args>
    [[nodiscard]] made emplace_with_cell(Args&&... args) {
        const handle_type h = map_.emplace(std::forward<Args>(args)...);
        if (!h) { return {}; }
        auto* const cell = static_cast<Cell*>(cells_.find_or_make(h.index()));
        if (cell == nullptr) [[unlikely]] {
            (void)map_.erase(h);
            return {};
        }
        return {h, cell};
    }

    [[nodiscard]] Cell& cell_at(std::size_t index) const noexcept {
        return *static_cast<Cell*>(cells_.at(index));
    }
    /// For any index, while another thread makes objects. nullptr: no object was ever there.
    [[nodiscard]] Cell* find_cell(std::size_t index) const noexcept {
        return static_cast<Cell*>(cells_.find(index));
    }
    /// collect() without a limit: an owner that ends asks no clock and counts nothing.
    void collect_if_at_once() noexcept {
        if (when_ != destroys::at_once || is_collecting_) { return; }
        is_collecting_ = true;
        Self& self = static_cast<Self&>(*this);
        while (self.has_ended()) { (void)map_.erase(self.take_ended()); }
        is_collecting_ = false;
    }

private:
    // In front: one ABI gives the room behind the last member to the class that derives, the other
    // does not.
    destroys when_;
    bool is_collecting_ = false;

protected:
    cell_blocks cells_;
    Map map_;  // ends first: its objects may own others of this store
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
