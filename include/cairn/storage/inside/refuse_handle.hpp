// cairn/storage/inside/refuse_handle.hpp - the report of a handle that finds nothing.
//
//      map[h]  ->  refuse()  ->  refuse_handle({fault, map ...}, line)  ->  the program stops
//
// Each map knows how to look up a slot and its life; the sentences are the same for all maps and
// stand once, in the library.
#pragma once

#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/generations.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// A handle that a map refuses: what is wrong with it, and where it leads.
struct refused_handle {
    handle_fault fault;
    const void* map;
    const char* type;           // of the map: "slot_map"
    std::uint32_t slot;         // the index in the handle
    std::uint32_t slot_count;   // of the map; `slot` may be beyond
    std::uint32_t slot_life;    // that the slot is in, or will be in next; 0: its lives are used up
    std::uint32_t handle_life;  // the generation in the handle
};

/// Stops the program, in every build, with the sentence of the fault and these figures. `from`: the
/// line that has the handle, where it is known. Requires: the fault is not none.
[[noreturn]] void refuse_handle(const refused_handle& refused, call_site from);

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
