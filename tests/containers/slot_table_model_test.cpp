// slot_table against the std model of all maps: 10^6 operations in all, generations exhausted on
// purpose, every construction, move and allocation made to fail in turn.
#include <cairn/containers/slot_table.hpp>

#include "containers/map_model.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

/// Rows are templates over the kind alone. Both kinds of objects throw when they are copied.
template <class K = value>
struct steady {
    field<K, std::uint64_t> number;
    field<K, quiet> object;
    field<K, std::uint16_t> low;
    std::uint64_t value() const {
        EXPECT_EQ(number, object.value()) << "the columns move together";
        EXPECT_EQ(low, static_cast<std::uint16_t>(number));
        return number;
    }
};
template <class K = value>
struct fussy {
    field<K, std::uint64_t> number;
    field<K, tracked> object;
    std::uint64_t value() const { return number; }
};

template <>
struct map_model::maker<steady<>> {
    static steady<> make(std::uint64_t v) { return {v, quiet{v}, static_cast<std::uint16_t>(v)}; }
    template <class Map>
    static auto emplace(Map& map, std::uint64_t v) {
        return map.emplace(v, quiet{v}, static_cast<std::uint16_t>(v));
    }
    template <class Map, class Handle>
    static bool fulfil(Map& map, Handle h, std::uint64_t v) {
        return map.fulfil(h, make(v)) != nullptr;
    }
};
template <>
struct map_model::maker<fussy<>> {
    template <class Map>
    static auto emplace(Map& map, std::uint64_t v) {
        return map.emplace(v, tracked{v});
    }
};

namespace {
template <class Layout, class Policy = slot_policy<>>
using map_of = slot_table<steady<>, Layout, Policy>;

struct number {
    int n;
    int m = 0;
};
}  // namespace

TEST(slot_table_model, over_many_operations) {
    map_model::run<map_of<soa>>(1, 300000, 2000, 20000);
    map_model::run<map_of<aos>>(2, 150000, 2000, 20000);
    map_model::run<map_of<aosoa<8>>>(3, 150000, 2000, 20000);
}

TEST(slot_table_model, many_small_maps) {
    for (std::uint32_t seed = 10; seed < 30; ++seed) {
        map_model::run<map_of<soa, slot_policy<32>>>(seed, 10000, 100, 200);
    }
}

TEST(slot_table_model, four_bit_generations_run_out_and_come_back) {
    EXPECT_GT((map_model::run<map_of<soa, slot_policy<16, 12, reuse::fifo, 8>>>(4, 200000, 300)),
              0u);
    map_model::every_life_is_given_once<
        slot_table<number, soa, slot_policy<16, 12, reuse::lifo>>>();
}

TEST(slot_table_model, every_construction_may_throw) {
    map_model::every_construction_may_throw<slot_table<fussy<>, soa>>(400);
}

TEST(slot_table_model, every_allocation_refused_in_turn) {
    map_model::every_allocation_refused_in_turn<map_of<soa>>();
    map_model::every_allocation_refused_in_turn<map_of<aos>>();
}
