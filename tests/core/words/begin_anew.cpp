// Sentences of cairn/core/inside/begin_anew.hpp.
#include <cairn/core/inside/begin_anew.hpp>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace {

std::string ended;  // the names of the objects that ended, in order

struct owner {
    explicit owner(char name) : name_{name} {}
    owner(owner&& from) noexcept : name_{std::exchange(from.name_, '-')} {}
    owner& operator=(owner&& from) noexcept { return cairn::detail::begin_anew(*this, from); }
    ~owner() { ended += name_; }
    char name_;
};

}  // namespace

TEST(begin_anew, the_target_ends_once_and_the_source_is_moved_from) {
    ended.clear();
    {
        owner a{'a'};
        owner b{'b'};
        owner& same = (a = std::move(b));
        EXPECT_EQ(&same, &a);
        EXPECT_EQ(ended, "a-") << "the value of the target, and what the value of b moved through";
        EXPECT_EQ(a.name_, 'b');
        EXPECT_EQ(b.name_, '-');
    }
    EXPECT_EQ(ended, "a--b");
}

TEST(begin_anew, an_object_that_is_assigned_to_itself_stays) {
    ended.clear();
    owner a{'a'};
    owner& same = a;
    a = std::move(same);
    EXPECT_EQ(ended, "");
    EXPECT_EQ(a.name_, 'a');
}

namespace {

struct tree {
    explicit tree(char name, tree* child = nullptr) : child_{child}, name_{name} {}
    tree(tree&& from) noexcept
        : child_{std::exchange(from.child_, nullptr)}, name_{std::exchange(from.name_, '-')} {}
    tree& operator=(tree&& from) noexcept { return cairn::detail::begin_anew(*this, from); }
    ~tree() { delete child_; }
    tree* child_;
    char name_;
};

}  // namespace

TEST(begin_anew, the_source_may_lie_in_memory_that_the_target_owns) {
    tree root{'r', new tree{'c', new tree{'g'}}};
    root = std::move(*root.child_);
    EXPECT_EQ(root.name_, 'c');
    ASSERT_NE(root.child_, nullptr);
    EXPECT_EQ(root.child_->name_, 'g');
}
