// Sentences of cairn/containers/slot_map.hpp. The random runs against std models are in
// slot_map_model_test.cpp.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ranges>
#include <source_location>
#include <string>
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
    EXPECT_EQ(map.find(a), map.end()) << "not found is null and end() at once";
    EXPECT_FALSE(map.find(b) == map.end());
    EXPECT_EQ(map[b], 2);
    EXPECT_EQ(map.find({}), nullptr);
    map.validate();
}

namespace {
struct one_int {
    int value;
};
}  // namespace

TEST(slot_map, what_is_wrong_with_a_handle_is_named) {
    slot_map<int> map;
    slot_map<int> other;
    const auto stale = map.emplace(1);
    map.erase(stale);
    const auto reserved = map.promise_handle();
    const auto foreign = other.emplace(1);
    EXPECT_EQ(map.fault_of(map.emplace(2)), handle_fault::none);
    EXPECT_EQ(map.fault_of({}), handle_fault::null);
    EXPECT_EQ(map.fault_of(stale), handle_fault::stale);
    EXPECT_EQ(map.fault_of(reserved), handle_fault::promised);
    EXPECT_EQ(map.fault_of(foreign), handle_fault::foreign);
    EXPECT_EQ(map.fault_of(slot_map<int>::handle_type::make(1'000'000, 1)), handle_fault::foreign);
    EXPECT_EQ(slot_map<int>{}.fault_of(foreign), handle_fault::foreign) << "no slots at all";

    EXPECT_DEATH((void)map.at({}), "the handle is not null") << "at() in every build";
    EXPECT_DEATH((void)map.at(foreign), "the handle is of this map");
    EXPECT_DEATH((void)map.at(reserved), "the handle has its object");
    EXPECT_DEATH((void)std::as_const(map).at(stale), "the handle is not stale");
    if (asserts_enabled) {
        EXPECT_DEATH((void)map[{}], "the handle is not null");
        EXPECT_DEATH((void)map[foreign], "the handle is of this map");
        EXPECT_DEATH((void)map[reserved], "the handle has its object");
        EXPECT_DEATH((void)map[stale], "the handle is not stale");
        EXPECT_DEATH((void)std::as_const(map)[stale], "the handle is not stale");
        EXPECT_DEATH((void)map.dense_index(stale), "the handle is not stale");
        EXPECT_DEATH((void)*map.find(stale), "an object is used when it was found");
        EXPECT_DEATH((void)map.find(stale).operator->(), "an object is used when it was found");
    }
}

TEST(slot_map, a_refused_handle_is_reported_with_both_lives_and_the_line_that_asked) {
    slot_map<int> map{system_memory(), {.first_generation = 3}};
    std::vector<slot_map<int>::handle_type> all;
    for (int i = 0; i < 5; ++i) { all.push_back(map.emplace(i)); }
    const auto stale = all[4];
    map.erase(stale);
    // at() reports in every build; only checked ones know its caller.
    const unsigned line = std::source_location::current().line() + 1;
    const auto refused = expect_broken_promise([&] { (void)map.at(stale); });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &map);
    EXPECT_STREQ(refused.type(), "slot_map");
    EXPECT_EQ(refused.value("slot"), 4u);
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);
    EXPECT_TRUE(refused.says("slot 4, life of the slot 4, life in the handle 3")) << refused;
    if (asserts_enabled) { EXPECT_EQ(refused.line(), line); }

    const auto null = expect_broken_promise([&] { (void)map.at({}); });
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
    EXPECT_EQ(null.value("slot", 77), 77u) << "it names none";
    const auto reserved = map.promise_handle();
    EXPECT_EQ(expect_broken_promise([&] { (void)map.at(reserved); }).kind(),
              misuse_kind::reserved_handle);

    slot_map<int> other{system_memory(), {.first_generation = 1000}};
    const auto of_other = other.emplace(1);
    const auto foreign = expect_broken_promise([&] { (void)std::as_const(map).at(of_other); });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_handle) << foreign;
    EXPECT_EQ(foreign.value("slot"), of_other.index());
    EXPECT_EQ(foreign.value("life of the slot"), 3u);
    EXPECT_EQ(foreign.value("life in the handle"), 1000u);
    const auto beyond = expect_broken_promise(
        [&] { (void)map.at(slot_map<int>::handle_type::make(1'000'000, 5)); });
    EXPECT_EQ(beyond.kind(), misuse_kind::foreign_handle) << beyond;
    EXPECT_EQ(beyond.value("slot"), 1'000'000u);
    EXPECT_EQ(beyond.value("slots of the map"), map.slot_count());
    EXPECT_EQ(beyond.value("life in the handle"), 5u);

    if (asserts_enabled) {
        const auto by_operator = expect_broken_promise([&] { (void)map[stale]; });
        EXPECT_EQ(by_operator.kind(), misuse_kind::stale_handle) << by_operator;
        EXPECT_EQ(by_operator.value("life in the handle"), 3u);
        const unsigned operator_line = std::source_location::current().line() + 1;
        const auto read_only = expect_broken_promise([&] { (void)std::as_const(map)[stale]; });
        EXPECT_EQ(read_only.line(), operator_line) << read_only;
        const auto nothing = expect_broken_promise([&] { (void)map[{}]; });
        EXPECT_EQ(nothing.line(), operator_line + 2) << nothing;
        const auto unchecked = expect_broken_promise([&] { (void)map.find_unchecked(stale); });
        EXPECT_EQ(unchecked.line(), operator_line + 4) << unchecked;
        const auto row = expect_broken_promise([&] { (void)map.dense_index(stale); });
        EXPECT_EQ(row.value("slot"), 4u) << row;
        EXPECT_TRUE(row.says("slot_map_test.cpp:")) << row;
    }
}

TEST(slot_map, a_refused_handle_of_a_table_is_reported_as_well) {
    slot_table<one_int, soa> rows{system_memory(), {.first_generation = 3}};
    const auto h = rows.emplace(1);
    rows.erase(h);
    const unsigned line = std::source_location::current().line() + 1;
    const auto refused = expect_broken_promise([&] { (void)rows.at(h); });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &rows);
    EXPECT_EQ(refused.value("slot"), h.index());
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);
    if (asserts_enabled) {
        EXPECT_EQ(refused.line(), line);
        const auto by_operator = expect_broken_promise([&] { (void)rows[h]; });
        EXPECT_EQ(by_operator.kind(), misuse_kind::stale_handle);
        EXPECT_EQ(by_operator.line(), line + 8) << by_operator;
        const auto unchecked = expect_broken_promise([&] { (void)rows.find_unchecked(h); });
        EXPECT_EQ(unchecked.line(), line + 11) << unchecked;
    }
}

TEST(slot_map, a_handle_of_what_was_here_before_is_named_as_of_another_map) {
    slot_map<int> map;
    const auto old = map.emplace(1);
    map = slot_map<int>{};
    map.emplace(2);
    EXPECT_EQ(map.fault_of(old), handle_fault::foreign);
}

TEST(slot_map, a_first_generation_makes_equal_handles_on_two_machines) {
    using map_type = slot_map<int, slot_policy<16>>;
    const auto play = [](map_type& map) {
        std::vector<map_type::handle_type> all;
        for (int i = 0; i < 300; ++i) {
            all.push_back(map.emplace(i));
            if (i % 3 == 0) { map.erase(all[all.size() / 2]); }
        }
        map_type moved{std::move(map)};
        for (int i = 0; i < 10; ++i) { all.push_back(map.emplace(i)); }
        return all;
    };
    map_type here{system_memory(), {.first_generation = 1}};
    const map_type between;
    map_type there{system_memory(), {.first_generation = 1}};
    const auto first = play(here);
    EXPECT_EQ(first, play(there));
    EXPECT_EQ(first[0].generation(), 1u);
    EXPECT_FALSE(here.contains(first[0]))
        << "what was moved from begins elsewhere, the same in both";
    map_type late{system_memory(), {.first_generation = 63}};
    EXPECT_EQ(late.emplace(1).generation(), 63u);
    if (asserts_enabled) {
        EXPECT_DEATH((map_type{system_memory(), {.first_generation = 64}}),
                     "the first generation fits its bits");
    }
}

namespace {
using red_team = slot_map<int, slot_policy<>::tagged<struct red>>;
using blue_team = slot_map<int, slot_policy<>::tagged<struct blue>>;
static_assert(!std::is_convertible_v<red_team::handle_type, blue_team::handle_type>);
static_assert(!std::is_convertible_v<red_team::handle_type, slot_map<int>::handle_type>);
static_assert(sizeof(red_team::handle_type) == 8 && sizeof(red_team) == sizeof(blue_team));
template <class Map, class Handle>
concept finds_by = requires(Map map, Handle h) { map.find(h); };
static_assert(finds_by<red_team, red_team::handle_type>);
static_assert(!finds_by<red_team, blue_team::handle_type>);
static_assert(!finds_by<slot_map<int>, red_team::handle_type>);
static_assert(std::is_same_v<slot_policy<32, 16, reuse::lifo>::tagged<red>::handle_type<int>,
                             handle<int, 32, 16, 0, red>>);
static_assert(slot_policy<32, 16, reuse::lifo>::tagged<red>::order == reuse::lifo);
}  // namespace

TEST(slot_map, a_tag_makes_handles_of_their_own_type) {
    red_team reds;
    const red_team::handle_type h = reds.emplace(1);
    EXPECT_EQ(reds[h], 1);
    EXPECT_EQ(std::hash<red_team::handle_type>{}(h), hash_value(h));
    slot_table<one_int, soa, slot_policy<>::tagged<red>> rows;
    stable_slot_map<int, slot_policy<>::tagged<red>> fixed;
    EXPECT_TRUE(rows.emplace(1));
    EXPECT_TRUE(fixed.emplace(1));
}

namespace {
/// f(map) with every kind of map that gives handles out for ints.
template <class F>
void with_every_map(F f) {
    f.template operator()<slot_map<int>>();
    f.template operator()<slot_map<int, slot_policy<32>>>();
    f.template operator()<slot_map<int, slot_policy<16>>>();
    f.template operator()<slot_map<int, slot_policy<64, 32, reuse::lifo>>>();
    f.template operator()<slot_map<int, slot_policy<64, 32, reuse::lowest>>>();
    f.template operator()<stable_slot_map<int>>();
    f.template operator()<stable_slot_map<int, slot_policy<32>>>();
    f.template operator()<slot_table<one_int, soa>>();
}
}  // namespace

TEST(slot_map, a_handle_of_what_a_map_held_before_it_was_replaced_is_told) {
    with_every_map([]<class Map>() {
        Map map;
        std::vector<typename Map::handle_type> old;
        for (int i = 0; i < 10; ++i) { old.push_back(map.emplace(i)); }
        map = Map{};
        for (int i = 0; i < 10; ++i) { ASSERT_TRUE(map.emplace(i)); }
        for (const auto h : old) {
            EXPECT_FALSE(map.contains(h));
            EXPECT_FALSE(map.erase(h));
        }
        EXPECT_EQ(map.size(), 10u);
        map.validate();
    });
}

TEST(slot_map, a_handle_of_a_map_that_was_deleted_is_told_by_the_one_made_in_its_place) {
    with_every_map([]<class Map>() {
        std::optional<Map> level{std::in_place};
        std::vector<typename Map::handle_type> old;
        for (int i = 0; i < 10; ++i) { old.push_back(level->emplace(i)); }
        level.emplace();
        for (int i = 0; i < 10; ++i) { ASSERT_TRUE(level->emplace(i)); }
        for (const auto h : old) { EXPECT_FALSE(level->contains(h)); }
    });
}

TEST(slot_map, a_handle_from_before_a_move_is_told_by_the_map_that_was_moved_from) {
    with_every_map([]<class Map>() {
        Map map;
        std::vector<typename Map::handle_type> moved;
        for (int i = 0; i < 10; ++i) { moved.push_back(map.emplace(i)); }
        Map target{std::move(map)};
        for (int i = 0; i < 10; ++i) { ASSERT_TRUE(map.emplace(100 + i)); }
        for (const auto h : moved) {
            EXPECT_FALSE(map.contains(h));
            EXPECT_TRUE(target.contains(h));
        }
        target = std::move(map);
        for (const auto h : moved) { EXPECT_FALSE(target.contains(h)); }
        ASSERT_TRUE(map.emplace(1));
        for (const auto h : moved) { EXPECT_FALSE(map.contains(h)); }
        map.validate();
        target.validate();
    });
}

TEST(slot_map, a_handle_of_another_map_of_the_same_type_is_told) {
    with_every_map([]<class Map>() {
        Map a;
        Map b;
        std::vector<typename Map::handle_type> of_a;
        for (int i = 0; i < 10; ++i) {
            of_a.push_back(a.emplace(i));
            ASSERT_TRUE(b.emplace(i));
        }
        for (const auto h : of_a) { EXPECT_FALSE(b.contains(h)); }
    });
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
    std::ranges::sort(map.values(), {}, &node::rank);  // exchanges those with ranks 4 and 1
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
    // same: no check accuses either. (docs/decisions/0065-order-behind-the-handles-back.md)
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
    map.emplace(1);
    map.emplace_with([](auto) { return stubborn{2}; });
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

TEST(slot_map, sorting_keeps_handles_valid_and_is_stable) {
    slot_map<std::string> map;
    std::vector<std::pair<slot_map<std::string>::handle_type, std::string>> model;
    for (int i = 0; i < 1000; ++i) {
        const std::string text = std::to_string(i * 7919 % 1000) + (i % 2 ? "odd" : "even");
        model.emplace_back(map.emplace(text), text);
    }
    ASSERT_TRUE(map.sort([](const std::string& a, const std::string& b) { return a < b; }));
    for (std::size_t row = 1; row < map.size(); ++row) {
        EXPECT_LE(map.values()[row - 1], map.values()[row]);
    }
    for (const auto& [h, text] : model) { EXPECT_EQ(map[h], text); }
    const std::vector<std::string> before(map.begin(), map.end());
    ASSERT_TRUE(map.sort([](const std::string&, const std::string&) { return false; }));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), map.begin())) << "equal rows stay put";
    map.validate();
}

TEST(slot_map, a_handle_can_be_promised_now_and_filled_later) {
    slot_map<int> map;
    const auto h = map.promise_handle();
    EXPECT_TRUE(map.is_promised(h));
    EXPECT_EQ(map.find(h), nullptr);
    EXPECT_EQ(map.size(), 0u);
    ASSERT_NE(map.fulfil(h, 5), nullptr);
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

TEST(slot_map, erasing_while_iterating_visits_everything_once) {
    slot_map<int> map;
    for (int i = 0; i < 100; ++i) { map.emplace(i); }
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

TEST(slot_map, reserved_addresses_keep_references_through_growth) {
    test_upstream upstream;
    slot_map<std::uint64_t> map{upstream};
    ASSERT_TRUE(map.reserve_address_space(100000));
    const auto first = map.emplace(42u);
    const std::uint64_t* const address = map.find(first);
    for (std::uint64_t i = 1; i < 100000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    EXPECT_EQ(map.find(first), address);
    EXPECT_EQ(upstream.request_count(), 0u);
    map.validate();
}

TEST(slot_map, over_the_systems_pages_every_handle_finds_its_row_through_growth) {
    slot_map<std::uint64_t> map{system_pages()};
    std::vector<slot_map<std::uint64_t>::handle_type> handles;
    for (std::uint64_t i = 0; i < 70000; ++i) { handles.push_back(map.emplace(i)); }
    for (std::uint64_t i = 0; i < 70000; ++i) { ASSERT_EQ(map.at(handles[i]), i); }
    map.validate();
}

TEST(slot_map, an_address_space_of_nothing_is_refused_and_the_map_grows_as_before) {
    slot_map<int> map;
    EXPECT_FALSE(map.reserve_address_space(0));
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    map.validate();
    slot_map<int, slot_policy<16>> small;
    EXPECT_FALSE(small.reserve_address_space(100000));
    EXPECT_TRUE(small.emplace(1));
}

TEST(slot_map, after_reserve_insertions_never_allocate) {
    test_upstream upstream;
    slot_map<int> map{upstream};
    ASSERT_TRUE(map.reserve(500));
    upstream.refuse_from(upstream.request_count());
    std::vector<slot_map<int>::handle_type> handles;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 500; ++i) { ASSERT_TRUE(handles.emplace_back(map.emplace(i))); }
        for (const auto h : handles) { map.erase(h); }
        handles.clear();
    }
}

TEST(slot_map, out_of_memory_is_a_null_handle_and_nothing_has_changed) {
    slot_map<int> none{no_memory()};
    EXPECT_FALSE(none.emplace(1));
    EXPECT_FALSE(none.promise_handle());
    EXPECT_FALSE(none.reserve(1));

    std::size_t failures = 0;
    for (std::size_t refused = 0; refused < 30; ++refused) {
        test_upstream upstream;
        slot_map<std::string> map{upstream};
        std::vector<slot_map<std::string>::handle_type> handles;
        upstream.refuse_from(refused, 6);  // growth asks five times at most
        for (int i = 0; i < 200; ++i) {
            auto h = map.emplace(std::to_string(i));
            for (int attempts = 1; !h; ++attempts) {  // until nothing is refused any more
                ASSERT_LE(attempts, 6);
                ++failures;
                EXPECT_EQ(map.size(), handles.size());
                map.validate();
                h = map.emplace(std::to_string(i));
            }
            handles.push_back(h);
        }
        for (std::size_t i = 0; i < 200; ++i) { EXPECT_EQ(map[handles[i]], std::to_string(i)); }
    }
    EXPECT_GT(failures, 5u);
}

TEST(slot_map, emplace_with_makes_nothing_when_no_index_is_left) {
    slot_map<char, slot_policy<16, 7>> map;
    std::size_t count = 0;
    while (map.emplace_with([](auto) { return 'x'; })) { ++count; }
    EXPECT_EQ(map.size(), count);
    map.validate();
}

TEST(slot_map, reserving_less_than_there_is_changes_nothing) {
    test_upstream upstream;
    slot_map<std::uint64_t> map{upstream};
    ASSERT_TRUE(map.reserve(1000));
    for (std::uint64_t i = 0; i < 1000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    const std::size_t capacity = map.capacity();
    const std::size_t requests = upstream.request_count();
    for (const std::size_t count : {0u, 10u, 999u, 1000u}) {
        EXPECT_TRUE(map.reserve(count));
        EXPECT_EQ(map.capacity(), capacity);
        EXPECT_EQ(upstream.request_count(), requests) << count;
    }
    map.validate();
}

TEST(slot_map, a_sort_without_memory_changes_nothing) {
    test_upstream upstream;
    slot_map<int> map{upstream};
    for (int i = 0; i < 10; ++i) { map.emplace(9 - i); }
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(map.sort([](int a, int b) { return a < b; }));
    for (std::size_t i = 0; i < 10; ++i) { EXPECT_EQ(map.values()[i], 9 - static_cast<int>(i)); }
}

TEST(slot_map, arguments_may_refer_to_objects_of_the_map_itself) {
    slot_map<std::string> map;
    const auto h = map.emplace("a text that is too long for the small string buffer");
    for (int i = 0; i < 100; ++i) { map.emplace(map.values()[0]); }
    for (const std::string& text : map) { EXPECT_EQ(text, map[h]); }
}

TEST(slot_map, batches_never_share_a_cache_line) {
    struct odd {
        char bytes[12];
    };
    slot_map<odd> map;
    for (int i = 0; i < 1000; ++i) { map.emplace(); }
    const auto batches = map.batches(100);
    std::size_t rows = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
        EXPECT_TRUE(is_aligned(batches[k].data(), cache_line_alignment));
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
    check(slot_map<int, slot_policy<32, 20, reuse::lowest>>{});
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

TEST(slot_map, slots_that_are_reserved_in_a_moved_from_map_are_no_room_for_objects) {
    slot_map<std::string> a;
    ASSERT_TRUE(a.reserve(100));
    slot_map<std::string> b{std::move(a)};
    ASSERT_TRUE(a.reserve_slots(100));
    std::vector<slot_map<std::string>::handle_type> all;
    for (int i = 0; i < 100; ++i) { all.push_back(a.emplace(std::to_string(i))); }
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(a[all[static_cast<std::size_t>(i)]], std::to_string(i));
    }
    b = std::move(a);
    ASSERT_TRUE(a.reserve_slots(100));
    EXPECT_TRUE(a.emplace("again"));
    a.validate();
    b.validate();
}

TEST(slot_map, an_insertion_beyond_what_was_reserved_grows) {
    slot_map<std::uint64_t> map;
    ASSERT_TRUE(map.reserve_slots(1000));  // more slots than rows
    ASSERT_TRUE(map.reserve(100));
    const std::size_t capacity = map.capacity();
    for (std::uint64_t i = 0; i < capacity; ++i) { ASSERT_TRUE(map.emplace(i)); }
    EXPECT_EQ(map.capacity(), capacity);
    ASSERT_TRUE(map.emplace(0u));
    EXPECT_GT(map.capacity(), capacity);
    map.validate();
}

TEST(slot_map, dead_rows_are_poisoned) {
    if (!poison_is_queryable) { GTEST_SKIP(); }
    slot_map<std::uint64_t> map;
    const auto h = map.emplace(1u);
    const std::uint64_t* const p = map.find(h);
    EXPECT_FALSE(is_poisoned(p));
    map.erase(h);
    EXPECT_TRUE(is_poisoned(p));
}

TEST(slot_map, emplace_with_grows_as_seldom_as_emplace) {
    slot_map<int> map;
    std::size_t growths = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::size_t before = map.capacity();
        const auto h = map.emplace_with([&](auto) { return i == 0 ? 0 : *map.begin() + i; });
        growths += map.capacity() != before ? 1u : 0u;
        ASSERT_EQ(map[h], i);  // what make reads of the map is there, also while it grows
    }
    EXPECT_LE(growths, 10u);
    map.validate();
}

TEST(slot_map, sorts_any_number_of_rows_with_handles_of_any_width) {
    slot_map<int, slot_policy<16>> map;
    for (int count = 0; count < 20; ++count) {
        map.emplace(100 - count);
        ASSERT_TRUE(map.sort([](int a, int b) { return a < b; }));
        ASSERT_TRUE(std::is_sorted(map.begin(), map.end()));
        map.validate();
    }
}

#if defined(__cpp_exceptions)
namespace {
/// Its copies and moves throw in turn; what was moved from has no value any more.
struct fragile {
    static inline int until = -1;  // the copy or move that throws, counted from now; -1: none
    static void step() {
        if (until >= 0 && until-- == 0) { throw 1; }
    }
    explicit fragile(int v) : value{v} {}
    fragile(const fragile& other) : value{other.value} { step(); }
    fragile(fragile&& other) : value{other.value} {
        step();
        other.value = -1;
    }
    fragile& operator=(fragile&& other) {
        step();
        value = other.value;
        other.value = -1;
        return *this;
    }
    int value;
};

/// f(map, handle) for an object in the middle, with every copy and move made to throw in turn.
template <class F>
void with_every_step_thrown(F f) {
    bool thrown = true;
    for (int at = 0; thrown; ++at) {
        ASSERT_LT(at, 100);
        slot_map<fragile> map;
        std::vector<slot_map<fragile>::handle_type> all;
        for (int i = 0; i < 40; ++i) { all.push_back(map.emplace(i)); }
        for (int i = 0; i < 16; ++i) {
            ASSERT_TRUE(map.retire(all[static_cast<std::size_t>(i)], 1));
        }
        fragile::until = at;
        thrown = false;
        try {
            f(map, all[20]);
        } catch (int) { thrown = true; }
        fragile::until = -1;
        map.validate();
        EXPECT_EQ(map.contains(all[20]), thrown);
        if (thrown) {
            EXPECT_EQ(map[all[20]].value, 20) << at;
            EXPECT_EQ(map.pending_count(), 16u) << at;
        }
        EXPECT_EQ(map[all[39]].value, 39) << at;
    }
}
}  // namespace

TEST(slot_map, an_object_keeps_its_fence_when_the_move_of_another_throws) {
    const auto check = [](auto map) {
        const auto early = map.emplace(1);
        const auto late = map.emplace(2);
        ASSERT_TRUE(map.retire(early, 1));
        ASSERT_TRUE(map.retire(late, 9));
        fragile::until = 0;
        EXPECT_THROW((void)map.collect(1), int);
        fragile::until = -1;
        EXPECT_EQ(map.pending_count(), 2u);
        EXPECT_EQ(map.collect(1), 1u) << "neither later than its fence";
        EXPECT_EQ(map.collect(8), 0u) << "nor earlier";
        EXPECT_EQ(map.collect(9), 1u);
    };
    struct fragile_row {
        fragile object;
        fragile_row(int v) : object{v} {}
    };
    check(slot_map<fragile>{});
    check(slot_map<fragile_row>{});
}

TEST(slot_map, an_object_whose_move_throws_keeps_its_value_and_is_not_retired) {
    with_every_step_thrown([](auto& map, auto h) { EXPECT_TRUE(map.retire(h, 5)); });
    with_every_step_thrown([](auto& map, auto h) { EXPECT_TRUE(map.take(h)); });
}
#endif
