// tests/support/refusals.hpp - a program whose memory refuses one request, each in turn.
//
//      run_with_refusals(memory, [&] { return work(); });    // memory: a failing<A>
//
// First the work runs without a refusal. Then it runs again for each of its first 200 requests and
// each 50th after that: once with that request refused alone, once with all from there on. Some
// libraries have defects of their own where one request alone is refused: for_good leaves that out.
#pragma once

#include <cairn/debug/failing.hpp>
#include <gtest/gtest.h>

#include <cstddef>

/// What a run came to: the work was done, or it was refused and the library reported it.
enum class outcome { done, refused };

/// Which refusals there are.
enum class refusals { alone_and_for_good, for_good };

template <class A, class Work>
void run_with_refusals(cairn::failing<A>& memory, Work work,
                       refusals which = refusals::alone_and_for_good) {
    const std::size_t live_size = memory.live_size();
    const std::size_t before = memory.request_count();
    ASSERT_EQ(work(), outcome::done) << "without a refusal";
    const std::size_t count = memory.request_count() - before;
    ASSERT_GT(count, 0u) << "the library takes its memory from here";
    ASSERT_EQ(memory.live_size(), live_size);
    std::size_t reported = 0;
    for (std::size_t n = 0; n < count; n += n < 200 ? std::size_t{1} : std::size_t{50}) {
        for (const std::size_t how_many : {std::size_t{1}, cairn::failing<A>::all}) {
            if (how_many == 1 && which == refusals::for_good) { continue; }
            memory.refuse_from(memory.request_count() + n, how_many);
            if (work() == outcome::refused) { ++reported; }
            memory.refuse_nothing();
            ASSERT_EQ(memory.live_size(), live_size) << "request " << n << " was refused";
        }
    }
    EXPECT_GT(reported, 0u) << "no refusal was ever reported";
}
