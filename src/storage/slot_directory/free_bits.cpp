// Cold half of cairn/storage/slot_directory/free_bits.hpp: room for more integers.
#include <cairn/storage/slot_directory/free_bits.hpp>

#include <cstring>

namespace cairn { inline namespace CAIRN_FLAVOUR {

bool free_bits::ensure(std::size_t count) noexcept {
    const std::size_t wanted = groups_for(count);
    if (wanted <= group_count_) { return true; }
    const std::size_t used = group_count_ * sizeof(bitmap);
    if (!memory_.grow(wanted * sizeof(bitmap), used)) { return false; }
    // Grown memory holds anything, and a bitmap of zeros is empty. The new groups are above all
    // others: lowest_group_, below which no group holds any, stays true.
    std::memset(memory_.data() + used, 0, wanted * sizeof(bitmap) - used);
    group_count_ = static_cast<std::uint32_t>(wanted);
    return true;
}

bool free_bits::copy_from(const free_bits& other) noexcept {
    const std::size_t size = other.group_count_ * sizeof(bitmap);
    if (size == 0) { return true; }
    if (!memory_.grow(size, 0)) { return false; }
    std::memcpy(memory_.data(), other.memory_.data(), size);
    group_count_ = other.group_count_;
    lowest_group_ = other.lowest_group_;
    return true;
}

bool free_bits::reserve_address_space(std::size_t count_max, page_options how) noexcept {
    return memory_.reserve_address_space(groups_for(count_max) * sizeof(bitmap), how);
}

}}  // namespace cairn::CAIRN_FLAVOUR
