// Cold half of cairn/storage/slot_directory/free_bits.hpp: room for more integers.
//
// Where integer i stands: group i / 4096, word 1 + i / 64 % 64 of its group, bit i % 64. Word 0 is
// the group's summary. A group has 65 words, so memory for n integers is ceil(n / 4096) * 520
// bytes.
#include <cairn/storage/slot_directory/free_bits.hpp>

#include <cstring>

namespace cairn::inline CAIRN_FLAVOUR {

bool free_bits::ensure(std::size_t count) noexcept {
    const std::size_t groups = (count + 4095) / 4096;
    if (groups <= group_count_) { return true; }
    constexpr std::size_t group_size = group_words * sizeof(std::uint64_t);
    const std::size_t used = group_count_ * group_size;
    if (!memory_.grow(groups * group_size, used)) { return false; }
    // Grown memory holds anything. The new groups are empty, above all others: lowest_group_, below
    // which no group holds any, stays true.
    std::memset(memory_.data() + used, 0, groups * group_size - used);
    group_count_ = static_cast<std::uint32_t>(groups);
    return true;
}

bool free_bits::copy_from(const free_bits& other) noexcept {
    const std::size_t size = other.group_count_ * group_words * sizeof(std::uint64_t);
    if (size == 0) { return true; }
    if (!memory_.grow(size, 0)) { return false; }
    std::memcpy(memory_.data(), other.memory_.data(), size);
    group_count_ = other.group_count_;
    lowest_group_ = other.lowest_group_;
    return true;
}

bool free_bits::reserve_address_space(std::size_t count_max, page_options how) noexcept {
    return memory_.reserve_address_space(
        (count_max + 4095) / 4096 * group_words * sizeof(std::uint64_t), how);
}

}  // namespace cairn::inline CAIRN_FLAVOUR
