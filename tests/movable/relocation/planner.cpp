// Sentences of cairn/movable/inside/planner.hpp: which objects are asked for a place.
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "movable/relocation/types.hpp"

using namespace relocation_tests;

namespace {

using namespace cairn::literals;

/// Objects count - 1 ... 0 from the top down. None of them fits into a hole; what is asked is written
/// down.
struct full_map {
    static constexpr std::uint32_t none = cairn::detail::compaction_planner::none;
    std::uint32_t count;
    mutable std::vector<std::uint32_t> asked{};

    [[nodiscard]] std::uint32_t top() const noexcept { return count == 0 ? none : count - 1; }
    [[nodiscard]] std::uint32_t below(std::uint32_t at) const noexcept {
        return at == 0 ? none : at - 1;
    }
    [[nodiscard]] std::uint32_t first_gap() const noexcept { return none; }
    [[nodiscard]] std::uint32_t gap_after(std::uint32_t) const noexcept { return none; }
    [[nodiscard]] std::uint32_t gap_after_slide(std::uint32_t, int) const noexcept { return none; }
    cairn::detail::verdict evacuation(std::uint32_t at, std::uint8_t, int&) const noexcept {
        asked.push_back(at);
        return cairn::detail::verdict::no;
    }
    cairn::detail::verdict slide(std::uint32_t, std::uint8_t, int&) const noexcept {
        return cairn::detail::verdict::no;
    }
};

using planner = cairn::detail::compaction_planner;

std::size_t asked_in_a_round(planner& p, full_map& map) {
    map.asked.clear();
    int move = 0;
    std::size_t steps = 1000;
    EXPECT_EQ(p.next(map, steps, move), planner::outcome::round_over);
    return map.asked.size();
}

TEST(compaction_planner, gives_up_after_sixteen_misfits_and_is_patient_in_the_next_round) {
    planner p;
    full_map map{100};
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
    EXPECT_FALSE(p.is_settled());
    EXPECT_EQ(asked_in_a_round(p, map), 100u);
    EXPECT_TRUE(p.is_settled());
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
}

TEST(compaction_planner, a_round_that_looked_at_all_is_not_followed_by_a_patient_one) {
    planner p;
    full_map map{5};
    EXPECT_EQ(asked_in_a_round(p, map), 5u);
    EXPECT_TRUE(p.is_settled());
    map.count = 100;
    p.disturb();
    EXPECT_EQ(asked_in_a_round(p, map), 17u);
}

TEST(compaction_planner, goes_on_at_the_place_whatever_happens_to_others) {
    const auto next_asked = [](auto change) {
        planner p;
        full_map map{100};
        int move = 0;
        std::size_t steps = 3;
        EXPECT_EQ(p.next(map, steps, move), planner::outcome::out_of_steps);  // 99, 98, 97
        change(p);
        steps = 1;
        EXPECT_EQ(p.next(map, steps, move), planner::outcome::out_of_steps);
        return map.asked.back();
    };
    EXPECT_EQ(next_asked([](planner&) {}), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.forget(50, 49, 51); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.forget(96, 95, 97); }), 95u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(50, 60); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(96, 60); }), 60u);
    EXPECT_EQ(next_asked([](planner& p) { p.exchange(60, 96); }), 60u);
    EXPECT_EQ(next_asked([](planner& p) { p.rename(50, 60); }), 96u);
    EXPECT_EQ(next_asked([](planner& p) { p.rename(96, 60); }), 60u);
}
}  // namespace
