// Cold half of cairn/containers/stable_slot_map/slots.hpp: gathering, and rare ends of lives.
// Compiled once for all maps: it reads the numbers of an element and its handle from the map.
#include <cairn/containers/stable_slot_map/slots.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include <cairn/storage/inside/refuse_handle.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

constexpr std::uint64_t slot_bit(std::uint32_t n) noexcept { return std::uint64_t{1} << (n & 63); }

/// Writes the indices of the bits of a word whose first slot is `first`; up to five of any value
/// behind them.
void append(std::uint32_t* to, std::uint64_t bits, std::uint32_t first) noexcept {
    constexpr std::uint64_t top = std::uint64_t{1} << 63;
    if (bits == ~std::uint64_t{0}) {
        for (std::uint32_t i = 0; i < 64; ++i) { to[i] = first + i; }
        return;
    }
    do {
        CAIRN_DETAIL_STEP();
        for (int i = 0; i < 6; ++i) {
            // The top bit is there for the compiler: a word that could be 0 here makes gcc leave
            // by a branch at each of the six.
            to[i] = first + static_cast<std::uint32_t>(std::countr_zero(bits | top));
            bits &= bits - 1;
        }
        to += 6;
    } while (bits != 0);
}

}  // namespace

stable_slots::stable_slots(stable_slots&& other) noexcept
    : stable_chunks{static_cast<stable_chunks&&>(other)},
      top_{std::exchange(other.top_, 0)},
      end_{std::exchange(other.end_, 0)},
      front_end_{std::exchange(other.front_end_, 0)},
      freed_index_{std::exchange(other.freed_index_, 0)},
      begun_count_{std::exchange(other.begun_count_, 0)},
      ended_count_{std::exchange(other.ended_count_, 0)},
      waiting_{std::exchange(other.waiting_, {})} {
    std::copy(other.ready_ + top_, other.ready_ + end_, ready_ + top_);
}

// ------- the stack of ready slots

// Chunk `p` has memory for objects; for no_chunk, a new one, whose number `p` becomes.
// Returns: false when exhausted; nothing has changed then.
bool stable_slots::get_memory(std::size_t& p) noexcept {
    [[maybe_unused]] const auto change = begin_memory_change();
    if (p != no_chunk) { return get_objects(p); }
    if (!add()) { return false; }
    p = count() - 1;
    return true;
}

// Requires: the stack is empty. Returns: false when exhausted; nothing has changed then.
bool stable_slots::gather() noexcept {
    memory_mark_.expect_free(this, "stable_slot_map");
    std::size_t p = lowest(chunk_room::batch);
    if (p == no_chunk) { p = chunk_with_few(); }
    if (!get_memory(p)) { return false; }
    // An upstream may have erased objects: their slots are ready, and the chunk is listed.
    if (top_ != end_) {
        note_room(p);
        return true;
    }
    stable_chunk& from = *table()[p].state;
    const auto first = static_cast<std::uint32_t>(p << rules_.slots_log2);
    begun_count_ += top_ - batch_first;  // size() counts top_, too
    top_ = end_ = batch_first;
    std::uint64_t open = from.open;  // in registers: the stores below might alias them
    std::uint64_t used = from.used;
    while (open != 0 && end_ < batch_first + batch_enough) {
        CAIRN_DETAIL_STEP();
        const auto w = static_cast<std::uint32_t>(std::countr_zero(open));
        const std::uint64_t bits = from.free_bits(rules_, w);
        open &= open - 1;
        if (bits == 0) { continue; }
        used |= slot_bit(w);
        from.live()[w] |= bits;
        from.held(rules_)[w] |= bits;
        append(ready_ + end_, bits, first + w * 64);
        end_ += static_cast<std::size_t>(std::popcount(bits));
    }
    CAIRN_ASSERT(end_ != top_, "a chunk that is listed with free slots has one");
    from.open = open;
    from.used = used;
    from.free_count -= static_cast<std::uint32_t>(end_ - top_);
    note_room(p);
    const bool has_batch = from.room == chunk_room::batch || lowest(chunk_room::batch) != no_chunk;
    set_front(has_batch ? p : no_chunk);
    return true;
}

// Slots behind chunk `p` are not held any more; no_chunk: all are.
void stable_slots::set_front(std::size_t p) noexcept {
    const std::uint64_t end = p == no_chunk ? no_slot : (std::uint64_t{p} + 1) << rules_.slots_log2;
    front_end_ = static_cast<std::uint32_t>(end < no_slot ? end : no_slot);
}

void stable_slots::drop_ready(std::size_t p) noexcept {
    std::size_t kept = end_;  // those that stay move to the end: pushes have room again
    for (std::size_t i = end_; i-- != top_;) {
        const std::uint32_t index = ready_[i];
        if (p != no_chunk && index >> rules_.slots_log2 != p) {
            ready_[--kept] = index;
            continue;
        }
        stable_chunk& state = state_of(index);
        stable_chunk::reset(state.held(rules_), index & rules_.slot_mask());
        state.leave(index & rules_.slot_mask());
        slot_is_free(index);
    }
    begun_count_ += top_ - kept;
    top_ = kept;
}

// Where a slot became free last comes first: its words are in the cache.
std::size_t stable_slots::chunk_with_few() const noexcept {
    std::size_t p = freed_index_ >> rules_.slots_log2;
    if (p < count() && table()[p].state->room == chunk_room::few) { return p; }
    p = lowest(chunk_room::few);
    return p != no_chunk ? p : lowest(chunk_room::away);
}

// Chunk `p` is in the tree of its kind. Where it has a batch now, slots behind it are not held.
void stable_slots::enter_room(std::size_t p) noexcept {
    note_room(p);
    if (table()[p].state->room == chunk_room::batch && p < front_end_ >> rules_.slots_log2) {
        set_front(p);
    }
}

// The rare half of leave(): the chunk changes its kind or is empty.
void stable_slots::left_free(std::uint32_t index) noexcept {
    enter_room(index >> rules_.slots_log2);
    chunk_is_empty(index);
}

// Writes the life after `generation` where that is not one more: at the end of the ring, and at the
// last life of the slot. Returns: false where the slot is worn out; it has left then.
bool stable_slots::turn(std::uint32_t index, std::uint32_t generation) noexcept {
    life_of(index) = next_life(generation);
    if (generation != lives_.last()) { return true; }
    stable_chunk& state = state_of(index);
    state.leave(index & rules_.slot_mask());
    stable_chunk::set(state.blocked(rules_), index & rules_.slot_mask());
    ++worn_out_count_;
    --state.live_count;
    chunk_is_empty(index);
    return false;
}

// Where the chunk of slot `index` holds no object: it is kept as the spare, or a block goes back.
void stable_slots::chunk_is_empty(std::uint32_t index) noexcept {
    if (state_of(index).live_count != 0) { return; }
    const std::size_t p = superfluous(index >> rules_.slots_log2);
    if (p == no_chunk) { return; }
    [[maybe_unused]] const auto change = begin_memory_change();
    drop_ready(p);
    send_back(p);
}

// ------- rare begins and ends of lives

// What a slot's generation word is after life `generation`; `vacant` alone: its lives are used up.
std::uint32_t stable_slots::next_life(std::uint32_t generation) const noexcept {
    if (generation == lives_.last()) { return stable_chunk::vacant; }
    return (generation == rules_.generation_max ? 1 : generation + 1) | stable_chunk::vacant;
}

void stable_slots::slot_is_free(std::uint32_t index) noexcept {
    stable_chunk& state = state_of(index);
    freed_index_ = index;
    state.open |= slot_bit((index & rules_.slot_mask()) / 64);
    if (++state.free_count == state.next_room_at) { enter_room(index >> rules_.slots_log2); }
}

// A blocked slot is free again, or worn out.
void stable_slots::unblock(std::uint32_t index) noexcept {
    if (life_of(index) == stable_chunk::vacant) {
        ++worn_out_count_;
    } else {
        stable_chunk::reset(state_of(index).blocked(rules_), index & rules_.slot_mask());
        slot_is_free(index);
    }
    chunk_is_empty(index);
}

void stable_slots::untake(const place& at) noexcept {
    ++ended_count_;
    --at.state->live_count;
    at.state->leave(at.slot);
    slot_is_free(at.index);
    chunk_is_empty(at.index);
}

void stable_slots::promise(const place& at) noexcept {
    ++ended_count_;  // take() counts an object
    --at.state->live_count;
    at.state->leave(at.slot);
    stable_chunk::set(at.state->blocked(rules_), at.slot);
    stable_chunk::set(at.state->promised(rules_), at.slot);
    ++at.state->promised_count;
}

bool stable_slots::is_promised(std::uint32_t index, std::uint32_t generation) const noexcept {
    return index >> rules_.slots_log2 < count() &&
           stable_chunk::bit(state_of(index).promised(rules_), index & rules_.slot_mask()) &&
           life(index) == (generation | stable_chunk::vacant);
}

void stable_slots::fulfil(std::uint32_t index, std::uint32_t generation) noexcept {
    stable_chunk& state = state_of(index);
    const std::uint32_t slot = index & rules_.slot_mask();
    stable_chunk::reset(state.blocked(rules_), slot);
    stable_chunk::reset(state.promised(rules_), slot);
    --state.promised_count;
    state.enter(slot);
    ++state.live_count;
    life_of(index) = generation;
    ++begun_count_;
}

void stable_slots::drop_promised(std::uint32_t index) noexcept {
    stable_chunk& state = state_of(index);
    stable_chunk::reset(state.promised(rules_), index & rules_.slot_mask());
    --state.promised_count;
    life_of(index) = next_life(life(index) & ~stable_chunk::vacant);
    unblock(index);
}

void stable_slots::drop_all_promised() noexcept {
    for (std::size_t p = 0; p < count(); ++p) {
        stable_chunk& state = *table()[p].state;
        const auto first = static_cast<std::uint32_t>(p << rules_.slots_log2);
        for (std::uint32_t slot = 0; state.promised_count != 0; ++slot) {
            if (stable_chunk::bit(state.promised(rules_), slot)) { drop_promised(first + slot); }
        }
    }
}

// Returns: false, too, when the upstream has erased the object of slot `index`.
bool stable_slots::grow_waiting(std::uint32_t index) noexcept {
    [[maybe_unused]] const auto change = begin_memory_change();
    const std::uint32_t before = life(index);
    return waiting_.grow(upstream_) && life(index) == before;
}

bool stable_slots::set_aside(std::uint32_t index, std::uint64_t fence) noexcept {
    if (waiting_.size == waiting_.capacity && !grow_waiting(index)) { return false; }
    waiting_.data[waiting_.size++] = {fence, index};
    stable_chunk& state = state_of(index);
    const std::uint32_t slot = index & rules_.slot_mask();
    std::uint32_t& word = state.lives(rules_)[slot];
    word = next_life(word);
    stable_chunk::set(state.blocked(rules_), slot);
    state.leave(slot);
    --state.live_count;
    ++state.waiting_count;
    ++ended_count_;
    return true;
}

std::uint32_t stable_slots::next_due(std::uint64_t completed, std::size_t& at) noexcept {
    for (; at < waiting_.size; ++at) {
        if (waiting_.data[at].fence > completed) { continue; }
        const std::uint32_t index = waiting_.data[at].index;
        waiting_.data[at] = waiting_.data[--waiting_.size];
        return index;
    }
    return no_slot;
}

void stable_slots::finish(std::uint32_t index) noexcept {
    --state_of(index).waiting_count;
    unblock(index);
}

// True when 64 slots are alive, and the next life of each is one more: 64 comparisons at once.
bool stable_slots::all_go_on(const std::uint32_t* lives) const noexcept {
    const std::uint32_t last = lives_.last();
    const std::uint32_t largest = rules_.generation_max;
    std::uint32_t others = 0;
    for (std::uint32_t i = 0; i < 64; ++i) {
        others += lives[i] == last || lives[i] >= largest ? 1u : 0u;  // a vacant one is above all
    }
    return others == 0;
}

// The lives of the slots in `hidden` end. Returns: those that could.
std::uint64_t stable_slots::hide_one_by_one(std::uint64_t hidden,
                                            std::uint32_t* lives) const noexcept {
    for (std::uint64_t bits = hidden; bits != 0; bits &= bits - 1) {
        std::uint32_t& life = lives[std::countr_zero(bits)];
        if ((life & stable_chunk::vacant) != 0) {  // it begins or ends now, and calls clear()
            hidden &= ~(bits & (~bits + 1));
        } else {
            life = next_life(life);
        }
    }
    return hidden;
}

std::uint64_t stable_slots::hide_word(std::size_t p, std::uint32_t w) noexcept {
    stable_chunk& state = *table()[p].state;
    std::uint64_t hidden = state.objects_in(rules_, w);
    std::uint32_t* const lives = state.lives(rules_) + w * 64;
    if (hidden == ~std::uint64_t{0} && all_go_on(lives)) {
        for (std::uint32_t i = 0; i < 64; ++i) { lives[i] = stable_slots::hidden(lives[i]); }
    } else {
        hidden = hide_one_by_one(hidden, lives);
    }
    const auto number = static_cast<std::uint32_t>(std::popcount(hidden));
    state.live()[w] &= ~hidden;
    if (state.live()[w] == 0) { state.used &= ~slot_bit(w); }
    state.blocked(rules_)[w] |= hidden;
    state.live_count -= number;
    state.waiting_count += number;
    ended_count_ += number;
    return hidden;
}

void stable_slots::free_word(std::size_t p, std::uint32_t w, std::uint64_t hidden) noexcept {
    stable_chunk& state = *table()[p].state;
    std::uint64_t freed = hidden;
    const std::uint32_t* const lives = state.lives(rules_) + w * 64;
    std::uint32_t worn_out_count = 0;  // of all 64: mostly none
    for (std::uint32_t i = 0; i < 64; ++i) {
        worn_out_count += lives[i] == stable_chunk::vacant ? 1u : 0u;
    }
    for (std::uint64_t bits = worn_out_count != 0 ? hidden : 0; bits != 0; bits &= bits - 1) {
        if (lives[std::countr_zero(bits)] != stable_chunk::vacant) { continue; }
        freed &= ~(bits & (~bits + 1));
        ++worn_out_count_;
    }
    state.blocked(rules_)[w] &= ~freed;
    state.waiting_count -= static_cast<std::uint32_t>(std::popcount(hidden));
    state.free_count += static_cast<std::uint32_t>(std::popcount(freed));
    if (freed != 0) { state.open |= slot_bit(w); }
    enter_room(p);
    chunk_is_empty(static_cast<std::uint32_t>(p << rules_.slots_log2));
}

bool stable_slots::is_worn_out(std::uint32_t index) const noexcept {
    return life(index) == stable_chunk::vacant &&
           std::none_of(waiting_.data, waiting_.data + waiting_.size,
                        [=](const waiting_slot& w) { return w.index == index; });
}

std::size_t stable_slots::recycle() noexcept {
    const std::size_t recycled = worn_out_count_;
    for (std::uint32_t i = 0; worn_out_count_ != 0 && i < count() << rules_.slots_log2; ++i) {
        if (!is_worn_out(i)) { continue; }
        life_of(i) = stable_chunk::vacant | lives_.first();
        stable_chunk::reset(state_of(i).blocked(rules_), i & rules_.slot_mask());
        slot_is_free(i);
        --worn_out_count_;
    }
    return recycled;
}

// ------- all of them

live_word stable_slots::next_live(std::size_t index) const noexcept {
    // Three levels, each asked once: the rest of this word, the words behind it by the chunk's
    // summary, the chunks behind that. A word that is marked used may hold nothing but slots that
    // are held ready: then the search goes on.
    std::size_t p = index >> rules_.slots_log2;
    if (p >= count()) { return {no_index, 0}; }
    const auto slot = static_cast<std::uint32_t>(index & rules_.slot_mask());
    stable_chunk* state = table()[p].state;
    std::uint32_t w = slot / 64;
    std::uint64_t live = state->objects_in(rules_, w) & (~std::uint64_t{0} << (slot & 63));
    while (live == 0) {
        // A shift by 64 is not defined: behind word 63 there is none.
        const std::uint64_t later = w == 63 ? 0 : state->used & (~std::uint64_t{0} << (w + 1));
        if (later != 0) {
            w = static_cast<std::uint32_t>(std::countr_zero(later));
        } else {
            do {
                if (++p == count()) { return {no_index, 0}; }
                state = table()[p].state;
            } while (state->used == 0);
            w = static_cast<std::uint32_t>(std::countr_zero(state->used));
        }
        live = state->objects_in(rules_, w);
    }
    return {(p << rules_.slots_log2) + w * 64, live};
}

bool stable_slots::shrink_to_fit() noexcept {
    // The slots that are held ready count as live, and would keep their chunk.
    drop_ready(no_chunk);
    [[maybe_unused]] const auto change = begin_memory_change();
    const bool table_fits = shrink();
    return waiting_.shrink(upstream_) && table_fits;
}

bool stable_slots::copy_chunks(const stable_slots& other) noexcept {
    [[maybe_unused]] const auto change = begin_memory_change();
    return copy_vacant(other);
}

void stable_slots::enter_copies(live_word word) noexcept {
    const std::size_t p = word.first >> rules_.slots_log2;
    const auto first = static_cast<std::uint32_t>(word.first & rules_.slot_mask());
    stable_chunk& state = *table()[p].state;
    std::uint32_t* const lives = state.lives(rules_) + first;
    if (word.live == ~std::uint64_t{0}) {
        for (std::uint32_t i = 0; i < 64; ++i) { lives[i] &= ~stable_chunk::vacant; }
    } else {
        for (std::uint64_t bits = word.live; bits != 0; bits &= bits - 1) {
            lives[std::countr_zero(bits)] &= ~stable_chunk::vacant;
        }
    }
    state.live()[first / 64] |= word.live;
    state.used |= slot_bit(first / 64);
    const auto number = static_cast<std::uint32_t>(std::popcount(word.live));
    state.live_count += number;
    state.free_count -= number;
    begun_count_ += number;
    note_room(p);
}

void stable_slots::finish_waiting_of(const stable_slots& other) noexcept {
    for (std::size_t i = 0; i < other.waiting_.size; ++i) { finish(other.waiting_.data[i].index); }
}

void stable_slots::release() noexcept {
    [[maybe_unused]] const auto change = begin_memory_change();
    begun_count_ = ended_count_ = 0;
    top_ = end_ = 0;
    front_end_ = freed_index_ = 0;
    waiting_.release(upstream_);
    stable_chunks::release();
}

void stable_slots::validate() const noexcept {
    if constexpr (!asserts_enabled) { return; }
    stable_chunks::validate();
    std::size_t live_count = 0;
    std::size_t held_count = 0;
    std::size_t worn_out = 0;
    for (std::uint32_t i = 0; i < count() << rules_.slots_log2; ++i) {
        stable_chunk& state = state_of(i);
        const std::uint32_t slot = i & rules_.slot_mask();
        const bool is_live = (state.objects_in(rules_, slot / 64) & slot_bit(slot)) != 0;
        CAIRN_ASSERT(is_live == ((life(i) & stable_chunk::vacant) == 0),
                     "handles find the live slots, and no others");
        live_count += is_live;
        held_count += stable_chunk::bit(state.held(rules_), slot);
        worn_out += is_worn_out(i);
    }
    CAIRN_ASSERT(live_count == size(), "live objects are counted");
    CAIRN_ASSERT(held_count == end_ - top_, "the held slots are those of the stack");
    for (std::size_t i = top_; i != end_; ++i) {
        CAIRN_ASSERT(
            stable_chunk::bit(state_of(ready_[i]).held(rules_), ready_[i] & rules_.slot_mask()),
            "each slot of the stack is held");
    }
    CAIRN_ASSERT(worn_out == worn_out_count_, "worn-out slots are counted");
}

// ------- handles that find nothing

handle_fault stable_slots::fault_of(std::uint32_t index, std::uint32_t generation) const noexcept {
    if (index == 0 && generation == 0) { return handle_fault::null; }
    if (index >> rules_.slots_log2 >= count()) { return handle_fault::foreign; }
    return lives_.judge(
        generation, life(index),
        stable_chunk::bit(state_of(index).promised(rules_), index & rules_.slot_mask()));
}

void stable_slots::refuse(std::uint32_t index, std::uint32_t generation, const void* map,
                          call_site from) const {
    // The slot may be beyond all chunks: then no life of it is known.
    const std::uint32_t word = index >> rules_.slots_log2 < count() ? life(index) : 0;
    refuse_handle({fault_of(index, generation), map, "stable_slot_map", index,
                   static_cast<std::uint32_t>(count() << rules_.slots_log2),
                   word & ~stable_chunk::vacant, generation},
                  from);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
