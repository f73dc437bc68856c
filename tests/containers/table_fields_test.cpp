// Rows at the edges of what a row may be (cairn/containers/row_fields.hpp, components.hpp).
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

using namespace cairn;

namespace {

struct matrix {
    float a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct skeleton {  // 17 fields of 16 components: 272 columns
    matrix a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};

}  // namespace

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
