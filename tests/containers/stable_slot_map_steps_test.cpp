// Sentences of cairn/containers/stable_slot_map.hpp about the steps of one insertion and one erasure.
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/storage/inside/step_counter.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

using namespace cairn;

namespace {
struct steps_seen {
    std::uint64_t most = 0;
    std::uint64_t sum = 0;

    template <class F>
    void count(F&& f) {
        const std::uint64_t before = detail::steps_taken;
        f();
        const std::uint64_t taken = detail::steps_taken - before;
        most = std::max(most, taken);
        sum += taken;
    }
};
}  // namespace

TEST(stable_slot_map_steps, churn_takes_as_many_whatever_the_size) {
    using map_type = stable_slot_map<int>;
    for (const std::size_t count : {1'000u, 10'000u, 100'000u, 1'000'000u}) {
        for (const std::size_t freed : {count / 2, count / 10, count / 1000}) {
            map_type map;
            std::vector<map_type::handle_type> live;
            std::mt19937 random{7};
            for (std::size_t i = 0; i < count; ++i) { live.push_back(map.emplace(1)); }
            const std::size_t pairs = 20'000;
            for (std::size_t i = 0; i < freed; ++i) {
                std::swap(live[random() % live.size()], live.back());
                map.erase(live.back());
                live.pop_back();
            }
            steps_seen insertions;
            steps_seen erasures;
            for (std::size_t i = 0; i < pairs; ++i) {
                auto& h = live[random() % live.size()];
                erasures.count([&] { map.erase(h); });
                insertions.count([&] { h = map.emplace(2); });
            }
            EXPECT_LE(insertions.most, map_type::step_count_max) << count;
            EXPECT_LE(erasures.most, map_type::step_count_max) << count;
            EXPECT_LE(insertions.sum, pairs * 8) << count << ", " << freed << " freed";
            EXPECT_LE(erasures.sum, pairs * 4) << count << ", " << freed << " freed";
        }
    }
}

TEST(stable_slot_map_steps, churn_over_ten_thousand_chunks_takes_as_many_as_over_ten) {
    using slots = detail::stable_slots;
    static constexpr detail::stable_rules rules{1, alignment{64}, 6, 0xffff'fffd, 0x7fff'ffff};
    for (const std::size_t chunk_count : {10u, 100u, 1'000u, 10'000u}) {
        for (const std::size_t free_per_chunk : {0u, 1u, 10u}) {
            slots all{rules, system_memory(), 1};
            std::vector<std::uint32_t> live;
            std::mt19937 random{3};
            const auto insert = [&] {
                EXPECT_TRUE(all.ready());
                const slots::place at = all.take(rules);
                at.state->lives(rules)[at.slot] &= ~detail::stable_chunk::vacant;
                return at.index;
            };
            const auto erase = [&](std::uint32_t index) {
                detail::stable_chunk* const state = all.table()[index >> 6].state;
                std::uint32_t& life = state->lives(rules)[index & 63];
                const std::uint32_t ended = life;
                life = slots::hidden(ended);
                all.leave(rules, index, state, ended);
            };
            for (std::size_t i = 0; i < chunk_count * 64; ++i) { live.push_back(insert()); }
            for (std::size_t i = 0; i < chunk_count * free_per_chunk; ++i) {
                std::swap(live[random() % live.size()], live.back());
                erase(live.back());
                live.pop_back();
            }
            const std::size_t pairs = 20'000;
            steps_seen insertions;
            steps_seen erasures;
            for (std::size_t i = 0; i < pairs; ++i) {
                auto& index = live[random() % live.size()];
                erasures.count([&] { erase(index); });
                insertions.count([&] { index = insert(); });
            }
            EXPECT_LE(insertions.most, slots::step_count_max(rules)) << chunk_count;
            EXPECT_LE(erasures.most, slots::step_count_max(rules)) << chunk_count;
            EXPECT_LE(insertions.sum, pairs * 16) << chunk_count << ", " << free_per_chunk;
            EXPECT_LE(erasures.sum, pairs * 10) << chunk_count << ", " << free_per_chunk;
            all.validate();
            for (const std::uint32_t index : live) { erase(index); }
            all.release();
            erase(insert());  // as if new: what was noted went with the chunks
            EXPECT_EQ(all.count(), 1u);
            all.release();
        }
    }
}

TEST(stable_slot_map_steps, a_slot_that_comes_back_to_a_chunk_without_memory_is_found) {
    using slots = detail::stable_slots;
    // The third chunk has one slot; each slot has one life.
    static constexpr detail::stable_rules rules{1, alignment{64}, 6, 2 * 64, 1};
    slots all{rules, system_memory(), 1};
    for (std::uint32_t i = 0; i <= 2 * 64; ++i) {
        ASSERT_TRUE(all.ready());
        const slots::place at = all.take(rules);
        ASSERT_EQ(at.index, i);
        at.state->lives(rules)[at.slot] &= ~detail::stable_chunk::vacant;
    }
    for (const std::uint32_t index : {1u, 2u * 64u}) {
        detail::stable_chunk* const state = all.table()[index >> 6].state;
        state->lives(rules)[index & 63] = slots::hidden(1);
        all.leave(rules, index, state, 1);
    }
    EXPECT_TRUE(all.shrink_to_fit());
    EXPECT_EQ(all.table()[2].objects, nullptr);
    EXPECT_FALSE(all.ready()) << "both are worn out";
    EXPECT_EQ(all.recycle(), 2u);
    all.validate();
    ASSERT_TRUE(all.ready());
    EXPECT_EQ(all.take(rules).index, 1u);
    all.release();
}
