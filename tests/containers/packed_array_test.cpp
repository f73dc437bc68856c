// Sentences of cairn/containers/packed_array.hpp, batches.hpp and sort_indices.hpp.
#include <cairn/containers/packed_array.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/storage/sort_indices.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

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

TEST(packed_array, agrees_with_a_vector_over_a_million_operations) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        tracked::alive_count = 0;
        {
            test_upstream upstream;
            packed_array<quiet> a{upstream};
            std::vector<std::uint64_t> model;
            std::mt19937 random{seed};
            for (std::uint64_t op = 0; op < 50000; ++op) {
                const auto die = static_cast<std::uint32_t>(random() % 1000);
                if (die < 480 || model.empty()) {
                    ASSERT_NE(a.emplace(op), nullptr);
                    model.push_back(op);
                } else if (die < 990) {
                    const std::size_t i = random() % model.size();
                    const moved_row moved = a.swap_erase(i);
                    ASSERT_EQ(moved.from, model.size() - 1);
                    ASSERT_EQ(moved.to, i);
                    model[i] = model.back();
                    model.pop_back();
                } else if (die < 998) {
                    const std::uint64_t part = random() % 20;
                    const std::size_t before = model.size();
                    std::erase_if(model, [&](std::uint64_t v) { return v % 20 == part; });
                    ASSERT_EQ(a.erase_if([&](const quiet& v) { return v.value() % 20 == part; }),
                              before - model.size());
                    model.clear();
                    for (const quiet& v : a) { model.push_back(v.value()); }
                } else {
                    packed_array<quiet> other{std::move(a)};
                    a = std::move(other);
                }
                ASSERT_EQ(a.size(), model.size());
                if (!model.empty()) {
                    const std::size_t i = random() % model.size();
                    ASSERT_EQ(a[i].value(), model[i]);
                }
            }
        }
        ASSERT_EQ(tracked::alive_count, 0);
    }
}

TEST(packed_array, erasing_while_iterating_asks_each_object_once) {
    packed_array<int> a;
    for (int i = 0; i < 1000; ++i) { a.emplace(i); }
    std::vector<int> asked;
    EXPECT_EQ(a.erase_if([&](int v) {
        asked.push_back(v);
        return v % 3 == 0;
    }),
              334u);
    std::ranges::sort(asked);
    EXPECT_EQ(asked.size(), 1000u);
    EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end());
    int visited = 0;
    for (int* it = a.begin(); it != a.end(); ++visited) { it = *it % 2 ? a.erase(it) : it + 1; }
    EXPECT_EQ(visited, 666);
}

TEST(packed_array, what_a_visitor_inserts_is_visited_too) {
    packed_array<int> a;
    ASSERT_TRUE(a.reserve(100));
    a.emplace(5);
    int visited = 0;
    a.for_each_erasing([&](int& v) {
        ++visited;
        if (v > 0) { a.emplace(v - 1); }
        return after_visit::erase;
    });
    EXPECT_EQ(visited, 6);
    EXPECT_TRUE(a.empty());
}

TEST(packed_array, arguments_may_refer_to_objects_of_the_array_itself) {
    packed_array<std::string> a;
    a.emplace("a text that is too long for the small string buffer");
    for (int i = 0; i < 200; ++i) { ASSERT_NE(a.emplace(a[0]), nullptr); }
    for (const std::string& s : a) { EXPECT_EQ(s, a[0]); }
}

TEST(packed_array, exhausted_memory_changes_nothing) {
    packed_array<int> none{no_memory()};
    EXPECT_EQ(none.emplace(1), nullptr);
    EXPECT_FALSE(none.reserve(1));
    test_upstream upstream;
    packed_array<std::string> a{upstream};
    ASSERT_TRUE(a.reserve(4));
    for (int i = 0; i < 4; ++i) { a.emplace(std::to_string(i)); }
    upstream.refuse_from(upstream.request_count());
    EXPECT_EQ(a.emplace("more"), nullptr);
    EXPECT_FALSE(a.reserve(5));
    EXPECT_FALSE(a.reserve(SIZE_MAX));
    ASSERT_EQ(a.size(), 4u);
    EXPECT_EQ(a[3], "3");
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_NE(a.emplace("less is enough"), nullptr)
        << "twice as much was refused, one more was not";
}

#if defined(__cpp_exceptions)
TEST(packed_array, every_construction_and_move_may_throw) {
    for (int fail = 0; fail < 200; ++fail) {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
        {
            test_upstream upstream;
            packed_array<tracked> a{upstream};
            std::vector<std::uint64_t> model;
            tracked::throw_at = fail;
            for (std::uint64_t i = 0; i < 40; ++i) {
                try {
                    a.emplace(i);
                    model.push_back(i);
                    if (i % 3 == 2) {
                        a.swap_erase(0);
                        model[0] = model.back();
                        model.pop_back();
                    }
                    ASSERT_TRUE(a.reserve(a.size() + 7));
                } catch (const std::runtime_error&) {}
                ASSERT_EQ(a.size(), model.size());
                for (std::size_t k = 0; k < model.size(); ++k) {
                    ASSERT_EQ(a[k].value(), model[k]);
                }
            }
            tracked::throw_at = -1;
        }
        ASSERT_EQ(tracked::alive_count, 0);
    }
}
#endif

TEST(packed_array, reserved_addresses_never_move) {
    test_upstream upstream;
    packed_array<int> a{upstream};
    ASSERT_TRUE(a.reserve_address_space(1000000));
    const int* const first = a.emplace(1);
    for (int i = 1; i < 1000000; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    EXPECT_EQ(a.data(), first);
    EXPECT_EQ(upstream.request_count(), 0u);
}

namespace {
/// Keeps its own address, which is that of its row until the rows move.
template <std::size_t Size>
struct self_knowing {
    explicit self_knowing(int v) : self{this}, value{v} {}
    self_knowing* self;
    int value;
    char rest[Size - 2 * sizeof(void*)] = {};
};

template <std::size_t RowSize>
void rows_move_by_pages() {
    using row = self_knowing<RowSize>;
    packed_array<row> a{system_pages()};
    for (int i = 0; i < 3000; ++i) {
        const row* const made = a.emplace(i == 0 ? 0 : a[a.size() / 2].value + 1);
        ASSERT_NE(made, nullptr);
        ASSERT_EQ(made->self, made) << "built where it stays";
        ASSERT_EQ(made, &a[a.size() - 1]);
        a[a.size() - 1].value = i;
        ASSERT_EQ(a.emplace(a[static_cast<std::size_t>(i)])->value, i);
        a.swap_erase(a.size() - 1);
    }
    ASSERT_TRUE(a.reserve(20000));
    for (std::size_t i = 0; i < a.size(); ++i) { ASSERT_EQ(a[i].value, static_cast<int>(i)); }
    a.validate();
}
}  // namespace

TEST(packed_array, rows_over_pages_move_and_new_ones_are_built_from_old_ones) {
    rows_move_by_pages<120>();
    rows_move_by_pages<600>();  // too large to be put aside: copied
}

TEST(packed_array, reserved_rows_are_touched_ahead_of_need_where_that_is_asked_for) {
    packed_array<std::uint64_t> a;
    ASSERT_TRUE(a.reserve_address_space(1000000, {.prefault = true}));
    ASSERT_TRUE(a.reserve(100000));
    const std::size_t size = 100000 * sizeof(std::uint64_t);
    EXPECT_GE(page_memory::resident_bytes(a.data(), size), size);
}

TEST(packed_array, batches_cover_every_row_and_split_at_cache_lines) {
    packed_array<char> bytes;
    for (int i = 0; i < 1000; ++i) { bytes.emplace('x'); }
    const auto batches = bytes.batches(1);
    EXPECT_EQ(batches.rows_per_batch(), 64u);
    std::size_t rows = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
        EXPECT_TRUE(is_aligned(batches[k].data(), cache_line_alignment));
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
    a.emplace("a");
    packed_array<std::string> b{std::move(a)};
    EXPECT_TRUE(a.empty());
    a.emplace("new");
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

#if defined(__cpp_exceptions)
namespace {
struct only_moved {  // by a move that may throw
    static inline int live = 0;
    static inline int until = -1;  // the move that throws, counted from now; -1: none
    only_moved() { ++live; }
    only_moved(only_moved&&) {
        if (until >= 0 && until-- == 0) { throw 1; }
        ++live;
    }
    only_moved& operator=(only_moved&&) { return *this; }
    ~only_moved() { --live; }
};
}  // namespace

TEST(packed_array, growth_that_throws_halfway_leaves_no_object_behind) {
    {
        packed_array<only_moved> a;
        for (int i = 0; i < 16; ++i) { ASSERT_NE(a.emplace(), nullptr); }
        ASSERT_EQ(a.capacity(), a.size());
        only_moved::until = 7;
        EXPECT_THROW((void)a.emplace(), int);
        EXPECT_EQ(a.size(), 16u);
        EXPECT_EQ(only_moved::live, 16);
    }
    EXPECT_EQ(only_moved::live, 0);
}
#endif
