// tests/containers/map_model.hpp - random operations on a map with handles, against a std model.
#pragma once

#include <cairn/storage/inside/slot_directory.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "containers/map_model/driver.hpp"
#include "containers/map_model/values.hpp"
#include "support/test_upstream.hpp"

namespace map_model {

/// Runs `op_count` operations and checks that every object and every block went back.
template <class Map>
std::size_t run(std::uint32_t seed, std::size_t op_count, std::size_t size_target,
                std::size_t validate_every = 5000) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    tracked::alive_count = 0;
    std::size_t exhausted = 0;
    {
        test_upstream upstream;
        Map map{upstream};
        driver<Map> d{map, seed};
        d.run(op_count, size_target, validate_every);
        exhausted = d.exhausted_seen();
    }
    EXPECT_EQ(tracked::alive_count, 0) << "every object was destroyed";
    return exhausted;
}

/// For a map with 4-bit generations and 4096 slots: every life of every slot is given once, then
/// none; afterwards no handle of the past or the future finds anything.
template <class Map>
void every_life_is_given_once() {
    using handle = typename Map::handle_type;
    static_assert(sizeof(handle) == 2 && handle::generation_max == 15);
    Map map;
    std::vector<bool> given(65536);
    std::size_t count = 0;
    for (;; ++count) {
        const handle h = map.emplace(1);
        if (!h) { break; }
        ASSERT_FALSE(given[h.raw()]);
        given[h.raw()] = true;
        map.erase(h);
    }
    EXPECT_EQ(count, 4096u * 15u) << "every life of every slot";
    EXPECT_EQ(map.worn_out_slot_count(), 4096u);
    for (std::uint32_t raw = 0; raw < 65536; ++raw) {
        ASSERT_FALSE(map.contains(handle::from_raw(static_cast<std::uint16_t>(raw))));
    }
    map.validate();
    EXPECT_EQ(map.recycle_slots(cairn::no_handles_left), 4096u);
    EXPECT_TRUE(map.emplace(1));
    map.validate();
}

/// The n-th construction or move throws, for every n up to `fail_max`: nothing else has changed then.
template <class Map>
void every_construction_may_throw([[maybe_unused]] int fail_max) {
#if defined(__cpp_exceptions)
    using made = maker<typename Map::value_type>;
    for (int fail = 0; fail < fail_max; ++fail) {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
        {
            test_upstream upstream;
            Map map{upstream};
            std::vector<std::pair<typename Map::handle_type, std::uint64_t>> live;
            tracked::throw_at = fail;
            for (std::uint64_t i = 0; i < 60; ++i) {
                try {
                    const auto h = made::emplace(map, i);
                    ASSERT_TRUE(h);
                    live.emplace_back(h, i);
                    if (i % 4 == 3) {
                        const auto at = static_cast<std::ptrdiff_t>(live.size() / 2);
                        if (map.erase(live[live.size() / 2].first)) {
                            live.erase(live.begin() + at);
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
#endif
}

/// Six requests to the upstream are refused, from the n-th on, for every n: growth asks five times.
template <class Map>
void every_allocation_refused_in_turn() {
    using made = maker<typename Map::value_type>;
    for (std::size_t refused = 0; refused < 40; ++refused) {
        test_upstream upstream;
        Map map{upstream};
        upstream.refuse_from(refused, 6);
        std::vector<typename Map::handle_type> live;
        for (std::uint64_t i = 0; i < 2000; ++i) {
            if (const auto h = made::emplace(map, i)) {
                live.push_back(h);
            } else {
                map.validate();
            }
            if (i % 40 == 39) { (void)map.shrink_to_fit(); }
            if (i % 50 == 0 && !live.empty() && map.retire(live.back(), i)) { live.pop_back(); }
            ASSERT_EQ(map.size(), live.size());
        }
        map.validate();
        for (const auto h : live) { ASSERT_TRUE(map.contains(h)); }
    }
}

}  // namespace map_model
