// Sentences of collected_heap::step(): what a step may cost.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

TEST(collected_heap_test, a_step_of_no_time_does_nothing) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    begin_marking(heap);
    const collection_report r = heap.step({.microseconds = 0});
    EXPECT_EQ(r.steps, 0u);
    EXPECT_EQ(r.bytes, 0u);
    EXPECT_FALSE(r.is_idle);
}

TEST(collected_heap_test, a_step_without_a_budget_does_its_part_of_the_cycle) {
    collected_heap heap{4 << 20};
    const root<node> first = made(heap);
    while (!heap.is_collecting()) {
        for (int i = 0; i < 100; ++i) {
            node* const n = made(heap);
            n->next = first->next;
            first->next = n;
        }
        heap.step();
    }
    static_cast<void>(made(heap));
    const collection_report r = heap.step();
    EXPECT_FALSE(r.cycle_ended) << "two megabytes live, and as many are free";
    EXPECT_LE(r.bytes, 64u * 1024);
    EXPECT_GT(r.bytes, 0u);
}

struct ending {
    ~ending() {}
    using references = refers_to<>;
};

TEST(collected_heap_test, no_phase_exceeds_its_budget_by_more_than_one_unit) {
    collected_heap heap{16 << 20};
    std::vector<root<node>> roots;
    const root<hub> h = heap.make<hub>();
    for (int i = 0; i < 6'000; ++i) {
        node* const n = made(heap);
        ASSERT_TRUE(h->all.push_back(n));
        if (i % 4 == 0) { roots.emplace_back(n); }
        if (i % 8 == 0) { ASSERT_NE(heap.make<ending>(), nullptr); }
    }
    for (int cycle = 0; cycle < 2; ++cycle) {
        heap.step({.steps = 1});
        while (!heap.is_collecting()) {
            static_cast<void>(made(heap));
            heap.step({.steps = 1});
        }
        std::size_t calls = 0;
        while (heap.is_collecting()) {
            const collection_report r = heap.step({.bytes = 1000});
            EXPECT_LE(r.bytes, 1000u + 1024u) << "a piece of an array is the largest unit";
            EXPECT_LE(r.steps, 1000u / 32 + 1);
            ++calls;
        }
        EXPECT_GT(calls, 100u);
        h->all.clear();
    }
    heap.validate();
}

TEST(collected_heap_test, steps_are_counted_exactly_and_replay) {
    std::vector<std::size_t> work[2];
    for (auto& w : work) {
        collected_heap heap{256 * 1024};
        const root<node> first = made(heap);
        for (int i = 0; i < 8'000; ++i) {
            node* const n = heap.make<node>();
            ASSERT_NE(n, nullptr);
            n->next = first->next;
            first->next = i % 100 == 0 ? nullptr : n;
            if (i % 20 == 0) { w.push_back(heap.step({.steps = 40}).bytes); }
        }
    }
    EXPECT_EQ(work[0], work[1]);
}

}  // namespace
