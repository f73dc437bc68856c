// reserve() and shrink_to_fit() of cairn/owners/shared_handle.hpp and
// cairn/owners/deferred_store.hpp: room that is paid for before the frame, and given back.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/deferred_store.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct lamp {
    int number = 0;
};
template <class K = value>
struct window {
    field<K, int> number = 0;
};
using oldest_first = slot_policy<32, 20, reuse::fifo, 300>;

template <class Store>
class store_with_room : public testing::Test {};
using stores = testing::Types<shared_store<slot_map<lamp>>, shared_store<stable_slot_map<lamp>>,
                              shared_store<slot_map<lamp, oldest_first>, atomic_count>,
                              shared_store<stable_slot_map<lamp>, atomic_count>,
                              shared_store<slot_table<window<>, soa>>,
                              deferred_store<slot_map<lamp>>, deferred_store<stable_slot_map<lamp>>,
                              deferred_store<slot_table<window<>, soa>>>;
TYPED_TEST_SUITE(store_with_room, stores);

template <class Store>
using owners_of = std::vector<decltype(std::declval<Store&>().make())>;

constexpr std::size_t many = 900;  // cells come up to 960; a map that keeps slots free has 1200

}  // namespace

TYPED_TEST(store_with_room, no_object_within_a_reserve_asks_the_upstream) {
    test_upstream memory;
    TypeParam store{memory};
    owners_of<TypeParam> owners;
    owners.push_back(store.make());
    ASSERT_TRUE(store.reserve(many));
    const std::size_t asked = memory.request_count();
    // Twice: which slots an insertion takes depends on what was erased before.
    for (int round = 0; round != 2; ++round) {
        while (owners.size() != many) {
            owners.push_back(store.make());
            ASSERT_TRUE(owners.back());
        }
        EXPECT_EQ(memory.request_count(), asked);
        owners.clear();
        (void)store.collect();
    }
    EXPECT_TRUE(store.reserve(many)) << "it is there already";
    EXPECT_EQ(memory.request_count(), asked);
}

TYPED_TEST(store_with_room, a_reserve_that_is_refused_at_any_request_leaves_objects_and_handles) {
    for (std::size_t refused = 0;; ++refused) {
        test_upstream memory;
        TypeParam store{memory};
        const auto first = store.make();
        const auto weak = first.handle();
        const std::size_t size = store.objects().size();
        memory.refuse_from(memory.request_count() + refused);
        const bool had = store.reserve(many);
        memory.refuse_nothing();
        EXPECT_EQ(store.objects().size(), size);
        EXPECT_TRUE(store.objects().contains(weak));
        const auto second = store.make();
        EXPECT_TRUE(second);
        if (had) {
            EXPECT_GE(refused, 2u) << "of the map's and of the cells' requests each was refused";
            break;
        }
        EXPECT_TRUE(store.reserve(many)) << "once there is memory again";
    }
}

TYPED_TEST(store_with_room, more_than_handles_can_name_is_refused_before_anything_is_asked_for) {
    test_upstream memory;
    TypeParam store{memory};
    EXPECT_FALSE(store.reserve(std::numeric_limits<std::size_t>::max()));
    EXPECT_EQ(memory.request_count(), 0u);
}

TYPED_TEST(store_with_room, shrink_to_fit_gives_back_what_a_peak_took) {
    test_upstream memory;
    TypeParam store{memory};
    ASSERT_TRUE(store.shrink_to_fit()) << "there is nothing to give back";
    owners_of<TypeParam> owners;
    for (int round = 0; round != 2; ++round) {
        while (owners.size() != 20'000) { owners.push_back(store.make()); }
        const std::size_t peak = memory.live_size();
        while (owners.size() != 20) { owners.pop_back(); }
        (void)store.collect();
        ASSERT_TRUE(store.shrink_to_fit());
        EXPECT_LT(memory.live_size(), peak / 4);
        for (const auto& owner : owners) { EXPECT_TRUE(store.objects().contains(owner.handle())); }
        store.objects().validate();
    }
    owners.clear();
    (void)store.collect();
    ASSERT_TRUE(store.shrink_to_fit());
    EXPECT_EQ(memory.live_size(), 0u) << "the cells go, too";
    owners.push_back(store.make());
    EXPECT_TRUE(owners.back());
}

TYPED_TEST(store_with_room, objects_that_wait_keep_their_cells_when_the_store_shrinks) {
    TypeParam store{destroys::in_collect};
    owners_of<TypeParam> owners;
    while (owners.size() != 2000) { owners.push_back(store.make()); }
    while (owners.size() != 1000) { owners.pop_back(); }
    ASSERT_TRUE(store.shrink_to_fit());
    EXPECT_EQ(store.objects().size(), 2000u);
    owners.clear();
    (void)store.collect({.steps = 1500});
    ASSERT_TRUE(store.shrink_to_fit());
    EXPECT_EQ(store.objects().size(), 500u);
    (void)store.collect();
    EXPECT_EQ(store.objects().size(), 0u);
}
