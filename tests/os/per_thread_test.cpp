// Behaviours of cairn/os/per_thread.hpp.
#include <cairn/os/per_thread.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/ending_thread.hpp"
#include "support/rendezvous.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Runs f(i) on `count` threads that all live at the same time.
template <class F>
void on_threads(std::size_t count, F f) {
    test::rendezvous all_started{count};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            (void)thread_number();
            all_started.arrive_and_wait();
            f(i);
        });
    }
    for (auto& t : threads) { t.join(); }
}

std::size_t sum(per_thread<std::size_t>& counter) {
    return counter.combine(std::size_t{0}, std::plus{});
}

}  // namespace

TEST(per_thread, counts_without_losing_one_and_without_atomics) {
    per_thread<std::size_t> hits{16};
    on_threads(6, [&](std::size_t) {
        for (int i = 0; i < 10000; ++i) {
            hits.update([](std::size_t& n) { ++n; });
        }
    });
    EXPECT_EQ(sum(hits), 60000u);
}

TEST(per_thread, threads_beyond_the_capacity_share_one_value_under_a_lock) {
    (void)thread_number();  // this thread has a number, so the others begin at 1
    per_thread<std::size_t> hits{2};
    on_threads(6, [&](std::size_t) {
        for (int i = 0; i < 2000; ++i) {
            hits.update([](std::size_t& n) { ++n; });
        }
        EXPECT_EQ(hits.local() != nullptr, thread_number() < 2);
    });
    EXPECT_EQ(sum(hits), 12000u);
}

TEST(per_thread, each_value_is_alone_on_its_cache_lines) {
    struct odd {
        char bytes[70];
    };
    per_thread<odd> values{4};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_TRUE(detail::is_aligned(&values.at(i), detail::cache_line_alignment));
    }
    EXPECT_GE(reinterpret_cast<char*>(&values.at(1)) - reinterpret_cast<char*>(&values.at(0)), 128);
}

TEST(per_thread, a_value_may_be_aligned_to_a_page) {
    struct alignas(4096) page {
        int number = 0;
    };
    per_thread<page> values{2};
    values.for_each([](page& p) {
        EXPECT_TRUE(detail::is_aligned(&p, alignment{4096}));
        ++p.number;
    });
    EXPECT_EQ(values.at(1).number, 1);
}

TEST(per_thread, a_value_stays_for_the_next_thread_with_the_number) {
    per_thread<std::size_t> hits{8};
    for (int i = 0; i < 10; ++i) {
        std::thread{[&] { hits.update([](std::size_t& n) { ++n; }); }}.join();
    }
    std::size_t used = 0;
    hits.for_each([&](std::size_t n) { used += n != 0 ? 1 : 0; });
    EXPECT_EQ(used, 1u);
    EXPECT_EQ(sum(hits), 10u);
}

TEST(per_thread, workers_may_use_numbers_of_their_own) {
    constexpr std::size_t workers = 5;
    per_thread<std::vector<std::size_t>> found{workers};
    on_threads(workers, [&](std::size_t worker) {
        for (std::size_t i = 0; i < 100; ++i) { found.at(worker).push_back(worker); }
    });
    for (std::size_t w = 0; w < workers; ++w) {
        EXPECT_EQ(found.at(w), std::vector<std::size_t>(100, w));
    }
    if (asserts_enabled) {
        EXPECT_DEATH((void)found.at(workers), "a worker's index is below the capacity");
    }
}

TEST(per_thread, atomic_values_can_be_read_while_others_write) {
    per_thread<std::atomic<std::size_t>> hits{16};
    std::atomic<bool> stop{false};
    std::thread writer{[&] {
        while (!stop) {
            hits.update([](auto& n) { n.fetch_add(1, std::memory_order_relaxed); });
        }
    }};
    const auto read = [&] {
        std::size_t total = 0;
        hits.for_each([&](auto& n) { total += n.load(std::memory_order_relaxed); });
        return total;
    };
    std::size_t last = 0;
    while (last < 1000) {
        const std::size_t now = read();
        EXPECT_GE(now, last);
        last = now;
    }
    stop = true;
    writer.join();
}

TEST(per_thread, values_are_made_in_place_and_everything_goes_back) {
    test_upstream heap;
    {
        struct numbered {
            std::size_t index;
            std::unique_ptr<int> owned;
            explicit numbered(std::size_t i) : index{i}, owned{std::make_unique<int>(1)} {}
            numbered(const numbered&) = delete;  // nor moved
        };
        per_thread<numbered> values{3, heap, [](std::size_t i) { return numbered{i}; }};
        EXPECT_EQ(values.at(2).index, 2u);
        std::size_t last = 0;
        values.for_each([&](numbered& n) { last = n.index; });
        EXPECT_EQ(last, 3u) << "the shared one";
        EXPECT_EQ(heap.live_count(), 1u);
    }
    EXPECT_EQ(heap.live_count(), 0u);
}

TEST(per_thread, without_memory_all_threads_share) {
    test_upstream heap;
    heap.refuse_from(0);
    per_thread<std::size_t> hits{100, heap};
    EXPECT_EQ(hits.capacity(), 0u);
    on_threads(3, [&](std::size_t) {
        for (int i = 0; i < 100; ++i) {
            hits.update([](std::size_t& n) { ++n; });
        }
    });
    EXPECT_EQ(sum(hits), 300u);
    per_thread<std::size_t> absurd{SIZE_MAX / 8, heap};
    EXPECT_EQ(absurd.capacity(), 0u);
}

#if defined(__cpp_exceptions)
TEST(per_thread, a_throwing_constructor_leaves_nothing_behind) {
    test_upstream heap;
    static int alive = 0;
    struct fragile {
        explicit fragile(std::size_t i) {
            if (i == 2) { throw 1; }
            ++alive;
        }
        fragile(const fragile&) = delete;
        ~fragile() { --alive; }
    };
    EXPECT_THROW((per_thread<fragile>{5, heap, [](std::size_t i) { return fragile{i}; }}), int);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(heap.live_count(), 0u);
}
#endif

#if defined(HAS_ENDING_THREADS)
TEST(per_thread, the_number_that_threads_share_has_no_slot) {
    per_thread<int> more_than_numbers{detail::thread_number_limit + 1};
    int* before = nullptr;
    int* late = nullptr;
    in_ending_thread(
        key_round_count, [&] { late = more_than_numbers.local(); },
        [&] { before = more_than_numbers.local(); });
    EXPECT_NE(before, nullptr);
    EXPECT_EQ(late, nullptr);
}
#endif

TEST(per_thread, a_function_that_comes_back_is_named_before_it_waits_for_itself) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    constexpr const char* sentence =
        "a function that a per_thread calls does not use the same per_thread";
    const auto update = expect_broken_promise([] {
        per_thread<int> all{0};
        all.update([&](int&) { all.update([](int& n) { ++n; }); });
    });
    EXPECT_STREQ(update.sentence(), sentence) << update;
    const auto loop = expect_broken_promise([] {
        per_thread<int> all{0};
        all.for_each([&](int&) { all.update([](int& n) { ++n; }); });
    });
    EXPECT_STREQ(loop.sentence(), sentence) << loop;
    per_thread<int> all{0};
    all.update([](int& n) { ++n; });
    all.update([](int& n) { ++n; });
    EXPECT_EQ(all.combine(0, std::plus{}), 2);
}
