// Sentences of cairn/collected/collection_report.hpp: the figures agree with one another.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

TEST(collection_report, a_cycle_is_the_sum_of_its_steps) {
    std::vector<collection_cycle> cycles;
    collected_heap heap{256 * 1024,
                        {.cycle_ended =
                             [](void* to, const collection_cycle& c) {
                                 static_cast<std::vector<collection_cycle>*>(to)->push_back(c);
                             },
                         .cycle_ended_context = &cycles}};
    const root<node> kept = made(heap);
    for (int i = 0; i < 1000; ++i) { (void)made(heap); }
    begin_marking(heap);
    const std::uint64_t before = heap.stats().cycle_count;
    cycles.clear();
    std::size_t freed = 0;
    std::size_t steps = 0;
    for (bool ended = false; !ended; ++steps) {
        const collection_report r = heap.step({.steps = 1});
        EXPECT_LE(r.steps, 1u);
        freed += r.freed_count;
        ended = r.cycle_ended;
        EXPECT_EQ(r.is_idle, ended);
    }
    ASSERT_EQ(cycles.size(), 1u);
    const collection_cycle& c = cycles[0];
    EXPECT_EQ(c.number, before + 1);
    EXPECT_EQ(c.freed_count, freed);
    EXPECT_GE(c.step_count, steps);
    EXPECT_EQ(c.root_count, 1u);
    EXPECT_EQ(c.nanoseconds, 0u) << "no step had a limit of time";
    EXPECT_EQ(heap.stats().last_cycle.number, c.number);
    EXPECT_EQ(heap.stats().last_cycle.bytes, c.bytes);
    EXPECT_EQ(heap.stats().cycle_count, c.number);
}

}  // namespace
