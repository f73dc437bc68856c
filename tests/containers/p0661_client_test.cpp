// Clients written for the slot_map of WG21 P0661, with nothing of cairn but the type: what that
// paper names compiles against cairn::slot_map and means the same, for each width of key and for
// values that cannot be copied. (One difference: at() with a stale key stops the program, where the
// paper throws.)
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace client {

template <class SlotMap>
void use(SlotMap& map) {
    using key_type = typename SlotMap::key_type;
    using iterator = typename SlotMap::iterator;
    using size_type = typename SlotMap::size_type;
    static_assert(std::is_same_v<typename SlotMap::mapped_type, std::string>);
    static_assert(std::is_same_v<typename SlotMap::reference, std::string&>);

    EXPECT_TRUE(map.empty());
    (void)map.reserve(10);
    (void)map.reserve_slots(20);
    EXPECT_GE(map.capacity(), size_type{10});
    EXPECT_GE(map.slot_count(), size_type{20});
    EXPECT_GE(map.max_size(), size_type{1000});

    const std::string apple = "apple";
    const key_type a = map.insert(apple);
    const key_type b = map.insert(std::string("banana"));
    const key_type c = map.emplace(3u, 'c');
    EXPECT_EQ(map.size(), 3u);
    EXPECT_EQ(map[a], "apple");
    EXPECT_EQ(map.at(c), "ccc");

    iterator it = map.find(b);
    ASSERT_TRUE(it != map.end());
    EXPECT_EQ(*it, "banana");
    EXPECT_EQ(*map.find_unchecked(b), "banana");
    EXPECT_TRUE(map.find_unchecked(a) == map.begin());
    EXPECT_TRUE(map.find_unchecked(b) != map.end());
    it = map.find_unchecked(b);
    EXPECT_TRUE(it == map.find(b));

    auto found = map.find(a);  // whatever its type: it steps, compares and erases as an iterator
    EXPECT_TRUE(found == map.find(a));
    EXPECT_FALSE(found == map.find(b));
    EXPECT_EQ(*++found, "banana");
    EXPECT_EQ(*found++, "banana");
    EXPECT_TRUE(found == map.find(c));
    EXPECT_EQ(found - map.begin(), 2);
    EXPECT_TRUE(++found == map.end());
    EXPECT_TRUE(found == map.find(key_type{}));

    EXPECT_EQ(map.erase(a), 1u);  // by key: how many
    EXPECT_EQ(map.erase(a), 0u);
    EXPECT_TRUE(map.find(a) == map.end());
    if (map.find(a) != map.end()) { ADD_FAILURE() << "a stale key is not found"; }

    it = map.find(b);
    it = map.erase(it);  // by iterator: the next one
    EXPECT_EQ(map.size(), 1u);
    EXPECT_EQ(map[c], "ccc");

    std::string all;
    for (const std::string& value : std::as_const(map)) { all += value; }
    for (auto r = map.rbegin(); r != map.rend(); ++r) { all += *r; }
    EXPECT_EQ(all, "cccccc");
    for (typename SlotMap::const_reverse_iterator r = map.rbegin(); r != map.crend(); ++r) {
        all += *r;
    }
    EXPECT_TRUE(map.crbegin() == std::as_const(map).rbegin());
    EXPECT_EQ(all, "ccccccccc");
    EXPECT_EQ(map.cend() - map.cbegin(), 1);

    SlotMap other;
    swap(map, other);
    EXPECT_TRUE(map.empty());
    map.swap(other);
    map.erase(map.begin(), map.end());
    EXPECT_TRUE(map.empty());
    map.clear();
    EXPECT_TRUE(map.find(c) == map.end());
}

inline int number(int value) { return value; }
inline int number(const std::unique_ptr<int>& value) { return *value; }
inline int made(int i, int) { return i; }
inline std::unique_ptr<int> made(int i, const std::unique_ptr<int>&) {
    return std::make_unique<int>(i);
}

/// A map with 0 ... count - 1 and the keys of all.
template <class SlotMap>
std::vector<typename SlotMap::key_type> fill(SlotMap& map, int count) {
    std::vector<typename SlotMap::key_type> keys;
    for (int i = 0; i < count; ++i) {
        keys.push_back(map.insert(made(i, typename SlotMap::mapped_type{})));
    }
    return keys;
}

/// Every key finds its value by each way there is.
template <class SlotMap>
void expect_found(SlotMap& map, const std::vector<typename SlotMap::key_type>& keys) {
    const SlotMap& read = map;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const int expected = static_cast<int>(i);
        EXPECT_EQ(number(map[keys[i]]), expected);
        EXPECT_EQ(number(read[keys[i]]), expected);
        EXPECT_EQ(number(map.at(keys[i])), expected);
        EXPECT_EQ(number(read.at(keys[i])), expected);
        EXPECT_TRUE(map.find(keys[i]) != map.end());
        EXPECT_TRUE(map.find_unchecked(keys[i]) == map.find(keys[i]));
        EXPECT_TRUE(read.find_unchecked(keys[i]) == read.find(keys[i]));
        EXPECT_EQ(number(*read.find_unchecked(keys[i])), expected);
    }
}

template <class SlotMap>
void keys_survive_what_is_done_to_others() {
    SlotMap map;
    auto keys = fill(map, 60);
    expect_found(map, keys);
    EXPECT_TRUE(map.find_unchecked(keys[0]) == map.begin());
    EXPECT_TRUE(map.find_unchecked(keys[0]) != map.end());
    EXPECT_TRUE(map.begin() == map.find_unchecked(keys[0]));
    typename SlotMap::iterator it = map.find_unchecked(keys[59]);
    EXPECT_TRUE(++it == map.end());

    while (keys.size() > 30) {  // the youngest first
        EXPECT_EQ(map.erase(keys.back()), 1u);
        EXPECT_EQ(map.erase(keys.back()), 0u);
        keys.pop_back();
        expect_found(map, keys);
    }
    const auto more = fill(map, 20);
    for (std::size_t i = 0; i < more.size(); i += 2) { map.erase(more[i]); }  // every other one
    expect_found(map, keys);
    for (std::size_t i = 0; i < more.size(); ++i) {
        EXPECT_EQ(map.find(more[i]) == map.end(), i % 2 == 0);
    }
    EXPECT_EQ(map.size(), 40u);
}

template <class SlotMap>
void iterators_erase() {
    SlotMap map;
    const auto keys = fill(map, 50);
    std::vector<int> seen;
    for (auto it = map.begin(); it != map.end();) {  // while going through
        seen.push_back(number(*it));
        it = number(*it) % 2 == 0 ? map.erase(it) : it + 1;
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen.size(), 50u);
    EXPECT_TRUE(std::unique(seen.begin(), seen.end()) == seen.end());
    EXPECT_EQ(map.size(), 25u);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        EXPECT_EQ(map.find(keys[i]) != map.end(), i % 2 == 1);
    }

    const auto none = map.erase(map.begin(), map.begin());
    EXPECT_TRUE(none == map.begin());
    EXPECT_EQ(map.size(), 25u);
    auto next = map.erase(map.begin() + 5, map.begin() + 15);
    EXPECT_EQ(map.size(), 15u);
    EXPECT_EQ(next - map.begin(), 5);
    next = map.erase(map.cbegin() + 5, map.cend());
    EXPECT_TRUE(next == map.end());
    EXPECT_EQ(map.size(), 5u);
    int live = 0;
    for (const auto key : keys) { live += map.find(key) != map.end() ? 1 : 0; }
    EXPECT_EQ(live, 5);
    map.erase(map.begin(), map.end());
    EXPECT_TRUE(map.empty());
    EXPECT_TRUE(map.begin() == map.end());
}

template <class SlotMap>
void maps_move_and_swap_with_their_keys() {
    SlotMap a;
    SlotMap b;
    const auto of_a = fill(a, 10);
    const auto of_b = fill(b, 20);
    a.swap(b);
    expect_found(a, of_b);
    expect_found(b, of_a);
    swap(a, b);
    expect_found(a, of_a);
    SlotMap c{std::move(a)};
    expect_found(c, of_a);
    a = std::move(b);
    expect_found(a, of_b);
    a = SlotMap{};
    EXPECT_TRUE(a.empty());
    for (const auto key : of_b) { EXPECT_TRUE(a.find(key) == a.end()); }
    c.clear();
    EXPECT_EQ(c.size(), 0u);
    for (const auto key : of_a) { EXPECT_TRUE(c.find(key) == c.end()); }
    expect_found(c, fill(c, 10));
}

template <class SlotMap>
void room_is_promised() {
    SlotMap map;
    EXPECT_EQ(map.slot_count(), 0u);
    (void)map.reserve(100);
    const auto capacity = map.capacity();
    EXPECT_GE(capacity, 100u);
    const auto keys = fill(map, 100);
    EXPECT_EQ(map.capacity(), capacity) << "no growth up to there";
    (void)map.reserve_slots(200);
    EXPECT_GE(map.slot_count(), 200u);
    (void)map.reserve(1);  // nothing shrinks
    EXPECT_EQ(map.capacity(), capacity);
    expect_found(map, keys);
}

}  // namespace client

TEST(slot_map, code_written_for_p0661_compiles_and_means_the_same) {
    cairn::slot_map<std::string> map;
    client::use(map);
}

template <class SlotMap>
class p0661_client : public testing::Test {};
using maps = testing::Types<cairn::slot_map<int>, cairn::slot_map<int, cairn::slot_policy<32>>,
                            cairn::slot_map<int, cairn::slot_policy<16>>,
                            cairn::slot_map<int, cairn::slot_policy<64, 32, cairn::reuse::lifo>>,
                            cairn::slot_map<int, cairn::slot_policy<32, 16, cairn::reuse::lowest>>,
                            cairn::slot_map<int, cairn::slot_policy<>::tagged<struct red>>,
                            cairn::slot_map<std::unique_ptr<int>>>;
TYPED_TEST_SUITE(p0661_client, maps);

TYPED_TEST(p0661_client, keys_survive_what_is_done_to_others) {
    client::keys_survive_what_is_done_to_others<TypeParam>();
}
TYPED_TEST(p0661_client, iterators_erase) { client::iterators_erase<TypeParam>(); }
TYPED_TEST(p0661_client, maps_move_and_swap_with_their_keys) {
    client::maps_move_and_swap_with_their_keys<TypeParam>();
}
TYPED_TEST(p0661_client, room_is_promised) { client::room_is_promised<TypeParam>(); }
