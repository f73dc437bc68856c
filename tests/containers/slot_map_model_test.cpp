// slot_map against a std model: 10^6 operations in all, every policy, generations exhausted on purpose,
// every construction, move and allocation made to fail in turn.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>

#include "containers/map_model.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

// An explicit instantiation compiles without the header of batches.
template class cairn::packed_array<int>;
template class cairn::slot_map<int>;

TEST(slot_map_model, fifo_over_many_operations) {
    map_model::run<slot_map<quiet>>(1, 400000, 3000, 20000);
}

TEST(slot_map_model, many_small_maps_fifo) {
    for (std::uint32_t seed = 10; seed < 30; ++seed) {
        map_model::run<slot_map<quiet, slot_policy<32>>>(seed, 5000, 100, 100);
    }
}

TEST(slot_map_model, lifo) {
    map_model::run<slot_map<quiet, slot_policy<32, 20, reuse::lifo>>>(2, 100000, 1000);
}

TEST(slot_map_model, four_bit_generations_run_out_and_come_back) {
    EXPECT_GT(
        (map_model::run<slot_map<quiet, slot_policy<16, 12, reuse::fifo, 8>>>(4, 150000, 300)), 0u);
    EXPECT_GT((map_model::run<slot_map<quiet, slot_policy<16, 12, reuse::lifo>>>(5, 100000, 300)),
              0u);
}

TEST(slot_map_model, no_handle_is_ever_given_out_twice_until_recycled) {
    map_model::every_life_is_given_once<slot_map<int, slot_policy<16, 12, reuse::lifo>>>();
    map_model::every_life_is_given_once<slot_map<int, slot_policy<16, 12>>>();
}

TEST(slot_map_model, every_construction_may_throw) {
    map_model::every_construction_may_throw<slot_map<tracked>>(400);
}

TEST(slot_map_model, every_allocation_refused_in_turn) {
    map_model::every_allocation_refused_in_turn<slot_map<quiet>>();
}
