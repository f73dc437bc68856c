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
//      in memory:  open used counts room | live | blocked | promised | generation | room_words
//                  \------ one line ----/    8 bytes a word of 64       4 a slot     3 * 8 a level
//
// An erasure touches the first line, one word of live and one generation.
//
// The objects lie in a block of their own, so that it can go back when the chunk is empty while the
// generations stay: a stale handle must fail forever.
//
// Cost: 4 bytes a slot, and 3 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/containers/stable_slot_map/chunks_by_room.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/cache_line.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <unsigned SlotsLog2, unsigned LevelCount = 1>
struct alignas(cache_line_size) stable_chunk {
    static_assert(SlotsLog2 >= 6 && SlotsLog2 <= 12,
                  "one summary word covers 64 words of 64 slots");
    static constexpr std::uint32_t slot_count = std::uint32_t{1} << SlotsLog2;
    static constexpr std::uint32_t word_count = slot_count / 64;
    static constexpr std::uint32_t vacant = 0x8000'0000;
    /// Free slots that are worth a visit: a batch, and no more than 1/32 of the chunk.
    static constexpr std::uint32_t batch_room = slot_count / 32 < 64 ? slot_count / 32 : 64;
    /// So many at most are noted one by one (noted_slots.hpp).
    static constexpr std::uint32_t noted_room = batch_room > 4 ? 4 : batch_room - 1;

    std::uint64_t open;
    std::uint64_t used;
    std::uint32_t promised_count;  // these two keep the chunk's memory
    std::uint32_t waiting_count;   // while no object lives here
    std::uint32_t free_count;      // bits that are set in free(w), for all w
    chunk_room room;               // kept by chunks_by_room
    std::uint64_t live[word_count];
    std::uint64_t blocked[word_count];
    std::uint64_t promised[word_count];
    std::uint32_t generation[slot_count];
    std::uint64_t room_words[LevelCount][indexed_room_count];  // chunks_by_room.hpp

    static constexpr std::uint64_t all_words =
        word_count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (word_count & 63)) - 1;

    /// All slots are free and begin with life `first`.
    void start(std::uint32_t first) noexcept {
        open = all_words;
        used = 0;
        promised_count = waiting_count = 0;
        free_count = slot_count;
        room = chunk_room::none;
        for (auto& level : room_words) {
            for (std::uint64_t& word : level) { word = 0; }
        }
        for (std::uint32_t w = 0; w < word_count; ++w) { live[w] = blocked[w] = promised[w] = 0; }
        for (std::uint32_t& g : generation) { g = vacant | first; }
    }

    /// Generations, blocked and promised slots as in `other`; no object is here yet.
    void copy_vacant(const stable_chunk& other) noexcept {
        for (std::uint32_t slot = 0; slot < slot_count; ++slot) {
            generation[slot] = other.generation[slot] | vacant;
        }
        for (std::uint32_t w = 0; w < word_count; ++w) {
            blocked[w] = other.blocked[w];
            promised[w] = other.promised[w];
        }
        promised_count = other.promised_count;
        waiting_count = other.waiting_count;
        note_free();
    }
    /// What is free by the words of slots is counted, and in `open`.
    void note_free() noexcept {
        free_count = count_free();
        open = 0;
        for (std::uint32_t w = 0; w < word_count; ++w) {
            open |= static_cast<std::uint64_t>(free(w) != 0) << w;
        }
    }

    [[nodiscard]] bool keeps_memory() const noexcept {
        return (promised_count | waiting_count) != 0;
    }

    [[nodiscard]] std::uint64_t free(std::uint32_t w) const noexcept {
        return ~(live[w] | blocked[w]);
    }
    [[nodiscard]] bool is_free(std::uint32_t slot) const noexcept {
        return (free(slot / 64) >> (slot & 63) & 1) != 0;
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

    /// `slot` may be used again. What becomes free in a chunk of kind `noted_from` or behind it is
    /// noted.
    /// Returns: true when it is noted, or the index of chunks learns of it.
    bool reopen(std::uint32_t slot, chunk_room noted_from) noexcept {
        open |= std::uint64_t{1} << (slot / 64);
        return (++free_count == batch_room) | (room >= noted_from);
    }
    /// `slot`, which is free, is marked live.
    void take_free(std::uint32_t slot) noexcept {
        enter(slot);
        --free_count;
    }

    [[nodiscard]] std::uint32_t count_free() const noexcept {
        std::uint32_t count = 0;
        for (std::uint32_t w = 0; w < word_count; ++w) {
            count += static_cast<std::uint32_t>(std::popcount(free(w)));
        }
        return count;
    }

    void validate() const noexcept {
        for (std::uint32_t w = 0; asserts_enabled && w < word_count; ++w) {
            CAIRN_ASSERT((live[w] & blocked[w]) == 0, "alive or blocked, not both");
            CAIRN_ASSERT((promised[w] & ~blocked[w]) == 0, "promised slots are blocked");
            CAIRN_ASSERT((live[w] != 0) == (((used >> w) & 1) != 0),
                         "the summary knows the words with live slots");
            CAIRN_ASSERT(free(w) == 0 || ((open >> w) & 1) != 0,
                         "the summary knows the words with free slots");
        }
        CAIRN_ASSERT(free_count == count_free(), "free slots are counted");
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

static_assert(offsetof(stable_chunk<11>, room) + sizeof(chunk_room) <= 64,
              "what an erasure counts is in one cache line with the words it changes");
static_assert(offsetof(stable_chunk<11>, live) % 8 == 0 &&
                  offsetof(stable_chunk<11>, generation) ==
                      offsetof(stable_chunk<11>, live) + 3 * 8 * stable_chunk<11>::word_count,
              "live, blocked and promised words, then the generations");
static_assert(offsetof(stable_chunk<11>, room_words) ==
                  offsetof(stable_chunk<11>, generation) + 4 * stable_chunk<11>::slot_count,
              "the index of chunks lies behind all that is used more often");

/// A chunk in the table of its map.
template <class Chunk>
struct chunk_entry {
    Chunk* state;
    std::byte* objects;  // nullptr while the chunk is empty and its block is with the upstream

    /// What it has to offer.
    [[nodiscard]] chunk_room room() const noexcept {
        const std::uint32_t count = state->free_count;
        if (objects == nullptr) { return count != 0 ? chunk_room::away : chunk_room::none_away; }
        return count >= Chunk::batch_room ? chunk_room::batch
               : count != 0               ? chunk_room::few
                                          : chunk_room::none;
    }
    /// True when its block has no object in it and no reason to stay.
    [[nodiscard]] bool is_idle() const noexcept {
        return objects != nullptr && state->used == 0 && !state->keeps_memory();
    }
};

/// As many slots as fit 64 KiB, a power of two between 64 and 4096.
constexpr unsigned stable_chunk_slots_log2(std::size_t object_size) noexcept {
    unsigned log2 = 6;
    while (log2 < 12 && (object_size << (log2 + 1)) <= 65536) { ++log2; }
    return log2;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
