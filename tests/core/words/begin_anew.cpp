// Sentences of cairn/core/inside/begin_anew.hpp.
#include <cairn/core/inside/begin_anew.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

std::string told;

struct owner {
    explicit owner(char name) : name_{name} {}
    owner(owner&& from) noexcept : name_{std::exchange(from.name_, '-')} {}
    owner& operator=(owner&& from) noexcept { return cairn::detail::begin_anew(*this, from); }
    ~owner() { told += name_; }
    char name_;
};

}  // namespace

TEST(begin_anew, what_was_there_ends_first_and_the_other_one_is_moved_from) {
    told.clear();
    {
        owner a{'a'};
        owner b{'b'};
        owner& same = (a = std::move(b));
        EXPECT_EQ(&same, &a);
        EXPECT_EQ(told, "a");
        EXPECT_EQ(a.name_, 'b');
        EXPECT_EQ(b.name_, '-');
    }
    EXPECT_EQ(told, "a-b");
}

TEST(begin_anew, an_object_that_is_assigned_to_itself_stays) {
    told.clear();
    owner a{'a'};
    owner& same = a;
    a = std::move(same);
    EXPECT_EQ(told, "");
    EXPECT_EQ(a.name_, 'a');
}
