// Behaviours of cairn/containers/destruction_queue.hpp.
#include <cairn/containers/destruction_queue.hpp>
#include <gtest/gtest.h>

#include <vector>

using namespace cairn;

namespace {

/// Counts how often it was destroyed, and may own others.
struct counted : destruction_link {
    explicit counted(destruction_queue& q, std::vector<int>& order, int n)
        : destruction_link{{&q}, &end}, ended{order}, number{n} {}
    static void end(destruction_link* it) noexcept {
        auto& me = *static_cast<counted*>(it);
        me.ended.push_back(me.number);
        for (counted* c : me.owned) { c->queue->push(*c); }
    }
    std::vector<int>& ended;
    int number;
    std::vector<counted*> owned;
};

}  // namespace

TEST(destruction_queue, destroys_the_newest_first_and_then_what_it_owned) {
    std::vector<int> order;
    destruction_queue ended;
    counted a{ended, order, 1}, b{ended, order, 2}, c{ended, order, 3}, d{ended, order, 4};
    b.owned = {&c, &d};
    ended.push(a);
    ended.push(b);
    EXPECT_TRUE(order.empty());
    EXPECT_FALSE(ended.empty());
    const destruction_report all = ended.collect();
    EXPECT_EQ(order, (std::vector{2, 4, 3, 1}));
    EXPECT_EQ(all.objects, 4u);
    EXPECT_TRUE(all.settled);
    EXPECT_TRUE(ended.empty());
}

TEST(destruction_queue, stops_where_the_budget_ends) {
    std::vector<int> order;
    destruction_queue ended;
    counted a{ended, order, 1}, b{ended, order, 2}, c{ended, order, 3};
    a.owned = {&b};
    b.owned = {&c};
    ended.push(a);
    EXPECT_EQ(ended.collect({.objects = 2}).objects, 2u);
    EXPECT_EQ(order, (std::vector{1, 2}));
    EXPECT_FALSE(ended.empty());
    const destruction_report rest = ended.collect({.objects = 2});
    EXPECT_EQ(rest.objects, 1u);
    EXPECT_TRUE(rest.settled);
}

TEST(destruction_queue, destroys_at_once_what_no_destructor_pushed) {
    std::vector<int> order;
    destruction_queue ended{destroys::at_once};
    counted a{ended, order, 1}, b{ended, order, 2}, c{ended, order, 3};
    a.owned = {&b, &c};
    ended.push(a);
    EXPECT_EQ(order, (std::vector{1, 3, 2})) << "the owned ones wait until their owner has ended";
    EXPECT_TRUE(ended.empty());
}

TEST(destruction_queue, collect_inside_a_destructor_leaves_it_to_the_one_that_runs) {
    struct nosy : destruction_link {
        explicit nosy(destruction_queue& q) : destruction_link{{&q}, &end}, queue_of_it{&q} {}
        static void end(destruction_link* it) noexcept {
            auto& me = *static_cast<nosy*>(it);
            me.inner = me.queue_of_it->collect();
        }
        destruction_queue* queue_of_it;
        destruction_report inner{9, 9, true};
    };
    destruction_queue ended;
    nosy a{ended}, b{ended};
    ended.push(a);
    ended.push(b);
    EXPECT_EQ(ended.collect().objects, 2u);
    EXPECT_EQ(b.inner.objects, 0u);
    EXPECT_FALSE(b.inner.settled);
}

TEST(destruction_queue, its_end_destroys_what_waits) {
    std::vector<int> order;
    {
        destruction_queue ended;
        counted a{ended, order, 1};
        static std::vector<counted> kept;
        kept.clear();
        kept.push_back(a);
        ended.push(kept.front());
    }
    EXPECT_EQ(order, std::vector{1});
}
