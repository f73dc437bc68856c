// Sentences of cairn/containers/packed_array.hpp about any history of calls: a random one against a
// vector.
#include <cairn/containers/packed_array.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

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
                    const auto is_part = [&](const quiet& v) { return v.value() % 20 == part; };
                    std::erase_if(model, [&](std::uint64_t v) { return v % 20 == part; });
                    const bool keeps_order = random() % 2 == 0;
                    ASSERT_EQ(keeps_order ? a.erase_if(is_part) : a.swap_erase_if(is_part),
                              before - model.size());
                    std::vector<std::uint64_t> left;
                    for (const quiet& v : a) { left.push_back(v.value()); }
                    if (keeps_order) { ASSERT_EQ(left, model); }
                    model = left;
                    if (op % 3 == 0) { ASSERT_TRUE(a.shrink_to_fit()); }
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
