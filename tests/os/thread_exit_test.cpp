// What cairn/os/inside/thread_exit.hpp promises.
#include <cairn/os/inside/thread_exit.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/ending_thread.hpp"

#if !defined(_WIN32)
#    include <pthread.h>
#endif

using cairn::detail::thread_exit;

namespace {

std::atomic<int> total{0};
constinit thread_exit adds{[](void* number) noexcept { total += *static_cast<int*>(number); }};

}  // namespace

TEST(thread_exit, calls_the_function_once_with_the_argument_of_each_thread_that_watches) {
    total = 0;
    int numbers[] = {1, 20, 300};
    for (int& n : numbers) {
        std::thread{[&] {
            const int before = total;
            EXPECT_TRUE(adds.watch(&n));
            EXPECT_EQ(total, before) << "not before it ends";
        }}.join();
    }
    std::thread{[] {}}.join();
    EXPECT_EQ(total, 321);
}

TEST(thread_exit, a_later_argument_replaces_the_earlier_one) {
    total = 0;
    int one = 1;
    int two = 2;
    std::thread{[&] {
        EXPECT_TRUE(adds.watch(&one));
        EXPECT_TRUE(adds.watch(&two));
    }}.join();
    EXPECT_EQ(total, 2);
}

TEST(thread_exit, threads_that_watch_first_at_the_same_time_are_all_called_for) {
    for (int round = 0; round < 50; ++round) {
        static std::atomic<int> calls{0};
        calls = 0;
        thread_exit fresh{[](void*) noexcept { ++calls; }};
        std::atomic<int> waiting{0};
        const auto watch = [&] {
            int mine = 0;
            ++waiting;
            while (waiting != 2) { std::this_thread::yield(); }
            EXPECT_TRUE(fresh.watch(&mine));
        };
        std::thread one{watch};
        std::thread two{watch};
        one.join();
        two.join();
        ASSERT_EQ(calls, 2);
    }
}

TEST(thread_exit, when_the_object_is_gone_threads_end_without_it) {
    static std::atomic<int> calls{0};
    auto unloaded = std::make_unique<thread_exit>([](void*) noexcept { ++calls; });
    std::atomic<int> step{0};
    std::thread t{[&] {
        int mine = 0;
        EXPECT_TRUE(unloaded->watch(&mine));
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
    }};
    while (step != 1) { std::this_thread::yield(); }
    unloaded.reset();
    step = 2;
    t.join();
    EXPECT_EQ(calls, 0);
}

#if !defined(_WIN32)
TEST(thread_exit, watches_no_thread_where_the_system_has_no_key_left) {
    std::vector<pthread_key_t> keys;
    for (pthread_key_t k{}; pthread_key_create(&k, nullptr) == 0;) { keys.push_back(k); }
    thread_exit late{[](void*) noexcept {}};
    int mine = 0;
    EXPECT_FALSE(late.watch(&mine));
    for (const pthread_key_t k : keys) { pthread_key_delete(k); }
    EXPECT_TRUE(late.watch(&mine)) << "the next call asks again";
}
#endif

#if defined(HAS_ENDING_THREADS)
TEST(thread_exit, first_watched_in_an_ending_thread_it_still_calls) {
    for (int round = 1; round < key_round_count; ++round) {
        total = 0;
        int one = 1;
        in_ending_thread(round, [&] { EXPECT_TRUE(adds.watch(&one)); });
        EXPECT_EQ(total, 1) << "round " << round;
    }
}

TEST(thread_exit, calls_after_the_destructors_of_thread_local_objects) {
    static std::atomic<int> seen_by_destructor{-1};
    struct looks {
        bool armed = false;
        ~looks() {
            if (armed) { seen_by_destructor = total.load(); }
        }
    };
    total = 0;
    int one = 1;
    std::thread{[&] {
        EXPECT_TRUE(adds.watch(&one));
        thread_local looks late;
        late.armed = true;
    }}.join();
    EXPECT_EQ(seen_by_destructor, 0);
    EXPECT_EQ(total, 1);
}
#endif
