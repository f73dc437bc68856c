// slot_map against a std model: 10^6 operations in all, every policy, generations exhausted on purpose,
// every construction, move and allocation made to fail in turn.
#include <cairn/containers/slot_map.hpp>

#include "containers/map_model.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

TEST(slot_map_model, fifo_over_many_operations) {
    map_model::run<slot_map<quiet>>(1, 400000, 3000, 20000);
}

TEST(slot_map_model, many_small_maps_fifo) {
    for (std::uint32_t seed = 10; seed < 30; ++seed) {
        map_model::run<slot_map<quiet, slot_policy<32>>>(seed, 5000, 100, 100);
    }
}

TEST(slot_map_model, lifo_and_lowest) {
    map_model::run<slot_map<quiet, slot_policy<32, 20, reuse::lifo>>>(2, 100000, 1000);
    map_model::run<slot_map<quiet, slot_policy<32, 20, reuse::lowest>>>(3, 100000, 1000);
}

TEST(slot_map_model, four_bit_generations_run_out_and_come_back) {
    std::size_t exhausted = 0;
    exhausted +=
        map_model::run<slot_map<quiet, slot_policy<16, 12, reuse::fifo, 8>>>(4, 150000, 300);
    exhausted += map_model::run<slot_map<quiet, slot_policy<16, 12, reuse::lifo>>>(5, 100000, 300);
    exhausted +=
        map_model::run<slot_map<quiet, slot_policy<16, 12, reuse::lowest>>>(6, 100000, 300);
    (void)exhausted;
}

TEST(slot_map_model, no_handle_is_ever_given_out_twice_until_recycled) {
    slot_map<int, slot_policy<16, 12, reuse::lifo>> map;
    std::vector<bool> given(65536);
    std::size_t count = 0;
    for (;; ++count) {
        const auto h = map.emplace(0);
        if (!h) { break; }
        ASSERT_FALSE(given[h.raw()]);
        given[h.raw()] = true;
        map.erase(h);
    }
    EXPECT_EQ(count, 4096u * 15u) << "every life of every slot";
    EXPECT_EQ(map.exhausted_slot_count(), 4096u);
    for (std::uint32_t raw = 0; raw < 65536; ++raw) {
        ASSERT_FALSE(
            map.contains(decltype(map)::handle_type::from_raw(static_cast<std::uint16_t>(raw))));
    }
    EXPECT_EQ(map.recycle_slots(no_handles_left), 4096u);
    EXPECT_TRUE(map.emplace(1));
}

#if defined(__cpp_exceptions)
TEST(slot_map_model, every_construction_and_move_may_throw) {
    // tracked has throwing moves and copies: growth must copy, and give up without a trace.
    for (int fail = 0; fail < 400; ++fail) {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
        {
            test_upstream upstream;
            slot_map<tracked> map{upstream};
            std::vector<std::pair<slot_map<tracked>::handle_type, std::uint64_t>> live;
            tracked::throw_at = fail;
            for (std::uint64_t i = 0; i < 60; ++i) {
                try {
                    const auto h = map.emplace(i);
                    ASSERT_TRUE(h);
                    live.emplace_back(h, i);
                    if (i % 4 == 3) {
                        const auto victim = live[live.size() / 2];
                        if (map.erase(victim.first)) {
                            live.erase(live.begin() + static_cast<std::ptrdiff_t>(live.size() / 2));
                        }
                    }
                } catch (const std::runtime_error&) { ASSERT_EQ(tracked::throw_at, -1); }
                map.validate();
                ASSERT_EQ(map.size(), live.size());
            }
            tracked::throw_at = -1;
            for (const auto& [h, value] : live) { ASSERT_TRUE(map.contains(h)); }
        }
        ASSERT_EQ(tracked::alive_count, 0);
    }
}
#endif

TEST(slot_map_model, every_allocation_refused_in_turn) {
    for (std::size_t refused = 0; refused < 40; ++refused) {
        test_upstream upstream;
        slot_map<quiet> map{upstream};
        upstream.refuse_from(refused, 2);
        std::vector<slot_map<quiet>::handle_type> live;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const auto h = map.emplace(i);
            if (h) {
                live.push_back(h);
            } else {
                map.validate();
            }
            if (i % 50 == 0 && !live.empty() && map.retire(live.back(), i)) { live.pop_back(); }
            ASSERT_EQ(map.size(), live.size());
        }
        map.validate();
        for (const auto h : live) { ASSERT_TRUE(map.contains(h)); }
    }
}
