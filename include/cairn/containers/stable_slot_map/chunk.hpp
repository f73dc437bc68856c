// cairn/containers/stable_slot_map/chunk.hpp - which slots are alive, in words of 64.
//
//      open       ...0 1 1 0 1      bit w: word w may have a free slot (insertion looks here)
//      used       ...0 0 1 1 1      bit w: word w has a live slot      (iteration looks here)
//                        | | |
//      live[w]      one bit a slot: an object lives here, or the slot is in the batch
//                   (free_slot_batch.hpp)                     free = ~(live | blocked)
//      blocked[w]   one bit a slot: neither free nor alive      (promised, pending, worn out)
//      promised[w]  one bit a slot: given out by promise_handle(), empty yet
//      generation[slot]   the life it is in; the top bit while no object can be found there
//
// The objects lie in a block of their own, so that it can go back when the chunk is empty while the
// generations stay: a stale handle must fail forever.
//
// Cost: 4 bytes a slot, and 3 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/flavour.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

template <unsigned SlotsLog2>
struct stable_chunk {
    static_assert(SlotsLog2 >= 6 && SlotsLog2 <= 12,
                  "one summary word covers 64 words of 64 slots");
    static constexpr std::uint32_t slot_count = std::uint32_t{1} << SlotsLog2;
    static constexpr std::uint32_t word_count = slot_count / 64;
    static constexpr std::uint32_t vacant = 0x8000'0000;

    std::uint64_t open;
    std::uint64_t used;
    std::uint32_t promised_count;  // these two keep the chunk's memory
    std::uint32_t waiting_count;   // while no object lives here
    std::uint64_t live[word_count];
    std::uint64_t blocked[word_count];
    std::uint64_t promised[word_count];
    std::uint32_t generation[slot_count];

    static constexpr std::uint64_t all_words =
        word_count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (word_count & 63)) - 1;

    /// All slots are free and begin with life `first`.
    void start(std::uint32_t first) noexcept {
        open = all_words;
        used = 0;
        promised_count = waiting_count = 0;
        for (std::uint32_t w = 0; w < word_count; ++w) { live[w] = blocked[w] = promised[w] = 0; }
        for (std::uint32_t& g : generation) { g = vacant | first; }
    }

    [[nodiscard]] bool keeps_memory() const noexcept {
        return (promised_count | waiting_count) != 0;
    }

    [[nodiscard]] std::uint64_t free(std::uint32_t w) const noexcept {
        return ~(live[w] | blocked[w]);
    }

    /// `slot` is taken by an object.
    void enter(std::uint32_t slot) noexcept {
        live[slot / 64] |= std::uint64_t{1} << (slot & 63);
        used |= std::uint64_t{1} << (slot / 64);
    }

    /// The object of `slot` is gone. No branch: whether a word runs empty is a coin toss in a
    /// fragmented chunk, and a wrong guess costs more than the whole function.
    /// Returns: true when no object is left in the whole chunk.
    bool leave(std::uint32_t slot) noexcept {
        const std::uint32_t w = slot / 64;
        const std::uint64_t left = live[w] & ~(std::uint64_t{1} << (slot & 63));
        live[w] = left;
        used &= ~(static_cast<std::uint64_t>(left == 0) << w);
        return used == 0;
    }

    /// `slot` may be used again.
    void reopen(std::uint32_t slot) noexcept { open |= std::uint64_t{1} << (slot / 64); }

    /// All words with a free slot.
    [[nodiscard]] std::uint64_t count_open() const noexcept {
        std::uint64_t words = 0;
        for (std::uint32_t w = 0; w < word_count; ++w) {
            words |= static_cast<std::uint64_t>(free(w) != 0) << w;
        }
        return words;
    }

    [[nodiscard]] static bool bit(const std::uint64_t* words, std::uint32_t slot) noexcept {
        return ((words[slot / 64] >> (slot & 63)) & 1) != 0;
    }
    static void set(std::uint64_t* words, std::uint32_t slot) noexcept {
        words[slot / 64] |= std::uint64_t{1} << (slot & 63);
    }
    static void reset(std::uint64_t* words, std::uint32_t slot) noexcept {
        words[slot / 64] &= ~(std::uint64_t{1} << (slot & 63));
    }
};

/// As many slots as fit 64 KiB, a power of two between 64 and 4096.
constexpr unsigned stable_chunk_slots_log2(std::size_t object_size) noexcept {
    unsigned log2 = 6;
    while (log2 < 12 && (object_size << (log2 + 1)) <= 65536) { ++log2; }
    return log2;
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
