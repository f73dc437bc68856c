// Questions to cairn/alloc/pool.hpp, and what checked builds look at.
#include <algorithm>
#include <cstring>
#include <functional>

#include "checks.hpp"

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

constexpr auto freed_byte = std::byte{0xDD};  // what a free slot is filled with

}  // namespace

void pool::check_taken(void* p, bool recycled) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool",
                 pool_checks::about(*this, misuse_kind::corrupted));
    if (recycled) {
        unpoison_defined(p, stride_);
        [[maybe_unused]] const auto* bytes = static_cast<const std::byte*>(p);
        CAIRN_ASSERT(bytes[0] == freed_byte && std::memcmp(bytes, bytes + 1, stride_ - 1) == 0,
                     "a free slot is not written to",
                     pool_checks::about(*this, misuse_kind::corrupted, {}, c, p));
    }
    if (c->live != nullptr) {
        const std::size_t i = pool_checks::index(*this, *c, p);
        CAIRN_ASSERT(!pool_checks::is_live(*c, i), "a slot is given out once",
                     pool_checks::about(*this, misuse_kind::corrupted, {}, c, p));
        c->live[i / 64] |= std::uint64_t{1} << (i % 64);
    }
}

const pool::chunk* pool::check_live(const void* p, [[maybe_unused]] call_site from) const noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out",
                 pool_checks::about(*this, misuse_kind::foreign_pointer, from));
    const std::size_t i = pool_checks::index(*this, *c, p);
    CAIRN_ASSERT(c->first + i * stride_ == p,
                 "a slot comes back by the address it was given out with",
                 pool_checks::about(*this, misuse_kind::foreign_pointer, from, c, p));
    if (c->live != nullptr) {
        CAIRN_ASSERT(pool_checks::is_live(*c, i), "a slot is freed once",
                     pool_checks::about(*this, misuse_kind::double_free, from, c, p));
    }
    return c;
}

void pool::check_freed(void* p, call_site from) noexcept {
    const chunk& c = *check_live(p, from);
    if (c.live != nullptr) {
        const std::size_t i = pool_checks::index(*this, c, p);
        c.live[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    std::memset(p, std::to_integer<int>(freed_byte), stride_);
}

void pool::check_size([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t size,
                      [[maybe_unused]] alignment align,
                      [[maybe_unused]] call_site from) const noexcept {
    CAIRN_ASSERT(p == nullptr || (size <= stride_ && align <= align_),
                 "a slot comes back with the size it was asked with",
                 {.kind = misuse_kind::wrong_size,
                  .object = this,
                  .type = "pool",
                  .name = options_.name,
                  .caller = from,
                  .values = {{"bytes of a slot", stride_}, {"bytes freed", size}}});
}

void pool::check_end() const noexcept {
    CAIRN_ASSERT(!options_.all_back_at_end || stats().live_count == 0,
                 "every slot comes back before the pool ends (pool_options::all_back_at_end)",
                 {.kind = misuse_kind::leak,
                  .object = this,
                  .type = "pool",
                  .name = options_.name,
                  .values = {{"live slots", stats().live_count}}});
}

void pool::check_objects_end() const noexcept {
    CAIRN_ASSERT(
        stats().live_count == 0,
        "every object is destroyed before its pool ends (destroy_all), or dropped by reset()",
        {.kind = misuse_kind::leak,
         .object = this,
         .type = "pool_of",
         .name = options_.name,
         .values = {{"live objects", stats().live_count}}});
}

void pool::set_name(const char* name) noexcept {
    options_.name = name;
    static constexpr detail::allocator_type type{"pool", &pool_checks::place_of};
    watch_.set_name(name, this, type);
    for (std::size_t i = 0; i < chunk_count_; ++i) { pool_checks::describe(*this, chunks_[i]); }
}

/// Slots are numbered by address, over all chunks.
detail::address_place pool_checks::place_of(const void* object, const void* address) noexcept {
    const pool& p = *static_cast<const pool*>(object);
    const pool::chunk* const c = p.find_chunk(address);
    if (c == nullptr) { return {}; }
    const std::size_t i = index(p, *c, address);
    const std::byte* const slot = c->first + i * p.stride_;
    const bool carved = slot < p.carved_end(static_cast<std::size_t>(c - p.chunks_));
    return {.inside = true,
            .unit = "slot",
            .index = number(p, *c, address),
            .offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - slot),
            .size = p.stride_,
            .state = !carved                                ? "not given out since the last reset"
                     : c->live == nullptr || is_live(*c, i) ? "live"
                                                            : "freed"};
}

// ------------------------------------------------------------------------------------------------
// questions

/// Returns: the chunk that `p` lies in, or nullptr.
const pool::chunk* pool::find_chunk(const void* p) const noexcept {
    const chunk* const after =
        std::upper_bound(chunks_, chunks_ + chunk_count_, p,
                         [](const void* q, const chunk& c) { return std::less<>{}(q, c.first); });
    if (after == chunks_) { return nullptr; }
    const chunk& c = after[-1];
    const auto offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(c.first);
    return offset < c.slot_count * stride_ ? &c : nullptr;
}

pool_stats pool::stats() const noexcept {
    pool_stats s;
    const std::size_t free_count = static_cast<std::size_t>(top_ - floor_);
    s.slot_count = slot_count_;
    s.live_count = slot_count_ - untouched_count() - free_count;
    s.chunk_count = chunk_count_;
    s.upstream_size = fixed_ || chunks_ == nullptr ? 0
                                                   : slot_count_ * stride_ + embedded_size_ +
                                                         (side_is_embedded() ? 0 : side_size());
    return s;
}

void pool::validate() const noexcept {
    CAIRN_ASSERT(floor_ <= top_ && top_ <= floor_ + stack_capacity_,
                 "the stack of free slots has room for every slot");
    std::size_t slots = 0;
    std::size_t live = 0;
    bool every_bit_known = true;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        const chunk& c = chunks_[i];
        CAIRN_ASSERT(i == 0 || std::less<>{}(chunks_[i - 1].first, c.first), "chunks are sorted");
        CAIRN_ASSERT(is_aligned(c.first, align_), "slots are aligned");
        CAIRN_ASSERT(c.first <= carved_end(i) && carved_end(i) <= c.first + c.slot_count * stride_,
                     "carving stays inside its chunk");
        slots += c.slot_count;
        every_bit_known = every_bit_known && c.live != nullptr;
        live += c.live != nullptr ? pool_checks::count(c) : 0;
    }
    CAIRN_ASSERT(slots == slot_count_, "slot_count_ counts the slots of all chunks");
    for (std::size_t i = 0; i < lookahead && floor_ != nullptr; ++i) {
        CAIRN_ASSERT(floor_[-1 - static_cast<std::ptrdiff_t>(i)] == nullptr,
                     "below the stack lie null entries");
    }
    for (void* const* free = floor_; free != top_; ++free) {
        const chunk* const c = find_chunk(*free);
        CAIRN_ASSERT(c != nullptr && static_cast<std::byte*>(*free) <
                                         carved_end(static_cast<std::size_t>(c - chunks_)),
                     "a free slot lies among the carved slots of its pool");
        CAIRN_ASSERT(
            c->live == nullptr || !pool_checks::is_live(*c, pool_checks::index(*this, *c, *free)),
            "a free slot is not live");
    }
    CAIRN_ASSERT(!every_bit_known || live == stats().live_count,
                 "each carved slot is live or free, once");
    (void)live;
}

}  // namespace cairn::inline CAIRN_FLAVOUR
