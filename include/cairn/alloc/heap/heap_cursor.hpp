// cairn/alloc/heap/heap_cursor.hpp - where a walk over a heap stands between two of its parts.
//
//      region_ 2    | used | free | used | used |  ...
//                     ^3     ^2     ^1     ^0          starts_: the next block, and three before
//
// The heap may change between two parts. The walk goes on at the newest start that is still one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Where a walk in parts stands: heap::for_some_blocks(). It names no memory.
class heap_cursor {
    template <class Fit>
    friend class heap;
    static constexpr std::size_t start_count = 4;

    void begin_region(std::uint32_t region) noexcept {
        *this = {};
        region_ = region;
    }
    void set_next(std::uint32_t granule) noexcept {
        for (std::size_t i = start_count - 1; i != 0; --i) { starts_[i] = starts_[i - 1]; }
        starts_[0] = granule;
    }

    std::uint32_t region_ = 0;
    std::uint32_t starts_[start_count] = {};  // of the next block, and of those before it
};

}}  // namespace cairn::CAIRN_FLAVOUR
