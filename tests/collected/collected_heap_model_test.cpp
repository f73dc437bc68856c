// Random graphs in a collected_heap against a model that knows what is reachable.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdio>

#include "collected/graph_model.hpp"

namespace {

using graphs::model;

constexpr std::uint32_t seed = 20261122;
#if defined(__OPTIMIZE__)
constexpr bool is_optimized = !cairn::detail::poison_is_queryable;
#else
constexpr bool is_optimized = false;
#endif
constexpr int operations = is_optimized ? 1'000'000 : 100'000;

TEST(collected_heap_model_test, what_is_reachable_lives_and_the_rest_is_freed) {
    std::printf("seed %u\n", seed);
    model m{seed, 512 * 1024, {}};
    m.run(operations, 500);
    EXPECT_GT(m.heap().stats().cycle_count, 10u);
}

TEST(collected_heap_model_test, so_it_is_when_memory_runs_out_again_and_again) {
    model m{seed + 1, 144 * 1024, {.verify = true}};
    m.run(operations / 4, 500);
    EXPECT_GT(m.refused(), 10);
}

TEST(collected_heap_model_test, so_it_is_with_a_mark_stack_of_two) {
    model m{seed + 2, 512 * 1024, {.mark_stack_count = 2, .verify = true}};
    m.run(operations / 4, 500);
    EXPECT_GT(m.heap().stats().set_aside_count, 100u);
}

TEST(collected_heap_model_test, so_it_is_when_each_step_collects_all_and_moves_what_may_move) {
    // What is referred to weakly stays: that is for the others.
    model m{seed + 3, 256 * 1024, {.stress = true, .verify = true}, {.weak_uses = 0}};
    std::size_t moved = 0;
    m.run(operations / 8, 250, [&moved](model& of) {
        if (of.any(500) == 0) { moved += of.let_go().collect().moved_count; }
    });
    EXPECT_GT(moved, 1000u);
}

}  // namespace
