// lab/experiments/worst-insert.cpp - the worst single insertion while a store grows to 10^6 objects.
//
// A frame does not care for the average: it is missed by the one insertion that copies everything.
// Each contender inserts 10^6 particles of 24 bytes into an empty store, with a clock around every
// insertion; the case is the longest of them. Page faults of fresh memory are included.
//
//      copying     doubles and moves everything
//      paged       one more page; nothing moves
//      reserved    addresses for 10^6 objects up front, memory committed behind the end
//      moved       over the system's pages: from 128 KiB on they move, and no row is copied
//      touched     reserved, and all pages touched before the first insertion
//      reserve()   as much from malloc up front, which the system backs page by page as it is touched

#include <cairn/os/page_allocator.hpp>

#include "lab/families/longest_operation.hpp"
#include "lab/families/particle_stores.hpp"
#include "lab/harness/experiment.hpp"

namespace {

using lab::particle;

constexpr std::size_t object_count = 1000000;
template <class Make>
auto worst_insert(Make make) {
    return lab::longest_of(object_count, make, [](auto& store, std::size_t i) {
        (void)store->emplace(static_cast<unsigned>(i));
    });
}

struct std_vector {
    std::vector<particle> all;
    void emplace(unsigned seed) { all.emplace_back(seed); }
};

auto reserved_vector() {
    auto store = std::make_unique<std_vector>();
    store->all.reserve(object_count);
    return store;
}

template <class Store>
auto plain() {
    return [] { return std::make_unique<Store>(); };
}
template <class Store>
auto over_pages() {
    return [] { return std::make_unique<Store>(cairn::system_pages()); };
}
/// Addresses; `how`: memory behind them comes by huge pages, or is touched beforehand.
template <class Store>
auto reserved(cairn::page_options how = {}) {
    return [how] {
        auto store = std::make_unique<Store>();
        (void)store->reserve_address_space(object_count, how);
        if (how.prefault) { (void)store->reserve(object_count); }
        return store;
    };
}

const lab::registration growth{
    "worst-insert", "How long can a single insertion take while a store grows to a million?",
    [](lab::experiment& e) {
        e.quick_seconds = 10;
        lab::comparison& c = lab::compare_longest(e, "worst insert");
        c.peer("std::vector, copying", worst_insert(plain<std_vector>()));
        c.peer("std::vector, reserve()", worst_insert(reserved_vector));
        c.cairn("packed_array, copying", worst_insert(plain<cairn::packed_array<particle>>()));
        c.cairn("packed_array, reserved", worst_insert(reserved<cairn::packed_array<particle>>()));
        c.cairn("packed_array, moved pages",
                worst_insert(over_pages<cairn::packed_array<particle>>()));
        c.cairn("slot_map, copying", worst_insert(plain<cairn::slot_map<particle>>()));
        c.cairn("slot_map, moved pages", worst_insert(over_pages<cairn::slot_map<particle>>()));
        c.cairn("slot_map, reserved", worst_insert(reserved<cairn::slot_map<particle>>()));
        c.cairn("slot_map, reserved, huge pages",
                worst_insert(reserved<cairn::slot_map<particle>>({.huge_pages = true})));
        c.cairn("slot_map, reserved, touched",
                worst_insert(reserved<cairn::slot_map<particle>>({.prefault = true})));
        c.cairn("stable_slot_map, paged", worst_insert(plain<cairn::stable_slot_map<particle>>()));
    }};

}  // namespace
