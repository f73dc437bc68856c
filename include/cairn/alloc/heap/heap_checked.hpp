// cairn/alloc/heap/heap_checked.hpp - allocate() and deallocate() of checked builds.
//
// Two ways each. The first is for a block about which all is well: few instructions, no call, and
// nothing is changed before the block has been looked at. The second is for every block, under
// every memory checker, and reports what is wrong in a sentence. Unchecked builds have
// heap_hot_path.hpp instead.
//
// Not inlined: a program calls what the library has compiled for the fits of cairn, optimized
// in every build.
#pragma once

#include <cairn/alloc/heap.hpp>

#if CAIRN_ASSERTS

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Fit>
void* heap<Fit>::allocate(std::size_t size) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        const auto [b, word] = bins_.bin_for(size);
        if (b != nullptr && !detail::poison_is_seen()) [[likely]] {
            std::byte* const p = bins_.newest(*b);
            // The blocks around it were checked when it was freed, and will be at the next free.
            if (is_recent(p) && bins_.template take<false>(*b, word, p)) [[likely]] { return p; }
        }
    }
    return allocate_and_report(size);
}

template <class Fit>
void* heap<Fit>::allocate(std::size_t size, alignment align) noexcept {
    return align <= default_alignment ? allocate(size) : allocate_from_core(size, align);
}

template <class Fit>
void heap<Fit>::deallocate(void* p, std::size_t size, alignment, call_site from) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        const auto [b, word] = bins_.bin_for(size);
        if (b != nullptr && !detail::poison_is_seen()) [[likely]] {
            // From left to right: `p` may be read only when it lies in a region, and put() is the
            // first to write.
            if (is_recent(p) && stands(p, b->granules, 0)) [[likely]] {
                if (bins_.template put<false>(*b, word, static_cast<std::byte*>(p))) [[likely]] {
                    return;
                }
                return wait_or_free(p, *b);
            }
        }
    }
    deallocate_and_report(p, size, from);
}

template <class Fit>
[[CAIRN_NOINLINE]] void* heap<Fit>::allocate_and_report(std::size_t size) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (const auto [b, word] = bins_.bin_for(size); b != nullptr) [[likely]] {
            if (std::byte* const p = bins_.newest(*b)) {
                if (detail::poison_is_seen() || !turn_to(p) ||
                    !stands(p, b->granules, detail::block_header::deferred_bit)) [[unlikely]] {
                    check_waiting(p, b->granules);
                }
                if (bins_.take(*b, word, p)) [[likely]] {
                    unpoison(p, size);
                    return p;
                }
            }
            return allocate_unwaited(size, *b);
        }
    }
    return allocate_from_core(size, default_alignment);
}

template <class Fit>
[[CAIRN_NOINLINE]] void heap<Fit>::deallocate_and_report(void* p, std::size_t size,
                                                         call_site from) noexcept {
    if (p == nullptr) { return; }
    if constexpr (Fit::deferred_max != 0) {
        if (const auto [b, word] = bins_.bin_for(size); b != nullptr) [[likely]] {
            expect_live(p, b->granules, size, from);
            if (bins_.put(*b, word, static_cast<std::byte*>(p))) [[likely]] { return; }
            return wait_or_free(p, *b);
        }
    }
    expect_live(p, granules_of(size), size, from);
    free_in_core(p, asked_granules(size));
}

/// Asserts that `p` is a live block of `granules`, as a request of `size` gets.
template <class Fit>
void heap<Fit>::expect_live(const void* p, std::uint32_t granules, std::size_t size,
                            call_site from) noexcept {
    if (detail::poison_is_seen() || !turn_to(p) || !stands(p, granules, 0)) [[unlikely]] {
        check_freed(p, size, detail::payload_size(granules), from);
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR

#endif
