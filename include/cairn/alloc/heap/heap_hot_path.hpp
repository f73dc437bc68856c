// cairn/alloc/heap/heap_hot_path.hpp - allocate() and deallocate() of builds without checks.
//
//      allocate    a block of this size that waits      deallocate    it waits, if it may
//         |  none: the core                                |  it may not: the core
//         v                                                v
//      the region that has a free block                 its region, which merges it
//         |  none: merge all that waits, ask again         |  empty: a spare, or back to upstream
//         v
//      one region more
//
// The core is in heap_cold.hpp, checked builds in heap_checked.hpp.
#pragma once

#include <cairn/alloc/heap.hpp>

#if !CAIRN_ASSERTS

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Fit>
[[CAIRN_FORCE_INLINE]] inline void* heap<Fit>::allocate(std::size_t size) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (const auto [b, word] = bins_.bin_for(size); b != nullptr) [[likely]] {
            if (std::byte* const p = bins_.take_newest(*b, word)) [[likely]] {
                if constexpr (detail::poison_is_watched) { unpoison(p, size); }
                return p;
            }
            return allocate_unwaited(size, *b);
        }
    }
    return allocate_from_core(size, default_alignment);
}

template <class Fit>
[[CAIRN_FORCE_INLINE]] inline void* heap<Fit>::allocate(std::size_t size,
                                                        alignment align) noexcept {
    return align <= default_alignment ? allocate(size) : allocate_from_core(size, align);
}

template <class Fit>
[[CAIRN_FORCE_INLINE]] inline void heap<Fit>::deallocate(void* p, std::size_t size, alignment,
                                                         call_site) noexcept {
    // The block is as large as its size says, wherever its alignment made it start.
    if (p == nullptr) { return; }
    if constexpr (Fit::deferred_max != 0) {
        if (const auto [b, word] = bins_.bin_for(size); b != nullptr) [[likely]] {
            if (bins_.put(*b, word, static_cast<std::byte*>(p))) [[likely]] { return; }
            return wait_or_free(p, *b);
        }
    }
    free_in_core(p, asked_granules(size));
}

}}  // namespace cairn::CAIRN_FLAVOUR

#endif
