// Rows at the edges of what a row may be (cairn/containers/inside/row_fields.hpp, table/column.hpp).
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <string>

using namespace cairn;

namespace {

struct matrix {
    float a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct skeleton {  // 17 fields of 16 components: 272 columns
    matrix a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};

struct sparse {  // fields that take anything in their constructors, too
    std::optional<int> target;
    std::optional<std::string> name;
    int id;
};

struct number {  // not made of nothing
    explicit constexpr number(int n) noexcept : value{n} {}
    int value;
};
struct needing {
    int a, b, c, d;
    number last;
};

}  // namespace

// Five values or none: no other number of them builds a row.
static_assert(cairn::detail::field_count<needing> == 5);
static_assert(cairn::detail::field_count<sparse> == 3 && cairn::detail::field_count<matrix> == 16);

TEST(table_fields, a_field_that_needs_a_value_is_a_field) {
    table<needing, soa> t;
    ASSERT_TRUE(t.emplace_back(1, 2, 3, 4, number{5}));
    EXPECT_EQ(t[0].get<4>().value, 5);
}

TEST(table_fields, seventeen_matrices_in_272_columns_survive_growth) {
    table<skeleton, split_soa> t;
    skeleton row{};
    for (int i = 0; i < 100; ++i) {
        row.a.a = static_cast<float>(i);
        row.q.p = static_cast<float>(2 * i);
        ASSERT_TRUE(t.push_back(row));
    }
    for (int i = 0; i < 100; ++i) {
        const skeleton found = t[static_cast<std::size_t>(i)];
        EXPECT_EQ(found.a.a, static_cast<float>(i));
        EXPECT_EQ(found.q.p, static_cast<float>(2 * i));
    }
    t.validate();
}

TEST(table_fields, optional_fields_are_counted_and_found) {
    table<sparse, soa> t;
    ASSERT_TRUE(t.emplace_back(std::nullopt, "stone", 1));
    ASSERT_TRUE(t.emplace_back(7, std::nullopt, 2));
    EXPECT_FALSE(t[0].get<&sparse::target>().has_value());
    EXPECT_EQ(*t[0].get<&sparse::name>(), "stone");
    EXPECT_EQ(*t.column<&sparse::target>()[1], 7);
    EXPECT_EQ(t[1].get<2>(), 2);
}
