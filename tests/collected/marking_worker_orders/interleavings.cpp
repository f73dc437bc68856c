// Every interleaving of a program that writes, makes, reads weakly and ends the cycle, and a worker
// that marks. Prints the number of executions seen.
#include <cairn/collected/marking_worker.hpp>
#include <gtest/gtest.h>

#include "collected/marking_worker_orders/world.hpp"
#include "support/explorer.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace marking_world;
using explorer::expect_exhausted;

TEST(marking_worker_orders, a_write_beside_the_worker_loses_nothing) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = marking_orders;
    expect_exhausted("bm | 9", run_scripts<o>("bm", "9", 4));
    expect_exhausted("bme | 12", run_scripts<o>("bme", "12", 3));
    expect_exhausted("bmhe | 1111", run_scripts<o>("bmhe", "1111", 2));
    expect_exhausted("bhmhme | 99", run_scripts<o>("bhmhme", "99", 2));
}

TEST(marking_worker_orders, what_is_made_beside_the_worker_is_never_looked_at) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = marking_orders;
    expect_exhausted("bn | 9", run_scripts<o>("bn", "9", 3));
    expect_exhausted("bnne | 13", run_scripts<o>("bnne", "13", 2));
    expect_exhausted("bnhme | 99", run_scripts<o>("bnhme", "99", 2));
}

TEST(marking_worker_orders, what_is_read_weakly_beside_the_worker_stays) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = marking_orders;
    expect_exhausted("bk | 9", run_scripts<o>("bk", "9", 6));
    expect_exhausted("bkhe | 99", run_scripts<o>("bkhe", "99", 3));
    expect_exhausted("bek | 9", run_scripts<o>("bek", "9", 4));
}

TEST(marking_worker_orders, the_cycle_ends_with_nothing_left_and_the_next_one_begins) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = marking_orders;
    expect_exhausted("be | 99", run_scripts<o>("be", "99", 4));
    expect_exhausted("beebe | 99", run_scripts<o>("beebe", "99", 3));
    expect_exhausted("bmeebke | 99", run_scripts<o>("bmeebke", "99", 2));
}

}  // namespace
