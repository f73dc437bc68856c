// cairn/containers/stable_slot_map/chunks.hpp - the chunks of a stable_slot_map, and their room.
//
//      table:   +--------+--------+--------+
//               | state  | state  | state  |      the words and generations below; stays
//               | bytes  | bytes  |   -    |      the objects; goes back when the chunk is empty
//               +--------+--------+--------+
//
//      state:   open       ...0 1 1 0 1      bit w: word w may have a free slot (insertion looks)
//               used       ...0 0 1 1 1      bit w: live[w] is not 0            (iteration looks)
//                                 | | |
//               live[w]      one bit a slot: an object lives here, or the slot is held ready
//               held[w]      one bit a slot: it is held ready for the next object (slots.hpp)
//               blocked[w]   one bit a slot: neither free nor live (promised, waiting, worn out)
//               promised[w]  one bit a slot: given out by promise_handle(), no object yet
//               generation[slot]   the life it is in; top bit: no object can be found there
//
//      in memory:  open used counts room | live | held | blocked | promised | generation | trees
//                  \------ one line ----/      8 bytes a word of 64         4 a slot     24 a level
//
// A slot is free where neither live nor blocked has its bit. An erasure touches the first line, one
// word of held and one generation. The objects lie in a block of their own, which goes back when
// the chunk is empty; the generations stay, because a stale handle must fail forever. One empty
// chunk is kept, the lowest, so that a map around a chunk boundary does not allocate at each second
// step.
//
// Which chunk has room: a chunk is of one of five kinds (chunk_room). For three of them a tree of
// words finds the lowest chunk of that kind:
//
//      level 1   . . 1            one bit for 64 chunks: at least one of them is of this kind
//                    |
//      level 0   0 w 0 w w        one bit a chunk: it is of this kind
//                |   |   |
//      chunks    0  64  128       a word lies in the state of the first chunk that it covers
//
// The words need no memory of their own, so that entering a chunk cannot fail. Chunks are removed
// from the end of the table only.
//
// Invariant: a chunk is in the tree of the kind that its `room` names, and in no other.
// Cost:      4 bytes and 4 bits a slot. enter, remove, lowest: a word per level; a level for each 6
//            bits of the number of chunks. Growth: one chunk; the table of chunks is copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/cache_line.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/storage/generations.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// What a chunk has to offer. The first three kinds have trees.
enum class chunk_room : std::uint32_t {
    batch,      // enough free slots to gather a batch
    few,        // free slots, fewer than a batch
    away,       // free slots, and no memory for objects
    none,       // no free slot
    none_away,  // no free slot, and no memory for objects
};
inline constexpr std::uint32_t indexed_room_count = 3;

/// The numbers that the code of a map depends on: those of its element and of its handle. The hot
/// functions take them as a constant, the functions in src/ read them from the map.
struct stable_rules {
    std::size_t object_size;
    alignment object_alignment;
    std::uint32_t slots_log2;  // slots of a chunk: 2^6 to 2^12
    std::uint32_t index_max;
    std::uint32_t generation_max;

    [[nodiscard]] constexpr std::uint32_t slot_count() const noexcept { return 1u << slots_log2; }
    [[nodiscard]] constexpr std::uint32_t slot_mask() const noexcept { return slot_count() - 1; }
    [[nodiscard]] constexpr std::uint32_t word_count() const noexcept { return slot_count() / 64; }
    /// Free slots that make a batch: 64, or 1/32 of a chunk where that is less.
    [[nodiscard]] constexpr std::uint32_t batch_room() const noexcept {
        return slot_count() / 32 < 64 ? slot_count() / 32 : 64;
    }
    [[nodiscard]] constexpr std::size_t chunk_count_max() const noexcept {
        return (std::size_t{index_max} + slot_count()) >> slots_log2;
    }
    /// Levels of the trees over chunk_count_max() chunks.
    [[nodiscard]] constexpr std::uint32_t level_count() const noexcept {
        std::uint32_t levels = 1;
        for (std::size_t n = (chunk_count_max() + 63) / 64; n > 1; n = (n + 63) / 64) { ++levels; }
        return levels;
    }
};

/// The rules for objects of `size` bytes: as many slots as fit 64 KiB, a power of two from 64 to
/// 4096.
[[nodiscard]] constexpr stable_rules stable_rules_for(std::size_t size, std::size_t align,
                                                      std::uint32_t index_max,
                                                      std::uint32_t generation_max) noexcept {
    std::uint32_t log2 = 6;
    while (log2 < 12 && (size << (log2 + 1)) <= 65536) { ++log2; }
    return {size, alignment{align > cache_line_size ? align : cache_line_size}, log2, index_max,
            generation_max};
}

/// The state of one chunk: this line, and behind it the arrays of the drawing.
struct alignas(cache_line_size) stable_chunk {
    static constexpr std::uint32_t vacant = generations::vacant;

    std::uint64_t open;
    std::uint64_t used;
    std::uint32_t promised_count;  // these two keep the chunk's memory
    std::uint32_t waiting_count;   // while no object lives here
    std::uint32_t free_count;      // bits that are set in free_bits(w), for all w
    chunk_room room;
    std::uint32_t live_count;    // objects: bits of live[w] without those of held[w]
    std::uint32_t next_room_at;  // free_count at which the chunk is of another kind

    [[nodiscard]] std::uint64_t* live() noexcept {
        return reinterpret_cast<std::uint64_t*>(this + 1);
    }
    [[nodiscard]] std::uint64_t* held(const stable_rules& rules) noexcept {
        return live() + rules.word_count();
    }
    [[nodiscard]] std::uint64_t* blocked(const stable_rules& rules) noexcept {
        return live() + 2 * rules.word_count();
    }
    [[nodiscard]] std::uint64_t* promised(const stable_rules& rules) noexcept {
        return live() + 3 * rules.word_count();
    }
    [[nodiscard]] std::uint32_t* lives(const stable_rules& rules) noexcept {
        return reinterpret_cast<std::uint32_t*>(live() + 4 * rules.word_count());
    }
    /// The words of the trees: `level` * 3 + kind.
    [[nodiscard]] std::uint64_t* room_words(const stable_rules& rules) noexcept {
        return reinterpret_cast<std::uint64_t*>(lives(rules) + rules.slot_count());
    }
    [[nodiscard]] static constexpr std::size_t size_of(const stable_rules& rules) noexcept {
        return sizeof(stable_chunk) + 32 * rules.word_count() + 4 * rules.slot_count() +
               24 * rules.level_count();
    }

    /// The objects of word `w`.
    [[nodiscard]] std::uint64_t objects_in(const stable_rules& rules, std::uint32_t w) noexcept {
        return live()[w] & ~held(rules)[w];
    }
    [[nodiscard]] std::uint64_t free_bits(const stable_rules& rules, std::uint32_t w) noexcept {
        return ~(live()[w] | blocked(rules)[w]);
    }
    [[nodiscard]] bool keeps_memory() const noexcept {
        return (promised_count | waiting_count) != 0;
    }

    /// `slot` is live or held, and not free.
    void enter(std::uint32_t slot) noexcept {
        live()[slot / 64] |= std::uint64_t{1} << (slot & 63);
        used |= std::uint64_t{1} << (slot / 64);
    }
    /// `slot` is neither live nor held. No branch: whether a word runs empty is a coin toss in a
    /// fragmented chunk, and a wrong guess costs more than the whole function.
    void leave(std::uint32_t slot) noexcept {
        const std::uint32_t w = slot / 64;
        const std::uint64_t left = live()[w] & ~(std::uint64_t{1} << (slot & 63));
        live()[w] = left;
        used &= ~(static_cast<std::uint64_t>(left == 0) << w);
    }
    /// Counts the free slots anew, from the words of slots.
    void note_free(const stable_rules& rules) noexcept;

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
static_assert(sizeof(stable_chunk) == cache_line_size, "the counts lie in one cache line");

/// An array of plain values that grows by copying; for the table of chunks and the waiting slots.
template <class V>
struct plain_list {
    V* data = nullptr;
    std::size_t size = 0;
    std::size_t capacity = 0;

    /// Returns: false when `upstream` is exhausted; nothing has changed then.
    [[nodiscard]] bool make_room(allocator_ref upstream) noexcept {
        return size < capacity || grow(upstream);
    }
    [[nodiscard]] bool grow(allocator_ref upstream) noexcept;
    /// Capacity for `size` elements. Returns: as make_room().
    [[nodiscard]] bool shrink(allocator_ref upstream) noexcept;
    void release(allocator_ref upstream) noexcept;
};

/// An object that waits for its fence.
struct waiting_slot {
    std::uint64_t fence;
    std::uint32_t index;
};

class stable_chunks {
public:
    static constexpr std::size_t no_chunk = SIZE_MAX;
    /// A chunk in the table.
    struct entry {
        stable_chunk* state;
        std::byte* objects;  // nullptr while the chunk is empty and its block is with the upstream
    };

    stable_chunks(const stable_rules& rules, allocator_ref upstream,
                  std::uint32_t first_generation) noexcept
        : rules_{rules}, upstream_{upstream}, lives_{rules.generation_max, first_generation} {}
    stable_chunks(stable_chunks&& other) noexcept;

    [[nodiscard]] entry* table() const noexcept { return table_.data; }
    [[nodiscard]] std::size_t count() const noexcept { return table_.size; }
    [[nodiscard]] std::size_t count_with_memory() const noexcept;
    [[nodiscard]] allocator_ref upstream() const noexcept { return upstream_; }

protected:
    [[nodiscard]] stable_chunk& state_of(std::uint32_t index) const noexcept {
        return *table()[index >> rules_.slots_log2].state;
    }
    [[nodiscard]] std::uint32_t& life_of(std::uint32_t index) const noexcept {
        return state_of(index).lives(rules_)[index & rules_.slot_mask()];
    }
    /// What chunk `p` has to offer by its counts.
    [[nodiscard]] chunk_room room_of(std::size_t p) const noexcept;
    /// Enters chunk `p` in the tree of the kind that room_of() says.
    void note_room(std::size_t p) noexcept { set_room(p, room_of(p)); }
    void set_room(std::size_t p, chunk_room room) noexcept;
    /// The lowest chunk of an indexed kind, or no_chunk.
    [[nodiscard]] std::size_t lowest(chunk_room room) const noexcept;

    /// See stable_slot_map::reserve().
    [[nodiscard]] bool reserve(std::size_t chunk_count) noexcept;
    /// A new chunk with memory at the end. Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool add() noexcept;
    /// Chunk `p` has memory for its objects from now on; note_room() is still to do.
    /// Returns: false when exhausted.
    [[nodiscard]] bool get_objects(std::size_t p) noexcept;
    /// Where no object lives in chunk `p`: it is kept, or a chunk is to be sent back.
    /// Returns: the chunk to send back, or no_chunk.
    [[nodiscard]] std::size_t superfluous(std::size_t p) noexcept;
    /// The block of chunk `p` goes back. Requires: no slot of it is live or held.
    void send_back(std::size_t p) noexcept;
    /// Gives back the blocks of all empty chunks, reserved ones too, and the chunks at the end that
    /// have no object and whose slots may go (generations.hpp). Requires: no slot is held.
    /// Returns: false when the table cannot move to a smaller block.
    [[nodiscard]] bool shrink() noexcept;
    /// The generations (all vacant), blocked and promised slots of `other`.
    /// Requires: no chunk was added yet. Returns: false when exhausted.
    [[nodiscard]] bool copy_vacant(const stable_chunks& other) noexcept;
    /// Requires: no slot is live, waiting or promised.
    void release() noexcept;
    void validate() const noexcept;

    //  index of a slot = chunk number << slots_log2 | slot;  object = objects + slot * object size
    plain_list<entry> table_;
    stable_rules rules_;
    allocator_ref upstream_;
    generations lives_;
    std::size_t worn_out_count_ = 0;
    /// Until the scope ends the upstream may be called: growth and shrinking stop meanwhile.
    [[nodiscard]] auto begin_memory_change() noexcept {
        return memory_mark_.begin(this, "stable_slot_map");
    }
    [[CAIRN_NO_UNIQUE_ADDRESS]] memory_mark memory_mark_;

private:
    [[nodiscard]] bool is_idle(std::size_t p) const noexcept;
    [[nodiscard]] bool may_go(std::size_t p) const noexcept;
    void remove_last() noexcept;
    void give_back_reserved(std::size_t had) noexcept;
    void free_chunk(entry chunk) noexcept;
    void return_objects(std::size_t p) noexcept;
    void free_objects(std::byte* objects) noexcept;
    [[nodiscard]] std::uint64_t& room_word(std::size_t group, std::uint32_t level,
                                           chunk_room room) const noexcept;

    std::size_t kept_count_ = 0;          // reserve(): the first so many stay when they run empty
    std::size_t spare_chunk_ = no_chunk;  // empty and kept
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
