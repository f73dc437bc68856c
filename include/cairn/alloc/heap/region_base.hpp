// cairn/alloc/heap/region_base.hpp - what a region is without its fit: blocks in a row, and what
// their headers say of one another.
//
//      this             blocks_offset
//      +--------+- - - -+----+--------+----+-----------+----+------------+---+
//      | counts |  fit  | h  | used   | h  |   free    | h  | used       | E |
//      +--------+- - - -+----+--------+----+-----------+----+------------+---+
//
// Questions and checks, compiled once for all fits. What an operation does is in region.hpp.
//
// Cost:    stands(): five loads of lines that the operation needs anyway, and nine compares. All
//          else is for reports, adopting and validate().
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class region_base {
    using blocks = block_map;

public:
    // ---------------------------------------------------------------------------- queries

    [[nodiscard]] std::uint32_t granules() const noexcept { return granules_; }
    [[nodiscard]] std::uint32_t free_granules() const noexcept { return free_granules_; }
    [[nodiscard]] bool is_empty() const noexcept { return free_granules_ == granules_; }
    [[nodiscard]] std::byte* extra() noexcept {
        return reinterpret_cast<std::byte*>(this) + extra_offset_;
    }
    [[nodiscard]] std::size_t total_size() const noexcept {
        return blocks_offset_ + std::size_t{granules_} * granule_size + block_header_size;
    }
    [[nodiscard]] blocks every_block() const noexcept { return blocks{first_block()}; }

    /// True when `payload` lies where this region puts payloads.
    [[nodiscard]] bool contains(const void* payload) const noexcept {
        return offset_of(payload) < std::size_t{granules_} * granule_size;
    }

    /// Calls visit(g, header) for each block in address order. visit may not change the heap.
    template <class Visit>
    void for_each(Visit visit) const noexcept {
        for (std::uint32_t g = 0; g < granules_;) {
            const block_header h = every_block().header(g);
            CAIRN_ASSERT(h.size() != 0 && h.size() <= granules_ - g,
                         "blocks end inside the region");
            visit(g, h);
            g += h.size();
        }
    }

    /// Where `address` lies: blocks are numbered by address. Believes no header that leads out of
    /// the region: this is asked when something has been overrun. O(blocks).
    [[nodiscard]] address_place place_of(const void* address) const noexcept;

    // ---------------------------------------------------------------------------- checkers

    void poison_all() noexcept { poison(first_block(), blocks_size()); }
    /// The bytes belong to the owner of the memory again.
    void unpoison_all() noexcept { unpoison(first_block(), blocks_size()); }
    /// Bytes that came from elsewhere: poisons what is not in use. O(blocks) under a checker only.
    void poison_unused() noexcept;

    // ---------------------------------------------------------------------------- checks

    /// The checks of checked builds in one look: the header `at`, `offset` bytes behind the first
    /// one of the region, is that of a block of `size` granules in this `state` (its bits), and
    /// both neighbours agree about it.
    /// Requires: a block of that size ends in the region; poison_is_seen() says no.
    [[nodiscard, gnu::always_inline]] static inline bool stands(const std::byte* at,
                                                                std::size_t offset,
                                                                std::uint32_t size,
                                                                std::uint32_t state) noexcept {
        const std::uint32_t previous = half_at(at + 4);
        const std::size_t before = std::size_t{previous} * granule_size;
        if (half_at(at) != size + state ||
            half_at(at + std::size_t{size} * granule_size + 4) != size || before > offset)
            [[unlikely]] {
            return false;
        }
        // Only the first block has none before it; another 0 would ask the block itself.
        return (half_at(at - before) & granule_count_max) == previous || (before | offset) == 0;
    }

    /// Asserts that block `g` and both its neighbours agree about it.
    void check_header(std::uint32_t g, block_header h) const noexcept;

    /// The header of `g` is what a free leaves behind: free, waiting, or the mark of a block that
    /// is part of another one. Unchecked builds do not mark the right one of two that join.
    [[nodiscard]] bool was_freed(std::uint32_t g, block_header h) const noexcept;

    /// Says what is wrong with block `g`, which is to be freed and is not in use, or is not as
    /// large as its owner says.
    [[noreturn, gnu::cold, gnu::noinline]] void freed_wrongly(std::uint32_t g) const noexcept;

protected:
    region_base() = default;

    /// Every header is one that a heap wrote there. For bytes that came from elsewhere: reads
    /// nothing outside them.
    [[nodiscard]] bool blocks_follow_one_another() const noexcept;

    struct block_counts {
        std::size_t free = 0;
        std::size_t deferred = 0;
    };
    /// Asserts every invariant but those of the index. O(blocks).
    block_counts validate_blocks() const noexcept;

    [[nodiscard]] std::byte* first_block() const noexcept {
        // Who has the region writes to it; whether a caller may is decided by the heap's own const.
        return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) + blocks_offset_;
    }

    //  granules_ = in use + waiting + free_granules_        all with their headers
    //  bytes     = blocks_offset_ + granules_ * 16 + 8      the 8: the header at the end
    std::uint32_t granules_ = 0;
    std::uint32_t free_granules_ = 0;
    std::uint32_t blocks_offset_ = 0;  // bytes from `this` to granule 0
    std::uint32_t extra_offset_ = 0;   // bytes from `this` to the owner's bins

private:
    [[nodiscard]] std::size_t blocks_size() const noexcept {
        return std::size_t{granules_} * granule_size + block_header_size;
    }
    /// From the first payload; a large number when `payload` lies in front of it.
    [[nodiscard]] std::uintptr_t offset_of(const void* payload) const noexcept {
        return reinterpret_cast<std::uintptr_t>(payload) - block_header_size -
               reinterpret_cast<std::uintptr_t>(first_block());
    }
    [[nodiscard]] static std::uint32_t half_at(const std::byte* at) noexcept {
        std::uint32_t half;
        __builtin_memcpy(&half, at, sizeof half);
        return half;
    }
    [[nodiscard]] bool is_plausible(std::uint32_t g, block_header h) const noexcept {
        return g < granules_ && h.size() != 0 && h.size() <= granules_ - g && h.previous() <= g;
    }
    /// Both neighbours know of `g` what its header says.
    [[nodiscard]] bool agrees(std::uint32_t g, block_header h) const noexcept;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
