// cairn/containers/stable_slot_map/slots.hpp - the chunks of a stable_slot_map: what needs no T.
//
//      chunks:  +--------+--------+--------+
//               | state  | state  | state  |      chunk.hpp: words, generations; stays
//               | bytes  | bytes  |   -    |      the objects; goes back when empty
//               +--------+--------+--------+
//                   ^        ^
//                   |        freed_chunk_: where a slot became free last
//                   batch_chunk_: where the slots in the batch lie (free_slot_batch.hpp)
//
//      gather():   1. the lowest chunk with a batch of free slots    (chunks_by_room.hpp)
//                  2. the chunk where a slot became free last, if it has one; else the lowest
//                  3. the lowest whose block went back: it gets one again
//                  4. a new chunk
//
// Invariant: a slot in the batch counts as live in its chunk's words, and no handle finds it.
//            A chunk's room says what free_count and its memory say, and so does the index.
// Cost:      taking and freeing a slot: loads and stores of the chunk's words, no loop. gather():
//            step_count_max words at most, whatever the number of chunks; once in 64 insertions
//            or more while some chunk has a batch, oftener when nearly all slots are taken. Growth:
//            one chunk, nothing is copied but the table of chunks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/containers/stable_slot_map/chunk.hpp>
#include <cairn/containers/stable_slot_map/chunks_by_room.hpp>
#include <cairn/containers/stable_slot_map/free_slot_batch.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/moved.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// Live slots of one word, from one slot on.
struct live_word {
    std::size_t first;   // index of the word's first slot, or no_index
    std::uint64_t live;  // not 0, but for no_index
};

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax,
          class Steps = uncounted>
class stable_slots {
public:
    static constexpr std::size_t chunk_count_max =
        (std::size_t{IndexMax} + (std::size_t{1} << SlotsLog2)) >> SlotsLog2;
    static constexpr unsigned level_count = chunk_level_count(chunk_count_max);
    using chunk = stable_chunk<SlotsLog2, level_count>;
    using batch = free_slot_batch<chunk, Steps>;
    struct entry {
        chunk* state;
        std::byte* objects;  // nullptr while the chunk is empty and its block is with the upstream
    };
    using rooms = chunks_by_room<entry, level_count, Steps>;
    static constexpr unsigned slots_log2 = SlotsLog2;
    static constexpr std::uint32_t slot_mask = chunk::slot_count - 1;
    static constexpr std::size_t no_chunk = SIZE_MAX;
    static constexpr std::size_t no_index = SIZE_MAX;
    /// Steps (step_counter.hpp) of taking one slot, with or without gathering, or of freeing one:
    /// three looks for a chunk, two changes of kind. Building a new chunk is on top.
    static constexpr std::uint64_t step_count_max =
        1 + batch::gather_step_count_max + 3 * level_count + 2 * 2 * level_count;

    stable_slots(std::size_t object_size, alignment align, allocator_ref upstream,
                 std::uint32_t first_generation) noexcept
        : lives_{GenerationMax, first_generation},
          table_{alignment::of<entry>(), upstream},
          block_size_{object_size << SlotsLog2},
          align_{align} {}
    [[nodiscard]] entry* chunks() const noexcept { return reinterpret_cast<entry*>(table_.data()); }
    [[nodiscard]] std::size_t chunk_count() const noexcept { return chunk_count_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return table_.upstream(); }
    /// Live objects: counted in the batch when they begin, and when they end.
    [[nodiscard]] std::size_t size() const noexcept {
        return begun_count_ + batch_.taken_count() - ended_count_;
    }
    /// Grows when an object ends: what was seen alive before is alive while this is the same.
    [[nodiscard]] std::size_t ended_count() const noexcept { return ended_count_; }
    [[nodiscard]] std::size_t worn_out_count() const noexcept { return worn_out_count_; }

    [[nodiscard]] static std::uint32_t index_of(std::size_t p, std::uint32_t slot) noexcept {
        return static_cast<std::uint32_t>(p << SlotsLog2) | slot;
    }
    /// The generation word of slot `index`. Requires: there is such a slot.
    [[nodiscard]] std::uint32_t life(std::uint32_t index) const noexcept {
        return state_of(index).generation[index & slot_mask];
    }
    [[nodiscard]] bool is_promised(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index >> SlotsLog2 < chunk_count_ &&
               chunk::bit(state_of(index).promised, index & slot_mask) &&
               life(index) == (generation | chunk::vacant);
    }

    // ---- a slot begins and ends its life ------------------------------------------------------

    /// A slot to take: where it is, and the life that it would begin.
    struct place {
        chunk* state;
        std::byte* objects;
        std::uint32_t slot;
        std::uint32_t index;
        std::uint32_t generation;
    };
    /// True when there is one. False: exhausted, nothing has changed.
    [[nodiscard]] bool ready() noexcept { return !batch_.empty() || gather(); }
    /// Requires: ready().
    [[nodiscard]] place next() const noexcept {
        const std::uint32_t slot = batch_.peek();
        return {batch_chunk_, batch_objects_, slot, batch_index_ + slot,
                batch_chunk_->generation[slot] & ~chunk::vacant};
    }
    [[nodiscard]] std::uint32_t ahead() const noexcept { return batch_.peek_ahead(); }
    /// It is an object's from now on, and no handle finds it until its generation is written.
    void take(const place&) noexcept {
        Steps::touch();
        batch_.pop();
    }
    /// Its constructor threw: as if it had never been taken.
    void untake(const place& at) noexcept {
        ++ended_count_;
        const std::size_t p = at.index >> SlotsLog2;
        at.state->leave(at.slot);
        slot_is_free(p, *at.state, at.slot);
        if (at.state->used == 0) { chunk_is_empty(p); }
    }
    /// It is in use without an object. Requires: at == next().
    void promise(const place& at) noexcept {
        batch_.pop();
        ++ended_count_;  // the batch counts it
        at.state->leave(at.slot);
        chunk::set(at.state->blocked, at.slot);
        chunk::set(at.state->promised, at.slot);
        ++at.state->promised_count;
    }
    /// A promised slot gets its object.
    void fulfil(std::uint32_t index, std::uint32_t generation) noexcept {
        chunk& state = state_of(index);
        const std::uint32_t slot = index & slot_mask;
        chunk::reset(state.blocked, slot);
        chunk::reset(state.promised, slot);
        --state.promised_count;
        state.enter(slot);
        state.generation[slot] = generation;
        ++begun_count_;
    }

    /// The object of a slot is gone, and with it life `generation`.
    void leave(std::size_t p, chunk& state, std::uint32_t slot, std::uint32_t generation) noexcept {
        Steps::touch();
        ++ended_count_;
        const bool chunk_empty = state.leave(slot);
        const bool has_other_room = state.reopen(slot);
        freed_chunk_ = p;
        if (has_other_room | chunk_empty | (generation == lives_.last())) [[unlikely]] {
            leave_for_long(p, state, slot, generation);
        }
    }
    /// The object of a slot waits for its fence, and its life is over: out of sight, its chunk
    /// stays.
    void set_aside(std::uint32_t index, std::uint32_t generation) noexcept {
        chunk& state = state_of(index);
        const std::uint32_t slot = index & slot_mask;
        state.generation[slot] = next_life(generation);
        chunk::set(state.blocked, slot);
        state.leave(slot);
        ++state.waiting_count;
        ++ended_count_;
    }
    /// It waits no more, and its object is destroyed.
    void finish(std::uint32_t index) noexcept {
        const std::size_t p = index >> SlotsLog2;
        chunk& state = *chunks()[p].state;
        --state.waiting_count;
        unblock(p, state, index & slot_mask);
    }
    /// A promised slot is given up.
    void drop_promised(std::uint32_t index) noexcept {
        chunk& state = state_of(index);
        const std::uint32_t slot = index & slot_mask;
        chunk::reset(state.promised, slot);
        --state.promised_count;
        state.generation[slot] = next_life(state.generation[slot] & ~chunk::vacant);
        unblock(index >> SlotsLog2, state, slot);
    }
    void drop_all_promised() noexcept;
    /// A worn-out slot begins again.
    void recycle(std::uint32_t index) noexcept {
        chunk& state = state_of(index);
        state.generation[index & slot_mask] = chunk::vacant | lives_.first();
        chunk::reset(state.blocked, index & slot_mask);
        slot_is_free(index >> SlotsLog2, state, index & slot_mask);
        --worn_out_count_;
    }

    /// The generation word while life `generation` ends: vacant, and the life after it in the ring.
    [[nodiscard]] static constexpr std::uint32_t after(std::uint32_t generation) noexcept {
        return (generation == GenerationMax ? 1 : generation + 1) | chunk::vacant;
    }
    /// What a slot's generation word is after life `generation`: as above, and 0 when that was the
    /// last.
    [[nodiscard]] std::uint32_t next_life(std::uint32_t generation) const noexcept {
        return generation == lives_.last() ? chunk::vacant : after(generation);
    }
    /// Why (index, generation) finds nothing. Any arguments are allowed.
    [[nodiscard]] handle_fault fault_of(std::uint32_t index,
                                        std::uint32_t generation) const noexcept;
    /// Stops the program and names what is wrong with (index, generation), a handle of `map`.
    /// Requires: it finds nothing.
    [[noreturn, gnu::cold]] void refuse(std::uint32_t index, std::uint32_t generation,
                                        const void* map, call_site from) const;

    /// The objects of word `w`: what is marked live, less the slots in the batch.
    [[nodiscard]] std::uint64_t live_in(const chunk& state, std::uint32_t w) const noexcept {
        const std::uint64_t live = state.live[w];
        return &state == batch_chunk_ ? live & ~batch_.unused(w) : live;
    }
    /// The live slots at or after `index` in the first word that has one; no_index when there is
    /// none.
    [[nodiscard]] live_word next_live(std::size_t index) const noexcept;

    // ---- chunks come and go: cold -------------------------------------------------------------

    /// For a copy of the map: chunks as in `other`, where no object is found yet. enter_copy()
    /// follows for each of its objects, then finish() for each that waits. Requires: no chunk was
    /// added yet.
    /// Returns: false when exhausted; the chunks can only be released then.
    [[nodiscard]] bool copy_chunks(const stable_slots& other) noexcept;
    /// A slot whose object was just copied.
    void enter_copy(std::uint32_t index, std::uint32_t generation) noexcept {
        chunk& state = state_of(index);
        state.enter(index & slot_mask);
        state.generation[index & slot_mask] = generation;
        --state.free_count;
        note_room(index >> SlotsLog2);
        ++begun_count_;
    }
    [[nodiscard]] bool reserve_chunks(std::size_t count) noexcept;
    void return_empty_chunks() noexcept;
    /// Requires: no slot is live, waiting or promised.
    void release() noexcept;
    void validate() const noexcept;

private:
    [[nodiscard]] chunk& state_of(std::uint32_t index) const noexcept {
        return *chunks()[index >> SlotsLog2].state;
    }
    /// A blocked slot is free again, or worn out.
    void unblock(std::size_t p, chunk& state, std::uint32_t slot) noexcept {
        if (state.generation[slot] == chunk::vacant) {
            ++worn_out_count_;
        } else {
            chunk::reset(state.blocked, slot);
            slot_is_free(p, state, slot);
        }
        if (state.used == 0) { chunk_is_empty(p); }
    }
    void slot_is_free(std::size_t p, chunk& state, std::uint32_t slot) noexcept {
        freed_chunk_ = p;
        if (state.reopen(slot)) { note_room(p); }
    }

    /// What chunk `p` has to offer.
    [[nodiscard]] chunk_room room_of(std::size_t p) const noexcept {
        const std::uint32_t count = chunks()[p].state->free_count;
        if (chunks()[p].objects == nullptr) {
            return count != 0 ? chunk_room::away : chunk_room::none_away;
        }
        return count >= chunk::batch_room ? chunk_room::batch
               : count != 0               ? chunk_room::few
                                          : chunk_room::none;
    }
    /// The index learns what chunk `p` has to offer now.
    void note_room(std::size_t p) noexcept { set_room(p, room_of(p)); }
    void set_room(std::size_t p, chunk_room room) noexcept;
    [[nodiscard]] std::size_t chunk_to_gather_from() const noexcept;

    void leave_for_long(std::size_t p, chunk& state, std::uint32_t slot,
                        std::uint32_t generation) noexcept;
    [[nodiscard]] bool gather() noexcept;
    void drop_batch() noexcept;
    [[nodiscard]] bool add_chunk() noexcept;
    [[nodiscard]] bool get_objects(std::size_t p) noexcept;
    void give_back_reserved(std::size_t had) noexcept;
    void return_objects(std::size_t p) noexcept;
    void send_back(std::size_t p) noexcept;
    void chunk_is_empty(std::size_t p) noexcept;

    //  size() = begun_count_ + batch_.taken_count() - ended_count_
    //  index of a slot = chunk number << SlotsLog2 | slot;  object = objects + slot * object size
    generations lives_;
    moved<chunk*> batch_chunk_;
    std::byte* batch_objects_ = nullptr;
    std::uint32_t batch_index_ = 0;  // of the chunk's first slot
    batch batch_;
    growable_memory table_;  // entry of every chunk
    moved<std::size_t> chunk_count_;
    moved<std::size_t> freed_chunk_;  // where a slot became free last; may be none any more
    moved<std::size_t> begun_count_;  // objects that ever lived, less those from this batch
    moved<std::size_t> ended_count_;
    moved<std::size_t> kept_chunk_count_;       // reserve_chunks(): these stay when empty
    moved<std::size_t, no_chunk> spare_chunk_;  // empty and kept
    moved<std::size_t> worn_out_count_;
    std::size_t block_size_;  // bytes of a chunk's objects
    alignment align_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail

#include <cairn/containers/stable_slot_map/slots_cold.hpp>
