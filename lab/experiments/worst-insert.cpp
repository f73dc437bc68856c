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
#include <cstdint>
#include <memory>
#include <vector>

#include <cairn/os/page_allocator.hpp>

#include "lab/families/particle_stores.hpp"
#include "lab/harness/clock.hpp"
#include "lab/harness/experiment.hpp"

namespace {

using lab::particle;

constexpr std::size_t object_count = 1000000;
constexpr double interrupt_us = 20;  // the longest of a million readings has one in it, or has not

template <class Make>
auto worst_insert(Make make) {
    return [make] {
        return [make](lab::sample& s) {
            auto store = make();
            std::int64_t worst = 0;
            std::int64_t total = lab::now_ns();
            for (std::size_t i = 0; i < object_count; ++i) {
                const std::int64_t before = lab::now_ns();
                (void)store->emplace(static_cast<unsigned>(i));
                const std::int64_t took = lab::now_ns() - before;
                worst = took > worst ? took : worst;
            }
            total = lab::now_ns() - total;
            lab::keep(store.get());
            s.value(static_cast<double>(worst) / 1000);
            s.also("all of them", static_cast<double>(total) / 1e6);
        };
    };
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
auto reserved() {
    return [] {
        auto store = std::make_unique<Store>();
        (void)store->reserve_address_space(object_count);
        return store;
    };
}

template <class Store>
auto over_pages() {
    return [] { return std::make_unique<Store>(cairn::system_pages()); };
}
/// Addresses with memory behind them that comes by huge pages, or is touched beforehand.
template <class Store>
auto reserved(cairn::page_options how) {
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
        lab::comparison& c = e.compare(
            "worst insert",
            {.unit = "us", .measure = lab::measure::value, .least_difference = interrupt_us});
        e.also(c, "all of them", {.unit = "ms"});
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
