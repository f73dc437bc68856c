// Every interleaving of two and three threads on cairn/alloc/concurrent_pool/magazines.hpp, up to a number of
// preemptions that each call below names. Prints how many executions were seen. What happens without one of its orders is in magazine_orders_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/magazine_world.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::magazine_orders;
using namespace magazine_world;

void expect_exhausted(const char* name, const explorer::result& r) {
    EXPECT_FALSE(r.failed) << name << ": " << r.message;
    EXPECT_TRUE(r.exhausted || r.failed) << name << ": too many executions";
    std::printf("%-58s %9llu executions%s\n", name, static_cast<unsigned long long>(r.executions),
                r.exhausted ? ", exhausted" : "");
}

TEST(magazines, survive_every_interleaving_of_two_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = magazine_orders;
    expect_exhausted("M=1  +- | +-  fresh", run_scripts<o>({"+-", "+-"}, 1, 2, 4, false));
    expect_exhausted("M=1  ++- | ++-  fresh", run_scripts<o>({"++-", "++-"}, 1, 4, 3, false));
    expect_exhausted("M=1  +++ | +++  recycled", run_scripts<o>({"+++", "+++"}, 1, 5, 2, true));
    expect_exhausted("M=1  ++- | +-+  short of slots",
                     run_scripts<o>({"++-", "+-+"}, 1, 3, 4, true));
    expect_exhausted("M=1  +++- | ++--  recycled", run_scripts<o>({"+++-", "++--"}, 1, 6, 2, true));
    expect_exhausted("M=2  +++ | +++  recycled", run_scripts<o>({"+++", "+++"}, 2, 8, 4, true));
    expect_exhausted("M=2  +++--- | +++  short of slots",
                     run_scripts<o>({"+++---", "+++"}, 2, 5, 4, true));
    expect_exhausted("M=2  +++++ | +++++  recycled",
                     run_scripts<o>({"+++++", "+++++"}, 2, 8, 2, true));
}

TEST(magazines, survive_every_interleaving_of_three_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = magazine_orders;
    expect_exhausted("M=1  +- | +- | +-  recycled",
                     run_scripts<o>({"+-", "+-", "+-"}, 1, 3, 3, true));
    expect_exhausted("M=1  ++ | ++ | ++  fresh",
                     run_scripts<o>({"++", "++", "++"}, 1, 5, 1, false));
    expect_exhausted("M=2  ++- | ++- | +  recycled",
                     run_scripts<o>({"++-", "++-", "+"}, 2, 6, 2, true));
}

TEST(magazines, the_stack_survives_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("stack: pop push | pop pop push", run_stack<magazine_orders>(4));
    expect_exhausted("one adds chunks | the other carves", run_chunks<magazine_orders>(2));
    expect_exhausted("one joins | one steals", run_newcomer<magazine_orders>(3, 2, 1));
    expect_exhausted("one joins and hoards | one steals", run_newcomer<magazine_orders>(2, 2));
    expect_exhausted("one joins and hoards | two steal", run_newcomer<magazine_orders>(1, 3));
}

TEST(magazines, growth_survives_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("growing: + | +", run_growth<magazine_orders>(3, {1, 1}));
    expect_exhausted("growing: ++ | +", run_growth<magazine_orders>(2, {2, 1}));
    expect_exhausted("growing: + | + | +", run_growth<magazine_orders>(1, {1, 1, 1}));
    expect_exhausted("one replaces the table | +-", run_table<magazine_orders>(3));
}

}  // namespace
