// cairn/containers/stable_slot_map/slots.hpp - the lives of the slots: what needs no T.
//
//      free --> at hand --> taken --> live --> free, in its next life
//                  |                   |
//                  +--> promised       +--> waits for its fence --> free
//                                      +--> worn out: all lives used up
//
//      live      generation[slot] is the handle's          (chunk.hpp)
//      blocked   promised, waiting or worn out: no object is found, and none may begin
//
// Cost: beginning and ending a life: loads and stores of the chunk's words, no loop.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/containers/stable_slot_map/free_slots.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax,
          class Steps = uncounted>
class stable_slots : public stable_free_slots<SlotsLog2, IndexMax, GenerationMax, Steps> {
    using base = stable_free_slots<SlotsLog2, IndexMax, GenerationMax, Steps>;
    using base::batch_, base::begun_count_, base::ended_count_;
    using base::chunk_count_, base::freed_chunk_, base::lives_, base::worn_out_count_;
    using base::chunk_is_empty, base::note_room, base::state_of;

public:
    using base::base;
    using base::chunks, base::index_of, base::life, base::slot_mask;
    using typename base::chunk, typename base::place;

    [[nodiscard]] bool is_promised(std::uint32_t index, std::uint32_t generation) const noexcept {
        return index >> SlotsLog2 < chunk_count_ &&
               chunk::bit(state_of(index).promised, index & slot_mask) &&
               life(index) == (generation | chunk::vacant);
    }

    // ---- a slot begins and ends its life ------------------------------------------------------

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
        const bool is_news = state.reopen(slot, base::noted_from_);
        freed_chunk_ = p;
        if (is_news | chunk_empty | (generation == lives_.last())) [[unlikely]] {
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
    void drop_all_promised() noexcept {
        for (std::size_t p = 0; p < chunk_count_; ++p) {
            for (std::uint32_t w = 0; w < chunk::word_count; ++w) {
                for (std::uint64_t promised = chunks()[p].state->promised[w]; promised != 0;
                     promised &= promised - 1) {
                    drop_promised(index_of(
                        p, w * 64 + static_cast<std::uint32_t>(std::countr_zero(promised))));
                }
            }
        }
    }
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
                                        std::uint32_t generation) const noexcept {
        if (index == 0 && generation == 0) { return handle_fault::null; }
        if (index >> SlotsLog2 >= chunk_count_) { return handle_fault::foreign; }
        return lives_.judge(generation, life(index),
                            chunk::bit(state_of(index).promised, index & slot_mask));
    }
    /// Stops the program and names what is wrong with (index, generation), a handle of `map`.
    /// Requires: it finds nothing.
    [[noreturn, gnu::cold]] void refuse(std::uint32_t index, std::uint32_t generation,
                                        const void* map, call_site from) const {
        // The slot may be beyond all chunks: then no life of it is known.
        const std::uint32_t word = index >> SlotsLog2 < chunk_count_ ? life(index) : 0;
        refuse_handle({fault_of(index, generation), map, "stable_slot_map", index,
                       static_cast<std::uint32_t>(chunk_count_ << SlotsLog2), word & ~chunk::vacant,
                       generation},
                      from);
    }

    /// A slot whose object was just copied, after copy_chunks().
    void enter_copy(std::uint32_t index, std::uint32_t generation) noexcept {
        chunk& state = state_of(index);
        state.enter(index & slot_mask);
        state.generation[index & slot_mask] = generation;
        --state.free_count;
        note_room(index >> SlotsLog2);
        ++begun_count_;
    }

private:
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
        // What is noted of it is found by both.
        if (state.reopen(slot, chunk_room::none)) { note_room(p); }
    }

    /// What becomes free in this chunk is noted, or it has a batch of free slots now, or is empty;
    /// or all lives of the slot are used up: it is not free then, but set aside.
    [[gnu::noinline]] void leave_for_long(std::size_t p, chunk& state, std::uint32_t slot,
                                          std::uint32_t generation) noexcept {
        if (generation == lives_.last()) {
            // reopen() has just counted it as free, and marked its word as open: the count is taken
            // back, the word is found without a free slot at the next gathering.
            state.generation[slot] = chunk::vacant;
            --state.free_count;
            chunk::set(state.blocked, slot);
            ++worn_out_count_;
        } else if ((state.room >= base::noted_from_) & (state.used != 0)) {
            base::note_free(p, slot);
            const bool is_known = state.room != chunk_room::none;
            if (is_known ? state.free_count != chunk::batch_room
                         : state.free_count <= chunk::noted_room) {
                return;
            }
        }
        note_room(p);
        if (state.used == 0) { chunk_is_empty(p); }
    }
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
