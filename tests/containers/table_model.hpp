// tests/containers/table_model.hpp - the contract of a table, in any layout: random
// operations agree with a std::vector, and all ways to loop over rows do the same.
#pragma once

#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

namespace table_model {

using namespace cairn;

/// Counts its objects. The construction or copy number `until_throw` throws.
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
    fussy(fussy&& other) noexcept : number{other.number} { ++live; }
    fussy& operator=(const fussy&) = default;
    ~fussy() { --live; }
    int number;
};
static_assert(!std::is_nothrow_copy_constructible_v<fussy>);

template <class K = value>
struct row {
    field<K, int> id;
    field<K, std::string> name;
    field<K, double> weight = 0.5;
    field<K, fussy> odd;
    field<K, unsigned char> tag = 1;
};

inline row<> make_row(int id) {
    return {id, "row number " + std::to_string(id), id * 0.25, fussy{id},
            static_cast<unsigned char>(id)};
}

template <class A, class B>
bool same(const A& a, const B& b) {
    return a.id == b.id && a.name == b.name && a.weight == b.weight &&
           a.odd.number == b.odd.number && a.tag == b.tag;
}

template <class T>
testing::AssertionResult same_rows(const T& t, const std::vector<row<>>& model) {
    t.validate();
    if (t.size() != model.size()) {
        return testing::AssertionFailure() << t.size() << " rows, not " << model.size();
    }
    for (std::size_t i = 0; i < model.size(); ++i) {
        if (!same(t[i], model[i])) { return testing::AssertionFailure() << "row " << i; }
    }
    return testing::AssertionSuccess();
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

/// Rows, for_each, each and columns write the same; batches meet each row once.
template <class Layout>
void expect_that_all_loops_agree() {
    using table_type = table<row<>, Layout>;
    table_type by_row, by_for_each, by_each, by_column;
    for (table_type* t : {&by_row, &by_for_each, &by_each, &by_column}) {
        for (int i = 0; i < 777; ++i) { ASSERT_TRUE(t->push_back(make_row(i))); }
    }
    for (std::size_t i = 0; i < by_row.size(); ++i) { by_row[i].weight += by_row[i].id; }
    by_for_each.for_each([](auto&& r) { r.weight += r.id; });
    by_each.template each<&row<>::weight, &row<>::id>([](double& w, const int& id) { w += id; });
    auto weights = by_column.template column<&row<>::weight>();
    const auto ids = std::as_const(by_column).template column<&row<>::id>();
    for (std::size_t i = 0; i < weights.size(); ++i) { weights[i] += ids[i]; }
    std::size_t met = 0;
    for (auto batch : by_row.batches(100)) {
        batch.template each<&row<>::id>([&](int id) { EXPECT_EQ(id, static_cast<int>(met++)); });
    }
    EXPECT_EQ(met, by_row.size());
    for (std::size_t i = 0; i < by_row.size(); ++i) {
        EXPECT_EQ(by_row[i].weight, 1.25 * static_cast<double>(i));
        EXPECT_TRUE(same(by_row[i], by_for_each[i]) && same(by_row[i], by_each[i]) &&
                    same(by_row[i], by_column[i]));
    }
}

}  // namespace table_model
