// cairn/containers/stable_slot_map/slots_cold.hpp - stable_slots: chunks come and go. Included by
// slots.hpp.
//
//      full chunk -> holes -> empty: kept as the spare, or its block goes back -> brought back when
//      needed
//
// One empty chunk is kept, the lowest, so that a map around a chunk boundary does not allocate and
// free at every second step.
#pragma once

#include <cairn/containers/stable_slot_map/slots.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] live_word stable_slots<L, I, G, Steps>::next_live(
    std::size_t index) const noexcept {
    // Three levels, each asked once: the rest of this word, the words behind it by the chunk's
    // summary, the chunks behind that. A word that is marked used may hold nothing but slots of the
    // batch: then live_in() is 0, and the search goes on.
    std::size_t p = index >> L;
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
    return {(p << L) + w * 64, live};
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
handle_fault stable_slots<L, I, G, Steps>::fault_of(std::uint32_t index,
                                                    std::uint32_t generation) const noexcept {
    if (index == 0 && generation == 0) { return handle_fault::null; }
    if (index >> L >= chunk_count_) { return handle_fault::foreign; }
    return lives_.judge(generation, life(index),
                        chunk::bit(state_of(index).promised, index & slot_mask));
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::refuse(std::uint32_t index, std::uint32_t generation,
                                          const void* map, call_site from) const {
    // The slot may be beyond all chunks: then no life of it is known.
    const std::uint32_t word = index >> L < chunk_count_ ? life(index) : 0;
    refuse_handle(
        {fault_of(index, generation), map, "stable_slot_map", index,
         static_cast<std::uint32_t>(chunk_count_ << L), word & ~chunk::vacant, generation},
        from);
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::drop_all_promised() noexcept {
    for (std::size_t p = 0; p < chunk_count_; ++p) {
        for (std::uint32_t w = 0; w < chunk::word_count; ++w) {
            for (std::uint64_t promised = chunks()[p].state->promised[w]; promised != 0;
                 promised &= promised - 1) {
                drop_promised(
                    index_of(p, w * 64 + static_cast<std::uint32_t>(std::countr_zero(promised))));
            }
        }
    }
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] void stable_slots<L, I, G, Steps>::set_room(std::size_t p,
                                                              chunk_room room) noexcept {
    chunk& state = *chunks()[p].state;
    // A chunk is in the index under the kind that its state names, so both change together.
    if (room == state.room) { return; }
    // Kinds from `none` on are not in the index: a chunk without a free slot is not looked for.
    if (state.room < chunk_room::none) { rooms::remove(chunks(), p, state.room); }
    if (room < chunk_room::none) { rooms::enter(chunks(), p, room); }
    state.room = room;
}

/// The chunk has another kind of room, or is empty, or the slot's generations are used up: it is
/// not free then, but set aside.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] void stable_slots<L, I, G, Steps>::leave_for_long(
    std::size_t p, chunk& state, std::uint32_t slot, std::uint32_t generation) noexcept {
    if (generation == lives_.last()) {
        // reopen() has just counted it as free, and marked its word as open: the count is taken
        // back, the word is found without a free slot at the next gathering.
        state.generation[slot] = chunk::vacant;
        --state.free_count;
        chunk::set(state.blocked, slot);
        ++worn_out_count_;
    }
    note_room(p);
    if (state.used == 0) { chunk_is_empty(p); }
}

/// The chunk that the next batch comes from: with memory, if there is one. no_chunk: no chunk has a
/// free slot. A chunk with few is visited where a slot became free last, because its words are in
/// the cache then, and because going to the lowest would find one slot each time.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
std::size_t stable_slots<L, I, G, Steps>::chunk_to_gather_from() const noexcept {
    if (chunk_count_ == 0) { return no_chunk; }
    std::size_t p = rooms::lowest(chunks(), chunk_room::batch);
    if (p != no_chunk) { return p; }
    if (freed_chunk_ < chunk_count_ && chunks()[freed_chunk_].state->room == chunk_room::few) {
        return freed_chunk_;
    }
    p = rooms::lowest(chunks(), chunk_room::few);
    return p != no_chunk ? p : rooms::lowest(chunks(), chunk_room::away);
}

/// Takes free slots into the batch. Returns: false when exhausted; nothing has changed then.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] bool stable_slots<L, I, G, Steps>::gather() noexcept {
    // size() = begun + taken from this batch - ended: the sum stays the same when the batch is
    // forgotten.
    begun_count_ += batch_.taken_count();
    batch_.forget();
    std::size_t p = chunk_to_gather_from();
    if (p == no_chunk) {
        if (!add_chunk()) { return false; }
        p = chunk_count_ - 1;
    } else if (!get_objects(p)) {
        return false;
    }
    chunk& state = *chunks()[p].state;
    // Its memory is there: what is gathered counts as live from now on, so the chunk is not empty
    // and cannot be sent back while the batch has slots of it.
    const bool has_slots = batch_.gather(state);
    CAIRN_ASSERT(has_slots, "a chunk that is said to have free slots has one");
    note_room(p);
    batch_chunk_ = &state;
    batch_objects_ = chunks()[p].objects;
    batch_index_ = index_of(p, 0);
    return has_slots;
}

/// The slots in the batch are found again like all others.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::drop_batch() noexcept {
    begun_count_ += batch_.taken_count();
    if (batch_.empty()) {
        batch_.forget();
        return;
    }
    batch_.drop(*batch_chunk_);
    note_room(batch_index_ >> L);
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] bool stable_slots<L, I, G, Steps>::add_chunk() noexcept {
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
    void* const objects = upstream().allocate(block_size_, align_);
    if (objects == nullptr) {
        upstream().deallocate(memory, sizeof(chunk), alignment::of<chunk>());
        return false;
    }
    poison(objects, block_size_);
    auto* const state = ::new (memory) chunk;
    lives_.begin();
    state->start(lives_.first());
    const std::uint64_t first = chunk_count_ << L;
    // The last chunk may have more slots than a handle has indices: these are blocked for ever.
    for (std::uint32_t slot = slot_mask; first + slot > I; --slot) {  // more slots than indices
        chunk::set(state->blocked, slot);
        if (slot == 0) { break; }
    }
    state->open = state->count_open();
    state->free_count = state->count_free();
    ::new (static_cast<void*>(chunks() + chunk_count_))
        entry{state, static_cast<std::byte*>(objects)};
    note_room(chunk_count_++);
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
bool stable_slots<L, I, G, Steps>::copy_chunks(const stable_slots& other) noexcept {
    lives_.copy_from(other.lives_);
    // Chunk by chunk what no object decides: generations (all vacant yet), blocked and promised
    // slots. enter_copy() brings the objects in, one at a time, so that one that throws leaves a
    // map whose chunks can be released.
    for (std::size_t p = 0; p < other.chunk_count_; ++p) {
        if (!add_chunk()) { return false; }
        const chunk& from = *other.chunks()[p].state;
        chunk& to = *chunks()[p].state;
        for (std::uint32_t slot = 0; slot < chunk::slot_count; ++slot) {
            to.generation[slot] = from.generation[slot] | chunk::vacant;
        }
        for (std::uint32_t w = 0; w < chunk::word_count; ++w) {
            to.blocked[w] = from.blocked[w];
            to.promised[w] = from.promised[w];
        }
        to.promised_count = from.promised_count;
        to.waiting_count = from.waiting_count;
        // Free is what is neither live nor blocked: nothing is live yet.
        to.open = to.count_open();
        to.free_count = to.count_free();
        note_room(p);
        if (other.chunks()[p].objects == nullptr) { send_back(p); }
    }
    kept_chunk_count_ = other.kept_chunk_count_;
    spare_chunk_ = other.spare_chunk_;
    worn_out_count_ = other.worn_out_count_;
    return true;
}

/// Chunk `p` has memory for its objects again, if it had none; the index does not know it yet.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
bool stable_slots<L, I, G, Steps>::get_objects(std::size_t p) noexcept {
    if (chunks()[p].objects != nullptr) { return true; }
    void* const objects = upstream().allocate(block_size_, align_);
    if (objects == nullptr) { return false; }
    poison(objects, block_size_);
    chunks()[p].objects = static_cast<std::byte*>(objects);
    return true;
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::return_objects(std::size_t p) noexcept {
    unpoison(chunks()[p].objects, block_size_);
    upstream().deallocate(chunks()[p].objects, block_size_, align_);
    chunks()[p].objects = nullptr;
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::send_back(std::size_t p) noexcept {
    return_objects(p);
    note_room(p);
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
[[gnu::noinline]] void stable_slots<L, I, G, Steps>::chunk_is_empty(std::size_t p) noexcept {
    // At most one empty chunk beyond the reserved ones keeps its block: the lower one of this and
    // the spare, since slots are taken from the lowest. A spare that is in use again, or whose
    // block has gone, is none.
    if (p < kept_chunk_count_ || chunks()[p].state->keeps_memory()) { return; }
    std::size_t other = spare_chunk_;
    if (other == p) { return; }
    if (other != no_chunk &&
        (chunks()[other].objects == nullptr || chunks()[other].state->used != 0 ||
         chunks()[other].state->keeps_memory())) {
        other = no_chunk;
    }
    if (other == no_chunk) {
        spare_chunk_ = p;
        return;
    }
    spare_chunk_ = p < other ? p : other;
    send_back(p < other ? other : p);
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
bool stable_slots<L, I, G, Steps>::reserve_chunks(std::size_t count) noexcept {
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

/// Undoes a reservation that failed, from when there were `had` chunks. Those of them that got
/// memory for objects are away yet by what the index says.
template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::give_back_reserved(std::size_t had) noexcept {
    for (std::size_t p = 0; p < had; ++p) {
        const chunk_room was = chunks()[p].state->room;
        if (chunks()[p].objects != nullptr &&
            (was == chunk_room::away || was == chunk_room::none_away)) {
            return_objects(p);
        }
    }
    for (; chunk_count_ > had; --chunk_count_) {
        chunk* const state = chunks()[chunk_count_ - 1].state;
        // Out of the index before its state goes: from the end down, as chunks_by_room asks for.
        set_room(chunk_count_ - 1, chunk_room::none);
        return_objects(chunk_count_ - 1);
        upstream().deallocate(state, sizeof(chunk), alignment::of<chunk>());
    }
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::return_empty_chunks() noexcept {
    // The batch first: its slots count as live, and would keep their chunk.
    drop_batch();
    kept_chunk_count_ = 0;
    spare_chunk_ = no_chunk;
    for (std::size_t p = 0; p < chunk_count_; ++p) {
        const chunk& state = *chunks()[p].state;
        if (chunks()[p].objects != nullptr && state.used == 0 && !state.keeps_memory()) {
            send_back(p);
        }
    }
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::release() noexcept {
    // Into a chunk that still exists. Then no word is asked for the batch any more.
    drop_batch();
    batch_chunk_ = nullptr;
    for (std::size_t p = 0; p < chunk_count_; ++p) {
        if (chunks()[p].objects != nullptr) { return_objects(p); }
        upstream().deallocate(chunks()[p].state, sizeof(chunk), alignment::of<chunk>());
    }
    // The next chunks begin their lives elsewhere: handles of these find nothing in them.
    lives_.end();
    chunk_count_ = freed_chunk_ = begun_count_ = ended_count_ = 0;
    kept_chunk_count_ = worn_out_count_ = 0;
    spare_chunk_ = no_chunk;
    table_.release();
}

template <unsigned L, std::uint32_t I, std::uint32_t G, class Steps>
void stable_slots<L, I, G, Steps>::validate() const noexcept {
#if CAIRN_ASSERTS
    std::size_t live_count = 0;
    for (std::size_t p = 0; p < chunk_count_; ++p) {
        const chunk& state = *chunks()[p].state;
        CAIRN_ASSERT(chunks()[p].objects != nullptr || state.used == 0, "who lives has memory");
        for (std::uint32_t w = 0; w < chunk::word_count; ++w) {
            CAIRN_ASSERT((state.live[w] & state.blocked[w]) == 0, "alive or blocked, not both");
            CAIRN_ASSERT((state.promised[w] & ~state.blocked[w]) == 0,
                         "promised slots are blocked");
            CAIRN_ASSERT((state.live[w] != 0) == (((state.used >> w) & 1) != 0),
                         "the summary knows the words with live slots");
            CAIRN_ASSERT(&state != batch_chunk_ || (batch_.unused(w) & ~state.live[w]) == 0,
                         "slots in the batch are marked");
            CAIRN_ASSERT(state.free(w) == 0 || ((state.open >> w) & 1) != 0,
                         "the summary knows the words with free slots");
            live_count += static_cast<std::size_t>(std::popcount(live_in(state, w)));
        }
        CAIRN_ASSERT(state.free_count == state.count_free(), "free slots are counted");
        CAIRN_ASSERT(state.room == room_of(p), "a chunk's room is what it has to offer");
        constexpr chunk_room listed[] = {chunk_room::batch, chunk_room::few, chunk_room::away};
        for (const chunk_room room : listed) {
            CAIRN_ASSERT(rooms::is(chunks(), p, room) == (room == state.room),
                         "the index knows what each chunk has to offer");
            rooms::validate(chunks(), p, room);
        }
        for (std::uint32_t slot = 0; slot < chunk::slot_count; ++slot) {
            CAIRN_ASSERT((((live_in(state, slot / 64) >> (slot & 63)) & 1) != 0) ==
                             ((state.generation[slot] & chunk::vacant) == 0),
                         "exactly the live slots can be found");
        }
    }
    CAIRN_ASSERT(live_count == size(), "live objects are counted");
#endif
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
