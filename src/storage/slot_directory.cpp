#include <cairn/storage/slot_directory.hpp>

#include <cstring>
#include <utility>

namespace cairn::inline CAIRN_FLAVOUR {

slot_directory_base::slot_directory_base(slot_directory_base&& other) noexcept
    : live_{std::exchange(other.live_, 0)},
      limit_{std::exchange(other.limit_, 0)},
      capacity_{std::exchange(other.capacity_, 0)},
      head_{std::exchange(other.head_, 0)},
      memory_{std::move(other.memory_)},
      tail_{std::exchange(other.tail_, 0)},
      lives_{std::move(other.lives_)},
      rules_{other.rules_},
      promised_count_{std::exchange(other.promised_count_, 0)},
      worn_out_count_{std::exchange(other.worn_out_count_, 0)},
      worn_out_head_{std::exchange(other.worn_out_head_, none)},
      live_max_{std::exchange(other.live_max_, other.live_max_ == none ? none : 0)},
      line_memory_{std::move(other.line_memory_)} {}

slot_directory_base& slot_directory_base::operator=(slot_directory_base&& other) noexcept {
    if (this != &other) {
        live_ = std::exchange(other.live_, 0);
        limit_ = std::exchange(other.limit_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        head_ = std::exchange(other.head_, 0);
        memory_ = std::move(other.memory_);
        tail_ = std::exchange(other.tail_, 0);
        lives_ = std::move(other.lives_);
        rules_ = other.rules_;
        promised_count_ = std::exchange(other.promised_count_, 0);
        worn_out_count_ = std::exchange(other.worn_out_count_, 0);
        worn_out_head_ = std::exchange(other.worn_out_head_, none);
        live_max_ = std::exchange(other.live_max_, other.live_max_ == none ? none : 0);
        line_memory_ = std::move(other.line_memory_);
    }
    return *this;
}

bool slot_directory_base::copy_slots(const slot_directory_base& other, bool has_line) noexcept {
    CAIRN_ASSERT(capacity_ == 0, "slots are copied into a directory without any");
    if (other.capacity_ == 0) { return true; }
    const std::size_t line_size = has_line ? other.capacity_ * sizeof(std::uint32_t) : 0;
    if (!memory_.grow(other.capacity_ * sizeof(slot), 0)) { return false; }
    if (has_line && !line_memory_.grow(line_size, 0)) { return false; }
    std::memcpy(memory_.data(), other.memory_.data(), other.capacity_ * sizeof(slot));
    if (has_line) { std::memcpy(line_memory_.data(), other.line_memory_.data(), line_size); }
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

std::uint32_t slot_directory_base::grown_capacity(std::size_t needed) const noexcept {
    // Inside reserved addresses growth copies nothing, so small steps keep the worst insertion
    // short.
    constexpr std::size_t step = 4096;
    const std::size_t wish =
        memory_.is_reserved() ? (needed + step - 1) / step * step : grown_count(capacity_, needed);
    const std::size_t max = rules_.slot_count_max;
    return static_cast<std::uint32_t>(wish < max ? wish : max);
}

bool slot_directory_base::grow_slots(std::uint32_t count) noexcept {
    return memory_.grow(count * sizeof(slot), capacity_ * sizeof(slot));
}

void slot_directory_base::start_slots(std::uint32_t count) noexcept {
    lives_.begin();
    const std::uint32_t first = vacant | lives_.first();
    for (std::uint32_t i = capacity_; i < count; ++i) { slots()[i] = {first, none}; }
    capacity_ = count;
    set_limit();
}

//      before   [ c d | tail ... head | a b ]             oldest first: a b c d
//      after    [ c d e f | tail ......... head | a b ]   e, f: the new slots, youngest of all
void slot_directory_base::widen_ring(std::uint32_t count) noexcept {
    const std::uint32_t free_before = free_count();
    const std::uint32_t added = count - capacity_;
    std::uint32_t* const ring = line();
    if (free_before == 0) {
        head_ = 0;
        tail_ = 0;
    } else if (tail_ <= head_) {  // wraps: the oldest move up to the new end
        std::memmove(ring + head_ + added, ring + head_,
                     (capacity_ - head_) * sizeof(std::uint32_t));
        head_ += added;
    }
    for (std::uint32_t i = 0; i < added; ++i) {
        ring[tail_] = capacity_ + i;
        tail_ = tail_ + 1 == count ? 0 : tail_ + 1;
    }
}

/// New slots go below the free ones, the lowest of them on top.
void slot_directory_base::widen_stack(std::uint32_t count) noexcept {
    const std::uint32_t added = count - capacity_;
    std::uint32_t* const stack = line();
    if (head_ != 0) { std::memmove(stack + added, stack, head_ * sizeof(std::uint32_t)); }
    for (std::uint32_t i = 0; i < added; ++i) { stack[i] = count - 1 - i; }
    head_ += added;
}

void slot_directory_base::set_limit() noexcept {
    const std::uint32_t withheld = rules_.free_min + worn_out_count_ + promised_count_;
    limit_ = capacity_ > withheld ? capacity_ - withheld : 0;
    limit_ = limit_ < live_max_ ? limit_ : live_max_;
}

void slot_directory_base::wear_out(std::uint32_t index) noexcept {
    slots()[index] = {vacant, worn_out_head_};
    worn_out_head_ = index;
    ++worn_out_count_;
    set_limit();
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

void slot_directory_base::validate_counts(
    [[maybe_unused]] std::uint32_t free_found) const noexcept {
#if CAIRN_ASSERTS
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

}  // namespace cairn::inline CAIRN_FLAVOUR
