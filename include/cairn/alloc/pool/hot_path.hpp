// cairn/alloc/pool/hot_path.hpp - what a pool inlines into its callers in unchecked builds.
// checked.hpp has the same functions for checked builds.
#pragma once

#include <cairn/alloc/pool.hpp>

#if !CAIRN_ASSERTS

namespace cairn { inline namespace CAIRN_FLAVOUR {

inline void* pool::allocate() noexcept {
    if (void* const p = latest_; p != nullptr) [[likely]] {
        latest_ = nullptr;
        unpoison(p, stride_);
        return p;
    }
    // In this order, and through a local, gcc and clang keep the chain from one allocation to the
    // next at one addition (docs/dead-ends.md has the orders that lost).
    void** const top = top_;
    if (top == floor_) [[unlikely]] { return carve(); }
    void* const ahead = top[-static_cast<std::ptrdiff_t>(lookahead)];
    top_ = top - 1;
    // Written to soon: its line arrives while the slots before it are being filled.
    compiler::prefetch_for_writing(ahead);
    void* const p = top[-1];
    unpoison(p, stride_);
    return p;
}

/// The next slot that was never given out.
inline void* pool::carve() noexcept {
    std::byte* const p = carve_;
    if (p == carve_end_) [[unlikely]] { return allocate_in_next_chunk(); }
    carve_ = p + stride_;
    unpoison(p, stride_);
    return p;
}

inline void pool::deallocate(void* p, call_site) noexcept {
    if (p == nullptr) [[unlikely]] { return; }
    poison(p, stride_);
    void* const before = latest_;
    latest_ = p;
    if (before != nullptr) {
        void** const top = top_;
        *top = before;
        top_ = top + 1;
    }
}

inline void pool::deallocate(void* p, std::size_t, alignment, call_site from) noexcept {
    deallocate(p, from);
}

}}  // namespace cairn::CAIRN_FLAVOUR

#endif
