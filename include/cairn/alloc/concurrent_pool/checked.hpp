// cairn/alloc/concurrent_pool/checked.hpp - what a checked concurrent_pool notes at each operation.
//
// A byte for each slot says whether it is live. Where the caller is optimized, slots of the chunk
// that its cache used last are noted inline; all others, and all mistakes, by a call (checks.cpp).
#pragma once

#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

[[CAIRN_FORCE_INLINE]] inline void concurrent_pool::note_taken(cache& c, void* p) noexcept {
    if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
        if (c.seen.give_out(p, number_)) [[likely]] { return; }
    }
    check_taken(c, p);
}

[[CAIRN_FORCE_INLINE]] inline void concurrent_pool::note_freed(cache& c, void* p,
                                                               call_site from) noexcept {
    if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
        if (c.seen.take_back(p, number_)) [[likely]] { return; }
    }
    check_freed(c, p, from);
}

}}  // namespace cairn::CAIRN_FLAVOUR
