// Letting blocks of a growing arena go: to the spares when what lies in them ends, and to upstream
// as the policy of a reset says.
#include <cairn/alloc/growing_arena.hpp>

#include <utility>

#include "block.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

void growing_arena::deallocate_called(void* p, std::size_t size, call_site from) noexcept {
    if (region_.contains(p)) {
        detail::expect_block(region_, p, size, call_of(from));
        region_.deallocate(p, size);
    } else {
        deallocate_in_full_block(p, size, from);
    }
}

void growing_arena::deallocate_in_full_block(void* p, std::size_t size,
                                             [[maybe_unused]] call_site from) noexcept {
    if (size == 0) { return; }  // owns no byte: it may lie at the end of a block, or in none
    if (p == nullptr) { return; }
    watch_.expect_not_ended(this, "growing_arena");
    CAIRN_ASSERT(owns(p), "a block comes back to the arena that it was allocated from",
                 {.kind = misuse_kind::foreign_pointer,
                  .object = this,
                  .type = "growing_arena",
                  .name = watch_.name(),
                  .caller = from,
                  .values = {{"bytes", size}}});
    if (size > first_size_ / 2 - block::header_size) {
        // Perhaps a block of its own: then it can serve again at once.
        for (block** link = &used_; *link != nullptr; link = &(*link)->next) {
            block* const b = *link;
            if (b->oversized &&
                // It is the block's one request when it ends where the live bytes end. (A request
                // that was shrunk there is not recognized: its block waits for the next reset.)
                detail::round_up(reinterpret_cast<std::uintptr_t>(p) + size,
                                 detail::bump_granule) == b->top &&
                reinterpret_cast<std::uintptr_t>(p) >= b->begin()) {
                *link = b->next;
                full_size_ -= b->top - b->begin();
                poison(reinterpret_cast<void*>(b->begin()), b->payload_size());
                b->next = spare_;
                spare_ = b;
                return;
            }
        }
    }
    poison(p, detail::round_up(size, detail::bump_granule));
}

/// Moves the block at the head of the used list to the spares.
void growing_arena::retire_youngest() noexcept {
    block* const b = used_;
    used_ = b->next;
    poison(reinterpret_cast<void*>(b->begin()), b->payload_size());
    b->next = spare_;
    spare_ = b;
}

void growing_arena::rewind_over_blocks(detail::block_position to) noexcept {
    note_peak();
    // The arena was empty, and has taken one block since: it stays the current one, or each scope
    // of an arena without live memory would take it from the spares and put it back. Its new number
    // makes it younger than the markers in it, as if it had been a spare.
    if (used_ != nullptr && used_->next == nullptr && !used_->oversized &&
        used_->serial > to.serial) {
        region_.reset();
        used_->serial = ++last_serial_;
        return;
    }
    // First all live bytes are counted as those of full blocks; each block that goes takes its own
    // out, and a block that becomes current again does so at the end. The rest is the sum over
    // the others.
    if (used_ != nullptr && !used_->oversized) {  // the current block counts as full from here on
        used_->top = region_.top();
        full_size_ += region_.used_size();
    }
    // Blocks younger than the marker lie in front ...
    while (used_ != nullptr && used_->serial > to.serial) {
        full_size_ -= used_->top - used_->begin();
        retire_youngest();
    }
    // ... and, oversized, directly under the block that was current then.
    if (used_ != nullptr && !used_->oversized) {
        // Its serial is not above the marker's: it was the current block when the marker was made.
        block* const current = used_;
        used_ = current->next;
        while (used_ != nullptr && used_->serial > to.serial) {
            full_size_ -= used_->top - used_->begin();
            retire_youngest();
        }
        current->next = used_;
        used_ = current;
        full_size_ -= current->top - current->begin();
        CAIRN_ASSERT(to.top >= current->begin() && to.top <= current->top,
                     "a marker lies inside the live part of its arena: no block or builder from "
                     "before it has shrunk since",
                     {.kind = misuse_kind::outlived,
                      .object = this,
                      .type = "growing_arena",
                      .name = watch_.name()});
        region_ = detail::bump_region::resumed(current->begin(), to.top, current->end());
    } else {
        region_ = {};
    }
    // A later block gets a new number even if it is the same memory: last_serial_ never falls.
}

void growing_arena::reset(reset_policy policy) noexcept {
    marks_.reset();
    const bool is_kept = policy.what_ == reset_policy::kind::coalesce ||
                         (policy.what_ == reset_policy::kind::keep && held_size_ <= policy.bytes_);
    if (is_kept && used_ != nullptr && used_->next == nullptr && !used_->oversized) {
        region_.reset();  // the whole frame lay in one block: nothing else to do
        return;
    }
    note_peak();
    const std::size_t load = cycle_peak_;
    cycle_peak_ = 0;
    // Counted before the list is emptied: one block means that the frame lay in one piece, and
    // nothing need be replaced.
    const std::size_t blocks_used = [this] {
        std::size_t count = 0;
        for (block* b = used_; b != nullptr; b = b->next) { ++count; }
        return count;
    }();
    while (used_ != nullptr) { retire_youngest(); }
    region_ = {};
    full_size_ = 0;

    switch (policy.what_) {
        case reset_policy::kind::keep:
            if (policy.bytes_ < held_size_) { trim_spares(policy.bytes_); }
            if (held_size_ == 0) { refused_ = SIZE_MAX; }
            break;
        case reset_policy::kind::coalesce:
            if (blocks_used > 1 && held_size_ < refused_) {
                // wanted: what the frame took, with all headers, so the sum of the payloads fits
                // behind one header. Where upstream refuses it, the arena is empty now; refused_
                // keeps the next resets from trying that again.
                const std::size_t wanted = held_size_;
                replace_by_one_block(wanted);
                if (spare_ == nullptr) { refused_ = wanted; }
            }
            break;
        case reset_policy::kind::adaptive: {
            // recent_ = max(load of this frame, recent_ * 15/16): up at once, down by a sixteenth a
            // reset.
            const std::size_t decayed = recent_ - recent_ / 16;
            recent_ = load > decayed ? load : decayed;
            // One eighth of room, so that a slowly rising load does not replace its block each
            // time.
            const std::size_t wanted = recent_ + recent_ / 8 + block::header_size + 64;
            if (blocks_used > 1 || (held_size_ / 2 > wanted && held_size_ > first_size_)) {
                replace_by_one_block(wanted > first_size_ ? wanted : first_size_);
            }
            break;
        }
    }
    // Nothing is held: growth begins anew, or one block would be as large as all before together.
    if (held_size_ == 0) { next_size_ = first_size_; }
}

/// Gives spares back until those that stay have `bytes_kept` bytes at most: the largest that fits
/// the room left stays, then the largest that fits what is left of that, and so on. O(spares^2), on
/// a path that calls upstream. Returns: bytes given back.
std::size_t growing_arena::trim_spares(std::size_t bytes_kept) noexcept {
    block* kept = nullptr;
    for (std::size_t room = bytes_kept;;) {
        block** largest = nullptr;
        for (block** link = &spare_; *link != nullptr; link = &(*link)->next) {
            if ((*link)->size <= room && (largest == nullptr || (*link)->size > (*largest)->size)) {
                largest = link;
            }
        }
        if (largest == nullptr) { break; }
        block* const b = *largest;
        *largest = b->next;
        b->next = kept;
        kept = b;
        room -= b->size;
    }
    block* gone = std::exchange(spare_, kept);
    std::size_t bytes = 0;
    for (const block* b = gone; b != nullptr; b = b->next) {
        bytes += b->size;
        --block_count_;
    }
    held_size_ -= bytes;
    // The arena is whole without them before the first goes: upstream may come back.
    while (gone != nullptr) {
        block* const b = gone;
        gone = b->next;  // read before: the header goes with the block
        give_back(b);
    }
    return bytes;
}

/// Requires: no block is in use. The old ones go first, so that never more is held than before.
void growing_arena::replace_by_one_block(std::size_t block_size) noexcept {
    if (growth_ == growth::forbidden) { return; }  // better several blocks than none
    trim_spares(0);
    block* const b = ask_upstream(block_size);
    if (b == nullptr) { return; }  // the next allocation starts small again
    b->next = spare_;
    spare_ = b;
}

void growing_arena::give_back(block* b) noexcept {
    const std::size_t size = b->size;
    detail::forget_description(b->description);
    // All of b is read before this: its header lies in what goes back.
    unpoison(reinterpret_cast<void*>(b->begin()), b->payload_size());
    upstream_.deallocate(b, size, default_alignment);
}

void growing_arena::release_all() noexcept {
    marks_.reset();
    while (used_ != nullptr) { retire_youngest(); }
    region_ = {};
    full_size_ = 0;
    trim_spares(0);
}

}}  // namespace cairn::CAIRN_FLAVOUR
