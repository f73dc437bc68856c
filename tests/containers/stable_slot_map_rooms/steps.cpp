// Sentences of cairn/containers/stable_slot_map.hpp about the steps that it takes to find a chunk,
// and the index that finds it.
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace cairn;

namespace {
struct steps_seen {
    std::uint64_t most = 0;
    std::uint64_t sum = 0;

    template <class F>
    void count(F&& f) {
        const std::uint64_t before = counted_steps::taken;
        f();
        const std::uint64_t taken = counted_steps::taken - before;
        most = std::max(most, taken);
        sum += taken;
    }
};
}  // namespace

TEST(stable_slot_map_steps, churn_takes_as_many_whatever_the_size) {
    using map_type = stable_slot_map<int, slot_policy<>, counted_steps>;
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
    using slots = detail::stable_slots<6, 0xffff'fffd, 0x7fff'ffff, counted_steps>;
    for (const std::size_t chunk_count : {10u, 100u, 1'000u, 10'000u}) {
        for (const std::size_t free_per_chunk : {0u, 1u, 10u}) {
            slots all{1, alignment{64}, system_memory(), 1};
            std::vector<std::uint32_t> live;
            std::mt19937 random{3};
            const auto insert = [&] {
                EXPECT_TRUE(all.ready());
                const auto at = all.next();
                all.take(at);
                at.state->generation[at.slot] = at.generation;
                return at.index;
            };
            const auto erase = [&](std::uint32_t index) {
                auto& state = *all.chunks()[index >> 6].state;
                const std::uint32_t life = state.generation[index & 63];
                state.generation[index & 63] = slots::after(life);
                all.leave(index >> 6, state, index & 63, life);
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
            EXPECT_LE(insertions.most, slots::step_count_max) << chunk_count;
            EXPECT_LE(erasures.most, slots::step_count_max) << chunk_count;
            EXPECT_LE(insertions.sum, pairs * 16) << chunk_count << ", " << free_per_chunk;
            EXPECT_LE(erasures.sum, pairs * 10) << chunk_count << ", " << free_per_chunk;
            all.validate();
            for (const std::uint32_t index : live) { erase(index); }
            all.release();
            erase(insert());  // as if new: what was noted went with the chunks
            EXPECT_EQ(all.chunk_count(), 1u);
            all.release();
        }
    }
}

TEST(stable_slot_map_steps, a_slot_that_comes_back_to_a_chunk_without_memory_is_found) {
    using slots = detail::stable_slots<6, 2 * 64, 1>;  // the third chunk has one slot, of one life
    slots all{1, alignment{64}, system_memory(), 1};
    for (std::uint32_t i = 0; i <= 2 * 64; ++i) {
        ASSERT_TRUE(all.ready());
        const auto at = all.next();
        ASSERT_EQ(at.index, i);
        all.take(at);
        at.state->generation[at.slot] = at.generation;
    }
    for (const std::uint32_t index : {1u, 2u * 64u}) {
        auto& state = *all.chunks()[index >> 6].state;
        state.generation[index & 63] = slots::after(1);
        all.leave(index >> 6, state, index & 63, 1);
    }
    all.return_empty_chunks();
    EXPECT_EQ(all.chunks()[2].objects, nullptr);
    EXPECT_FALSE(all.ready()) << "both are worn out";
    all.recycle(2 * 64);
    all.validate();
    ASSERT_TRUE(all.ready());
    EXPECT_EQ(all.next().index, 2u * 64u);
    all.release();
}

TEST(chunks_by_room, finds_the_lowest_of_each_kind_in_a_look_per_level) {
    struct state_type {
        std::uint64_t room_words[3][detail::indexed_room_count] = {};
    };
    struct entry {
        state_type* state;
    };
    using index = detail::chunks_by_room<entry, 3, counted_steps>;
    constexpr std::size_t count = 64 * 64 * 2 + 3;
    static_assert(detail::chunk_level_count(count) == 3);
    std::vector<state_type> states(count);
    std::vector<entry> chunks;
    for (state_type& s : states) { chunks.push_back({&s}); }
    std::vector<detail::chunk_room> kind(count, detail::chunk_room::none);
    std::set<std::size_t> model[detail::indexed_room_count];
    std::mt19937 random{11};
    std::uint64_t most = 0;
    for (int i = 0; i < 60'000; ++i) {
        const std::size_t p = i % 3 == 0 ? random() % 70 : random() % count;
        const auto next =
            static_cast<detail::chunk_room>(random() % (i / 10'000 % 2 == 0 ? 4 : 40));
        const std::uint64_t before = counted_steps::taken;
        if (kind[p] < detail::chunk_room::none) {
            index::remove(chunks.data(), p, kind[p]);
            model[static_cast<std::size_t>(kind[p])].erase(p);
            kind[p] = detail::chunk_room::none;
        }
        if (next < detail::chunk_room::none && next != detail::chunk_room::away) {
            index::enter(chunks.data(), p, next);
            model[static_cast<std::size_t>(next)].insert(p);
            kind[p] = next;
        }
        for (std::size_t room = 0; room < detail::indexed_room_count; ++room) {
            const auto found = index::lowest(chunks.data(), static_cast<detail::chunk_room>(room));
            ASSERT_EQ(found, model[room].empty() ? index::none : *model[room].begin());
        }
        most = std::max(most, counted_steps::taken - before);
    }
    EXPECT_LE(most, 3u * 3u + 2u * 3u);
}

TEST(chunks_by_room, has_a_level_for_each_six_bits_of_the_number_of_chunks) {
    EXPECT_EQ(detail::chunk_level_count(1), 1u);
    EXPECT_EQ(detail::chunk_level_count(64), 1u);
    EXPECT_EQ(detail::chunk_level_count(65), 2u);
    EXPECT_EQ(detail::chunk_level_count(4096), 2u);
    EXPECT_EQ(detail::chunk_level_count(4097), 3u);
    EXPECT_EQ(detail::chunk_level_count(std::size_t{1} << 26), 5u);
}
