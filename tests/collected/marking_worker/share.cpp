// Sentences of cairn/collected/marking_worker.hpp about whose work is what, and what is owed.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <gtest/gtest.h>

#include "collected/marking_worker/lists.hpp"

namespace {

using namespace lists;

TEST(marking_worker_test, marks_what_the_step_then_has_not_to_mark) {
    constexpr std::uint32_t count = 5000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    EXPECT_FALSE(worker.run()) << "no cycle is marking";
    root<node> first;
    make_list(heap, first, count);
    begin_marking(heap);
    heap.step({.bytes = 2 * sizeof(node)});  // learns where a node's references are
    EXPECT_FALSE(worker.run()) << "what is left is the program's: the end";
    EXPECT_TRUE(heap.is_marking());
    const std::size_t bytes = heap.step({.steps = 10}).bytes;
    EXPECT_FALSE(heap.is_marking());
    EXPECT_LT(bytes, 10'000u);
    end_cycle(heap);
    const cairn::collection_cycle c = heap.stats().last_cycle;
    EXPECT_GE(c.work_by_worker, (count - 10) * sizeof(node));
    EXPECT_GE(c.bytes, c.work_by_worker);
    EXPECT_EQ(length_of(first), count);
}

TEST(marking_worker_test, what_it_has_marked_is_taken_off_a_budget_of_bytes) {
    collected_heap heap{1 << 20};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 5000);
    begin_marking(heap);
    heap.step({.bytes = 1000});
    EXPECT_TRUE(worker.run({.bytes = 30'000})) << "there is more to mark";
    EXPECT_LT(heap.step({.bytes = 31'000}).bytes, 1100u) << "the worker has paid most of it";
    EXPECT_GE(heap.step({.bytes = 31'000}).bytes, 31'000u) << "and nothing since then";
    EXPECT_TRUE(heap.is_marking());
}

/// Its references are paid for, not its slot of 64 bytes.
struct hub : thing {
    explicit hub(std::uint32_t n) noexcept : thing{n, false} {}
    ref<hub> at[14];
    using references = refers_to<&hub::at>::and_base<thing>;
};

TEST(marking_worker_test, pays_as_much_as_the_program_for_an_object_of_many_references) {
    constexpr std::uint32_t count = 3000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<hub> first;
    for (std::uint32_t i = 0; i < count; ++i) {
        hub* const h = heap.make<hub>(i);
        ASSERT_NE(h, nullptr);
        h->at[0] = first.get();
        first = h;
    }
    begin_marking(heap);
    heap.step({.bytes = 200});
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    const std::uint64_t price = sizeof(hub::at) / sizeof(ref<hub>) * 8;
    EXPECT_GE(heap.stats().last_cycle.work_by_worker, (count - 10) * price);
    EXPECT_LE(heap.stats().last_cycle.work_by_worker, count * price);
}

TEST(marking_worker_test, a_step_with_a_limit_of_units_leaves_marking_to_a_worker_that_marks) {
    collected_heap heap{1 << 20};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 5000);
    begin_marking(heap);
    heap.step({.bytes = 1000});
    EXPECT_TRUE(worker.run({.steps = 100}));
    EXPECT_EQ(heap.step({.steps = 50}).steps, 0u);
    EXPECT_EQ(heap.step({.steps = 50}).steps, 50u) << "but not to one that has no time";
}

TEST(marking_worker_test, a_cycle_ends_without_any_run) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 500);
    begin_marking(heap);
    end_cycle(heap);
    EXPECT_EQ(heap.stats().last_cycle.work_by_worker, 0u);
    EXPECT_EQ(length_of(first), 500u);
}

TEST(marking_worker_test, objects_with_a_trace_of_their_own_are_the_programs) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> first;
    make_squads(heap, first, 30);
    begin_marking(heap);
    int turns = 0;
    while (heap.is_marking()) {
        EXPECT_FALSE(worker.run()) << "it waits for the next step";
        heap.step({.bytes = 100});
        ASSERT_LT(++turns, 200);
    }
    EXPECT_GT(turns, 10);
    end_cycle(heap);
    EXPECT_EQ(count_squads(first), 30u);
}

TEST(marking_worker_test, a_step_of_time_goes_on_with_what_is_the_programs_until_that_is_done) {
    constexpr std::uint32_t count = 2000;  // far more work than lies between two looks at the clock
    collected_heap heap{1 << 20, {.mark_stack_count = 3 * count, .verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, count);
    for (node* n = first; n != nullptr; n = behind(n, 1)) {
        squad* const s = heap.make<squad>(n->number);
        ASSERT_NE(s, nullptr);
        n->at[1] = s;
    }
    heap.collect();  // learns where a node's references are
    begin_marking(heap);
    EXPECT_FALSE(worker.run()) << "it has kept the squads for the program";
    EXPECT_TRUE(heap.is_marking());
    const auto report = heap.step({.microseconds = 10'000'000});
    EXPECT_GE(report.bytes, count * sizeof(squad));
    EXPECT_FALSE(heap.is_marking());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), count);
}

TEST(marking_worker_test, so_they_are_with_a_mark_stack_of_two) {
    collected_heap heap{1 << 18, {.mark_stack_count = 2, .verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> all = heap.make<squad>(0u);
    for (std::uint32_t i = 0; i < 30; ++i) {
        root<squad> of;
        make_squads(heap, of, 3);
        ASSERT_TRUE(all->members.push_back(of));
    }
    begin_marking(heap);
    while (heap.is_marking()) {
        EXPECT_FALSE(worker.run());
        heap.step({.bytes = 100});
    }
    end_cycle(heap);
    EXPECT_GT(heap.stats().set_aside_count, 10u);
    for (std::uint32_t i = 0; i < 30; ++i) {
        ASSERT_EQ(count_squads(static_cast<squad*>(all->members[i])), 3u);
    }
}

struct long_head {
    char bytes[20'000] = {};
};
struct tail {
    int number = 7;
};
struct large : long_head, tail {
    large() noexcept {}
    ref<large> next;
    using references = refers_to<&large::next>;
};
struct has_tail {
    ref<tail> of_large;
    using references = refers_to<&has_tail::of_large>;
};

TEST(marking_worker_test, a_large_object_is_found_by_its_end_in_each_cycle) {
    collected_heap heap{1 << 19, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<has_tail> first = heap.make<has_tail>();
    large* const l = heap.make<large>();
    first->of_large = l;
    l->next = heap.make<large>();
    for (int cycle = 0; cycle < 4; ++cycle) {
        begin_marking(heap);
        heap.step({.steps = cycle == 0 ? 4u : 1u});  // at first it learns where references are
        EXPECT_FALSE(worker.run());
        end_cycle(heap);
        EXPECT_EQ(first->of_large->number, 7);
        EXPECT_EQ(static_cast<large*>(first->of_large.get())->next->number, 7);
    }
}

}  // namespace
