// Fields whose namespace has functions with the names that a table uses, and odd operators: a table
// calls its own functions only. Orders that contradict themselves lose no row.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "containers/table/rows.hpp"

namespace greedy {

#define CAIRN_TEST_GREEDY(name)  \
    template <class... Anything> \
    void name(Anything&&...) = delete;
CAIRN_TEST_GREEDY(replace)
CAIRN_TEST_GREEDY(bring)
CAIRN_TEST_GREEDY(poison)
CAIRN_TEST_GREEDY(unpoison)
CAIRN_TEST_GREEDY(take)
CAIRN_TEST_GREEDY(clone)
CAIRN_TEST_GREEDY(change)
CAIRN_TEST_GREEDY(plain)
CAIRN_TEST_GREEDY(pick)
CAIRN_TEST_GREEDY(with_fields)
CAIRN_TEST_GREEDY(visit_fields)
CAIRN_TEST_GREEDY(assign_fields)
CAIRN_TEST_GREEDY(hand_out)
CAIRN_TEST_GREEDY(as_argument)
CAIRN_TEST_GREEDY(advanced)
CAIRN_TEST_GREEDY(run_here)
CAIRN_TEST_GREEDY(run_called)
CAIRN_TEST_GREEDY(run_disjoint)
CAIRN_TEST_GREEDY(relocate_column)
CAIRN_TEST_GREEDY(destroy_column)
CAIRN_TEST_GREEDY(permute_column)
CAIRN_TEST_GREEDY(sort_rows)
CAIRN_TEST_GREEDY(sort_indices)
CAIRN_TEST_GREEDY(ordered_bits)
CAIRN_TEST_GREEDY(move)
CAIRN_TEST_GREEDY(forward)
CAIRN_TEST_GREEDY(addressof)

/// Taking its address and using a comma beside it do not compile.
struct odd {
    int value = 0;
    odd() = default;
    explicit odd(int v) : value{v} {}
    odd(const odd& other) : value{other.value} {}
    odd(odd&& other) noexcept : value{other.value} {}
    odd& operator=(const odd& other) {
        value = other.value;
        return *this;
    }
    ~odd() {}
    void operator&() const = delete;
    template <class Anything>
    void operator,(Anything&&) const = delete;
    friend bool operator<(const odd& a, const odd& b) { return a.value < b.value; }
    friend bool operator==(const odd& a, const odd& b) { return a.value == b.value; }
};
struct row {
    odd first;
    int number = 0;
    odd second;
    friend bool operator==(const row&, const row&) = default;
};
row make(int i) { return {odd{i}, i, odd{i}}; }

}  // namespace greedy

using namespace cairn;
using greedy::odd;
using greedy::row;
using namespace table_tests;

TYPED_TEST(table_in, functions_and_operators_of_the_fields_are_not_called) {
    table<row, TypeParam> t;
    for (int i = 0; i < 300; ++i) { ASSERT_TRUE(t.push_back(greedy::make((i * 7) % 300))); }
    attached_column<int> column{t};
    t.template each<&row::first, &row::second>([](odd& a, const odd& b) { a = b; });
    t.for_each([](auto&& r) { (void)r; });
    ASSERT_TRUE(t.template sort_by<&row::first>());
    for (std::size_t i = 0; i < t.size(); ++i) {
        ASSERT_EQ(get<&row::number>(t[i]), static_cast<int>(i));
        ASSERT_EQ(get<&row::second>(t[i]).value, static_cast<int>(i));
    }
    ASSERT_TRUE(
        t.sort([](auto&& a, auto&& b) { return get<&row::number>(b) < get<&row::number>(a); }));
    const auto copy = t.clone();
    ASSERT_TRUE(copy && *copy == t);
    t.erase_if([](auto&& r) { return get<&row::number>(r) % 2 == 0; });
    t.swap_erase_if([](auto&& r) { return get<&row::number>(r) % 3 == 0; });
    t.erase(0);
    t.swap_erase(0);
    t.swap_rows(0, 1);
    ASSERT_TRUE(t.insert(0, t[1]));
    t[0] = t[2];
    const row value = t[0];
    t[1] = value;
    EXPECT_EQ(get<&row::first>(t[1]).value, get<&row::number>(t[0]));
    EXPECT_EQ(t.size(), 99u);
    EXPECT_EQ((t.template column<&row::first>()[0].value), value.number);
    t.validate();
}

namespace {

/// Is made from anything.
struct greedy_field {
    int value = 0;
    greedy_field() = default;
    template <class Anything>
    greedy_field(Anything&&) : value{1} {}
};
/// Can be moved to new memory, and not assigned.
struct fixed_value {
    const int value;
};
template <class Field>
struct beside {
    Field first;
    int number = 0;
    Field last;
};

/// Rows with fields of type Field go through all operations; `make` and `value_of` convert numbers.
template <class Layout, class Field, class Make, class ValueOf>
void expect_that_fields_keep_values(Make make, ValueOf value_of) {
    using row = beside<Field>;
    table<row, Layout> t;
    for (int i = 0; i < 300; ++i) {
        const int n = i * 7 % 300;
        ASSERT_TRUE(t.push_back(row{make(n), n, make(n + 1)}));
    }
    ASSERT_TRUE(t.insert(3, row{make(400), 400, make(401)}));
    t.erase(5);
    t.swap_erase(7);
    t.swap_rows(1, 9);
    ASSERT_TRUE(t.template sort_by<&row::number>());
    t.erase_if([](auto&& r) { return get<&row::number>(r) % 3 == 0; });
    t.swap_erase_if([](auto&& r) { return get<&row::number>(r) % 5 == 0; });
    const auto copy = t.clone();
    ASSERT_TRUE(copy);
    for (std::size_t i = 0; i < t.size(); ++i) {
        const int n = get<&row::number>(t[i]);
        ASSERT_EQ(value_of(get<&row::first>(t[i])), n);
        ASSERT_EQ(value_of(get<&row::last>(t[i])), n + 1);
        ASSERT_EQ(value_of(get<&row::last>((*copy)[i])), n + 1);
    }
}

/// A row that owns tables of its own type, which begin empty.
struct branch {
    int number = 0;
    table<branch> twigs = {};
    table<branch, aos> leaves{};
};

}  // namespace

TYPED_TEST(table_in, fields_that_are_made_from_anything_keep_their_values) {
    expect_that_fields_keep_values<TypeParam, std::any>(
        [](int n) { return std::any{n}; }, [](const std::any& a) { return std::any_cast<int>(a); });
    expect_that_fields_keep_values<TypeParam, std::optional<greedy_field>>(
        [](int n) {
            std::optional<greedy_field> made{std::in_place};
            made->value = n;
            return made;
        },
        [](const std::optional<greedy_field>& f) { return f->value; });
    expect_that_fields_keep_values<TypeParam, greedy_field>(
        [](int n) {
            greedy_field made;
            made.value = n;
            return made;
        },
        [](const greedy_field& f) { return f.value; });
}

TYPED_TEST(table_in, fields_that_cannot_be_assigned_move_by_construction) {
    expect_that_fields_keep_values<TypeParam, fixed_value>(
        [](int n) { return fixed_value{n}; }, [](const fixed_value& f) { return f.value; });
}

TEST(table, a_row_may_own_tables_of_its_own_type) {
    table<branch> tree;
    ASSERT_TRUE(tree.push_back({}));
    auto [number, twigs, leaves] = tree[0];
    ASSERT_TRUE(twigs.push_back({.number = 7}));
    ASSERT_TRUE(leaves.emplace_back());
    tree.validate();
    EXPECT_EQ(get<&branch::number>(twigs[0]) + number, 7);
}

TEST(table, may_be_assigned_from_a_part_of_its_own_row) {
    table<branch> tree;
    ASSERT_TRUE(tree.push_back({}));
    auto [number, twigs, leaves] = tree[0];
    for (int i = 1; i <= 3; ++i) { ASSERT_TRUE(twigs.push_back({.number = i})); }
    tree = std::move(twigs);  // the row that owns it ends afterwards
    ASSERT_EQ(tree.size(), 3u);
    EXPECT_EQ(get<&branch::number>(tree[2]), 3);
    tree.validate();
}

TYPED_TEST(table_in, an_order_that_contradicts_itself_loses_no_row) {
    table<row, TypeParam> t;
    for (int i = 0; i < 500; ++i) { ASSERT_TRUE(t.push_back(greedy::make(i))); }
    unsigned state = 1;
    ASSERT_TRUE(t.sort(
        [&](auto&&, auto&&) { return ((state = state * 1664525 + 1013904223) >> 20) % 2 == 0; }));
    ASSERT_TRUE(t.sort([](auto&&, auto&&) { return true; }));
    std::vector<int> numbers;
    for (std::size_t i = 0; i < t.size(); ++i) { numbers.push_back(get<&row::number>(t[i])); }
    std::sort(numbers.begin(), numbers.end());
    for (int i = 0; i < 500; ++i) { ASSERT_EQ(numbers[static_cast<std::size_t>(i)], i); }
}
