// What pool and concurrent_pool decide alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/slice.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Bytes from slot to slot.
inline std::size_t stride_of(std::size_t slot_size, alignment align) noexcept {
    const std::size_t size = slot_size != 0 ? slot_size : 1;
    // If rounding overflows, return a size that every upstream refuses.
    return size > SIZE_MAX - align.mask() ? round_down(SIZE_MAX, align) : round_up(size, align);
}

/// Slots never begin below a cache line boundary of their own chunk.
inline alignment chunk_alignment(alignment align) noexcept {
    return std::max(align, cache_line_alignment);
}

/// Slots of the chunk that follows one of `slots`: twice as many, up to options.chunk_size_max
/// bytes.
template <class Options>
std::size_t next_chunk_slots(std::size_t slot_count, std::size_t stride,
                             const Options& options) noexcept {
    const std::size_t cap = std::max(options.slots_per_chunk, options.chunk_size_max / stride);
    return std::min(detail::saturating_multiply(slot_count, 2), cap);
}

/// Fills `out` from the front. Returns: how many slots it got.
template <class Pool>
std::size_t allocate_each(Pool& pool, slice<void*> out) noexcept {
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = pool.allocate();
        if (out[i] == nullptr) { return i; }
    }
    return out.size();
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
