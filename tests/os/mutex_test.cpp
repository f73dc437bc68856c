// What cairn/os/mutex.hpp promises.
#include <cairn/os/mutex.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using cairn::lock_scope;
using cairn::mutex;

// First, so that the process has one thread when it runs.
TEST(mutex, locked_by_the_only_thread_it_keeps_out_threads_made_later) {
    mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock());
    std::atomic<int> step{0};
    std::thread other{[&] {
        step = 1;
        m.lock();
        step = 2;
        m.unlock();
    }};
    while (step != 1) { std::this_thread::yield(); }
    // Long enough that it has stopped looking and sleeps; when not, the test shows less.
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_EQ(step, 1);
    m.unlock();
    other.join();
    EXPECT_EQ(step, 2);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST(mutex, one_thread_is_inside_at_a_time_and_no_sleeper_is_forgotten) {
    mutex m;
    long count = 0;
    constexpr long turns = 20'000;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (long i = 0; i < turns; ++i) {
                const lock_scope held{m};
                ++count;
                if (i % 5000 == 1000 * t) {  // others fall asleep meanwhile
                    std::this_thread::sleep_for(std::chrono::microseconds{200});
                }
            }
        });
    }
    for (auto& t : threads) { t.join(); }
    EXPECT_EQ(count, 4 * turns);
}

TEST(mutex, is_free_after_its_holder_is_forgotten) {
    mutex m;
    m.lock();
    m.forget_holder();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

}  // namespace
