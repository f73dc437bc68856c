// cairn/alloc/pool/seen_chunks.hpp - the chunks that a pool has found, in checked builds.
//
//      address of a slot    ............ wwwww ................      five bits: the window
//                                              \_ 1/16 to _/
//                                           1/8 of the largest chunk
//
//      window               | lower chunk | higher chunk |      the higher one from its first slot
//                                                               on, the lower one below
//
// A chunk of the largest size has 8 to 17 neighbouring windows, a small one a part of one; two that
// lie side by side share a window. An entry says which addresses it is right for, so a wrong
// one costs a search and no more.
//
// Cost: no search and no branch where slots of several chunks alternate. 2 KiB a pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/slot_numbers.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct seen_chunk {
    std::uintptr_t first = UINTPTR_MAX;  // of its slots
    std::size_t size = 0;                // of its slots, in bytes; 0: none, or states are not known
    std::size_t short_size = 0;          // as size; 0 also for long slots, and under checkers
    bool* live = nullptr;                // of each of its slots, whether it is live
};
static_assert(sizeof(seen_chunk) == 32);

struct seen_chunks {
    explicit seen_chunks(std::size_t stride) noexcept
        : number{stride}, tail{stride == 32 || stride == 48 || stride == 64 ? stride - 32 : 33} {}

    /// `shift` where the largest chunk has `size` bytes.
    [[nodiscard]] static constexpr unsigned shift_for(std::size_t size) noexcept {
        return floor_log2((size - 1) / 8 | 1);
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] seen_chunk& at(const void* slot) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(slot);
        seen_chunk* const two = windows[address >> shift & 31];
        return two[address >= two[1].first];
    }
    /// `c` has the slot. Where a window has more than two chunks, the last one takes the place of a
    /// neighbour.
    void remember(const seen_chunk& c, const void* slot) noexcept {
        seen_chunk* const two = windows[reinterpret_cast<std::uintptr_t>(slot) >> shift & 31];
        const bool has_room = two[1].size == 0;
        if (c.first >= two[1].first || (c.first > two[0].first && has_room)) {
            two[1] = c;
            return;
        }
        if (c.first < two[0].first && has_room) { two[1] = two[0]; }
        two[0] = c;
    }

    static inline bool no_slot = false;
    slot_numbers number;
    std::size_t tail;            // of a slot of 32, 48 or 64 bytes: its size less 32
    unsigned shift = 0;          // log2 of a window: of 1/16 to 1/8 of the largest chunk
    const void* last = nullptr;  // the short slot that was given out or came back last
    bool* last_live = &no_slot;
    seen_chunk windows[32][2];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
