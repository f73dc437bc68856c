// lab/harness/optimizer.hpp - keeping the compiler honest: work that nobody looks at is deleted.
//
//      void* p = a.allocate(64);
//      lab::keep(p);            // "somebody may read p, and what it points to"
//      lab::clobber();          // "any memory may have been read or written here"
//
// Cost: no instruction; a scalar is at most moved into a register. (One constraint for all, "r,m",
// would make clang store every scalar to the stack.)
#pragma once

#include <type_traits>

namespace lab {

/// Makes the compiler believe that `value`, and memory reachable from it, is read here.
template <class T>
inline void keep(const T& value) noexcept {
    if constexpr (std::is_scalar_v<T> && !std::is_floating_point_v<T>) {
        asm volatile("" : : "r"(value) : "memory");
    } else {
        asm volatile("" : : "m"(value) : "memory");
    }
}

/// Makes the compiler believe that the scalar itself is read, and nothing else: what it keeps in
/// registers may stay there. For allocations in a loop whose results are also written to.
template <class T>
inline void observe(const T& value) noexcept {
    static_assert(std::is_scalar_v<T> && !std::is_floating_point_v<T>);
    asm volatile("" : : "r"(value));
}

/// Makes the compiler forget what it knows about `value`: nothing can be computed ahead from it.
template <class T>
inline void forget(T& value) noexcept {
    if constexpr (std::is_scalar_v<T> && !std::is_floating_point_v<T>) {
        asm volatile("" : "+r"(value));
    } else {
        asm volatile("" : "+m"(value));
    }
}

/// Makes the compiler believe that all memory may be read and written here.
inline void clobber() noexcept { asm volatile("" : : : "memory"); }

}  // namespace lab

// A function without vectors, as the compilers of 2018 had it at -O2: LAB_NO_VECTORS before it, and
// LAB_NO_VECTORS_LOOP before each of its loops (gcc takes it from the function, clang from the
// loop).
#if defined(__clang__)
#    define LAB_NO_VECTORS [[gnu::noinline]]
#    define LAB_NO_VECTORS_LOOP _Pragma("clang loop vectorize(disable) interleave(disable)")
#else
#    define LAB_NO_VECTORS [[gnu::noinline, gnu::optimize("no-tree-vectorize")]]
#    define LAB_NO_VECTORS_LOOP
#endif
