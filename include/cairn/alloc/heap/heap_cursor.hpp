// cairn/alloc/heap/heap_cursor.hpp - where a walk over a heap stands between two of its parts.
//
//      region_      | used | free | used | used |  ...
//      (address)           visited       ^ next_ (granule)
//
// The heap may change between two parts, and its blocks and regions with it. So the cursor is a
// position only: a walk goes on at the first block at or behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Where a walk in parts stands: heap::for_some_blocks(). It may outlive the heap, because nothing
/// reads through it.
class heap_cursor {
public:
    heap_cursor() = default;

private:
    template <class Fit>
    friend class heap;
    heap_cursor(std::uintptr_t region, std::uint32_t next) noexcept
        : region_{region}, next_{next} {}

    std::uintptr_t region_ = 0;  // the lowest address of a region that is not visited whole
    std::uint32_t next_ = 0;     // granules of that region that are visited
};

}}  // namespace cairn::CAIRN_FLAVOUR
