// Behaviours of cairn/alloc/reclaim_order.hpp.
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/reclaim_order.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Something that frees blocks of a budget, and writes its name down when it is asked.
struct source {
    budget<test_upstream&>& memory;
    std::string& asked;
    char name;
    std::vector<void*> blocks{};

    void take(int count) {
        for (int i = 0; i < count; ++i) { blocks.push_back(memory.allocate(10)); }
    }
    static bool free_one(void* context, const budget_request&) noexcept {
        auto& mine = *static_cast<source*>(context);
        mine.asked += mine.name;
        if (mine.blocks.empty()) { return false; }
        mine.memory.deallocate(mine.blocks.back(), 10);
        mine.blocks.pop_back();
        return true;
    }
};

/// A budget of `limit` bytes, and three sources of it.
struct three_sources {
    explicit three_sources(std::size_t limit) : memory{limit, heap} {}

    test_upstream heap;
    budget<test_upstream&> memory;
    std::string asked;  // the names of those that were asked, in order
    source a{memory, asked, 'a'};
    source b{memory, asked, 'b'};
    source c{memory, asked, 'c'};
};

TEST(reclaim_order, steps_are_asked_by_priority_until_the_request_fits) {
    three_sources s{100};
    auto& [heap, memory, asked, trim, compact, drop] = s;
    trim.take(1);
    compact.take(2);
    drop.take(7);
    reclaim_order order;
    const reclaim_order::step last{order, 9, &source::free_one, &drop};
    const reclaim_order::step first{order, -1, &source::free_one, &trim};
    const reclaim_order::step middle{order, 4, &source::free_one, &compact};
    memory.set_handler(&reclaim_order::ask, &order);

    void* const p = memory.allocate(10);
    EXPECT_EQ(asked, "a") << "the cheapest step was enough";
    asked.clear();
    void* const q = memory.allocate(30);
    EXPECT_EQ(asked, "abababc") << "each time from the first step on";
    asked.clear();
    void* const r = memory.allocate(70);
    EXPECT_EQ(r, nullptr);
    EXPECT_EQ(asked, "abcabcabcabcabcabcabc") << "six that free something, and one round in vain";
    EXPECT_EQ(memory.refused_count(), 1u);
    memory.deallocate(p, 10);
    memory.deallocate(q, 30);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(reclaim_order, equal_steps_are_asked_in_the_order_of_construction_while_they_exist) {
    three_sources s{10};
    auto& [heap, memory, asked, a, b, c] = s;
    reclaim_order order;
    memory.set_handler(&reclaim_order::ask, &order);
    void* const p = memory.allocate(10);
    EXPECT_EQ(memory.allocate(1), nullptr) << "an order without steps refuses";
    {
        const reclaim_order::step one{order, 1, &source::free_one, &a};
        const reclaim_order::step two{order, 1, &source::free_one, &b};
        const reclaim_order::step three{order, 1, &source::free_one, &c};
        EXPECT_EQ(memory.allocate(1), nullptr);
        EXPECT_EQ(asked, "abc");
    }
    EXPECT_EQ(memory.allocate(1), nullptr);
    EXPECT_EQ(asked, "abc") << "a step that has ended is not asked";
    memory.deallocate(p, 10);
}

}  // namespace
