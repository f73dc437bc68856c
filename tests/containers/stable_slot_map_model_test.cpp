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

namespace {

/// 64 of them fill a chunk.
struct wide : quiet {
    using quiet::quiet;
    std::byte rest[1000];
};

}  // namespace

TEST(stable_slot_map_model, chunks_fill_and_run_empty) {
    static_assert(stable_slot_map<wide>::slots_per_chunk == 64);
    for (std::uint32_t seed = 40; seed < 44; ++seed) {
        map_model::run<stable_slot_map<wide>>(seed, 25000, 1500, 40);
    }
}

TEST(stable_slot_map_model, four_bit_generations_run_out_and_come_back) {
    EXPECT_GT((map_model::run<stable_slot_map<quiet, slot_policy<16, 12>>>(4, 300000, 300, 3000)),
              0u);
}

TEST(stable_slot_map_model, no_handle_is_ever_given_out_twice_until_recycled) {
    map_model::every_life_is_given_once<stable_slot_map<int, slot_policy<16, 12>>>();
}

TEST(stable_slot_map_model, every_construction_may_throw) {
    map_model::every_construction_may_throw<stable_slot_map<tracked>>(100);
}

TEST(stable_slot_map_model, every_allocation_refused_in_turn) {
    map_model::every_allocation_refused_in_turn<stable_slot_map<quiet>>();
}
