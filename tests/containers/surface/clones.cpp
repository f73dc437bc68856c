// The same word does the same in every container (docs/containers.md): clones.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/clone.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "containers/map_model.hpp"
#include "containers/surface/every_container.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace surface_tests;

TYPED_TEST(every_container, a_clone_is_equal_and_lives_alone) {
    test_upstream upstream;
    TypeParam all;
    for (int i = 0; i < 500; ++i) { EXPECT_TRUE(add(all, i)); }
    auto copy = clone(all, upstream);
    ASSERT_TRUE(copy);
    EXPECT_EQ(ids(*copy), ids(all));
    EXPECT_TRUE(are_equal(*copy, all));
    copy->validate();
    EXPECT_TRUE(add(*copy, 1000));
    EXPECT_FALSE(are_equal(*copy, all));
    EXPECT_EQ(all.size(), 500u);
    EXPECT_EQ(all.erase_if([](const auto&) { return true; }), 500u);
    EXPECT_EQ(copy->size(), 501u);
    copy->validate();
    const auto nothing = clone(all, upstream);
    ASSERT_TRUE(nothing);
    EXPECT_TRUE(nothing->empty());
}

TYPED_TEST(every_container, a_clone_that_finds_no_memory_is_none) {
    TypeParam all;
    for (int i = 0; i < 500; ++i) { EXPECT_TRUE(add(all, i)); }
    int refused = 0;
    for (std::size_t n = 0;; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n, 1000000);
        const auto copy = clone(all, upstream);
        if (copy) { break; }
        ++refused;
    }
    EXPECT_GE(refused, 1);
    EXPECT_EQ(all.size(), 500u);
    all.validate();
}

TYPED_TEST(every_map, handles_stay_valid_in_a_clone) {
    TypeParam map;
    std::vector<typename TypeParam::handle_type> all;
    for (int i = 0; i < 3000; ++i) { all.push_back(map.emplace(i, 0)); }
    std::vector<typename TypeParam::handle_type> gone;
    for (int i = 0; i < 3000; ++i) {
        if (i % 7 == 0) {
            gone.push_back(all[static_cast<std::size_t>(i)]);
            EXPECT_TRUE(map.erase(gone.back()));
        } else if (i % 11 == 0) {
            gone.push_back(all[static_cast<std::size_t>(i)]);
            EXPECT_TRUE(map.retire(gone.back(), 1));
        }
    }
    const auto later = map.promise_handle();
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    copy->validate();
    EXPECT_TRUE(*copy == map);
    EXPECT_EQ(copy->pending_count(), 0u) << "what is retired stays with the original";
    for (int i = 0; i < 3000; ++i) {
        const auto h = all[static_cast<std::size_t>(i)];
        ASSERT_EQ(copy->contains(h), map.contains(h));
        if (copy->contains(h)) { ASSERT_EQ((*copy)[h].id, i); }
    }
    for (const auto h : gone) { EXPECT_FALSE(copy->contains(h)); }
    EXPECT_TRUE(copy->is_promised(later));
    EXPECT_TRUE(copy->fulfil(later, 77, 0));
    EXPECT_EQ((*copy)[later].id, 77);
    EXPECT_TRUE(map.is_promised(later)) << "the original is as before";
    for (int i = 0; i < 4000; ++i) { EXPECT_TRUE(copy->emplace(i, 1)); }
    for (const auto h : gone) { EXPECT_FALSE(copy->contains(h)) << "a stale handle stays stale"; }
    copy->validate();
    map.clear();
    EXPECT_EQ(map.collect(1), gone.size() - 429u);
    EXPECT_TRUE(copy->contains(all[1]));
    copy->clear();
    copy->validate();
}

TEST(clone, of_objects_whose_copies_throw_leaves_nothing_behind) {
#if defined(__cpp_exceptions)
    using map_model::tracked;
    const auto throws = []<class Map>(Map& map) {
        for (std::uint64_t i = 0; i < 50; ++i) { (void)map.emplace(i); }
        const int before = tracked::alive_count;
        for (const int n : {0, 1, 17, 49}) {
            tracked::throw_at = n;
            EXPECT_THROW((void)clone(map), std::runtime_error);
            tracked::throw_at = -1;
            EXPECT_EQ(tracked::alive_count, before);
        }
        const auto copy = clone(map);
        ASSERT_TRUE(copy);
        EXPECT_EQ(tracked::alive_count, 2 * before);
    };
    tracked::alive_count = 0;
    {
        slot_map<tracked> map;
        throws(map);
        packed_array<tracked> rows;
        map.clear();
        throws(rows);
    }
    EXPECT_EQ(tracked::alive_count, 0);
    {
        stable_slot_map<tracked> map;
        throws(map);
    }
    EXPECT_EQ(tracked::alive_count, 0);
#else
    GTEST_SKIP() << "without exceptions";
#endif
}

TEST(clone, of_slots_that_are_worn_out_keeps_them_so) {
    const auto wears_out = []<class Map>(Map&& map) {
        for (int i = 0; i < 15; ++i) { map.erase(map.emplace(1, 1)); }
        const auto worn_out = map.worn_out_slot_count();
        const auto waits = map.emplace(1, 1);
        EXPECT_TRUE(map.retire(waits, 1));
        auto copy = map.clone();
        ASSERT_TRUE(copy);
        EXPECT_GE(copy->worn_out_slot_count(), worn_out);
        copy->validate();
        copy->recycle_slots(no_handles_left);
        EXPECT_EQ(copy->worn_out_slot_count(), 0u);
        copy->validate();
        // The slot of what waits in the original is as free in the copy as the others.
        bool is_used = false;
        while (const auto h = copy->emplace(1, 1)) { is_used |= h.index() == waits.index(); }
        EXPECT_TRUE(is_used);
        EXPECT_EQ(map.worn_out_slot_count(), worn_out);
        EXPECT_EQ(map.collect(1), 1u);
        map.validate();
    };
    wears_out(slot_map<unit<>, slot_policy<16, 12, reuse::lifo, 1>>{});
    wears_out(slot_map<unit<>, slot_policy<16, 12, reuse::lifo>>{});
    wears_out(stable_slot_map<unit<>, slot_policy<16, 12>>{});
    wears_out(slot_table<unit<>, soa, slot_policy<16, 12, reuse::lifo, 1>>{});
}

TEST(clone, continues_where_lockstep_asks_for_equal_handles) {
    const auto continues = []<class Map>(Map&& map) {
        for (int i = 0; i < 100; ++i) { map.erase(map.emplace(i, i)); }
        auto copy = map.clone();
        ASSERT_TRUE(copy);
        for (int i = 0; i < 200; ++i) {
            const auto h = map.emplace(i, i);
            EXPECT_EQ(copy->emplace(i, i), h);
            if (i % 3 == 0) {
                map.erase(h);
                copy->erase(h);
            }
        }
    };
    const detail::slot_map_options options{.first_generation = 5};
    continues(slot_map<unit<>>{system_memory(), options});
    continues(slot_map<unit<>, slot_policy<64, 32, reuse::fifo>>{system_memory(), options});
    continues(slot_map<unit<>, slot_policy<64, 32, reuse::fifo>>{system_memory(), options});
}
