// shrink_to_fit() gives back what a peak took, in every container with handles, and no handle of
// the peak finds anything afterwards.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "containers/surface/every_container.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace surface_tests;

namespace {

template <class Map>
using handles_of = std::vector<typename Map::handle_type>;

template <class Map>
handles_of<Map> fill(Map& map, int count) {
    handles_of<Map> made;
    for (int i = 0; i < count; ++i) { made.push_back(map.emplace(i, i)); }
    return made;
}
template <class Map>
void expect_stale(const Map& map, const handles_of<Map>& handles) {
    std::size_t found = 0;
    for (const auto h : handles) { found += map.contains(h) ? 1u : 0u; }
    EXPECT_EQ(found, 0u);
}

}  // namespace

TYPED_TEST(every_map, shrink_to_fit_gives_back_what_a_peak_took) {
    test_upstream upstream;
    TypeParam map{upstream};
    ASSERT_TRUE(map.shrink_to_fit()) << "there is nothing to give back";
    auto handles = fill(map, 20000);
    const std::size_t peak = upstream.live_size();
    const handles_of<TypeParam> kept(handles.begin(), handles.begin() + 20);
    handles.erase(handles.begin(), handles.begin() + 20);
    for (const auto h : handles) { EXPECT_TRUE(map.erase(h)); }
    ASSERT_TRUE(map.shrink_to_fit());
    map.validate();
    EXPECT_LT(upstream.live_size(), peak / 4);
    int id = 0;
    for (const auto h : kept) { EXPECT_EQ((*map.find(h)).id, id++); }
    expect_stale(map, handles);

    const auto later = fill(map, 20000);
    expect_stale(map, handles);
    for (const auto h : later) { EXPECT_TRUE(map.contains(h)); }
    map.clear();
    ASSERT_TRUE(map.shrink_to_fit());
    map.validate();
    EXPECT_EQ(upstream.live_size(), 0u);
    EXPECT_EQ(map.capacity(), 0u);
    expect_stale(map, handles);
    expect_stale(map, kept);
    expect_stale(map, later);
    EXPECT_TRUE(add(map, 1));
    expect_stale(map, later);
}

TYPED_TEST(every_container, gives_back_all_that_a_peak_took) {
    test_upstream upstream;
    TypeParam all{upstream};
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(add(all, i)); }
        EXPECT_GT(upstream.live_size(), 1000 * sizeof(int));
        all.clear();
        ASSERT_TRUE(all.shrink_to_fit());
        EXPECT_EQ(upstream.live_size(), 0u);
    }
}

TYPED_TEST(every_map, shrink_to_fit_without_memory_for_smaller_blocks_changes_nothing) {
    for (std::size_t refused = 0; refused < 6; ++refused) {
        test_upstream upstream;
        TypeParam map{upstream};
        auto handles = fill(map, 3000);
        for (std::size_t i = 100; i < 3000; ++i) { EXPECT_TRUE(map.erase(handles[i])); }
        upstream.refuse_from(upstream.request_count() + refused);
        const bool fits = map.shrink_to_fit();
        EXPECT_TRUE(fits || refused < 4);
        upstream.refuse_nothing();
        map.validate();
        for (std::size_t i = 0; i < 3000; ++i) { EXPECT_EQ(map.contains(handles[i]), i < 100); }
        fill(map, 3000);
        for (std::size_t i = 0; i < 3000; ++i) { EXPECT_EQ(map.contains(handles[i]), i < 100); }
        map.validate();
    }
}

TYPED_TEST(every_map, slots_with_many_lives_stay_when_it_shrinks) {
    TypeParam map;
    constexpr std::uint32_t lives = TypeParam::handle_type::generation_max;
    if constexpr (lives < 100'000) {
        handles_of<TypeParam> dead;
        for (std::uint32_t i = 0; i < 3 * lives; ++i) {
            const auto h = map.emplace(1, 1);
            ASSERT_TRUE(h);
            map.erase(h);
            if (i % 7 == 0) { EXPECT_TRUE(map.shrink_to_fit()); }
            dead.push_back(h);
            EXPECT_FALSE(map.contains(dead[dead.size() / 2]));
        }
        fill(map, 200);
        expect_stale(map, dead);
        map.validate();
    }
}

// Handles of 16 bits: each that was ever given out is asked for.
TEST(shrinking, no_handle_is_given_out_twice) {
    slot_map<unit<>, slot_policy<16, 10>> map;
    std::vector<bool> given(65536);
    for (int round = 0; round < 400; ++round) {
        const auto made = fill(map, round % 50);
        for (const auto h : made) {
            if (!h) { break; }  // its lives are used up
            ASSERT_FALSE(given[h.raw()]);
            given[h.raw()] = true;
        }
        map.clear();
        ASSERT_TRUE(map.shrink_to_fit());
        map.validate();
        for (std::uint32_t raw = 0; raw < 65536; ++raw) {
            using handle = decltype(map)::handle_type;
            ASSERT_FALSE(map.contains(handle::from_raw(static_cast<std::uint16_t>(raw))));
        }
    }
}

TEST(shrinking, promised_handles_retired_objects_and_reserved_addresses_stay) {
    slot_map<std::unique_ptr<int>> map;
    const auto a = map.emplace(std::make_unique<int>(1));
    ASSERT_TRUE(map.retire(a, 5));
    for (int i = 0; i < 100; ++i) { EXPECT_TRUE(map.emplace()); }
    const auto promised = map.promise_handle();
    map.clear();
    const auto later = map.promise_handle();
    ASSERT_TRUE(map.shrink_to_fit());
    EXPECT_FALSE(map.is_promised(promised));
    ASSERT_TRUE(map.is_promised(later));
    ASSERT_TRUE(map.fulfil(later, std::make_unique<int>(2)));
    EXPECT_EQ(**map.find(later), 2);
    EXPECT_EQ(map.collect(5), 1u);

    slot_map<int> wide;
    ASSERT_TRUE(wide.reserve_address_space(1'000'000));
    const auto first = wide.emplace(7);
    const int* const where = wide.find(first);
    for (int i = 0; i < 300'000; ++i) { EXPECT_TRUE(wide.emplace(i)); }
    while (wide.size() != 1) { wide.erase(wide.handle_at(wide.size() - 1)); }
    ASSERT_TRUE(wide.shrink_to_fit());
    EXPECT_LT(wide.capacity(), 300'000u);
    EXPECT_EQ(wide.find(first), where) << "nothing moves inside reserved addresses";
    for (int i = 0; i < 300'000; ++i) { EXPECT_TRUE(wide.emplace(i)); }
    EXPECT_EQ(wide.find(first), where);
    wide.validate();
}

TEST(shrinking, a_packed_array_keeps_its_objects) {
    test_upstream upstream;
    packed_array<std::unique_ptr<int>> all{upstream};
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(all.emplace(std::make_unique<int>(i))); }
    while (all.size() > 10) { all.swap_erase(all.size() - 1); }
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_FALSE(all.shrink_to_fit());
    EXPECT_GE(all.capacity(), 1000u);
    ASSERT_TRUE(all.shrink_to_fit());
    EXPECT_EQ(all.capacity(), 10u);
    EXPECT_EQ(upstream.live_size(), 10 * sizeof(std::unique_ptr<int>));
    for (int i = 0; i < 10; ++i) { EXPECT_EQ(*all[static_cast<std::size_t>(i)], i); }
    all.validate();
    all.clear();
    ASSERT_TRUE(all.shrink_to_fit());
    EXPECT_EQ(upstream.live_count(), 0u);
    ASSERT_TRUE(all.emplace(std::make_unique<int>(1)));
}

namespace {

struct shape {
    explicit shape(int i) : id{i} {}
    int id;
};
struct circle : shape {
    using shape::shape;
};
struct square : shape {
    using shape::shape;
    std::uint64_t sides[4] = {};
};

template <class Store>
void expect_a_small_store_after_a_peak() {
    test_upstream upstream;
    Store store{upstream};
    std::vector<typename Store::handle_type> dead;
    const auto kept = store.template emplace<circle>(1);
    for (int i = 0; i < 5000; ++i) {
        dead.push_back(store.template emplace<circle>(i));
        dead.push_back(store.template emplace<square>(i));
    }
    for (const auto h : dead) { EXPECT_TRUE(store.erase(h)); }
    const std::size_t peak = upstream.live_size();
    ASSERT_TRUE(store.shrink_to_fit());
    EXPECT_LT(upstream.live_size(), peak / 100);
    EXPECT_EQ(store.find(kept)->id, 1);
    for (int i = 0; i < 5000; ++i) { EXPECT_TRUE(store.template emplace<square>(i)); }
    for (const auto h : dead) { ASSERT_EQ(store.find(h), nullptr); }
    store.validate();
}

}  // namespace

TEST(shrinking, a_polymorphic_store_gives_back_the_memory_of_each_type) {
    expect_a_small_store_after_a_peak<polymorphic_store<shape, circle, square>>();
    expect_a_small_store_after_a_peak<polymorphic_store<shape>>();
}
