// cairn/containers/stable_slot_map/chunks.hpp - the chunks of a stable_slot_map: how they come and
// go.
//
//      table:   +--------+--------+--------+
//               | state  | state  | state  |      chunk.hpp: words, generations; stays
//               | bytes  | bytes  |   -    |      the objects; goes back when empty
//               +--------+--------+--------+
//
//      full chunk -> holes -> empty: kept as the spare, or its block goes back -> brought back when
//      needed
//
// One empty chunk is kept, the lowest, so that a map around a chunk boundary does not allocate and
// free at every second step.
//
// Invariant: a chunk's room says what free_count and its memory say, and so does the index; but a
//            chunk that the index takes for full may have free slots, each of which is noted
//            (noted_slots.hpp).
// Cost:      growth: one chunk, nothing is copied but the table of chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/containers/stable_slot_map/chunk.hpp>
#include <cairn/containers/stable_slot_map/chunks_by_room.hpp>
#include <cairn/containers/stable_slot_map/noted_slots.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/moved.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/generations.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <unsigned SlotsLog2, std::uint32_t IndexMax, std::uint32_t GenerationMax, class Steps>
class stable_chunks {
public:
    static constexpr std::size_t chunk_count_max =
        (std::size_t{IndexMax} + (std::size_t{1} << SlotsLog2)) >> SlotsLog2;
    static constexpr unsigned level_count = chunk_level_count(chunk_count_max);
    using chunk = stable_chunk<SlotsLog2, level_count>;
    using entry = chunk_entry<chunk>;
    using rooms = chunks_by_room<entry, level_count, Steps>;
    static constexpr unsigned slots_log2 = SlotsLog2;
    static constexpr std::uint32_t slot_mask = chunk::slot_count - 1;
    static constexpr std::size_t no_chunk = SIZE_MAX;

    stable_chunks(std::size_t object_size, alignment align, allocator_ref upstream,
                  std::uint32_t first_generation) noexcept
        : lives_{GenerationMax, first_generation},
          table_{alignment::of<entry>(), upstream},
          block_size_{object_size << SlotsLog2},
          align_{align} {}

    [[nodiscard]] entry* chunks() const noexcept { return reinterpret_cast<entry*>(table_.data()); }
    [[nodiscard]] std::size_t chunk_count() const noexcept { return chunk_count_; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return table_.upstream(); }
    [[nodiscard]] std::size_t worn_out_count() const noexcept { return worn_out_count_; }

    [[nodiscard]] static std::uint32_t index_of(std::size_t p, std::uint32_t slot) noexcept {
        return static_cast<std::uint32_t>(p << SlotsLog2) | slot;
    }
    /// The generation word of slot `index`. Requires: there is such a slot.
    [[nodiscard]] std::uint32_t life(std::uint32_t index) const noexcept {
        return state_of(index).generation[index & slot_mask];
    }

    /// The first `count` chunks have memory from now on, and keep it when they run empty.
    /// Returns: false when exhausted, or for too many; nothing has changed then.
    [[nodiscard]] bool reserve_chunks(std::size_t count) noexcept {
        if (count > chunk_count_max) { return false; }
        const std::size_t had = chunk_count_;
        std::size_t p = 0;
        // The index learns of blocks that came back only when all are there: until then
        // give_back_reserved() knows them by it.
        while (p < count && (p < chunk_count_ ? get_objects(p) : add_chunk())) { ++p; }
        if (p < count) {
            give_back_reserved(had);
            return false;
        }
        for (p = 0; p < had && p < count; ++p) { note_room(p); }
        kept_chunk_count_ = count > kept_chunk_count_ ? count : kept_chunk_count_;
        return true;
    }

    /// For a copy of the map: chunk by chunk what no object decides, generations (all vacant yet),
    /// blocked and promised slots. enter_copy() follows for each of its objects, then finish() for
    /// each that waits.
    /// Requires: no chunk was added yet.
    /// Returns: false when exhausted; the chunks can only be released then.
    [[nodiscard]] bool copy_chunks(const stable_chunks& other) noexcept {
        lives_.copy_from(other.lives_);
        for (std::size_t p = 0; p < other.chunk_count_; ++p) {
            if (!add_chunk()) { return false; }
            chunks()[p].state->copy_vacant(*other.chunks()[p].state);
            note_room(p);
            if (other.chunks()[p].objects == nullptr) { send_back(p); }
        }
        kept_chunk_count_ = other.kept_chunk_count_;
        spare_chunk_ = other.spare_chunk_;
        worn_out_count_ = other.worn_out_count_;
        return true;
    }

protected:
    [[nodiscard]] chunk& state_of(std::uint32_t index) const noexcept {
        return *chunks()[index >> SlotsLog2].state;
    }
    /// The index learns what chunk `p` has to offer now.
    void note_room(std::size_t p) noexcept { rooms::set_room(chunks(), p, chunks()[p].room()); }

    /// Slot `slot` of chunk `p`, which the index takes for full, is free: found by its note.
    void note_free(std::size_t p, std::uint32_t slot) noexcept {
        const std::uint32_t oldest = noted_.note(index_of(p, slot));
        if (oldest != noted_slots::no_slot) { note_room(oldest >> SlotsLog2); }
    }
    /// Takes the slot that was noted last and is still free: marked live, its chunk has memory.
    /// Returns: its index, or noted_slots::no_slot.
    [[nodiscard]] std::uint32_t take_noted() noexcept {
        for (;;) {
            const std::uint32_t index = noted_.take();
            if (index == noted_slots::no_slot) { return index; }
            Steps::touch();
            const std::size_t p = index >> SlotsLog2;
            chunk& state = *chunks()[p].state;
            // It may have been gathered since, and its chunk's block may have gone back.
            if (chunks()[p].objects == nullptr || !state.is_free(index & slot_mask)) { continue; }
            state.take_free(index & slot_mask);
            if (const std::uint32_t next = noted_.ahead(); next != noted_slots::no_slot) {
                const auto& soon = chunks()[next >> SlotsLog2];
                __builtin_prefetch(soon.objects + (next & slot_mask) * (block_size_ >> SlotsLog2),
                                   1);
            }
            if ((state.free_count == 0) & (state.room != chunk_room::none)) { note_room(p); }
            return index;
        }
    }

    /// The lowest chunk with a batch of free slots. no_chunk: there is none.
    [[nodiscard]] std::size_t chunk_with_batch() const noexcept {
        return chunk_count_ != 0 ? rooms::lowest(chunks(), chunk_room::batch) : no_chunk;
    }
    /// A chunk with fewer: with memory, if there is one. no_chunk: the index knows none. Where a
    /// slot became free last comes first: its words are in the cache.
    [[nodiscard]] std::size_t chunk_with_few() const noexcept {
        if (chunk_count_ == 0) { return no_chunk; }
        if (freed_chunk_ < chunk_count_ && chunks()[freed_chunk_].state->room == chunk_room::few) {
            return freed_chunk_;
        }
        const std::size_t p = rooms::lowest(chunks(), chunk_room::few);
        return p != no_chunk ? p : rooms::lowest(chunks(), chunk_room::away);
    }

    [[nodiscard, gnu::noinline]] bool add_chunk() noexcept {
        if (chunk_count_ == chunk_count_max) { return false; }
        const std::size_t used = chunk_count_ * sizeof(entry);
        if (used + sizeof(entry) > table_.size() &&
            grow_by_halves(
                chunk_count_, chunk_count_ + 1, grown_count(chunk_count_, chunk_count_ + 1),
                [&](std::size_t count) { return table_.grow(count * sizeof(entry), used); }) == 0) {
            return false;
        }
        // Room in the table, state, objects: in this order, and each refusal gives back what came
        // before, but for the table, which is only larger than it need be.
        void* const memory = upstream().allocate(sizeof(chunk), alignment::of<chunk>());
        if (memory == nullptr) { return false; }
        ::new (static_cast<void*>(chunks() + chunk_count_)) entry{nullptr, nullptr};
        if (!get_objects(chunk_count_)) {
            upstream().deallocate(memory, sizeof(chunk), alignment::of<chunk>());
            return false;
        }
        auto* const state = ::new (memory) chunk;
        lives_.begin();
        state->start(lives_.first());
        const std::uint64_t first = chunk_count_ << SlotsLog2;
        // The last chunk may have more slots than a handle has indices: these are blocked for ever.
        for (std::uint32_t slot = slot_mask; first + slot > IndexMax; --slot) {
            chunk::set(state->blocked, slot);
            if (slot == 0) { break; }
        }
        state->note_free();
        chunks()[chunk_count_].state = state;
        note_room(chunk_count_++);
        return true;
    }

    /// Chunk `p` has memory for its objects again, if it had none; the index does not know it yet.
    [[nodiscard]] bool get_objects(std::size_t p) noexcept {
        if (chunks()[p].objects != nullptr) { return true; }
        void* const objects = upstream().allocate(block_size_, align_);
        if (objects == nullptr) { return false; }
        poison(objects, block_size_);
        chunks()[p].objects = static_cast<std::byte*>(objects);
        return true;
    }

    [[gnu::noinline]] void chunk_is_empty(std::size_t p) noexcept {
        // At most one empty chunk beyond the reserved ones keeps its block: the lower one of this
        // and the spare, since slots are taken from the lowest. A spare that is in use again, or
        // whose block has gone, is none.
        if (p < kept_chunk_count_ || chunks()[p].state->keeps_memory()) { return; }
        std::size_t other = spare_chunk_;
        if (other == p) { return; }
        if (other != no_chunk && !chunks()[other].is_idle()) { other = no_chunk; }
        if (other == no_chunk) {
            spare_chunk_ = p;
            return;
        }
        spare_chunk_ = p < other ? p : other;
        send_back(p < other ? other : p);
    }

    /// Requires: no slot is in a batch.
    void return_empty_chunks() noexcept {
        kept_chunk_count_ = 0;
        spare_chunk_ = no_chunk;
        for (std::size_t p = 0; p < chunk_count_; ++p) {
            if (chunks()[p].is_idle()) { send_back(p); }
        }
    }

    /// Requires: no slot is live, waiting, promised or in a batch.
    void release_chunks() noexcept {
        for (std::size_t p = 0; p < chunk_count_; ++p) { free_chunk(p); }
        // The next chunks begin their lives elsewhere: handles of these find nothing in them.
        lives_.end();
        chunk_count_ = freed_chunk_ = kept_chunk_count_ = worn_out_count_ = 0;
        spare_chunk_ = no_chunk;
        noted_.forget();
        noted_from_ = chunk_room::none;
        table_.release();
    }

    void validate() const noexcept {
        for (std::size_t p = 0; asserts_enabled && p < chunk_count_; ++p) {
            const chunk& state = *chunks()[p].state;
            state.validate();
            CAIRN_ASSERT(chunks()[p].objects != nullptr || state.used == 0, "who lives has memory");
            CAIRN_ASSERT(state.room == chunks()[p].room() || all_noted(p),
                         "a chunk's room is what it has to offer");
            constexpr chunk_room listed[] = {chunk_room::batch, chunk_room::few, chunk_room::away};
            for (const chunk_room room : listed) {
                CAIRN_ASSERT(rooms::is(chunks(), p, room) == (room == state.room),
                             "the index knows what each chunk has to offer");
                rooms::validate(chunks(), p, room);
            }
        }
    }

private:
    /// True when the index takes chunk `p` for full, and each of its free slots is noted.
    [[nodiscard]] bool all_noted(std::size_t p) const noexcept {
        const chunk& state = *chunks()[p].state;
        for (std::uint32_t slot = 0; slot < chunk::slot_count; ++slot) {
            if (state.is_free(slot) && !noted_.has(index_of(p, slot))) { return false; }
        }
        return state.room == chunk_room::none && chunks()[p].objects != nullptr;
    }
    /// Undoes a reservation that failed, from when there were `had` chunks. Those of them that got
    /// memory for objects are away yet by what the index says.
    void give_back_reserved(std::size_t had) noexcept {
        for (std::size_t p = 0; p < had; ++p) {
            const chunk_room was = chunks()[p].state->room;
            if (chunks()[p].objects != nullptr &&
                (was == chunk_room::away || was == chunk_room::none_away)) {
                return_objects(p);
            }
        }
        for (; chunk_count_ > had; --chunk_count_) {
            // Out of the index before its state goes: from the end down, as chunks_by_room asks
            // for.
            rooms::set_room(chunks(), chunk_count_ - 1, chunk_room::none);
            free_chunk(chunk_count_ - 1);
        }
    }
    void free_chunk(std::size_t p) noexcept {
        if (chunks()[p].objects != nullptr) { return_objects(p); }
        upstream().deallocate(chunks()[p].state, sizeof(chunk), alignment::of<chunk>());
    }
    void send_back(std::size_t p) noexcept {
        return_objects(p);
        note_room(p);
    }
    void return_objects(std::size_t p) noexcept {
        unpoison(chunks()[p].objects, block_size_);
        upstream().deallocate(chunks()[p].objects, block_size_, align_);
        chunks()[p].objects = nullptr;
    }

protected:
    //  index of a slot = chunk number << SlotsLog2 | slot;  object = objects + slot * object size
    generations lives_;
    growable_memory table_;  // entry of every chunk
    moved<std::size_t> chunk_count_;
    moved<std::size_t> freed_chunk_;  // where a slot became free last; may be none any more
    moved<std::size_t> worn_out_count_;
    noted_slots noted_;
    /// Slots that become free in chunks of this kind or behind it are noted: `none`; `few` when no
    /// chunk had a batch of free slots at the last look.
    moved<chunk_room, chunk_room::none> noted_from_;

private:
    moved<std::size_t> kept_chunk_count_;       // reserve_chunks(): these stay when empty
    moved<std::size_t, no_chunk> spare_chunk_;  // empty and kept
    std::size_t block_size_;                    // bytes of a chunk's objects
    alignment align_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
