// cairn/core/inside/prefetch.hpp - "this line will be written to soon".
//
//      other core   [ line, modified ]            for reading: shared, then a second trip to own it
//      this core    [ ..................... ]     for writing: owned at once, one trip
//
// A hint: any address is allowed, also nullptr and unmapped ones; nothing faults.
// __builtin_prefetch(p, 1) asks for the line to read it, unless the target says that every
// processor has prefetchw; all x86-64 processors take that instruction, and those without it do
// nothing.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Asks for the line of `p`, to be written soon. `p` may be any address: none faults.
inline void prefetch_for_writing(const void* p) noexcept {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    asm volatile("prefetchw (%0)" : : "r"(p));
#else
    __builtin_prefetch(p, 1);
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
