// Sentences of cairn/containers/attached_column.hpp.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/debug/guarded.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {
struct unit {
    int id;
    float depth;
};
struct alignas(256) page_of_heat {
    float at[64];
};
}  // namespace

TEST(attached_column, follows_every_row_through_random_operations) {
    test_upstream upstream;
    table<unit, soa> rows{upstream};
    ASSERT_TRUE(rows.push_back({1000, 0}));
    attached_column<int> follows{rows, -1, upstream};
    ASSERT_TRUE(follows.is_attached());
    EXPECT_EQ(follows[0], -1) << "rows that exist get the initial value";
    follows[0] = 1000;
    std::mt19937 random{1};
    for (int op = 0; op < 20000; ++op) {
        const auto what = random() % 100;
        const std::size_t i = rows.empty() ? 0 : random() % rows.size();
        if (random() % 10 == 0) { upstream.refuse_from(upstream.request_count()); }
        if (what < 50 || rows.empty()) {
            if (rows.push_back({op, static_cast<float>(random() % 100)})) {
                EXPECT_EQ(follows[rows.size() - 1], -1);
                follows[rows.size() - 1] = op;
            }
        } else if (what < 85) {
            rows.swap_erase(i);
        } else if (what < 90) {
            rows.erase(i);
        } else if (what < 95) {
            if (rows.insert(i, unit{op, 0})) { follows[i] = op; }
        } else if (what < 97) {
            (void)rows.sort_by<&unit::depth>();
        } else if (what < 98) {
            (void)rows.erase_if([&](auto&& row) { return get<&unit::id>(row) % 7 == 0; });
        } else if (what < 99) {
            (void)rows.shrink_to_fit();
        }
        upstream.refuse_nothing();
        ASSERT_EQ(follows.size(), rows.size());
        if (op % 100 == 0) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                ASSERT_EQ(follows[k], (get<&unit::id>(rows[k]))) << op;
            }
        }
    }
}

TEST(attached_column, follows_the_rows_of_a_slot_map_and_survives_moves_and_ends) {
    auto world = std::make_unique<slot_table<unit, soa>>();
    const auto a = world->emplace(unit{1, 3});
    const auto b = world->emplace(unit{2, 2});
    attached_column<double> heat{*world, 0.5};
    heat[world->dense_index(b)] = 2.5;
    EXPECT_TRUE(world->erase(a));
    EXPECT_EQ(heat[world->dense_index(b)], 2.5);
    const auto c = world->emplace(unit{3, 1});
    ASSERT_TRUE(world->sort_by<&unit::depth>());
    EXPECT_EQ(heat[world->dense_index(b)], 2.5);
    EXPECT_EQ(heat[world->dense_index(c)], 0.5);
    world->swap_rows(0, 1);
    EXPECT_EQ(heat[world->dense_index(b)], 2.5);
    EXPECT_EQ(heat[world->dense_index(c)], 0.5);
    slot_table<unit, soa> moved{std::move(*world)};
    EXPECT_EQ(heat[moved.dense_index(b)], 2.5);
    world.reset();
    EXPECT_EQ(heat.size(), 2u);
    moved = slot_table<unit, soa>{};
    EXPECT_FALSE(heat.is_attached());
    EXPECT_EQ(heat.size(), 0u);
}

TEST(attached_column, values_are_as_aligned_as_their_type_asks) {
    table<unit, soa> rows;
    for (int i = 0; i < 5; ++i) { ASSERT_TRUE(rows.push_back({i, 0})); }
    for (int i = 0; i < 20; ++i) {
        const attached_column<page_of_heat> wide{rows};
        const attached_column<char> narrow{rows};
        ASSERT_TRUE(wide.is_attached() && narrow.is_attached());
        EXPECT_TRUE(detail::is_aligned(&wide[0], alignment{256}));
        EXPECT_TRUE(detail::is_aligned(narrow.values().data(), detail::cache_line_alignment));
        EXPECT_EQ(wide.values().size(), 5u);
    }
}

TEST(attached_column, never_moves_beside_a_table_in_reserved_addresses) {
    table<unit, soa> rows;
    attached_column<int> early{rows, 1};  // before the addresses are, and after
    ASSERT_TRUE(rows.reserve_address_space(1 << 20));
    ASSERT_TRUE(rows.push_back({0, 0}));
    attached_column<int> late{rows, 2};
    const int* const first[] = {&early[0], &late[0]};
    for (int i = 1; i < 100000; ++i) { ASSERT_TRUE(rows.push_back({i, 0})); }
    EXPECT_EQ(first[0], &early[0]);
    EXPECT_EQ(first[1], &late[0]);
    EXPECT_EQ(early[99999], 1);
    EXPECT_EQ(late[99999], 2);
    late[0] = 7;
    ASSERT_TRUE(
        rows.sort([](auto&& a, auto&& b) { return get<&unit::id>(a) > get<&unit::id>(b); }));
    EXPECT_EQ(late[99999], 7);
}

TEST(attached_column, is_permuted_inside_its_memory_when_the_table_is_full) {
    table<unit, soa> rows;
    ASSERT_TRUE(rows.reserve(64));
    system_allocator system;
    guarded memory{system};  // which looks behind the column when it goes back
    {
        attached_column<std::uint64_t> full{rows, 0, memory};
        ASSERT_TRUE(full.is_attached());
        for (int i = 0; rows.size() != rows.capacity(); ++i) {
            ASSERT_TRUE(rows.push_back({-i, 0}));
        }
        full[0] = 7;
        ASSERT_TRUE(rows.sort_by<&unit::id>());
        EXPECT_EQ(full[rows.size() - 1], 7u);
        memory.validate();
    }
}

namespace {
struct counting_follower : detail::table_follower {
    std::vector<int> told;  // how often each row was said to be new
    counting_follower() {
        reserve = [](detail::table_follower& f, std::size_t rows) noexcept {
            static_cast<counting_follower&>(f).told.resize(rows + 1);
            return true;
        };
        added = [](detail::table_follower& f, std::size_t first, std::size_t count) noexcept {
            for (std::size_t i = first; i < first + count; ++i) {
                ++static_cast<counting_follower&>(f).told[i];
            }
        };
        rehomed = [](detail::table_follower&, void*) noexcept {};
    }
};
}  // namespace

TEST(attached_column, hears_of_each_new_row_once) {
    counting_follower follower;
    table<unit, soa> rows;
    rows.rows_memory().follow(follower);
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(rows.push_back({i, 0})); }
    for (std::size_t i = 0; i < follower.told.size(); ++i) {
        EXPECT_EQ(follower.told[i], i < 1000 ? 1 : 0) << i;
    }
    rows.rows_memory().unfollow(follower);
}

TEST(attached_column, that_has_no_room_refuses_the_row_in_reserved_addresses_too) {
    for (const bool is_reserved : {false, true}) {
        counting_follower follower;
        table<unit, soa> rows;
        if (is_reserved) { ASSERT_TRUE(rows.reserve_address_space(100'000)); }
        rows.rows_memory().follow(follower);
        while (rows.size() < 100 || rows.size() != rows.capacity()) {
            ASSERT_TRUE(rows.push_back({1, 0}));
        }
        const std::size_t full = rows.size();
        const auto has_room = follower.reserve;
        follower.reserve = [](detail::table_follower&, std::size_t) noexcept { return false; };
        EXPECT_FALSE(rows.push_back({2, 0}));
        EXPECT_FALSE(rows.reserve(full + 1));
        EXPECT_EQ(rows.size(), full);
        EXPECT_EQ(rows.capacity(), full);
        follower.reserve = has_room;
        EXPECT_TRUE(rows.push_back({2, 0}));
        EXPECT_EQ(follower.told[full], 1);
        rows.rows_memory().unfollow(follower);
    }
}

TEST(attached_column, shrink_to_fit_gives_back_what_a_peak_took) {
    test_upstream upstream;
    slot_table<unit, soa> rows;
    attached_column<int> heat{rows, -1, upstream};
    ASSERT_TRUE(heat.shrink_to_fit()) << "there is nothing to give back";
    std::vector<handle<unit>> made;
    for (int i = 0; i < 20'000; ++i) {
        made.push_back(rows.emplace(i, 0.0f));
        heat[rows.size() - 1] = i;
    }
    const std::size_t peak = upstream.live_size();
    for (std::size_t i = 20; i < made.size(); ++i) { EXPECT_TRUE(rows.erase(made[i])); }
    ASSERT_TRUE(heat.shrink_to_fit());
    EXPECT_EQ(upstream.live_size(), 2 * rows.capacity() * sizeof(int)) << "what the table may fill";
    ASSERT_TRUE(rows.shrink_to_fit());
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_FALSE(heat.shrink_to_fit());
    EXPECT_GT(upstream.live_size(), peak / 2);
    ASSERT_TRUE(heat.shrink_to_fit());
    EXPECT_LT(upstream.live_size(), peak / 100);
    EXPECT_EQ(heat.capacity(), rows.capacity());
    for (int i = 0; i < 20; ++i) { EXPECT_EQ(heat[static_cast<std::size_t>(i)], i); }
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(rows.emplace(i, 0.0f)); }
    EXPECT_EQ(heat[19], 19);
    EXPECT_EQ(heat[1019], -1);
}

TEST(attached_column, shrinks_in_reserved_addresses_and_after_its_table) {
    test_upstream upstream;
    std::optional<table<unit, soa>> rows{std::in_place};
    ASSERT_TRUE(rows->reserve_address_space(1'000'000));
    attached_column<int> heat{*rows, 0};
    attached_column<int> orphan{*rows, 0, upstream};
    while (rows->size() < 500'000) { ASSERT_TRUE(rows->push_back({1, 0})); }
    const int* const where = heat.values().data();
    heat[7] = 7;
    while (rows->size() > 10) { rows->pop_back(); }
    ASSERT_TRUE(rows->shrink_to_fit());
    ASSERT_TRUE(heat.shrink_to_fit());
    EXPECT_EQ(heat.values().data(), where) << "nothing moves inside reserved addresses";
    EXPECT_EQ(heat[7], 7);
    EXPECT_LT(heat.capacity(), 1000u);
    ASSERT_TRUE(orphan.shrink_to_fit());
    EXPECT_LT(orphan.capacity(), 1000u);
    while (rows->size() < 100'000) { ASSERT_TRUE(rows->push_back({1, 0})); }
    EXPECT_EQ(heat[7], 7);
    EXPECT_EQ(heat[99'999], 0);
    rows.reset();
    ASSERT_TRUE(heat.shrink_to_fit());
    EXPECT_EQ(heat.capacity(), 0u);
    EXPECT_TRUE(heat.values().empty());
}
