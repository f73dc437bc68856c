// Sentences of cairn/owners/lease.hpp. Leases of the pools are in containers/object_pool.
#include <cairn/core/assert.hpp>
#include <cairn/owners/lease.hpp>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

namespace {

/// Remembers what came back.
struct shelf {
    using value_type = int;
    std::vector<int*> back;
    void release(int* object) { back.push_back(object); }
};
using loan = lease<shelf>;

}  // namespace

TEST(lease, its_end_gives_the_object_back_once) {
    shelf pool;
    int one = 1;
    {
        loan a{pool, &one};
        EXPECT_EQ(*a, 1);
        EXPECT_EQ(a.get(), &one);
        loan b{std::move(a)};
        EXPECT_FALSE(a);
        EXPECT_TRUE(b);
        EXPECT_TRUE(pool.back.empty());
    }
    EXPECT_EQ(pool.back, std::vector<int*>{&one});
}

TEST(lease, that_is_assigned_to_gives_back_what_it_had_to_where_it_was_from) {
    shelf first;
    shelf second;
    int one = 1;
    int two = 2;
    loan a{first, &one};
    a = loan{second, &two};
    EXPECT_EQ(first.back, std::vector<int*>{&one});
    EXPECT_TRUE(second.back.empty());
    loan& same = a;
    a = std::move(same);
    EXPECT_EQ(a.get(), &two) << "it may be moved to itself";
    a = nullptr;
    EXPECT_EQ(second.back, std::vector<int*>{&two});
}

TEST(lease, ends_early_or_hands_the_object_over) {
    shelf pool;
    int one = 1;
    loan a{pool, &one};
    a.give_back();
    a.give_back();
    EXPECT_EQ(pool.back.size(), 1u);
    loan b{pool, &one};
    EXPECT_EQ(b.detach(), &one);
    EXPECT_TRUE(b == nullptr);
    EXPECT_EQ(b.detach(), nullptr);
    EXPECT_EQ(pool.back.size(), 1u);
}

TEST(lease, does_not_copy_and_is_used_while_it_holds_an_object) {
    static_assert(!std::is_copy_constructible_v<loan> && !std::is_copy_assignable_v<loan>);
    if (!asserts_enabled) { GTEST_SKIP(); }
    const loan empty;
    EXPECT_DEATH((void)*empty, "a lease is used while it holds an object");
}
