// Sentences of cairn/collected/marking_worker.hpp about what stays while the worker marks.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "collected/marking_worker/lists.hpp"

namespace {

using namespace lists;

TEST(marking_worker_test, what_only_a_raw_pointer_holds_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 100);
    begin_marking(heap);
    heap.step({.steps = 1});
    node* const last = behind(first, 49);
    thing* const cut = last->at[0];
    last->at[0] = nullptr;
    static_cast<void>(worker.run());
    first->at[1] = cut;  // first has been traced
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 50u);
    EXPECT_EQ(length_of(first->at[1]), 50u);
}

TEST(marking_worker_test, every_value_that_is_overwritten_stays_however_many_there_are) {
    constexpr std::uint32_t count = 3000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> all = heap.make<squad>(0u);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_TRUE(all->members.push_back(heap.make<node>(i)));
    }
    begin_marking(heap);
    std::vector<thing*> held;
    for (std::uint32_t i = 0; i < count; ++i) {
        held.push_back(all->members[i]);
        all->members.set(i, nullptr);
        if (i % 700 == 0) { static_cast<void>(worker.run({.steps = 30})); }
    }
    EXPECT_FALSE(worker.run());
    for (std::uint32_t i = 0; i < count; ++i) { all->members.set(i, held[i]); }
    held.clear();
    end_cycle(heap);
    for (std::uint32_t i = 0; i < count; ++i) { ASSERT_EQ(all->members[i]->number, i); }
}

// The sets of names lie in memory of the upstream's, which has a fence behind it.
TEST(marking_worker_test, names_of_overwritten_values_have_room_up_to_the_last_chunk) {
    cairn::system_allocator system;
    cairn::guarded<cairn::system_allocator&> upstream{system};  // looks when a block comes back
    {
        collected_heap heap{1 << 18, upstream};
        marking_worker worker;
        ASSERT_TRUE(heap.mark_on(worker));
        ASSERT_NE(heap.make<filler>(), nullptr);  // its chunk is taken first, not last
        root<squad> all = heap.make<squad>(0u);
        ASSERT_TRUE(all->members.reserve(8000));
        // Squads and fillers have room left, each in a chunk of their own; nodes fill all others.
        while (heap.stats().free_size > 5 * cairn::detail::chunk_size / 2) {
            for (int i = 0; i < 100; ++i) {
                node* const n = heap.make<node>(0u);
                ASSERT_NE(n, nullptr);
                ASSERT_TRUE(all->members.push_back(n));
            }
        }
        begin_marking(heap);
        const auto count = static_cast<std::uint32_t>(all->members.size());
        for (std::uint32_t i = 0; i < count; ++i) {  // the first names go to one set, and
            thing* const n = all->members[i];        // all others to the other
            all->members.set(i, nullptr);
            all->members.set(i, n);
        }
        EXPECT_TRUE(heap.is_marking());
        end_cycle(heap);
    }
}

struct leaf : thing {
    explicit leaf(std::uint32_t n) noexcept : thing{n, false} {}
    using references = refers_to<>;
};

TEST(marking_worker_test, marking_does_not_end_while_values_that_were_overwritten_are_left) {
    constexpr std::uint32_t count = 1500;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, count);
    for (node* n = first; n != nullptr; n = behind(n, 1)) { n->at[1] = heap.make<leaf>(n->number); }
    heap.collect();  // learns where a node's references are
    begin_marking(heap);
    const root<squad> kept = heap.make<squad>(0u);  // nothing looks into it
    for (node* n = first; n != nullptr; n = behind(n, 1)) {
        ASSERT_TRUE(kept->members.push_back(n->at[1]));
        n->at[1] = nullptr;
    }
    EXPECT_FALSE(worker.run()) << "what is left was not handed over";
    heap.step({.steps = 1});
    EXPECT_TRUE(heap.is_marking());
    end_cycle(heap);
    for (std::uint32_t i = 0; i < count; ++i) { ASSERT_EQ(kept->members[i]->number, i + 1); }
}

TEST(marking_worker_test, what_is_read_weakly_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first = heap.make<node>(1u);
    weak_ref<node> second{heap.make<node>(2u)};
    second.get()->at[0] = heap.make<node>(3u);
    begin_marking(heap);
    EXPECT_FALSE(worker.run());
    first->at[0] = second.get();
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 3u);
}

TEST(marking_worker_test, what_is_made_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 100);
    begin_marking(heap);
    static_cast<void>(worker.run({.steps = 10}));
    make_list(heap, first, 100);
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 200u);
}

}  // namespace
