// Sentences of cairn/alloc/concurrent_pool.hpp about its slots, by one thread and few calls.
// Threads: concurrent_pool_threads; fork: concurrent_pool_fork_test.cpp; its magazines:
// magazines_test.cpp.
#include <cairn/alloc/concurrent_pool.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::allocator_ref;
using cairn::concurrent_pool;

template <class Pool>
std::vector<void*> take_all(Pool& p, std::size_t count_max = SIZE_MAX) {
    std::vector<void*> slots;
    while (slots.size() < count_max) {
        void* const s = p.allocate();
        if (s == nullptr) { break; }
        slots.push_back(s);
    }
    return slots;
}

TEST(concurrent_pool, a_serial_leads_to_its_entry_of_a_threads_table) {
    using cairn::detail::pool_caches;
    std::set<std::uint64_t> serials;
    for (std::uint64_t number = 1; number < 5; ++number) {
        for (std::size_t at = 0; at < pool_caches::entry_count; ++at) {
            const std::uint64_t serial = pool_caches::make_serial(number, at);
            EXPECT_NE(serial, 0u) << "which stands for none";
            EXPECT_EQ(pool_caches::entry_of(serial), at);
            EXPECT_EQ(serial % sizeof(pool_caches::entries),
                      at * sizeof(cairn::detail::cache_entry))
                << "its lower bits are the way there, in bytes";
            serials.insert(serial);
        }
    }
    EXPECT_EQ(serials.size(), 4 * pool_caches::entry_count) << "none comes twice";
}

TEST(concurrent_pool, a_thread_finds_in_its_second_table_what_its_first_one_has_no_room_for) {
    using cairn::detail::pool_caches;
    constexpr std::size_t first_count = pool_caches::entry_count;
    const auto second = std::make_unique<cairn::detail::second_cache_table>();
    std::set<const void*> entries;
    for (std::uint64_t number = 1; number <= second->entry_count; ++number) {
        entries.insert(&second->at(pool_caches::make_serial(number, 3), first_count));
    }
    EXPECT_EQ(entries.size(), second->entry_count)
        << "owners that were made one after the other have different entries";
    pool_caches first{};
    cairn::detail::thread_cache cache;
    const std::uint64_t serial = pool_caches::make_serial(7, 3);
    EXPECT_EQ(&first.at(serial), &first.entries[3]);
    EXPECT_EQ(first.find_second(serial), nullptr) << "there is no second table";
    first.state.second = second.get();
    EXPECT_EQ(first.find_second(serial), nullptr);
    second->at(serial, first_count) = {serial, &cache};
    EXPECT_EQ(first.find_second(pool_caches::make_serial(7 + second->entry_count, 3)), nullptr)
        << "the entry is that of another owner";
    EXPECT_EQ(first.find_second(serial), &cache);
    EXPECT_EQ(first.at(serial).cache, &cache);
}

TEST(concurrent_pool, keeps_its_cache_of_a_thread_that_uses_more_pools_than_its_table_has_entries) {
    std::vector<std::unique_ptr<concurrent_pool>> pools;
    std::vector<void*> last;
    for (int i = 0; i < 100; ++i) {
        pools.push_back(std::make_unique<concurrent_pool>(std::size_t{64}));
        last.push_back(pools.back()->allocate());
    }
    for (int turn = 0; turn < 3; ++turn) {
        for (std::size_t i = 0; i < pools.size(); ++i) {
            pools[i]->deallocate(last[i]);
            EXPECT_EQ(pools[i]->allocate(), last[i]) << "the slot that this thread freed last";
        }
    }
    // A pool that this thread leaves, and one that ends, are not found by their old entries.
    pools[7]->deallocate(last[7]);
    pools[7]->release_this_thread();
    pools[7]->deallocate(pools[7]->allocate());
    pools[8]->deallocate(last[8]);
    pools[8] = std::make_unique<concurrent_pool>(std::size_t{32});
    pools[8]->deallocate(pools[8]->allocate());
    for (std::size_t i = 0; i < pools.size(); ++i) {
        if (i != 7 && i != 8) { pools[i]->deallocate(last[i]); }
        pools[i]->validate();
        EXPECT_EQ(pools[i]->stats().live_count, 0u) << i;
    }
}

TEST(concurrent_pool, keeps_the_contract_of_all_allocators) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        test_upstream upstream;
        concurrent_pool p{200, alignment{128}, upstream, {.magazine_size = seed}};
        check_allocator_contract(p, seed);
        concurrent_pool of_one_size{48, alignment{16}, upstream};
        check_allocator_contract(of_one_size, seed,
                                 {.size_max = 48, .align_log2_max = 4, .fixed_size = true});
        auto view = p.local();
        check_allocator_contract(view, seed);
    }
}

TEST(concurrent_pool, takes_no_memory_before_the_first_allocation) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream};
    EXPECT_EQ(upstream.request_count(), 0u);
    p.deallocate(p.allocate());
    EXPECT_GT(upstream.request_count(), 0u);
}

TEST(concurrent_pool, one_thread_gets_every_slot_of_a_bounded_pool) {
    for (const std::size_t magazine_size : {1u, 2u, 7u, 64u}) {
        for (const std::size_t n : {1u, 2u, 7u, 100u, 1000u}) {
            test_upstream upstream;
            concurrent_pool p{
                24,
                alignment{8},
                upstream,
                {.slot_count_max = n, .magazine_size = magazine_size, .whole_cache_lines = false}};
            EXPECT_EQ(p.magazine_size(), magazine_size);
            auto slots = take_all(p);
            EXPECT_EQ(slots.size(), n);
            EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), n);
            for (void* s : slots) { p.deallocate(s); }
            p.validate();
            EXPECT_EQ(p.stats().live_count, 0u);
            EXPECT_EQ(take_all(p).size(), n) << "again";
            p.reset();
            EXPECT_EQ(p.stats().live_count, 0u);
            EXPECT_EQ(take_all(p).size(), n) << "and after reset";
            p.validate();
        }
    }
}

TEST(concurrent_pool, good_size_is_that_of_a_slot_unless_more_is_asked_for) {
    const concurrent_pool p{64, alignment{64}};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{64}}) {
        EXPECT_EQ(p.good_size(size, alignment{1}), p.slot_size());
    }
    EXPECT_EQ(p.good_size(65, alignment{1}), 65u);
}

TEST(concurrent_pool, first_addresses_ascend_within_a_magazine) {
    concurrent_pool p{32, alignment{32}, cairn::system_memory(), {.magazine_size = 16}};
    auto slots = take_all(p, 16);
    EXPECT_TRUE(std::is_sorted(slots.begin(), slots.end()));
}

TEST(concurrent_pool, fresh_slots_of_different_threads_never_share_a_cache_line) {
    for (const std::size_t size : {1u, 8u, 24u, 40u, 64u, 100u}) {
        test_upstream upstream;
        // 70 slots are no whole number of magazines: a chunk ends with a part of one.
        concurrent_pool p{size,
                          alignment{1},
                          upstream,
                          {.slots_per_chunk = 70, .chunk_size_max = 1, .magazine_size = 1}};
        for (const std::size_t count : {70u, 140u, 210u}) { ASSERT_TRUE(p.reserve(count)); }
        std::map<std::uintptr_t, int> owner_of_line;
        std::vector<concurrent_pool::local_view> views;
        for (int i = 0; i < 3; ++i) { views.push_back(p.local()); }
        for (int round = 0; round < 200; ++round) {
            for (int v = 0; v < 3; ++v) {
                const auto first =
                    reinterpret_cast<std::uintptr_t>(views[static_cast<std::size_t>(v)].allocate());
                for (std::uintptr_t line = first / 64; line <= (first + size - 1) / 64; ++line) {
                    EXPECT_EQ(owner_of_line.emplace(line, v).first->second, v);
                }
            }
        }
    }
}

TEST(concurrent_pool, a_thread_without_magazines_misses_one_magazine_more_than_the_slack) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 64, .magazine_size = 8}};
    auto hoarder = p.local();
    auto slots = take_all(hoarder);
    for (void* s : slots) { hoarder.deallocate(s); }
    upstream.refuse_from(upstream.request_count());  // no memory for magazines of this thread
    EXPECT_EQ(p.slack(), 0u);
    slots = take_all(p);
    EXPECT_EQ(slots.size(), 64u - 8u);
    EXPECT_EQ(p.stats().cache_count, 1u);
    for (void* s : slots) { p.deallocate(s); }
    p.validate();
    EXPECT_EQ(p.stats().live_count, 0u);
    upstream.refuse_nothing();
}

TEST(concurrent_pool, its_owner_may_call_the_upstream_while_the_pool_does_not) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slots_per_chunk = 8, .magazine_size = 1}};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {  // test_upstream has no lock
            for (void* s : take_all(p, 200)) { p.deallocate(s); }
        });
    }
    for (int i = 0; i < 200; ++i) {
        void* const block = p.with_upstream([](allocator_ref u) { return u.allocate(100); });
        ASSERT_NE(block, nullptr);
        p.with_upstream([block](allocator_ref u) { u.deallocate(block, 100); });
    }
    for (auto& t : threads) { t.join(); }
    EXPECT_EQ(p.with_upstream([](allocator_ref u) { return u; }), allocator_ref{upstream});
    p.validate();
}

TEST(concurrent_pool, parked_magazines_of_others_are_taken_when_nothing_else_is_left) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 64, .magazine_size = 8}};
    auto hoarder = p.local();
    auto starving = p.local();
    auto slots = take_all(hoarder);
    ASSERT_EQ(slots.size(), 64u);
    for (void* s : slots) { hoarder.deallocate(s); }  // 48 in the depot, 8 parked, 8 loaded
    EXPECT_EQ(p.slack(), 8u);
    EXPECT_EQ(take_all(starving).size(), 56u) << "all but the slack";
    p.validate();
}

TEST(concurrent_pool, a_view_gives_back_what_it_holds_when_it_dies) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 40, .magazine_size = 8}};
    {
        auto view = p.local();
        auto slots = take_all(view);
        for (void* s : slots) { view.deallocate(s); }
        auto moved = std::move(view);
        moved.deallocate(moved.allocate());
        EXPECT_EQ(&moved.pool(), &p);
    }
    EXPECT_EQ(p.stats().cache_count, 0u);
    EXPECT_EQ(take_all(p).size(), 40u);
}

TEST(concurrent_pool, after_reserve_no_upstream_is_needed) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.magazine_size = 8}};
    EXPECT_TRUE(p.reserve(1000, 3));
    const std::size_t requests = upstream.request_count();
    EXPECT_TRUE(p.reserve(1000, 3));
    EXPECT_EQ(upstream.request_count(), requests) << "again costs nothing";
    EXPECT_EQ(p.stats().cache_count, 0u) << "the caches wait for threads";
    upstream.refuse_from(0);
    auto slots = take_all(p);
    EXPECT_EQ(slots.size(), 1000u);
    for (void* s : slots) { p.deallocate(s); }
    std::thread{[&] {
        for (void* s : take_all(p, 500)) { p.deallocate(s); }
    }}.join();
    EXPECT_GE(upstream.request_count(), requests);
    EXPECT_FALSE(p.reserve(1001));
    p.validate();
}

TEST(concurrent_pool, without_memory_for_a_cache_it_works_through_a_lock) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.slot_count_max = 20, .magazine_size = 4}};
    EXPECT_TRUE(p.reserve(20));
    upstream.refuse_from(0);
    auto view = p.local();
    auto slots = take_all(view);
    EXPECT_EQ(slots.size(), 20u);
    for (void* s : slots) { p.deallocate(s); }
    std::thread{[&] {
        for (void* s : take_all(p, 10)) { p.deallocate(s); }
    }}.join();
    EXPECT_EQ(p.stats().live_count, 0u);
    EXPECT_EQ(p.stats().cache_count, 0u);
    p.validate();
}

TEST(concurrent_pool, a_view_without_memory_does_not_use_the_threads_own_cache) {
    test_upstream upstream;
    concurrent_pool p{64, alignment{64}, upstream, {.magazine_size = 4}};
    EXPECT_TRUE(p.reserve(20));
    upstream.refuse_from(0);
    auto view = p.local();
    upstream.refuse_nothing();
    auto slots = take_all(view, 100);  // the upstream gives what slots need
    EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), 100u);
    auto moved = std::move(view);
    for (void* s : slots) { moved.deallocate(s); }
    EXPECT_EQ(p.stats().cache_count, 0u) << "neither this thread nor the view has magazines";
    p.validate();
    auto with_memory = p.local();
    EXPECT_EQ(p.stats().cache_count, 1u);
}

TEST(concurrent_pool, trim_gives_back_every_chunk_without_a_live_slot) {
    test_upstream upstream;
    concurrent_pool p{64,
                      alignment{64},
                      upstream,
                      {.slots_per_chunk = 32, .chunk_size_max = 2048, .magazine_size = 8}};
    auto slots = take_all(p, 320);
    ASSERT_EQ(p.stats().slot_count, 320u);
    EXPECT_EQ(p.trim(), 0u) << "all slots are live";
    const auto kept = std::partition(slots.begin(), slots.end(), [](void* s) {
        return reinterpret_cast<std::uintptr_t>(s) % 4096 < 64;
    });
    for (auto i = kept; i != slots.end(); ++i) { p.deallocate(*i); }
    const std::size_t before = p.stats().upstream_size;
    const std::size_t bytes = p.trim();
    EXPECT_EQ(p.stats().upstream_size, before - bytes);
    const auto live = static_cast<std::size_t>(kept - slots.begin());
    EXPECT_EQ(p.stats().live_count, live);
    EXPECT_LE(p.stats().slot_count, 32 * live) << "a chunk stays for each live slot at most";
    EXPECT_EQ(p.trim(), 0u) << "again there is nothing";
    p.validate();
    // Growth uses the magazines of the chunks that went, and addresses that may be the same.
    auto more = take_all(p, 320);
    EXPECT_EQ(std::set<void*>(more.begin(), more.end()).size(), 320u);
    for (void* s : more) { p.deallocate(s); }
    for (auto i = slots.begin(); i != kept; ++i) { p.deallocate(*i); }
    p.validate();
    EXPECT_GT(p.trim(), 0u);
    EXPECT_EQ(p.stats().slot_count, 0u);
    EXPECT_EQ(p.stats().live_count, 0u);
    p.validate();
}

TEST(concurrent_pool, a_trim_stops_at_its_limit) {
    concurrent_pool p{64,
                      alignment{64},
                      cairn::system_memory(),
                      {.slots_per_chunk = 32, .chunk_size_max = 2048, .magazine_size = 8}};
    for (void* s : take_all(p, 320)) { p.deallocate(s); }
    p.release_this_thread();
    std::size_t calls = 0;
    while (p.stats().slot_count != 0 && calls < 100) {
        (void)p.trim({.steps = 4});
        p.validate();
        ++calls;
    }
    EXPECT_GE(calls, 10u) << "40 magazines and 10 chunks";
    EXPECT_LE(calls, 15u);
}

TEST(concurrent_pool, other_caches_keep_their_chunks_until_they_heed_a_trim) {
    concurrent_pool p{64,
                      alignment{64},
                      cairn::system_memory(),
                      {.slots_per_chunk = 16, .chunk_size_max = 1024, .magazine_size = 8}};
    std::optional<concurrent_pool::local_view> other{p.local()};
    auto slots = take_all(*other, 64);
    for (void* s : slots) { other->deallocate(s); }
    EXPECT_EQ(p.stats().cached_count, 16u) << "two magazines";
    (void)p.trim();
    EXPECT_EQ(p.stats().cached_count, 16u);
    EXPECT_GE(p.stats().slot_count, 16u);
    slots = take_all(*other, 40);  // its slow path heeds the trim
    for (void* s : slots) { other->deallocate(s); }
    p.validate();
    EXPECT_EQ(p.stats().live_count, 0u);
    other.reset();
    (void)p.trim();
    EXPECT_EQ(p.stats().slot_count, 0u);
}

// A cache remembers the chunk in which it found a slot last. The next chunk may lie at its address.
TEST(concurrent_pool, a_chunk_at_the_place_of_one_that_went_is_a_new_one) {
    concurrent_pool p{
        64, alignment{64}, cairn::system_memory(), {.slots_per_chunk = 64, .magazine_size = 8}};
    std::vector<std::unique_ptr<char[]>> others;  // where a checked build had the states of slots
    for (int round = 0; round < 20; ++round) {
        {
            auto other = p.local();
            auto slots = take_all(p, 20);
            for (void* s : slots) { other.deallocate(s); }  // what it saw last is in this chunk
            slots = take_all(other, 30);
            for (void* s : slots) { p.deallocate(s); }
        }
        p.release_this_thread();
        (void)p.trim();
        EXPECT_EQ(p.stats().slot_count, 0u);
        p.validate();
        others.push_back(std::make_unique<char[]>(64 + sizeof(unsigned)));
    }
}

TEST(concurrent_pool, depot_operations_are_rare) {
    concurrent_pool p{64, alignment{64}};
    auto slots = take_all(p, 10'000);
    for (void* s : slots) { p.deallocate(s); }
    const std::size_t before = p.stats().depot_operations;
    std::mt19937 random{5};
    std::size_t operations = 0;
    for (int round = 0; round < 20; ++round) {
        slots = take_all(p, 200 + random() % 2000);
        operations += 2 * slots.size();
        for (void* s : slots) { p.deallocate(s); }
    }
    EXPECT_LE((p.stats().depot_operations - before) * 1000, operations * 16);
}

TEST(concurrent_pool, free_slots_are_poisoned_and_live_ones_are_not) {
    if (!cairn::detail::poison_is_queryable) { GTEST_SKIP() << "only where a checker answers"; }
    concurrent_pool p{64, alignment{64}};
    auto* const a = static_cast<std::byte*>(p.allocate());
    EXPECT_FALSE(cairn::is_poisoned(a + 63));
    EXPECT_TRUE(cairn::is_poisoned(a + 64));
    p.deallocate(a);
    EXPECT_TRUE(cairn::is_poisoned(a));
}

}  // namespace
