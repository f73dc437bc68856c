// Sentences of cairn/owners/shared_handle.hpp (and of cairn/owners/unique_handle.hpp beside it): when
// the object ends, and which owners are equal.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/owners/shared_handle.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "owners/handles/doors.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace handles_tests;

namespace {
template <class K = value>
struct gate {
    field<K, int> number;
    field<K, float> width = 2;
};
}  // namespace

TYPED_TEST(owners_in, get_is_the_object_or_null) {
    shared_store<TypeParam> store{destroys::in_collect};
    shared_handle<shared_store<TypeParam>> shared;
    EXPECT_FALSE(shared.get());
    shared = store.make(7);
    EXPECT_TRUE(shared.get() == store.objects().find(shared.handle()));
    EXPECT_TRUE(shared.get());
    shared.reset();
    EXPECT_EQ(store.objects().size(), 1u);  // it waits for collect()
    EXPECT_EQ(store.collect(), 1u);

    TypeParam map;
    unique_handle<TypeParam> unique;
    EXPECT_FALSE(unique.get());
    unique = unique_handle<TypeParam>{map, map.emplace(7)};
    EXPECT_TRUE(unique.get() == map.find(unique.handle()));
    map.clear();
    EXPECT_FALSE(unique.get());
}

TYPED_TEST(owners_in, the_last_shared_handle_erases_and_the_handle_is_the_weak_one) {
    shared_store<TypeParam> store;
    typename TypeParam::handle_type weak;
    {
        auto a = store.make(7);
        weak = a.handle();
        EXPECT_EQ(a.use_count(), 1u);
        {
            auto b = a;
            EXPECT_EQ(a.use_count(), 2u);
            auto c = store.lock(weak);
            EXPECT_EQ(c->number, 7);
            EXPECT_EQ(store.use_count(weak), 3u);
            b = std::move(c);
            EXPECT_EQ(store.use_count(weak), 2u);
            EXPECT_TRUE(a == b);
        }
        EXPECT_EQ(a.use_count(), 1u);
        EXPECT_EQ(door::alive, 1);
    }
    EXPECT_EQ(door::alive, 0);
    EXPECT_FALSE(store.lock(weak));
    EXPECT_EQ(store.use_count(weak), 0u);
    auto other = store.make(8);
    EXPECT_FALSE(store.lock(weak)) << "the slot is used again, and the old handle does not match";
}

TEST(owners, rows_of_a_table_have_owners_too) {
    shared_store<slot_table<gate<>, soa>> store;
    auto a = store.make(5);
    EXPECT_EQ(a->number, 5);
    EXPECT_EQ(a->width, 2.0f);
    (*a).width = 3;
    auto b = a;
    EXPECT_EQ(b->width, 3.0f);
    slot_table<gate<>, split_soa> map;
    unique_handle u{map, map.emplace(9)};
    EXPECT_EQ(u->number, 9);
}

TEST(owners, exhausted_stores_give_empty_owners) {
    for (std::size_t refused = 0; refused < 10; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        shared_store<slot_map<door>> store{upstream};
        std::vector<shared_store<slot_map<door>>::shared_type> owners;
        for (int i = 0; i < 200; ++i) {
            if (auto a = store.make(i)) { owners.push_back(a); }
        }
        EXPECT_GE(owners.size(), 198u);
        EXPECT_EQ(static_cast<std::size_t>(door::alive), owners.size());
    }
}

TEST(owners, a_store_without_an_index_left_touches_no_count) {
    shared_store<slot_map<door, slot_policy<16, 7>>> store;
    std::vector<decltype(store)::shared_type> owners;
    while (auto a = store.make(1)) { owners.push_back(std::move(a)); }
    const auto second = owners[0];
    EXPECT_EQ(store.use_count(second.handle()), 2u);
    EXPECT_FALSE(store.make(2));
    EXPECT_EQ(store.use_count(second.handle()), 2u);
    owners.clear();
    EXPECT_EQ(door::alive, 1);
}

namespace {
struct anything {
    virtual ~anything() = default;
};
struct linked {
    int number;
    std::unique_ptr<anything> owned;  // perhaps another one of the same store
};
template <class Store>
struct another_one : anything {
    explicit another_one(shared_handle<Store> p) noexcept : it{std::move(p)} {}
    shared_handle<Store> it;
};

template <class Store>
void check_a_chain() {
    Store store;
    auto before = store.make(1, nullptr);
    auto last = store.make(2, nullptr);
    auto middle = store.make(3, std::make_unique<another_one<Store>>(std::move(last)));
    auto first = store.make(4, std::make_unique<another_one<Store>>(std::move(middle)));
    auto after = store.make(5, nullptr);
    EXPECT_EQ(store.objects().size(), 5u);
    first.reset();
    (void)store.collect();
    EXPECT_EQ(store.objects().size(), 2u);
    EXPECT_EQ(before->number, 1);
    EXPECT_EQ(after->number, 5);
    store.objects().validate();
}
}  // namespace

TEST(owners, an_object_may_own_others_of_its_store) {
    check_a_chain<shared_store<slot_map<linked>>>();
    check_a_chain<shared_store<stable_slot_map<linked>>>();
    check_a_chain<shared_store<slot_map<linked>, atomic_count>>();
}

TEST(owners, are_equal_when_they_own_the_same_object_or_nothing) {
    shared_store<slot_map<door>> one{system_memory(), {.first_generation = 1}};
    shared_store<slot_map<door>> other{system_memory(), {.first_generation = 1}};
    auto a = one.make(1);
    auto b = other.make(1);
    EXPECT_EQ(a.handle(), b.handle()) << "the handles of two stores with the same number are alike";
    EXPECT_FALSE(a == b);
    EXPECT_TRUE(a == one.lock(a.handle()));
    EXPECT_FALSE(a == nullptr);
    a.reset();
    b.reset();
    EXPECT_TRUE(a == b) << "nothing is the same nothing everywhere";
    EXPECT_TRUE(a == nullptr);
}

TEST(owners, of_one_object_are_one_key_of_a_hash_table) {
    shared_store<slot_map<door>> doors;
    std::unordered_set<shared_handle<shared_store<slot_map<door>>>> seen;
    const auto a = doors.make(1);
    const auto b = doors.make(2);
    EXPECT_TRUE(seen.insert(a).second);
    EXPECT_FALSE(seen.insert(a).second);
    EXPECT_TRUE(seen.insert(b).second);
    EXPECT_TRUE(seen.insert(nullptr).second);
    EXPECT_EQ(a.use_count(), 2u);
}
