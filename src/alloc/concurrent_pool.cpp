// Cold half of cairn/alloc/concurrent_pool.hpp: magazines used up, caches taken and given back.
// Growth is in concurrent_pool/growth.cpp, questions and checks in concurrent_pool/checks.cpp;
// threads coming and going in concurrent_pool/registry.cpp, fork() in concurrent_pool/fork.cpp.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>

#include <cairn/core/inside/bits.hpp>

#include "concurrent_pool/registry.hpp"
#include "pool_rules.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

std::size_t magazine_size_for(std::size_t stride,
                              const detail::concurrent_pool_options& o) noexcept {
    std::size_t size =
        std::min(o.magazine_size, std::size_t{1} << 20);  // more is absurd, and wraps
    if (size == 0) {
        // 2 KiB of pointers at most: a transfer that both sides can hold in their first-level
        // cache.
        size = std::clamp<std::size_t>((std::size_t{16} << 10) / stride, 8, 256);
        size = std::clamp<std::size_t>(o.slot_count_max / 16, 1, size);
    }
    if (o.whole_cache_lines) {
        // stride = odd * even, so every (line / even)-th slot begins a cache line: a magazine of a
        // multiple of that many slots, carved from a line's begin, ends at a line's end. Chunks
        // begin at a line, and are carved a magazine at a time.
        const std::size_t even = std::size_t{1}
                                 << detail::lowest_bit(stride);  // stride is a multiple of it
        const std::size_t period = even < cache_line_size ? cache_line_size / even : 1;
        size = detail::round_up(size, alignment{period});
    }
    return size;
}

}  // namespace

concurrent_pool::concurrent_pool(std::size_t slot_size, alignment align, allocator_ref upstream,
                                 options how) noexcept
    : serial_{0},
      stride_{detail::stride_of(slot_size, align)},
      align_{align},
      depot_{magazine_size_for(stride_, how)},
      upstream_{upstream},
      options_{how} {
    if (options_.slots_per_chunk == 0) {
        options_.slots_per_chunk = detail::saturating_multiply(4, depot_.magazine_size());
    }
    next_chunk_slots_ = options_.slots_per_chunk;
    concurrent_pool_registry::enter(*this);
    if (options_.name != nullptr) { set_name(options_.name); }
}

// ------------------------------------------------------------------------------------------------
// when a magazine is used up

void* concurrent_pool::take_cold(cache& which) noexcept {
    // Callers: a thread without a cache of this pool (it got no_cache), a view without one
    // (no_view, for ever), or the owner of a cache whose loaded magazine is empty.
    cache* c = &which;
    if (c->pool == nullptr) {
        if (c->is_view) { return take_shared(); }
        c = find_or_make_cache();
        if (c == nullptr) { return take_shared(); }
        if (c->top != c->floor) { return take(*c); }
    }
    // fill() calls grow() with the number of slots it saw before it looked: grow() then
    // detects a pool that has grown in between.
    const bool filled =
        depot_.fill(*c, stride_, [this](std::size_t seen) noexcept { return grow(seen); });
    if (!filled) { return take_shared(); }
    // Those that take() does not fetch ahead: its view ends at the magazine.
    for (std::size_t i = 2; i <= lookahead; ++i) {
        compiler::prefetch_from_other_core(c->top[-static_cast<std::ptrdiff_t>(i)]);
    }
    return take(*c);
}

void concurrent_pool::give_cold(cache& which, void* p) noexcept {
    cache* c = &which;
    if (c->pool == nullptr) {
        c = c->is_view ? nullptr : find_or_make_cache();
        if (c == nullptr) {
            give_shared(p);
            return;
        }
    }
    // A cache that was just found or made may have room; else both its magazines change places or
    // one goes to the depot, and an empty one is loaded.
    if (c->top == c->ceiling) { depot_.drain(*c); }
    *c->top++ = p;
}

/// For those without a cache, and the last resort of those with one: the cache that belongs to no
/// thread.
void* concurrent_pool::take_shared() noexcept {
    while (true) {
        // As in fill(): seen before the look, or the growth of another thread would be taken for
        // none.
        const std::size_t seen = depot_.untouched().slot_count();
        {
            // The lock is let go before grow(), which calls upstream under grow_lock_. shared_ is
            // made by the first growth: until then there is nothing to take.
            const lock_scope held{shared_lock_};
            cache* const c = shared_;
            if (c != nullptr && (c->top != c->floor || depot_.refill(*c) ||
                                 depot_.carve(*c, stride_) || depot_.steal(*c))) {
                return take(*c);
            }
        }
        if (!grow(seen)) { return nullptr; }
    }
}

void concurrent_pool::give_shared(void* p) noexcept {
    // A slot that comes back was taken, so the pool has grown, and shared_ is there.
    const lock_scope held{shared_lock_};
    cache& c = *shared_;
    if (c.top == c.ceiling) { depot_.drain(c); }
    *c.top++ = p;
}

std::size_t concurrent_pool::allocate_n(slice<void*> out) noexcept {
    return detail::allocate_each(*this, out);
}

void concurrent_pool::deallocate_n(slice<void* const> freed) noexcept {
    for (void* const p : freed) { deallocate(p); }
}

// ------------------------------------------------------------------------------------------------
// caches

concurrent_pool::cache* concurrent_pool::take_idle_cache() noexcept {
    const lock_scope held{shared_lock_};
    cache* const c = idle_;
    // Counted as it changes hands, under the same lock: a child of fork() finds both or neither.
    if (c != nullptr) {
        idle_ = c->next_idle;
        ++cache_count_;
    }
    return c;
}

/// Pours what `c` holds into the shared cache and keeps `c`, with its two empty magazines, for the
/// next.
void concurrent_pool::give_cache_back(cache& c) noexcept {
    const lock_scope held{shared_lock_};
    pour_out(c);
    --cache_count_;
}

/// Requires: shared_lock_ is held.
void concurrent_pool::pour_out(cache& c) noexcept {
    // First the loaded magazine, then the spare, which changes places with it. Only empty magazines
    // stay: no slot is out of reach in a cache that no thread has. With slots in it the pool has
    // grown, so shared_ is there.
    for (int magazine_number = 0; magazine_number < 2; ++magazine_number) {
        while (c.top != c.floor) {
            if (shared_->top == shared_->ceiling) { depot_.drain(*shared_); }
            *shared_->top++ = *--c.top;
        }
        c.unload();
        // By exchange also here: another thread may be stealing this spare, and leaves an empty
        // one.
        c.load(c.spare.exchange(c.loaded, detail::magazine_orders::swap_spare),
               depot_.magazine_size());
    }
    c.next_idle = idle_;
    idle_ = &c;
}

concurrent_pool::local_view concurrent_pool::local() noexcept {
    cache* c = take_idle_cache();
    c = c != nullptr ? c : make_cache();
    return local_view{*this, c != nullptr ? *c : detail::no_view};
}

concurrent_pool::local_view::~local_view() {
    if (cache_->pool != nullptr) { pool_->give_cache_back(*cache_); }
}

std::size_t concurrent_pool::held_cache_count() const noexcept {
    const lock_scope held{shared_lock_};
    return cache_count_;
}

std::size_t concurrent_pool::slack() const noexcept {
    const std::size_t caches = held_cache_count();
    return caches == 0 ? 0 : (caches - 1) * depot_.magazine_size();
}

}}  // namespace cairn::CAIRN_FLAVOUR
