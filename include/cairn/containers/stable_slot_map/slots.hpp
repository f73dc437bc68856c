// cairn/containers/stable_slot_map/slots.hpp - the chunks of a stable_slot_map: what needs no T.
//
//      chunks:  +--------+--------+--------+
//               | state  | state  | state  |      chunk.hpp: words, generations; stays
//               | bytes  | bytes  |   -    |      the objects; goes back when empty
//               +--------+--------+--------+
//                   ^        ^
//                   |        open_chunk_: no chunk below has a free slot that is not in the batch
//                   batch_chunk_: where the slots in the batch lie (free_slot_batch.hpp)
//
// Invariant: a slot in the batch counts as live in its chunk's words, and no handle finds it.
// Cost:      taking and freeing a slot: loads and stores of the chunk's words, no loop. gather(),
//            once in 64 insertions or more: the words it needs. Growth: one chunk, nothing is
//            copied but the table of chunks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <cairn/containers/stable_slot_map/chunk.hpp>
#include <cairn/containers/stable_slot_map/free_slot_batch.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// A pointer that the compiler keeps in a register as it is. gcc would rather take base + first *
/// 64 + bit apart again, and add the middle at each bit.
template <class T>
[[nodiscard]] inline T* as_it_is(T* p) noexcept {
#if defined(__GNUC__)
    __asm__("" : "+r"(p));
#endif
    return p;
}

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax>
class stable_slots {
public:
    using chunk = stable_chunk<SlotsLog2>;
    struct entry {
        chunk* state;
        std::byte* objects;  // nullptr while the chunk is empty and its block is with the upstream
    };
    static constexpr unsigned slots_log2 = SlotsLog2;
    static constexpr std::uint32_t slot_mask = chunk::slot_count - 1;
    static constexpr std::size_t no_chunk = SIZE_MAX;
    static constexpr std::size_t no_index = SIZE_MAX;
    static constexpr std::size_t chunk_count_max =
        (std::size_t{IndexMax} + 1 + slot_mask) >> SlotsLog2;

    stable_slots(std::size_t object_size, alignment align, allocator_ref upstream,
                 std::uint32_t first_generation) noexcept
        : lives_{GenerationMax, first_generation},
          table_{alignment::of<entry>(), upstream},
          block_size_{object_size << SlotsLog2},
          align_{align} {}
    stable_slots(stable_slots&& other) noexcept
        : lives_{std::move(other.lives_)},
          table_{std::move(other.table_)},
          block_size_{other.block_size_},
          align_{other.align_} {
        take_state(other);
    }
    /// Requires: release() was called.
    stable_slots& operator=(stable_slots&& other) noexcept {
        lives_ = std::move(other.lives_);
        table_ = std::move(other.table_);
        take_state(other);
        return *this;
    }

    [[nodiscard]] entry* chunks() const noexcept { return reinterpret_cast<entry*>(table_.data()); }
    [[nodiscard]] std::size_t chunk_count() const noexcept { return chunk_count_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return table_.upstream(); }
    /// Live objects: counted when they end, and in the batch when they begin.
    [[nodiscard]] std::size_t size() const noexcept { return size_ + batch_.taken_count(); }
    [[nodiscard]] std::size_t worn_out_count() const noexcept { return worn_out_count_; }

    [[nodiscard]] static std::uint32_t index_of(std::size_t p, std::uint32_t slot) noexcept {
        return static_cast<std::uint32_t>(p << SlotsLog2) | slot;
    }

    // ---- a slot begins and ends its life
    // ---------------------------------------------------------

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
    void take(const place&) noexcept { batch_.pop(); }
    /// Its constructor threw: as if it had never been taken.
    void untake(const place& at) noexcept {
        --size_;
        const std::size_t p = at.index >> SlotsLog2;
        at.state->leave(at.slot);
        slot_is_free(p, *at.state, at.slot);
        if (at.state->used == 0) { chunk_is_empty(p); }
    }
    /// It is in use without an object. Requires: at == next().
    void promise(const place& at) noexcept {
        batch_.pop();
        --size_;  // the batch counts it
        at.state->leave(at.slot);
        chunk::set(at.state->blocked, at.slot);
        chunk::set(at.state->promised, at.slot);
        ++at.state->promised_count;
    }
    /// A promised slot gets its object.
    void fulfil(chunk& state, std::uint32_t slot, std::uint32_t generation) noexcept {
        chunk::reset(state.blocked, slot);
        chunk::reset(state.promised, slot);
        --state.promised_count;
        state.enter(slot);
        state.generation[slot] = generation;
        ++size_;
    }

    /// The object of a slot is gone, and with it life `generation`.
    void leave(std::size_t p, chunk& state, std::uint32_t slot, std::uint32_t generation) noexcept {
        --size_;
        const bool chunk_empty = state.leave(slot);
        state.reopen(slot);
        if (p < open_chunk_) [[unlikely]] { open_chunk_ = p; }
        if (chunk_empty || generation == lives_.last()) [[unlikely]] {
            leave_for_long(p, state, slot, generation);
        }
    }
    /// The object of a slot waits for its fence: out of sight, its chunk stays.
    void set_aside(chunk& state, std::uint32_t slot) noexcept {
        chunk::set(state.blocked, slot);
        state.leave(slot);
        ++state.waiting_count;
        --size_;
    }
    /// It waits no more, and its object is destroyed.
    void finish(std::size_t p, std::uint32_t slot) noexcept {
        chunk& state = *chunks()[p].state;
        --state.waiting_count;
        if (state.generation[slot] == chunk::vacant) {
            ++worn_out_count_;
        } else {
            chunk::reset(state.blocked, slot);
            slot_is_free(p, state, slot);
        }
        if (state.used == 0) { chunk_is_empty(p); }
    }
    /// A promised slot is given up.
    void drop_promised(std::size_t p, std::uint32_t slot) noexcept {
        chunk& state = *chunks()[p].state;
        chunk::reset(state.promised, slot);
        --state.promised_count;
        chunk::reset(state.blocked, slot);
        const std::uint32_t generation = state.generation[slot] & ~chunk::vacant;
        state.generation[slot] = next_life(generation);
        if (generation == lives_.last()) [[unlikely]] {
            wear_out(state, slot);
        } else {
            slot_is_free(p, state, slot);
        }
        if (state.used == 0) { chunk_is_empty(p); }
    }
    void drop_all_promised() noexcept;
    /// A worn-out slot begins again.
    void recycle(std::size_t p, std::uint32_t slot) noexcept {
        chunk& state = *chunks()[p].state;
        state.generation[slot] = chunk::vacant | lives_.first();
        chunk::reset(state.blocked, slot);
        slot_is_free(p, state, slot);
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
    /// First live slot at or after `index`, else no_index.
    [[nodiscard]] std::size_t next_live(std::size_t index) const noexcept;

    // ---- chunks come and go: cold
    // ------------------------------------------------------------------

    /// For a copy of the map: chunks as in `other`, where no object is found yet. enter_copy()
    /// follows for each of its objects, then finish() for each that waits. Requires: no chunk was
    /// added yet.
    /// Returns: false when exhausted; the chunks can only be released then.
    [[nodiscard]] bool copy_chunks(const stable_slots& other) noexcept;
    /// A slot whose object was just copied.
    void enter_copy(std::size_t p, std::uint32_t slot, std::uint32_t generation) noexcept {
        chunk& state = *chunks()[p].state;
        state.enter(slot);
        state.generation[slot] = generation;
        ++size_;
    }
    [[nodiscard]] bool reserve_chunks(std::size_t count) noexcept;
    void return_empty_chunks() noexcept;
    /// Requires: no slot is live, waiting or promised.
    void release() noexcept;
    void validate() const noexcept;

private:
    void wear_out(chunk& state, std::uint32_t slot) noexcept {
        chunk::set(state.blocked, slot);
        ++worn_out_count_;
    }
    void slot_is_free(std::size_t p, chunk& state, std::uint32_t slot) noexcept {
        state.reopen(slot);
        if (p < open_chunk_) [[unlikely]] { open_chunk_ = p; }
    }

    void leave_for_long(std::size_t p, chunk& state, std::uint32_t slot,
                        std::uint32_t generation) noexcept;
    [[nodiscard]] bool gather() noexcept;
    void drop_batch() noexcept;
    [[nodiscard]] bool add_chunk() noexcept;
    [[nodiscard]] bool get_objects(std::size_t p) noexcept;
    [[nodiscard]] bool bring_back(std::size_t p) noexcept;
    void give_back_reserved(std::size_t had) noexcept;
    void send_back(std::size_t p) noexcept;
    void chunk_is_empty(std::size_t p) noexcept;

    void take_state(stable_slots& other) noexcept {
        batch_ = other.batch_;
        other.batch_.forget();
        batch_chunk_ = std::exchange(other.batch_chunk_, nullptr);
        batch_objects_ = other.batch_objects_;
        batch_index_ = other.batch_index_;
        chunk_count_ = std::exchange(other.chunk_count_, 0);
        open_chunk_ = std::exchange(other.open_chunk_, 0);
        size_ = std::exchange(other.size_, 0);
        kept_chunk_count_ = std::exchange(other.kept_chunk_count_, 0);
        spare_chunk_ = std::exchange(other.spare_chunk_, no_chunk);
        worn_out_count_ = std::exchange(other.worn_out_count_, 0);
    }

    generations lives_;
    chunk* batch_chunk_ = nullptr;
    std::byte* batch_objects_ = nullptr;
    std::uint32_t batch_index_ = 0;  // of the chunk's first slot
    free_slot_batch<chunk> batch_;
    growable_memory table_;  // entry of every chunk
    std::size_t chunk_count_ = 0;
    std::size_t open_chunk_ = 0;
    std::size_t size_ = 0;                // live objects less those taken from the batch
    std::size_t kept_chunk_count_ = 0;    // reserve_chunks(): these stay when empty
    std::size_t spare_chunk_ = no_chunk;  // empty and kept
    std::size_t worn_out_count_ = 0;
    std::size_t block_size_;
    alignment align_;
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail

#include <cairn/containers/stable_slot_map/slots_cold.hpp>
