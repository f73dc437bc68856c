// Growth of cairn/alloc/concurrent_pool.hpp, under grow_lock_: requests to the upstream, and
// how blocks are divided.
//
// Another thread may fork at any instruction of this file, and the child continues with that
// state: every step is finished before the store that makes it known.
//
//   step                               a fork behind it finds
//   take_block: blocks_ = head         a block more in the list; its content is never read
//   move_to: the larger table          the same magazines in it
//   append: ++size_                    a magazine in no stack: mend_after_fork() adds it
//   enlist(cache)                      a cache with two magazines, of no thread
//   shared_ = ...                      the shared cache: the next growth makes none
//   untouched().append(chunk)          its slots: the growth has happened
// (concurrent_pool_fork_test.cpp forks at each instruction of a growth.)
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <cairn/core/inside/bits.hpp>

#include "../pool_rules.hpp"
#include "checks.hpp"
#include "registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr std::size_t magazine_head = cache_line_size;

/// What stands above is in memory before what stands below, as far as a fork can see. No code.
void finish_step() noexcept { detail::signal_fence(detail::memory_order::seq_cst); }

}  // namespace

concurrent_pool::~concurrent_pool() {
    concurrent_pool_registry::leave(*this);
    // Off the list of names before the chunks go: a report must not look for an address in them.
    if (options_.name != nullptr) { set_name(nullptr); }
    for (const chunk* c = first_chunk(); c != nullptr;) {
        const auto* const next =
            static_cast<const chunk*>(c->next.load(detail::memory_order::relaxed));
        unpoison(c->first, c->slot_count * stride_);
        std::free(c->live);
        upstream_.deallocate(c->first, c->slot_count * stride_, detail::chunk_alignment(align_));
        c = next;
    }
    // Last: the records of the chunks, the caches and all magazines lie in these blocks.
    while (blocks_ != nullptr) {
        block* const b = blocks_;
        blocks_ = b->next;
        upstream_.deallocate(b, b->size, detail::cache_line_alignment);
    }
}

/// Returns: false when the pool may not or cannot grow. True when another thread just did.
bool concurrent_pool::grow(std::size_t seen_slot_count) noexcept {
    const lock_scope held{grow_lock_};
    const std::size_t slot_count = depot_.untouched().slot_count();
    // Its slots may be used up already: the caller looks again, and comes back with the new count.
    if (slot_count != seen_slot_count) { return true; }
    if (slot_count >= options_.slot_count_max ||
        !add_chunk(std::min(next_chunk_slots_, options_.slot_count_max - slot_count))) {
        return false;
    }
    next_chunk_slots_ = detail::next_chunk_slots(next_chunk_slots_, stride_, options_);
    return true;
}

/// [ head | next magazine index, count, slots | 8 null pointers | magazine_size pointers ]
std::size_t concurrent_pool::magazine_bytes() const noexcept {
    static_assert(sizeof(magazine) <= magazine_head);
    return detail::round_up(magazine_head + (lookahead + depot_.magazine_size()) * sizeof(void*),
                            detail::cache_line_alignment);
}

concurrent_pool::magazine& concurrent_pool::make_magazine(std::byte*& memory) noexcept {
    auto* const m = ::new (static_cast<void*>(memory)) magazine;
    // take() reads 8 entries below the top, to prefetch: below the lowest slot it finds null.
    auto** const below = reinterpret_cast<void**>(memory + magazine_head);
    std::memset(below, 0, lookahead * sizeof(void*));
    m->first_slot = below + lookahead;
    depot_.magazines().append(*m);
    memory += magazine_bytes();
    return *m;
}

void concurrent_pool::equip(cache& c, std::byte*& memory) noexcept {
    c.pool = this;
    c.serial = serial_;
    // Two empty magazines before enlist(), from which on others may steal the spare.
    c.load(&make_magazine(memory), depot_.magazine_size());
    c.spare.store(&make_magazine(memory), detail::memory_order::relaxed);
    depot_.enlist(c);
}

/// Returns: nullptr when the upstream refuses. The block exists until the pool ends.
std::byte* concurrent_pool::take_block(std::size_t size) noexcept {
    const std::size_t whole = detail::saturating_add(size, cache_line_size);
    auto* const memory =
        static_cast<std::byte*>(upstream_.allocate(whole, detail::cache_line_alignment));
    if (memory == nullptr) { return nullptr; }
    static_assert(sizeof(block) <= cache_line_size);
    block* const head = ::new (static_cast<void*>(memory)) block{blocks_, whole};
    finish_step();
    blocks_ = head;
    upstream_size_ += whole;
    return memory + cache_line_size;
}

/// Requires: nothing in it is known to others.
void concurrent_pool::give_newest_block_back() noexcept {
    block* const b = blocks_;
    blocks_ = b->next;
    finish_step();
    upstream_size_ -= b->size;
    upstream_.deallocate(b, b->size, detail::cache_line_alignment);
}

bool concurrent_pool::make_room_in_table(std::size_t more) noexcept {
    auto& magazines = depot_.magazines();
    const std::size_t needed = magazines.size() + more;
    if (needed <= table_capacity_) { return true; }
    if (needed > decltype(depot_)::magazine_count_max) { return false; }
    // Doubled: the tables that stay behind are together no larger than the one in use.
    const std::size_t capacity = std::max(needed, table_capacity_ * 2);
    auto* const table = reinterpret_cast<magazine**>(take_block(capacity * sizeof(magazine*)));
    if (table == nullptr) { return false; }
    magazines.move_to(table);  // the old one stays: another thread may be reading it
    finish_step();
    table_capacity_ = capacity;
    return true;
}

bool concurrent_pool::add_chunk(std::size_t slot_count) noexcept {
    const std::size_t size = detail::saturating_multiply(slot_count, stride_);
    if (size > PTRDIFF_MAX) { return false; }
    // Not "is this the first chunk": the last attempt may have ended in between, by a fork.
    const bool needs_shared = shared_ == nullptr;  // written under grow_lock_, too
    // The depot gets an empty magazine for every magazine_size slots, and one for the rest: that
    // many full ones can come back, and each finds an empty one to leave with (the invariant of
    // magazines.hpp).
    const std::size_t depot_magazines = slot_count / depot_.magazine_size() + 1;
    const std::size_t magazines = depot_magazines + (needs_shared ? 2 : 0);
    if (magazines > decltype(depot_)::magazine_count_max - depot_.magazines().size()) {
        return false;
    }
    // The largest first: a refusal then has taken nothing.
    auto* const first =
        static_cast<std::byte*>(upstream_.allocate(size, detail::chunk_alignment(align_)));
    if (first == nullptr) { return false; }
    constexpr std::size_t chunk_room =
        detail::round_up(sizeof(chunk), detail::cache_line_alignment);
    constexpr std::size_t cache_room =
        detail::round_up(sizeof(cache), detail::cache_line_alignment);
    std::byte* memory = take_block(chunk_room + (needs_shared ? cache_room : 0) +
                                   detail::saturating_multiply(magazines, magazine_bytes()));
    if (memory == nullptr || !make_room_in_table(magazines)) {
        if (memory != nullptr) { give_newest_block_back(); }
        upstream_.deallocate(first, size, detail::chunk_alignment(align_));
        return false;
    }
    upstream_size_ += size;
    poison(first, size);
    auto* const c = ::new (static_cast<void*>(memory)) chunk;
    memory += chunk_room;
    c->first = first;
    c->slot_count = slot_count;
    c->live = concurrent_pool_checks::make_live(slot_count);
    concurrent_pool_checks::describe(*this, *c);
    if (needs_shared) {
        auto* const shared = ::new (static_cast<void*>(memory)) cache;
        memory += cache_room;
        equip(*shared, memory);
        const lock_scope shared_held{shared_lock_};
        shared_ = shared;
    }
    // The magazines before the slots: a thread that claims slots of this chunk can always return
    // them.
    for (std::size_t i = 0; i < depot_magazines; ++i) { depot_.add(make_magazine(memory)); }
    depot_.untouched().append(*c);
    return true;
}

bool concurrent_pool::reserve(std::size_t slot_count, std::size_t cache_count) noexcept {
    // Refused before anything is taken: a cache has two magazines, and chunks need some, too.
    if (cache_count > decltype(depot_)::magazine_count_max / 4) { return false; }
    {
        const lock_scope held{grow_lock_};
        const std::size_t have = depot_.untouched().slot_count();
        if (slot_count > have &&
            (slot_count > options_.slot_count_max || !add_chunk(slot_count - have))) {
            return false;
        }
    }
    // Those that threads hold count: the others are made, or taken from the idle ones, and become
    // idle together.
    const std::size_t have = held_cache_count();
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

/// Returns: nullptr when the upstream refuses.
concurrent_pool::cache* concurrent_pool::make_cache() noexcept {
    const lock_scope held{grow_lock_};
    constexpr std::size_t cache_room =
        detail::round_up(sizeof(cache), detail::cache_line_alignment);
    if (!make_room_in_table(2)) { return nullptr; }
    // A table that has grown for nothing is used by the next growth.
    std::byte* memory = take_block(cache_room + 2 * magazine_bytes());
    if (memory == nullptr) { return nullptr; }
    auto* const c = ::new (static_cast<void*>(memory)) cache;
    memory += cache_room;
    equip(*c, memory);
    const lock_scope shared_held{shared_lock_};
    ++cache_count_;
    return c;
}

}}  // namespace cairn::CAIRN_FLAVOUR
