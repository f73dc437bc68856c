// Cold half of cairn/alloc/growing_arena.hpp: everything that touches a block as a whole.
//
// Kept out of the header on purpose: inlined into callers it would grow every allocation site for
// a path that runs once a block.
//
// The used list, newest first. Ordinary blocks and oversized ones stand in it as they came, with
// one exception: an oversized one slips in behind the current block, which goes on being filled.
//
//      used_
//        v
//      [ C 7 ] --> [ O 9 ] --> [ O 8 ] --> [ B 4 ] --> [ O 6 ] --> [ O 5 ] --> [ A 1 ]
//      current     oversized since C       full        oversized while B       full
//                                                      was the current one
//
// So serials (the numbers) fall along the ordinary blocks, and behind each of these they fall along
// the oversized ones that came while it was current. A marker made while B was current, after O 5,
// has the serial 5: what is younger is [ C O O ] in front of B, and [ O 6 ] directly behind it.
//
// An oversized block at the head means that there is no current block: region_ is empty then.
#include <cairn/alloc/growing_arena.hpp>

#include <new>
#include <utility>

#include <cairn/core/bits.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace {

constexpr std::size_t header_size = 48;      // sizeof(block), rounded up to the granule
constexpr std::size_t block_size_min = 256;  // smaller blocks are more header than memory

}  // namespace

/// Sits at the front of every block; the payload behind it belongs to the caller.
struct growing_arena::block {
    block* next;           // older used block, or next spare
    std::size_t size;      // bytes asked of upstream, this header included
    std::uint64_t serial;  // grows with every block taken into use
    // Written when the block stops being the current one; until then region_ knows it.
    std::uintptr_t top;    // end of its live bytes, once it is no longer the current one
    bool oversized;        // holds one request larger than half a block
    unsigned description;  // of a named arena's block, for forget_description()

    [[nodiscard]] std::uintptr_t begin() const noexcept {
        return reinterpret_cast<std::uintptr_t>(this) + header_size;
    }
    // Sizes are as upstream was asked, in any number of bytes: the rest behind the last granule is
    // not used.
    [[nodiscard]] std::uintptr_t end() const noexcept {
        return round_down(reinterpret_cast<std::uintptr_t>(this) + size, detail::bump_granule);
    }
    [[nodiscard]] std::size_t payload_size() const noexcept { return end() - begin(); }
    [[nodiscard]] detail::bump_region fresh_region() const noexcept {
        return {reinterpret_cast<void*>(begin()), payload_size()};
    }
};

growing_arena::growing_arena(std::size_t first_block_size, allocator_ref upstream,
                             options how) noexcept
    : next_size_{first_block_size < block_size_min ? block_size_min : first_block_size},
      first_size_{next_size_},
      upstream_{upstream},
      how_{how} {
    static_assert(sizeof(block) <= header_size && header_size % 16 == 0,
                  "the payload starts at a multiple of the granule");
    if (how.name != nullptr) { set_name(how.name); }
}

growing_arena::growing_arena(growing_arena&& from) noexcept
    : next_size_{from.next_size_},
      first_size_{from.first_size_},
      upstream_{from.upstream_},
      how_{from.how_} {
    steal(from);
}

growing_arena& growing_arena::operator=(growing_arena&& from) noexcept {
    if (this != &from) {
        release_all();
        upstream_ = from.upstream_;
        how_ = from.how_;
        steal(from);
    }
    return *this;
}

void growing_arena::steal(growing_arena& from) noexcept {
    // What is empty without blocks becomes so; first_size_, growth_ and the options stay with
    // `from`, which may be used again.
    region_ = std::exchange(from.region_, {});
    used_ = std::exchange(from.used_, nullptr);
    spare_ = std::exchange(from.spare_, nullptr);
    last_serial_ = from.last_serial_;
    full_size_ = std::exchange(from.full_size_, 0);
    held_size_ = std::exchange(from.held_size_, 0);
    block_count_ = std::exchange(from.block_count_, 0);
    next_size_ = std::exchange(from.next_size_, from.first_size_);
    first_size_ = from.first_size_;
    peak_ = std::exchange(from.peak_, 0);
    cycle_peak_ = std::exchange(from.cycle_peak_, 0);
    recent_ = std::exchange(from.recent_, 0);
    refused_ = std::exchange(from.refused_, SIZE_MAX);
    growth_ = from.growth_;
    bump_arena::operator=(std::move(from));
}

// ------------------------------------------------------------------ taking blocks into use

#if CAIRN_ASSERTS
void* growing_arena::allocate_checked(std::size_t size, alignment align) noexcept {
    void* p;
    if (region_.allocate_alone(size, align, p)) [[likely]] { return p; }
    const auto inside = enter();
    return region_.allocate_or(
        size, align, [=, this]() noexcept { return allocate_in_other_block(size, align); });
}
#endif

void* growing_arena::allocate_in_other_block(std::size_t size, alignment align) noexcept {
    // Worst case: padding up to `align` behind the header, then the request.
    const std::size_t padding = align > detail::bump_granule ? align.bytes() - 16 : 0;
    if (size > PTRDIFF_MAX - 15 || padding > PTRDIFF_MAX - size) { return nullptr; }
    // A payload begins at a multiple of 16: that much padding suffices wherever the block lies.
    const std::size_t needed = round_up(size, detail::bump_granule) + padding;
    block* b = nullptr;
    if (needed > (next_size_ - header_size) / 2) {
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
        for (std::size_t wish = next_size_; b == nullptr && wish >= needed + header_size;
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
    if (b == nullptr) { b = ask_upstream(needed + header_size); }
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
    // Links, not blocks: the one that leads to the best is what taking it out changes. O(spares).
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
    if (size > PTRDIFF_MAX - header_size - 15) { return false; }
    const std::size_t needed = round_up(size, detail::bump_granule) + header_size;
    block* const b = ask_upstream(needed > next_size_ ? needed : next_size_);
    if (b == nullptr) { return false; }
    b->next = spare_;
    spare_ = b;
    return true;
}

// ------------------------------------------------------------------ letting blocks go

#if CAIRN_ASSERTS
void growing_arena::deallocate_checked(void* p, std::size_t size, call_site from) noexcept {
    if (region_.deallocate_alone(p, size)) [[likely]] { return; }
    const auto inside = enter(from);
    if (region_.contains(p)) {
        region_.deallocate(p, size, call_of(from));
    } else {
        deallocate_in_full_block(p, size, from);
    }
}
#endif

void growing_arena::deallocate_in_full_block(void* p, std::size_t size,
                                             [[maybe_unused]] call_site from) noexcept {
    if (size == 0) { return; }  // owns no byte: it may lie at the end of a block, or in none
    if (p == nullptr) { return; }
    CAIRN_ASSERT(owns(p), "a block comes back to the arena that it was allocated from",
                 {.kind = misuse_kind::foreign_pointer,
                  .object = this,
                  .type = "growing_arena",
                  .name = watch_.name(),
                  .caller = from,
                  .values = {{"bytes", size}}});
    if (size > first_size_ / 2 - header_size) {
        // Perhaps a block of its own: then it can serve again at once.
        for (block** link = &used_; *link != nullptr; link = &(*link)->next) {
            block* const b = *link;
            if (b->oversized &&
                // It is the block's one request when it ends where the live bytes end. (A request
                // that was shrunk there is not recognized: its block waits for the next reset.)
                round_up(reinterpret_cast<std::uintptr_t>(p) + size, detail::bump_granule) ==
                    b->top &&
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
    poison(p, round_up(size, detail::bump_granule));
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
    // First all live bytes are counted as those of full blocks; each block that goes takes its own
    // out, and the one that becomes current again does so at the end. What is left is the sum over
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
                     "a marker lies inside the live part of its arena",
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
    [[maybe_unused]] const auto inside = enter();
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
            const std::size_t wanted = recent_ + recent_ / 8 + header_size + 64;
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
/// a path that calls upstream.
void growing_arena::trim_spares(std::size_t bytes_kept) noexcept {
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
    while (spare_ != nullptr) {
        block* const b = spare_;
        spare_ = b->next;  // read before: the header goes with the block
        give_back(b);
    }
    spare_ = kept;
}

/// Requires: no block is in use. The old ones go first, so that never more is held than before.
void growing_arena::replace_by_one_block(std::size_t block_size) noexcept {
    if (growth_ == growth::forbidden) { return; }  // better several blocks than none
    trim_spares(0);
    spare_ = ask_upstream(block_size);  // nullptr: the next allocation starts small again
}

void growing_arena::give_back(block* b) noexcept {
    const std::size_t size = b->size;
    forget_description(b->description);
    held_size_ -= size;
    --block_count_;
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

// ------------------------------------------------------------------ questions

///     in use = full_size_ + region_.used_size()
/// Within one block region_ keeps the peak, at every retreat; this adds the blocks beside it,
/// whenever they are about to change. So allocate() counts nothing.
void growing_arena::note_peak() noexcept {
    const std::size_t now = full_size_ + region_.high_water_size();
    cycle_peak_ = now > cycle_peak_ ? now : cycle_peak_;
    peak_ = now > peak_ ? now : peak_;
}

void growing_arena::set_name(const char* name) noexcept {
    static constexpr detail::allocator_type type{
        "growing_arena", [](const void* object, const void* address) noexcept {
            const auto& a = *static_cast<const growing_arena*>(object);
            detail::address_place place;
            const auto at = reinterpret_cast<std::uintptr_t>(address);
            std::size_t number = a.block_count_;  // newest first, the spares last
            for (const block* list : {a.used_, a.spare_}) {
                for (const block* b = list; b != nullptr; b = b->next) {
                    --number;
                    if (at < b->begin() || at >= b->end()) { continue; }
                    const std::uintptr_t top = list == a.spare_                ? b->begin()
                                               : b == a.used_ && !b->oversized ? a.region_.top()
                                                                               : b->top;
                    place = {.inside = true,
                             .unit = "block",
                             .index = number,
                             .offset = at - b->begin(),
                             .size = b->payload_size(),
                             .state = at < top ? detail::given_out : detail::not_given_out};
                }
            }
            return place;
        }};
    how_.name = name;
    watch_.set_name(name, this, type);
    for (block* list : {used_, spare_}) {
        for (block* b = list; b != nullptr; b = b->next) {
            forget_description(b->description);
            b->description =
                watch_.describe(reinterpret_cast<void*>(b->begin()), b->payload_size());
        }
    }
}

bool growing_arena::owns(const void* p) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    for (const block* b = used_; b != nullptr; b = b->next) {
        if (address >= b->begin() && address < b->end()) { return true; }
    }
    return false;
}

std::size_t growing_arena::used_size() const noexcept { return full_size_ + region_.used_size(); }

std::size_t growing_arena::capacity() const noexcept {
    return held_size_ - block_count_ * header_size;
}

std::size_t growing_arena::block_count() const noexcept { return block_count_; }

std::size_t growing_arena::high_water_size() const noexcept {
    const std::size_t now = full_size_ + region_.high_water_size();
    return now > peak_ ? now : peak_;
}

void growing_arena::reset_high_water() noexcept {
    peak_ = 0;
    region_.reset_high_water();
}

void growing_arena::validate() const noexcept {
    region_.validate();
    std::size_t count = 0;
    std::size_t held = 0;
    std::size_t full = 0;
    for (const block* b = used_; b != nullptr; b = b->next) {
        ++count;
        held += b->size;
        CAIRN_ASSERT(b->serial <= last_serial_, "no block is younger than the youngest");
        if (b == used_ && !b->oversized) {
            CAIRN_ASSERT(region_.begin() == b->begin() && region_.end() == b->end(),
                         "the region lies inside the current block");
        } else {
            CAIRN_ASSERT(b->top >= b->begin() && b->top <= b->end(),
                         "the live bytes of a full block lie inside it");
            full += b->top - b->begin();
        }
    }
    for (const block* b = spare_; b != nullptr; b = b->next) {
        ++count;
        held += b->size;
    }
    CAIRN_ASSERT(count == block_count_, "every block is used or spare");
    CAIRN_ASSERT(held == held_size_, "every byte asked of upstream is in a block");
    CAIRN_ASSERT(full == full_size_, "the live bytes of full blocks add up");
    (void)count, (void)held, (void)full;
}

}  // namespace cairn::inline CAIRN_FLAVOUR
