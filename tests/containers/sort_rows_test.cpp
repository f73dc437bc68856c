// Sentences of cairn/containers/inside/sort_rows.hpp. Arrays and tables that are made of them are in their tests.
#include <cairn/containers/inside/sort_rows.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

using namespace cairn::detail;

TEST(sort_rows, a_permutation_moves_each_object_to_its_place_and_ends_as_the_identity) {
    std::unique_ptr<int> objects[5];
    for (int i = 0; i < 5; ++i) { objects[i] = std::make_unique<int>(i); }
    std::uint32_t order[5] = {2, 0, 1, 3, 4};
    permute_range(order, 5, [&](std::size_t row) -> std::unique_ptr<int>& { return objects[row]; });
    const int expected[5] = {2, 0, 1, 3, 4};
    for (std::uint32_t i = 0; i < 5; ++i) {
        EXPECT_EQ(*objects[i], expected[i]);
        EXPECT_EQ(order[i], i);
    }
}

TEST(sort_rows, a_type_that_cannot_be_assigned_is_replaced_by_building_it_anew) {
    struct fixed {
        std::string name;
        explicit fixed(const char* text) : name{text} {}
        fixed(fixed&&) noexcept = default;
        fixed& operator=(fixed&&) = delete;
    };
    fixed hole{"gone"};
    fixed from{"a name that is too long to lie in the string itself"};
    replace(hole, from);
    EXPECT_EQ(hole.name, "a name that is too long to lie in the string itself");
}
