// Behaviours of cairn/os/thread_identity.hpp.
#include <cairn/os/thread_identity.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/ending_thread.hpp"
#include "support/rendezvous.hpp"

using namespace cairn;

TEST(thread_identity, stays_the_same_as_long_as_the_thread_lives) {
    const unsigned number = thread_number();
    const auto serial = thread_serial();
    EXPECT_LT(number, detail::thread_number_limit);
    EXPECT_NE(serial, 0u);
    EXPECT_EQ(thread_number(), number);
    EXPECT_EQ(thread_serial(), serial);
}

TEST(thread_identity, living_threads_have_the_lowest_numbers_each_its_own) {
    (void)thread_number();  // this thread counts too
    constexpr std::size_t count = 24;
    std::vector<unsigned> numbers(count);
    test::rendezvous all_have_one{count};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            numbers[i] = thread_number();
            all_have_one.arrive_and_wait();
        });
    }
    for (auto& t : threads) { t.join(); }
    numbers.push_back(thread_number());
    std::sort(numbers.begin(), numbers.end());
    for (unsigned i = 0; i <= count; ++i) { EXPECT_EQ(numbers[i], i) << "dense"; }
    EXPECT_EQ(detail::thread_number_bound(), count + 1);
}

TEST(thread_identity, a_number_comes_back_with_the_exit_of_its_thread_and_a_serial_never) {
    std::set<unsigned> numbers;
    std::set<std::uint64_t> serials{thread_serial()};
    for (int i = 0; i < 200; ++i) {
        std::thread{[&] {
            numbers.insert(thread_number());
            serials.insert(thread_serial());
        }}.join();
    }
    EXPECT_EQ(numbers.size(), 1u) << "one after the other, they all had the same number";
    EXPECT_EQ(serials.size(), 201u);
}

TEST(thread_identity, a_slot_can_be_taken_over_from_an_exited_thread_without_a_lock) {
    // Plain ints indexed by thread number; thread sanitizer watches the hand-over.
    std::vector<int> slots(detail::thread_number_limit + 1);
    std::atomic<int> started{0};
    std::vector<std::thread> runners;
    for (int r = 0; r < 3; ++r) {
        runners.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                std::thread{[&] {
                    ++slots[thread_number()];
                    started.fetch_add(1, std::memory_order_relaxed);
                }}.join();
            }
        });
    }
    for (auto& t : runners) { t.join(); }
    int sum = 0;
    for (const int n : slots) { sum += n; }
    EXPECT_EQ(sum, 300);
    EXPECT_EQ(started.load(), 300);
}

namespace {
std::atomic<unsigned> late_number{0};
struct asks_late {
    bool armed = false;
    ~asks_late() {
        if (armed) { late_number = thread_number(); }
    }
};
thread_local asks_late late;
}  // namespace

#if defined(HAS_ENDING_THREADS)
TEST(thread_identity, destructors_of_thread_local_objects_still_have_the_number) {
    unsigned own = detail::thread_number_limit;
    std::thread{[&] {
        late.armed = true;  // made before the number, so destroyed after it
        own = thread_number();
    }}.join();
    EXPECT_LT(own, detail::thread_number_limit);
    EXPECT_EQ(late_number.load(), own);
}

TEST(thread_identity, asked_after_it_went_back_it_is_the_shared_number) {
    unsigned own = detail::thread_number_limit;
    unsigned after = 0;
    in_ending_thread(
        key_round_count, [&] { after = thread_number(); }, [&] { own = thread_number(); });
    EXPECT_LT(own, detail::thread_number_limit);
    EXPECT_EQ(after, detail::thread_number_limit);
    unsigned next = detail::thread_number_limit;
    std::thread{[&] { next = thread_number(); }}.join();
    EXPECT_EQ(next, own) << "and nothing was lost by asking";
}

TEST(thread_identity, first_asked_for_in_an_ending_thread_a_number_still_goes_back) {
    for (int round = 1; round < key_round_count; ++round) {
        unsigned late_one = detail::thread_number_limit;
        in_ending_thread(round, [&] { late_one = thread_number(); });
        unsigned next = detail::thread_number_limit;
        std::thread{[&] { next = thread_number(); }}.join();
        EXPECT_LT(late_one, detail::thread_number_limit);
        EXPECT_EQ(next, late_one) << "round " << round;
    }
}
#endif

TEST(thread_identity, the_bound_never_falls) {
    test::rendezvous all{10};
    std::vector<std::thread> threads;
    for (int i = 0; i < 10; ++i) {
        threads.emplace_back([&] {
            (void)thread_number();
            all.arrive_and_wait();
        });
    }
    for (auto& t : threads) { t.join(); }
    const unsigned bound = detail::thread_number_bound();
    EXPECT_GE(bound, 10u);
    std::thread{[] { (void)thread_number(); }}.join();  // a low number again
    EXPECT_EQ(detail::thread_number_bound(), bound);
}
