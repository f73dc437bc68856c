// Sentences of cairn/containers/slot_map.hpp about its objects: how they are made, found, taken and
// retired, and how a map is moved. The random runs against std models are in
// slot_map_model_test.cpp.
#include <cairn/containers/batches.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

static_assert(std::ranges::contiguous_range<slot_map<int>>);
static_assert(std::is_nothrow_move_constructible_v<slot_map<std::string>>);
static_assert(!std::is_copy_constructible_v<slot_map<int>>);

TEST(slot_map, finds_what_lives_and_nothing_else) {
    slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    EXPECT_EQ(*map.find(a), 1);
    EXPECT_TRUE(map.erase(a));
    EXPECT_FALSE(map.erase(a));
    EXPECT_EQ(map.find(a), nullptr);
    if (auto* object = map.find(b)) { EXPECT_EQ(*object, 2); }
    static_assert(std::is_same_v<decltype(map.find(a)), int*>);
    static_assert(std::is_same_v<decltype(std::as_const(map).find(a)), const int*>);
    EXPECT_EQ(map[b], 2);
    EXPECT_EQ(map.find({}), nullptr);
    map.validate();
}

TEST(slot_map, an_object_can_know_its_own_handle) {
    struct node {
        handle<node> self;
    };
    slot_map<node> map;
    const auto h = map.emplace_with([](auto own) { return node{own}; });
    EXPECT_EQ(map[h].self, h);
}

TEST(slot_map, a_checked_build_notices_that_objects_changed_places_behind_their_handles) {
    struct node {
        cairn::handle<node> own;
        int rank;
        [[nodiscard]] cairn::handle<node> handle() const { return own; }
    };
    slot_map<node> map;
    std::vector<slot_map<node>::handle_type> all;
    for (const int rank : {5, 3, 4, 1}) {
        all.push_back(map.emplace_with([&](auto own) { return node{own, rank}; }));
    }
    const auto late = map.emplace(slot_map<node>::handle_type{}, 0);  // knows no handle yet
    ASSERT_TRUE(map.sort([](const node& a, const node& b) { return a.rank < b.rank; }));
    map.swap_rows(1, 3);
    for (const auto h : all) { EXPECT_EQ(map[h].own, h); }
    std::ranges::sort(std::span{map.values().data(), map.size()}, {},
                      &node::rank);  // exchanges those with ranks 4 and 1
    EXPECT_EQ(map[all[0]].own, all[0]);
    EXPECT_EQ(map[late].rank, 0);
    if (asserts_enabled) {
        EXPECT_DEATH((void)map.find(all[2]), "objects change places by sort");
        EXPECT_DEATH((void)map[all[3]], "objects change places by sort");
        const auto told = expect_broken_promise([&] { (void)map[all[3]]; });
        EXPECT_EQ(told.value("slot"), all[3].index()) << told;
        EXPECT_EQ(told.value("slot of the object"), all[2].index()) << told;
        EXPECT_DEATH((void)map.erase(all[2]), "objects change places by sort");
        EXPECT_DEATH((void)std::as_const(map).at(all[3]), "objects change places by sort");
    }
}

TEST(slot_map, values_that_are_exchanged_where_they_are_are_no_objects_that_change_places) {
    // What std::rotate does to ints and a program that gives each the next one's value are the
    // same: no check accuses either. (docs/decisions/0011-one-word-answers-for-a-handle.md)
    slot_map<int> map;
    std::vector<slot_map<int>::handle_type> all;
    for (int i = 0; i < 5; ++i) { all.push_back(map.emplace(i)); }
    const int first = map.values()[0];
    for (std::size_t i = 0; i < 4; ++i) { map.values()[i] = map.values()[i + 1]; }
    map.values()[4] = first;
    for (int i = 0; i < 5; ++i) { EXPECT_EQ(map[all[static_cast<std::size_t>(i)]], (i + 1) % 5); }
    map.validate();
}

TEST(slot_map, objects_are_built_in_place) {
    struct stubborn {
        int value;
        explicit stubborn(int v) : value{v} {}
        stubborn(stubborn&& other) noexcept : value{other.value} { ++moves; }
        stubborn& operator=(stubborn&& other) noexcept {
            value = other.value;
            ++moves;
            return *this;
        }
        static int& count() {
            static int n = 0;
            return n;
        }
        int& moves = count();
    };
    slot_map<stubborn> map;
    ASSERT_TRUE(map.reserve(2));
    (void)map.emplace(1);
    (void)map.emplace_with([](auto) { return stubborn{2}; });
    EXPECT_EQ(stubborn::count(), 0);
}

TEST(slot_map, rows_and_handles_lead_to_each_other) {
    slot_map<int> map;
    std::vector<slot_map<int>::handle_type> handles;
    for (int i = 0; i < 100; ++i) { handles.push_back(map.emplace(i)); }
    for (std::size_t i = 0; i < 100; i += 3) { map.erase(handles[i]); }
    for (std::size_t row = 0; row < map.size(); ++row) {
        EXPECT_EQ(map.dense_index(map.handles()[row]), row);
        EXPECT_EQ(map.handle_at(row), map.handles()[row]);
        EXPECT_EQ(map.handle_of(map.values()[row]), map.handles()[row]);
        EXPECT_EQ(map[map.handles()[row]], map.values()[row]);
    }
}

TEST(slot_map, take_moves_the_object_out) {
    slot_map<std::unique_ptr<int>> map;
    const auto h = map.emplace(std::make_unique<int>(7));
    std::optional<std::unique_ptr<int>> taken = map.take(h);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(**taken, 7);
    EXPECT_FALSE(map.take(h).has_value());
    EXPECT_TRUE(map.empty());
}

TEST(slot_map, clear_kills_every_handle_and_keeps_the_memory) {
    test_upstream upstream;
    slot_map<int> map{upstream};
    std::vector<slot_map<int>::handle_type> handles;
    for (int i = 0; i < 100; ++i) { handles.push_back(map.emplace(i)); }
    handles.push_back(map.promise_handle());
    const std::size_t requests = upstream.request_count();
    map.clear();
    for (const auto h : handles) {
        EXPECT_FALSE(map.contains(h));
        EXPECT_FALSE(map.is_promised(h));
    }
    for (int i = 0; i < 100; ++i) { EXPECT_TRUE(map.emplace(i)); }
    for (const auto h : handles) { EXPECT_FALSE(map.contains(h)); }
    EXPECT_EQ(upstream.request_count(), requests);
    map.validate();
}

template <class Map>
void expect_clear_ends_every_life() {
    Map map{typename Map::options{.first_generation = 40}};
    std::vector<typename Map::handle_type> handles;
    for (std::size_t before = 1; before != handles.size();) {
        before = handles.size();
        while (const auto h = map.emplace(7)) { handles.push_back(h); }
        map.clear();
        map.validate();
        for (std::size_t i = before; i < handles.size(); ++i) {
            ASSERT_FALSE(map.contains(handles[i]));
        }
    }
    EXPECT_EQ(map.worn_out_slot_count(), Map::max_size());
    EXPECT_EQ(handles.size(), Map::max_size() * Map::handle_type::generation_max);
    for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
}

TEST(slot_map, clear_ends_the_lives_of_slots_until_they_are_worn_out) {
    expect_clear_ends_every_life<slot_map<int, slot_policy<16, 10, reuse::fifo, 0>>>();
    expect_clear_ends_every_life<slot_map<int, slot_policy<16, 10, reuse::lifo, 0>>>();
}

TEST(slot_map, a_handle_can_be_promised_now_and_filled_later) {
    slot_map<int> map;
    const auto h = map.promise_handle();
    EXPECT_TRUE(map.is_promised(h));
    EXPECT_EQ(map.find(h), nullptr);
    EXPECT_EQ(map.size(), 0u);
    const int* const filled = map.fulfil(h, 5);
    EXPECT_EQ(filled, map.find(h)) << "it says where";
    ASSERT_NE(filled, nullptr);
    EXPECT_EQ(map[h], 5);
    const auto other = map.promise_handle();
    map.abandon(other);
    EXPECT_FALSE(map.is_promised(other));
    if (asserts_enabled) {
        EXPECT_DEATH(map.abandon(other), "only a promised handle");
        EXPECT_DEATH((void)map.fulfil(h, 6), "only a promised handle");
    }
    map.validate();
}

TEST(slot_map, retired_objects_cannot_be_found_and_live_until_their_fence) {
    auto counter = std::make_shared<int>(0);
    slot_map<std::shared_ptr<int>> map;
    const auto a = map.emplace(counter);
    const auto b = map.emplace(counter);
    EXPECT_TRUE(map.retire(a, 10));
    EXPECT_FALSE(map.retire(a, 10));
    EXPECT_FALSE(map.contains(a));
    EXPECT_EQ(counter.use_count(), 3) << "still there for the GPU";
    EXPECT_EQ(map.collect(9), 0u);
    EXPECT_EQ(map.collect(10), 1u);
    EXPECT_EQ(counter.use_count(), 2);
    EXPECT_TRUE(map.contains(b));
}

#if defined(__cpp_exceptions)
namespace {
/// Has no move constructor, and its copies throw while `refuses`.
struct copied_only {
    static inline bool refuses = false;
    int value = 0;
    explicit copied_only(int v) : value{v} {}
    copied_only(const copied_only& other) : value{other.value} {
        if (refuses) { throw 1; }
    }
    copied_only& operator=(const copied_only&) = default;
    ~copied_only() {}
};
}  // namespace

TEST(slot_map, a_retired_object_whose_copy_throws_stays) {
    slot_map<copied_only> map;
    const auto h = map.emplace(1);
    (void)map.emplace(2);
    copied_only::refuses = true;
    EXPECT_THROW((void)map.retire(h, 1), int);
    copied_only::refuses = false;
    EXPECT_TRUE(map.contains(h));
    map.validate();
    EXPECT_TRUE(map.retire(h, 1));
    EXPECT_FALSE(map.contains(h));
    EXPECT_EQ(map.size(), 1u);
    EXPECT_EQ(map.collect(1), 1u);
    map.validate();
}
#endif

TEST(slot_map, erasing_while_iterating_visits_everything_once) {
    slot_map<int> map;
    for (int i = 0; i < 100; ++i) { (void)map.emplace(i); }
    int visited = 0;
    for (auto it = map.begin(); it != map.end();) {
        ++visited;
        it = *it % 3 == 0 ? map.erase(it) : it + 1;
    }
    EXPECT_EQ(visited, 100);
    EXPECT_EQ(map.size(), 66u);
    EXPECT_EQ(map.erase_if([](int v) { return v % 3 == 1; }), 33u);
    map.validate();
}

TEST(slot_map, arguments_may_refer_to_objects_of_the_map_itself) {
    slot_map<std::string> map;
    const auto h = map.emplace("a text that is too long for the small string buffer");
    for (int i = 0; i < 100; ++i) { (void)map.emplace(map.values()[0]); }
    for (const std::string& text : map) { EXPECT_EQ(text, map[h]); }
}

TEST(slot_map, batches_never_share_a_cache_line) {
    struct odd {
        char bytes[12];
    };
    slot_map<odd> map;
    for (int i = 0; i < 1000; ++i) { (void)map.emplace(); }
    const auto batches = map.batches(100);
    std::size_t rows = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
        EXPECT_TRUE(detail::is_aligned(batches[k].data(), detail::cache_line_alignment));
        rows += batches[k].size();
    }
    EXPECT_EQ(rows, 1000u);
}

TEST(slot_map, every_policy_works_the_same) {
    const auto check = []<class Map>(Map map) {
        std::vector<typename Map::handle_type> handles;
        for (int i = 0; i < 300; ++i) { handles.push_back(map.emplace(i)); }
        for (std::size_t i = 0; i < 300; i += 2) { EXPECT_TRUE(map.erase(handles[i])); }
        for (int i = 0; i < 100; ++i) { EXPECT_TRUE(map.emplace(i)); }
        for (std::size_t i = 0; i < 300; ++i) { EXPECT_EQ(map.contains(handles[i]), i % 2 == 1); }
        map.validate();
    };
    check(slot_map<int>{});
    check(slot_map<int, slot_policy<32>>{});
    check(slot_map<int, slot_policy<16>>{});
    check(slot_map<int, slot_policy<32, 20, reuse::lifo>>{});
    check(slot_map<int, slot_policy<32, 20, reuse::lifo>>{});
    check(slot_map<int, slot_policy<64, 24, reuse::fifo, 16, 9>>{});
}

TEST(slot_map, moved_from_is_empty_and_usable) {
    slot_map<std::string> a;
    const auto h = a.emplace("one");
    slot_map<std::string> b{std::move(a)};
    EXPECT_EQ(b[h], "one");
    EXPECT_TRUE(a.empty());
    EXPECT_FALSE(a.contains(h));
    const auto again = a.emplace("two");
    swap(a, b);
    EXPECT_EQ(b[again], "two");
    EXPECT_EQ(a[h], "one");
    a.validate();
    b.validate();
}

TEST(slot_map, dead_rows_are_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP(); }
    slot_map<std::uint64_t> map;
    const auto h = map.emplace(1u);
    const std::uint64_t* const p = map.find(h);
    EXPECT_FALSE(is_poisoned(p));
    map.erase(h);
    EXPECT_TRUE(is_poisoned(p));
}
