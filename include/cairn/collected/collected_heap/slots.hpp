// cairn/collected/collected_heap/slots.hpp - where make() takes its slots.
//
//      types: by a hash of the description's address
//      +--------------+-------------+-----------+
//      | type_record  | type_record |           |      free_bits 1011000: the lowest is taken
//      +--------------+-------------+-----------+      none: the next word, the next chunk (cold)
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/collected/collected_heap/stats.hpp>
#include <cairn/collected/region.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// What collected_heap is made of; each says more in its source.
struct region_wishes {
    std::size_t size;
    const collected_heap_options& how;
};
[[nodiscard]] collected_region* create_region(const region_wishes& wishes,
                                              allocator_ref upstream) noexcept;
void end_all_roots(collected_region& r) noexcept;
void end_all_objects(collected_region& r) noexcept;
void destroy_region(collected_region& r) noexcept;
[[nodiscard]] type_record* find_record(collected_region& r, const collected_type& type) noexcept;
[[nodiscard]] void* take_from_next_word(collected_region& r, type_record& record) noexcept;
[[nodiscard]] void* take_large(collected_region& r, const collected_type& type,
                               std::size_t size) noexcept;
void give_back_slot(collected_region& r, void* slot) noexcept;

[[nodiscard]] inline std::size_t record_number(const collected_type& type) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&type);
    return (address >> 3) * 0x9E37'79B9'7F4A'7C15u >> 56;
}
static_assert(type_record_count == 256);

/// A slot for an object of `type`; nullptr when exhausted.
template <std::size_t SlotSize>
[[nodiscard]] inline void* take_slot(collected_region& r, const collected_type& type) noexcept {
    type_record* record = &r.types[record_number(type)];
    if (record->type != &type) [[unlikely]] {
        record = find_record(r, type);
        if (record == nullptr) { return nullptr; }
    }
    const std::uint64_t free = record->free_bits;
    if (free == 0) [[unlikely]] { return take_from_next_word(r, *record); }
    record->free_bits = free & (free - 1);
    std::byte* const slot =
        record->word_begin + static_cast<unsigned>(__builtin_ctzll(free)) * slot_size_min;
    unpoison(slot, SlotSize);
    return slot;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
