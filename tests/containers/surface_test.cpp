// The same words do the same: what docs/containers.md promises of every container, on each of them.
// A program that uses one map runs with the others by changing the type.
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/storage/clone.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

template <class K = value>
struct unit {
    field<K, int> id;
    field<K, int> health;
    friend bool operator==(const unit&, const unit&) = default;
};

/// One more element, with the words of the container. Returns: false when exhausted.
template <class Container>
bool add(Container& all, int id) {
    if constexpr (requires { all.acquire_raw(); }) {
        unit<>* const object = all.acquire_raw();
        if (object != nullptr) { *object = {id, 100}; }
        return object != nullptr;
    } else if constexpr (requires { all.push_back(unit<>{}); }) {
        return all.push_back(unit<>{id, 100});
    } else {
        return static_cast<bool>(all.emplace(id, 100));
    }
}
/// Elements; of a pool: its live objects.
template <class Container>
std::size_t count_of(const Container& all) {
    if constexpr (requires { all.live_count(); }) {
        return all.live_count();
    } else {
        return all.size();
    }
}
template <class Container>
void drop_all(Container& all) {
    if constexpr (requires { all.acquire_raw(); }) {
        all.for_each([&](auto& object) { all.release(object); });
    } else {
        all.clear();
    }
}
template <class Container>
std::vector<int> ids(const Container& all) {
    std::vector<int> found;
    all.for_each([&](const auto& row) { found.push_back(row.id); });
    std::sort(found.begin(), found.end());
    return found;
}
template <class Container>
bool are_equal(const Container& a, const Container& b) {
    if constexpr (requires { a == b; }) {
        return a == b;
    } else {
        return ids(a) == ids(b);
    }
}
using numbers = std::vector<int>;

template <class Container>
class every_container : public testing::Test {};
using containers =
    testing::Types<packed_array<unit<>>, table<unit<>, soa>, table<unit<>, aos>, slot_map<unit<>>,
                   stable_slot_map<unit<>>, slot_table<unit<>, soa>, slot_table<unit<>, aos>>;
TYPED_TEST_SUITE(every_container, containers);

/// The containers, and what has only some of their words.
template <class Store>
class every_store : public testing::Test {};
using stores = testing::Types<packed_array<unit<>>, table<unit<>, soa>, table<unit<>, aos>,
                              slot_map<unit<>>, stable_slot_map<unit<>>, slot_table<unit<>, soa>,
                              slot_table<unit<>, aos>, object_pool<unit<>>>;
TYPED_TEST_SUITE(every_store, stores);

template <class Map>
class every_map : public testing::Test {};
using maps =
    testing::Types<slot_map<unit<>>, slot_map<unit<>, slot_policy<32, 16, reuse::lifo>>,
                   slot_map<unit<>, slot_policy<64, 32, reuse::lowest>>, stable_slot_map<unit<>>,
                   slot_table<unit<>, soa>, slot_table<unit<>, aos>>;
TYPED_TEST_SUITE(every_map, maps);

}  // namespace

TYPED_TEST(every_container, appends_counts_and_visits_each_element) {
    TypeParam all;
    EXPECT_TRUE(all.empty());
    EXPECT_TRUE(all.reserve(3));
    EXPECT_GE(all.capacity(), 3u);
    for (int i = 0; i < 3; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(all.size(), 3u);
    EXPECT_EQ(ids(all), (numbers{0, 1, 2}));
    int sum = 0;
    for (auto&& row : all) { sum += row.id; }
    EXPECT_EQ(sum, 3);
    all.for_each([](auto&& row) { row.health = 7; });
    for (auto&& row : std::as_const(all)) { EXPECT_EQ(row.health, 7); }
    TypeParam other;
    swap(all, other);
    EXPECT_EQ(other.size(), 3u);
    other.clear();
    EXPECT_TRUE(other.empty());
    EXPECT_TRUE(other.begin() == other.end());
    other.validate();
}

TYPED_TEST(every_container, erase_if_asks_each_once_and_counts) {
    TypeParam all;
    for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
    int asked = 0;
    EXPECT_EQ(all.erase_if([&](const auto& row) {
        ++asked;
        return row.id >= 2;
    }),
              298u);
    EXPECT_EQ(asked, 300);
    EXPECT_EQ(ids(all), (numbers{0, 1}));
}

TYPED_TEST(every_store, for_each_visits_each_element_once) {
    TypeParam all;
    for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(count_of(all), 300u);
    std::vector<int> visits(300);
    all.for_each([&](auto&& row) {
        ++visits[static_cast<std::size_t>(row.id)];
        row.health = 7;
    });
    EXPECT_EQ(visits, std::vector<int>(300, 1));
    int health = 0;
    std::as_const(all).for_each([&](const auto& row) { health += row.health; });
    EXPECT_EQ(health, 2100);
    drop_all(all);
    EXPECT_EQ(count_of(all), 0u);
    all.for_each([](auto&&) { ADD_FAILURE() << "nothing is there"; });
    all.validate();
}

TYPED_TEST(every_store, room_that_was_reserved_asks_the_upstream_for_nothing) {
    test_upstream upstream;
    TypeParam all{upstream};
    EXPECT_TRUE(add(all, 0));
    ASSERT_TRUE(all.reserve(500));
    EXPECT_GE(all.capacity(), 500u);
    EXPECT_TRUE(all.reserve(10)) << "there is more than that already";
    EXPECT_GE(all.capacity(), 500u);
    all.validate();
    upstream.refuse_from(0, 1000000);
    for (int i = 1; i < 500; ++i) { EXPECT_TRUE(add(all, i)); }
    EXPECT_EQ(count_of(all), 500u);
    EXPECT_FALSE(all.reserve(1000000));
    EXPECT_FALSE(all.reserve(static_cast<std::size_t>(-1)));
    EXPECT_EQ(count_of(all), 500u);
    all.validate();
    drop_all(all);
}

TYPED_TEST(every_store, an_exhausted_upstream_is_an_answer) {
    test_upstream upstream;
    TypeParam all{upstream};
    EXPECT_TRUE(add(all, 1));
    upstream.refuse_from(0, 1000000);
    EXPECT_FALSE(all.reserve(1000000));
    std::size_t count = 1;
    while (add(all, 2)) { ++count; }
    EXPECT_EQ(count_of(all), count);
    all.validate();
    drop_all(all);
}

TYPED_TEST(every_container, a_sorted_one_keeps_equal_elements_in_order) {
    if constexpr (requires(TypeParam& t) {
                      t.sort([](const auto&, const auto&) { return true; });
                  }) {
        TypeParam all;
        for (const int id : {23, 11, 25, 13}) { EXPECT_TRUE(add(all, id)); }
        EXPECT_TRUE(all.sort([](const auto& a, const auto& b) { return a.id / 10 < b.id / 10; }));
        numbers order;
        all.for_each([&](const auto& row) { order.push_back(row.id); });
        EXPECT_EQ(order, (numbers{11, 13, 23, 25}));
    } else {
        GTEST_SKIP() << "its elements stay where they were made";
    }
}

TYPED_TEST(every_container, erasing_while_iterating_visits_each_once) {
    if constexpr (requires(TypeParam& t) { t.erase(t.begin()) == t.begin(); }) {
        TypeParam all;
        for (int i = 0; i < 300; ++i) { EXPECT_TRUE(add(all, i)); }
        std::vector<int> visits(300);
        for (auto it = all.begin(); it != all.end();) {
            ++visits[static_cast<std::size_t>((*it).id)];
            if ((*it).id % 3 == 0) {
                it = all.erase(it);
            } else {
                ++it;
            }
        }
        EXPECT_EQ(visits, std::vector<int>(300, 1));
        EXPECT_EQ(all.size(), 200u);
        all.validate();
    } else {
        GTEST_SKIP() << "a table erases by row number";
    }
}

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

TYPED_TEST(every_map, an_object_is_found_by_its_handle_and_its_handle_by_it) {
    TypeParam map;
    const auto a = map.emplace(1, 10);
    const auto b = map.insert(unit<>{2, 20});
    const auto c = map.emplace_with([](auto h) { return unit<>{static_cast<int>(h.index()), 30}; });
    EXPECT_EQ(map[a].id, 1);
    EXPECT_EQ(map.at(b).health, 20);
    EXPECT_EQ(std::as_const(map).at(b).id, 2);
    EXPECT_EQ(map[c].id, static_cast<int>(c.index()));
    auto found = map.find(b);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found == nullptr);
    found->health = 21;
    EXPECT_EQ((*std::as_const(map).find(b)).health, 21);
    for (auto it = map.begin(); it != map.end(); ++it) {
        const auto h = map.handle_of(it);
        EXPECT_EQ(map[h].id, (*it).id);
    }
    if constexpr (std::is_lvalue_reference_v<typename TypeParam::reference>) {
        if constexpr (requires { map.handle_of(map[b]); }) { EXPECT_EQ(map.handle_of(map[b]), b); }
        const unit<>* const pointer = map.find(b);
        EXPECT_EQ(pointer, &map[b]);
    }
    EXPECT_EQ(map.erase(b), true);
    EXPECT_FALSE(map.find(b));
    EXPECT_TRUE(map.find(b) == nullptr);
    EXPECT_EQ(map.erase(b), false);
    EXPECT_EQ(map.fault_of(b), handle_fault::stale);
    EXPECT_EQ(map.take(a)->id, 1);
    EXPECT_TRUE(map.contains(c));
}

TYPED_TEST(every_map, value_or_copies_what_was_found_or_takes_the_fallback) {
    TypeParam map;
    const auto h = map.emplace(1, 10);
    const unit<> fallback{7, 70};
    EXPECT_EQ(map.find(h).value_or(fallback), (unit<>{1, 10}));
    EXPECT_EQ(std::as_const(map).find(h).value_or({7, 70}), (unit<>{1, 10}));
    unit<> copy = map.find(h).value_or(fallback);
    copy.health = 11;
    EXPECT_NE(map[h].health, copy.health) << "a copy";
    EXPECT_EQ(map.take(h).value_or(fallback), (unit<>{1, 10})) << "the same word";
    EXPECT_EQ(map.find(h).value_or(fallback), fallback);
    EXPECT_EQ(std::as_const(map).find(h).value_or({7, 70}), fallback);
    EXPECT_EQ(map.find({}).value_or(fallback), fallback);
    EXPECT_EQ(map.take(h).value_or(fallback), fallback);
}

TYPED_TEST(every_map, items_and_for_each_name_handle_and_object) {
    TypeParam map;
    std::vector<typename TypeParam::handle_type> all;
    for (int i = 0; i < 200; ++i) { all.push_back(map.emplace(i, 0)); }
    for (int i = 0; i < 200; i += 3) { map.erase(all[static_cast<std::size_t>(i)]); }
    std::size_t count = 0;
    for (auto [h, object] : map.items()) {
        EXPECT_EQ(h, all[static_cast<std::size_t>(object.id)]);
        object.health = 5;
        ++count;
    }
    EXPECT_EQ(count, map.size());
    for (auto [h, object] : std::as_const(map).items()) { EXPECT_EQ(map[h].health, object.health); }
    map.for_each([&](auto h, auto&& object) {
        EXPECT_EQ(map[h].id, object.id);
        object.health = 6;
        --count;
    });
    EXPECT_EQ(count, 0u);
    std::as_const(map).for_each([&](auto h, const auto& object) {
        EXPECT_EQ(object.health, 6);
        EXPECT_TRUE(map.contains(h));
    });
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

TYPED_TEST(every_map, equal_maps_find_equal_objects_by_the_same_handles) {
    TypeParam map;
    const auto a = map.emplace(1, 1);
    const auto b = map.emplace(2, 2);
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    (*copy)[b].health = 3;
    EXPECT_FALSE(*copy == map) << "another value";
    (*copy)[b].health = 2;
    EXPECT_TRUE(*copy == map);
    EXPECT_TRUE(copy->erase(a));
    EXPECT_FALSE(*copy == map) << "one object less";
    EXPECT_FALSE(map == *copy);
    EXPECT_TRUE(copy->emplace(1, 1));
    EXPECT_FALSE(*copy == map) << "the same object by another handle";
}

TYPED_TEST(every_map, a_handle_that_finds_nothing_stops_at) {
    TypeParam map;
    const auto h = map.emplace(1, 1);
    map.erase(h);
    EXPECT_DEATH((void)map.at(h), "stale");
    EXPECT_DEATH((void)map.at({}), "null");
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
        EXPECT_TRUE(copy->emplace(1, 1));
        EXPECT_EQ(map.worn_out_slot_count(), worn_out);
        EXPECT_EQ(map.collect(1), 1u);
        map.validate();
    };
    wears_out(slot_map<unit<>, slot_policy<16, 12, reuse::lifo>>{});
    wears_out(slot_map<unit<>, slot_policy<16, 12, reuse::lowest>>{});
    wears_out(stable_slot_map<unit<>, slot_policy<16, 12>>{});
    wears_out(slot_table<unit<>, soa, slot_policy<16, 12, reuse::lifo>>{});
}

TEST(clone, continues_where_lockstep_asks_for_equal_handles) {
    slot_map<unit<>> map{system_memory(), {.first_generation = 5}};
    for (int i = 0; i < 100; ++i) { map.erase(map.emplace(i, i)); }
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    for (int i = 0; i < 200; ++i) { EXPECT_EQ(copy->emplace(i, i), map.emplace(i, i)); }
}
