// What cairn/alloc/concurrent_pool.hpp promises about fork(): at any moment, whatever others are doing.
#include <gtest/gtest.h>

#if !defined(_WIN32)

#    include <algorithm>
#    include <array>
#    include <atomic>
#    include <cstdio>
#    include <memory>
#    include <thread>
#    include <vector>

#    include <cairn/alloc/concurrent_pool.hpp>

#    include "support/forking.hpp"
#    include "support/sanitizers.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

/// No vector: AddressSanitizer's malloc does not follow a fork (gcc 12), so that a child waits for ever
/// for a lock that another thread of its parent had.
class slot_list {
public:
    void add(void* slot) { slots_.at(size_++) = slot; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] auto begin() { return slots_.begin(); }
    [[nodiscard]] auto end() { return slots_.begin() + static_cast<std::ptrdiff_t>(size_); }

private:
    std::array<void*, 512> slots_;
    std::size_t size_ = 0;
};

slot_list take_all(concurrent_pool& p, std::size_t count_max = SIZE_MAX) {
    slot_list slots;
    while (slots.size() < count_max) {
        void* const s = p.allocate();
        if (s == nullptr) { break; }
        slots.add(s);
    }
    return slots;
}

/// In a child: everything but `lost_max` slots can be had, once, again and again.
bool goes_on(concurrent_pool& p, std::size_t slot_count, std::size_t lost_max) {
    for (int round = 0; round < 2; ++round) {
        auto slots = take_all(p);
        std::sort(slots.begin(), slots.end());
        const bool once = std::adjacent_find(slots.begin(), slots.end()) == slots.end();
        if (!once || slots.size() > slot_count || slots.size() + lost_max < slot_count ||
            p.stats().slot_count != slot_count) {
            return false;
        }
        for (void* s : slots) { p.deallocate(s); }
        p.validate();
        if (p.stats().live_count + slots.size() != slot_count) { return false; }
        p.release_this_thread();
    }
    p.reset();
    p.validate();
    const bool all_there = take_all(p).size() == slot_count;
    p.~concurrent_pool();  // walks over all that it had; the child ends without looking at it again
    return all_there;
}

TEST(concurrent_pool_fork, the_child_goes_on_while_others_take_and_free) {
    if (under_tsan) { GTEST_SKIP() << "TSan does not follow a fork of many threads"; }
    concurrent_pool p{
        64, alignment{64}, cairn::system_memory(), {.slot_count_max = 400, .magazine_size = 8}};
    std::atomic<bool> stop{false};
    std::atomic<int> running{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            ++running;
            while (!stop) {
                for (void* s : take_all(p, 30)) { p.deallocate(s); }
            }
        });
    }
    while (running != 2) { std::this_thread::yield(); }
    void* const mine = p.allocate();
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(child_finds([&] {
            p.deallocate(mine);
            return goes_on(p, 400, 2 * (30 + 2 * 8));  // live, and two magazines each
        }));
    }
    stop = true;
    for (auto& t : threads) { t.join(); }
    p.deallocate(mine);
    p.validate();
    EXPECT_EQ(p.stats().live_count, 0u);
}

// ------------------------------------------------------------------------------------------------
// another thread is inside a growth

constexpr std::size_t slot_count = 12;
constexpr cairn::concurrent_pool::options tiny{
    .slots_per_chunk = 2,
    .chunk_size_max = 64,
    .slot_count_max = slot_count,
    .magazine_size = 1,
    .whole_cache_lines = false,
};

TEST(concurrent_pool_fork, the_child_goes_on_while_another_thread_waits_for_the_upstream) {
    if (under_tsan) { GTEST_SKIP() << "TSan does not follow a fork of many threads"; }
    for (int request = 0;; ++request) {
        SCOPED_TRACE(request);
        auto upstream = std::make_unique<stopping_upstream>();
        upstream->requests_left = request;
        concurrent_pool p{16, alignment{16}, *upstream, tiny};
        std::atomic<bool> ended{false};
        std::thread other{[&] {
            (void)take_all(p, 5);
            ended = true;
        }};
        while (!upstream->stopped && !ended) { std::this_thread::yield(); }
        if (!upstream->stopped) {
            other.join();
            EXPECT_GE(request, 7) << "requests: two growths and a cache at least";
            break;
        }
        EXPECT_TRUE(child_finds([&] {
            upstream->requests_left = -1;
            return goes_on(p, slot_count, 5 + 2);
        }));
        upstream->may_go_on = true;
        other.join();
        p.validate();
        EXPECT_EQ(take_all(p).size(), slot_count - 5);
    }
}

#    if defined(__linux__) && defined(__x86_64__)

TEST(concurrent_pool_fork, the_child_goes_on_from_every_instruction_of_another_thread) {
    if (under_tsan || cairn::detail::poison_is_queryable) {
        GTEST_SKIP() << "steps through the library";
    }
    auto upstream = std::make_unique<stopping_upstream>();
    concurrent_pool p{16, alignment{16}, *upstream, tiny};
    void* slots[5] = {};
    const forks done = forks_at_each_change(
        p, *upstream,
        [&] {
            for (void*& slot : slots) { slot = p.allocate(); }  // grows three times
            for (void* slot : slots) { p.deallocate(slot); }
            p.release_this_thread();
        },
        [&] { return goes_on(p, slot_count, 5 + 2); });
    EXPECT_TRUE(done.all_good) << "at fork " << done.count;
    EXPECT_GT(done.count, 50);
    std::printf("%d forks\n", done.count);
    p.validate();
    EXPECT_EQ(take_all(p).size(), slot_count);
}

#    endif

}  // namespace

#endif
