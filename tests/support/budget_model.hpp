// tests/support/budget_model.hpp - what budget and concurrent_budget have in common, as a user sees it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

/// A random run against a model. `counted` returns what the budget counts of a request, in bytes.
template <class Budget, class Counted>
void check_budget_against_model(Budget& memory, int operation_count, Counted counted) {
    std::mt19937 random{3};
    std::vector<std::pair<void*, std::size_t>> live;
    std::size_t size_now = 0;
    for (int op = 0; op < operation_count; ++op) {
        if (random() % 2 == 0 || live.empty()) {
            const std::size_t size = random() % 500;
            void* const p = memory.allocate(size);
            ASSERT_EQ(p != nullptr, size_now + counted(size) <= memory.limit_size());
            if (p != nullptr) {
                live.emplace_back(p, size);
                size_now += counted(size);
            }
        } else {
            std::swap(live[random() % live.size()], live.back());
            memory.deallocate(live.back().first, live.back().second);
            size_now -= counted(live.back().second);
            live.pop_back();
        }
        ASSERT_EQ(memory.live_size(), size_now);
    }
    for (auto [p, size] : live) { memory.deallocate(p, size); }
}

/// A block of a budget of 200 bytes over an arena grows and shrinks; 50 bytes are live in the end.
template <class Budget>
void check_that_growth_is_counted(Budget& memory) {
    void* const p = memory.allocate(100);
    EXPECT_FALSE(memory.try_resize(p, 100, 201));
    EXPECT_TRUE(memory.try_resize(p, 100, 200));
    EXPECT_EQ(memory.live_size(), 200u);
    EXPECT_TRUE(memory.try_resize(p, 200, 50));
    EXPECT_EQ(memory.live_size(), 50u);
}
