// What the depot asks of a concurrent_pool, and the registry of its caches. Private to the library.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

#include "../inside/cache_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// slot_bin.hpp says what each is.
struct concurrent_pool::place {
    static constexpr bool keeps_chunks = true;
    concurrent_pool& pool;

    /// In every build: a pointer that has no chunk must not get into one.
    [[nodiscard]] chunk* find(const void* slot) const noexcept {
        chunk* const c = pool.find_held(slot);
        if (c == nullptr) [[unlikely]] {
            pool.depot_.lock().unlock();  // an assert handler may allocate from this pool
            pool.freed_wrongly(slot, false);
        }
        return c;
    }
    [[nodiscard]] chunk* take_chunk(unsigned) const noexcept { return nullptr; }
    void release(detail::slot_chunk&) const noexcept {}
    void give_batch(magazine& m) const noexcept {
        const lock_scope held{pool.depot_.lock()};
        pool.depot_.push_empty(m);
    }
    [[noreturn]] void freed_twice(const void* slot) const noexcept {
        pool.freed_wrongly(slot, true);
    }
};

struct CAIRN_DETAIL_MODULE_LOCAL concurrent_pool_caches {
    using cache = detail::pool_cache;

    static concurrent_pool& pool_of(detail::cache_owner& o) noexcept {
        return static_cast<concurrent_pool&>(o);
    }

    static detail::thread_cache* make(detail::cache_owner& o) noexcept;
    static void empty(detail::cache_owner& o, detail::thread_cache& c) noexcept;
    static void lock(detail::cache_owner& o) noexcept { pool_of(o).depot_.lock().lock(); }
    static void unlock(detail::cache_owner& o) noexcept { pool_of(o).depot_.lock().unlock(); }
    static void after_fork(detail::cache_owner& o, bool had_other_threads) noexcept;
};

}}  // namespace cairn::CAIRN_FLAVOUR
