// What the tests of collected_heap::compact() have in common.
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>

#include <cstdint>

namespace units {

using namespace cairn;

struct unit {
    std::uint32_t id = 0;
    ref<unit> next, other;
    ref_array<unit> friends;
    explicit unit(std::uint32_t i = 0) : id{i} {}
    using references = refers_to<&unit::next, &unit::other, &unit::friends>;
};
struct header {
    std::uint64_t words[6] = {};
};
struct named {
    ref<unit> owner;
    std::uint32_t number = 0;
    using references = refers_to<&named::owner>;
};
/// Referred to by the name of a base behind its beginning.
struct ship : header, named {
    using references = refers_to<>::and_base<named>;
};
struct fleet {
    traced<cairn::packed_array<outer_ref<unit>>> units;
    ref<named> flagship;
    using references = refers_to<&fleet::units, &fleet::flagship>;
};

struct dice {
    std::uint32_t state = 20261122;
    std::size_t below(std::size_t n) {
        state = state * 1664525 + 1013904223;
        return static_cast<std::size_t>(state >> 8) % n;
    }
};

}  // namespace units

template <>
inline constexpr bool cairn::enable_trivial_relocation<units::unit> = true;
template <>
inline constexpr bool cairn::enable_trivial_relocation<units::ship> = true;
