// Sentences of cairn/owners/unique_handle.hpp and cairn/owners/shared_handle.hpp about counts and
// handles that many threads use.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "owners/handles/doors.hpp"

using namespace cairn;
using namespace handles_tests;

TEST(owners, atomic_counts_wait_for_collect) {
    shared_store<slot_map<door>, atomic_count> store;
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    EXPECT_FALSE(store.lock(weak)) << "about to go: nobody can own it again";
    EXPECT_EQ(door::alive, 1);
    EXPECT_EQ(store.collect(), 1u);
    EXPECT_EQ(door::alive, 0);
    EXPECT_EQ(store.collect(), 0u);
}

TEST(owners, atomic_owners_may_be_copied_and_dropped_by_any_thread) {
    shared_store<slot_map<door>, atomic_count> store;
    using shared = shared_store<slot_map<door>, atomic_count>::shared_type;
    std::vector<shared> owners;
    for (int i = 0; i < 200; ++i) { owners.push_back(store.make(i)); }
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([copies = owners]() mutable {
            for (int round = 0; round < 50; ++round) {
                std::vector<shared> more = copies;
                more.clear();
            }
            copies.clear();
        });
    }
    owners.clear();
    for (std::thread& t : threads) { t.join(); }
    EXPECT_EQ(store.collect(), 200u);
    EXPECT_EQ(door::alive, 0);
}

TEST(owners, what_has_lost_its_last_owner_is_locked_by_none_while_it_waits) {
    shared_store<slot_map<door>> store{system_memory(), destroys::in_collect};
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    EXPECT_EQ(door::alive, 1);
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    EXPECT_EQ(store.collect(), 1u);
    EXPECT_EQ(door::alive, 0);
}

TEST(owners, a_handle_is_not_locked_when_its_slot_has_another_object) {
    shared_store<slot_map<door>> store;
    auto a = store.make(1);
    const auto weak = a.handle();
    a.reset();
    for (int i = 0; i < 1000 && (!a || a.handle().index() != weak.index()); ++i) {
        a = store.make(i);
    }
    ASSERT_EQ(a.handle().index(), weak.index());
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    EXPECT_EQ(a.use_count(), 1u);
}

TEST(owners, collect_inside_a_destructor_leaves_it_to_the_one_that_runs) {
    struct nosy;
    using crowd = shared_store<stable_slot_map<nosy>>;
    struct nosy {
        crowd* all;
        destruction_report* inner;
        ~nosy() { *inner = all->collect(work_limit{}); }
    };
    destruction_report inner[2] = {{9, 9, true}, {9, 9, true}};
    crowd all{system_memory(), destroys::in_collect};
    for (destruction_report& r : inner) { all.make(&all, &r).reset(); }
    EXPECT_EQ(all.collect(), 2u);
    for (const destruction_report& r : inner) {
        EXPECT_EQ(r.objects, 0u);
        EXPECT_FALSE(r.settled);
    }
}

TEST(owners, a_handle_of_another_store_is_locked_in_none) {
    shared_store<stable_slot_map<door>, atomic_count> store;
    shared_store<stable_slot_map<door>, atomic_count> other;
    const auto first = store.make(0);
    const auto a = store.make(1);
    EXPECT_FALSE(other.lock(first.handle())) << "no cell was ever made there";
    EXPECT_FALSE(other.lock(a.handle())) << "nor behind it";
    const auto b = other.make(2);
    EXPECT_FALSE(other.lock(a.handle())) << "the lives of each map begin elsewhere";
    EXPECT_FALSE(other.lock({}));
    EXPECT_EQ(other.use_count(first.handle()), 0u);
    EXPECT_EQ(other.use_count(a.handle()), 0u);
    EXPECT_EQ(other.lock(b.handle())->number, 2);
}

TEST(owners, in_a_stable_map_atomic_owners_find_their_object_without_the_map) {
    shared_store<stable_slot_map<door>, atomic_count> store;
    const auto a = store.make(1);
    const auto weak = a.handle();
    EXPECT_EQ(&*a, static_cast<const door*>(store.objects().find(weak)));
    EXPECT_EQ(a.operator->(), &*a);
    EXPECT_EQ(store.lock(weak)->number, 1);
}

TEST(owners, any_thread_locks_handles_while_the_store_makes_and_collects) {
    using store_type = shared_store<stable_slot_map<door>, atomic_count>;
    using weak_type = store_type::handle_type;
    static constexpr int rounds = 300;
    static constexpr std::size_t shown_count = 64;
    store_type store;
    std::atomic<std::uint64_t> shown[shown_count] = {};  // handles, by relaxed stores
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (!done.load(std::memory_order_relaxed)) {
                for (std::size_t i = 0; i < shown_count; ++i) {
                    const weak_type weak =
                        weak_type::from_raw(shown[i].load(std::memory_order_relaxed));
                    const auto owner = store.lock(weak);
                    if (!owner) { continue; }
                    const auto copy = owner;
                    if (copy->number % static_cast<int>(shown_count) != static_cast<int>(i)) {
                        wrong.fetch_add(1, std::memory_order_relaxed);
                    }
                }
            }
        });
    }
    std::vector<store_type::shared_type> owners(shown_count);
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < shown_count; ++i) {
            owners[i] = store.make(round * static_cast<int>(shown_count) + static_cast<int>(i));
            shown[i].store(owners[i].handle().raw(), std::memory_order_relaxed);
        }
        (void)store.collect({.steps = 100});
    }
    owners.clear();
    done.store(true, std::memory_order_relaxed);
    for (std::thread& t : threads) { t.join(); }
    (void)store.collect();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(store.objects().size(), 0u);
}
