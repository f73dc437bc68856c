// Cold half of cairn/alloc/concurrent_pool.hpp: growth, exhaustion and what checked builds look at.
// Threads coming, going and forking are in concurrent_pool_registry.cpp.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <cairn/core/bits.hpp>

#include "concurrent_pool_registry.hpp"

namespace cairn {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::size_t magazine_head = cache_line_size;

std::size_t stride_of(std::size_t slot_size, alignment align) noexcept {
    const std::size_t size = slot_size != 0 ? slot_size : 1;
    return size > SIZE_MAX - align.mask() ? round_down(SIZE_MAX, align) : round_up(size, align);
}

alignment chunk_alignment(alignment align) noexcept {
    return std::max(align, cache_line_alignment);
}

std::size_t magazine_size_for(std::size_t stride, const concurrent_pool_options& o) noexcept {
    std::size_t size =
        std::min(o.magazine_size, std::size_t{1} << 20);  // more is absurd, and wraps
    if (size == 0) {
        // 2 KiB of pointers at most: a transfer that both sides can hold in their first-level cache.
        size = std::clamp<std::size_t>((std::size_t{16} << 10) / stride, 8, 256);
        size = std::clamp<std::size_t>(o.slot_count_max / 16, 1, size);
    }
    if (o.whole_cache_lines) {
        const std::size_t even = std::size_t{1}
                                 << lowest_bit(stride);  // stride is a multiple of it
        const std::size_t period = even < cache_line_size ? cache_line_size / even : 1;
        size = round_up(size, alignment{period});
    }
    return size;
}

std::size_t words_for(std::size_t slot_count) noexcept { return slot_count / 64 + 1; }

}  // namespace

concurrent_pool::concurrent_pool(std::size_t slot_size, alignment align, allocator_ref upstream,
                                 concurrent_pool_options options) noexcept
    : serial_{0},
      stride_{stride_of(slot_size, align)},
      entry_{0},
      align_{align},
      depot_{magazine_size_for(stride_, options), find_magazine{&table_}},
      upstream_{upstream},
      options_{options} {
    if (options_.slots_per_chunk == 0) {
        options_.slots_per_chunk = saturating_multiply(4, depot_.magazine_size());
    }
    next_chunk_slots_ = options_.slots_per_chunk;
    concurrent_pool_registry::enter(*this);
}

concurrent_pool::~concurrent_pool() {
    concurrent_pool_registry::leave(*this);
    for (const chunk* c = first_chunk(); c != nullptr;) {
        const auto* const next = static_cast<const chunk*>(c->next.load(relaxed));
        unpoison(c->first, c->slot_count * stride_);
        std::free(c->live);
        upstream_.deallocate(c->first, c->slot_count * stride_, chunk_alignment(align_));
        c = next;
    }
    while (blocks_ != nullptr) {
        block* const b = blocks_;
        blocks_ = b->next;
        upstream_.deallocate(b, b->size, cache_line_alignment);
    }
}

// ------------------------------------------------------------------------------------------------
// when a magazine is used up

void* concurrent_pool::take_cold(cache& which) noexcept {
    cache* c = &which;
    if (c == &detail::no_cache) {
        c = find_or_make_cache();
        if (c == nullptr) { return take_shared(); }
        if (c->top != c->floor) { return take(*c); }
    }
    std::size_t seen = slot_count_.load(relaxed);
    while (!depot_.refill(*c) && !depot_.carve(*c, stride_)) {
        if (!grow(seen)) { return depot_.steal(*c) ? take(*c) : take_shared(); }
        seen = slot_count_.load(relaxed);
    }
    return take(*c);
}

void concurrent_pool::give_cold(cache& which, void* p) noexcept {
    cache* c = &which;
    if (c == &detail::no_cache) {
        c = find_or_make_cache();
        if (c == nullptr) {
            give_shared(p);
            return;
        }
    }
    if (c->top == c->ceiling) { depot_.drain(*c); }
    *c->top++ = p;
}

/// For those without a cache, and the last resort of those with one: the cache that belongs to no thread.
void* concurrent_pool::take_shared() noexcept {
    while (true) {
        const std::size_t seen = slot_count_.load(relaxed);
        {
            const lock_scope held{shared_lock_};
            cache* const c = shared_.load(std::memory_order_acquire);
            if (c != nullptr && (c->top != c->floor || depot_.refill(*c) ||
                                 depot_.carve(*c, stride_) || depot_.steal(*c))) {
                return take(*c);
            }
        }
        if (!grow(seen)) { return nullptr; }
    }
}

void concurrent_pool::give_shared(void* p) noexcept {
    const lock_scope held{shared_lock_};
    cache& c = *shared_.load(std::memory_order_acquire);
    if (c.top == c.ceiling) { depot_.drain(c); }
    *c.top++ = p;
}

std::size_t concurrent_pool::allocate_n(slice<void*> out) noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = allocate();
        if (out[i] == nullptr) { return i; }
    }
    return out.size();
}

void concurrent_pool::deallocate_n(slice<void* const> slots) noexcept {
    for (void* const p : slots) { deallocate(p); }
}

// ------------------------------------------------------------------------------------------------
// growth, under grow_lock_

/// Returns: false when the pool may not or cannot grow. True when somebody else just did.
bool concurrent_pool::grow(std::size_t seen_slot_count) noexcept {
    const lock_scope held{grow_lock_};
    const std::size_t slot_count = slot_count_.load(relaxed);
    if (slot_count != seen_slot_count) { return true; }
    if (slot_count >= options_.slot_count_max ||
        !add_chunk(std::min(next_chunk_slots_, options_.slot_count_max - slot_count))) {
        return false;
    }
    const std::size_t cap = std::max(options_.slots_per_chunk, options_.chunk_size_max / stride_);
    next_chunk_slots_ = std::min(saturating_multiply(next_chunk_slots_, 2), cap);
    return true;
}

/// [ head | next magazine index, count, slots | 8 null pointers | magazine_size pointers ]
std::size_t concurrent_pool::magazine_bytes() const noexcept {
    static_assert(sizeof(magazine) <= magazine_head);
    return round_up(magazine_head + (lookahead + depot_.magazine_size()) * sizeof(void*),
                    cache_line_alignment);
}

concurrent_pool::magazine& concurrent_pool::make_magazine(std::byte*& memory) noexcept {
    auto* const m = ::new (static_cast<void*>(memory)) magazine;
    auto** const below = reinterpret_cast<void**>(memory + magazine_head);
    std::memset(below, 0, lookahead * sizeof(void*));
    m->slots = below + lookahead;
    m->index = static_cast<std::uint32_t>(magazine_count_);
    table_.load(relaxed)[magazine_count_++] = m;
    memory += magazine_bytes();
    return *m;
}

void concurrent_pool::equip(cache& c, std::byte*& memory) noexcept {
    c.pool = this;
    c.serial = serial_;
    c.load(&make_magazine(memory), depot_.magazine_size());
    c.spare.store(&make_magazine(memory), relaxed);
    depot_.enlist(c);
}

/// Returns: nullptr when the upstream refuses. The block lives until the pool dies.
std::byte* concurrent_pool::take_block(std::size_t size) noexcept {
    const std::size_t whole = saturating_add(size, cache_line_size);
    auto* const memory = static_cast<std::byte*>(upstream_.allocate(whole, cache_line_alignment));
    if (memory == nullptr) { return nullptr; }
    static_assert(sizeof(block) <= cache_line_size);
    blocks_ = ::new (static_cast<void*>(memory)) block{blocks_, whole};
    upstream_size_ += whole;
    return memory + cache_line_size;
}

bool concurrent_pool::make_room_in_table(std::size_t more) noexcept {
    const std::size_t needed = magazine_count_ + more;
    if (needed <= table_capacity_) { return true; }
    if (needed > decltype(depot_)::magazine_count_max) { return false; }
    const std::size_t capacity = std::max(needed, table_capacity_ * 2);
    auto* const table = reinterpret_cast<magazine**>(take_block(capacity * sizeof(magazine*)));
    if (table == nullptr) { return false; }
    if (magazine_count_ != 0) {
        std::memcpy(table, table_.load(relaxed), magazine_count_ * sizeof(magazine*));
    }
    // Release: whoever follows the pointer (find_magazine) sees the entries. The old table stays
    // where it is: somebody may be looking something up in it.
    table_.store(table, std::memory_order_release);
    table_capacity_ = capacity;
    return true;
}

bool concurrent_pool::add_chunk(std::size_t slot_count) noexcept {
    const std::size_t size = saturating_multiply(slot_count, stride_);
    if (size > PTRDIFF_MAX) { return false; }
    const bool is_first = first_chunk_.load(relaxed) == nullptr;
    const std::size_t depot_magazines = slot_count / depot_.magazine_size() + 1;
    const std::size_t magazines = depot_magazines + (is_first ? 2 : 0);
    if (!make_room_in_table(magazines)) { return false; }
    auto* const first = static_cast<std::byte*>(upstream_.allocate(size, chunk_alignment(align_)));
    if (first == nullptr) { return false; }
    constexpr std::size_t chunk_room = round_up(sizeof(chunk), cache_line_alignment);
    constexpr std::size_t cache_room = round_up(sizeof(cache), cache_line_alignment);
    std::byte* memory = take_block(chunk_room + (is_first ? cache_room : 0) +
                                   saturating_multiply(magazines, magazine_bytes()));
    if (memory == nullptr) {
        upstream_.deallocate(first, size, chunk_alignment(align_));
        return false;
    }
    upstream_size_ += size;
    poison(first, size);
    auto* const c = ::new (static_cast<void*>(memory)) chunk;
    memory += chunk_room;
    c->first = first;
    c->slot_count = slot_count;
    if constexpr (asserts_enabled) {
        c->live = static_cast<std::atomic<std::uint64_t>*>(
            std::calloc(words_for(slot_count), sizeof(std::uint64_t)));
    }
    if (is_first) {
        auto* const shared = ::new (static_cast<void*>(memory)) cache;
        memory += cache_room;
        equip(*shared, memory);
        shared_.store(shared, std::memory_order_release);
    }
    for (std::size_t i = 0; i < depot_magazines; ++i) { depot_.add(make_magazine(memory)); }
    if (is_first) { first_chunk_.store(c, std::memory_order_release); }
    depot_.add_fresh(*c);
    slot_count_.store(slot_count_.load(relaxed) + slot_count, relaxed);
    return true;
}

bool concurrent_pool::reserve(std::size_t slot_count, std::size_t cache_count) noexcept {
    {
        const lock_scope held{grow_lock_};
        const std::size_t have = slot_count_.load(relaxed);
        if (slot_count > have &&
            (slot_count > options_.slot_count_max || !add_chunk(slot_count - have))) {
            return false;
        }
    }
    const std::size_t have = cache_count_.load(relaxed);
    cache* made = nullptr;  // collected first: an idle one must not be taken twice
    bool enough = true;
    for (std::size_t i = have; i < cache_count && enough; ++i) {
        cache* c = take_idle_cache();
        c = c != nullptr ? c : make_cache();
        enough = c != nullptr;
        if (enough) {
            c->next_of_thread = made;
            made = c;
        }
    }
    while (made != nullptr) {
        cache* const c = made;
        made = c->next_of_thread;
        give_cache_back(*c);
    }
    return enough;
}

// ------------------------------------------------------------------------------------------------
// caches

concurrent_pool::cache* concurrent_pool::take_idle_cache() noexcept {
    const lock_scope held{shared_lock_};
    cache* const c = idle_;
    if (c != nullptr) {
        idle_ = c->next_idle;
        cache_count_.fetch_add(1, relaxed);
    }
    return c;
}

/// Returns: nullptr when the upstream refuses.
concurrent_pool::cache* concurrent_pool::make_cache() noexcept {
    const lock_scope held{grow_lock_};
    constexpr std::size_t cache_room = round_up(sizeof(cache), cache_line_alignment);
    if (!make_room_in_table(2)) { return nullptr; }
    std::byte* memory = take_block(cache_room + 2 * magazine_bytes());
    if (memory == nullptr) { return nullptr; }
    auto* const c = ::new (static_cast<void*>(memory)) cache;
    memory += cache_room;
    equip(*c, memory);
    cache_count_.fetch_add(1, relaxed);
    return c;
}

/// Pours what `c` holds into the shared cache and keeps `c`, with its two empty magazines, for the next.
void concurrent_pool::give_cache_back(cache& c) noexcept {
    const lock_scope held{shared_lock_};
    for (int magazine_number = 0; magazine_number < 2; ++magazine_number) {
        while (c.top != c.floor) {
            cache& shared = *shared_.load(std::memory_order_acquire);
            if (shared.top == shared.ceiling) { depot_.drain(shared); }
            *shared.top++ = *--c.top;
        }
        c.unload();
        c.load(c.spare.exchange(c.loaded, detail::magazine_orders::swap_spare),
               depot_.magazine_size());
    }
    c.next_idle = idle_;
    idle_ = &c;
    cache_count_.fetch_sub(1, relaxed);
}

concurrent_pool::local_view concurrent_pool::local() noexcept {
    cache* c = take_idle_cache();
    c = c != nullptr ? c : make_cache();
    return local_view{*this, c != nullptr ? *c : detail::no_cache};
}

concurrent_pool::local_view::~local_view() {
    if (cache_ != &detail::no_cache) { pool_->give_cache_back(*cache_); }
}

std::size_t concurrent_pool::slack() const noexcept {
    const std::size_t caches = cache_count_.load(relaxed);
    return caches == 0 ? 0 : (caches - 1) * depot_.magazine_size();
}

// ------------------------------------------------------------------------------------------------
// while nobody else uses the pool

void concurrent_pool::reset() noexcept {
    depot_.forget_magazines();
    std::size_t next = 0;
    const auto take_magazine = [&]() -> magazine& {
        magazine& m = *table_.load(relaxed)[next++];
        m.count = 0;
        return m;
    };
    for (auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        c->load(&take_magazine(), depot_.magazine_size());
        c->spare.store(&take_magazine(), relaxed);
    }
    while (next < magazine_count_) { depot_.add(take_magazine()); }
    chunk* const first = first_chunk_.load(relaxed);
    depot_.restart_fresh(first);
    for (chunk* c = first; c != nullptr; c = static_cast<chunk*>(c->next.load(relaxed))) {
        poison(c->first, c->slot_count * stride_);
        for (std::size_t i = 0; c->live != nullptr && i < words_for(c->slot_count); ++i) {
            c->live[i].store(0, relaxed);
        }
    }
}

const concurrent_pool::chunk* concurrent_pool::find_chunk(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const chunk* c = first_chunk();
    while (c != nullptr &&
           address - reinterpret_cast<std::uintptr_t>(c->first) >= c->slot_count * stride_) {
        c = static_cast<const chunk*>(c->next.load(std::memory_order_acquire));
    }
    return c;
}

concurrent_pool_stats concurrent_pool::stats() const noexcept {
    concurrent_pool_stats s;
    s.slot_count = slot_count_.load(relaxed);
    s.cache_count = cache_count_.load(relaxed);
    s.magazine_size = depot_.magazine_size();
    s.upstream_size = upstream_size_;
    std::size_t free_count = 0;
    for (const chunk* c = first_chunk(); c != nullptr;
         c = static_cast<const chunk*>(c->next.load(relaxed))) {
        free_count += c->slot_count - std::min(c->claimed.load(relaxed), c->slot_count);
    }
    for (std::size_t i = 0; i < magazine_count_; ++i) {
        free_count += table_.load(std::memory_order_acquire)[i]->count;
    }
    for (const auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        // A loaded magazine's own count is that of when it was loaded.
        free_count += static_cast<std::size_t>(c->top - c->floor) - c->loaded->count;
        s.depot_operations += c->depot_operations;
    }
    s.live_count = s.slot_count - free_count;
    return s;
}

void concurrent_pool::validate() const noexcept {
    std::size_t cache_total = 0;
    for (const auto* c = depot_.first_cache(); c != nullptr; c = c->next) {
        ++cache_total;
        CAIRN_ASSERT(c->floor == c->loaded->slots && c->floor <= c->top && c->top <= c->ceiling,
                     "a cache works inside its loaded magazine");
        [[maybe_unused]] const std::size_t spare = c->spare.load(std::memory_order_acquire)->count;
        CAIRN_ASSERT(spare == 0 || spare == depot_.magazine_size(),
                     "a spare magazine is entirely full or entirely empty");
    }
    CAIRN_ASSERT(magazine_count_ >= 2 * cache_total, "each cache has two magazines");
    bool every_bit_known = true;
    std::size_t live = 0;
    for (const chunk* c = first_chunk(); c != nullptr;
         c = static_cast<const chunk*>(c->next.load(relaxed))) {
        every_bit_known = every_bit_known && c->live != nullptr;
        for (std::size_t i = 0; c->live != nullptr && i < words_for(c->slot_count); ++i) {
            live += static_cast<std::size_t>(std::popcount(c->live[i].load(relaxed)));
        }
    }
    CAIRN_ASSERT(!every_bit_known || live == stats().live_count,
                 "each slot is live, fresh or in one magazine");
    (void)cache_total;
    (void)live;
}

// ------------------------------------------------------------------------------------------------
// checked builds: a bit a slot, in memory of their own

void concurrent_pool::check_taken(void* p) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool");
    if (c->live != nullptr) {
        const std::size_t i =
            static_cast<std::size_t>(static_cast<std::byte*>(p) - c->first) / stride_;
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        [[maybe_unused]] const std::uint64_t before = c->live[i / 64].fetch_or(bit, relaxed);
        CAIRN_ASSERT((before & bit) == 0, "a slot is given out once");
    }
}

void concurrent_pool::check_freed(void* p) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out");
    const std::size_t i = static_cast<std::size_t>(static_cast<std::byte*>(p) - c->first) / stride_;
    CAIRN_ASSERT(c->first + i * stride_ == p,
                 "a slot comes back by the address it was given out with");
    if (c->live != nullptr) {
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        [[maybe_unused]] const std::uint64_t before = c->live[i / 64].fetch_and(~bit, relaxed);
        CAIRN_ASSERT((before & bit) != 0, "a slot is freed once");
    }
}

}  // namespace cairn
