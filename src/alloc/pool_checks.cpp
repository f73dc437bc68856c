// Questions to cairn/alloc/pool.hpp, and what checked builds look at.
#include <algorithm>
#include <cstring>
#include <functional>

#include "pool_checks.hpp"

namespace cairn::inline CAIRN_FLAVOUR {
namespace {

constexpr auto freed_byte = std::byte{0xDD};  // what a free slot is filled with

}  // namespace

void pool::check_taken(void* p, bool recycled) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool");
    if (recycled) {
        unpoison_defined(p, stride_);
        [[maybe_unused]] const auto* bytes = static_cast<const std::byte*>(p);
        CAIRN_ASSERT(bytes[0] == freed_byte && std::memcmp(bytes, bytes + 1, stride_ - 1) == 0,
                     "a free slot is not written to");
    }
    if (c->live != nullptr) {
        const std::size_t i = pool_checks::index(*this, *c, p);
        CAIRN_ASSERT(!pool_checks::is_live(*c, i), "a slot is given out once");
        c->live[i / 64] |= std::uint64_t{1} << (i % 64);
    }
}

void pool::check_freed(void* p) noexcept {
    const chunk* const c = find_chunk(p);
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out");
    const std::size_t i = pool_checks::index(*this, *c, p);
    CAIRN_ASSERT(c->first + i * stride_ == p,
                 "a slot comes back by the address it was given out with");
    if (c->live != nullptr) {
        CAIRN_ASSERT(pool_checks::is_live(*c, i), "a slot is freed once");
        c->live[i / 64] &= ~(std::uint64_t{1} << (i % 64));
    }
    std::memset(p, std::to_integer<int>(freed_byte), stride_);
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
