// cairn/containers/stable_slot_map/free_slots.hpp - which slots objects take next, and which they
// have.
//
//      chunks:  +--------+--------+--------+
//               |        |        |        |      chunks.hpp
//               +--------+--------+--------+
//                   ^        ^
//                   |        freed_chunk_: where a slot became free last
//                   batch_chunk_: where the slots in the batch lie (free_slot_batch.hpp)
//
//      gather():   1. the lowest chunk with a batch of free slots    (chunks_by_room.hpp)
//                  2. the slot that became free last and is noted    (noted_slots.hpp)
//                  3. the chunk where a slot became free last, if it has one; else the lowest
//                  4. the lowest whose block went back: it gets one again
//                  5. a new chunk
//
// Invariant: a slot in the batch counts as live in its chunk's words, and no handle finds it.
// Cost:      taking a slot: loads and stores, no loop. gather(): step_count_max words at most,
//            whatever the number of chunks; once in 64 insertions or more while some chunk has a
//            batch, oftener when nearly all slots are taken.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/containers/stable_slot_map/chunks.hpp>
#include <cairn/containers/stable_slot_map/free_slot_batch.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/moved.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Live slots of one word, from one slot on.
struct live_word {
    std::size_t first;   // index of the word's first slot, or no_index
    std::uint64_t live;  // not 0, but for no_index
};

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax, class Steps>
class stable_free_slots : public stable_chunks<SlotsLog2, IndexMax, GenerationMax, Steps> {
    using base = stable_chunks<SlotsLog2, IndexMax, GenerationMax, Steps>;

protected:
    using base::chunk_count_;
    using base::note_room;

public:
    using base::base;
    using base::chunks, base::index_of, base::no_chunk, base::slot_mask;
    using typename base::chunk;
    using batch = free_slot_batch<chunk, Steps>;
    static constexpr std::size_t no_index = SIZE_MAX;
    /// Steps (step_counter.hpp) of taking one slot, with or without gathering, or of freeing one:
    /// three looks for a chunk, all that is noted, two changes of kind. Building a new chunk is on
    /// top.
    static constexpr std::uint64_t step_count_max = 1 + batch::gather_step_count_max +
                                                    3 * base::level_count + noted_slots::count_max +
                                                    2 * 2 * base::level_count;

    /// Live objects: counted in the batch when they begin, and when they end.
    [[nodiscard]] std::size_t size() const noexcept {
        return begun_count_ + batch_.taken_count() - ended_count_;
    }
    /// Grows when an object ends: what was seen alive before is alive while this is the same.
    [[nodiscard]] std::size_t ended_count() const noexcept { return ended_count_; }

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

    /// The objects of word `w`: what is marked live, less the slots in the batch.
    [[nodiscard]] std::uint64_t live_in(const chunk& state, std::uint32_t w) const noexcept {
        const std::uint64_t live = state.live[w];
        return &state == batch_chunk_ ? live & ~batch_.unused(w) : live;
    }
    /// The live slots at or after `index` in the first word that has one; no_index when there is
    /// none.
    [[nodiscard, gnu::noinline]] live_word next_live(std::size_t index) const noexcept {
        // Three levels, each asked once: the rest of this word, the words behind it by the chunk's
        // summary, the chunks behind that. A word that is marked used may hold nothing but slots of
        // the batch: then live_in() is 0, and the search goes on.
        std::size_t p = index >> SlotsLog2;
        if (p >= chunk_count_) { return {no_index, 0}; }
        const auto slot = static_cast<std::uint32_t>(index & slot_mask);
        const chunk* state = chunks()[p].state;
        std::uint32_t w = slot / 64;
        std::uint64_t live = live_in(*state, w) & (~std::uint64_t{0} << (slot & 63));
        while (live == 0) {
            // A shift by 64 is not defined: behind word 63 there is none.
            const std::uint64_t later = w == 63 ? 0 : state->used & (~std::uint64_t{0} << (w + 1));
            if (later != 0) {
                w = static_cast<std::uint32_t>(std::countr_zero(later));
            } else {
                do {
                    if (++p == chunk_count_) { return {no_index, 0}; }
                    state = chunks()[p].state;
                } while (state->used == 0);
                w = static_cast<std::uint32_t>(std::countr_zero(state->used));
            }
            live = live_in(*state, w);
        }
        return {(p << SlotsLog2) + w * 64, live};
    }

    void return_empty_chunks() noexcept {
        // The batch first: its slots count as live, and would keep their chunk.
        drop_batch();
        base::return_empty_chunks();
    }
    /// Requires: no slot is live, waiting or promised.
    void release() noexcept {
        // Into a chunk that still exists. Then no word is asked for the batch any more.
        drop_batch();
        batch_chunk_ = nullptr;
        begun_count_ = ended_count_ = 0;
        base::release_chunks();
    }
    void validate() const noexcept {
        base::validate();
        std::size_t live_count = 0;
        for (std::size_t p = 0; asserts_enabled && p < chunk_count_; ++p) {
            const chunk& state = *chunks()[p].state;
            for (std::uint32_t w = 0; w < chunk::word_count; ++w) {
                CAIRN_ASSERT(&state != batch_chunk_ || (batch_.unused(w) & ~state.live[w]) == 0,
                             "slots in the batch are marked");
                live_count += static_cast<std::size_t>(std::popcount(live_in(state, w)));
            }
            for (std::uint32_t slot = 0; slot < chunk::slot_count; ++slot) {
                CAIRN_ASSERT((((live_in(state, slot / 64) >> (slot & 63)) & 1) != 0) ==
                                 ((state.generation[slot] & chunk::vacant) == 0),
                             "exactly the live slots can be found");
            }
        }
        CAIRN_ASSERT(live_count == size(), "live objects are counted");
    }

private:
    /// Takes free slots into the batch. Returns: false when exhausted; nothing has changed then.
    [[nodiscard, gnu::noinline]] bool gather() noexcept {
        // size() = begun + taken from this batch - ended: the sum stays the same when the batch is
        // forgotten.
        begun_count_ += batch_.taken_count();
        batch_.forget();
        std::size_t p = base::chunk_with_batch();
        base::noted_from_ = p == no_chunk ? chunk_room::few : chunk_room::none;
        if (p == no_chunk) {
            if (const std::uint32_t index = base::take_noted(); index != noted_slots::no_slot) {
                batch_.hold(index & slot_mask);
                begin_batch(index >> SlotsLog2);
                return true;
            }
            p = base::chunk_with_few();
        }
        if (p == no_chunk) {
            if (!base::add_chunk()) { return false; }
            p = chunk_count_ - 1;
        } else if (!base::get_objects(p)) {
            return false;
        }
        chunk& state = *chunks()[p].state;
        // Its memory is there: what is gathered counts as live from now on, so the chunk is not
        // empty and cannot be sent back while the batch has slots of it.
        const bool has_slots = batch_.gather(state);
        CAIRN_ASSERT(has_slots, "a chunk that is said to have free slots has one");
        note_room(p);
        begin_batch(p);
        return has_slots;
    }
    void begin_batch(std::size_t p) noexcept {
        batch_chunk_ = chunks()[p].state;
        batch_objects_ = chunks()[p].objects;
        batch_index_ = index_of(p, 0);
    }
    /// The slots in the batch are found again like all others.
    void drop_batch() noexcept {
        begun_count_ += batch_.taken_count();
        if (batch_.empty()) {
            batch_.forget();
            return;
        }
        batch_.drop(*batch_chunk_);
        note_room(batch_index_ >> SlotsLog2);
    }

    //  size() = begun_count_ + batch_.taken_count() - ended_count_
    moved<chunk*> batch_chunk_;
    std::byte* batch_objects_ = nullptr;
    std::uint32_t batch_index_ = 0;  // of the chunk's first slot

protected:
    batch batch_;
    moved<std::size_t> begun_count_;  // objects that ever lived, less those from this batch
    moved<std::size_t> ended_count_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
