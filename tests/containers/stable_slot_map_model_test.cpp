// stable_slot_map against a std model: 10^6 operations in all, generations exhausted on purpose, every
// construction and allocation made to fail in turn.
#include <cairn/containers/stable_slot_map.hpp>

#include "containers/map_model.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

TEST(stable_slot_map_model, over_many_operations) {
    map_model::run<stable_slot_map<quiet>>(1, 500000, 12000, 25000);
}

TEST(stable_slot_map_model, many_small_maps) {
    for (std::uint32_t seed = 10; seed < 30; ++seed) {
        map_model::run<stable_slot_map<quiet, slot_policy<32>>>(seed, 12000, 150, 500);
    }
}

TEST(stable_slot_map_model, four_bit_generations_run_out_and_come_back) {
    map_model::run<stable_slot_map<quiet, slot_policy<16, 12>>>(4, 200000, 300, 3000);
}

TEST(stable_slot_map_model, no_handle_is_ever_given_out_twice_until_recycled) {
    stable_slot_map<int, slot_policy<16, 12>> map;
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
    map.validate();
    EXPECT_EQ(map.recycle_slots(no_handles_left), 4096u);
    EXPECT_TRUE(map.emplace(1));
    map.validate();
}

#if defined(__cpp_exceptions)
TEST(stable_slot_map_model, every_construction_may_throw) {
    for (int fail = 0; fail < 200; ++fail) {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
        {
            test_upstream upstream;
            stable_slot_map<tracked> map{upstream};
            std::vector<std::pair<stable_slot_map<tracked>::handle_type, std::uint64_t>> live;
            tracked::throw_at = fail;
            for (std::uint64_t i = 0; i < 200; ++i) {
                try {
                    const auto h = map.emplace(i);
                    ASSERT_TRUE(h);
                    live.emplace_back(h, i);
                    if (i % 4 == 3) {
                        ASSERT_TRUE(map.erase(live.back().first));
                        live.pop_back();
                    }
                } catch (const std::runtime_error&) { ASSERT_EQ(tracked::throw_at, -1); }
                ASSERT_EQ(map.size(), live.size());
            }
            map.validate();
            tracked::throw_at = -1;
            for (const auto& [h, value] : live) { ASSERT_EQ(map[h].value(), value); }
        }
        ASSERT_EQ(tracked::alive_count, 0);
    }
}
#endif
