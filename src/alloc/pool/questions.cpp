// Questions to cairn/alloc/pool.hpp.
#include <algorithm>
#include <functional>

#include "checks.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Returns: the chunk that `p` lies in, or nullptr.
const pool::chunk* pool::find_chunk(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const auto begin_of = [](const chunk& c) { return reinterpret_cast<std::uintptr_t>(c.first); };
    if (chunk_count_ == 0) { return nullptr; }
    // Halves the chunks without a branch that a processor would have to guess: the last chunk that
    // begins at or before p, or the first one.
    const chunk* c = chunks_;
    for (std::size_t count = chunk_count_; count > 1;) {
        const std::size_t half = count / 2;
        c += begin_of(c[half]) <= address ? half : 0;
        count -= half;
    }
    return address - begin_of(*c) < c->slot_count * stride_ ? c : nullptr;
}

detail::pool_stats pool::stats() const noexcept {
    detail::pool_stats s;
    s.slot_count = slot_count_;
    // Each slot is untouched, free or live: what is not counted is left over.
    s.live_count = slot_count_ - untouched_count() - free_count();
    s.chunk_count = chunk_count_;
    s.upstream_size = fixed_ || chunks_ == nullptr ? 0
                                                   : slot_count_ * stride_ + embedded_size_ +
                                                         (side_is_embedded() ? 0 : side_size());
    return s;
}

void pool::validate() const noexcept {
    CAIRN_ASSERT(floor_ <= top_ && free_count() <= stack_capacity_,
                 "the stack of free slots has room for every slot");
    std::size_t all_slots = 0;
    std::size_t live = 0;
    bool every_bit_known = true;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        const chunk& c = chunks_[i];
        CAIRN_ASSERT(i == 0 || std::less<>{}(chunks_[i - 1].first, c.first), "chunks are sorted");
        CAIRN_ASSERT(detail::is_aligned(c.first, align_), "slots are aligned");
        CAIRN_ASSERT(c.first <= carved_end(i) && carved_end(i) <= c.first + c.slot_count * stride_,
                     "carving stays inside its chunk");
        all_slots += c.slot_count;
        every_bit_known = every_bit_known && c.live != nullptr;
        live += c.live != nullptr ? pool_checks::count(c) : 0;
    }
    CAIRN_ASSERT(all_slots == slot_count_, "slot_count_ counts the slots of all chunks");
    for (std::size_t i = 0; i < lookahead && floor_ != nullptr; ++i) {
        CAIRN_ASSERT(floor_[-1 - static_cast<std::ptrdiff_t>(i)] == nullptr,
                     "below the stack lie null entries");
    }
    const auto validate_free = [this](const void* slot) {
        const chunk* const c = find_chunk(slot);
        CAIRN_ASSERT(c != nullptr && static_cast<const std::byte*>(slot) <
                                         carved_end(static_cast<std::size_t>(c - chunks_)),
                     "a free slot lies among the carved slots of its pool");
        CAIRN_ASSERT(
            c->live == nullptr || !pool_checks::is_live(*c, pool_checks::index(*this, *c, slot)),
            "a free slot is not live");
    };
    for (void* const* free = floor_; free != top_; ++free) { validate_free(*free); }
    if (latest_ != nullptr) { validate_free(latest_); }
    CAIRN_ASSERT(!every_bit_known || live == stats().live_count,
                 "each carved slot is live or free, once");
    (void)live;
}

}}  // namespace cairn::CAIRN_FLAVOUR
