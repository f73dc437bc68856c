// Cold half of cairn/debug/inside/block_table.hpp.
#include <cairn/debug/inside/block_table.hpp>

#include <bit>
#include <new>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

namespace {

constexpr std::size_t slot_count_min = 64;

}  // namespace

block_table::~block_table() { clear(); }

void block_table::clear() noexcept {
    block_record* const old_slots = std::exchange(slots_, nullptr);
    const std::size_t old_capacity = std::exchange(capacity_, 0);
    count_ = 0;
    if (old_slots != nullptr) {
        upstream_.deallocate(old_slots, old_capacity * sizeof(block_record),
                             alignment::of<block_record>());
    }
}

std::size_t block_table::home_of(const void* data) const noexcept {
    // Fibonacci hashing: addresses share their low and their high bits, the product's top bits mix.
    // The top log2(capacity_) bits. capacity_ is 64 or more here: a shift by 64 is never asked for.
    const std::uint64_t mixed =
        std::uint64_t{reinterpret_cast<std::uintptr_t>(data)} * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed >> (64 - std::countr_zero(capacity_)));
}

/// At most half of the slots are full, so this search and that of find() end at an empty one.
void block_table::place(const block_record& record) noexcept {
    std::size_t i = home_of(record.data);
    while (slots_[i].data != nullptr) { i = (i + 1) & (capacity_ - 1); }
    slots_[i] = record;
}

/// Requires: a power of two, 64 at least, of which the records fill at most half.
/// Returns: false, with the old table as it was, when upstream refuses; true with it where upstream
///          came back and listed more than fits.
bool block_table::move_to(std::size_t new_capacity) noexcept {
    void* const memory =
        upstream_.allocate(new_capacity * sizeof(block_record), alignment::of<block_record>());
    if (memory == nullptr) { return false; }
    if (new_capacity / 2 < count_) {
        upstream_.deallocate(memory, new_capacity * sizeof(block_record),
                             alignment::of<block_record>());
        return true;
    }
    block_record* const old_slots = slots_;
    const std::size_t old_capacity = capacity_;
    slots_ = static_cast<block_record*>(memory);
    capacity_ = new_capacity;
    for (std::size_t i = 0; i < new_capacity; ++i) { ::new (&slots_[i]) block_record{}; }
    // In the order of the old slots. No two records are equal, so none is looked for: each goes to
    // the first empty slot from its home on.
    for (std::size_t i = 0; i < old_capacity; ++i) {
        if (old_slots[i].data != nullptr) { place(old_slots[i]); }
    }
    if (old_slots != nullptr) {
        upstream_.deallocate(old_slots, old_capacity * sizeof(block_record),
                             alignment::of<block_record>());
    }
    return true;
}

bool block_table::insert(const block_record& record) noexcept {
    while (count_ >= capacity_ / 2) {
        if (!move_to(capacity_ != 0 ? capacity_ * 2 : slot_count_min)) { return false; }
    }
    place(record);
    ++count_;
    return true;
}

std::size_t block_table::shrink() noexcept {
    const std::size_t old_capacity = capacity_;
    if (count_ == 0) {
        clear();
    } else {
        const std::size_t wanted = std::bit_ceil(2 * count_);
        const std::size_t enough = wanted < slot_count_min ? slot_count_min : wanted;
        if (enough < capacity_ && !move_to(enough)) { return 0; }
    }
    return capacity_ < old_capacity ? (old_capacity - capacity_) * sizeof(block_record) : 0;
}

block_record* block_table::find(const void* data) noexcept {
    if (count_ == 0) { return nullptr; }
    for (std::size_t i = home_of(data); slots_[i].data != nullptr; i = (i + 1) & (capacity_ - 1)) {
        if (slots_[i].data == data) { return &slots_[i]; }
    }
    return nullptr;
}

/// A search ends at the first empty slot, so a hole may not lie between a record and its home. The
/// records behind the hole move up into it, one by one, as far as that is so, and the last hole
/// becomes the empty slot. No marks of erased records are left, which would make all searches
/// longer.
void block_table::erase(block_record* record) noexcept {
    const std::size_t mask = capacity_ - 1;
    auto hole = static_cast<std::size_t>(record - slots_);
    for (std::size_t i = (hole + 1) & mask; slots_[i].data != nullptr; i = (i + 1) & mask) {
        // The record at i may fill the hole unless its home lies behind the hole (cyclically):
        //      [ hole ] ... [ home ] ... [ i ]   stays: looking for it starts behind the hole
        const std::size_t home = home_of(slots_[i].data);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            slots_[hole] = slots_[i];
            hole = i;
        }
    }
    slots_[hole] = block_record{};
    --count_;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
