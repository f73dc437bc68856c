// Cold half of cairn/storage/inside/slot_directory.hpp: growth, ends of promises and slots, checks;
// compiled for both orders here.
#include <cairn/storage/inside/slot_directory.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <cairn/storage/inside/growth.hpp>
#include <cairn/storage/inside/refuse_handle.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

directory_numbers::directory_numbers(directory_numbers&& other) noexcept {
    copy_numbers(other);
    other.copy_numbers({});
    other.turn_mask_ = turn_mask_;
}

directory_numbers& directory_numbers::operator=(directory_numbers&& other) noexcept {
    const directory_numbers taken{std::move(other)};  // in this order it is right for itself, too
    copy_numbers(taken);
    return *this;
}

void directory_numbers::copy_numbers(const directory_numbers& other) noexcept { *this = other; }

namespace {

/// A 64th of a slot's lives, but 16 at least and 1024 at most, less one: a mask.
constexpr std::uint32_t turn_mask(std::uint32_t generation_max) noexcept {
    const std::uint32_t share = generation_max / 64;
    return std::bit_ceil(share < 16 ? 16 : share < 1024 ? share : 1024) - 1;
}

}  // namespace

template <reuse Order>
slot_directory<Order>::slot_directory(slot_rules rules, allocator_ref upstream) noexcept
    : lives_{rules.generation_max, rules.first_generation},
      rules_{rules},
      slot_memory_{cache_line_alignment, upstream},
      line_memory_{cache_line_alignment, upstream} {
    turn_mask_ = turn_mask(rules.generation_max);
}

template <reuse Order>
bool slot_directory<Order>::copy_from(const slot_directory& other) noexcept {
    CAIRN_ASSERT(capacity_ == 0, "slots are copied into a directory without any");
    if (other.capacity_ != 0) {
        const std::size_t slot_size = other.capacity_ * sizeof(slot);
        const std::size_t line_size = other.capacity_ * sizeof(std::uint32_t);
        if (!line_memory_.grow(line_size, 0) || !slot_memory_.grow(slot_size, 0)) { return false; }
        std::memcpy(line_memory_.data(), other.line_, line_size);
        std::memcpy(slot_memory_.data(), other.slots_, slot_size);
        // Last: until here capacity_ is 0, so no handle finds anything in what a refusal leaves
        // half done. live_max_ is not copied: it speaks of the columns of this directory's owner.
        const std::uint32_t live_max = live_max_;
        copy_numbers(other);
        live_max_ = live_max;
        line_ = reinterpret_cast<std::uint32_t*>(line_memory_.data());
        slots_ = reinterpret_cast<slot*>(slot_memory_.data());
        set_limit();
    }
    lives_.copy_from(other.lives_);  // without slots, too: a first life may have been asked for
    return true;
}

template <reuse Order>
bool slot_directory<Order>::reserve(std::size_t live_count) noexcept {
    const std::size_t max = rules_.slot_count_max;
    // Slots that never come back, and those that are withheld, come on top of the ones in use.
    if (live_count > max - worn_out_count_) { return false; }
    const std::size_t wanted = live_count + rules_.free_min + worn_out_count_;
    return grow(wanted < max ? wanted : max, true, nullptr);
}

template <reuse Order>
bool slot_directory<Order>::reserve_address_space(std::size_t live_max, page_options how) noexcept {
    CAIRN_ASSERT(capacity_ == 0, "addresses are reserved before the first slot");
    if (live_max == 0 || live_max > rules_.slot_count_max) { return false; }
    const std::size_t slot_max = live_max + rules_.free_min;
    return slot_memory_.reserve_address_space(slot_max * sizeof(slot), how) &&
           line_memory_.reserve_address_space(slot_max * sizeof(std::uint32_t), how);
}

template <reuse Order>
bool slot_directory<Order>::make_ready(left_block* old) noexcept {
    if (free_count() > rules_.free_min) { return true; }
    // Here free_count() <= free_min, so this asks for at least one slot more than capacity_: then
    // more than free_min are free. Rather one of the last free_min than none.
    return grow(std::size_t{in_use_count()} + rules_.free_min + worn_out_count_ + 1, false, old) ||
           free_count() != 0;
}

/// `takes_little`: exactly what is needed will do, where there is no more.
template <reuse Order>
bool slot_directory<Order>::grow(std::size_t needed, bool takes_little, left_block* old) noexcept {
    const std::size_t max = rules_.slot_count_max;
    if (needed <= capacity_) { return true; }
    needed = needed < max ? needed : max;
    if (needed <= capacity_) { return false; }
    // Inside reserved addresses growth copies nothing, so small steps keep the worst insertion
    // short.
    const bool in_place = slot_memory_.is_reserved();
    constexpr std::size_t step = 4096;
    const std::size_t stepped = in_place ? (needed + step - 1) / step * step : needed;
    const auto attempt = [this, old](std::size_t count) {
        return grow_exactly(static_cast<std::uint32_t>(count), old);
    };
    return grow_room(capacity_, stepped < max ? stepped : max, max, in_place, attempt) ||
           ((takes_little || in_place) && attempt(needed));
}

template <reuse Order>
bool slot_directory<Order>::grow_exactly(std::uint32_t count, left_block* old) noexcept {
    // The line of the free slots first, the slots behind it. A refusal of the second leaves a line
    // that is longer than it need be: both are as long as capacity_ says, which has not changed.
    {
        growable_memory::left_block old_line;  // back before the slots grow: a lower peak
        if (!line_memory_.grow(count * sizeof(std::uint32_t), capacity_ * sizeof(std::uint32_t),
                               &old_line)) {
            return false;
        }
        line_ = reinterpret_cast<std::uint32_t*>(line_memory_.data());
    }
    left_block old_slots;
    if (!slot_memory_.grow(count * sizeof(slot), capacity_ * sizeof(slot),
                           old != nullptr ? old : &old_slots)) {
        return false;
    }
    slots_ = reinterpret_cast<slot*>(slot_memory_.data());
    // Draws at the first growth only. lives_before() counts the lives that a slot has had.
    lives_.begin();
    const std::uint32_t first = vacant | lives_.added();
    for (std::uint32_t i = capacity_; i < count; ++i) { slots_[i] = {first, none}; }
    widen_line(count);
    capacity_ = count;
    set_limit();
    return true;
}

//      fifo, before  [ c d | tail ... head | a b ]             oldest first: a b c d
//            after   [ c d e f | tail ......... head | a b ]   e, f: the new slots, youngest of all
//      lifo          the new slots go below the free ones, the lowest of them on top
template <reuse Order>
void slot_directory<Order>::widen_line(std::uint32_t count) noexcept {
    const std::uint32_t added = count - capacity_;
    if constexpr (Order == reuse::lifo) {
        if (head_ != 0) { std::memmove(line_ + added, line_, head_ * sizeof(std::uint32_t)); }
        for (std::uint32_t i = 0; i < added; ++i) { line_[i] = count - 1 - i; }
        head_ = head_ + added;
    } else {
        // The ring is as long as capacity_, and full when tail_ == head_ with free slots in it.
        // Without any it begins anew at 0; with tail_ > head_ it does not wrap, and the new slots
        // fit behind it, because tail_ + added <= count - 1.
        if (free_count() == 0) {
            head_ = 0;
            tail_ = 0;
        } else if (tail_ <= head_) {  // wraps: the oldest move up to the new end
            std::memmove(line_ + head_ + added, line_ + head_,
                         (capacity_ - head_) * sizeof(std::uint32_t));
            head_ = head_ + added;
        }
        for (std::uint32_t i = capacity_; i < count; ++i) {
            line_[tail_] = i;
            tail_ = tail_ + 1 == count ? 0 : tail_ + 1;
        }
    }
}

template <reuse Order>
bool slot_directory<Order>::shrink_to_fit() noexcept {
    const auto may_go = [this](const slot& s) {
        return (s.word & vacant) != 0 && s.value != promised_mark &&
               lives_.may_part_with(s.word & ~vacant);
    };
    std::uint32_t count = capacity_;
    for (; count != 0 && may_go(slots_[count - 1]); --count) {
        lives_.part_with(slots_[count - 1].word & ~vacant);
    }
    narrow_line(count);
    capacity_ = count;
    set_limit();
    growable_memory::left_block old_line;
    growable_memory::left_block old_slots;
    const bool slots_fit = slot_memory_.shrink(count * sizeof(slot), &old_slots);
    const bool line_fits = line_memory_.shrink(count * sizeof(std::uint32_t), &old_line);
    slots_ = reinterpret_cast<slot*>(slot_memory_.data());
    line_ = reinterpret_cast<std::uint32_t*>(line_memory_.data());
    return slots_fit && line_fits;
}

/// A worn-out slot is vacant in life 0, which no free slot is in.
template <reuse Order>
void slot_directory<Order>::sort_free() noexcept {
    const std::uint32_t count = free_count();
    for (std::uint32_t i = 0, found = 0; found != count; ++i) {
        const slot& s = slots_[i];
        if (s.word <= vacant || s.value == promised_mark) { continue; }
        line_[Order == reuse::fifo ? found : count - 1 - found] = i;
        ++found;
    }
    if (Order == reuse::fifo) {
        head_ = 0;
        tail_ = count != capacity_ ? count : 0;
    }
}

/// The free slots from `count` on leave the line; the others keep their order.
template <reuse Order>
void slot_directory<Order>::narrow_line(std::uint32_t count) noexcept {
    if (Order == reuse::fifo) { std::rotate(line_, line_ + head_, line_ + capacity_); }
    std::uint32_t* const end = line_ + free_count();
    const auto kept = static_cast<std::uint32_t>(
        std::remove_if(line_, end, [=](std::uint32_t i) { return i >= count; }) - line_);
    // fifo: the ring begins at 0, and is full when all of `count` are free.
    head_ = Order == reuse::fifo ? 0 : kept;
    tail_ = Order == reuse::fifo && kept != count ? kept : 0;
}

//      before   [ a b c d | top ]     x has lived its turn; b is next in turn
//      after    [ a x c d b | top ]   b is used next; c is the next that is exchanged
/// Slot `index` is free, but another free slot is used first. No search, two entries change.
template <reuse Order>
void slot_directory<Order>::exchange(std::uint32_t index) noexcept {
    if (head_ != 0) {
        tail_ = tail_ + 1 < head_ ? tail_ + 1 : 0;
        index = std::exchange(line_[tail_], index);
    }
    line_[head_] = index;
    head_ = head_ + 1;
}

/// Called when any of its terms has changed, but live_, which is compared with it:
///     live_ < limit_   =>   live_ + promised_count_ + worn_out_count_ + free_min < capacity_
///                      =>   more than free_min slots are free, and the owner has room for one row
template <reuse Order>
void slot_directory<Order>::set_limit() noexcept {
    const std::uint32_t withheld = rules_.free_min + worn_out_count_ + promised_count_;
    const std::uint32_t limit = capacity_ > withheld ? capacity_ - withheld : 0;
    limit_ = limit < live_max_ ? limit : live_max_;
}

template <reuse Order>
std::uint32_t slot_directory<Order>::lives_behind(std::uint32_t generation) const noexcept {
    return lives_.largest() - 1 - lives_.lives_before(generation);
}

template <reuse Order>
bool slot_directory<Order>::is_promised(std::uint32_t index,
                                        std::uint32_t generation) const noexcept {
    return index < capacity_ && slots_[index].word == (generation | vacant) &&
           slots_[index].value == promised_mark;
}

template <reuse Order>
void slot_directory<Order>::promise(std::uint32_t index) noexcept {
    take(index);
    slots_[index].value = promised_mark;
    ++promised_count_;
    set_limit();
}

template <reuse Order>
void slot_directory<Order>::fulfil(std::uint32_t index, std::uint32_t value) noexcept {
    CAIRN_ASSERT(index < capacity_ && slots_[index].value == promised_mark, "the slot is promised");
    CAIRN_ASSERT(value <= value_max, "a value is at most value_max");
    slots_[index] = {slots_[index].word & ~vacant, value};
    --promised_count_;
    ++live_;
    set_limit();
}

template <reuse Order>
void slot_directory<Order>::vacate(std::uint32_t index) noexcept {
    CAIRN_ASSERT(index < capacity_ &&
                     ((slots_[index].word & vacant) == 0 || slots_[index].value == promised_mark),
                 "a slot that is vacated was in use");
    if ((slots_[index].word & vacant) != 0) [[unlikely]] { return end_promise(index); }
    vacate_live(index, slots_[index].word);
}

/// The mark goes before the slot is free: a free slot with it would be taken for a promised one.
template <reuse Order>
void slot_directory<Order>::end_promise(std::uint32_t index) noexcept {
    slot& s = slots_[index];
    const std::uint32_t generation = s.word & ~vacant;
    --promised_count_;
    s.value = none;
    set_limit();
    end_life(index, generation);
}

/// Every promised slot has an index below capacity_, so the walk ends there at the latest.
template <reuse Order>
void slot_directory<Order>::vacate_promised() noexcept {
    for (std::uint32_t i = 0; promised_count_ != 0; ++i) {
        if (slots_[i].value == promised_mark) { end_promise(i); }
    }
}

template <reuse Order>
std::uint32_t slot_directory<Order>::recycle_worn_out(no_handles_left_t) noexcept {
    const std::uint32_t count = worn_out_count_;
    for (std::uint32_t i = worn_out_head_; worn_out_count_ != 0; --worn_out_count_) {
        // Read before the slot is written: the chain of the worn-out ones runs through the values.
        const std::uint32_t following = slots_[i].value;
        slots_[i] = {vacant | lives_.first(), none};
        give_back(i);
        i = following;
    }
    worn_out_head_ = none;
    set_limit();
    return count;
}

/// `vacant` alone is life 0, which no handle names: no handle finds the slot from now on.
template <reuse Order>
void slot_directory<Order>::wear_out(std::uint32_t index) noexcept {
    slots_[index] = {vacant, worn_out_head_};
    worn_out_head_ = index;
    ++worn_out_count_;
    set_limit();
}

template <reuse Order>
handle_fault slot_directory<Order>::fault_of(std::uint32_t index,
                                             std::uint32_t generation) const noexcept {
    if (index == 0 && generation == 0) { return handle_fault::null; }
    if (index >= capacity_) { return handle_fault::foreign; }
    return lives_.judge(generation, slots_[index].word, is_promised(index, generation));
}

template <reuse Order>
void slot_directory<Order>::refuse(std::uint32_t index, std::uint32_t generation, const void* map,
                                   const char* type, call_site from) const {
    const std::uint32_t life = index < capacity_ ? slots_[index].word & ~vacant : 0;
    refuse_handle({fault_of(index, generation), map, type, index, capacity_, life, generation},
                  from);
}

template <reuse Order>
void slot_directory<Order>::validate() const noexcept {
#if CAIRN_ASSERTS
    std::uint32_t at = Order == reuse::fifo ? head_ : 0u;
    for (std::uint32_t found = 0; found < free_count(); ++found) {
        CAIRN_ASSERT(
            (slots_[line_[at]].word & vacant) != 0 && slots_[line_[at]].value != promised_mark,
            "a slot that waits for use is free");
        at = at + 1 == capacity_ ? 0 : at + 1;
    }
    CAIRN_ASSERT(Order == reuse::fifo || head_ == free_count(), "the stack holds all free slots");
    CAIRN_ASSERT(Order == reuse::lifo || free_count() == 0 || at == tail_,
                 "the ring holds all free slots");
    std::uint32_t live_found = 0;
    std::uint32_t promised_found = 0;
    for (std::uint32_t i = 0; i < capacity_; ++i) {
        const slot& s = slots_[i];
        const bool is_vacant = (s.word & vacant) != 0;
        live_found += is_vacant ? 0 : 1;
        promised_found += is_vacant && (s.word & ~vacant) != 0 && s.value == promised_mark ? 1 : 0;
        CAIRN_ASSERT((s.word & ~vacant) <= lives_.largest(), "generations stay in range");
        CAIRN_ASSERT(is_vacant || s.word != 0, "a live slot has a generation");
    }
    std::uint32_t worn_out_found = 0;
    for (std::uint32_t i = worn_out_head_; i != none; i = slots_[i].value) { ++worn_out_found; }
    CAIRN_ASSERT(promised_found == promised_count_, "promised slots are counted");
    CAIRN_ASSERT(live_found == live_count(), "live slots are counted");
    CAIRN_ASSERT(worn_out_found == worn_out_count_, "worn-out slots are counted");
    CAIRN_ASSERT(capacity_ * sizeof(slot) <= slot_memory_.size(), "slots lie inside their memory");
#endif
}

template class slot_directory<reuse::fifo>;
template class slot_directory<reuse::lifo>;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
