// Threads, and the heaps and pools of which they have caches, finding and leaving each other:
// cache_registry.hpp.
#include "cache_registry.hpp"

#include <bit>
#include <new>
#include <utility>

#include <cairn/os/page_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

std::size_t entry_of(const cache_owner& o) noexcept {
    return o.serial / sizeof(cache_entry) & (o.home->entry_count - 1);
}

cache_entry& second_entry(second_cache_table& second, const cache_owner& o) noexcept {
    return second.at(o.serial, o.home->entry_count);
}

//     serial = (number * entries + entry) * 16          what each thread's table compares
//     number = address of the home / 8 * 2^11 + owners made by it so far
/// No two owners of a process have the same, whichever modules they are of: a module's numbers
/// begin at the address of its home, whose bytes are no other module's. Numbers of two modules meet
/// after 256 owners for each byte between their homes: millions.
std::uint64_t owner_number(const cache_home& home) noexcept {
    static_assert(alignof(cache_home) == 8);
    return (reinterpret_cast<std::uintptr_t>(&home) / alignof(cache_home) << 11) + home.owner_count;
}
static_assert(cache_table<32>::make_serial(std::uint64_t{1} << 54, 0) != 0, "44 + 11 bits fit");

/// `c` is the first cache of the thread with this record from now on.
void link(thread_record& record, thread_cache& c) noexcept {
    c.thread = &record;
    c.next_of_thread = record.first;
    c.link = &record.first;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = &c.next_of_thread; }
    record.first = &c;
}

/// `c` is a cache of no thread from now on.
void unlink(thread_cache& c) noexcept {
    *c.link = c.next_of_thread;
    if (c.next_of_thread != nullptr) { c.next_of_thread->link = c.link; }
    c.thread = nullptr;
    c.next_of_thread = nullptr;
    c.link = nullptr;
}

/// Requires: the home is locked, and `c` is as a new one.
void make_idle(cache_owner& o, thread_cache& c) noexcept {
    c.next_idle = o.idle;
    o.idle = &c;
    --o.cache_count;
}

/// Returns: nullptr when the thread is ending or attaching, or there is no memory.
thread_record* record_of(cache_home& home, thread_state& mine) noexcept {
    if (mine.record != nullptr || mine.is_ending || mine.is_attaching) { return mine.record; }
    void* const memory = home.records.take();
    if (memory == nullptr) { return nullptr; }
    // Watched before it is used: a thread whose end is not reported would keep its caches for ever.
    // The C library may allocate for that, from this heap, which works through locks meanwhile.
    auto* const record = ::new (memory) thread_record;
    mine.is_attaching = true;
    const bool is_watched = home.watch_exit(*record);
    mine.is_attaching = false;
    if (is_watched) {
        mine.record = record;
    } else {
        home.records.give(memory);
    }
    return mine.record;
}

/// Makes `c` the calling thread's. Returns: false when it is ending, or there was no memory.
bool attach(cache_owner& o, thread_cache& c) noexcept {
    const thread_tables mine = o.home->thread();
    thread_record* const record = record_of(*o.home, mine.state);
    if (record == nullptr) { return false; }
    const lock_scope held{o.home->lock};
    link(*record, c);
    mine.entries[entry_of(o)] = {o.serial, &c};
    return true;
}

/// With the first owner, once for the module: there is no way to take it back. Asked again where
/// the system had no room for it.
/// Requires: the home is not locked. The C library waits here for a fork of another thread, whose
/// before_fork() takes that lock.
void watch_forks(cache_home& home) noexcept {
    if (home.forks_are_watched.load(memory_order::relaxed) ||
        home.forks_are_watched.exchange(true, memory_order::relaxed)) {
        return;
    }
    if (!home.watch_forks()) { home.forks_are_watched.store(false, memory_order::relaxed); }
}

template <class F>
void for_each_list(cache_home& home, F&& f) noexcept {
    f(home.records);
    f(home.tables);
    for (piece_list* const l : home.shared_pieces) {
        if (l != nullptr) { f(*l); }
    }
}

thread_cache* find_in_list(const cache_owner& o, const thread_record& record) noexcept {
    const lock_scope held{o.home->lock};  // an owner may be ending on another thread
    for (thread_cache* c = record.first; c != nullptr; c = c->next_of_thread) {
        if (c->serial == o.serial) { return c; }
    }
    return nullptr;
}

}  // namespace

// ------------------------------------------------------------------------------------------------
// pieces

void* piece_list::take() noexcept {
    while (true) {
        {
            const lock_scope held{lock_};
            if (link* const l = free_) {
                free_ = l->next;
                return l;
            }
            if (untouched_count_ != 0) {
                --untouched_count_;
                return std::exchange(untouched_, untouched_ + piece_size_);
            }
        }
        const std::size_t bytes = page_memory::round_up_to_pages(piece_size_ * piece_count_);
        void* const memory = page_memory::reserve_committed(bytes);
        if (memory == nullptr) { return nullptr; }
        if (!add_untouched(memory)) { page_memory::release(memory, bytes); }
    }
}

/// Returns: false when another thread was faster.
bool piece_list::add_untouched(void* memory) noexcept {
    const lock_scope held{lock_};
    if (untouched_count_ != 0) { return false; }
    untouched_ = static_cast<std::byte*>(memory);
    untouched_count_ = piece_count_;
    return true;
}

void piece_list::give(void* piece) noexcept {
    const lock_scope held{lock_};
    free_ = ::new (piece) link{free_};
}

// ------------------------------------------------------------------------------------------------
// owners

void cache_registry::enter(cache_owner& o, cache_home& home) noexcept {
    watch_forks(home);
    const lock_scope held{home.lock};
    ++home.owner_count;
    // Where more owners live than there are entries, they share entries. A thread that changes from
    // one such owner to another then looks into its second table (find()).
    const unsigned count = home.entry_count;
    const auto lowest = static_cast<unsigned>(std::countr_one(home.taken_entries));
    const std::uint64_t at = lowest < count ? lowest : home.owner_count % count;
    o.home = &home;
    o.serial = (owner_number(home) * count + at) * sizeof(cache_entry);
    home.taken_entries |= std::uint32_t{1} << at;
    // Last: from here on fork() and ending threads find the owner, complete.
    o.next_live = home.live;
    o.live_link = &home.live;
    if (home.live != nullptr) { home.live->live_link = &o.next_live; }
    home.live = &o;
}

void cache_registry::leave(cache_owner& o) noexcept {
    cache_home& home = *o.home;
    const lock_scope held{home.lock};
    *o.live_link = o.next_live;
    if (o.next_live != nullptr) { o.next_live->live_link = o.live_link; }
    // The entry is free for another owner when no live one has it. What threads have in it stays:
    // its serial never comes again.
    bool entry_is_shared = false;
    for (const cache_owner* other = home.live; other != nullptr; other = other->next_live) {
        entry_is_shared = entry_is_shared || entry_of(*other) == entry_of(o);
    }
    if (!entry_is_shared) { home.taken_entries &= ~(std::uint32_t{1} << entry_of(o)); }
    // Threads that hold caches keep their records, from which the caches go: a thread that ends
    // later finds nothing of the owner. One that is ending now waits for the lock, or has it and is
    // finished with this owner before it lets go.
    for (thread_cache* c = o.caches; c != nullptr; c = c->next_of_owner) {
        if (c->thread != nullptr) { unlink(*c); }
    }
    // Not even this thread: a use after the end goes the slow way, which names it. A number has no
    // such bit.
    if constexpr (asserts_enabled) { o.serial |= std::uint64_t{1} << 63; }
}

// ------------------------------------------------------------------------------------------------
// threads

thread_cache* cache_registry::find(cache_owner& o) noexcept {
    cache_home& home = *o.home;
    const thread_tables mine = home.thread();
    cache_entry& entry = mine.entries[entry_of(o)];
    if (entry.serial == o.serial) { return entry.cache; }  // asked by another module
    if (mine.state.record == nullptr) { return nullptr; }
    // Another owner has the entry, or none has. The entry is this one's from now on.
    second_cache_table*& second = mine.state.second;
    if (second != nullptr && second_entry(*second, o).serial == o.serial) {
        entry = second_entry(*second, o);
        return entry.cache;
    }
    thread_cache* const c = find_in_list(o, *mine.state.record);
    if (c == nullptr) { return nullptr; }
    entry = {o.serial, c};
    // Two owners share an entry of the first table. Without memory the list is searched again.
    if (second == nullptr) {
        if (void* const memory = home.tables.take()) {
            second = ::new (memory) second_cache_table{};
        }
    }
    if (second != nullptr) { second_entry(*second, o) = entry; }
    return c;
}

void cache_registry::detach(cache_owner& o) noexcept {
    thread_cache* const c = find(o);
    if (c == nullptr) { return; }
    o.home->kind->empty(o, *c);
    const lock_scope held{o.home->lock};
    unlink(*c);
    const thread_tables mine = o.home->thread();
    mine.entries[entry_of(o)] = {0, nullptr};
    if (mine.state.second != nullptr) { second_entry(*mine.state.second, o) = {0, nullptr}; }
    make_idle(o, *c);
}

void cache_registry::exit_thread(cache_home& home, thread_record& record) noexcept {
    const thread_tables mine = home.thread();
    // From here on every operation of this thread takes the cold way, and the locks: a cache made
    // now would never be given back.
    mine.state.is_ending = true;
    for (unsigned i = 0; i < home.entry_count; ++i) { mine.entries[i] = {0, nullptr}; }
    // No way to a cache is left: an assert handler that empty() calls may allocate.
    second_cache_table* const second = std::exchange(mine.state.second, nullptr);
    mine.state.record = nullptr;
    {
        // An owner that is ending waits in leave() until its caches are back.
        const lock_scope held{home.lock};
        while (thread_cache* const c = record.first) {
            unlink(*c);
            home.kind->empty(*c->owner, *c);
            make_idle(*c->owner, *c);
        }
    }
    if (second != nullptr) { home.tables.give(second); }
    home.records.give(&record);
}

// ------------------------------------------------------------------------------------------------
// caches

thread_cache* cache_registry::make(cache_owner& o) noexcept {
    {
        const lock_scope held{o.home->lock};
        // Counted as it changes hands, under the same lock: a child of fork() finds both or
        // neither.
        if (thread_cache* const c = o.idle) {
            o.idle = c->next_idle;
            ++o.cache_count;
            (void)o.epoch.is_new(c->epoch);  // it is empty
            return c;
        }
    }
    thread_cache* const c = o.home->kind->make(o);
    if (c == nullptr) { return nullptr; }
    c->owner = &o;
    c->serial = o.serial;
    (void)o.epoch.is_new(c->epoch);
    const lock_scope held{o.home->lock};
    c->next_of_owner = o.caches;
    o.caches = c;
    ++o.cache_count;
    return c;
}

void cache_registry::give_back(cache_owner& o, thread_cache& c) noexcept {
    o.home->kind->empty(o, c);
    const lock_scope held{o.home->lock};
    make_idle(o, c);
}

thread_cache* cache_registry::find_or_make(cache_owner& o) noexcept {
    if (thread_cache* const known = find(o)) { return known; }
    const thread_state& mine = o.home->thread().state;
    if (mine.is_ending || mine.is_attaching) { return nullptr; }
    thread_cache* const c = make(o);
    // It goes to the idle ones: the next thread has it without a request for memory.
    if (c != nullptr && !attach(o, *c)) {
        give_back(o, *c);
        return nullptr;
    }
    return c;
}

// ------------------------------------------------------------------------------------------------
// fork(): every lock is held, so the child gets whole lists

void cache_registry::before_fork(cache_home& home) noexcept {
    // In the order in which all others take them. Owners cannot come or go while the home is
    // locked.
    home.lock.lock();
    home.has_others = !is_only_thread();
    for (cache_owner* o = home.live; o != nullptr; o = o->next_live) { home.kind->lock(*o); }
    for_each_list(home, [](piece_list& l) noexcept { l.lock().lock(); });
}

void cache_registry::after_fork_in_parent(cache_home& home) noexcept {
    for_each_list(home, [](piece_list& l) noexcept { l.lock().unlock(); });
    for (cache_owner* o = home.live; o != nullptr; o = o->next_live) { home.kind->unlock(*o); }
    home.lock.unlock();
}

/// In the child no other thread exists. The system copies the pages of the parent one after another
/// while its other threads run: what their caches hold is not known, and lost.
void cache_registry::after_fork_in_child(cache_home& home) noexcept {
    // Not unlocked: the words may count waiters, threads that the child does not have.
    for_each_list(home, [](piece_list& l) noexcept { l.lock().forget_holder(); });
    const thread_record* const survivor = home.thread().state.record;
    for (cache_owner* o = home.live; o != nullptr; o = o->next_live) {
        for (thread_cache** at = &o->caches; *at != nullptr;) {
            thread_cache& c = **at;
            const bool is_abandoned = c.thread != nullptr && c.thread != survivor;
            bool stays = true;
            if (is_abandoned) {
                // Not unlinked: the record of that thread, with all in it, is left to itself.
                c.thread = nullptr;
                c.next_of_thread = nullptr;
                c.link = nullptr;
                stays = home.kind->mend(*o, c);
                if (stays) {
                    make_idle(*o, c);
                } else {
                    --o->cache_count;
                }
            }
            if (stays) {
                at = &c.next_of_owner;
            } else {
                *at = c.next_of_owner;
            }
        }
        home.kind->after_fork(*o, home.has_others);
    }
    home.lock.forget_holder();
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
