// cairn/storage/inside/address_place.hpp - what an allocator answers when a report asks where an
// address lies in it.
//
//      report:  "0x55d0 lies 8 bytes into slot 12 of pool 'enemies' (64 bytes, freed)"
//                         offset      unit  index  type    name      size      state
#pragma once

#include <cstddef>
#include <source_location>

#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Where an address lies in an allocator, for a report.
struct address_place {
    bool inside = false;          // of memory that the allocator manages
    const char* unit = nullptr;   // "slot"; nullptr: the memory has no units
    std::size_t index = 0;        // of the unit
    std::size_t offset = 0;       // bytes from the unit's, or the memory's, begin
    bool in_front = false;        // the offset counts downwards: a fence
    std::size_t size = 0;         // bytes of the unit or the memory
    const char* state = nullptr;  // "live", "freed", ...
    const char* by = nullptr;     // "allocated by", "freed by"; nullptr: not known
    std::source_location who{};   // of `by`
};

/// The reports of a type of allocator about its objects.
struct allocator_type {
    const char* type;  // "pool"
    address_place (*place_of)(const void* object, const void* address) noexcept;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
