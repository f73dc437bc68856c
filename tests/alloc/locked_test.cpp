// What cairn/alloc/locked.hpp and cairn/os/mutex.hpp promise.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/os/inside/upstream_mutex.hpp>
#include <cairn/os/mutex.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::locked;
using cairn::pool;

static_assert(cairn::byte_allocator<locked<pool>> && cairn::has_owns<locked<pool>> &&
              cairn::resettable<locked<pool>> && !cairn::resizes_in_place<locked<pool>>);
static_assert(cairn::resizes_in_place<locked<cairn::allocator_ref>>);
template <class A>
concept frees_without_size = requires(A& a, void* p) { a.deallocate(p); };
template <class A>
concept knows_usable_size = requires(const A& a, void* p) { a.usable_size(p); };
static_assert(frees_without_size<locked<pool>> && !knows_usable_size<locked<pool>>);
static_assert(frees_without_size<locked<cairn::heap<>&>> &&
              knows_usable_size<locked<cairn::heap<>&>>);
static_assert(!frees_without_size<locked<cairn::arena>> &&
              !knows_usable_size<locked<cairn::arena>>);
static_assert(sizeof(locked<pool&>) == (cairn::asserts_enabled ? 3 : 2) * sizeof(void*));

struct watched {
    int* resets;
    int* checks;
    void* allocate(std::size_t, alignment) noexcept { return nullptr; }
    void deallocate(void*, std::size_t, alignment) noexcept {}
    void reset() noexcept { ++*resets; }
    void validate() const noexcept { ++*checks; }
};

TEST(locked, hands_reset_and_validate_on) {
    int resets = 0;
    int checks = 0;
    locked<watched> l{watched{&resets, &checks}};
    l.reset();
    l.validate();
    EXPECT_EQ(resets, 1);
    EXPECT_EQ(checks, 1);
}

struct counted_mutex {
    static inline int held = 0;
    static inline int count = 0;  // calls of lock()
    void lock() noexcept {
        ++held;
        ++count;
    }
    void unlock() noexcept { --held; }
};
/// Expects in each call that the mutex is held once.
struct expects_mutex {
    void* allocate(std::size_t, alignment) noexcept { return seen(); }
    void deallocate(void*, std::size_t, alignment) noexcept { seen(); }
    void reset() noexcept { seen(); }
    static void* seen() noexcept {
        EXPECT_EQ(counted_mutex::held, 1);
        return nullptr;
    }
};

TEST(locked, holds_its_mutex_during_each_call) {
    counted_mutex::count = 0;
    locked<expects_mutex, counted_mutex> memory{expects_mutex{}};
    memory.deallocate(memory.allocate(1, alignment{1}), 1, alignment{1});
    memory.reset();
    memory.with([](expects_mutex& inside) { inside.reset(); });
    EXPECT_EQ(counted_mutex::count, 4);
    EXPECT_EQ(counted_mutex::held, 0);
}

TEST(mutex, lets_one_in_at_a_time) {
    cairn::mutex m;
    long sum = 0;  // not atomic: TSan and the total notice
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                const cairn::lock_scope held{m};
                ++sum;
            }
        });
    }
    for (auto& t : threads) { t.join(); }
    EXPECT_EQ(sum, 80'000);
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(m.try_lock());
    m.unlock();
}

TEST(mutex, wakes_everybody_who_sleeps) {
    cairn::mutex m;
    m.lock();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] { const cairn::lock_scope held{m}; });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // long enough that they sleep
    m.unlock();
    for (auto& t : threads) { t.join(); }
}

TEST(upstream_mutex, lets_one_thread_in_and_knows_it) {
    cairn::detail::upstream_mutex m;
    m.lock();
    std::atomic<bool> is_inside{false};
    std::thread other{[&] {
        EXPECT_FALSE(m.is_mine());
        const cairn::lock_scope held{m};
        EXPECT_TRUE(m.is_mine());
        is_inside = true;
    }};
    std::this_thread::sleep_for(std::chrono::milliseconds{20});  // long enough that it waits
    EXPECT_FALSE(is_inside);
    EXPECT_TRUE(m.is_mine());
    m.unlock();
    other.join();
    EXPECT_TRUE(is_inside);
}

TEST(upstream_mutex, forgets_in_the_child_of_a_fork_who_is_not_there) {
    cairn::detail::upstream_mutex m;
    m.lock();
    m.forget_holder();  // in a call of upstream, which has forked
    EXPECT_TRUE(m.is_mine());
    std::thread{[&] {
        m.forget_holder();
        m.lock();
        m.unlock();
    }}.join();
    EXPECT_FALSE(m.is_mine());
    m.lock();
    std::thread{[&] { m.forget_holder(); }}.join();
    EXPECT_FALSE(m.is_mine());
}

TEST(locked, keeps_the_contract_of_all_allocators) {
    test_upstream upstream;
    locked<pool> owned{std::size_t{128}, alignment{64}, upstream};
    check_allocator_contract(owned, 1, {.size_max = 128, .align_log2_max = 6});
    pool inner{128, alignment{64}, upstream};
    locked referring{inner};
    static_assert(std::is_same_v<decltype(referring), locked<pool&>>);
    check_allocator_contract(referring, 2, {.size_max = 128, .align_log2_max = 6});
    locked<pool, std::mutex> with_std{std::size_t{128}, alignment{64}, upstream};
    check_allocator_contract(with_std, 3, {.size_max = 128, .align_log2_max = 6});
}

TEST(locked, offers_what_a_heap_offers) {
    locked<cairn::heap<>> memory{std::size_t{1} << 16};
    void* const p = memory.allocate(100);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(memory.owns(p));
    EXPECT_GE(memory.usable_size(p), 100u);
    EXPECT_EQ(memory.usable_size(p), memory.good_size(100, cairn::default_alignment));
    EXPECT_TRUE(memory.try_resize(p, 100, 200));
    memory.deallocate(p);
    memory.validate();
    memory.with([&](cairn::heap<>& h) {
        h.for_each_block(
            [&](const cairn::heap_block& b) { EXPECT_NE(b.state, cairn::block_state::used); });
    });
}

TEST(locked, holds_a_copy_of_an_allocator_that_can_be_copied) {
    cairn::system_allocator memory;
    locked<cairn::system_allocator> own{memory};
    own.deallocate(own.allocate(64), 64);
    static_assert(!std::is_constructible_v<locked<cairn::heap<>>, cairn::heap<>&>);
}

TEST(locked, makes_a_pool_safe_for_many_threads) {
    test_upstream upstream;
    locked<pool> slots{sizeof(std::int64_t), alignment{8}, upstream};
    std::vector<std::thread> threads;
    for (std::int64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::vector<std::int64_t*> mine;
            for (int i = 0; i < 5'000; ++i) {
                mine.push_back(
                    static_cast<std::int64_t*>(slots.allocate(sizeof(std::int64_t), alignment{8})));
                *mine.back() = t;
                if (i % 3 == 2) {
                    EXPECT_EQ(*mine[mine.size() / 2], t);
                    slots.deallocate(mine.back(), sizeof(std::int64_t), alignment{8});
                    mine.pop_back();
                }
            }
            for (std::int64_t* p : mine) {
                slots.deallocate(p, sizeof(std::int64_t), alignment{8});
            }
        });
    }
    for (auto& t : threads) { t.join(); }
    slots.validate();
    EXPECT_EQ(slots.with([](pool& p) { return p.stats().live_count; }), 0u);
    EXPECT_TRUE(slots.with([](pool& p) { return p.reserve(10); }));
    slots.reset();
    int elsewhere = 0;
    EXPECT_FALSE(slots.owns(&elsewhere));
    EXPECT_EQ(slots.good_size(1, alignment{1}), sizeof(std::int64_t));
}

struct sounds {
    void* oldest = nullptr;
    void* wrapper = nullptr;
    void* inside = nullptr;
};
using limited = cairn::budget<cairn::system_allocator>;

TEST(locked, lets_the_handler_of_a_budget_free_through_the_budget_inside) {
    locked<limited> memory{std::size_t{1000}};
    sounds kept;
    memory.with([&](limited& b) {
        kept.inside = &b;
        b.set_handler(
            [](void* context, const cairn::budget_request&) noexcept {
                auto& s = *static_cast<sounds*>(context);
                static_cast<limited*>(s.inside)->deallocate(std::exchange(s.oldest, nullptr), 800);
                return true;
            },
            &kept);
    });
    kept.oldest = memory.allocate(800);
    void* const next = memory.allocate(800);
    EXPECT_NE(next, nullptr);
    EXPECT_EQ(kept.oldest, nullptr);
    memory.deallocate(next, 800);
}

TEST(locked, stops_a_checked_build_where_a_callback_would_wait_for_its_own_thread) {
    if (!cairn::asserts_enabled) { GTEST_SKIP(); }
    const auto comes_back = [] {
        locked<limited> memory{std::size_t{1000}};
        memory.with([&](limited&) { (void)memory.allocate(10); });
    };
    EXPECT_DEATH(comes_back(), "a callback of a locked allocator uses the allocator inside");
}

TEST(budget, of_a_limit_alone_limits_the_memory_of_the_c_library) {
    cairn::budget memory{std::size_t{100}};
    static_assert(std::is_same_v<decltype(memory), limited>);
    EXPECT_EQ(memory.allocate(101), nullptr);
}

}  // namespace
