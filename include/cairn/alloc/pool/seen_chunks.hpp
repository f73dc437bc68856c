// cairn/alloc/pool/seen_chunks.hpp - the chunks that a pool has found, in checked builds.
//
//      address of a slot    ............ wwww ................      four bits: the entry to ask
//                                             \_ quarter of _/
//                                           the largest chunk
//
// A chunk of the largest size has four neighbouring entries or five, a small one a part of one. An
// entry says which addresses it is right for, so a wrong one costs a search and no more.
//
// Cost: no search and no branch where slots of several chunks alternate. 512 B a pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/slot_numbers.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct seen_chunk {
    std::uintptr_t first = 0;    // of its slots
    std::size_t size = 0;        // of its slots, in bytes; 0: no chunk, or states are not known
    std::size_t short_size = 0;  // as size; 0 also for long slots, and under memory checkers
    bool* live = nullptr;        // of each of its slots, whether it is live
};
static_assert(sizeof(seen_chunk) == 32);

struct seen_chunks {
    explicit seen_chunks(std::size_t stride) noexcept
        : number{stride}, tail{stride == 32 || stride == 48 || stride == 64 ? stride - 32 : 33} {}

    [[nodiscard, CAIRN_FORCE_INLINE]] seen_chunk& at(const void* slot) noexcept {
        return entries[reinterpret_cast<std::uintptr_t>(slot) >> shift & 15];
    }

    static inline bool no_slot = false;
    slot_numbers number;
    std::size_t tail;            // of a slot of 32, 48 or 64 bytes: its size less 32
    unsigned shift = 0;          // log2 of a quarter of the largest chunk
    const void* last = nullptr;  // the short slot that was given out or came back last
    bool* last_live = &no_slot;
    seen_chunk entries[16];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
