// Cold half of cairn/alloc/concurrent_heap.hpp: stacks that are used up, batches, chunks, trimming.
// Large blocks are in concurrent_heap/large.cpp, units in units.cpp, memory of caches and fork() in
// heap_registry.cpp, questions and checks in heap_checks.cpp.
#include <cairn/alloc/concurrent_heap.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <cairn/alloc/inside/byte_credits.hpp>

#include "concurrent_heap/heap_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

using detail::cache_layout;
using detail::heap_batch;
using detail::heap_cache;

constexpr auto unordered = detail::memory_order::relaxed;
constexpr std::size_t waiting_max = std::size_t{128} << 10;

/// Durstenfeld's shuffle, by numbers that follow from `seed` and the first slot.
void shuffle(void** slot_array, unsigned count, std::uint64_t seed) noexcept {
    std::uint64_t x = seed ^ reinterpret_cast<std::uintptr_t>(slot_array[0]);
    for (unsigned i = count; i > 1; --i) {
        CAIRN_DETAIL_STEP();
        x = x * 0x5851'F42D'4C95'7F2D + 1;
        std::swap(slot_array[i - 1], slot_array[(x >> 32) * i >> 32]);
    }
}

}  // namespace

concurrent_heap::concurrent_heap(allocator_ref upstream, options how) noexcept
    : map_{&concurrent_heap_registry::map_here()},
      options_{how},
      units_{this, *map_, upstream, watch_} {
    detail::cache_registry::enter(*this, concurrent_heap_registry::home_here());
    if (how.name != nullptr) { set_name(how.name); }
}

concurrent_heap::~concurrent_heap() {
    watch_.end();
    drain_batches();
    detail::cache_registry::leave(*this);
    concurrent_heap_registry::give_pages_back(*this);
}

// ------------------------------------------------------------------------------------------------
// chunks

concurrent_heap::record* concurrent_heap::place::take_chunk(unsigned k) const noexcept {
    record* const r = heap.units_.take(sizes::units_of(k));
    if (r == nullptr) { return nullptr; }
    r->begin = r->segment->begin_of(*r);
    r->slot_class = k;
    r->cut(sizes::size_of(k), sizes::slots_of(k), r->words);
#if CAIRN_ASSERTS
    for (auto& word : r->live_bits) { word.store(0, unordered); }
#endif
    heap.units_.publish(*r, detail::unit_state::chunk);
    heap.map_->enter(r->begin, r->unit_count, static_cast<std::uint8_t>(k + 1), r);
    return r;
}

void concurrent_heap::place::release(detail::slot_chunk& c) const noexcept {
    auto& r = static_cast<record&>(c);
    heap.map_->enter(r.begin, r.unit_count, detail::unit_map::nothing, nullptr);
    heap.units_.give(r);
}

// ------------------------------------------------------------------------------------------------
// stacks

void* concurrent_heap::take_cold(cache& which, unsigned k) noexcept {
    watch_.expect_not_ended(this, "concurrent_heap");
    cache* const c = usable(which);
    if (c == nullptr) { return take_shared(k); }
    if (c->count(k) == 0) {
        heed_trim(*c);
        grow_limit(*c, k, heap_cache::limit_max(k));
        if (c->limits[k] == 0) { return take_shared(k); }
        fill(*c, k);
        if (c->count(k) == 0) { return nullptr; }
    }
    void** const top = c->top(k);
    c->set_top(k, top - 1);
    return top[-1];
}

void concurrent_heap::put_cold(cache& which, unsigned k, void* p) noexcept {
    cache* const c = usable(which);
    if (c != nullptr && c->top(k)[-1] == p) { freed_twice(p, {}); }
    if (c != nullptr && c->count(k) == c->limits[k]) {
        heed_trim(*c);
        // A thread that only frees needs two batches; a stack that runs empty gets more.
        if (c->count(k) == c->limits[k]) { grow_limit(*c, k, heap_cache::limit_of_full); }
        if (c->count(k) == c->limits[k]) { spill(*c, k, (c->limits[k] + 1u) / 2); }
    }
    if (c == nullptr || c->limits[k] == 0) {
        bins_[k].give_to_chunks(&p, 1, place{*this});
        refund(sizes::size_of(k));
        return;
    }
    void** const top = c->top(k);
    *top = p;
    c->set_top(k, top + 1);
}

/// For a thread without a cache. Returns: nullptr when exhausted.
void* concurrent_heap::take_shared(unsigned k) noexcept {
    void* p = nullptr;
    if (admitted(k, 1) == 0) { return nullptr; }
    if (bins_[k].take(k, &p, 1, place{*this}) != 0) { return p; }
    // Slots of other classes that wait may be whole chunks.
    drain_batches();
    if (bins_[k].take(k, &p, 1, place{*this}) != 0) { return p; }
    refund(sizes::size_of(k));
    return nullptr;
}

/// Gets slots into an empty stack; the lowest address is on top, unless the order is random.
void concurrent_heap::fill(cache& c, unsigned k) noexcept {
    void* slot_array[heap_batch::slot_count_max];
    const unsigned wanted =
        admitted(k, std::min<unsigned>((c.limits[k] + 1u) / 2, heap_batch::slot_count_max));
    if (wanted == 0) { return; }
    unsigned count = bins_[k].take(k, slot_array, wanted, place{*this});
    if (count == 0) {
        empty(c);
        drain_batches();
        count = bins_[k].take(k, slot_array, wanted, place{*this});
    }
    // An upstream that came back may have filled the stack.
    const unsigned room = c.limits[k] - c.count(k);
    for (; count > room; --count) {
        bins_[k].give_to_chunks(slot_array + count - 1, 1, place{*this});
    }
    refund((wanted - count) * sizes::size_of(k));
    const std::uint64_t seed = order_seed_.load(detail::memory_order::relaxed);
    if (seed != 0 && count != 0) { shuffle(slot_array, count, seed); }
    void** top = c.top(k);
    for (unsigned i = count; i-- != 0;) {
        CAIRN_DETAIL_STEP();
        *top++ = slot_array[i];
    }
    c.set_top(k, top);
}

/// Gives the newest `count` slots of a stack to the others; where enough wait already, eight.
void concurrent_heap::spill(cache& c, unsigned k, unsigned count) noexcept {
    count = std::min(count, heap_batch::slot_count_max);
    if (count == 0) { return; }
    void** const top = c.top(k);
    // The stack gives them up before another thread can have them: a fork in between loses them.
    c.set_top(k, top - count);
    compiler::signal_fence(detail::memory_order::seq_cst);
    const unsigned given = bins_[k].give(top - count, count, batch_count_max(k), place{*this});
    c.set_top(k, top - given);
    refund(given * sizes::size_of(k));
}

/// All slots go back to their chunks.
void concurrent_heap::empty(cache& c) noexcept {
    for (unsigned k = 0; k < sizes::class_count; ++k) {
        while (const unsigned count = std::min(c.count(k), detail::slot_bin::give_max)) {
            void** const top = c.top(k) - count;
            c.set_top(k, top);
            compiler::signal_fence(detail::memory_order::seq_cst);
            bins_[k].give_to_chunks(top, count, place{*this});
            refund(count * sizes::size_of(k));
        }
    }
}

/// Slots of class `k` that the limit admits, at most `wanted`; they are counted from now on.
unsigned concurrent_heap::admitted(unsigned k, unsigned wanted) const noexcept {
    if (limit_ == nullptr) { return wanted; }
    while (wanted != 0 && !limit_->pay_shared(nullptr, wanted * sizes::size_of(k))) { wanted /= 2; }
    return wanted;
}

void concurrent_heap::refund(std::size_t size) const noexcept {
    if (limit_ != nullptr && size != 0) { limit_->put_shared(nullptr, size); }
}

void concurrent_heap::heed_trim(cache& c) noexcept {
    if (epoch.is_new(c.epoch)) { empty(c); }
}

unsigned concurrent_heap::batch_count_max(unsigned k) const noexcept {
    const std::size_t fitting = waiting_max / (heap_batch::slot_count_max * sizes::size_of(k));
    return static_cast<unsigned>(std::max<std::size_t>(fitting, 2));
}

// ------------------------------------------------------------------------------------------------
// limits

/// Doubles the limit of a stack that is empty or full, to `highest` and limit_max() at most.
void concurrent_heap::grow_limit(cache& c, unsigned k, unsigned highest) noexcept {
    const unsigned old = c.limits[k];
    const unsigned most = std::min(highest, heap_cache::limit_max(k));
    if (old >= most) { return; }
    const unsigned wanted = std::min(old == 0 ? heap_cache::first_limit : 2 * old, most);
    const std::size_t more = (wanted - old) * sizes::size_of(k);
    if (more > c.size_left) { take_room(c, k, more); }
    if (more <= c.size_left) {
        c.size_left -= more;
        move_stack(c, k, wanted);
    }
}

/// Other classes give up the half of their limits that they do not use, each in turn, until `size`
/// more bytes may be held. Where that is not enough, one of them leaves a batch to the others.
void concurrent_heap::take_room(cache& c, unsigned for_class, std::size_t size) noexcept {
    bool has_spilled = false;
    for (unsigned looks = 0; looks < sizes::class_count && c.size_left < size; ++looks) {
        CAIRN_DETAIL_STEP();
        const unsigned k = c.next_victim;
        c.next_victim = (k + 1) % sizes::class_count;
        if (k == for_class || c.limits[k] == 0) { continue; }
        const unsigned half = c.limits[k] / 2u;
        if (c.count(k) > half && !has_spilled) {
            spill(c, k, c.count(k) - half);
            has_spilled = true;
        }
        const unsigned limit = std::max(half, c.count(k));
        c.size_left += (c.limits[k] - limit) * sizes::size_of(k);
        c.limits[k] = static_cast<std::uint16_t>(limit);
        c.ceilings[k].value = c.floors[k].load(unordered) + limit;
    }
}

/// Gives a stack its limit, and its large place where the small one is too small for it.
void concurrent_heap::move_stack(cache& c, unsigned k, unsigned limit) noexcept {
    auto** const memory = reinterpret_cast<void**>(&c);
    void** const at_first = memory + cache_layout.at_first[k];
    void** const old = c.floors[k].load(unordered);
    if (limit > heap_cache::first_limit && old == at_first) {
        void** const full = memory + cache_layout.full[k];
        const unsigned count = c.count(k);
        full[-1] = nullptr;
        std::memcpy(full, old, count * sizeof(void*));
        c.floors[k].store(full, unordered);
        c.set_top(k, full + count);
    }
    c.limits[k] = static_cast<std::uint16_t>(limit);
    c.ceilings[k].value = c.floors[k].load(unordered) + limit;
}

// ------------------------------------------------------------------------------------------------
// several at once

std::size_t concurrent_heap::allocate_n(slice<void*> out, std::size_t size,
                                        alignment align) noexcept {
    std::size_t got = 0;
    for (void*& p : out) {
        p = allocate(size, align);
        if (p == nullptr) { break; }
        ++got;
    }
    return got;
}

void concurrent_heap::deallocate_n(slice<void* const> freed, std::size_t size,
                                   alignment align) noexcept {
    for (void* const p : freed) { deallocate(p, size, align); }
}

void* concurrent_heap::allocate_called(std::size_t size, alignment align) noexcept {
    return allocate_here(my_cache(), size, align);
}

void concurrent_heap::deallocate_called(void* p, std::size_t size, alignment align,
                                        call_site from) noexcept {
    deallocate_here(my_cache(), p, size, align, from);
}

// ------------------------------------------------------------------------------------------------
// giving back

void concurrent_heap::drain_batches() noexcept {
    detail::work_meter work{{}};
    drain_batches(work);
}

void concurrent_heap::drain_batches(detail::work_meter& work) noexcept {
    for (auto& bin : bins_) {
        while (work.goes_on() && bin.drain(place{*this})) {
            work.pay(1, 0);
            work.look();
        }
        while (bin.release_empty(place{*this})) {}
    }
}

std::size_t concurrent_heap::trim(work_limit limit) noexcept {
    detail::work_meter work{limit};
    epoch.raise();
    if (auto* const mine = detail::cache_registry::find(*this)) {
        heed_trim(static_cast<cache&>(*mine));
    }
    drain_batches(work);
    return units_.trim(work);
}

std::size_t concurrent_heap::trim_idle() noexcept {
    detail::work_meter work{{}};
    return units_.trim(work, units_.take_idle_units());
}

bool concurrent_heap::reserve(std::size_t size) noexcept {
    return size <= PTRDIFF_MAX &&
           units_.reserve((size + detail::unit_size - 1) / detail::unit_size);
}

void concurrent_heap::release_this_thread() noexcept {
    // A stack of the cache is being filled there.
    if (!units_.upstream_lock().is_mine()) { detail::cache_registry::detach(*this); }
}

}}  // namespace cairn::CAIRN_FLAVOUR
