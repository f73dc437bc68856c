#include <cairn/alloc/slot_directory.hpp>

#include <utility>

#include <cairn/core/bits.hpp>

namespace cairn {

slot_directory_base::slot_directory_base(slot_directory_base&& other) noexcept
    : rules_{other.rules_},
      used_{std::exchange(other.used_, 0)},
      capacity_{std::exchange(other.capacity_, 0)},
      free_count_{std::exchange(other.free_count_, 0)},
      head_{std::exchange(other.head_, none)},
      tail_{std::exchange(other.tail_, none)},
      held_count_{std::exchange(other.held_count_, 0)},
      retired_count_{std::exchange(other.retired_count_, 0)},
      retired_head_{std::exchange(other.retired_head_, none)},
      memory_{std::move(other.memory_)} {}

slot_directory_base& slot_directory_base::operator=(slot_directory_base&& other) noexcept {
    if (this != &other) {
        rules_ = other.rules_;
        used_ = std::exchange(other.used_, 0);
        capacity_ = std::exchange(other.capacity_, 0);
        free_count_ = std::exchange(other.free_count_, 0);
        head_ = std::exchange(other.head_, none);
        tail_ = std::exchange(other.tail_, none);
        held_count_ = std::exchange(other.held_count_, 0);
        retired_count_ = std::exchange(other.retired_count_, 0);
        retired_head_ = std::exchange(other.retired_head_, none);
        memory_ = std::move(other.memory_);
    }
    return *this;
}

bool slot_directory_base::grow(std::size_t slot_count) noexcept {
    if (slot_count <= capacity_) {
        return true;
    }
    const std::size_t max = rules_.slot_count_max;
    if (slot_count > max) {
        return false;
    }
    std::size_t count = grown_count(capacity_, slot_count);
    count = count < max ? count : max;
    const bool grown =
        memory_.is_reserved()
            ? memory_.try_grow_in_place(slot_count * sizeof(slot))
            : memory_.grow(count * sizeof(slot), std::size_t{used_} * sizeof(slot)) ||
                  // twice as much was too much; so much may be there
                  memory_.grow(slot_count * sizeof(slot), std::size_t{used_} * sizeof(slot));
    if (!grown) {
        return false;
    }
    const std::size_t fitting = memory_.size() / sizeof(slot);
    capacity_ = static_cast<std::uint32_t>(fitting < max ? fitting : max);
    return true;
}

bool slot_directory_base::reserve_slots(std::size_t live_count) noexcept {
    const std::size_t max = rules_.slot_count_max;
    if (live_count > max - retired_count_) {
        return false;
    }
    const std::size_t wanted =
        saturating_add(live_count, std::size_t{rules_.free_min} + retired_count_);
    return grow(wanted < max ? wanted : max);
}

void slot_directory_base::retire(std::uint32_t index) noexcept {
    slots()[index] = {vacant, retired_head_};
    retired_head_ = index;
    ++retired_count_;
}

void slot_directory_base::validate_counts([[maybe_unused]] std::uint32_t free_found) const noexcept {
#if CAIRN_ASSERTS
    std::uint32_t vacant_found = 0;
    std::uint32_t held_found = 0;
    for (std::uint32_t i = 0; i < used_; ++i) {
        const slot& s = slots()[i];
        const bool is_vacant = (s.word & vacant) != 0;
        vacant_found += is_vacant ? 1 : 0;
        held_found += is_vacant && s.value == held_mark ? 1 : 0;
        CAIRN_ASSERT((s.word & ~vacant) <= rules_.generation_max, "generations stay in range");
        CAIRN_ASSERT(is_vacant || s.word != 0, "a live slot has a generation");
    }
    std::uint32_t retired_found = 0;
    for (std::uint32_t i = retired_head_; i != none; i = slots()[i].value) { ++retired_found; }
    CAIRN_ASSERT(free_found == free_count_, "every free slot is found, once");
    CAIRN_ASSERT(held_found == held_count_, "held slots are counted");
    CAIRN_ASSERT(retired_found == retired_count_, "retired slots are counted");
    CAIRN_ASSERT(vacant_found == free_found + held_found + retired_found,
                 "a vacant slot is free, held or retired");
    CAIRN_ASSERT(used_ <= capacity_ && capacity_ * sizeof(slot) <= memory_.size(),
                 "slots lie inside their memory");
#endif
}

}  // namespace cairn
