// Sentences of cairn/core/inside/begin_anew.hpp about containers whose objects own containers.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

using namespace cairn;

namespace {

template <template <class> class Map>
struct tree {  // incomplete where its map is named
    explicit tree(std::string n) : name{std::move(n)} {}
    tree(tree&&) noexcept = default;
    tree& operator=(tree&&) noexcept = default;

    std::string name;
    std::unique_ptr<Map<tree>> kids = std::make_unique<Map<tree>>();
};
template <class T>
using array_of = packed_array<T>;
template <class T>
using map_of = slot_map<T>;
template <class T>
using stable_map_of = stable_slot_map<T>;

struct actor {
    explicit actor(int v) : value{v} {}
    actor(actor&&) noexcept = default;
    actor& operator=(actor&&) noexcept = default;

    int value;
    slot_map<actor> kids;  // of the type that is incomplete here
};

template <template <class> class Map>
void takes_its_own_child() {
    Map<tree<Map>> root;
    ASSERT_TRUE(root.emplace("a"));
    ASSERT_TRUE(root.begin()->kids->emplace("b"));
    ASSERT_TRUE(root.begin()->kids->emplace("c"));
    root = std::move(*root.begin()->kids);
    ASSERT_EQ(root.size(), 2u);
    std::string names;
    for (auto& each : root) { names += each.name; }
    EXPECT_EQ(names, "bc");
    root.validate();
    auto& same = root;
    root = std::move(same);
    EXPECT_EQ(root.size(), 2u);
}

}  // namespace

TEST(move_assignment, takes_what_an_object_of_the_target_owns) {
    takes_its_own_child<array_of>();
    takes_its_own_child<map_of>();
    takes_its_own_child<stable_map_of>();
}

TEST(move_assignment, from_a_member_of_an_object_of_the_target) {
    slot_map<actor> root;
    const auto h = root.emplace(1);
    const auto kid = root[h].kids.emplace(2);
    root = std::move(root[h].kids);
    ASSERT_EQ(root.size(), 1u);
    EXPECT_EQ(root[kid].value, 2);
    root.validate();
}
