// The caches and batches of cairn/alloc/concurrent_heap.hpp: their memory, and what happens to them
// around fork(). Threads that come and go: alloc/inside/cache_registry.cpp.
#include "heap_registry.hpp"

#include <new>

#include <cairn/os/page_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_SHARED
constinit thread_local detail::heap_thread detail::this_heap_thread{};
#endif

namespace {

using detail::cache_owner;
using detail::heap_batch;
using detail::heap_cache;
using detail::thread_cache;

// Of all heaps of the module; a record of a thread, too, may lie where a batch was.
constinit detail::piece_list batch_pieces{512, 128};
constinit detail::piece_list cache_pieces{detail::cache_layout.size, 1};

// Half a MiB of pointers, of which nearly all pages are never touched.
constinit detail::unit_map units_of_this_module{};

detail::thread_tables heap_tables_here() noexcept {
    return {detail::this_heap_thread.state, detail::this_heap_thread.entries};
}

constexpr detail::cache_kind heap_kind{.make = &concurrent_heap_registry::make,
                                       .empty = &concurrent_heap_registry::empty,
                                       .lock = &concurrent_heap_registry::lock,
                                       .unlock = &concurrent_heap_registry::unlock,
                                       .mend = &concurrent_heap_registry::mend,
                                       .after_fork = &concurrent_heap_registry::after_fork};

constinit detail::cache_home heaps_home{.kind = &heap_kind,
                                        .entry_count = detail::heap_thread::entry_count,
                                        .thread = &heap_tables_here,
                                        .watch_exit = &detail::home_hooks<heaps_home>::watch_exit,
                                        .watch_forks = &detail::home_hooks<heaps_home>::watch_forks,
                                        .shared_pieces = {&batch_pieces, &cache_pieces}};

/// All stacks are empty, in their small places, with no limit.
void clear_stacks(heap_cache& c, std::size_t largest) noexcept {
    auto** const memory = reinterpret_cast<void**>(&c);
    for (unsigned k = 0; k < heap_cache::class_count; ++k) {
        void** const at_first = memory + detail::cache_layout.at_first[k];
        at_first[-1] = nullptr;
        c.floors[k].store(at_first, detail::memory_order::relaxed);
        c.set_top(k, at_first);
        c.ceilings[k].value = at_first;
        c.limits[k] = 0;
    }
    c.size_left = largest;
    c.next_victim = 0;
}

}  // namespace

detail::cache_home& concurrent_heap_registry::home_here() noexcept { return heaps_home; }
detail::unit_map& concurrent_heap_registry::map_here() noexcept { return units_of_this_module; }

// ------------------------------------------------------------------------------------------------
// batches

detail::slot_batch* concurrent_heap::place::take_batch() const noexcept {
    void* const memory = heap.home->shared_pieces[0]->take();
    if (memory == nullptr) { return nullptr; }
    auto* const b = ::new (memory) heap_batch;
    b->first_slot = b->room;
    return b;
}

void concurrent_heap::place::give_batch(detail::slot_batch& b) const noexcept {
    heap.home->shared_pieces[0]->give(&b);
}

// ------------------------------------------------------------------------------------------------
// caches

heap_cache* concurrent_heap::usable(cache& which) noexcept {
    return static_cast<cache*>(
        detail::cache_registry::usable(*this, which, detail::this_heap_thread));
}

thread_cache* concurrent_heap_registry::make(cache_owner& o) noexcept {
    void* const memory = o.home->shared_pieces[1]->take();
    if (memory == nullptr) { return nullptr; }
    auto* const c = ::new (memory) cache;
    clear_stacks(*c, heap_of(o).options_.cache_size_max);
    return c;
}

void concurrent_heap_registry::empty(cache_owner& o, thread_cache& c) noexcept {
    heap_of(o).empty(static_cast<cache&>(c));
    clear_stacks(static_cast<cache&>(c), heap_of(o).options_.cache_size_max);
}

void concurrent_heap_registry::give_pages_back(concurrent_heap& heap) noexcept {
    while (thread_cache* const c = heap.caches) {
        heap.caches = c->next_of_owner;
        // All pages but the first, which the list needs.
        const std::size_t page_size = page_memory::size();
        const std::size_t size = page_memory::round_up_to_pages(detail::cache_layout.size);
        if (size > page_size) {
            page_memory::discard(reinterpret_cast<std::byte*>(c) + page_size, size - page_size);
        }
        heap.home->shared_pieces[1]->give(static_cast<cache*>(c));
    }
}

concurrent_heap::local_view concurrent_heap::local() noexcept {
    auto* const c = static_cast<cache*>(detail::cache_registry::make(*this));
    return local_view{*this, c != nullptr ? *c : detail::no_heap_view};
}

concurrent_heap::local_view::~local_view() {
    if (cache_->owner != nullptr) { detail::cache_registry::give_back(*heap_, *cache_); }
}

// ------------------------------------------------------------------------------------------------
// fork()

void concurrent_heap_registry::lock(cache_owner& o) noexcept {
    for (auto& bin : heap_of(o).bins_) { bin.lock().lock(); }
    heap_of(o).units_.lock().lock();
}

void concurrent_heap_registry::unlock(cache_owner& o) noexcept {
    heap_of(o).units_.lock().unlock();
    for (auto& bin : heap_of(o).bins_) { bin.lock().unlock(); }
}

bool concurrent_heap_registry::mend(cache_owner& o, thread_cache& c) noexcept {
    clear_stacks(static_cast<cache&>(c), heap_of(o).options_.cache_size_max);
    return true;
}

void concurrent_heap_registry::after_fork(cache_owner& o, bool) noexcept {
    for (auto& bin : heap_of(o).bins_) { bin.lock().forget_holder(); }
    heap_of(o).units_.lock().forget_holder();
    heap_of(o).units_.upstream_lock().forget_holder();
}

}}  // namespace cairn::CAIRN_FLAVOUR
