// Random graphs beside a worker, against a model that knows what is reachable.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "collected/graph_model.hpp"

namespace {

using cairn::marking_worker;
using graphs::model;

/// Cycles begin soon, and take many steps.
constexpr graphs::habits slow_cycles{.makes = 50,
                                     .stores = 12,
                                     .root_changes = 1,
                                     .weak_uses = 9,
                                     .array_uses = 8,
                                     .root_count_max = 64,
                                     .root_every = 16,
                                     .small_step_count = 20,
                                     .fills = true};

/// A model, and what its worker has done.
struct shared_graph {
    shared_graph(std::uint32_t seed, std::size_t size, cairn::collected_heap::options options)
        : graph{seed, size, counting(options), slow_cycles} {
        EXPECT_TRUE(graph.heap().mark_on(worker));
    }
    cairn::collected_heap::options counting(cairn::collected_heap::options options) {
        options.cycle_ended = [](void* work, const cairn::collection_cycle& c) {
            *static_cast<std::uint64_t*>(work) += c.work_by_worker;
        };
        options.cycle_ended_context = &work_by_worker;
        return options;
    }
    /// On the program's thread, so that each run is the same.
    void run_in_pieces(int operations) {
        graph.run(operations, 500, [this](model& m) {
            if (m.any(2) == 0) { static_cast<void>(worker.run({.steps = 1 + m.any(12)})); }
            change_workers(m);
        });
    }
    /// Beside threads that call worker.run().
    void run(int operations) {
        graph.run(operations, 500, [this](model& m) { change_workers(m); });
    }
    [[nodiscard]] cairn::collected_heap::stats_type stats() { return graph.heap().stats(); }

    std::uint64_t work_by_worker = 0;  // bytes
    marking_worker worker;
    model graph;

private:
    void change_workers(model& m) {
        if (m.any(2'000) != 0) { return; }
        m.heap().mark_alone();
        ASSERT_TRUE(m.heap().mark_on(worker));
    }
};

constexpr std::uint32_t seed = 20261122;

TEST(marking_worker_model_test, pieces_between_any_two_operations_lose_nothing) {
    shared_graph g{seed, 512 * 1024, {.verify = true}};
    g.run_in_pieces(20'000);
    EXPECT_GT(g.stats().cycle_count, 10u);
    EXPECT_GT(g.work_by_worker, 100'000u);
}

TEST(marking_worker_model_test, nor_with_a_mark_stack_of_two) {
    shared_graph g{seed + 1, 384 * 1024, {.mark_stack_count = 2, .verify = true}};
    g.run_in_pieces(10'000);
    EXPECT_GT(g.stats().set_aside_count, 100u);
}

TEST(marking_worker_model_test, nor_where_memory_runs_out_again_and_again) {
    shared_graph g{seed + 2, 320 * 1024, {.verify = true}};
    g.run_in_pieces(10'000);
    EXPECT_GT(g.stats().work_in_make, 100'000u);
    EXPECT_GT(g.work_by_worker, 1000u);
}

TEST(marking_worker_model_test, nor_does_a_thread_beside_the_program) {
    shared_graph g{seed + 3, 512 * 1024, {.verify = true}};
    std::atomic<bool> stops{false};
    std::thread thread{[&] {
        while (!stops.load(std::memory_order_relaxed)) {
            if (!g.worker.run({.bytes = 20'000})) { std::this_thread::yield(); }
        }
    }};
    g.run(20'000);
    stops.store(true, std::memory_order_relaxed);
    thread.join();
    EXPECT_GT(g.stats().cycle_count, 5u);
}

TEST(marking_worker_model_test, nor_do_jobs_on_threads_that_take_turns) {
    shared_graph g{seed + 4, 384 * 1024, {.verify = true}};
    std::atomic<bool> stops{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!stops.load(std::memory_order_relaxed)) {
                static_cast<void>(g.worker.run({.steps = 10}));
                std::this_thread::yield();
            }
        });
    }
    g.run(10'000);
    stops.store(true, std::memory_order_relaxed);
    for (std::thread& t : threads) { t.join(); }
    EXPECT_GT(g.stats().cycle_count, 5u);
}

}  // namespace
