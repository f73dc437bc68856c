// Cold half of cairn/movable/relocatable_heap/object_map.hpp: finding spots, and changing the map.
//
//      list        none <-> 4 <----------> 2 <-> 7 <---------------------------> none
//      region     |[ o 4 ][    hole      ][ o 2 ][o 7][         hole             ]|
//                         ^ header: free, size, "previous" = 4       "previous" = 7
//
// A hole is named by its owner, the object before it, or none at the bottom. The word in which a
// heap's block keeps the size of the block before it holds the owner here: what the index finds,
// it finds with the place in the list where an object would go.
//
// Each change of the list is framed by the holes that it touches: close() those that are going to
// change, change, open() the new holes. A hole of size 0 is none: both do nothing for it.
#include <cairn/alloc/inside/first_fit_index.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/movable/relocatable_heap/object_map.hpp>

#include <new>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

static_assert(object_granule == granule_size && object_granules_max == granule_count_max);

class hole_index : public first_fit_index {};

namespace {

using blocks = block_map;

std::size_t index_size(std::uint32_t granules) noexcept {
    return sizeof(hole_index) + hole_index::array_size(granules);
}

}  // namespace

object_map::object_map(object_map&& other) noexcept
    : base_{std::exchange(other.base_, nullptr)},
      index_{std::exchange(other.index_, nullptr)},
      granules_{std::exchange(other.granules_, 0)},
      free_granules_{std::exchange(other.free_granules_, 0)},
      lowest_{std::exchange(other.lowest_, none)},
      highest_{std::exchange(other.highest_, none)},
      hole_count_{std::exchange(other.hole_count_, 0)},
      entries_{static_cast<growable_memory&&>(other.entries_)} {}

object_map& object_map::operator=(object_map&& other) noexcept { return begin_anew(*this, other); }

bool object_map::create(std::byte* base, std::uint32_t granules) noexcept {
    CAIRN_ASSERT(index_ == nullptr && granules != 0, "a map is created once, over some memory");
    void* const memory = entries_.upstream().allocate(index_size(granules), cache_line_alignment);
    if (memory == nullptr) { return false; }
    granules_ = granules;
    base_ = base;
    index_ = ::new (memory) hole_index;
    clear();
    return true;
}

void object_map::clear() noexcept {
    // Everything is one hole then, that of none. It is opened last: its size follows from the list.
    index_->clear(granules_);
    lowest_ = highest_ = none;
    free_granules_ = granules_;
    hole_count_ = 0;
    open(none);
}

void object_map::release() noexcept {
    hole_index* const gone = std::exchange(index_, nullptr);
    const std::size_t gone_size = index_size(granules_);
    base_ = nullptr;
    granules_ = free_granules_ = hole_count_ = 0;
    lowest_ = highest_ = none;
    // Last: a deallocate() of the user may look.
    if (gone != nullptr) { entries_.upstream().deallocate(gone, gone_size, cache_line_alignment); }
    entries_.release();
}

bool object_map::extend(std::size_t count) noexcept {
    // All bytes are copied when the entries move: they are plain numbers, named by index.
    const std::size_t size = count * sizeof(object_entry);
    return size <= entries_.size() || entries_.grow(size, entries_.size());
}

std::size_t object_map::shrink(std::size_t count) noexcept {
    const std::size_t before = entries_.size();
    growable_memory::left_block old;
    if (count >= entry_room() || !entries_.shrink(count * sizeof(object_entry), &old)) { return 0; }
    return before - entries_.size();
}

// ---------------------------------------------------------------------------- finding

std::uint32_t object_map::largest_hole() const noexcept {
    return index_ == nullptr ? 0 : index_->largest(blocks{base_});
}

auto object_map::find_low(std::uint32_t size, alignment align) const noexcept -> spot {
    if (index_ == nullptr || size > free_granules_) { return {}; }
    std::uint32_t hole = index_->find(blocks{base_}, size).block;
    if (hole == no_block) { return {}; }
    // [ gap ][ size ....... ][ rest ]     the lowest hole that holds the size, if it holds both
    // else the lowest hole of size + alignment - 16 bytes, which holds it wherever it begins. One
    // in between that would do by luck is not looked for: two searches are the bound.
    std::uint32_t gap = gap_for(hole, align);
    if (gap != 0 && gap > blocks{base_}.header(hole).size() - size) {
        const std::size_t room = std::size_t{size} + align.bytes() / object_granule - 1;
        if (room > free_granules_) { return {}; }
        hole = index_->find(blocks{base_}, static_cast<std::uint32_t>(room)).block;
        if (hole == no_block) { return {}; }
        gap = gap_for(hole, align);
    }
    return {blocks{base_}.header(hole).previous(), hole + gap};
}

auto object_map::find_high(std::uint32_t size, alignment align) const noexcept -> spot {
    if (index_ == nullptr || size > free_granules_) { return {}; }
    const std::uint32_t page = align.bytes() <= object_granule
                                   ? 1
                                   : static_cast<std::uint32_t>(align.bytes() / object_granule);
    const auto place_in = [&](std::uint32_t hole) {
        const std::uint32_t top = hole + blocks{base_}.header(hole).size() - size;
        // [ ......... hole ......... ]
        //             [ size ][ down ]    from the upper end down to a multiple of the alignment
        // Down to a multiple: the gap upwards, less one whole step.
        const std::uint32_t up = gap_for(top, align);
        const std::uint32_t down = up == 0 ? 0 : page - up;
        return down > top - hole ? none : top - down;
    };
    std::uint32_t hole = index_->find_last(blocks{base_}, size);
    if (hole == no_block) { return {}; }
    std::uint32_t at = place_in(hole);
    if (at == none) {
        const std::size_t room = std::size_t{size} + page - 1;
        if (room > free_granules_) { return {}; }
        hole = index_->find_last(blocks{base_}, static_cast<std::uint32_t>(room));
        if (hole == no_block) { return {}; }
        at = place_in(hole);
    }
    return {blocks{base_}.header(hole).previous(), at};
}

auto object_map::hole_from(std::uint32_t from) const noexcept -> spot {
    if (index_ == nullptr) { return {}; }
    const std::uint32_t hole = index_->find_from(blocks{base_}, from, 1);
    if (hole == no_block) { return {}; }
    return {blocks{base_}.header(hole).previous(), hole};
}

// ---------------------------------------------------------------------------- changing

void object_map::open(std::uint32_t owner) noexcept {
    const std::uint32_t size = hole_after(owner);
    if (size == 0) { return; }
    const std::uint32_t at = end_of(owner);
    blocks{base_}.set_header(at, block_header::unused(size, owner));
    index_->insert(blocks{base_}, at, size);
    ++hole_count_;
}

void object_map::close(std::uint32_t owner) noexcept {
    const std::uint32_t size = hole_after(owner);
    if (size == 0) { return; }
    CAIRN_ASSERT(blocks{base_}.header(end_of(owner)) == block_header::unused(size, owner),
                 "a hole is as the heap left it: nothing wrote into free memory");
    index_->remove(blocks{base_}, end_of(owner), size);
    --hole_count_;
}

/// Behind `owner`; none: in front of all. The neighbours' links, or the ends of the list, lead
/// here.
void object_map::link(std::uint32_t i, std::uint32_t owner) noexcept {
    object_entry& e = entry(i);
    e.before = owner;
    e.after = owner == none ? lowest_ : entry(owner).after;
    (owner == none ? lowest_ : entry(owner).after) = i;
    (e.after == none ? highest_ : entry(e.after).before) = i;
}

void object_map::unlink(std::uint32_t i) noexcept {
    const object_entry& e = entry(i);
    (e.before == none ? lowest_ : entry(e.before).after) = e.after;
    (e.after == none ? highest_ : entry(e.after).before) = e.before;
}

void object_map::insert(std::uint32_t i, spot s, std::uint32_t size) noexcept {
    // [ owner ][        hole          ]   =>   [ owner ][gap][ object ][ hole ]      gap: alignment
    close(s.owner);
    entry(i).place = s.at;
    entry(i).granules = size;
    link(i, s.owner);
    open(s.owner);
    open(i);
    free_granules_ -= size;
}

void object_map::remove(std::uint32_t i) noexcept {
    // [ before ][ hole ][ object ][ hole ][ ]   =>   [ before ][           hole            ][ ]
    const std::uint32_t before = entry(i).before;
    close(before);
    close(i);
    unlink(i);
    open(before);
    free_granules_ += entry(i).granules;
}

void object_map::lift(std::uint32_t i, const spot& to) noexcept {
    // Close the holes on both sides of the object, and its target hole; where it
    // slides, that is the one before it. The bytes of all three may now be written to.
    const std::uint32_t before = entry(i).before;
    close(before);
    close(i);
    if (to.owner != before && to.owner != i) { close(to.owner); }
}

void object_map::put(std::uint32_t i, const spot& to) noexcept {
    // to:    [ owner ][          hole            ]   =>   [ owner ][gap][ object ][ hole ]
    // from:  [ before ][ hole ][ object ][ hole ]    =>   [ before ][        hole        ]
    // Sliding, owner and before are one, and the list stays. `before` is read first: linking
    // changes it.
    const std::uint32_t before = entry(i).before;
    entry(i).place = to.at;
    if (to.owner != before && to.owner != i) {
        unlink(i);
        link(i, to.owner);
        open(to.owner);
    }
    open(before);
    open(i);
}

void object_map::rewrite_hole(std::uint32_t owner) noexcept {
    blocks{base_}.set_header(end_of(owner), block_header::unused(hole_after(owner), owner));
}

// ---------------------------------------------------------------------------- looking

void object_map::validate() const noexcept {
    if constexpr (asserts_enabled) {
        if (index_ == nullptr) { return; }
        std::uint32_t owner = none;
        std::uint32_t holes = 0;
        std::size_t free = 0;
        // One round more than there are objects: the last one, with none, looks at the hole at the
        // top.
        for (std::uint32_t i = lowest_;; i = entry(i).after) {
            CAIRN_ASSERT(start_of(i) >= end_of(owner), "objects do not overlap");
            if (const std::uint32_t size = start_of(i) - end_of(owner); size != 0) {
                CAIRN_ASSERT(
                    blocks{base_}.header(end_of(owner)) == block_header::unused(size, owner),
                    "a hole is as the heap left it: nothing wrote into free memory");
                ++holes;
                free += size;
            }
            if (i == none) { break; }
            CAIRN_ASSERT(entry(i).before == owner, "an object knows the one before it");
            CAIRN_ASSERT(entry(i).granules != 0 && end_of(i) <= granules_,
                         "objects end inside the region");
            owner = i;
        }
        CAIRN_ASSERT(owner == highest_, "the list ends at the highest object");
        CAIRN_ASSERT(free == free_granules_, "the count of free granules is true");
        CAIRN_ASSERT(holes == hole_count_, "the count of holes is true");
        std::uint32_t indexed = 0;
        index_->validate(blocks{base_}, [&](std::uint32_t at) {
            const block_header h = blocks{base_}.header(at);
            CAIRN_ASSERT(
                h.is_free() && end_of(h.previous()) == at && hole_after(h.previous()) == h.size(),
                "the index holds the holes");
            ++indexed;
        });
        CAIRN_ASSERT(indexed == holes, "every hole is in the index once");
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
