// Behaviours of cairn/alloc/concurrent_budget.hpp beside other threads.
#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"
#if !defined(_WIN32)
#    include "support/forking.hpp"
#endif

using namespace cairn;

namespace {

template <class B>
void work(B& memory, unsigned seed, std::atomic<std::size_t>& live, std::atomic<bool>& exceeded) {
    std::mt19937 random{seed};
    std::vector<std::pair<void*, std::size_t>> mine;
    for (int op = 0; op < 10'000; ++op) {
        const std::size_t size = 16 * (1 + random() % 60);
        if (random() % 3 != 0) {
            if (void* const p = memory.allocate(size)) {
                mine.emplace_back(p, size);
                if (live.fetch_add(size) + size > memory.limit_size()) { exceeded = true; }
            }
        } else if (!mine.empty()) {
            std::swap(mine[random() % mine.size()], mine.back());
            live.fetch_sub(mine.back().second);
            memory.deallocate(mine.back().first, mine.back().second);
            mine.pop_back();
        }
    }
    for (const auto& [p, size] : mine) {
        live.fetch_sub(size);
        memory.deallocate(p, size);
    }
}

template <class B>
void check_threads(B& memory) {
    std::atomic<std::size_t> live{0};
    std::atomic<bool> exceeded{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] { work(memory, t, live, exceeded); });
    }
    for (int i = 0; i < 100; ++i) { EXPECT_LE(memory.live_size(), memory.limit_size()); }
    for (auto& t : threads) { t.join(); }
    EXPECT_FALSE(exceeded) << "the limit holds at every moment";
    EXPECT_GT(memory.refused_count(), 0u);
    EXPECT_LE(memory.peak_size(), memory.limit_size());
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(concurrent_budget, many_threads_never_have_more_than_the_limit) {
    concurrent_budget memory{300'000};  // of the C library
    check_threads(memory);
    concurrent_budget<concurrent_heap> own{300'000};
    check_threads(own);
}

TEST(concurrent_budget, what_an_ended_thread_held_serves_the_next_one) {
    concurrent_budget memory{100'000};
    for (int i = 0; i < 50; ++i) {
        std::thread{[&] { memory.deallocate(memory.allocate(64), 64); }}.join();
    }
    EXPECT_EQ(memory.live_size(), 0u);
    const std::size_t credit = 6'400;  // a sixteenth and 64 bytes: of the one number that they had
    void* const p = memory.allocate(100'000 - credit);
    EXPECT_NE(p, nullptr);
    memory.deallocate(p, 100'000 - credit);
}

TEST(concurrent_budget, a_thread_may_give_its_credit_back) {
    concurrent_budget memory{100'000};
    std::thread{[&] {
        memory.deallocate(memory.allocate(64), 64);
        memory.release_this_thread();
    }}.join();
    void* const p = memory.allocate(100'000);
    EXPECT_NE(p, nullptr);
    memory.deallocate(p, 100'000);
}

TEST(concurrent_budget, a_thread_beyond_the_last_credit_uses_the_shared_count) {
    concurrent_budget memory{1'000'000};
    std::atomic<int> waiting{0};
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 70; ++t) {
        threads.emplace_back([&] {
            void* const p = memory.allocate(100);
            EXPECT_NE(p, nullptr);
            ++waiting;
            while (!ends) { std::this_thread::yield(); }
            memory.deallocate(p, 100);
        });
    }
    while (waiting != 70) { std::this_thread::yield(); }
    EXPECT_EQ(memory.live_size(), 7'000u);
    ends = true;
    for (auto& t : threads) { t.join(); }
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(concurrent_budget, one_thread_at_a_time_is_in_the_handler) {
    struct state {
        concurrent_budget<system_allocator> memory{20'000};
        std::atomic<int> inside{0};
        std::atomic<int> asked{0};
    } s;
    s.memory.set_handler(
        [](void* context, const budget_request& r) noexcept {
            auto& mine = *static_cast<state*>(context);
            EXPECT_EQ(mine.inside.fetch_add(1), 0);
            mine.memory.set_limit_size(r.limit_size + 1'000);
            ++mine.asked;
            mine.inside.fetch_sub(1);
            return true;
        },
        &s);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&s] {
            std::vector<void*> blocks;
            for (int i = 0; i < 200; ++i) { blocks.push_back(s.memory.allocate(300)); }
            for (void* p : blocks) {
                EXPECT_NE(p, nullptr);
                s.memory.deallocate(p, 300);
            }
        });
    }
    for (auto& t : threads) { t.join(); }
    EXPECT_GT(s.asked.load(), 0);
    EXPECT_EQ(s.memory.refused_count(), 0u);
}

/// A handler that waits until both budgets are in theirs, and allocates from the other one.
struct two_budgets {
    concurrent_budget<system_allocator> memory[2]{concurrent_budget<system_allocator>{1'000},
                                                  concurrent_budget<system_allocator>{1'000}};
    std::atomic<int> inside{0};
};

template <int Other>
bool allocates_from(void* context, const budget_request&) noexcept {
    auto& both = *static_cast<two_budgets*>(context);
    ++both.inside;
    while (both.inside < 2) { std::this_thread::yield(); }
    EXPECT_EQ(both.memory[Other].allocate(900), nullptr) << "refused unasked";
    return false;
}

TEST(concurrent_budget, handlers_of_two_budgets_may_allocate_from_each_other) {
    two_budgets both;
    both.memory[0].set_handler(&allocates_from<1>, &both);
    both.memory[1].set_handler(&allocates_from<0>, &both);
    std::vector<std::thread> threads;
    for (auto& memory : both.memory) {
        threads.emplace_back([&memory] {
            void* const p = memory.allocate(900);
            EXPECT_EQ(memory.allocate(900), nullptr);
            memory.deallocate(p, 900);
        });
    }
    for (auto& t : threads) { t.join(); }
}

#if !defined(_WIN32)
TEST(concurrent_budget, the_child_of_a_fork_asks_although_another_thread_was_in_the_handler) {
    if (under_tsan) { GTEST_SKIP() << "a child of a threaded program"; }
    struct state {
        concurrent_budget<system_allocator> memory{1'000};
        std::atomic<bool> is_inside{false};
        std::atomic<bool> ends{false};
    } s;
    s.memory.set_handler(
        [](void* context, const budget_request&) noexcept {
            auto& mine = *static_cast<state*>(context);
            mine.is_inside = true;
            while (!mine.ends) { std::this_thread::yield(); }
            return false;
        },
        &s);
    void* const p = s.memory.allocate(900);
    std::thread other{[&s] { EXPECT_EQ(s.memory.allocate(900), nullptr); }};
    while (!s.is_inside) { std::this_thread::yield(); }
    EXPECT_TRUE(child_finds([&s] {
        s.ends = true;
        s.is_inside = false;
        return s.memory.allocate(900) == nullptr && s.is_inside;
    }));
    s.ends = true;
    other.join();
    s.memory.deallocate(p, 900);
}

TEST(concurrent_budget, the_child_of_a_fork_asks_although_an_older_turn_ended_before) {
    if (under_tsan) { GTEST_SKIP() << "a child of a threaded program"; }
    struct asked {
        concurrent_budget<system_allocator> memory{1'000};
        std::atomic<bool> is_inside{false};
        std::atomic<bool> ends{false};
        std::thread thread;

        void ask() {
            memory.set_handler(
                [](void* context, const budget_request&) noexcept {
                    auto& mine = *static_cast<asked*>(context);
                    mine.is_inside = true;
                    while (!mine.ends) { std::this_thread::yield(); }
                    return false;
                },
                this);
            thread = std::thread{[this] { EXPECT_EQ(memory.allocate(1'000), nullptr); }};
            while (!is_inside) { std::this_thread::yield(); }
        }
        void end() {
            ends = true;
            if (thread.joinable()) { thread.join(); }
        }
    } older, newer;
    for (asked* a : {&older, &newer}) {
        ASSERT_TRUE(a->memory.try_charge(900));
        a->ask();
    }
    older.end();
    EXPECT_TRUE(child_finds([&newer] {
        newer.ends = true;
        newer.is_inside = false;
        return newer.memory.allocate(1'000) == nullptr && newer.is_inside;
    }));
    newer.end();
}

TEST(concurrent_budget, a_handler_that_forks_keeps_its_turn_in_the_child) {
    if (under_tsan) { GTEST_SKIP() << "a child of a threaded program"; }
    struct state {
        concurrent_budget<system_allocator> memory{1'000};
        std::atomic<int> inside{0};
        std::atomic<bool> asks{false};
        bool child_is_right = false;
    } s;
    ASSERT_TRUE(s.memory.try_charge(900));
    s.memory.set_handler(
        [](void* context, const budget_request&) noexcept {
            auto& mine = *static_cast<state*>(context);
            if (++mine.inside != 1) { return false; }
            mine.child_is_right = child_finds([&mine] {
                std::thread{[&mine] {
                    mine.asks = true;
                    (void)mine.memory.allocate(1'000);
                }}.detach();
                while (!mine.asks) { std::this_thread::yield(); }
                std::this_thread::sleep_for(std::chrono::milliseconds{20});  // long enough to ask
                return mine.inside == 1;
            });
            return false;
        },
        &s);
    EXPECT_EQ(s.memory.allocate(1'000), nullptr);
    EXPECT_TRUE(s.child_is_right);
}

TEST(concurrent_budget, a_handler_that_forks_goes_on_in_the_child) {
    if (under_tsan) { GTEST_SKIP() << "a child of a threaded program"; }
    concurrent_budget<system_allocator> memory{1'000};
    static bool child_is_right;
    child_is_right = false;
    memory.set_handler(
        [](void* context, const budget_request&) noexcept {
            auto& mine = *static_cast<concurrent_budget<system_allocator>*>(context);
            child_is_right = child_finds([&mine] { return mine.allocate(1'000) == nullptr; });
            return false;
        },
        &memory);
    void* const p = memory.allocate(900);
    EXPECT_EQ(memory.allocate(900), nullptr);
    EXPECT_TRUE(child_is_right);
    memory.deallocate(p, 900);
}
#endif

}  // namespace
