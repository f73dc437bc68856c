// Sentences of cairn/core/inside/moved.hpp.
#include <cairn/core/inside/moved.hpp>
#include <gtest/gtest.h>

#include <utility>

using cairn::detail::moved;

namespace {

struct counts {
    moved<int> size{7};
    moved<unsigned, 99u> last{3u};
    int plain = 5;
};

}  // namespace

TEST(moved, is_empty_after_it_was_moved_from_and_the_class_writes_no_moves) {
    counts a;
    counts b = std::move(a);
    EXPECT_EQ(b.size, 7);
    EXPECT_EQ(b.last, 3u);
    EXPECT_EQ(a.size, 0);
    EXPECT_EQ(a.last, 99u) << "what empty is, is said at the member";
    EXPECT_EQ(a.plain, 5);
    a = std::move(b);
    EXPECT_EQ(a.size, 7);
    EXPECT_EQ(b.size, 0);
}

TEST(moved, keeps_its_value_when_it_is_moved_to_itself) {
    counts a;
    counts& same = a;
    a = std::move(same);
    EXPECT_EQ(a.size, 7);
    EXPECT_EQ(a.last, 3u);
}

TEST(moved, counts_and_copies_like_a_number) {
    counts a;
    EXPECT_EQ(++a.size, 8);
    EXPECT_EQ(a.size++, 8);
    EXPECT_EQ(--a.size, 8);
    EXPECT_EQ(a.size += 2, 10);
    counts b;
    b.size = a.size;
    EXPECT_EQ(b.size, 10);
    EXPECT_EQ(a.size, 10) << "a copy takes nothing";
}
