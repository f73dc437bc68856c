// Random operations on a table of every layout against std::vector, from printed seeds; and failure
// at every point: allocations that are refused, constructors and copies that throw.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "containers/table_model.hpp"
#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

using namespace table_model;

namespace {

template <class Layout>
class table_model_in : public testing::Test {};
TYPED_TEST_SUITE(table_model_in, test_layouts::all);

}  // namespace

TYPED_TEST(table_model_in, a_million_random_operations_agree_with_a_vector) {
    // 5 layouts x 20 seeds x 10,000
    using layout = typename table<row<>, TypeParam>::layout_type;
    for (unsigned seed = 1; seed <= 20; ++seed) { run_against_vector<layout>(seed, 10000); }
}

TYPED_TEST(table_model_in, every_refused_allocation_leaves_the_table_unchanged) {
    for (std::size_t refused = 0; refused < 12; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 6);
        table<row<>, TypeParam> t{upstream};
        std::vector<row<>> model;
        for (int i = 0; i < 300; ++i) {
            const row<> r = make_row(i);
            row<> passed = r;
            if (t.push_back(std::move(passed))) {
                model.push_back(r);
            } else {
                EXPECT_TRUE(same(passed, r)) << "the argument is not consumed";
                EXPECT_TRUE(same_rows(t, model));
            }
        }
        EXPECT_TRUE(same_rows(t, model));
        if (!t.template sort_by<&row<>::name>()) { EXPECT_TRUE(same_rows(t, model)); }
    }
    EXPECT_EQ(fussy::live, 0);
}

TYPED_TEST(table_model_in,
           a_block_of_a_few_rows_will_do_when_there_is_no_memory_for_twice_as_many) {
    test_upstream upstream;
    table<row<>, TypeParam> t{upstream};
    while (t.size() < 1024) { ASSERT_TRUE(t.push_back(make_row(static_cast<int>(t.size())))); }
    ASSERT_EQ(t.size(), t.capacity());
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_TRUE(t.push_back(make_row(1024)));
    EXPECT_LT(t.capacity(), 2048u);
    EXPECT_EQ(t[1024].id, 1024);
    EXPECT_EQ(t[0].name, "row number 0");
    t.validate();
}

TYPED_TEST(table_model_in, reserved_addresses_agree_with_a_vector_and_never_move) {
    test_upstream upstream;
    {
        table<row<>, TypeParam> t{upstream};
        std::vector<row<>> model;
        ASSERT_TRUE(t.reserve_address_space(12000));
        EXPECT_FALSE(t.reserve(13000));
        EXPECT_EQ(t.capacity(), 0u);
        const std::string* first = nullptr;
        std::mt19937 random{5};
        for (int i = 0; model.size() < 12000; ++i) {
            if (random() % 4 != 0 || model.empty()) {
                model.push_back(make_row(i));
                ASSERT_TRUE(t.push_back(model.back()));
            } else {
                const std::size_t k = random() % model.size();
                t.swap_erase(k);
                model[k] = model.back();
                model.pop_back();
            }
            if (first == nullptr) { first = &t[0].name; }
            if (!t.empty()) { ASSERT_EQ(&t[0].name, first); }
        }
        EXPECT_TRUE(same_rows(t, model));
        while (t.size() < t.capacity()) {
            model.push_back(make_row(1));
            ASSERT_TRUE(t.push_back(model.back()));
        }
        EXPECT_FALSE(t.push_back(model.back())) << "the addresses are used up";
        EXPECT_TRUE(t.shrink_to_fit());
        EXPECT_TRUE(t.template sort_by<&row<>::name>());
        model = stably_sorted(model, &row<>::name);
        table<row<>, TypeParam> moved{std::move(t)};
        EXPECT_TRUE(same_rows(moved, model));
        EXPECT_EQ(&moved[0].name, first);
        EXPECT_TRUE(t.push_back(model.back())) << "a moved-from table begins anew";
        t.clear();
        EXPECT_EQ(upstream.request_count() <= 4, true) << "rows came from the system";
    }
    EXPECT_EQ(fussy::live, 0);
}

#if defined(__cpp_exceptions)
TYPED_TEST(table_model_in, every_throwing_constructor_leaves_the_table_unchanged) {
    test_upstream upstream;
    {
        const row<> sample = make_row(7);
        for (int throws_at = 0; throws_at < 150; ++throws_at) {
            table<row<>, TypeParam> t{upstream};
            std::vector<row<>> model;
            fussy::until_throw = -1;
            for (int i = 0; i < 63; ++i) { model.push_back(make_row(i)); }
            for (const row<>& r : model) { ASSERT_TRUE(t.push_back(r)); }
            fussy::until_throw = throws_at;
            bool thrown = false;
            try {
                for (int i = 0; i < 4; ++i) {  // the second one grows the table
                    const bool done = t.push_back(sample);
                    const int armed = std::exchange(fussy::until_throw, -1);
                    EXPECT_TRUE(done);
                    model.push_back(sample);
                    fussy::until_throw = armed;
                }
            } catch (int) { thrown = true; }
            fussy::until_throw = -1;
            EXPECT_TRUE(same_rows(t, model)) << throws_at;
            if (!thrown) { break; }
            ASSERT_LT(throws_at, 149) << "all constructions were reached";
        }
        for (int throws_at = 0; throws_at < 6; ++throws_at) {  // emplace from fields
            table<row<>, TypeParam> t{upstream};
            ASSERT_TRUE(t.push_back(sample));
            const fussy part{3};
            fussy::until_throw = throws_at;
            try {
                (void)t.emplace_back(1, "name", 2.0, part, static_cast<unsigned char>(3));
            } catch (int) { EXPECT_EQ(t.size(), 1u); }
            fussy::until_throw = -1;
            EXPECT_TRUE(same(t[0], sample));
        }
    }
    EXPECT_EQ(fussy::live, 0);
}
#endif
