// Sentences of cairn/storage/generations.hpp. What maps make of it is in the tests of the maps.
#include <cairn/storage/generations.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

using namespace cairn;
using detail::generations;

namespace {
/// Steps from one life to another along the ring, the shorter way.
std::uint32_t distance(std::uint32_t a, std::uint32_t b, std::uint32_t max) {
    const std::uint32_t up = a < b ? b - a : a - b;
    return std::min(up, max - up);
}
}  // namespace

TEST(generations, the_dth_map_after_another_begins_far_enough_from_it) {
    for (const std::uint32_t max : {1u, 3u, 7u, 15u, 63u, 255u, 4095u, 65535u, 0x7fff'ffffu}) {
        for (const std::uint32_t start : {0u, 1u, max / 2, max - 1}) {
            for (std::uint32_t d = 1; d < 3000; ++d) {
                // As the header says it: with L lives for each, d maps later, max >= 2.62 d L.
                const auto lives = static_cast<std::uint32_t>(max / (2.62 * d));
                if (lives == 0) { break; }
                const std::uint32_t a = generations::number(1000, max, start);
                const std::uint32_t b = generations::number(1000 + d, max, start);
                ASSERT_GE(distance(a, b, max), lives) << max << ' ' << d;
            }
        }
    }
}

TEST(generations, twenty_four_maps_with_16_bit_handles_begin_at_different_lives) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t n = 0; n < 24; ++n) { seen.insert(generations::number(n, 63, 5)); }
    EXPECT_EQ(seen.size(), 24u);
}

TEST(generations, numbers_lie_in_the_ring_and_use_all_of_it) {
    for (const std::uint32_t max : {1u, 2u, 3u, 15u, 63u}) {
        std::set<std::uint32_t> seen;
        for (std::uint64_t n = 0; n < 10 * max; ++n) {
            seen.insert(generations::number(n, max, 12345));
        }
        EXPECT_EQ(seen.size(), max);
        EXPECT_EQ(*seen.begin(), 1u);
        EXPECT_EQ(*seen.rbegin(), max);
    }
    EXPECT_LE(generations::number(~std::uint64_t{0}, 0xffff'ffff, 0xffff'ffff), 0xffff'ffffu);
    EXPECT_GE(generations::number(0, 0xffff'ffff, 0xffff'ffff), 1u);
}

TEST(generations, two_that_begin_one_after_the_other_draw_different_numbers) {
    generations a{4095};
    generations b{4095};
    EXPECT_EQ(a.first(), 0u);
    a.begin();
    b.begin();
    EXPECT_NE(a.first(), b.first());
    const std::uint32_t first = a.first();
    a.begin();
    EXPECT_EQ(a.first(), first) << "drawn once";
}

TEST(generations, those_drawn_one_after_the_other_lie_as_far_apart_as_the_ring_allows) {
    generations a{4095};
    generations b{4095};
    a.begin();
    b.begin();
    EXPECT_GE(distance(a.first(), b.first(), 4095), 4095 / 2.62);
}

TEST(generations, a_slot_walks_the_whole_ring_wherever_it_begins) {
    for (std::uint32_t first = 1; first <= 15; ++first) {
        generations lives{15, first};
        lives.begin();
        std::vector<std::uint32_t> walked;
        for (std::uint32_t g = first;; g = lives.turns_at(g) ? 1 : g + 1) {
            EXPECT_EQ(lives.lives_before(g), walked.size());
            walked.push_back(g);
            if (g == lives.last()) { break; }
            ASSERT_LT(walked.size(), 16u);
        }
        std::sort(walked.begin(), walked.end());
        EXPECT_EQ(walked.size(), 15u);
        EXPECT_EQ(walked.front(), 1u);
        EXPECT_EQ(walked.back(), 15u);
    }
}

TEST(generations, what_was_moved_from_begins_elsewhere_and_a_number_that_was_asked_for_stays) {
    generations a{4095, 7};
    a.begin();
    EXPECT_EQ(a.first(), 7u);
    generations b{std::move(a)};
    EXPECT_EQ(b.first(), 7u);
    EXPECT_EQ(a.first(), 0u);
    a.begin();
    EXPECT_NE(a.first(), 7u);

    generations again{4095, 7};
    again.begin();
    again.end();
    again.begin();
    EXPECT_EQ(again.first(), a.first()) << "the same on every machine";
    if (asserts_enabled) {
        EXPECT_DEATH(generations(63, 64), "the first generation fits its bits");
    }
}

TEST(generations, a_copy_goes_on_where_the_original_stands) {
    generations original{4095, 7};
    original.begin();
    original.part_with(9);
    generations copy{4095};
    copy.copy_from(original);
    EXPECT_EQ(copy.first(), 7u);
    EXPECT_EQ(copy.last(), original.last());
    EXPECT_EQ(copy.added(), original.added());
    copy.end();
    original.end();
    copy.begin();
    original.begin();
    EXPECT_EQ(copy.first(), original.first()) << "the number that was asked for";
}

TEST(generations, a_handle_that_finds_nothing_is_judged_by_the_lives_of_its_slot) {
    constexpr std::uint32_t vacant = generations::vacant;
    generations lives{15, 14};  // 14, 15, 1, 2 ... 13
    lives.begin();
    EXPECT_EQ(lives.judge(1, 1, false), handle_fault::none);
    EXPECT_EQ(lives.judge(14, 1, false), handle_fault::stale);
    EXPECT_EQ(lives.judge(15, 1, false), handle_fault::stale);
    EXPECT_EQ(lives.judge(2, 1, false), handle_fault::foreign) << "a life that is still to come";
    EXPECT_EQ(lives.judge(13, 1, false), handle_fault::foreign);
    EXPECT_EQ(lives.judge(1, vacant | 1, false), handle_fault::foreign) << "not given out yet";
    EXPECT_EQ(lives.judge(1, vacant | 1, true), handle_fault::promised);
    EXPECT_EQ(lives.judge(15, vacant | 1, true), handle_fault::stale);
    EXPECT_EQ(lives.judge(13, vacant, false), handle_fault::stale) << "all lives are over";
    EXPECT_EQ(lives.judge(0, 1, false), handle_fault::foreign);
    EXPECT_EQ(lives.judge(16, 1, false), handle_fault::foreign);
}
