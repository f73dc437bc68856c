// Sentences of cairn/containers/packed_array.hpp about its objects: erasing, visiting, sorting and
// moving them.
#include <cairn/containers/batches.hpp>
#include <cairn/containers/inside/sort_rows.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

TEST(packed_array, erase_moves_the_last_one_into_the_hole_and_says_so) {
    packed_array<int> a;
    for (int i = 0; i < 5; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    const moved_row moved = a.swap_erase(1);
    EXPECT_EQ(moved.from, 4u);
    EXPECT_EQ(moved.to, 1u);
    EXPECT_TRUE(moved.any());
    EXPECT_EQ(a[1], 4);
    EXPECT_FALSE(a.swap_erase(3).any());
    EXPECT_EQ(a.size(), 3u);
    if (asserts_enabled) {
        EXPECT_DEATH((void)a[3], "a row is below size");
        const auto beyond = expect_broken_promise([&] { (void)a[3]; });
        EXPECT_EQ(beyond.kind(), misuse_kind::out_of_range) << beyond;
        EXPECT_EQ(beyond.object(), &a);
        EXPECT_EQ(beyond.value("index"), 3u);
        EXPECT_EQ(beyond.value("size"), 3u);
        EXPECT_DEATH(a.swap_erase(3), "a row is below size");
    }
}

TEST(packed_array, erasing_while_iterating_asks_each_object_once) {
    packed_array<int> a;
    for (int i = 0; i < 1000; ++i) { (void)a.emplace(i); }
    std::vector<int> asked;
    EXPECT_EQ(a.erase_if([&](int v) {
        asked.push_back(v);
        return v % 3 == 0;
    }),
              334u);
    EXPECT_EQ(asked.size(), 1000u);
    EXPECT_TRUE(std::ranges::is_sorted(asked));
    EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end());
    EXPECT_TRUE(std::ranges::is_sorted(a)) << "the others keep their order";
    int visited = 0;
    for (int* it = a.begin(); it != a.end(); ++visited) { it = *it % 2 ? a.erase(it) : it + 1; }
    EXPECT_EQ(visited, 666);
}

TEST(packed_array, erase_if_moves_objects_of_any_size_and_kind_in_order) {
    struct large {
        std::uint64_t value;
        std::uint64_t others[15];
    };
    for (const int nth : {1, 2, 7, 300, 701}) {
        packed_array<std::unique_ptr<int>> owners;
        packed_array<large> structs;
        std::vector<int> stay;
        for (int i = 0; i < 700; ++i) {
            ASSERT_NE(owners.emplace(std::make_unique<int>(i)), nullptr);
            ASSERT_NE(structs.emplace(large{static_cast<std::uint64_t>(i), {}}), nullptr);
            if (i % nth != nth - 1) { stay.push_back(i); }
        }
        const std::size_t gone = 700 - stay.size();
        EXPECT_EQ(owners.erase_if([&](const auto& p) { return *p % nth == nth - 1; }), gone);
        EXPECT_EQ(structs.erase_if(
                      [&](const large& s) { return static_cast<int>(s.value) % nth == nth - 1; }),
                  gone);
        ASSERT_EQ(owners.size(), stay.size());
        ASSERT_EQ(structs.size(), stay.size());
        for (std::size_t row = 0; row < stay.size(); ++row) {
            EXPECT_EQ(*owners[row], stay[row]);
            EXPECT_EQ(static_cast<int>(structs[row].value), stay[row]);
        }
    }
}

TEST(packed_array, arguments_may_refer_to_objects_of_the_array_itself) {
    packed_array<std::string> a;
    (void)a.emplace("a text that is too long for the small string buffer");
    for (int i = 0; i < 200; ++i) { ASSERT_NE(a.emplace(a[0]), nullptr); }
    for (const std::string& s : a) { EXPECT_EQ(s, a[0]); }
}

TEST(packed_array, batches_cover_every_row_and_split_at_cache_lines) {
    packed_array<char> bytes;
    for (int i = 0; i < 1000; ++i) { (void)bytes.emplace('x'); }
    const auto batches = bytes.batches(1);
    EXPECT_EQ(batches.rows_per_batch(), 64u);
    std::size_t rows = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
        EXPECT_TRUE(detail::is_aligned(batches[k].data(), detail::cache_line_alignment));
        rows += batches[k].size();
    }
    EXPECT_EQ(rows, 1000u);
    EXPECT_EQ(packed_array<int>{}.batches(10).size(), 0u);
    for (const std::size_t huge : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, SIZE_MAX / 2 + 2}) {
        ASSERT_EQ(bytes.batches(huge).size(), 1u);
        EXPECT_EQ(bytes.batches(huge)[0].size(), 1000u);
    }
    if (asserts_enabled) {
        EXPECT_DEATH((void)bytes.batches(0), "a batch has rows");
        EXPECT_DEATH((void)batches[batches.size()], "a batch index is below size");
    }
}

TEST(packed_array, clear_destroys_the_last_object_first) {
    struct numbered {
        std::string* log;
        char name;
        numbered(std::string* to, char n) : log{to}, name{n} {}
        numbered(numbered&& other) noexcept
            : log{std::exchange(other.log, nullptr)}, name{other.name} {}
        numbered& operator=(numbered&&) = delete;
        ~numbered() {
            if (log != nullptr) { log->push_back(name); }
        }
    };
    std::string log;
    packed_array<numbered> a;
    for (const char name : {'a', 'b', 'c'}) { ASSERT_NE(a.emplace(&log, name), nullptr); }
    a.clear();
    EXPECT_EQ(log, "cba");
    EXPECT_TRUE(a.empty());
}

TEST(sort_indices, sorts_and_keeps_the_order_of_equal_rows) {
    std::mt19937 random{3};
    for (const std::size_t count : {0u, 1u, 2u, 7u, 8u, 9u, 63u, 64u, 1000u, 4097u}) {
        std::vector<int> keys(count);
        for (int& k : keys) { k = static_cast<int>(random() % 50); }
        std::vector<std::uint32_t> order(count), scratch(count), expected(count);
        for (std::size_t i = 0; i < count; ++i) { expected[i] = static_cast<std::uint32_t>(i); }
        const auto less = [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; };
        // Equal keys in the order of their rows: what a stable sort gives.
        std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) {
            return less(a, b) || (keys[a] == keys[b] && a < b);
        });
        detail::sort_indices(order.data(), scratch.data(), count, less);
        EXPECT_EQ(order, expected) << count;
    }
}

TEST(packed_array, moved_from_is_empty_and_usable_and_swap_exchanges) {
    packed_array<std::string> a;
    (void)a.emplace("a");
    packed_array<std::string> b{std::move(a)};
    EXPECT_TRUE(a.empty());
    (void)a.emplace("new");
    a.swap(b);
    EXPECT_EQ(a[0], "a");
    EXPECT_EQ(b[0], "new");
}

namespace {
struct not_copied {
    explicit not_copied(int v) : value{v} {}
    not_copied(not_copied&&) = default;
    not_copied& operator=(not_copied&&) = default;
    int value;
};
struct named_for_good {
    const int id;
    float value;
};
static_assert(std::is_trivially_copyable_v<not_copied> &&
              std::is_trivially_copyable_v<named_for_good>);
}  // namespace

TEST(packed_array, erases_plain_data_that_cannot_be_assigned) {
    packed_array<not_copied> a;
    for (int i = 0; i < 20; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    a.swap_erase(0);
    EXPECT_EQ(a[0].value, 19);
    packed_array<named_for_good> b;
    for (int i = 0; i < 20; ++i) { ASSERT_NE(b.emplace(i, 0.5f), nullptr); }
    b.swap_erase(0);
    EXPECT_EQ(b[0].id, 19);
    a.swap_erase(a.size() - 1);
    b.swap_erase(b.size() - 1);
    EXPECT_EQ(b.size(), 18u);
}

TEST(packed_array, is_permuted_by_permutations_only) {
    packed_array<int> a;
    for (int i = 0; i < 3; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    std::uint32_t order[] = {2, 0, 1};
    a.permute(order);
    EXPECT_EQ(a[0], 2);
    if (asserts_enabled) {
        std::uint32_t twice[] = {2, 2, 1};
        EXPECT_DEATH(a.permute(twice), "a permutation names every row once");
    }
}
