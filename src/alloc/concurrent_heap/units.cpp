// Runs of units and segments: cairn/alloc/concurrent_heap/units.hpp.
#include <cairn/alloc/concurrent_heap/units.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include <cairn/core/inside/bits.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

constexpr alignment unit_alignment{unit_size};

constexpr std::size_t units_for(std::size_t bytes) noexcept {
    return (bytes + unit_size - 1) / unit_size;
}

/// Units in front that the records of `unit_count` units take.
constexpr std::size_t head_units(std::size_t unit_count) noexcept {
    return units_for(sizeof(unit_segment) + unit_count * sizeof(unit_record));
}

/// Units of the smallest segment with a run of `count` units.
constexpr std::size_t segment_units(std::size_t count) noexcept {
    std::size_t all = count + 1;
    while (all - head_units(all) < count) { ++all; }
    return all;
}

std::size_t used_in(unit_segment& s, std::size_t first, std::size_t count) noexcept {
    std::size_t used = 0;
    for (std::size_t i = first; i < first + count; ++i) {
        CAIRN_DETAIL_STEP();
        used += s.record(i).is_used ? 1u : 0u;
    }
    return used;
}

void set_used(unit_segment& s, std::size_t first, std::size_t count, bool used) noexcept {
    for (std::size_t i = first; i < first + count; ++i) {
        CAIRN_DETAIL_STEP();
        s.record(i).is_used = used;
    }
}

unit_record* next_run(const unit_record& r) noexcept { return static_cast<unit_record*>(r.next); }

}  // namespace

unit_store::unit_store(const void* heap, unit_map& map, allocator_ref upstream,
                       const allocator_watch& watch) noexcept
    : map_{map},
      upstream_{upstream},
      heap_{heap},
      watch_{watch},
      has_pages_{upstream == system_pages()},
      needs_lock_{!has_pages_ && !(upstream == system_memory())} {}

unit_store::~unit_store() {
    while (segments_ != nullptr) {
        unit_segment& s = *segments_;
        unlink(s);
        map_.enter(&s, s.unit_count, unit_map::nothing, nullptr);
        give_back(s);
    }
}

// ------------------------------------------------------------------------------------------------
// free runs, under the lock

// Lengths up to 16 have a list each; above, four lists to a doubling.
unsigned unit_store::bin_of(std::size_t count) noexcept {
    if (count <= 16) { return static_cast<unsigned>(count - 1); }
    const unsigned top = floor_log2(count);
    return 16 + (top - 4) * 4 + static_cast<unsigned>((count >> (top - 2)) & 3);
}

/// Every run of a higher list fits; of the list of `count` itself a few are looked at.
unit_record* unit_store::find(std::size_t count) noexcept {
    const unsigned own = bin_of(count);
    unit_record* r = runs_[own];
    for (int looks = 0; r != nullptr && looks < 8; ++looks, r = next_run(*r)) {
        CAIRN_DETAIL_STEP();
        if (r->unit_count >= count) { return r; }
    }
    const std::uint64_t higher = bins_with_runs_ & ~((std::uint64_t{2} << own) - 1);
    return higher != 0 ? runs_[lowest_bit(higher)] : nullptr;
}

void unit_store::insert(unit_record& r, std::size_t count) noexcept {
    unit_segment& s = *r.segment;
    const std::size_t i = s.index_of(r);
    unit_record& last = s.record(i + count - 1);
    r.set_state(unit_state::free_run);
    last.set_state(unit_state::free_run);
    r.unit_count = last.unit_count = static_cast<std::uint32_t>(count);
    const unsigned bin = bin_of(count);
    r.previous = nullptr;
    r.next = runs_[bin];
    if (r.next != nullptr) { r.next->previous = &r; }
    runs_[bin] = &r;
    bins_with_runs_ |= std::uint64_t{1} << bin;
    s.free_units += static_cast<std::uint32_t>(count);
    free_units_ += count;
    used_free_units_ += r.slot_count;
}

/// Takes a free run out of its list. Both ends become units inside a run.
void unit_store::remove(unit_record& r) noexcept {
    const std::size_t count = r.unit_count;
    unit_segment& s = *r.segment;
    const unsigned bin = bin_of(count);
    if (r.next != nullptr) { r.next->previous = r.previous; }
    if (r.previous != nullptr) {
        r.previous->next = r.next;
    } else {
        runs_[bin] = next_run(r);
        if (runs_[bin] == nullptr) { bins_with_runs_ &= ~(std::uint64_t{1} << bin); }
    }
    r.set_state(unit_state::inside);
    s.record(s.index_of(r) + count - 1).set_state(unit_state::inside);
    s.free_units -= static_cast<std::uint32_t>(count);
    free_units_ -= count;
    used_free_units_ -= r.slot_count;
}

/// A removed run keeps its first `count` units; the rest is free again.
void unit_store::cut(unit_record& r, std::size_t count) noexcept {
    unit_segment& s = *r.segment;
    const std::size_t all = r.unit_count;
    r.unit_count = static_cast<std::uint32_t>(count);
    if (all == count) { return; }
    const std::size_t i = s.index_of(r);
    unit_record& rest = s.record(i + count);
    rest.segment = &s;
    // Of a free run the count of slots is the number of its used units.
    rest.slot_count = r.slot_count - static_cast<unsigned>(used_in(s, i, count));
    insert(rest, all - count);
}

/// Free runs were taken, and what is left of them is back in the lists.
void unit_store::note_taken() noexcept { idle_units_ = std::min(idle_units_, used_free_units_); }

unit_record* unit_store::take_free(std::size_t count) noexcept {
    unit_record* const r = find(count);
    if (r != nullptr) {
        remove(*r);
        cut(*r, count);
        note_taken();
    }
    return r;
}

//   [ free ][ this ][ free ] => [ ------ free ------ ]
void unit_store::free_run(unit_record& freed, std::size_t count) noexcept {
    unit_segment& s = *freed.segment;
    std::size_t i = s.index_of(freed);
    std::size_t used = used_in(s, i, count);
    freed.set_state(unit_state::inside);
    if (i > s.first_unit && s.record(i - 1).state() == unit_state::free_run) {
        unit_record& before = s.record(i - s.record(i - 1).unit_count);
        remove(before);
        used += before.slot_count;
        count += before.unit_count;
        i -= before.unit_count;
    }
    if (i + count < s.unit_count && s.record(i + count).state() == unit_state::free_run) {
        unit_record& behind = s.record(i + count);
        remove(behind);
        used += behind.slot_count;
        count += behind.unit_count;
    }
    unit_record& r = s.record(i);
    r.segment = &s;
    r.slot_count = static_cast<unsigned>(used);
    insert(r, count);
}

unit_record* unit_store::take(std::size_t count) noexcept {
    do {
        const lock_scope held{lock_};
        if (unit_record* const r = take_free(count)) { return r; }
    } while (grow(count));
    return nullptr;
}

void unit_store::publish(unit_record& r, unit_state state) noexcept {
    const lock_scope held{lock_};
    r.set_state(state);
}

void unit_store::give(unit_record& r) noexcept {
    const lock_scope held{lock_};
    set_used(*r.segment, r.segment->index_of(r), r.unit_count, true);
    free_run(r, r.unit_count);
}

bool unit_store::resize(unit_record& r, std::size_t count) noexcept {
    const lock_scope held{lock_};
    unit_segment& s = *r.segment;
    const std::size_t i = s.index_of(r);
    const std::size_t old = r.unit_count;
    if (count < old) {
        unit_record& rest = s.record(i + count);
        rest.segment = &s;
        set_used(s, i + count, old - count, true);
        free_run(rest, old - count);
    } else {
        if (i + old >= s.unit_count || s.record(i + old).state() != unit_state::free_run) {
            return false;
        }
        unit_record& behind = s.record(i + old);
        if (behind.unit_count < count - old) { return false; }
        remove(behind);
        cut(behind, count - old);
        note_taken();
    }
    r.unit_count = static_cast<std::uint32_t>(count);
    return true;
}

// ------------------------------------------------------------------------------------------------
// segments

/// Calls upstream. Where that comes back to the heap on this thread, it asks once more and does not
/// wait for itself.
template <class Call>
decltype(auto) unit_store::in_turn(Call call) noexcept {
    if (!needs_lock_ || upstream_lock_.is_mine()) { return call(); }
    const lock_scope held{upstream_lock_};
    return call();
}

void* unit_store::ask(std::size_t size, alignment align) noexcept {
    return in_turn([&]() noexcept { return upstream_.allocate(size, align); });
}

void unit_store::give_back(unit_segment& s) noexcept {
    void* const memory = s.memory;
    const std::size_t size = s.size;
    const alignment align = s.align;
    // The map has one entry for an address: a heap inside another one's block gives the entries of
    // that block back with it.
    if (s.outer != nullptr) { map_.enter(memory, size / unit_size, unit_map::large, s.outer); }
    forget_description(s.description);
    unpoison(memory, size);
    in_turn([&]() noexcept { upstream_.deallocate(memory, size, align); });
}

/// Of the units alone: the records are read by the heap.
void unit_store::describe(unit_segment& s) noexcept {
    forget_description(s.description);
    s.description =
        watch_.describe(s.unit(s.first_unit), (s.unit_count - s.first_unit) * unit_size);
}

void unit_store::describe() noexcept {
    for (unit_segment* s = segments_; s != nullptr; s = s->next) { describe(*s); }
}

void unit_store::link(unit_segment& s) noexcept {
    s.previous = nullptr;
    s.next = segments_;
    if (s.next != nullptr) { s.next->previous = &s; }
    segments_ = &s;
    segment_size_ += s.size;
}

void unit_store::unlink(unit_segment& s) noexcept {
    if (s.next != nullptr) { s.next->previous = s.previous; }
    (s.previous != nullptr ? s.previous->next : segments_) = s.next;
    segment_size_ -= s.size;
}

/// Returns: nullptr: refused. No run and no list has a part of it.
unit_segment* unit_store::make_segment(std::size_t size, alignment align) noexcept {
    void* const memory = ask(size, align);
    if (memory == nullptr) { return nullptr; }
    auto* const s =
        ::new (memory) unit_segment{.heap = heap_,
                                    .memory = memory,
                                    .size = size,
                                    .align = align,
                                    .outer = map_.find(memory),
                                    .unit_count = static_cast<std::uint32_t>(size / unit_size)};
    if (map_.cover(memory, size)) { return s; }
    give_back(*s);
    return nullptr;
}

bool unit_store::add_segment(std::size_t size) noexcept {
    unit_segment* const made = make_segment(size, unit_alignment);
    if (made == nullptr) { return false; }
    unit_segment& s = *made;
    const std::uint32_t units = s.unit_count;
    const auto head = static_cast<std::uint32_t>(head_units(units));
    s.first_unit = head;
    // Fresh pages are zero, and a record of zeros is that of a unit inside a run.
    for (std::size_t i = head; !has_pages_ && i < units; ++i) {
        s.record(i).set_state(unit_state::inside);
        s.record(i).is_used = true;
    }
    poison(s.unit(head), (units - head) * unit_size);
    describe(s);
    const lock_scope held{lock_};
    link(s);
    unit_record& r = s.record(head);
    r.segment = &s;
    r.slot_count = has_pages_ ? 0 : units - head;
    insert(r, units - head);
    return true;
}

/// Halves the request where the upstream refuses, as long as the run fits.
bool unit_store::grow(std::size_t count) noexcept {
    if (!may_grow_.load(memory_order::relaxed)) { return false; }
    const std::size_t least = segment_units(count) * unit_size;
    std::size_t size =
        std::clamp(std::bit_floor(segment_size() | 1), segment_size_min, segment_size_max);
    while (size > least) {
        if (add_segment(size)) { return true; }
        size /= 2;
    }
    return add_segment(least);
}

bool unit_store::reserve(std::size_t count) noexcept {
    while (free_size() / unit_size < count) {
        if (!may_grow_.load(memory_order::relaxed)) { return false; }
        const std::size_t missing = count - free_size() / unit_size;
        constexpr std::size_t most = segment_size_max / unit_size - 16;
        if (!grow(std::min(missing, most))) { return false; }
    }
    return true;
}

unit_record* unit_store::take_block(std::size_t size, alignment align) noexcept {
    if (!may_grow_.load(memory_order::relaxed)) { return nullptr; }
    align = std::max(align, unit_alignment);
    const std::size_t body =
        saturating_add(std::max<std::size_t>(size, 1), unit_size - 1) & ~(unit_size - 1);
    const std::size_t all = saturating_add(body, align.bytes());
    if (all > PTRDIFF_MAX) { return nullptr; }
    unit_segment* const made = make_segment(all, align);
    if (made == nullptr) { return nullptr; }
    unit_segment& s = *made;
    s.is_block = true;
    s.first_unit = static_cast<std::uint32_t>(align.bytes() / unit_size);
    unit_record& r = s.record(0);
    r.segment = &s;
    r.unit_count = s.unit_count - s.first_unit;
    r.is_used = !has_pages_;
    poison(s.unit(s.first_unit), body);
    describe(s);
    const lock_scope held{lock_};
    link(s);
    return &r;
}

void unit_store::give_block(unit_record& r) noexcept {
    {
        const lock_scope held{lock_};
        unlink(*r.segment);
    }
    give_back(*r.segment);
}

/// Returns: the segment where it is now; nullptr: the system refuses.
unit_segment* unit_store::move_pages(unit_segment& s, std::size_t size) noexcept {
    if (!map_.cover(&s, size)) { return nullptr; }
    unpoison(&s, s.size);  // addresses that leave the segment become those of other mappings
    if (page_memory::try_resize(&s, s.size, size)) { return &s; }
    void* const place = page_memory::reserve_committed(size, unit_alignment);
    if (place == nullptr) { return nullptr; }
    if (map_.cover(place, size) && page_memory::try_move(&s, s.size, place, size)) {
        return static_cast<unit_segment*>(place);
    }
    page_memory::release(place, size);
    return nullptr;
}

unit_record* unit_store::move_block(unit_record& r, std::size_t size) noexcept {
    unit_segment& s = *r.segment;
    const std::size_t all = (units_for(size) + 1) * unit_size;
    if (!has_pages_ || s.align != unit_alignment || !may_grow_.load(memory_order::relaxed)) {
        return nullptr;
    }
    {
        const lock_scope held{lock_};
        unlink(s);
    }
    unit_segment* const moved = move_pages(s, all);
    unit_segment& now = moved != nullptr ? *moved : s;
    if (moved != nullptr) {
        now.memory = moved;
        now.size = all;
        now.unit_count = static_cast<std::uint32_t>(all / unit_size);
        now.record(0).segment = moved;
        now.record(0).unit_count = now.unit_count - now.first_unit;
        describe(now);
    }
    const lock_scope held{lock_};
    link(now);
    return moved != nullptr ? &now.record(0) : nullptr;
}

// ------------------------------------------------------------------------------------------------
// giving back

/// Returns: a segment that nothing lives in, with at most `used_left` used units, out of all lists;
///          nullptr: there is none.
unit_segment* unit_store::take_empty_segment(std::size_t& used_left) noexcept {
    const lock_scope held{lock_};
    unit_segment* s = segments_;
    while (s != nullptr && (s->is_block || s->free_units != s->unit_count - s->first_unit ||
                            s->record(s->first_unit).slot_count > used_left)) {
        s = s->next;
    }
    if (s != nullptr) {
        used_left -= s->record(s->first_unit).slot_count;
        remove(s->record(s->first_unit));
        note_taken();
        unlink(*s);
    }
    return s;
}

/// A removed run keeps as many units from its front as contain `used` used ones.
void unit_store::cut_behind_used(unit_record& r, std::size_t used) noexcept {
    unit_segment& s = *r.segment;
    const std::size_t first = s.index_of(r);
    std::size_t count = 0;
    for (std::size_t found = 0; found < used; ++count) { found += used_in(s, first + count, 1); }
    cut(r, count);
    r.slot_count = static_cast<unsigned>(used);
}

/// Returns: a free run with 1 to `used_left` used units, out of its list; nullptr: there is none.
unit_record* unit_store::take_used_run(std::size_t& used_left) noexcept {
    const lock_scope held{lock_};
    if (used_free_units_ == 0 || used_left == 0) { return nullptr; }
    for (unit_record* r : runs_) {
        while (r != nullptr && r->slot_count == 0) { r = next_run(*r); }
        if (r != nullptr) {
            remove(*r);
            if (r->slot_count > used_left) { cut_behind_used(*r, used_left); }
            used_left -= r->slot_count;
            return r;
        }
    }
    return nullptr;
}

std::size_t unit_store::discard(unit_record& r) noexcept {
    unit_segment& s = *r.segment;
    const std::size_t i = s.index_of(r);
    lock_.lock();
    const bool is_first = !std::exchange(s.is_scattered, true);
    lock_.unlock();
    // Of a whole segment at once: advice for a part of a mapping would split it.
    if (is_first) { (void)page_memory::advise_huge(&s, s.size, false); }
    page_memory::discard(s.unit(i), r.unit_count * unit_size);
    const std::size_t bytes = r.slot_count * unit_size;
    const lock_scope held{lock_};
    set_used(s, i, r.unit_count, false);
    free_run(r, r.unit_count);
    note_taken();
    return bytes;
}

std::size_t unit_store::take_idle_units() noexcept {
    const lock_scope held{lock_};
    const std::size_t idle = idle_units_;
    idle_units_ = used_free_units_;
    return idle;
}

std::size_t unit_store::trim(work_meter& work, std::size_t used_max) noexcept {
    std::size_t bytes = 0;
    std::size_t used_left = used_max;
    work.look();
    while (used_left != 0 && work.goes_on() && may_grow_.load(memory_order::relaxed)) {
        unit_segment* const s = take_empty_segment(used_left);
        if (s == nullptr) { break; }
        bytes += s->size;
        work.pay(1, s->size);
        give_back(*s);
        work.look();
    }
    while (has_pages_ && work.goes_on()) {
        unit_record* const r = take_used_run(used_left);
        if (r == nullptr) { break; }
        const std::size_t done = discard(*r);
        bytes += done;
        work.pay(1, done);
        work.look();
    }
    return bytes;
}

// ------------------------------------------------------------------------------------------------
// questions

std::size_t unit_store::segment_size() noexcept {
    const lock_scope held{lock_};
    return segment_size_;
}

std::size_t unit_store::free_size() noexcept {
    const lock_scope held{lock_};
    return free_units_ * unit_size;
}

void unit_store::validate() noexcept {
    const lock_scope held{lock_};
    [[maybe_unused]] std::size_t free_count = 0;
    [[maybe_unused]] std::size_t used_count = 0;
    for (unit_segment* s = segments_; s != nullptr; s = s->next) {
        CAIRN_ASSERT(s->heap == heap_, "a segment knows the heap that it belongs to");
        if (s->is_block) { continue; }
        bool was_free = false;
        std::size_t free_here = 0;
        for (std::size_t i = s->first_unit; i < s->unit_count; i += s->record(i).unit_count) {
            const unit_record& r = s->record(i);
            const bool is_free = r.state() == unit_state::free_run;
            CAIRN_ASSERT(r.unit_count != 0 && i + r.unit_count <= s->unit_count,
                         "runs of units lie side by side in their segment");
            CAIRN_ASSERT(!(was_free && is_free), "neighbouring free runs are one run");
            CAIRN_ASSERT(!is_free || r.slot_count == used_in(*s, i, r.unit_count),
                         "a free run counts its used units");
            free_here += is_free ? r.unit_count : 0;
            used_count += is_free ? r.slot_count : 0;
            was_free = is_free;
        }
        CAIRN_ASSERT(free_here == s->free_units, "a segment counts its free units");
        free_count += free_here;
    }
    CAIRN_ASSERT(free_count == free_units_ && used_count == used_free_units_,
                 "the heap counts its free units");
}

// ------------------------------------------------------------------------------------------------
// the map

unit_record* unit_map::find(const void* p) const noexcept {
    const auto unit = unit_of(p);
    if (unit / leaf_units >= leaf_count) { return nullptr; }
    const leaf* const l = leaves_[unit / leaf_units].load(memory_order::acquire);
    return l == nullptr ? nullptr : l->record[unit % leaf_units].load(memory_order::acquire);
}

bool unit_map::cover(const void* begin, std::size_t size) noexcept {
    const std::size_t last = (unit_of(begin) + (size - 1) / unit_size) / leaf_units;
    if (last >= leaf_count) { return false; }
    for (std::size_t i = unit_of(begin) / leaf_units; i <= last; ++i) {
        leaf* known = leaves_[i].load(memory_order::acquire);
        if (known != nullptr) { continue; }
        const std::size_t bytes = page_memory::round_up_to_pages(sizeof(leaf));
        void* const memory = page_memory::reserve_committed(bytes);
        if (memory == nullptr) { return false; }
        // Fresh pages are zero: every unit is no heap's. Another thread may have been faster.
        if (!leaves_[i].compare_exchange_strong(known, static_cast<leaf*>(memory),
                                                memory_order::acq_rel, memory_order::acquire)) {
            page_memory::release(memory, bytes);
        }
    }
    return true;
}

void unit_map::enter(const void* begin, std::size_t count, std::uint8_t kind,
                     unit_record* r) noexcept {
    const std::size_t first = unit_of(begin);
    for (std::size_t i = first; i < first + count; ++i) {
        leaf& l = *leaves_[i / leaf_units].load(memory_order::relaxed);
        l.record[i % leaf_units].store(r, memory_order::release);
        l.kind[i % leaf_units].store(kind, memory_order::release);
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
