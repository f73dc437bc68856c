// Behaviours of cairn/owners/destruction_queue.hpp.
#include <cairn/owners/destruction_queue.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Says when it was destroyed, and owns others.
struct told {
    using queue = destruction_queue<told>;
    std::vector<int>* order;
    int number;
    std::vector<told*> owned = {};
    ~told() {
        order->push_back(number);
        for (told* t : owned) { queue::end(*t); }
    }
};

}  // namespace

TEST(destruction_queue, destroys_the_newest_first_and_then_what_it_owned) {
    test_upstream memory;
    std::vector<int> order;
    told::queue ended{memory};
    told* const a = ended.make(&order, 1);
    told* const b = ended.make(&order, 2);
    b->owned = {ended.make(&order, 3), ended.make(&order, 4)};
    told::queue::end(*a);
    told::queue::end(*b);
    EXPECT_TRUE(order.empty());
    EXPECT_FALSE(ended.empty());
    const destruction_report all = ended.collect();
    EXPECT_EQ(order, (std::vector{2, 4, 3, 1}));
    EXPECT_EQ(all.objects, 4u);
    EXPECT_TRUE(all.settled);
    EXPECT_TRUE(ended.empty());
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(destruction_queue, stops_where_the_budget_ends) {
    test_upstream memory;
    std::vector<int> order;
    told::queue ended{memory};
    told* const a = ended.make(&order, 1);
    told* const b = ended.make(&order, 2);
    a->owned = {b};
    b->owned = {ended.make(&order, 3)};
    told::queue::end(*a);
    EXPECT_EQ(ended.collect({.steps = 2}).objects, 2u);
    EXPECT_EQ(order, (std::vector{1, 2}));
    EXPECT_FALSE(ended.empty());
    const destruction_report rest = ended.collect({.steps = 2});
    EXPECT_EQ(rest.objects, 1u);
    EXPECT_TRUE(rest.settled);
    told::queue::end(*ended.make(&order, 4));
    EXPECT_EQ(order.back(), 3) << "between two calls of collect() objects wait as before";
}

TEST(destruction_queue, destroys_at_once_what_no_destructor_ended) {
    test_upstream memory;
    std::vector<int> order;
    told::queue ended{memory, destroys::at_once};
    told* const a = ended.make(&order, 1);
    a->owned = {ended.make(&order, 2), ended.make(&order, 3)};
    told::queue::end(*a);
    EXPECT_EQ(order, (std::vector{1, 3, 2})) << "the owned ones wait until their owner has ended";
    EXPECT_TRUE(ended.empty());
    told::queue::end(*ended.make(&order, 4));
    EXPECT_EQ(order.back(), 4) << "and the next one is destroyed at once again";
    EXPECT_TRUE(ended.collect().settled) << "nothing waits here";
    told::queue::end(*ended.make(&order, 5));
    EXPECT_EQ(order.back(), 5) << "after a collect() too";
}

TEST(destruction_queue, collect_inside_a_destructor_leaves_it_to_the_one_that_runs) {
    struct nosy {
        destruction_queue<nosy>* queue;
        destruction_report* inner;
        ~nosy() { *inner = queue->collect(); }
    };
    test_upstream memory;
    destruction_report inner[2] = {{9, 9, true}, {9, 9, true}};
    destruction_queue<nosy> at_once{memory, destroys::at_once};
    destruction_queue<nosy>::end(*at_once.make(&at_once, &inner[0]));
    EXPECT_EQ(inner[0].objects, 0u);
    EXPECT_FALSE(inner[0].settled);
    destruction_queue<nosy> ended{memory};
    for (destruction_report& r : inner) { destruction_queue<nosy>::end(*ended.make(&ended, &r)); }
    EXPECT_EQ(ended.collect().objects, 2u);
    EXPECT_EQ(inner[1].objects, 0u);
    EXPECT_FALSE(inner[1].settled);
}

TEST(destruction_queue, its_end_destroys_what_waits) {
    test_upstream memory;
    std::vector<int> order;
    {
        told::queue ended{memory};
        told::queue::end(*ended.make(&order, 1));
        EXPECT_TRUE(order.empty());
    }
    EXPECT_EQ(order, std::vector{1});
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(destruction_queue, keeps_an_alignment_above_that_of_its_word) {
    struct alignas(64) wide {
        int number = 3;
    };
    test_upstream memory;
    destruction_queue<wide> ended{memory};
    wide* const p = ended.make();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
    EXPECT_EQ(p->number, 3);
    destruction_queue<wide>::end(*p);
}

TEST(destruction_queue, without_a_limit_of_time_no_time_is_told) {
    test_upstream memory;
    std::vector<int> order;
    told::queue ended{memory};
    told::queue::end(*ended.make(&order, 1));
    EXPECT_EQ(ended.collect().nanoseconds, 0u);
}
