// cairn/alloc/monotonic.hpp - an arena to whom single frees mean nothing at all.
//
//      ~vector() ... ~vector() ... ~vector()      100,000 destructors: each would ask the arena
//          |             |             |          "am I the last block?"
//          v             v             v
//     monotonic: deallocate() { }                 nothing is left of them, the loop disappears
//
// An arena gives the last block's bytes back when it is freed; asking costs a few instructions for
// each block. Where a whole structure dies at once (a syntax tree, a level), the answer is of no
// use, and an empty deallocate lets the compiler remove the destruction of trivial elements
// altogether.
//
//      cairn::monotonic<cairn::growing_arena> memory;      // the same as a member of a class
//      std::vector<int, cairn::std_allocator<int, decltype(memory)>> v{memory};
//      ...
//      memory.reset();
//
// Use it for: many small containers that live until the reset.
// Look elsewhere for: containers that come and go (the arena itself), arrays that are outgrown
//   again and again (array_recycler.hpp).
//
// Cost:    allocate as A; deallocate: nothing. Under ASan freed memory is poisoned all the same.
// Threads: those of A.
#pragma once

#include <cstddef>

#include <cairn/core/inside/forwards.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Owns an arena A, or refers to one (`monotonic{a}` is `monotonic<A&>`). All but deallocate() is
/// A's.
template <byte_allocator A>
class monotonic : public detail::forwards<A> {
public:
    using detail::forwards<A>::forwards;

    /// Nothing: the bytes wait for a rewind or the reset.
    void deallocate([[maybe_unused]] void* p, [[maybe_unused]] std::size_t size,
                    alignment = default_alignment) noexcept {
        if constexpr (detail::poison_is_watched) {
            if (p != nullptr) { poison(p, size); }
        }
    }
};

template <class A>
monotonic(A&) -> monotonic<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
