// Cold half of cairn/alloc/growing_arena.hpp: taking blocks into use.
//
// Kept out of the header on purpose: inlined into callers it would grow every allocation site for
// a path that runs once a block. How a block looks, and in which order they stand: block.hpp.
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/inside/begin_anew.hpp>

#include <new>
#include <utility>

#include "growing_arena/block.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

growing_arena::growing_arena(std::size_t first_block_size, allocator_ref upstream,
                             options how) noexcept
    : next_size_{first_block_size < block::size_min ? block::size_min : first_block_size},
      first_size_{next_size_},
      upstream_{upstream},
      how_{how} {
    static_assert(sizeof(block) <= block::header_size && block::header_size % 16 == 0,
                  "the payload starts at a multiple of the granule");
    if (how.name != nullptr) { set_name(how.name); }
}

growing_arena::growing_arena(growing_arena&& from) noexcept
    : next_size_{std::exchange(from.next_size_, from.first_size_)},
      first_size_{from.first_size_},
      upstream_{from.upstream_},
      how_{from.how_},
      marks_{std::move(from.marks_)},
      watch_{std::move(from.watch_)} {
    // What is empty without blocks becomes so; first_size_, growth_ and the options stay with
    // `from`, which may be used again.
    region_ = std::exchange(from.region_, {});
    used_ = std::exchange(from.used_, nullptr);
    spare_ = std::exchange(from.spare_, nullptr);
    last_serial_ = from.last_serial_;
    full_size_ = std::exchange(from.full_size_, 0);
    held_size_ = std::exchange(from.held_size_, 0);
    block_count_ = std::exchange(from.block_count_, 0);
    peak_ = std::exchange(from.peak_, 0);
    cycle_peak_ = std::exchange(from.cycle_peak_, 0);
    recent_ = std::exchange(from.recent_, 0);
    refused_ = std::exchange(from.refused_, SIZE_MAX);
    growth_ = from.growth_;
}

growing_arena& growing_arena::operator=(growing_arena&& from) noexcept {
    return detail::begin_anew(*this, from);
}

// ------------------------------------------------------------------ taking blocks into use

void* growing_arena::allocate_called(std::size_t size, alignment align) noexcept {
    return region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
        return allocate_elsewhere(s, a);
    });
}

void* growing_arena::allocate_elsewhere(std::size_t size, alignment align) noexcept {
    // Worst case: padding up to `align` behind the header, then the request.
    const std::size_t padding = align > detail::bump_granule ? align.bytes() - 16 : 0;
    if (size > PTRDIFF_MAX - 15 || padding > PTRDIFF_MAX - size) { return nullptr; }
    // A payload begins at a multiple of 16: that much padding suffices wherever the block lies.
    const std::size_t needed = detail::round_up(size, detail::bump_granule) + padding;
    block* b = nullptr;
    if (needed > (next_size_ - block::header_size) / 2) {
        b = take_spare(needed, true);
        // An ordinary spare, as reserve() and coalesce() make them, is filled like any other block:
        // what lies behind this request was promised to the next ones. It becomes the current one
        // unless more would be lost with the rest of that one. A spare that held one request holds
        // this one alone, too, unless it is less than half of it.
        const bool fills_it = b != nullptr && b->oversized && b->payload_size() / 2 < needed;
        if (b == nullptr || fills_it || b->payload_size() - needed < region_.free_size()) {
            return allocate_oversized(b, needed, size, align);
        }
    } else {
        b = take_spare(needed, false);
    }
    if (b == nullptr) {
        // next_size_ grows only after a block was had, to the cap at most.
        // When upstream has no block of the wished size, a smaller one may still do.
        for (std::size_t wish = next_size_; b == nullptr && wish >= needed + block::header_size;
             wish /= 2) {
            b = ask_upstream(wish);
        }
        if (b == nullptr) { return nullptr; }
        if (next_size_ < how_.block_size_max) {
            next_size_ =
                next_size_ < how_.block_size_max / 2 ? next_size_ * 2 : how_.block_size_max;
        }
    }
    // Before the region changes hands: its high-water mark is known to it alone.
    // [ old: live | tail ] becomes full: its tail is lost until the next rewind or reset
    note_peak();
    if (used_ != nullptr && !used_->oversized) {
        used_->top = region_.top();
        full_size_ += region_.used_size();
    }
    b->next = used_;
    b->serial = ++last_serial_;
    b->oversized = false;
    used_ = b;
    region_ = b->fresh_region();
    return region_.allocate(size, align);
}

/// [ current ]--> ...   becomes   [ current ]-->[ oversized ]--> ...
/// `b`: the spare to use, or nullptr: then upstream is asked.
void* growing_arena::allocate_oversized(block* b, std::size_t needed, std::size_t size,
                                        alignment align) noexcept {
    if (b == nullptr) { b = ask_upstream(needed + block::header_size); }
    if (b == nullptr) { return nullptr; }
    detail::bump_region inside = b->fresh_region();
    void* const p = inside.allocate(size, align);
    CAIRN_ASSERT(p != nullptr, "a block that was chosen for a request holds it");

    b->serial = ++last_serial_;
    b->oversized = true;
    b->top = inside.top();
    full_size_ += inside.used_size();
    if (used_ != nullptr && !used_->oversized) {
        b->next = used_->next;
        used_->next = b;
    } else {
        b->next = used_;
        used_ = b;
    }
    note_peak();
    return p;
}

/// An oversized request takes the smallest spare that holds it, so that the others stay for their
/// own. Any other request takes the largest ordinary spare (fewest changes of block) and touches
/// the oversized ones only when nothing else is left.
growing_arena::block* growing_arena::take_spare(std::size_t payload_min,
                                                bool for_oversized) noexcept {
    // Links, not blocks: taking the best block out changes the link that leads to it. O(spares).
    block** best = nullptr;
    for (block** link = &spare_; *link != nullptr; link = &(*link)->next) {
        block* const b = *link;
        if (b->payload_size() < payload_min) { continue; }
        const bool better =
            best == nullptr ||
            (for_oversized
                 ? b->size < (*best)->size
                 : (b->oversized != (*best)->oversized ? !b->oversized : b->size > (*best)->size));
        if (better) { best = link; }
        // Nothing fits better than exactly: requests of one size, frame after frame, stay O(1).
        if (for_oversized && b->payload_size() == payload_min) { break; }
    }
    if (best == nullptr) { return nullptr; }
    block* const b = *best;
    *best = b->next;
    return b;
}

growing_arena::block* growing_arena::ask_upstream(std::size_t block_size) noexcept {
    watch_.expect_not_ended(this, "growing_arena");
    if (growth_ == growth::forbidden) { return nullptr; }
    void* const memory = upstream_.allocate(block_size, default_alignment);
    if (memory == nullptr) { return nullptr; }
    held_size_ += block_size;
    ++block_count_;
    auto* const b = ::new (memory) block{nullptr, block_size, 0, 0, false, 0};
    b->description = watch_.describe(reinterpret_cast<void*>(b->begin()), b->payload_size());
    // Until it is asked for, nothing in the payload may be touched; the header stays readable.
    poison(reinterpret_cast<void*>(b->begin()), b->payload_size());
    return b;
}

bool growing_arena::reserve(std::size_t size) noexcept {
    if (size <= region_.free_size()) { return true; }
    for (block* b = spare_; b != nullptr; b = b->next) {
        // A spare that held one request does not count: it goes to the next such request as a
        // whole.
        if (!b->oversized && b->payload_size() >= size) { return true; }
    }
    if (size > PTRDIFF_MAX - block::header_size - 15) { return false; }
    const std::size_t needed = detail::round_up(size, detail::bump_granule) + block::header_size;
    block* const b = ask_upstream(needed > next_size_ ? needed : next_size_);
    if (b == nullptr) { return false; }
    b->next = spare_;
    spare_ = b;
    return true;
}

}}  // namespace cairn::CAIRN_FLAVOUR
