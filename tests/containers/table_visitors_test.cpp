// What visitors and predicates of rows may do besides using their argument, in optimized loops.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

namespace {

struct plain {
    float x = 0;
    float sum = 0;
    int id = 0;
};
template <class K = value>
struct named {
    field<K, float> x = 0.0f;
    field<K, float> sum = 0.0f;
    field<K, int> id = 0;
};

/// Row i: x is i, id is i.
template <class Row, class Layout>
table<Row, Layout> rows(int count) {
    table<Row, Layout> t;
    for (int i = 0; i < count; ++i) { EXPECT_TRUE(t.push_back(Row{static_cast<float>(i), 0, i})); }
    return t;
}
template <class Row, class Layout>
struct of {
    using row = Row;
    static auto make(int count) { return rows<Row, Layout>(count); }
};

template <class Of>
class visitors_of_rows : public testing::Test {};
using all_rows = testing::Types<of<plain, soa>, of<plain, split_soa>, of<named<>, soa>>;
TYPED_TEST_SUITE(visitors_of_rows, all_rows);

template <class Of>
class visitors_of_plain_rows : public testing::Test {};
using plain_rows = testing::Types<of<plain, soa>, of<plain, split_soa>>;
TYPED_TEST_SUITE(visitors_of_plain_rows, plain_rows);

}  // namespace

// 20 rows are 16 rows and 4 more: loops in steps have two parts.
TYPED_TEST(visitors_of_rows, a_static_local_of_a_generic_visitor_exists_once) {
    using row = typename TypeParam::row;
    auto t = TypeParam::make(20);
    t.for_each([](auto&& r) {
        static int visits = 0;
        get<&row::id>(r) = visits++;
    });
    for (std::size_t i = 0; i < 20; ++i) { EXPECT_EQ((get<&row::id>(t[i])), static_cast<int>(i)); }
}

TYPED_TEST(visitors_of_rows, a_static_local_of_a_generic_predicate_exists_once) {
    auto t = TypeParam::make(20);
    EXPECT_EQ(t.erase_if([](auto&&) {
        static int asked = 0;
        return asked++ >= 16;
    }),
              4u);
    auto u = TypeParam::make(20);
    EXPECT_EQ(u.swap_erase_if([](auto&&) {
        static int asked = 0;
        return asked++ >= 16;
    }),
              4u);
}

TYPED_TEST(visitors_of_plain_rows, a_loop_in_a_visitor_sees_what_the_visitor_wrote) {
    auto t = TypeParam::make(64);
    t.for_each([&](auto&& a) {
        get<&plain::x>(a) = 5;
        float sum = 0;
        for (auto&& b : std::as_const(t)) { sum += get<&plain::x>(b); }
        get<&plain::sum>(a) = sum;
        get<&plain::x>(a) = 0;
    });
    float behind = 64 * 63 / 2;
    for (int i = 0; i < 64; ++i) {
        behind -= static_cast<float>(i);
        EXPECT_EQ((get<&plain::sum>(t[static_cast<std::size_t>(i)])), behind + 5);
    }
}

TYPED_TEST(visitors_of_plain_rows, a_visitor_sees_what_it_wrote_to_another_row) {
    auto t = TypeParam::make(100);
    t.for_each([&](auto&& r) { get<&plain::x>(r) += get<&plain::x>(t[3]); });
    float leader = 3;
    for (int i = 0; i < 100; ++i) {
        const float expected = static_cast<float>(i) + leader;
        if (i == 3) { leader = expected; }
        EXPECT_EQ((get<&plain::x>(t[static_cast<std::size_t>(i)])), expected) << i;
    }
}

TYPED_TEST(visitors_of_plain_rows, a_visitor_may_write_its_row_through_the_table) {
    auto t = TypeParam::make(100);
    t.for_each([&](auto&& r) {
        get<&plain::x>(r) = 1;
        const int id = get<&plain::id>(r);
        t[static_cast<std::size_t>(id)] = plain{5, 6, id};
        get<&plain::x>(r) += 1;
    });
    t.for_each([](auto&& r) { EXPECT_EQ((get<&plain::x>(r)), 6.0f); });
}

TYPED_TEST(visitors_of_plain_rows, a_predicate_sees_its_row_through_the_table) {
    auto t = TypeParam::make(100);
    std::size_t i = 0;
    EXPECT_EQ(t.erase_if([&](auto&& r) {
        get<&plain::x>(r) = 7;
        return get<&plain::x>(t[i++]) != 7;
    }),
              0u);
}

TYPED_TEST(visitors_of_plain_rows, rows_of_two_loops_are_swapped) {
    auto t = TypeParam::make(32);
    auto u = TypeParam::make(32);
    u.for_each([](auto&& r) { get<&plain::x>(r) += 100; });
    t.for_each([&](auto&& a) {
        u.for_each([&](auto&& b) {
            using std::swap;
            if (get<&plain::id>(a) == get<&plain::id>(b)) { swap(a, b); }
        });
    });
    for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_EQ((get<&plain::x>(t[i])), static_cast<float>(i) + 100);
        EXPECT_EQ((get<&plain::x>(u[i])), static_cast<float>(i));
    }
}

TYPED_TEST(visitors_of_plain_rows, the_row_has_the_type_reference_in_every_build) {
    auto t = TypeParam::make(20);
    using reference = typename decltype(t)::reference;
    t.for_each([](auto&& r) {
        static_assert(std::is_same_v<std::remove_cvref_t<decltype(r)>, reference>);
    });
    std::as_const(t).for_each(
        [](auto&& r) { static_assert(!std::is_assignable_v<decltype(r), plain>); });
}

TYPED_TEST(visitors_of_plain_rows, a_row_that_a_visitor_keeps_names_the_row_after_the_loop) {
    auto t = TypeParam::make(200);
    std::vector<std::function<int()>> ids;
    t.for_each_batch(64, [&](auto part) {
        part.for_each([&](auto&& row) {
            ids.push_back([row] { return get<&plain::id>(row); });
            get<&plain::id>(row) += 1;
        });
    });
    for (std::size_t i = 0; i < t.size(); ++i) { EXPECT_EQ(ids[i](), static_cast<int>(i) + 1); }
}
