// Sentences of cairn/owners/unique_handle.hpp: when the object ends.
#include <cairn/owners/unique_handle.hpp>
#include <gtest/gtest.h>

#include <utility>

#include "owners/handles/doors.hpp"

using namespace cairn;
using namespace handles_tests;

TYPED_TEST(owners_in, a_unique_handle_erases_its_object_once) {
    TypeParam map;
    typename TypeParam::handle_type weak;
    {
        unique_handle a{map, map.emplace(1)};
        weak = a.handle();
        EXPECT_TRUE(a);
        EXPECT_EQ(a->number, 1);
        unique_handle<TypeParam> b = std::move(a);
        EXPECT_FALSE(a);
        EXPECT_EQ((*b).number, 1);
        EXPECT_TRUE(map.contains(weak));
    }
    EXPECT_FALSE(map.contains(weak));
    EXPECT_EQ(door::alive, 0);
    unique_handle c{map, map.emplace(2)};
    EXPECT_TRUE(map.erase(c.handle())) << "erased by somebody else: the end does nothing";
    EXPECT_FALSE(c);
    c.reset();
    unique_handle d{map, map.emplace(3)};
    const auto freed = d.release();
    EXPECT_TRUE(map.contains(freed));
    EXPECT_TRUE(map.erase(freed));
}

TYPED_TEST(owners_in, a_unique_handle_that_is_assigned_to_erases_what_it_owned) {
    TypeParam map;
    unique_handle a{map, map.emplace(1)};
    unique_handle b{map, map.emplace(2)};
    a = std::move(b);
    EXPECT_EQ(map.size(), 1u);
    EXPECT_EQ(a->number, 2);
    EXPECT_EQ(door::alive, 1);
}
