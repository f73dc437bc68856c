// What cairn/alloc/concurrent_heap.hpp promises to several threads.
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/ending_thread.hpp"
#include "support/rendezvous.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_heap;
using namespace cairn::literals;

constexpr int thread_count = 4;

struct block {
    std::byte* p = nullptr;
    std::size_t size = 0;
};

block make(concurrent_heap& h, std::mt19937& random, unsigned char fill) {
    const unsigned long dice = random() % 100;
    const std::size_t size = 1 + random() % (dice < 80 ? 300 : dice < 98 ? 20'000 : 300'000);
    auto* const p = static_cast<std::byte*>(h.allocate(size));
    if (p != nullptr) {
        p[0] = std::byte{fill};
        p[size - 1] = std::byte{fill};
    }
    return {p, size};
}

template <class F>
void in_threads(F f) {
    cairn::test::rendezvous start{thread_count};
    std::vector<std::thread> threads;
    for (int i = 0; i < thread_count; ++i) {
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            f(i);
        });
    }
    for (std::thread& t : threads) { t.join(); }
}

// Each block passes through a table of atomic places, so most are freed by another thread.
TEST(concurrent_heap_threads, blocks_pass_from_thread_to_thread) {
    concurrent_heap h;
    struct parcel {
        block what;
        unsigned char fill;
    };
    std::vector<std::atomic<parcel*>> places(500);
    std::atomic<int> wrong{0};
    const int count = under_tsan ? 4000 : 20'000;
    in_threads([&](int me) {
        std::mt19937 random{static_cast<unsigned>(me)};
        for (int i = 0; i < count; ++i) {
            auto* const memory = h.allocate(sizeof(parcel));
            if (memory == nullptr) { continue; }
            const auto fill = static_cast<unsigned char>(random());
            auto* mine = ::new (memory) parcel{make(h, random, fill), fill};
            mine = places[random() % places.size()].exchange(mine);
            if (mine != nullptr) {
                const block b = mine->what;
                const bool good = b.p == nullptr || (b.p[0] == std::byte{mine->fill} &&
                                                     b.p[b.size - 1] == std::byte{mine->fill});
                wrong += good ? 0 : 1;
                if (i % 3 == 0) {
                    h.deallocate(b.p);
                } else {
                    h.deallocate(b.p, b.size);
                }
                h.deallocate(mine, sizeof(parcel));
            }
            if (i % 1000 == 999) { h.trim({.steps = 3}); }
            if (i % 500 == 250 + me) { h.release_this_thread(); }
            if (i % 700 == 0) { (void)h.stats(); }
        }
    });
    EXPECT_EQ(wrong, 0);
    for (auto& place : places) {
        if (parcel* const p = place.load()) {
            h.deallocate(p->what.p, p->what.size);
            h.deallocate(p, sizeof(parcel));
        }
    }
    h.validate();
    EXPECT_EQ(h.stats().live_size, 0u);
    EXPECT_EQ(h.stats().cache_count, 1u) << "ended threads gave their caches back";
}

TEST(concurrent_heap_threads, random_use_with_an_upstream_that_refuses_now_and_then) {
    test_upstream upstream;
    struct serial {  // test_upstream takes one thread at a time, and so the heap calls it
        test_upstream& u;
        std::atomic<int> inside{0};
        std::atomic<int> at_once{0};
        void* allocate(std::size_t size, alignment align) noexcept {
            at_once += inside++ != 0;
            void* const p = ++count % 4 == 0 ? nullptr : u.allocate(size, align);
            --inside;
            return p;
        }
        void deallocate(void* p, std::size_t size, alignment align) noexcept {
            at_once += inside++ != 0;
            u.deallocate(p, size, align);
            --inside;
        }
        int count = 0;
    } refusing{upstream};
    {
        concurrent_heap h{refusing};
        in_threads([&](int me) {
            std::mt19937 random{static_cast<unsigned>(100 + me)};
            std::vector<block> mine(300);
            for (int i = 0; i < (under_tsan ? 3000 : 15'000); ++i) {
                block& b = mine[random() % mine.size()];
                h.deallocate(b.p, b.size);
                b = make(h, random, 1);
                if (i % 2000 == 1999) { h.trim(); }
            }
            for (const block& b : mine) { h.deallocate(b.p, b.size); }
        });
        h.validate();
        EXPECT_EQ(h.stats().live_size, 0u);
    }
    EXPECT_EQ(refusing.at_once, 0) << "one thread at a time asks upstream";
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(concurrent_heap_threads, sleeping_threads_keep_at_most_their_bound_and_nothing_after_release) {
    for (const bool release : {false, true}) {
        concurrent_heap h;
        std::vector<std::vector<block>> blocks(thread_count);
        for (int i = 0; i < thread_count; ++i) {
            std::mt19937 random{static_cast<unsigned>(i)};
            for (int k = 0; k < 3000; ++k) {
                blocks[static_cast<std::size_t>(i)].push_back(make(h, random, 1));
            }
        }
        std::atomic<int> asleep{0};
        std::atomic<bool> awake{false};
        std::vector<std::thread> threads;
        for (auto& mine : blocks) {
            threads.emplace_back([&] {
                for (const block& b : mine) { h.deallocate(b.p, b.size); }
                if (release) { h.release_this_thread(); }
                ++asleep;
                while (!awake) { std::this_thread::yield(); }
            });
        }
        while (asleep != thread_count) { std::this_thread::yield(); }
        h.trim();
        const auto s = h.stats();
        EXPECT_EQ(s.live_size, 0u);
        EXPECT_EQ(s.waiting_size, 0u);
        EXPECT_LE(s.cached_size, thread_count * 1_MiB);
        if (release) {
            EXPECT_EQ(s.used_size, 0u);
            EXPECT_EQ(s.segment_size, 0u);
        }
        awake = true;
        for (std::thread& t : threads) { t.join(); }
        h.trim();
        EXPECT_EQ(h.stats().used_size, 0u) << "a thread that ends gives its cache back";
    }
}

// Three threads take what 200 MiB of chunks have, free it at random, and sleep with small caches.
TEST(concurrent_heap_threads, a_cache_keeps_as_many_chunks_as_it_has_slots_at_most) {
    using cairn::detail::heap_cache;
    constexpr std::size_t cache_size = 4_KiB;
    constexpr int sleepers = 3;
    concurrent_heap h{{.cache_size_max = cache_size}};
    std::vector<block> blocks;
    std::mt19937 random{3};
    for (int i = 0; i < 100'000; ++i) {  // not touched: addresses alone
        const std::size_t size = 1 + random() % 4096;
        blocks.push_back({static_cast<std::byte*>(h.allocate(size)), size});
    }
    h.release_this_thread();
    ASSERT_GT(h.stats().used_size, 200_MiB);
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::atomic<int> asleep{0};
    std::atomic<bool> awake{false};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < sleepers; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = t; i < blocks.size(); i += sleepers) {
                h.deallocate(blocks[i].p, blocks[i].size);
            }
            ++asleep;
            while (!awake) { std::this_thread::yield(); }
            h.release_this_thread();
            --asleep;
            while (awake) { std::this_thread::yield(); }
        });
    }
    while (asleep != sleepers) { std::this_thread::yield(); }
    h.trim();
    EXPECT_LE(h.stats().used_size,
              sleepers * heap_cache::slot_count_max(cache_size) * cairn::detail::unit_size);
    awake = true;
    while (asleep != 0) { std::this_thread::yield(); }
    h.trim();
    EXPECT_LE(h.stats().segment_size, 2_MiB) << "after release_this_thread() in each";
    awake = false;
    for (std::thread& t : threads) { t.join(); }
}

TEST(concurrent_heap_threads, a_thread_heeds_a_trim_in_its_slow_path) {
    concurrent_heap h;
    std::atomic<int> step{0};
    std::thread other{[&] {
        std::vector<void*> blocks;
        for (int i = 0; i < 200; ++i) { blocks.push_back(h.allocate(64)); }
        for (void* p : blocks) { h.deallocate(p, 64); }
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
        h.deallocate(h.allocate(5000), 5000);  // the first of its class: the slow path
        step = 3;
        while (step != 4) { std::this_thread::yield(); }
    }};
    while (step != 1) { std::this_thread::yield(); }
    EXPECT_GT(h.stats().cached_size, 0u);
    h.trim();
    EXPECT_GT(h.stats().cached_size, 0u) << "of another thread";
    step = 2;
    while (step != 3) { std::this_thread::yield(); }
    EXPECT_LE(h.stats().cached_size, 8 * h.good_size(5000));
    step = 4;
    other.join();
}

TEST(concurrent_heap_threads, a_storm_of_threads_that_begin_and_end) {
    concurrent_heap h;
    std::vector<void*> handed_on(64);
    for (int round = 0; round < (under_tsan ? 40 : 200); ++round) {
        std::thread{[&] {
            for (void*& p : handed_on) {
                h.deallocate(p);
                p = h.allocate(static_cast<std::size_t>(round) * 7 % 3000);
            }
        }}.join();
        ASSERT_EQ(h.stats().cache_count, 0u);
    }
    for (void* p : handed_on) { h.deallocate(p); }
    h.validate();
    EXPECT_EQ(h.stats().live_size, 0u);
}

struct late_user {
    concurrent_heap* heap = nullptr;
    void* p = nullptr;
    ~late_user() {
        if (heap == nullptr) { return; }
        heap->deallocate(p);
        for (std::size_t i = 0; i < 20; ++i) { heap->deallocate(heap->allocate(i * 100)); }
    }
};

TEST(concurrent_heap_threads, works_in_destructors_of_thread_local_objects) {
    concurrent_heap h;
    std::thread{[&] {
        thread_local late_user early;
        early.p = h.allocate(100);
        early.heap = &h;
    }}.join();
    EXPECT_EQ(h.stats().live_size, 0u);
    EXPECT_EQ(h.stats().cache_count, 0u);
    h.validate();
}

#if defined(HAS_ENDING_THREADS)
TEST(concurrent_heap_threads, a_thread_that_is_ending_works_through_locks) {
    for (int round = 1; round <= key_round_count; ++round) {
        concurrent_heap h;
        void* const p = h.allocate(100);
        in_ending_thread(
            round,
            [&] {
                h.deallocate(p);
                h.deallocate(h.allocate(50));
            },
            [&] { h.deallocate(h.allocate(200)); });
        EXPECT_EQ(h.stats().live_size, 0u) << "round " << round;
        h.validate();
    }
}
#endif

TEST(concurrent_heap_threads, a_heap_may_end_before_the_threads_that_used_it) {
    std::atomic<int> step{0};
    auto h = std::make_unique<concurrent_heap>();
    std::thread other{[&] {
        h->deallocate(h->allocate(100), 100);
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
        concurrent_heap next;
        next.deallocate(next.allocate(100), 100);
    }};
    while (step != 1) { std::this_thread::yield(); }
    h.reset();
    h = std::make_unique<concurrent_heap>();
    step = 2;
    other.join();
    EXPECT_EQ(h->stats().cache_count, 0u);
}

TEST(concurrent_heap_threads, views_travel_and_give_back_what_they_hold) {
    concurrent_heap h;
    auto view = h.local();
    void* const p = view.allocate(64);
    std::thread{[&] { view.deallocate(p, 64); }}.join();
    EXPECT_EQ(h.stats().live_size, 0u);
    {
        auto moved = std::move(view);
        EXPECT_EQ(&moved.heap(), &h);
        moved.deallocate(moved.allocate(64));
    }
    EXPECT_EQ(h.stats().cached_size, 0u);
    EXPECT_EQ(h.stats().cache_count, 0u);
}

}  // namespace
