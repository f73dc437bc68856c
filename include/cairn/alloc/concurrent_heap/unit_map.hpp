// cairn/alloc/concurrent_heap/unit_map.hpp - what lies at an address: a byte for each 64 KiB.
//
//      address   | 16 bits: leaf | 16 bits: unit | 16 bits: byte of the unit |
//                        |               |
//      leaves    [ . . . *-+ . . ]       |        65,536 pointers, for 48 bits of address
//                          v             v
//      leaf      kind    [ 0 0 4 4 4 255 255 0 ]  0: no heap's, 255: large, else class + 1
//                record  [ . . r r r  R   R  . ]  the record of the chunk or block
//
// Two loads answer which class an address has. The pages of leaves that no heap uses are never
// touched. There is one map in each copy of cairn, for all its heaps; a heap knows its map.
//
// Cost:    kind(): two loads. A leaf takes 576 KiB of addresses and, for each GiB in use, 147 KiB.
// Threads: any; the thread that handed an address on ordered what is known of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_heap/slot_sizes.hpp>
#include <cairn/core/inside/atomic.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct unit_record;

class unit_map {
public:
    static constexpr std::uint8_t nothing = 0;
    static constexpr std::uint8_t large = 255;
    static constexpr unsigned address_bits = 48;

    /// Requires: `p` lies in memory that a heap of this map once had.
    [[nodiscard]] std::uint8_t kind(const void* p) const noexcept {
        return leaf_of(p)->kind[unit_of(p) % leaf_units].load(memory_order::relaxed);
    }
    /// As kind(), for any address. Cost: two compares more.
    [[nodiscard, CAIRN_FORCE_INLINE]] std::uint8_t kind_of_any(const void* p) const noexcept {
        if (unit_of(p) / leaf_units >= leaf_count) [[unlikely]] { return nothing; }
        const leaf* const l = leaf_of(p);
        if (l == nullptr) [[unlikely]] { return nothing; }
        return l->kind[unit_of(p) % leaf_units].load(memory_order::relaxed);
    }
    [[nodiscard]] unit_record* record(const void* p) const noexcept {
        return leaf_of(p)->record[unit_of(p) % leaf_units].load(memory_order::relaxed);
    }
    /// As record(), for any address. Returns: nullptr where no heap has the address.
    [[nodiscard]] unit_record* find(const void* p) const noexcept;

    /// Makes sure that [begin, begin + size) can be entered.
    /// Returns: false when the system refuses a leaf, or the addresses have more than 48 bits.
    [[nodiscard]] bool cover(const void* begin, std::size_t size) noexcept;
    /// Enters `count` units from `begin`. Requires: they are covered. O(count).
    void enter(const void* begin, std::size_t count, std::uint8_t kind, unit_record* r) noexcept;

private:
    static constexpr std::size_t leaf_units = std::size_t{1} << 16;
    static constexpr std::size_t leaf_count = std::size_t{1} << (address_bits - 32);
    struct leaf {
        atomic<std::uint8_t> kind[leaf_units];
        atomic<unit_record*> record[leaf_units];
    };

    [[nodiscard]] static std::size_t unit_of(const void* p) noexcept {
        return reinterpret_cast<std::uintptr_t>(p) >> unit_log2;
    }
    /// Requires: the address has at most 48 bits. Returns: nullptr where no heap was.
    [[nodiscard, CAIRN_FORCE_INLINE]] leaf* leaf_of(const void* p) const noexcept {
        return leaves_[unit_of(p) / leaf_units].load(memory_order::relaxed);
    }

    atomic<leaf*> leaves_[leaf_count];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
