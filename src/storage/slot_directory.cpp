// Cold half of cairn/storage/slot_directory.hpp: growth, the ends of promises and of slots, checks.
//
// Not a template: the order of reuse is a member here, and a switch costs nothing where it is rare.
//
//     capacity_ = live_ + promised_count_ + worn_out_count_ + free slots
//
// Each free slot stands in the line (fifo: a ring, lifo: a stack) or in the set (lowest) exactly
// once. A worn-out slot is in neither: it is chained to the other ones by its value.
#include <cairn/storage/slot_directory.hpp>

#include <cstring>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

/// Calls f<Order>() with the order that is known at run time.
template <class F>
void call_with(reuse order, F f) noexcept {
    if (order == reuse::fifo) { return f.template operator()<reuse::fifo>(); }
    if (order == reuse::lifo) { return f.template operator()<reuse::lifo>(); }
    f.template operator()<reuse::lowest>();
}

}  // namespace

bool slot_directory_base::copy_slots(const slot_directory_base& other) noexcept {
    CAIRN_ASSERT(capacity_ == 0, "slots are copied into a directory without any");
    if (other.capacity_ == 0) {  // no slots, but a first life may have been asked for
        lives_.copy_from(other.lives_);
        return true;
    }
    const std::size_t line_size = other.capacity_ * sizeof(std::uint32_t);
    const bool has_room =
        order_ == reuse::lowest ? free_.copy_from(other.free_) : free_.memory().grow(line_size, 0);
    if (!has_room || !memory_.grow(other.capacity_ * sizeof(slot), 0)) { return false; }
    std::memcpy(memory_.data(), other.memory_.data(), other.capacity_ * sizeof(slot));
    if (order_ != reuse::lowest) { std::memcpy(line(), other.line(), line_size); }
    // Last: until here capacity_ is 0, so no handle finds anything in what a refusal leaves half
    // done. live_max_ is not copied: it speaks of the columns of this directory's owner.
    live_ = other.live_;
    capacity_ = other.capacity_;
    head_ = other.head_;
    tail_ = other.tail_;
    lives_.copy_from(other.lives_);
    promised_count_ = other.promised_count_;
    worn_out_count_ = other.worn_out_count_;
    worn_out_head_ = other.worn_out_head_;
    set_limit();
    return true;
}

bool slot_directory_base::reserve(std::size_t live_count) noexcept {
    const std::size_t max = rules_.slot_count_max;
    // Slots that never come back, and those that fifo withholds, come on top of the ones in use.
    if (live_count > max - worn_out_count_) { return false; }
    const std::size_t wanted = live_count + rules_.free_min + worn_out_count_;
    return grow(wanted < max ? wanted : max, true);
}

bool slot_directory_base::reserve_address_space(std::size_t live_max, page_options how) noexcept {
    CAIRN_ASSERT(capacity_ == 0, "addresses are reserved before the first slot");
    if (live_max == 0 || live_max > rules_.slot_count_max) { return false; }
    const std::size_t slot_max = live_max + rules_.free_min;
    return memory_.reserve_address_space(slot_max * sizeof(slot), how) &&
           (order_ == reuse::lowest
                ? free_.reserve_address_space(slot_max, how)
                : free_.memory().reserve_address_space(slot_max * sizeof(std::uint32_t), how));
}

bool slot_directory_base::make_ready() noexcept {
    if (free_count() > rules_.free_min) { return true; }
    // Here free_count() <= free_min, so this asks for at least one slot more than capacity_: then
    // more than free_min are free. Rather one of the last free_min than none.
    return grow(std::size_t{in_use_count()} + rules_.free_min + worn_out_count_ + 1, false) ||
           free_count() != 0;
}

/// `takes_little`: exactly what is needed will do, where there is no more.
bool slot_directory_base::grow(std::size_t needed, bool takes_little) noexcept {
    if (needed <= capacity_) { return true; }
    const std::size_t max = rules_.slot_count_max;
    if (needed > max) { needed = max; }
    if (needed <= capacity_) { return false; }
    // Inside reserved addresses growth copies nothing, so small steps keep the worst insertion
    // short.
    constexpr std::size_t step = 4096;
    std::size_t wish =
        memory_.is_reserved() ? (needed + step - 1) / step * step : grown_count(capacity_, needed);
    wish = wish < max ? wish : max;
    const auto attempt = [this](std::size_t count) {
        return grow_exactly(static_cast<std::uint32_t>(count));
    };
    return grow_by_halves(capacity_, needed, wish, attempt) != 0 ||
           (wish != needed && (takes_little || memory_.is_reserved()) && attempt(needed));
}

bool slot_directory_base::grow_exactly(std::uint32_t count) noexcept {
    // The line of the free ones first, the slots behind it. A refusal of the second leaves a line
    // that is longer than it need be: both are as long as capacity_ says, which has not changed.
    const bool has_room =
        order_ == reuse::lowest
            ? free_.ensure(count)
            : free_.memory().grow(count * sizeof(std::uint32_t), capacity_ * sizeof(std::uint32_t));
    if (!has_room || !memory_.grow(count * sizeof(slot), capacity_ * sizeof(slot))) {
        return false;
    }
    // Draws at the first growth only. All slots begin at one life, so that lives_before() can tell
    // how far each has come.
    lives_.begin();
    const std::uint32_t first = vacant | lives_.first();
    for (std::uint32_t i = capacity_; i < count; ++i) { slots()[i] = {first, none}; }
    if (order_ == reuse::fifo) {
        widen_ring(count);
    } else if (order_ == reuse::lifo) {
        widen_stack(count);
    } else {
        for (std::uint32_t i = capacity_; i < count; ++i) { free_.insert(i); }
    }
    capacity_ = count;
    set_limit();
    return true;
}

//      before   [ c d | tail ... head | a b ]             oldest first: a b c d
//      after    [ c d e f | tail ......... head | a b ]   e, f: the new slots, youngest of all
void slot_directory_base::widen_ring(std::uint32_t count) noexcept {
    // The ring is as long as capacity_, and full when tail_ == head_ with free slots in it. Without
    // any it begins anew at 0; with tail_ > head_ it does not wrap, and the new slots fit behind
    // it, because tail_ + added <= count - 1.
    const std::uint32_t free_before = free_count();
    const std::uint32_t added = count - capacity_;
    std::uint32_t* const ring = line();
    if (free_before == 0) {
        head_ = 0;
        tail_ = 0;
    } else if (tail_ <= head_) {  // wraps: the oldest move up to the new end
        std::memmove(ring + head_ + added, ring + head_,
                     (capacity_ - head_) * sizeof(std::uint32_t));
        head_ = head_ + added;
    }
    std::uint32_t tail = tail_;
    for (std::uint32_t i = capacity_; i < count; ++i) {
        ring[tail] = i;
        tail = tail + 1 == count ? 0 : tail + 1;
    }
    tail_ = tail;
}

/// New slots go below the free ones, the lowest of them on top.
void slot_directory_base::widen_stack(std::uint32_t count) noexcept {
    const std::uint32_t added = count - capacity_;
    std::uint32_t* const stack = line();
    if (head_ != 0) { std::memmove(stack + added, stack, head_ * sizeof(std::uint32_t)); }
    for (std::uint32_t i = 0; i < added; ++i) { stack[i] = count - 1 - i; }
    head_ = head_ + added;
}

//      before   [ a b c d | top ]     x has lived its turn; b is next in turn
//      after    [ a x c d b | top ]   b is used next; c comes up when the next one makes way
/// Slot `index` is free, but another one that waits is used first. No search, two entries change.
void slot_directory_base::make_way(std::uint32_t index) noexcept {
    std::uint32_t* const stack = line();
    const std::uint32_t free_before = head_;
    if (free_before != 0) {
        tail_ = tail_ + 1 < free_before ? tail_ + 1 : 0;
        index = std::exchange(stack[tail_], index);
    }
    stack[free_before] = index;
    head_ = free_before + 1;
}

/// Called when any of its terms has changed, but live_, which is compared with it:
///     live_ < limit_   =>   live_ + promised_count_ + worn_out_count_ + free_min < capacity_
///                      =>   more than free_min slots are free, and the owner has room for one row
void slot_directory_base::set_limit() noexcept {
    const std::uint32_t withheld = rules_.free_min + worn_out_count_ + promised_count_;
    const std::uint32_t limit = capacity_ > withheld ? capacity_ - withheld : 0;
    limit_ = limit < live_max_.value ? limit : live_max_.value;
}

void slot_directory_base::give_any_back(std::uint32_t index) noexcept {
    call_with(order_, [&]<reuse Order>() { give_back<Order>(index); });
}

/// The mark goes before the slot is free: a free slot with it would be taken for a promised one.
void slot_directory_base::end_promise(std::uint32_t index) noexcept {
    slot& s = slots()[index];
    const std::uint32_t generation = s.word & ~vacant;
    --promised_count_;
    s.value = none;
    set_limit();
    call_with(order_, [&]<reuse Order>() { end_life<Order>(index, generation); });
}

/// Every promised slot has an index below capacity_, so the walk ends there at the latest.
void slot_directory_base::vacate_promised() noexcept {
    for (std::uint32_t i = 0; promised_count_ != 0; ++i) {
        if (slots()[i].value == promised_mark) { end_promise(i); }
    }
}

std::uint32_t slot_directory_base::recycle_worn_out(no_handles_left_t) noexcept {
    const std::uint32_t count = worn_out_count_;
    for (std::uint32_t i = worn_out_head_; worn_out_count_ != 0; --worn_out_count_) {
        // Read before the slot is written: the chain of the worn-out ones runs through the values.
        const std::uint32_t following = slots()[i].value;
        slots()[i] = {vacant | lives_.first(), none};
        give_any_back(i);
        i = following;
    }
    worn_out_head_ = none;
    set_limit();
    return count;
}

/// `vacant` alone is life 0, which no handle names: the slot is not found by any, for ever.
void slot_directory_base::wear_out(std::uint32_t index) noexcept {
    slots()[index] = {vacant, worn_out_head_};
    worn_out_head_ = index;
    ++worn_out_count_;
    set_limit();
}

std::uint32_t slot_directory_base::find_called(std::uint32_t index,
                                               std::uint32_t generation) const noexcept {
    const bool is_there = index < capacity_ && slots()[index].word == generation;
    return is_there ? slots()[index].value : none;
}

slot_directory_base::place slot_directory_base::find_place(std::uint32_t index,
                                                           std::uint32_t generation,
                                                           const void* rows, std::size_t row_size,
                                                           std::size_t count) const noexcept {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(rows));
    const std::uint32_t row = find_called(index, generation);
    return {row != none ? first + row * row_size : nullptr, first + count * row_size};
}

handle_fault slot_directory_base::fault_of(std::uint32_t index,
                                           std::uint32_t generation) const noexcept {
    if (index == 0 && generation == 0) { return handle_fault::null; }
    if (index >= capacity_) { return handle_fault::foreign; }
    const slot& s = slots()[index];
    return lives_.judge(generation, s.word, is_promised(index, generation));
}

void slot_directory_base::refuse(std::uint32_t index, std::uint32_t generation, const void* map,
                                 const char* type, call_site from) const {
    const std::uint32_t life = index < capacity_ ? slots()[index].word & ~vacant : 0;
    detail::refuse_handle(
        {fault_of(index, generation), map, type, index, capacity_, life, generation}, from);
}

void slot_directory_base::validate() const noexcept {
#if CAIRN_ASSERTS
    std::uint32_t free_found = 0;
    if (order_ == reuse::lowest) {
        for (std::uint32_t i = 0; i < capacity_; ++i) { free_found += free_.contains(i) ? 1u : 0u; }
    } else {
        std::uint32_t at = order_ == reuse::fifo ? head_ : 0u;
        for (; free_found < free_count(); ++free_found) {
            CAIRN_ASSERT((slots()[line()[at]].word & vacant) != 0 &&
                             slots()[line()[at]].value != promised_mark,
                         "a slot that waits for use is free");
            at = at + 1 == capacity_ ? 0 : at + 1;
        }
        CAIRN_ASSERT(order_ == reuse::fifo || head_ == free_found,
                     "the stack holds all free slots");
        CAIRN_ASSERT(order_ == reuse::lifo || free_count() == 0 || at == tail_,
                     "the ring holds all free slots");
    }
    std::uint32_t live_found = 0;
    std::uint32_t promised_found = 0;
    for (std::uint32_t i = 0; i < capacity_; ++i) {
        const slot& s = slots()[i];
        const bool is_vacant = (s.word & vacant) != 0;
        live_found += is_vacant ? 0 : 1;
        promised_found += is_vacant && (s.word & ~vacant) != 0 && s.value == promised_mark ? 1 : 0;
        CAIRN_ASSERT((s.word & ~vacant) <= lives_.max(), "generations stay in range");
        CAIRN_ASSERT(is_vacant || s.word != 0, "a live slot has a generation");
    }
    std::uint32_t worn_out_found = 0;
    for (std::uint32_t i = worn_out_head_; i != none; i = slots()[i].value) { ++worn_out_found; }
    CAIRN_ASSERT(free_found == free_count(), "every free slot is found, once");
    CAIRN_ASSERT(promised_found == promised_count_, "promised slots are counted");
    CAIRN_ASSERT(live_found == live_count(), "live slots are counted");
    CAIRN_ASSERT(worn_out_found == worn_out_count_, "worn-out slots are counted");
    CAIRN_ASSERT(capacity_ * sizeof(slot) <= memory_.size(), "slots lie inside their memory");
#endif
}

}}  // namespace cairn::CAIRN_FLAVOUR
