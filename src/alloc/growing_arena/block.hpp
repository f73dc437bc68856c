// A block of a growing arena: its header, and the list that it stands in.
//
// The used list, newest first. Ordinary blocks and oversized ones stand in it as they came, with
// one exception: an oversized one slips in behind the current block, which goes on being filled.
//
//      used_
//        v
//      [ C 7 ] --> [ O 9 ] --> [ O 8 ] --> [ B 4 ] --> [ O 6 ] --> [ O 5 ] --> [ A 1 ]
//      current     oversized since C       full        oversized while B       full
//                                                      was the current one
//
// So serials (the numbers) fall along the ordinary blocks, and behind each of these they fall along
// the oversized ones that came while it was current. A marker made while B was current, after O 5,
// has the serial 5: what is younger is [ C O O ] in front of B, and [ O 6 ] directly behind it.
//
// An oversized block at the head means that there is no current block: region_ is empty then.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Sits at the front of every block; the payload behind it belongs to the caller.
struct growing_arena::block {
    static constexpr std::size_t header_size = 48;  // sizeof(block), rounded up to the granule
    static constexpr std::size_t size_min = 256;    // smaller blocks are more header than memory

    block* next;           // older used block, or next spare
    std::size_t size;      // bytes asked of upstream, this header included
    std::uint64_t serial;  // grows with every block taken into use
    // Written when the block stops being the current one; until then region_ knows it.
    std::uintptr_t top;    // end of its live bytes, once it is no longer the current one
    bool oversized;        // holds one request larger than half a block
    unsigned description;  // of a named arena's block, for forget_description()

    [[nodiscard]] std::uintptr_t begin() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) + header_size;
    }
    // Sizes are as upstream was asked, in any number of bytes: the rest behind the last granule is
    // not used.
    [[nodiscard]] std::uintptr_t end() const noexcept {
        return detail::round_down(reinterpret_cast<std::uintptr_t>(this) + size,
                                  detail::bump_granule);
    }
    [[nodiscard]] std::size_t payload_size() const noexcept { return end() - begin(); }
    [[nodiscard]] detail::bump_region fresh_region() const noexcept {
        return {reinterpret_cast<void*>(begin()), payload_size()};
    }
};

}}  // namespace cairn::CAIRN_FLAVOUR
