// cairn/alloc/pool/slot_lookup.hpp - what checked builds keep of the chunk that was found last.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/pool/free_slot.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Checked builds: the chunk that was found last, so that the slot of an address is nearly always
/// found without a search, and without a division.
struct slot_lookup {
#if CAIRN_ASSERTS
    explicit slot_lookup(std::size_t stride) noexcept
        : inverse{UINT64_MAX / stride + 1}, tail{tail_of_slot(stride)} {}
    static constexpr std::uintptr_t shut = UINTPTR_MAX;
    std::uintptr_t gate = shut;  // of the short way: the begin of the stack, or shut
    std::uintptr_t first = 0;    // of its slots
    std::size_t size = 0;   // of its slots, in bytes; 0: no chunk, or states that are not known
    bool* live = nullptr;   // of each of its slots, whether it is live
    std::uint64_t inverse;  // offset * inverse / 2^64 is the number of a slot
    std::size_t tail;       // of a slot of 32, 48 or 64 bytes: its size less 32
    __extension__ using product = unsigned __int128;
#else
    explicit slot_lookup(std::size_t) noexcept {}
#endif
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
