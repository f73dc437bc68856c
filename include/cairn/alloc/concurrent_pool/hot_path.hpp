// cairn/alloc/concurrent_pool/hot_path.hpp - what a concurrent_pool inlines into its callers.
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

inline void* concurrent_pool::take(cache& c) noexcept {
    void** const top = c.top;
    if (top == c.floor) [[unlikely]] { return take_cold(c); }
    void* const ahead = top[-static_cast<std::ptrdiff_t>(lookahead)];
    c.top = top - 1;
    // Written to soon: its line arrives while the slots before it are being filled.
    compiler::prefetch_from_other_core(ahead);
    void* const p = top[-1];
    if constexpr (asserts_enabled) { note_taken(c, p); }
    unpoison(p, stride_);
    return p;
}

inline void concurrent_pool::give(cache& c, void* p, [[maybe_unused]] call_site from) noexcept {
    if (p == nullptr) [[unlikely]] { return; }
    if constexpr (asserts_enabled) { note_freed(c, p, from); }
    poison(p, stride_);
    void** const top = c.top;
    if (top == c.ceiling) [[unlikely]] {
        give_cold(c, p);
        return;
    }
    *top = p;
    c.top = top + 1;
}

inline void* concurrent_pool::take(cache& c, std::size_t size, alignment align) noexcept {
    return size <= stride_ && align <= align_ ? take(c) : nullptr;
}

inline void concurrent_pool::give(cache& c, void* p, [[maybe_unused]] std::size_t size,
                                  [[maybe_unused]] alignment align, call_site from) noexcept {
    CAIRN_ASSERT(p == nullptr || size <= stride_,
                 "a slot comes back with the size it was asked with", about_size(size, from));
    CAIRN_ASSERT(p == nullptr || align <= align_,
                 "a slot comes back with the alignment it was asked with",
                 about_alignment(align, from));
    give(c, p, from);
}

}}  // namespace cairn::CAIRN_FLAVOUR
