// cairn/core/inside/atoms.hpp - where lock-free code takes its atomics and its shared data from.
//
//      template <class Atoms> class depot { typename Atoms::template atomic<word> head_; ... };
//
//     depot<std_atoms>          what programs run: atomic words with the operations of std::atomic
//                               (core/inside/atomic.hpp), and plain members
//     depot<explorer's atoms>   what the tests run: every interleaving, every value that the memory
//                               model allows a load to see (tests/support/explorer.hpp)
//
// Cost: none: std_atoms names types.
#pragma once

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct std_atoms {
    template <class T>
    using atomic = cairn::detail::atomic<T>;
    template <class T>
    using plain = T;  // written by one thread, then published through an atomic
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
