// Sentences of cairn/collected/collected_heap.hpp about what is garbage, and when it is found.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

TEST(collected_heap_test, cycles_without_a_root_are_freed) {
    collected_heap heap{1 << 20};
    const root<node> kept = made(heap);
    for (int i = 0; i < 1000; ++i) {
        node* const a = made(heap);
        node* const b = made(heap);
        a->next = b;
        b->next = a;
        a->other = kept.get();
    }
    EXPECT_EQ(heap.stats().object_count, 2001u);
    const collection_report report = heap.collect();
    EXPECT_EQ(report.freed_count, 2000u);
    EXPECT_EQ(report.freed_size, 2000u * 48);
    EXPECT_EQ(heap.stats().object_count, 1u);
    heap.validate();
}

TEST(collected_heap_test, a_heap_in_constant_use_goes_on_for_ever_with_steps_alone) {
    collected_heap heap{1 << 20};
    const root<node> first = made(heap);
    for (int i = 0; i < 60'000; ++i) {
        node* const n = heap.make<node>();
        ASSERT_NE(n, nullptr) << i;
        n->next = first->next;
        first->next = i % 1000 == 0 ? nullptr : n;
        if (i % 10 == 0) { heap.step(); }
    }
    EXPECT_GT(heap.stats().cycle_count, 3u);
}

TEST(collected_heap_test, a_full_heap_says_null_and_changes_nothing) {
    collected_heap heap{256 * 1024};
    const root<node> first = made(heap);
    std::size_t count = 1;
    while (node* const n = heap.make<node>()) {
        n->next = first->next;
        first->next = n;
        ++count;
    }
    EXPECT_GT(count, 5000u);
    EXPECT_EQ(heap.stats().object_count, count);
    first->next = nullptr;
    EXPECT_EQ(heap.make<node>(), nullptr) << "make() begins no cycle";
    heap.collect();
    EXPECT_NE(heap.make<node>(), nullptr);
    heap.validate();
}

TEST(collected_heap_test, no_cycle_begins_where_nothing_was_made_since_the_last_step) {
    collected_heap heap{256 * 1024};
    const root<node> first = made(heap);
    const auto add = [&] {
        node* const n = heap.make<node>();
        if (n == nullptr) { return false; }
        n->next = first->next;
        first->next = n;
        return true;
    };
    while (heap.stats().free_size > 40 * 1024) { ASSERT_TRUE(add()); }
    while (!heap.is_collecting()) {
        ASSERT_TRUE(add());
        heap.step({.steps = 1});
    }
    while (heap.is_collecting()) {
        if (heap.stats().free_size > 12 * 1024) { static_cast<void>(made(heap)); }
        heap.step({.steps = 4});
    }
    const std::uint64_t cycles = heap.stats().cycle_count;
    for (int i = 0; i < 3; ++i) { EXPECT_TRUE(heap.step({.steps = 20}).is_idle); }
    EXPECT_EQ(heap.stats().cycle_count, cycles);
    for (int i = 0; i < 65; ++i) { static_cast<void>(made(heap)); }
    EXPECT_FALSE(heap.step({.steps = 1}).is_idle) << "memory is as short as before";
}

struct quarter_kilobyte {
    ref<quarter_kilobyte> next;
    char filling[252] = {};
    using references = refers_to<&quarter_kilobyte::next>;
};
static_assert(sizeof(quarter_kilobyte) == 256);

TEST(collected_heap_test, a_full_heap_that_was_collected_owes_nothing) {
    collected_heap heap{256 * 1024};
    const root<quarter_kilobyte> first = heap.make<quarter_kilobyte>();
    while (quarter_kilobyte* const q = heap.make<quarter_kilobyte>()) {
        q->next = first->next;
        first->next = q;
    }
    EXPECT_EQ(heap.stats().free_size, 0u);
    heap.collect();
    EXPECT_TRUE(heap.step({.steps = 1}).is_idle);
}

TEST(collected_heap_test, what_only_a_raw_pointer_holds_lives_until_the_next_cycle_begins) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<node> kept = made(heap);
    kept->next = made(heap);
    kept->next->value[0] = 7;
    begin_marking(heap);
    node* const held = kept->next;
    kept->next = nullptr;  // its only reference is gone before it is traced
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    kept->next = held;
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(kept->next->value[0], 7u);
    heap.validate();
}

TEST(collected_heap_test, a_long_list_needs_no_stack) {
    collected_heap heap{8 << 20};
    const root<node> first = made(heap);
    for (int i = 0; i < 30'000; ++i) {
        node* const n = made(heap);
        n->next = first->next;
        first->next = n;
    }
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 30'001u);
    EXPECT_EQ(heap.stats().set_aside_count, 0u);
}

TEST(collected_heap_test, a_mark_stack_of_one_is_enough_for_any_graph_in_a_large_heap) {
    collected_heap heap{64 << 20, {.mark_stack_count = 1, .verify = true}};
    constexpr std::size_t count = 15'000;
    const root<node> first = made(heap);
    for (std::size_t i = 0; i < count; ++i) {  // a comb: each tooth waits while the next is seen
        node* const tooth = made(heap);
        tooth->next = made(heap);
        tooth->other = first->other;
        first->other = tooth;
    }
    for (int cycle = 0; cycle < 2; ++cycle) {
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 2 * count + 1);
        heap.validate();
    }
    EXPECT_GT(heap.stats().set_aside_count, count / 2);
}

}  // namespace
