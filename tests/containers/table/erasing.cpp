// Sentences of cairn/containers/table.hpp about erase_if and swap_erase_if.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "containers/table/rows.hpp"

using namespace cairn;
using namespace table_tests;

namespace {

template <class K = value>
struct bytes {  // columns of 4, 8, 1, 12 and 2 bytes
    field<K, int> id;
    field<K, double> half;
    field<K, char> letter;
    field<K, vec3> place;
    field<K, short> low;
};
template <class K = value>
struct words {  // 4 and 8 bytes only
    field<K, int> id;
    field<K, double> half;
};
template <class K = value>
struct owners {
    field<K, int> id;
    field<K, std::string> name;
    field<K, std::unique_ptr<int>> owned;
};
template <class K = value>
struct large {  // columns of 4, 19 and 44 bytes, rows of 68
    field<K, int> id;
    field<K, std::array<char, 19>> name;
    field<K, std::array<int, 11>> parts;
};
struct pair_of_ints {
    int id;
    int twice;
};

bytes<> make(int id, bytes<>*) {
    return {id,
            id * 0.5,
            static_cast<char>(id % 128),
            {static_cast<float>(id), 1, 2},
            static_cast<short>(id % 30000)};
}
words<> make(int id, words<>*) { return {id, id * 0.5}; }
owners<> make(int id, owners<>*) {
    return {id, "a name that is not short: " + std::to_string(id), std::make_unique<int>(id)};
}
large<> make(int id, large<>*) {
    large<> made{id, {}, {}};
    made.name.fill(static_cast<char>(id % 128));
    made.parts.fill(id);
    return made;
}
pair_of_ints make(int id, pair_of_ints*) { return {id, 2 * id}; }

bool is_whole(const auto& row, int id, bytes<>*) {
    return row.half == id * 0.5 && row.letter == static_cast<char>(id % 128) &&
           part<&vec3::x>(row.place) == static_cast<float>(id) &&
           row.low == static_cast<short>(id % 30000);
}
bool is_whole(const auto& row, int id, words<>*) { return row.half == id * 0.5; }
bool is_whole(const auto& row, int id, owners<>*) {
    return row.name == "a name that is not short: " + std::to_string(id) && *row.owned == id;
}
bool is_whole(const auto& row, int id, large<>*) {
    const large<> expected = make(id, static_cast<large<>*>(nullptr));
    return row.name == expected.name && row.parts == expected.parts;
}
bool is_whole(const auto& row, int id, pair_of_ints*) {
    return get<&pair_of_ints::twice>(row) == 2 * id;
}
template <class Row>
int id_of(const auto& row) {
    return get<&Row::id>(row);
}

/// How many of 100 rows are erased in the first, the second and the last third of a table.
using percent_of_thirds = std::array<unsigned, 3>;
constexpr percent_of_thirds erased_parts[] = {
    {0, 0, 0},    {1, 1, 1},    {10, 10, 10}, {50, 50, 50}, {90, 90, 90}, {100, 100, 100},
    {100, 0, 0},  {0, 100, 0},  {0, 0, 100},  {100, 1, 1},  {1, 100, 1},  {1, 1, 100},
    {100, 2, 50}, {50, 1, 100}, {20, 3, 20},  {3, 20, 3},   {100, 0, 10}, {0, 30, 100}};

/// Erases from tables of many sizes, each row with a chance, and compares with std::erase_if.
template <class Row, class Layout, class Erase>
void compare_with_a_vector(bool keeps_order, Erase erase) {
    constexpr Row* kind = nullptr;
    std::mt19937 random{7};
    for (const int size : {0, 1, 2, 7, 8, 9, 255, 256, 257, 511, 513, 1000, 2304}) {
        for (const percent_of_thirds& percent : erased_parts) {
            if (size < 500 && percent[0] != percent[2]) { continue; }
            table<Row, Layout> t;
            std::vector<int> model;
            std::vector<bool> goes;
            for (int i = 0; i < size; ++i) {
                ASSERT_TRUE(t.push_back(make(i, kind)));
                goes.push_back(random() % 100 < percent[static_cast<std::size_t>(i * 3 / size)]);
                if (!goes.back()) { model.push_back(i); }
            }
            attached_column<int> column{t};
            for (int i = 0; i < size; ++i) { column[static_cast<std::size_t>(i)] = i; }
            std::vector<int> asked(static_cast<std::size_t>(size));
            const std::size_t gone = erase(t, [&](auto&& row) -> bool {
                const auto id = static_cast<std::size_t>(id_of<Row>(row));
                ++asked[id];
                return goes[id];
            });
            ASSERT_EQ(gone, static_cast<std::size_t>(size) - model.size());
            ASSERT_EQ(std::count(asked.begin(), asked.end(), 1), size) << "each is asked once";
            ASSERT_EQ(t.size(), model.size());
            std::vector<int> left;
            for (std::size_t i = 0; i < t.size(); ++i) {
                left.push_back(id_of<Row>(t[i]));
                ASSERT_TRUE(is_whole(t[i], left.back(), kind)) << size << " " << percent[0];
                ASSERT_EQ(column[i], left.back()) << "attached values follow";
            }
            if (!keeps_order) { std::sort(left.begin(), left.end()); }
            ASSERT_EQ(left, model) << size << " " << percent[0] << " " << percent[2];
            t.validate();
            ASSERT_TRUE(t.push_back(make(1, kind)));
        }
    }
}

constexpr auto in_order = [](auto& t, auto pred) { return t.erase_if(pred); };
constexpr auto in_any_order = [](auto& t, auto pred) { return t.swap_erase_if(pred); };

}  // namespace

TYPED_TEST(table_in, erase_if_removes_what_a_vector_removes_and_keeps_the_order) {
    compare_with_a_vector<bytes<>, TypeParam>(true, in_order);
    compare_with_a_vector<words<>, TypeParam>(true, in_order);
    compare_with_a_vector<owners<>, TypeParam>(true, in_order);
    compare_with_a_vector<large<>, TypeParam>(true, in_order);
    compare_with_a_vector<pair_of_ints, TypeParam>(true, in_order);
}

TYPED_TEST(table_in, swap_erase_if_removes_the_same_rows_in_any_order) {
    compare_with_a_vector<bytes<>, TypeParam>(false, in_any_order);
    compare_with_a_vector<words<>, TypeParam>(false, in_any_order);
    compare_with_a_vector<owners<>, TypeParam>(false, in_any_order);
    compare_with_a_vector<large<>, TypeParam>(false, in_any_order);
    compare_with_a_vector<pair_of_ints, TypeParam>(false, in_any_order);
}

#if defined(__cpp_exceptions)
namespace {

/// The predicate throws at row number `at`: no row is lost for which it did not return true.
template <class Row, class Layout, class Erase>
void throw_in_predicates(Erase erase) {
    constexpr Row* kind = nullptr;
    for (const int at : {0, 1, 100, 255, 256, 300, 600, 699}) {
        table<Row, Layout> t;
        for (int i = 0; i < 700; ++i) { ASSERT_TRUE(t.push_back(make(i, kind))); }
        std::vector<bool> named(700);
        try {
            erase(t, [&](auto&& row) {
                const int id = id_of<Row>(row);
                if (id == at) { throw 1; }
                named[static_cast<std::size_t>(id)] = id % 3 == 0;
                return id % 3 == 0;
            });
            FAIL() << "it throws";
        } catch (int) {}
        std::vector<int> seen(700);
        for (std::size_t i = 0; i < t.size(); ++i) {
            const int id = id_of<Row>(t[i]);
            ASSERT_TRUE(is_whole(t[i], id, kind));
            ++seen[static_cast<std::size_t>(id)];
        }
        for (std::size_t id = 0; id < 700; ++id) {
            ASSERT_LE(seen[id], 1);
            ASSERT_TRUE(seen[id] == 1 || named[id]) << id << " is lost, thrown at " << at;
        }
        t.validate();
    }
}

}  // namespace

TYPED_TEST(table_in, a_predicate_that_throws_loses_no_other_row) {
    throw_in_predicates<bytes<>, TypeParam>(in_order);
    throw_in_predicates<bytes<>, TypeParam>(in_any_order);
    throw_in_predicates<words<>, TypeParam>(in_order);
    throw_in_predicates<words<>, TypeParam>(in_any_order);
    throw_in_predicates<owners<>, TypeParam>(in_order);
    throw_in_predicates<owners<>, TypeParam>(in_any_order);
}
#endif
