// The live heaps, the threads that have caches of them, and the pages of all bookkeeping. Private
// to the library.
//
//      home of a module    live heaps:  H3 -> H1              (serials never repeat)
//                          lock         thread A: record -> c(H3) -> c(H1)
//                                       thread B: record -> c(H1)
//
// A program and its plugins may each contain a copy of this code and of its thread-local memory. A
// heap belongs to the home of the module that made it; every function here works on the home of the
// heap that it gets, whichever module's copy of the function runs.
//
// Order of locks: home, bins by class, units, lists of nodes. The system and upstreams are called
// under none of them.
#pragma once

#include <cairn/alloc/concurrent_heap.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Free pieces of one size, in pages that never go back: batches, caches, tables. Not from malloc,
/// which a heap may be under.
class CAIRN_DETAIL_MODULE_LOCAL piece_list {
public:
    constexpr piece_list(std::size_t piece_size, std::size_t piece_count) noexcept
        : piece_size_{piece_size}, piece_count_{piece_count} {}

    /// Returns: memory of any content; nullptr when there is none and the system refuses, or is not
    ///          to be asked.
    [[nodiscard]] void* take(bool may_ask_system) noexcept;
    void give(void* piece) noexcept;
    [[nodiscard]] mutex& lock() noexcept { return lock_; }

private:
    struct link {
        link* next;
    };
    mutex lock_;
    link* free_ = nullptr;
    std::size_t piece_size_;
    std::size_t piece_count_;  // that are asked for at once
};

/// Head of the list of a thread's caches, guarded by the lock of the home. Not in thread-local
/// memory: a heap that ends takes its caches out of the lists, also of a thread that ended unseen.
struct heap_thread_record {
    heap_cache* first = nullptr;
    struct second_heap_table* second = nullptr;
};

/// For a thread that uses more than eight heaps.
struct second_heap_table {
    static constexpr std::size_t entry_count = 1024;
    heap_thread::entry entries[entry_count];
    [[nodiscard]] heap_thread::entry& of(std::uint64_t serial) noexcept {
        return entries[heap_thread::number_of(serial) % entry_count];
    }
};

struct CAIRN_DETAIL_MODULE_LOCAL heap_home {
    mutex lock{};
    concurrent_heap* live_heaps = nullptr;
    std::uint64_t heap_count = 0;     // that were ever made
    std::uint32_t taken_entries = 0;  // bit set: a live heap has this entry
    bool forks_are_watched = false;
    unit_map* map;
    heap_thread& (*thread)() noexcept;  // of the calling thread, in that module
    bool (*watch_exit)(heap_thread_record&) noexcept;
    piece_list batches{sizeof(slot_batch) > 512 ? sizeof(slot_batch) : 512, 128};
    piece_list caches{cache_layout.size, 1};
    piece_list tables{sizeof(second_heap_table), 1};
};

}  // namespace detail

struct CAIRN_DETAIL_MODULE_LOCAL concurrent_heap_registry {
    using home = detail::heap_home;

    /// Of the module that calls.
    static home& home_here() noexcept;
    static detail::unit_map& map_here() noexcept;
    /// Gives the heap a serial and a place in every thread's table.
    static void enter(concurrent_heap& heap) noexcept;
    /// Detaches the heap from all threads that have caches of it, and gives the caches back.
    static void leave(concurrent_heap& heap) noexcept;

    /// Returns: the calling thread's cache of `heap`, or nullptr.
    static detail::heap_cache* find(const concurrent_heap& heap) noexcept;
    static detail::heap_cache* find_in_list(const concurrent_heap& heap,
                                            const detail::heap_thread_record& record) noexcept;
    /// Makes `c` the calling thread's. Returns: false when it is ending, or there was no memory.
    static bool attach(concurrent_heap& heap, detail::heap_cache& c) noexcept;
    static detail::heap_thread_record* record_of(home& of, detail::heap_thread& mine) noexcept;
    /// The calling thread gives up its cache of `heap`, if it has one.
    static void detach(concurrent_heap& heap) noexcept;
    static void exit_thread(home& of, detail::heap_thread_record& record) noexcept;
    static detail::heap_cache* take_idle(concurrent_heap& heap) noexcept;

    /// Every lock of a heap, in order: for figures of one moment, and around fork().
    static void lock_all(concurrent_heap& heap) noexcept;
    static void unlock_all(concurrent_heap& heap) noexcept;

    static void before_fork(home& of) noexcept;
    static void after_fork_in_parent(home& of) noexcept;
    static void after_fork_in_child(home& of) noexcept;
    static void mend_after_fork(concurrent_heap& heap,
                                const detail::heap_thread_record* survivor) noexcept;
};

/// What a bin asks of its heap: slot_bin.hpp.
struct concurrent_heap::place {
    concurrent_heap& heap;
    bool may_ask_system = true;  // for room for batches

    [[nodiscard]] record* find(const void* slot) const noexcept { return heap.map_->record(slot); }
    [[nodiscard]] record* take_chunk(unsigned k) const noexcept;
    void release(detail::slot_chunk& c) const noexcept;
    [[nodiscard]] detail::slot_batch* take_batch() const noexcept {
        return static_cast<detail::slot_batch*>(heap.home_->batches.take(may_ask_system));
    }
    void give_batch(detail::slot_batch& b) const noexcept { heap.home_->batches.give(&b); }
    [[noreturn]] void freed_twice(const void* slot) const noexcept { heap.freed_twice(slot, {}); }
};

}}  // namespace cairn::CAIRN_FLAVOUR
