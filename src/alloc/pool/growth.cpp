// Chunks of cairn/alloc/pool.hpp, coming and going.
//
//      one chunk   | slots ............ | side block |             one request to upstream
//
//      several     | slots ............ |  unused    |   | slots ... |   | side block |
//                    the side block has moved out: its stack must have room for every slot
//
// The side block is [ chunk records | 8 null pointers | stack ]. The stack has room for every slot
// of every chunk before the chunk is known: so deallocate() needs no test. The null pointers are
// what allocate() reads when it looks 8 entries down a stack that holds fewer.
#include <cairn/alloc/pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include <cairn/core/inside/bits.hpp>

#include "../pool_rules.hpp"
#include "checks.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

constexpr std::size_t first_chunk_capacity = 4;

/// While it lives, the pool calls its upstream.
class upstream_scope {
public:
    upstream_scope(const pool& p, bool& runs) noexcept : runs_{runs} {
        pool_checks::expect_no_upstream(p);
        runs_ = true;
    }
    ~upstream_scope() { runs_ = false; }
    upstream_scope(const upstream_scope&) = delete;
    upstream_scope& operator=(const upstream_scope&) = delete;

private:
    bool& runs_;
};

}  // namespace

// ------------------------------------------------------------------------------------------------
// growth

void* pool::allocate_in_next_chunk() noexcept {
    park_selected();
    // Untouched chunks exist after reset() and reserve(): take the next one by address.
    // From the selected one round to itself, which is used up: by address, as far as addresses go.
    for (std::size_t step = 1; step <= chunk_count_; ++step) {
        const std::size_t i = ((selected_ == none ? 0 : selected_) + step) % chunk_count_;
        if (chunks_[i].carved_end == chunks_[i].first) {
            select(i);
            return allocate();
        }
    }
    if (slot_count_ >= options_.slot_count_max) { return nullptr; }
    if (!add_chunk(std::min(next_chunk_slots_, options_.slot_count_max - slot_count_))) {
        return nullptr;
    }
    // After it was had: a refusal does not make the next wish larger.
    next_chunk_slots_ = detail::next_chunk_slots(next_chunk_slots_, stride_, options_);
    return allocate();
}

/// A chunk of `slot_count` slots, put in its place by address. It is selected when nothing else is
/// being carved. Returns: false, with nothing changed, when the upstream refuses.
bool pool::add_chunk(std::size_t slot_count) noexcept {
    watch_.expect_not_ended(this, "pool");
    const upstream_scope growing{*this, upstream_runs_};
    const std::size_t slots_size = detail::saturating_multiply(slot_count, stride_);
    // Both ends of the arithmetic: bytes of the slots, and of the stack with an entry for each.
    if (slots_size > PTRDIFF_MAX || slot_count > (PTRDIFF_MAX / sizeof(void*)) - slot_count_) {
        return false;
    }
    // The first chunk brings the side block along: one request instead of two. (The next one makes
    // it move out: the stack must have room for every slot.)
    const bool brings_side = chunks_ == nullptr;
    const std::size_t side_begin = detail::round_up(slots_size, alignment::of<void*>());
    const std::size_t size =
        brings_side
            ? detail::saturating_add(side_begin, side_size_for(first_chunk_capacity, slot_count))
            : slots_size;
    if (size > PTRDIFF_MAX) { return false; }
    auto* const first =
        static_cast<std::byte*>(upstream_.allocate(size, detail::chunk_alignment(align_)));
    if (first == nullptr) { return false; }
    // Nothing has changed until here. From here on nothing fails but the room for the record, and
    // that gives the chunk back.
    if (brings_side) {
        embedded_side_ = first + side_begin;
        embedded_size_ = size - slots_size;
        move_side_to(embedded_side_, first_chunk_capacity, slot_count);
    } else if (!make_room_in_side(chunk_count_ + 1, slot_count_ + slot_count)) {
        upstream_.deallocate(first, size, detail::chunk_alignment(align_));
        return false;
    }
    std::size_t place = chunk_count_;
    for (; place != 0 && std::less<>{}(first, chunks_[place - 1].first); --place) {
        chunks_[place] = chunks_[place - 1];
    }
    chunks_[place] = {first, first, slot_count, pool_checks::make_live(slot_count)};
    pool_checks::describe(*this, chunks_[place]);
    ++chunk_count_;
    slot_count_ += slot_count;
    poison(first, slots_size);
    // The records behind `place` moved up by one, and with them the selected one.
    if (selected_ != none && place <= selected_) { ++selected_; }
    // Otherwise the chunk waits, untouched: allocate_in_next_chunk() finds it.
    if (carve_ == carve_end_) {
        park_selected();
        select(place);
    }
    return true;
}

/// Grows the side block. Returns: false, with nothing changed, when the upstream refuses.
bool pool::make_room_in_side(std::size_t chunk_count, std::size_t slot_count) noexcept {
    if (chunk_count <= chunk_capacity_ && slot_count <= stack_capacity_) { return true; }
    // The first one is exact, as is the last one of a bounded pool; in between they double.
    std::size_t stack_slots = std::max(slot_count, detail::saturating_multiply(stack_capacity_, 2));
    stack_slots = std::max(slot_count, std::min(stack_slots, options_.slot_count_max));
    const std::size_t chunks = std::max({chunk_count, chunk_capacity_ * 2, first_chunk_capacity});
    auto* const side = static_cast<std::byte*>(
        upstream_.allocate(side_size_for(chunks, stack_slots), default_alignment));
    if (side == nullptr) { return false; }
    move_side_to(side, chunks, stack_slots);
    return true;
}

/// The side block is `side` from now on, with room for `chunks` and `slots`; the old one goes back.
void pool::move_side_to(std::byte* side, std::size_t chunks, std::size_t stack_slots) noexcept {
    auto* const new_chunks = reinterpret_cast<chunk*>(side);
    auto** const new_floor = reinterpret_cast<void**>(side + chunks * sizeof(chunk)) + lookahead;
    const auto free_count = static_cast<std::size_t>(top_ - floor_);
    if (chunk_count_ != 0) { std::memcpy(new_chunks, chunks_, chunk_count_ * sizeof(chunk)); }
    std::memset(new_floor - lookahead, 0, lookahead * sizeof(void*));
    // top_ and floor_ may be null before the first side block: no copy of nothing from nowhere.
    if (free_count != 0) { std::memcpy(new_floor, floor_, free_count * sizeof(void*)); }
    void* const old = outer_side();
    const std::size_t old_size = side_size();
    chunks_ = new_chunks;
    floor_ = new_floor;
    top_ = new_floor + free_count;
    chunk_capacity_ = chunks;
    stack_capacity_ = stack_slots;
    // Last: a deallocate() of the user may come back for a slot.
    if (old != nullptr) { upstream_.deallocate(old, old_size, default_alignment); }
}

bool pool::reserve(std::size_t count) noexcept {
    const std::size_t ready = untouched_count() + free_count();
    if (count <= ready) { return true; }
    const std::size_t missing = count - ready;
    // slot_count_ never passes slot_count_max, so the difference does not wrap.
    return missing <= options_.slot_count_max - slot_count_ && add_chunk(missing);
}

// ------------------------------------------------------------------------------------------------
// giving back

std::size_t pool::side_size_for(std::size_t chunks, std::size_t stack_slots) noexcept {
    return chunks * sizeof(chunk) + (lookahead + stack_slots) * sizeof(void*);
}

std::size_t pool::side_size() const noexcept {
    return side_size_for(chunk_capacity_, stack_capacity_);
}

/// Bytes that came from the upstream with this chunk.
std::size_t pool::block_size(const chunk& c) const noexcept {
    const std::size_t slots_size = c.slot_count * stride_;
    // The chunk that the side block came with is known by its place: where the slots of this one
    // end, it begins. It stays marked so when the side block has moved out, for its bytes go back
    // with it.
    const std::byte* const behind = c.first + detail::round_up(slots_size, alignment::of<void*>());
    return slots_size + (behind == embedded_side_ ? embedded_size_ : 0);
}

void pool::give_chunk_back(const chunk& c) noexcept {
    pool_checks::forget_description(c);
    pool_checks::forget_chunks(*this);
    (std::free)(c.live);
    if (fixed_) {
        unpoison(c.first, c.slot_count * stride_);
        return;
    }
    const std::size_t size = block_size(c);
    // The block that held the side block, used or not, is gone: no other chunk may be taken for it.
    if (size != c.slot_count * stride_) {
        embedded_side_ = nullptr;
        embedded_size_ = 0;
    }
    unpoison(c.first, c.slot_count * stride_);
    upstream_.deallocate(c.first, size, detail::chunk_alignment(align_));
}

/// The side block, where it is a block of its own from the upstream; else nullptr.
void* pool::outer_side() const noexcept {
    return chunks_ != nullptr && !fixed_ && !side_is_embedded() ? chunks_ : nullptr;
}

/// All blocks, of which `count` are chunks. Requires: no slot is to be had.
void pool::give_all_back(std::size_t count) noexcept {
    const upstream_scope shrinking{*this, upstream_runs_};
    // The side block last: it holds the records that this loop reads. Behind the slots of the only
    // chunk it goes with them.
    void* const side = outer_side();
    const std::size_t size = side_size();
    for (std::size_t i = 0; i < count; ++i) {
        const chunk gone = chunks_[i];
        give_chunk_back(gone);
    }
    if (side != nullptr) { upstream_.deallocate(side, size, default_alignment); }
}

std::size_t pool::trim() noexcept {
    if (fixed_ || chunk_count_ == 0 || upstream_runs_) { return 0; }
    const std::size_t before = stats().upstream_size;
    const std::size_t free_count = sort_free();
    park_selected();
    carve_ = carve_end_ = nullptr;
    const std::size_t was_selected = std::exchange(selected_, none);
    const std::byte* const carving = was_selected != none ? chunks_[was_selected].first : nullptr;

    // stack   [ 9 8 | 5 4 3 | 1 ]     read ->    chunks   [ 0 1 2 ][ 3 4 5 ][ 6 7 8 9 ]
    //           c     b       a                               a        b         c
    // A chunk goes when all that was carved from it is free: its run is as long as that. (One that
    // was never carved has a run of 0, and goes, too.) kept <= read, so runs that stay move down
    // only.
    // Free slots are sorted descending, so each chunk's are one run: from the highest chunk down,
    // keep the runs of the chunks that stay.
    std::size_t read = 0;
    std::size_t kept = 0;
    std::size_t place = chunk_count_;  // kept chunks collect at the end, still sorted
    for (std::size_t i = chunk_count_; i-- != 0;) {
        const chunk c = chunks_[i];
        std::size_t run = 0;
        while (read + run < free_count && std::greater_equal<>{}(floor_[read + run], c.first)) {
            ++run;
        }
        if (run * stride_ == static_cast<std::size_t>(c.carved_end - c.first)) {
            slot_count_ -= c.slot_count;
        } else {
            std::memmove(floor_ + kept, floor_ + read, run * sizeof(void*));
            kept += run;
            std::swap(chunks_[--place], chunks_[i]);
        }
        read += run;
    }
    // The pool is whole without the chunks that go before the first of them goes: a deallocate() of
    // the user may come back for a slot. Their records stand behind those that stay.
    std::rotate(chunks_, chunks_ + place, chunks_ + chunk_count_);
    chunk_count_ -= place;
    top_ = floor_ + kept;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        // What was being carved goes on, where its chunk has stayed: it alone may be carved in
        // part.
        if (chunks_[i].first == carving) { select(i); }
    }
    if (chunk_count_ == 0) {
        give_all_back(place);
        forget();
    } else {
        const upstream_scope shrinking{*this, upstream_runs_};
        for (std::size_t i = 0; i < place; ++i) { give_chunk_back(chunks_[chunk_count_ + i]); }
    }
    return before - stats().upstream_size;
}

}}  // namespace cairn::CAIRN_FLAVOUR
