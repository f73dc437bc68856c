// cairn/containers/stable_slot_map/chunks_by_room.hpp - the lowest chunk of a kind, in a few looks.
//
//      level 1   . . 1            one bit a group of 64: some chunk there is of this kind
//                    |
//      level 0   0 w 0 w w        one bit a chunk: it is of this kind
//                |   |   |
//      chunks    0  64  128       a word lies in the state of the first chunk that it covers
//
// Three kinds have words: chunks with a batch of free slots, chunks with fewer, and chunks with
// free slots whose block of objects is with the upstream. A chunk is of one kind.
//
// The words need no memory of their own, so no insertion into the index can fail. A chunk goes from
// the end of the table only, and takes the words of its group with it when it is the group's first.
//
// Cost: enter, remove: a word, and one more per level where the word was or runs empty. lowest: a
//       word per level. A level for each 6 bits of the number of chunks: 4 for 32 bits of index and
//       objects of 32 bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// What a chunk has to offer. The first three are found by chunks_by_room.
enum class chunk_room : std::uint32_t {
    batch,      // as many free slots as are worth a visit
    few,        // fewer
    away,       // free slots, and no memory for objects
    none,       // no free slot
    none_away,  // no free slot, and no memory for objects
};
inline constexpr unsigned indexed_room_count = 3;

/// Levels of words over `chunk_count` chunks.
constexpr unsigned chunk_level_count(std::size_t chunk_count) noexcept {
    unsigned levels = 1;
    for (std::size_t groups = (chunk_count + 63) / 64; groups > 1; groups = (groups + 63) / 64) {
        ++levels;
    }
    return levels;
}

/// `Entry` has a member `state`, which points to what has `room_words[level][kind]`, and `room`.
template <class Entry, unsigned LevelCount, class Steps>
struct chunks_by_room {
    static constexpr std::size_t none = SIZE_MAX;

    /// Chunk `p` is of kind `room` from now on, by its state and by the index.
    [[gnu::noinline]] static void set_room(Entry* chunks, std::size_t p, chunk_room room) noexcept {
        auto& state = *chunks[p].state;
        // A chunk is in the index under the kind that its state names, so both change together.
        if (room == state.room) { return; }
        // Kinds from `none` on are not in the index: a chunk without a free slot is not looked for.
        if (state.room < chunk_room::none) { remove(chunks, p, state.room); }
        if (room < chunk_room::none) { enter(chunks, p, room); }
        state.room = room;
    }
    /// Chunk `p` is of kind `room` from now on. Requires: it is of none that is indexed.
    static void enter(Entry* chunks, std::size_t p, chunk_room room) noexcept {
        for (unsigned level = 0; level < LevelCount; ++level) {
            Steps::touch();
            std::uint64_t& word = word_of(chunks, p >> 6, level, room);
            const std::uint64_t before = word;
            word = before | std::uint64_t{1} << (p & 63);
            if (before != 0) { return; }
            p >>= 6;
        }
    }
    /// Chunk `p` is of kind `room` no more. Requires: it was.
    static void remove(Entry* chunks, std::size_t p, chunk_room room) noexcept {
        for (unsigned level = 0; level < LevelCount; ++level) {
            Steps::touch();
            std::uint64_t& word = word_of(chunks, p >> 6, level, room);
            word &= ~(std::uint64_t{1} << (p & 63));
            if (word != 0) { return; }
            p >>= 6;
        }
    }
    /// The lowest chunk of kind `room`, or none. Requires: there is a chunk.
    [[nodiscard]] static std::size_t lowest(Entry* chunks, chunk_room room) noexcept {
        std::size_t p = 0;
        for (unsigned level = LevelCount; level != 0; --level) {
            Steps::touch();
            const std::uint64_t word = word_of(chunks, p, level - 1, room);
            if (word == 0) { return none; }
            p = p * 64 + static_cast<std::size_t>(std::countr_zero(word));
        }
        return p;
    }
    /// True when the words say that chunk `p` is of kind `room`.
    [[nodiscard]] static bool is(Entry* chunks, std::size_t p, chunk_room room) noexcept {
        return (word_of(chunks, p >> 6, 0, room) >> (p & 63) & 1) != 0;
    }
    /// Where chunk `p` is the first of a group: a broken invariant stops a checked build.
    static void validate([[maybe_unused]] Entry* chunks, std::size_t p,
                         [[maybe_unused]] chunk_room room) noexcept {
        for (unsigned level = 0; level + 1 < LevelCount && p % 64 == 0; ++level) {
            p /= 64;
            CAIRN_ASSERT((word_of(chunks, p, level, room) != 0) ==
                             ((word_of(chunks, p / 64, level + 1, room) >> (p & 63) & 1) != 0),
                         "a word says which words below it are not zero");
        }
    }

private:
    [[nodiscard]] static std::uint64_t& word_of(Entry* chunks, std::size_t group, unsigned level,
                                                chunk_room room) noexcept {
        return chunks[group << (6 * (level + 1))]
            .state->room_words[level][static_cast<std::uint32_t>(room)];
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
