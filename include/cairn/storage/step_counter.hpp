// cairn/storage/step_counter.hpp - counts what an operation of a heap touches.
//
// "Bounded" is a claim about the worst case, and a clock cannot prove one. So every loop turn, list
// link, block header and bitmap word that a heap may touch calls Steps::touch(). The heap of the
// user counts nothing and compiles to what it would be without the word; the heap of the tests
// counts, and the tests assert the documented maximum after every single operation.
//
//      cairn::heap<cairn::good_fit>                        uncounted: no code, no data
//      cairn::heap<cairn::good_fit, cairn::counted_steps>  counted_steps::taken says how many
//
// Cost:    uncounted: nothing at all. counted_steps: one increment of a thread-local number.
// Threads: each thread has its own count.
#pragma once

#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The default: steps are not counted.
struct uncounted {
    /// Does nothing.
    static constexpr void touch() noexcept {}
};

/// For tests: `taken` grows by one for each word, link or loop turn.
struct counted_steps {
    /// One step more.
    static void touch() noexcept { ++taken; }

    /// Steps of this thread.
    static inline thread_local std::uint64_t taken = 0;
};

}}  // namespace cairn::CAIRN_FLAVOUR
