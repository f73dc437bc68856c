// Sentences of cairn/storage/inside/index_iterator.hpp.
#include <cairn/storage/inside/index_iterator.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

namespace {

/// Two columns, shown as rows that are made when they are asked for.
struct columns {
    struct value_type {
        int key = 0;
        char name = ' ';
    };
    struct row {
        int& key;
        char& name;
        row(int& k, char& n) : key{k}, name{n} {}
        row(const row&) = default;
        operator value_type() const { return {key, name}; }
        const row& operator=(const row& other) const {
            return *this = static_cast<value_type>(other);
        }
        const row& operator=(const value_type& v) const {
            key = v.key;
            name = v.name;
            return *this;
        }
        friend value_type take(row r) { return r; }  // what algorithms hold while rows move
        friend void swap(row a, row b) noexcept {
            std::swap(a.key, b.key);
            std::swap(a.name, b.name);
        }
    };
    int* keys = nullptr;
    char* names = nullptr;
    row operator[](std::size_t i) const { return row{keys[i], names[i]}; }
};

using over_columns = detail::index_iterator<columns>;
using over_objects = detail::index_iterator<std::span<int>>;
using over_const = detail::index_iterator<std::span<const int>>;

}  // namespace

TEST(index_iterator, is_random_access_also_where_rows_are_proxies) {
    static_assert(std::random_access_iterator<over_objects>);
    static_assert(std::random_access_iterator<over_columns>);
    static_assert(std::is_same_v<over_objects::iterator_category, std::random_access_iterator_tag>);
    static_assert(std::is_same_v<over_columns::iterator_category, std::random_access_iterator_tag>,
                  "std::stable_sort and std::rotate choose their way by it");
    static_assert(std::is_convertible_v<over_objects, over_const>);
    static_assert(!std::is_convertible_v<over_const, over_objects>);
}

TEST(index_iterator, walks_as_a_pointer_does) {
    int all[] = {10, 11, 12, 13, 14};
    const over_objects first{all, 0};
    over_objects i = first;
    EXPECT_EQ(*i++, 10);
    EXPECT_EQ(*++i, 12);
    EXPECT_EQ(*i--, 12);
    EXPECT_EQ(*--i, 10);
    EXPECT_EQ(*(2 + i), 12);
    EXPECT_EQ((i += 4)[-1], 13);
    EXPECT_EQ(i - first, 4);
    EXPECT_EQ(*(i - 3), 11);
    i -= 4;
    EXPECT_TRUE(i == first && i <= first && i + 1 > first);
    const over_const read = i;
    EXPECT_EQ(&*read, all);
}

TEST(index_iterator, algorithms_sort_rows_through_it) {
    std::vector<int> keys;
    std::vector<char> names;
    for (int i = 0; i < 100; ++i) {
        keys.push_back(i * 37 % 100);
        names.push_back(static_cast<char>(keys.back()));
    }
    const columns view{keys.data(), names.data()};
    std::ranges::sort(over_columns{view, 0}, over_columns{view, keys.size()}, {},
                      [](const auto& r) { return r.key; });
    for (int i = 0; i < 100; ++i) {
        const over_columns at{view, static_cast<std::size_t>(i)};
        ASSERT_EQ(at->key, i);
        ASSERT_EQ((*at).name, i) << "the fields of a row stay together";
    }
}
