// Sentences of cairn/containers/inside/ranges.hpp. Arrays and tables that are made of them are in their tests.
#include <cairn/containers/inside/ranges.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>

using namespace cairn::detail;

TEST(ranges, a_permutation_moves_each_object_to_its_place_and_ends_as_the_identity) {
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

#if defined(__cpp_exceptions)

namespace {

struct third_throws {
    static inline int live = 0;
    static inline int copies = 0;
    third_throws() { ++live; }
    third_throws(const third_throws&) {
        if (++copies == 3) { throw 1; }
        ++live;
    }
    ~third_throws() { --live; }
};

}  // namespace

TEST(ranges, what_was_built_is_gone_when_a_copy_throws_and_the_old_ones_are_whole) {
    third_throws from[5];
    alignas(third_throws) unsigned char memory[5 * sizeof(third_throws)];
    EXPECT_THROW(construct_range(reinterpret_cast<third_throws*>(memory), from, 5), int);
    EXPECT_EQ(third_throws::live, 5);
}

#endif

TEST(ranges, a_type_that_cannot_be_assigned_is_replaced_by_building_it_anew) {
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
