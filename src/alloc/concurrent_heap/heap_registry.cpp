// Threads and heaps finding and leaving each other, and fork(): heap_registry.hpp.
#include "heap_registry.hpp"

#include <bit>
#include <new>

#include <cairn/alloc/inside/cache_links.hpp>
#include <cairn/os/inside/fork.hpp>
#include <cairn/os/inside/thread_exit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_SHARED
constinit thread_local detail::heap_thread detail::this_heap_thread{};
#endif

namespace {

using detail::heap_cache;
using detail::heap_home;
using detail::heap_thread;
using detail::heap_thread_record;
using detail::second_heap_table;

heap_thread& thread_here() noexcept { return detail::this_heap_thread; }
bool watch_heap_exit_here(heap_thread_record& record) noexcept;

// Half a MiB of pointers, of which nearly all pages are never touched.
constinit detail::unit_map units_of_this_module{};
constinit heap_home heaps_here{
    .map = &units_of_this_module, .thread = &thread_here, .watch_exit = &watch_heap_exit_here};

constinit detail::thread_exit heaps_ending{[](void* record) noexcept {
    concurrent_heap_registry::exit_thread(heaps_here, *static_cast<heap_thread_record*>(record));
}};

bool watch_heap_exit_here(heap_thread_record& record) noexcept {
    return heaps_ending.watch(&record);
}

/// No two heaps of a process have the same, whichever modules they are of: a module's numbers begin
/// at the address of its home, whose bytes are no other module's.
std::uint64_t heap_number(const heap_home& home) noexcept {
    return (reinterpret_cast<std::uintptr_t>(&home) / alignof(heap_home) << 11) + home.heap_count;
}
static_assert(heap_thread::make_serial(std::uint64_t{1} << 55, 0) != 0, "44 + 11 bits fit");

/// All stacks are empty, in their small places, with no limit.
void clear_stacks(heap_cache& c, std::size_t largest) noexcept {
    auto** const memory = reinterpret_cast<void**>(&c);
    for (unsigned k = 0; k < heap_cache::class_count; ++k) {
        void** const at_first = memory + detail::cache_layout.at_first[k];
        at_first[-1] = nullptr;
        c.floors[k].store(at_first, detail::memory_order::relaxed);
        c.set_top(k, at_first);
        c.stacks[k].ceiling = at_first;
        c.limits[k] = 0;
    }
    c.size_left = largest;
    c.next_victim = 0;
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// pieces

void* detail::piece_list::take(bool may_ask_system) noexcept {
    {
        const lock_scope held{lock_};
        if (link* const l = free_) {
            free_ = l->next;
            return l;
        }
    }
    if (!may_ask_system) { return nullptr; }
    const std::size_t bytes = page_memory::round_up_to_pages(piece_size_ * piece_count_);
    auto* const memory = static_cast<std::byte*>(page_memory::reserve_committed(bytes));
    if (memory == nullptr) { return nullptr; }
    for (std::size_t i = 1; i < piece_count_; ++i) { give(memory + i * piece_size_); }
    return memory;
}

void detail::piece_list::give(void* piece) noexcept {
    const lock_scope held{lock_};
    free_ = ::new (piece) link{free_};
}

// ------------------------------------------------------------------------------------------------
// heaps

heap_home& concurrent_heap_registry::home_here() noexcept { return heaps_here; }
detail::unit_map& concurrent_heap_registry::map_here() noexcept { return units_of_this_module; }

void concurrent_heap_registry::enter(concurrent_heap& heap) noexcept {
    home& of = *heap.home_;
    const lock_scope held{of.lock};
    // With the first heap, once for the module. Asked again where the system had no room for it.
    if (!of.forks_are_watched) {
        of.forks_are_watched = detail::around_fork([] { before_fork(heaps_here); },
                                                   [] { after_fork_in_parent(heaps_here); },
                                                   [] { after_fork_in_child(heaps_here); });
    }
    ++of.heap_count;
    constexpr std::size_t count = heap_thread::entry_count;
    const auto lowest = static_cast<std::size_t>(std::countr_one(of.taken_entries));
    const std::size_t at = lowest < count ? lowest : of.heap_count % count;
    heap.serial_ = heap_thread::make_serial(heap_number(of), at);
    of.taken_entries |= std::uint32_t{1} << at;
    heap.next_live_ = of.live_heaps;
    heap.live_link_ = &of.live_heaps;
    if (of.live_heaps != nullptr) { of.live_heaps->live_link_ = &heap.next_live_; }
    of.live_heaps = &heap;
}

void concurrent_heap_registry::leave(concurrent_heap& heap) noexcept {
    home& of = *heap.home_;
    {
        const lock_scope held{of.lock};
        *heap.live_link_ = heap.next_live_;
        if (heap.next_live_ != nullptr) { heap.next_live_->live_link_ = heap.live_link_; }
        // The entry is free for another heap when no live one has it. What threads have in it
        // stays: its serial never comes again.
        bool entry_is_shared = false;
        const std::size_t entry = heap_thread::entry_of(heap.serial_);
        for (const concurrent_heap* h = of.live_heaps; h != nullptr; h = h->next_live_) {
            entry_is_shared = entry_is_shared || heap_thread::entry_of(h->serial_) == entry;
        }
        if (!entry_is_shared) { of.taken_entries &= ~(std::uint32_t{1} << entry); }
        // A thread that is ending now waits for the lock, or is finished with this heap.
        for (heap_cache* c = heap.caches_; c != nullptr; c = c->next_of_heap) {
            if (c->owner != nullptr) { detail::unlink_cache(*c); }
        }
    }
    while (heap_cache* const c = heap.caches_) {
        heap.caches_ = c->next_of_heap;
        // All pages but the first, which the list needs.
        const std::size_t page = page_memory::size();
        const std::size_t size = page_memory::round_up_to_pages(detail::cache_layout.size);
        if (size > page) {
            page_memory::discard(reinterpret_cast<std::byte*>(c) + page, size - page);
        }
        of.caches.give(c);
    }
}

// ------------------------------------------------------------------------------------------------
// threads

/// Returns: nullptr when the thread is ending or attaching, or there is no memory.
heap_thread_record* concurrent_heap_registry::record_of(home& of, heap_thread& mine) noexcept {
    if (mine.record != nullptr || mine.is_ending || mine.is_attaching) { return mine.record; }
    static_assert(sizeof(heap_thread_record) <= sizeof(detail::slot_batch));
    void* const memory = of.batches.take(true);
    if (memory == nullptr) { return nullptr; }
    // Watched before it is used: a thread whose end is not reported would keep its caches for ever.
    // The C library may allocate for that, from this heap, which works through locks meanwhile.
    auto* const record = ::new (memory) heap_thread_record;
    mine.is_attaching = true;
    const bool is_watched = of.watch_exit(*record);
    mine.is_attaching = false;
    if (is_watched) {
        mine.record = record;
    } else {
        of.batches.give(memory);
    }
    return mine.record;
}

bool concurrent_heap_registry::attach(concurrent_heap& heap, heap_cache& c) noexcept {
    home& of = *heap.home_;
    heap_thread& mine = of.thread();
    heap_thread_record* const record = record_of(of, mine);
    if (record == nullptr) { return false; }
    const lock_scope held{of.lock};
    detail::link_cache(*record, c);
    mine.entries[heap_thread::entry_of(heap.serial_)] = {heap.serial_, &c};
    return true;
}

heap_cache* concurrent_heap_registry::find(const concurrent_heap& heap) noexcept {
    home& of = *heap.home_;
    heap_thread& mine = of.thread();
    heap_thread::entry& entry = mine.entries[heap_thread::entry_of(heap.serial_)];
    if (entry.serial == heap.serial_) { return entry.cache; }  // asked by another module
    if (mine.record == nullptr) { return nullptr; }
    second_heap_table* second = mine.record->second;
    if (second != nullptr && second->of(heap.serial_).serial == heap.serial_) {
        entry = second->of(heap.serial_);
        return entry.cache;
    }
    heap_cache* const c = find_in_list(heap, *mine.record);
    if (c == nullptr) { return nullptr; }
    entry = {heap.serial_, c};
    // Two heaps share an entry of the first table. Without memory the list is searched again.
    if (second == nullptr) {
        if (void* const memory = of.tables.take(true)) {
            second = ::new (memory) second_heap_table{};
            mine.record->second = second;
        }
    }
    if (second != nullptr) { second->of(heap.serial_) = entry; }
    return c;
}

heap_cache* concurrent_heap_registry::find_in_list(const concurrent_heap& heap,
                                                   const heap_thread_record& record) noexcept {
    const lock_scope held{heap.home_->lock};  // a heap may be ending on another thread
    for (heap_cache* c = record.first; c != nullptr; c = c->next_of_thread) {
        if (c->serial == heap.serial_) { return c; }
    }
    return nullptr;
}

void concurrent_heap_registry::detach(concurrent_heap& heap) noexcept {
    heap_cache* const c = find(heap);
    if (c == nullptr) { return; }
    heap.empty(*c);
    const lock_scope held{heap.home_->lock};
    detail::unlink_cache(*c);
    heap_thread& mine = heap.home_->thread();
    mine.entries[heap_thread::entry_of(heap.serial_)] = {0, nullptr};
    if (second_heap_table* const second = mine.record->second; second != nullptr) {
        second->of(heap.serial_) = {0, nullptr};
    }
    heap.give_cache_back(*c);
}

void concurrent_heap_registry::exit_thread(home& of, heap_thread_record& record) noexcept {
    heap_thread& mine = of.thread();
    // From here on every operation of this thread takes the cold way, and the locks: a cache made
    // now would never be given back.
    mine.is_ending = true;
    for (auto& e : mine.entries) { e = {0, nullptr}; }
    {
        // A heap that is ending waits in leave() until its caches are back.
        const lock_scope held{of.lock};
        while (heap_cache* const c = record.first) {
            detail::unlink_cache(*c);
            c->heap->empty(*c);
            c->heap->give_cache_back(*c);
        }
    }
    mine.record = nullptr;
    if (record.second != nullptr) { of.tables.give(record.second); }
    of.batches.give(&record);
}

// ------------------------------------------------------------------------------------------------
// caches

heap_cache* concurrent_heap_registry::take_idle(concurrent_heap& heap) noexcept {
    const lock_scope held{heap.home_->lock};
    heap_cache* const c = heap.idle_;
    if (c != nullptr) {
        heap.idle_ = c->next_idle;
        ++heap.cache_count_;
        (void)heap.epoch_.is_new(c->epoch);  // it is empty
    }
    return c;
}

/// The cache that the thread or view works with. Returns: nullptr: it works through the locks.
heap_cache* concurrent_heap::usable(cache& which) noexcept {
    if (which.heap != nullptr) { return &which; }
    return which.is_view ? nullptr : find_or_make_cache();
}

heap_cache* concurrent_heap::make_cache() noexcept {
    if (cache* const idle = concurrent_heap_registry::take_idle(*this)) { return idle; }
    void* const memory = home_->caches.take(true);
    if (memory == nullptr) { return nullptr; }
    auto* const c = ::new (memory) cache;
    clear_stacks(*c, options_.cache_size_max);
    c->heap = this;
    c->serial = serial_;
    (void)epoch_.is_new(c->epoch);
    const lock_scope held{home_->lock};
    c->next_of_heap = caches_;
    caches_ = c;
    ++cache_count_;
    return c;
}

heap_cache* concurrent_heap::find_or_make_cache() noexcept {
    if (cache* const known = concurrent_heap_registry::find(*this)) { return known; }
    const detail::heap_thread& mine = home_->thread();
    if (mine.is_ending || mine.is_attaching) { return nullptr; }
    cache* const c = make_cache();
    if (c != nullptr && !concurrent_heap_registry::attach(*this, *c)) {
        const lock_scope held{home_->lock};
        give_cache_back(*c);
        return nullptr;
    }
    return c;
}

/// Requires: the home is locked, and `c` is empty.
void concurrent_heap::give_cache_back(cache& c) noexcept {
    clear_stacks(c, options_.cache_size_max);
    c.next_idle = idle_;
    idle_ = &c;
    --cache_count_;
}

concurrent_heap::local_view concurrent_heap::local() noexcept {
    cache* const c = make_cache();
    return local_view{*this, c != nullptr ? *c : detail::no_heap_view};
}

concurrent_heap::local_view::~local_view() {
    if (cache_->heap == nullptr) { return; }
    heap_->empty(*cache_);
    const lock_scope held{heap_->home_->lock};
    heap_->give_cache_back(*cache_);
}

// ------------------------------------------------------------------------------------------------
// fork(): every lock is held, so the child gets whole lists

void concurrent_heap_registry::lock_all(concurrent_heap& heap) noexcept {
    for (auto& bin : heap.bins_) { bin.lock().lock(); }
    heap.units_.lock().lock();
}

void concurrent_heap_registry::unlock_all(concurrent_heap& heap) noexcept {
    heap.units_.lock().unlock();
    for (auto& bin : heap.bins_) { bin.lock().unlock(); }
}

void concurrent_heap_registry::before_fork(home& of) noexcept {
    of.lock.lock();
    for (concurrent_heap* h = of.live_heaps; h != nullptr; h = h->next_live_) { lock_all(*h); }
    of.batches.lock().lock();
    of.caches.lock().lock();
    of.tables.lock().lock();
}

void concurrent_heap_registry::after_fork_in_parent(home& of) noexcept {
    of.tables.lock().unlock();
    of.caches.lock().unlock();
    of.batches.lock().unlock();
    for (concurrent_heap* h = of.live_heaps; h != nullptr; h = h->next_live_) { unlock_all(*h); }
    of.lock.unlock();
}

void concurrent_heap_registry::after_fork_in_child(home& of) noexcept {
    // Not unlocked: the words may count waiters, threads that the child does not have.
    of.tables.lock().forget_holder();
    of.caches.lock().forget_holder();
    of.batches.lock().forget_holder();
    for (concurrent_heap* h = of.live_heaps; h != nullptr; h = h->next_live_) {
        for (auto& bin : h->bins_) { bin.lock().forget_holder(); }
        h->units_.lock().forget_holder();
        h->units_.upstream_lock().forget_holder();
        mend_after_fork(*h, of.thread().record);
    }
    of.lock.forget_holder();
}

/// In the child, where no other thread exists. The system copies the pages of the parent one after
/// another while its other threads run: what their stacks hold is not known, and lost.
void concurrent_heap_registry::mend_after_fork(concurrent_heap& heap,
                                               const heap_thread_record* survivor) noexcept {
    for (heap_cache* c = heap.caches_; c != nullptr; c = c->next_of_heap) {
        if (c->owner == nullptr || c->owner == survivor) { continue; }
        // Not unlinked: the record of that thread, with all in it, is left to itself.
        c->owner = nullptr;
        c->next_of_thread = nullptr;
        c->link = nullptr;
        heap.give_cache_back(*c);
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
