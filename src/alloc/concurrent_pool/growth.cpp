// Growth of cairn/alloc/concurrent_pool.hpp, under grow_lock_: requests to the upstream, and how
// blocks are divided.
//
//      chunk      | slot | slot | slot | ....          one request
//      record     | pool_chunk | bits of the depot |   one
//      block      | head | cache | magazine | ....     one, when the depot needs magazines
//      table      | chunk | chunk | ....               one, when it is full
//
// A growth becomes known under the lock of the depot, all of it at once: another thread may fork at
// any moment, and the child finds the chunk with all that belongs to it, or nothing.
#include <cairn/alloc/concurrent_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include <cairn/core/inside/bits.hpp>

#include "../pool_rules.hpp"
#include "checks.hpp"
#include "pool_place.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr std::size_t magazine_head = cache_line_size;

std::size_t record_size_for(std::size_t slot_count) noexcept {
    using chunk = detail::pool_chunk;
    return sizeof(chunk) + chunk::word_count(slot_count) * sizeof(chunk::word);
}

}  // namespace

concurrent_pool::~concurrent_pool() {
    detail::cache_registry::leave(*this);
    // Off the list of names before the chunks go: a report must not look for an address in them.
    if (options_.name != nullptr) { set_name(nullptr); }
    grow_lock_.enter();  // release_this_thread() of the upstream does nothing from here on
    if constexpr (asserts_enabled) { begin_end(); }
    const std::size_t count = std::exchange(chunk_count_, 0);  // look-ups find none meanwhile
    for (std::size_t i = 0; i < count; ++i) { give_chunk_back(*chunks_[i]); }
    if (chunks_ != first_chunks_) {
        upstream_.deallocate(chunks_, chunk_capacity_ * sizeof(chunk*), default_alignment);
    }
    // Last: the caches and all magazines lie in these blocks.
    caches = idle = nullptr;
    while (blocks_ != nullptr) {
        block* const b = blocks_;
        blocks_ = b->next;
        upstream_.deallocate(b, b->size, detail::cache_line_alignment);
    }
}

/// Returns: false when the pool may not or cannot grow. True when another thread just did.
bool concurrent_pool::grow(std::size_t seen_slot_count) noexcept {
    const lock_scope held{grow_lock_};
    const std::size_t slot_count = slot_count_.load(detail::memory_order::relaxed);
    // Its slots may be used up already: the caller looks again, and comes back with the new count.
    if (slot_count != seen_slot_count) { return true; }
    if (slot_count >= options_.slot_count_max ||
        !add_chunk(std::min(next_chunk_slots_, options_.slot_count_max - slot_count))) {
        return false;
    }
    next_chunk_slots_ = detail::next_chunk_slots(next_chunk_slots_, stride_, options_);
    return true;
}

// ------------------------------------------------------------------------------------------------
// magazines

/// [ head | next, count, slots | 8 null pointers | magazine_size pointers ]
std::size_t concurrent_pool::magazine_bytes() const noexcept {
    static_assert(sizeof(magazine) <= magazine_head);
    return detail::round_up(magazine_head + (lookahead + depot_.magazine_size()) * sizeof(void*),
                            detail::cache_line_alignment);
}

concurrent_pool::magazine* concurrent_pool::make_magazine(std::byte*& memory) noexcept {
    auto* const m = ::new (static_cast<void*>(memory)) magazine;
    // take() reads 8 entries below the top, to prefetch: below the lowest slot it finds null.
    auto** const below = reinterpret_cast<void**>(memory + magazine_head);
    std::memset(below, 0, lookahead * sizeof(void*));
    m->first_slot = below + lookahead;
    memory += magazine_bytes();
    return m;
}

/// Returns: nullptr when the upstream refuses; else what stands behind the head of a block.
std::byte* concurrent_pool::take_block(std::size_t size) noexcept {
    static_assert(sizeof(block) <= cache_line_size);
    const std::size_t whole = detail::saturating_add(size, cache_line_size);
    auto* const memory =
        static_cast<std::byte*>(upstream_.allocate(whole, detail::cache_line_alignment));
    return memory == nullptr ? nullptr : memory + cache_line_size;
}

/// The block exists until the pool ends. Requires: the depot is locked.
void concurrent_pool::link_block(std::byte* memory, std::size_t size) noexcept {
    const std::size_t whole = size + cache_line_size;
    blocks_ = ::new (static_cast<void*>(memory - cache_line_size)) block{blocks_, whole};
    upstream_size_ += whole;
}

/// Returns: nullptr when the upstream refuses.
detail::thread_cache* concurrent_pool_caches::make(detail::cache_owner& o) noexcept {
    concurrent_pool& pool = pool_of(o);
    constexpr std::size_t room = detail::round_up(sizeof(cache), detail::cache_line_alignment);
    const std::size_t size = room + 2 * pool.magazine_bytes();
    const lock_scope held{pool.grow_lock_};
    std::byte* const memory = pool.take_block(size);
    if (memory == nullptr) { return nullptr; }
    auto* const c = ::new (static_cast<void*>(memory)) cache;
    std::byte* magazines = memory + room;
    c->load(pool.make_magazine(magazines), pool.depot_.magazine_size());
    c->spare.store(pool.make_magazine(magazines), detail::memory_order::relaxed);
    const lock_scope depot_held{pool.depot_.lock()};
    pool.link_block(memory, size);
    return c;
}

// ------------------------------------------------------------------------------------------------
// chunks

/// What one growth takes from the upstream. What it has when it ends goes back.
struct concurrent_pool::growth {
    growth(concurrent_pool& p, std::size_t slots_in_chunk) noexcept
        : pool{p},
          slot_count{slots_in_chunk},
          size{detail::saturating_multiply(slots_in_chunk, p.stride_)},
          record_size{record_size_for(slots_in_chunk)},
          // The depot needs an empty magazine for every magazine_size slots, and one for the rest:
          // that many full ones can come back, and each finds an empty one to leave with (the
          // invariant of magazines.hpp). Those of chunks that have gone are still there.
          magazines_wanted{p.magazines_wanted_ + slots_in_chunk / p.depot_.magazine_size() + 1},
          more{magazines_wanted > p.magazine_count_ ? magazines_wanted - p.magazine_count_ : 0},
          block_size{detail::saturating_multiply(more, p.magazine_bytes())},
          capacity{p.chunk_count_ == p.chunk_capacity_ ? 2 * p.chunk_capacity_ : 0} {}
    growth(const growth&) = delete;
    growth& operator=(const growth&) = delete;
    ~growth() {
        const auto give = [this](void* memory, std::size_t bytes, alignment align) noexcept {
            if (memory != nullptr) { pool.upstream_.deallocate(memory, bytes, align); }
        };
        give(slots, size, detail::chunk_alignment(pool.align_));
        if (payload != nullptr) {
            give(payload - cache_line_size, block_size + cache_line_size,
                 detail::cache_line_alignment);
        }
        give(record, record_size, detail::cache_line_alignment);
        give(table, capacity * sizeof(chunk*), default_alignment);
    }

    /// Returns: false when the upstream refuses a part. The largest first: a refusal then has
    /// taken nothing.
    [[nodiscard]] bool take() noexcept {
        allocator_ref from = pool.upstream_;
        if (size > PTRDIFF_MAX || slot_count > UINT32_MAX) { return false; }
        slots = static_cast<std::byte*>(from.allocate(size, detail::chunk_alignment(pool.align_)));
        if (slots == nullptr) { return false; }
        if (more != 0 && (payload = pool.take_block(block_size)) == nullptr) { return false; }
        record = from.allocate(record_size, detail::cache_line_alignment);
        if (record == nullptr) { return false; }
        if (capacity == 0) { return true; }
        table = static_cast<chunk**>(from.allocate(capacity * sizeof(chunk*), default_alignment));
        return table != nullptr;
    }
    /// The chunk; no other thread knows it yet.
    [[nodiscard]] chunk& make_chunk() noexcept {
        poison(slots, size);
        auto& c = *::new (std::exchange(record, nullptr)) chunk;
        c.begin = std::exchange(slots, nullptr);
        c.record_size = record_size;
        c.first_number = pool.next_number_;
        c.cut(pool.stride_, static_cast<unsigned>(slot_count),
              reinterpret_cast<chunk::word*>(&c + 1));
        c.live = concurrent_pool_checks::make_live(slot_count);
        concurrent_pool_checks::describe(pool, c);
        return c;
    }
    /// Requires: the depot is locked.
    void publish(chunk& c) noexcept {
        if (capacity != 0) { move_table(); }
        chunk** const end = pool.chunks_ + pool.chunk_count_;
        chunk** const at = std::find_if(
            pool.chunks_, end, [&](const chunk* o) { return std::less<>{}(c.begin, o->begin); });
        std::copy_backward(at, end, end + 1);
        *at = &c;
        ++pool.chunk_count_;
        publish_magazines();
        pool.next_number_ += slot_count;
        pool.upstream_size_ += size + record_size;
        pool.depot_.add_chunk(c);
        pool.slot_count_.store(pool.slot_count_.load(detail::memory_order::relaxed) + slot_count,
                               detail::memory_order::relaxed);
    }

private:
    void move_table() noexcept {
        std::copy_n(pool.chunks_, pool.chunk_count_, table);
        std::swap(pool.chunks_, table);
        std::swap(pool.chunk_capacity_, capacity);
        pool.upstream_size_ += pool.chunk_capacity_ * sizeof(chunk*);
        if (table == pool.first_chunks_) {
            table = nullptr;
        } else {
            pool.upstream_size_ -= capacity * sizeof(chunk*);
        }
    }
    void publish_magazines() noexcept {
        std::byte* memory = std::exchange(payload, nullptr);
        if (memory != nullptr) { pool.link_block(memory, block_size); }
        for (std::size_t i = 0; i < more; ++i) {
            pool.depot_.push_empty(*pool.make_magazine(memory));
        }
        pool.magazine_count_ += more;
        pool.magazines_wanted_ = magazines_wanted;
    }

    concurrent_pool& pool;
    std::size_t slot_count;
    std::size_t size;  // bytes of the slots
    std::size_t record_size;
    std::size_t magazines_wanted;
    std::size_t more;  // magazines
    std::size_t block_size;
    std::size_t capacity;  // of a new table; 0: the old one has room. Then, that of the old one
    std::byte* slots = nullptr;
    std::byte* payload = nullptr;  // of the block with the magazines
    void* record = nullptr;
    chunk** table = nullptr;
};

bool concurrent_pool::add_chunk(std::size_t slot_count) noexcept {
    growth g{*this, slot_count};
    if (!g.take()) { return false; }
    chunk& c = g.make_chunk();
    const lock_scope held{depot_.lock()};
    g.publish(c);
    return true;
}

bool concurrent_pool::reserve(std::size_t slot_count, std::size_t caches_wanted) noexcept {
    expect_not_ended();
    // Refused before anything is taken.
    if (caches_wanted > cache_count_max) { return false; }
    {
        const lock_scope held{grow_lock_};
        const std::size_t have = slot_count_.load(detail::memory_order::relaxed);
        if (slot_count > have &&
            (slot_count > options_.slot_count_max || !add_chunk(slot_count - have))) {
            return false;
        }
    }
    // Those that threads hold count: the others are made, or taken from the idle ones, and become
    // idle together.
    std::size_t have = 0;
    {
        const lock_scope held{home->lock};
        have = cache_count;
    }
    detail::thread_cache* made = nullptr;  // collected first: an idle one must not be taken twice
    bool enough = true;
    for (std::size_t i = have; i < caches_wanted && enough; ++i) {
        detail::thread_cache* const c = detail::cache_registry::make(*this);
        enough = c != nullptr;
        if (enough) {
            c->next_of_thread = made;
            made = c;
        }
    }
    while (made != nullptr) {
        detail::thread_cache& c = *made;
        made = c.next_of_thread;
        c.next_of_thread = nullptr;
        detail::cache_registry::give_back(*this, c);
    }
    return enough;
}

// ------------------------------------------------------------------------------------------------
// giving back

/// Returns: a chunk whose slots are all free, out of all lists; nullptr: there is none.
concurrent_pool::chunk* concurrent_pool::take_empty_chunk() noexcept {
    const lock_scope held{grow_lock_};  // a growth counts what it needs before it has the other
    const lock_scope depot_held{depot_.lock()};
    auto* const c = static_cast<chunk*>(depot_.take_empty());
    if (c == nullptr) { return nullptr; }
    chunk** const end = chunks_ + chunk_count_;
    chunk** const at = std::find(chunks_, end, c);
    std::copy(at + 1, end, at);
    --chunk_count_;
    magazines_wanted_ -= c->slot_count / depot_.magazine_size() + 1;
    upstream_size_ -= c->slot_count * stride_ + c->record_size;
    slot_count_.store(slot_count_.load(detail::memory_order::relaxed) - c->slot_count,
                      detail::memory_order::relaxed);
    return c;
}

/// Requires: nothing knows it but the caches that remember where they found a slot last.
void concurrent_pool::give_chunk_back(chunk& c) noexcept {
    const std::size_t size = c.slot_count * stride_;
    if constexpr (asserts_enabled) { concurrent_pool_checks::forget(*this, c); }
    unpoison(c.begin, size);
    upstream_.deallocate(c.begin, size, detail::chunk_alignment(align_));
    upstream_.deallocate(&c, c.record_size, detail::cache_line_alignment);
}

std::size_t concurrent_pool::trim_watched(work_limit limit, chunk_watch watch) noexcept {
    expect_not_ended();
    if (grow_lock_.is_mine()) { return 0; }
    detail::work_meter work{limit};
    epoch.raise();
    if (auto* const mine = detail::cache_registry::find(*this)) {
        heed_trim(static_cast<cache&>(*mine));
    }
    while (work.goes_on() && depot_.drain(place{*this})) {
        work.pay(1, 0);
        work.look();
    }
    std::size_t bytes = 0;
    while (work.goes_on()) {
        chunk* const c = take_empty_chunk();
        if (c == nullptr) { break; }
        const std::size_t done = c->slot_count * stride_ + c->record_size;
        if (watch.goes != nullptr) { watch.goes(watch.context, c->begin, c->slot_count); }
        const lock_scope held{grow_lock_};
        give_chunk_back(*c);
        bytes += done;
        work.pay(1, done);
        work.look();
    }
    return bytes;
}

}}  // namespace cairn::CAIRN_FLAVOUR
