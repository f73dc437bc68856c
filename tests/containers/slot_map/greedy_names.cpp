// The library's own calls do not find functions of the user's that have the same names: a namespace
// with a deleted function of each name that slot_map and packed_array call with an element.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

namespace greedy {

struct enemy {
    explicit enemy(int h) : hp{h} {}
    int hp;
};
struct weaker {
    bool operator()(const enemy& a, const enemy& b) const { return a.hp < b.hp; }
};

#define CAIRN_GREEDY(name)   \
    template <class... Args> \
    int name(Args&&...) = delete;
CAIRN_GREEDY(poison)
CAIRN_GREEDY(unpoison)
CAIRN_GREEDY(replace)
CAIRN_GREEDY(not_null)
CAIRN_GREEDY(line_of)
CAIRN_GREEDY(own)
CAIRN_GREEDY(grow_room)
CAIRN_GREEDY(grow_by_halves)
CAIRN_GREEDY(grown_count)
CAIRN_GREEDY(sort_rows)
CAIRN_GREEDY(sort_indices)
CAIRN_GREEDY(permute_range)
CAIRN_GREEDY(construct_range)
CAIRN_GREEDY(construct_at)
CAIRN_GREEDY(names_each_once)
CAIRN_GREEDY(taken_from)
CAIRN_GREEDY(begin_anew)
CAIRN_GREEDY(beyond_end)
CAIRN_GREEDY(round_up)
CAIRN_GREEDY(saturating_multiply)
CAIRN_GREEDY(visit)
CAIRN_GREEDY(clone)
CAIRN_GREEDY(is_aligned)
#undef CAIRN_GREEDY

}  // namespace greedy

using namespace cairn;

TEST(greedy_names, a_slot_map_calls_its_own_functions) {
    slot_map<greedy::enemy> map;
    const auto h = map.emplace(3);
    (void)map.emplace(2);
    (void)map.insert(greedy::enemy{5});
    (void)map.emplace_with([](auto) { return greedy::enemy{4}; });
    EXPECT_EQ(map.find(h)->hp, 3);
    EXPECT_EQ(map[h].hp, 3);
    EXPECT_EQ(map.at(h).hp, 3);
    EXPECT_TRUE(map.sort(greedy::weaker{}));
    EXPECT_EQ(map.begin()->hp, 2);
    map.swap_rows(0, 1);
    EXPECT_EQ(map.erase_if([](const auto& e) { return e.hp == 2; }), 1u);
    auto copy = map.clone();
    ASSERT_TRUE(copy);
    map = std::move(*copy);
    EXPECT_EQ(map.take(h)->hp, 3);
    EXPECT_TRUE(map.retire(map.handle_at(0), 1));
    EXPECT_EQ(map.collect(1), 1u);
    EXPECT_NE(map.fulfil(map.promise_handle(), 1), nullptr);
    map.validate();
}

TEST(greedy_names, a_packed_array_calls_its_own_functions) {
    packed_array<greedy::enemy> array;
    for (const int hp : {3, 1, 2}) { ASSERT_NE(array.emplace(hp), nullptr); }
    EXPECT_TRUE(array.sort(greedy::weaker{}));
    EXPECT_EQ(array[0].hp, 1);
    EXPECT_EQ(array.erase_if([](const auto& e) { return e.hp == 2; }), 1u);
    EXPECT_TRUE(array.reserve(1000));
    array.validate();
}
