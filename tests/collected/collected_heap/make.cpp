// Sentences of cairn/collected/collected_heap.hpp about make(): what it may do when memory is
// short.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

TEST(collected_heap_test, make_finishes_the_running_cycle_when_memory_is_short) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    begin_marking(heap);
    const std::uint64_t cycles = heap.stats().cycle_count;
    node* held = made(heap);  // a raw pointer; no safe point follows
    for (int i = 0; i < 4500; ++i) { ASSERT_NE(heap.make<node>(), nullptr) << i; }
    EXPECT_FALSE(heap.is_marking());
    EXPECT_EQ(heap.stats().cycle_count, cycles);
    held->next = kept.get();
    EXPECT_EQ(held->next.get(), kept.get());
    heap.validate();
}

TEST(collected_heap_test, make_does_no_more_between_two_steps_than_it_may) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 2000}};
    const root<node> first = made(heap);
    for (int i = 0; i < 2000; ++i) {
        node* const n = made(heap);
        n->next = first->next;
        first->next = n;
    }
    begin_marking(heap);
    for (std::uint64_t i = 1; i < 4; ++i) {
        while (heap.make<node>() != nullptr) {}
        EXPECT_TRUE(heap.is_marking()) << "96 KB are to be marked";
        EXPECT_GE(heap.stats().work_in_make, 2000 * i);
        EXPECT_LE(heap.stats().work_in_make, (2000 + 48) * i);
        heap.step({.bytes = 0});
    }
    while (heap.is_collecting()) { heap.step({.bytes = 2000}); }
    heap.collect();
    EXPECT_NE(heap.make<node>(), nullptr);
    heap.validate();
}

TEST(collected_heap_test, make_helps_not_at_all_where_it_may_not) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 0}};
    const root<node> kept = made(heap);
    begin_marking(heap);
    while (heap.make<node>() != nullptr) {}
    EXPECT_TRUE(heap.is_marking());
    EXPECT_EQ(heap.stats().work_in_make, 0u);
}

struct counted {
    ~counted() { ++ended; }
    std::uint64_t value[4] = {};
    using references = refers_to<>;
};

TEST(collected_heap_test, make_runs_no_destructor_and_reuses_nothing_that_waits_for_one) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    for (int i = 0; i < 3000; ++i) { ASSERT_NE(heap.make<counted>(), nullptr); }
    for (int i = 0; i < 500; ++i) { static_cast<void>(made(heap)); }
    begin_marking(heap);
    ended = 0;
    int more = 0;
    while (heap.make<node>() != nullptr) {}
    while (heap.make<counted>() != nullptr) { ++more; }
    EXPECT_FALSE(heap.is_marking()) << "it was finished";
    EXPECT_EQ(ended, 0);
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(ended, 3000);
    heap.collect();
    EXPECT_EQ(ended, 3000 + more);
}

TEST(collected_heap_test, what_make_sweeps_is_work_of_make_too) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 2 * 256}};
    const root<node> kept = made(heap);
    begin_marking(heap);
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    ASSERT_TRUE(heap.is_collecting());
    heap.step({.bytes = 0});
    while (heap.make<node>() != nullptr) {}
    EXPECT_EQ(heap.stats().work_in_make, 2u * 256) << "two chunks";
    heap.step({.bytes = 0});
    EXPECT_NE(heap.make<node>(), nullptr) << "and after a step two more";
}

}  // namespace
