// Rows, columns and views as the algorithms of <ranges> see them: the proxies of table/row.hpp and
// the iterators of index_iterator.hpp. Each for every layout: the same text.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ranges>
#include <utility>

#include "support/layouts.hpp"

// clang reports that std::stable_sort of libstdc++ 12 calls std::get_temporary_buffer.
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wdeprecated-declarations"
#endif

using namespace cairn;

namespace {

struct vec2 {
    float x = 0, y = 0;
    friend bool operator==(const vec2&, const vec2&) = default;
};

template <class K = value>
struct unit {
    field<K, vec2> position;
    field<K, vec2> velocity;
    field<K, int> id = 0;
};

template <class K = value>
struct owner {
    field<K, std::unique_ptr<int>> owned;
    field<K, int> id = 0;
};

}  // namespace

namespace {

template <class Layout>
class table_ranges : public testing::Test {};
TYPED_TEST_SUITE(table_ranges, test_layouts::all);

template <class Layout>
table<unit<>, Layout> two_units() {
    table<unit<>, Layout> t;
    EXPECT_TRUE(t.push_back({{1, 1}, {9, 9}, 1}));
    EXPECT_TRUE(t.push_back({{2, 2}, {8, 8}, 2}));
    return t;
}

template <class Layout>
void expect_swapped(const table<unit<>, Layout>& t) {
    EXPECT_EQ(t[0].id, 2);
    EXPECT_EQ(t[1].id, 1);
    EXPECT_EQ(t[0].velocity, (vec2{8, 8}));
    EXPECT_EQ(t[1].velocity, (vec2{9, 9}));
}

}  // namespace

TYPED_TEST(table_ranges, rows_are_swapped_with_a_name_and_without) {
    using std::swap;
    auto t = two_units<TypeParam>();
    swap(t[0], t[1]);
    expect_swapped(t);
    t = two_units<TypeParam>();
    auto&& a = t[0];
    auto&& b = t[1];
    swap(a, b);
    expect_swapped(t);
    t = two_units<TypeParam>();
    auto&& c = t[0];
    auto&& d = t[1];
    std::ranges::swap(c, d);
    expect_swapped(t);
    std::ranges::iter_swap(t.begin(), t.begin() + 1);
    EXPECT_EQ(t[0].id, 1);
}

TYPED_TEST(table_ranges, fields_of_a_row_are_swapped) {
    using std::swap;
    auto t = two_units<TypeParam>();
    auto&& row = t[0];
    swap(row.position, row.velocity);
    EXPECT_EQ(t[0].position, (vec2{9, 9}));
    EXPECT_EQ(t[0].velocity, (vec2{1, 1}));
    swap(t[0].position, t[1].position);
    EXPECT_EQ(t[0].position, (vec2{2, 2}));
    EXPECT_EQ(t[1].position, (vec2{9, 9}));
}

TYPED_TEST(table_ranges, an_iterator_turns_into_one_that_only_reads) {
    auto t = two_units<TypeParam>();
    const auto& read = t;
    typename table<unit<>, TypeParam>::const_iterator it = t.begin();
    EXPECT_TRUE(it == read.begin());
    EXPECT_TRUE(t.begin() == read.begin());
    EXPECT_TRUE(t.begin() < read.end());
    EXPECT_EQ(read.end() - t.begin(), 2);
    EXPECT_EQ((*it).id, 1);
    static_assert(!std::is_convertible_v<typename table<unit<>, TypeParam>::const_iterator,
                                         typename table<unit<>, TypeParam>::iterator>);
}

TYPED_TEST(table_ranges, what_an_algorithm_finds_outlives_the_view_it_was_given) {
    auto t = two_units<TypeParam>();
    using rows = decltype(t.view());
    static_assert(std::ranges::view<rows> && std::ranges::borrowed_range<rows>);
    const auto found = std::ranges::find(t.view(), 2, key<&unit<>::id>);
    EXPECT_EQ((*found).id, 2);
    EXPECT_EQ(*std::ranges::max_element(t.template column<&unit<>::id>()), 2);
    const auto fast = std::ranges::find(t.template column<&unit<>::velocity>(), vec2{8, 8});
    EXPECT_EQ(*fast, (vec2{8, 8}));
    int sum = 0;
    for (auto&& row : t.view() | std::views::take(1)) { sum += row.id; }
    EXPECT_EQ(sum, 1);
}

TYPED_TEST(table_ranges, rows_that_can_only_be_moved_are_a_random_access_range) {
    using rows = table<owner<>, TypeParam>;
    static_assert(std::ranges::random_access_range<rows>);
    static_assert(std::ranges::random_access_range<const rows>);
    rows t;
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(t.emplace_back(std::make_unique<int>(i), i)); }
    const auto is_even = [](auto&& row) { return row.id % 2 == 0; };
    int sum = 0;
    for (auto&& row : t | std::views::filter(is_even)) { sum += *row.owned; }
    EXPECT_EQ(sum, 20);
    EXPECT_EQ(std::ranges::count_if(t, is_even), 5);
    std::ranges::reverse(t);
    EXPECT_EQ(*t[0].owned, 9);
    ASSERT_TRUE(t.sort([](auto&& a, auto&& b) { return a.id < b.id; }));
    EXPECT_EQ(*t[0].owned, 0);
}

TYPED_TEST(table_ranges, algorithms_with_and_without_ranges_keep_rows_whole) {
    table<unit<>, TypeParam> t;
    for (int i = 0; i < 200; ++i) {
        const int id = i * 37 % 50;  // each four times
        ASSERT_TRUE(t.push_back({{static_cast<float>(i), 0}, {0, static_cast<float>(id)}, id}));
    }
    const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
    const auto is_small = [](const auto& row) { return row.id < 20; };
    const auto expect_whole = [&] {
        for (auto&& row : t) { EXPECT_EQ(row.velocity, (vec2{0, static_cast<float>(row.id)})); }
    };
    const auto expect_stable = [&] {
        expect_whole();
        for (std::size_t i = 1; i < t.size(); ++i) {
            EXPECT_LE(t[i - 1].id, t[i].id);
            if (t[i - 1].id == t[i].id) {
                EXPECT_LT(vec2(t[i - 1].position).x, vec2(t[i].position).x);
            }
        }
    };
    auto copy = t.clone();
    ASSERT_TRUE(copy);
    std::ranges::stable_sort(t, by_id);
    expect_stable();
    t = std::move(*copy);
    std::stable_sort(t.begin(), t.end(), by_id);
    expect_stable();
    const auto is_before = [](const auto& row, int id) { return row.id < id; };
    EXPECT_EQ((*std::lower_bound(t.begin(), t.end(), 7, is_before)).id, 7);
    std::rotate(t.begin(), t.begin() + 50, t.end());
    std::ranges::rotate(t, t.end() - 50);
    expect_stable();
    std::reverse(t.begin(), t.end());
    EXPECT_EQ(t[0].id, 49);
    EXPECT_EQ(std::partition(t.begin(), t.end(), is_small) - t.begin(), 80);
    std::ranges::sort(t, by_id);
    EXPECT_EQ(std::stable_partition(t.begin(), t.end(), is_small) - t.begin(), 80);
    EXPECT_EQ(std::remove_if(t.begin(), t.end(), is_small) - t.begin(), 120);
    expect_whole();
}

TYPED_TEST(table_ranges, takes_rows_of_every_layout) {
    auto from_columns = two_units<soa>();
    auto from_split = two_units<split_soa>();
    auto from_array = two_units<aos>();
    table<unit<>, TypeParam> t;
    ASSERT_TRUE(t.emplace_back(from_columns[1]));
    ASSERT_TRUE(t.insert(0, from_split[0]));
    ASSERT_TRUE(t.emplace_back(from_array[0]));
    ASSERT_TRUE(t.emplace_back(std::as_const(t)[1]));
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t[1].id, 2);
    EXPECT_EQ(t[1].velocity, (vec2{8, 8}));
    EXPECT_EQ(t[2].id, 1);
    EXPECT_EQ(t[3].id, 2);
}
