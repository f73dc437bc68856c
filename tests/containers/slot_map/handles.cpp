// Sentences of cairn/containers/slot_map.hpp about handles: what is wrong with one that finds
// nothing, in which words that is reported, and which maps do not know it.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

namespace {
struct one_int {
    int value;
};
/// Its destructor asks its map for it and for the null handle.
struct asks_for_itself {
    explicit asks_for_itself(slot_map<asks_for_itself>* of) : map{of} {}
    asks_for_itself(asks_for_itself&&) = default;
    asks_for_itself& operator=(asks_for_itself&&) = default;
    ~asks_for_itself() {
        EXPECT_FALSE(map->find({}));
        EXPECT_FALSE(map->find(own));
        EXPECT_EQ(map->fault_of(own), handle_fault::stale);
        ++asked;
    }
    slot_map<asks_for_itself>* map;
    handle<asks_for_itself> own{};
    static inline int asked = 0;
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
    const auto first_beyond = static_cast<std::uint32_t>(map.slot_count());
    const auto beyond = expect_broken_promise(
        [&] { (void)map.at(slot_map<int>::handle_type::make(first_beyond, 5)); });
    EXPECT_EQ(beyond.kind(), misuse_kind::foreign_handle) << beyond;
    EXPECT_EQ(beyond.value("slot"), first_beyond);
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
        const auto row = expect_broken_promise([&] { (void)map.dense_index(stale); });
        EXPECT_EQ(row.value("slot"), 4u) << row;
        EXPECT_TRUE(row.says("handles.cpp:")) << row;
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
    }
}

TEST(slot_map, a_handle_of_what_was_here_before_is_named_as_of_another_map) {
    slot_map<int> map;
    const auto old = map.emplace(1);
    map = slot_map<int>{};
    (void)map.emplace(2);
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

TEST(slot_map, the_null_handle_finds_no_object_that_is_being_erased) {
    using handle_type = slot_map<asks_for_itself>::handle_type;
    slot_map<asks_for_itself> map{system_memory(),
                                  {.first_generation = handle_type::generation_max}};
    const handle_type h = map.emplace(&map);
    ASSERT_EQ(h.index(), 0u);
    map[h].own = h;
    EXPECT_TRUE(map.erase(h));
    EXPECT_EQ(asks_for_itself::asked, 1);
}

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
