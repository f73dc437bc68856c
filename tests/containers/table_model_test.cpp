// Random operations on a table of every layout against std::vector, from printed seeds; and failure
// at every point: allocations that are refused, constructors, copies and moves that throw.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

/// Counts its objects, and throws at the n-th construction when told to.
struct fussy {
    static inline int live = 0;
    [[maybe_unused]] static inline int until_throw = -1;  // negative: never

    static void maybe_throw() {
#if defined(__cpp_exceptions)
        if (until_throw == 0) { throw 42; }
        if (until_throw > 0) { --until_throw; }
#endif
    }
    explicit fussy(int n) : number{n} { maybe_throw(), ++live; }
    fussy(const fussy& other) : number{other.number} { maybe_throw(), ++live; }
    fussy& operator=(const fussy&) = default;
    ~fussy() { --live; }
    int number;
};
static_assert(!std::is_nothrow_move_constructible_v<fussy>);

template <class K = value>
struct row {
    field<K, int> id;
    field<K, std::string> name;
    field<K, double> weight = 0.5;
    field<K, fussy> odd;
    field<K, unsigned char> tag = 1;
};

row<> make_row(int id) {
    return {id, "row number " + std::to_string(id), id * 0.25, fussy{id},
            static_cast<unsigned char>(id)};
}

template <class A, class B>
bool same(const A& a, const B& b) {
    return a.id == b.id && a.name == b.name && a.weight == b.weight &&
           a.odd.number == b.odd.number && a.tag == b.tag;
}

template <class T>
::testing::AssertionResult same_rows(const T& t, const std::vector<row<>>& model) {
    t.validate();
    if (t.size() != model.size()) {
        return ::testing::AssertionFailure() << t.size() << " rows, not " << model.size();
    }
    for (std::size_t i = 0; i < model.size(); ++i) {
        if (!same(t[i], model[i])) { return ::testing::AssertionFailure() << "row " << i; }
    }
    return ::testing::AssertionSuccess();
}

/// std::stable_sort uses something deprecated, which clang mentions.
template <class Key>
std::vector<row<>> stably_sorted(const std::vector<row<>>& rows, Key key) {
    std::vector<std::size_t> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return rows[a].*key < rows[b].*key || (rows[a].*key == rows[b].*key && a < b);
    });
    std::vector<row<>> sorted;
    for (const std::size_t i : order) { sorted.push_back(rows[i]); }
    return sorted;
}

template <class Layout>
class table_model : public testing::Test {};
using layouts = testing::Types<aos, soa, aosoa<4>>;  // split_soa is soa for this row
TYPED_TEST_SUITE(table_model, layouts);

/// `operations` random ones from `seed`; some upstream requests are refused.
template <class Layout>
void run_against_vector(unsigned seed, int operations) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 generator{seed};
    const auto random = [&] { return static_cast<unsigned>(generator()); };
    test_upstream upstream;
    {
        table<row<>, Layout> t{upstream};
        std::vector<row<>> model;
        for (int op = 0; op < operations; ++op) {
            const bool refuse = random() % 8 == 0;
            if (refuse) { upstream.refuse_from(upstream.request_count()); }
            const auto at = [&] { return random() % model.size(); };
            const unsigned what = random() % 100;
            if (what < 55 || model.empty()) {
                row<> r = make_row(static_cast<int>(random() % 100000));
                if (t.push_back(r)) {
                    model.push_back(r);
                } else {
                    EXPECT_TRUE(refuse && t.size() == t.capacity());
                }
            } else if (what < 75) {
                const std::size_t i = at();
                t.swap_erase(i);
                model[i] = model.back();
                model.pop_back();
            } else if (what < 80) {
                const std::size_t i = at();
                t.erase(i);
                model.erase(model.begin() + static_cast<std::ptrdiff_t>(i));
            } else if (what < 85) {
                const std::size_t i = at();
                row<> r = make_row(static_cast<int>(random() % 100000));
                if (t.insert(i, r)) {
                    model.insert(model.begin() + static_cast<std::ptrdiff_t>(i), r);
                }
            } else if (what < 90) {
                const std::size_t i = at();
                const std::size_t k = at();
                t[i].name = "changed";
                model[i].name = "changed";
                t[k].weight += 1;
                model[k].weight += 1;
                using std::swap;
                swap(t[i], t[k]);
                swap(model[i], model[k]);
            } else if (what < 92) {
                t.pop_back();
                model.pop_back();
            } else if (what < 93) {
                if (t.template sort_by<&row<>::id>()) { model = stably_sorted(model, &row<>::id); }
            } else if (what < 94) {
                if (t.template sort_by<&row<>::name>()) {
                    model = stably_sorted(model, &row<>::name);
                }
            } else if (what < 95) {
                const int limit = static_cast<int>(random() % 100000);
                const auto gone = [=](auto&& r) { return r.id > 50000 + limit; };
                EXPECT_EQ(t.erase_if(gone), std::erase_if(model, gone));
            } else if (what < 96) {
                (void)t.shrink_to_fit();
            } else if (what < 97) {
                (void)t.reserve(random() % 200);
            } else if (what < 98) {
                t.clear();
                model.clear();
            } else if (what < 99) {
                table<row<>, Layout> moved{std::move(t)};
                t = std::move(moved);
            }
            upstream.refuse_nothing();
            if (op % 250 == 0 || op + 1 == operations) { ASSERT_TRUE(same_rows(t, model)) << op; }
        }
    }
    EXPECT_EQ(fussy::live, 0);
}

}  // namespace

TYPED_TEST(table_model, a_million_random_operations_agree_with_a_vector) {
    // 3 layouts x 34 seeds x 10,000
    for (unsigned seed = 1; seed <= 34; ++seed) { run_against_vector<TypeParam>(seed, 10000); }
}

TYPED_TEST(table_model, every_refused_allocation_leaves_the_table_unchanged) {
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

TYPED_TEST(table_model, a_block_of_a_few_rows_will_do_when_there_is_no_memory_for_twice_as_many) {
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

TYPED_TEST(table_model, reserved_addresses_agree_with_a_vector_and_never_move) {
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
TYPED_TEST(table_model, every_throwing_constructor_leaves_the_table_unchanged) {
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
        for (int throws_at = 0;; ++throws_at) {  // reserve
            table<row<>, TypeParam> t{upstream};
            std::vector<row<>> model;
            for (int i = 0; i < 20; ++i) { model.push_back(make_row(i)); }
            for (const row<>& r : model) { ASSERT_TRUE(t.push_back(r)); }
            fussy::until_throw = throws_at;
            bool thrown = false;
            try {
                (void)t.reserve(1000);
            } catch (int) { thrown = true; }
            fussy::until_throw = -1;
            EXPECT_TRUE(same_rows(t, model)) << throws_at;
            if (!thrown) { break; }
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
