// A client written for the slot_map of WG21 P0661, with nothing of cairn but the type: what that paper
// names compiles against cairn::slot_map and means the same.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace client {

template <class SlotMap>
void use(SlotMap& map) {
    using key_type = typename SlotMap::key_type;
    using iterator = typename SlotMap::iterator;
    using size_type = typename SlotMap::size_type;
    static_assert(std::is_same_v<typename SlotMap::mapped_type, std::string>);
    static_assert(std::is_same_v<typename SlotMap::reference, std::string&>);

    EXPECT_TRUE(map.empty());
    map.reserve(10);
    map.reserve_slots(20);
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

}  // namespace client

TEST(slot_map, code_written_for_p0661_compiles_and_means_the_same) {
    cairn::slot_map<std::string> map;
    client::use(map);
}
