// What a heap keeps in pages of its own, and what its bins ask of it. Private to the library.
#pragma once

#include <cairn/alloc/concurrent_heap.hpp>

#include "../inside/cache_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// A batch with its room: 512 bytes.
struct heap_batch : slot_batch {
    static constexpr unsigned slot_count_max = 60;
    void* room[slot_count_max];
};
static_assert(sizeof(heap_batch) <= 512);

}  // namespace detail

struct CAIRN_DETAIL_MODULE_LOCAL concurrent_heap_registry {
    using cache = detail::heap_cache;

    /// Of the module that calls: the home of its heaps, and the map of their units.
    static detail::cache_home& home_here() noexcept;
    static detail::unit_map& map_here() noexcept;

    static concurrent_heap& heap_of(detail::cache_owner& o) noexcept {
        return static_cast<concurrent_heap&>(o);
    }
    static detail::thread_cache* make(detail::cache_owner& o) noexcept;
    static void empty(detail::cache_owner& o, detail::thread_cache& c) noexcept;
    static bool mend(detail::cache_owner& o, detail::thread_cache& c) noexcept;
    static void after_fork(detail::cache_owner& o, bool had_other_threads) noexcept;
    /// Every lock of a heap, in order: for figures of one moment, and around fork().
    static void lock(detail::cache_owner& o) noexcept;
    static void unlock(detail::cache_owner& o) noexcept;
    /// Of a heap that ends.
    static void give_pages_back(concurrent_heap& heap) noexcept;
};

/// What a bin asks of its heap: slot_bin.hpp.
struct concurrent_heap::place {
    static constexpr bool keeps_chunks = false;
    concurrent_heap& heap;

    [[nodiscard]] record* find(const void* slot) const noexcept { return heap.map_->record(slot); }
    [[nodiscard]] record* take_chunk(unsigned k) const noexcept;
    void release(detail::slot_chunk& c) const noexcept;
    [[nodiscard]] detail::slot_batch* take_batch() const noexcept;
    void give_batch(detail::slot_batch& b) const noexcept;
    [[noreturn]] void freed_twice(const void* slot) const noexcept { heap.freed_twice(slot, {}); }
};

}}  // namespace cairn::CAIRN_FLAVOUR
