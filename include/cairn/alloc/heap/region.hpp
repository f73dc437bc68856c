// cairn/alloc/heap/region.hpp - the exact core: one region, cut into blocks without a gap.
//
//      this                     blocks_offset                                        end
//      |                        |                                                    |
//      v                        v                                                    v
//      +--------+-------+-------+----+--------+----+-----------+----+------------+---+
//      | region | index | bins  | h  | used   | h  |   free    | h  | used       | E |
//      +--------+-------+-------+----+--------+----+-----------+----+------------+---+
//       counts   of fit  (heap)                                          a header of size 0, in use
//
//      allocate   find a free block in the index, cut the rest off, [ free ] => [ used ][ free ]
//      free       merge with free neighbours,  [ free ][ this ][ free ] => [ ------ free ------ ]
//
// Everything is inside, and nothing inside is an address: the same bytes at another address are the
// same region.
//
// Invariant: blocks follow one another without a gap; two neighbours are never both free; the index
//            holds exactly the free blocks.
// Trust:     headers and links lie where users write. Each operation compares the headers that it
//            reads with one another and with the end of the region, in every build, before it
//            writes.
// Cost:      allocate: one find, one replace or remove, three headers. free: at most two neighbours
//            looked up, one taken out of the index and one changed in it. No loop here at all.
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap/heap_memory.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Fit>
class region : public region_base {
    using blocks = block_map;
    using index = typename Fit::index;

public:
    // ---------------------------------------------------------------------------- making one

    /// Bytes that a region of `granules` needs, with `extra` bytes of room for its owner's bins.
    /// Holds for a region that starts at a multiple of 16.
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t granules,
                                                        std::size_t extra) noexcept {
        return blocks_offset_for(static_cast<std::uint32_t>(granules), extra) +
               granules * granule_size + block_header_size;
    }

    /// Granules that fit `size` bytes; 0 when not even one does.
    [[nodiscard]] static constexpr std::uint32_t granules_in(std::size_t size,
                                                             std::size_t extra) noexcept {
        if (size < size_for(1, extra)) { return 0; }
        std::size_t granules = (size - size_for(1, extra)) / granule_size + 1;
        if (granules > granule_count_max) { granules = granule_count_max; }
        // The index grows with the granules it serves, by less than they do: a few rounds settle
        // it.
        for (std::size_t need = size_for(granules, extra); need > size;
             need = size_for(granules, extra)) {
            const std::size_t over = (need - size + granule_size - 1) / granule_size;
            granules -= (over + 1) / 2;
        }
        // Where one granule more begins a new level of the index, a round may have gone too far
        // down.
        while (granules < granule_count_max && size_for(granules + 1, extra) <= size) {
            ++granules;
        }
        return static_cast<std::uint32_t>(granules);
    }

    /// A region of one free block at `memory`.
    /// Requires: `memory` is a multiple of 16; `granules` > 0; size_for(granules, extra) bytes.
    /// `key`: of the links in its free blocks.
    static region* create(std::byte* memory, std::uint32_t granules, std::size_t extra,
                          std::uint32_t key) noexcept {
        region* const r = ::new (memory) region;
        r->granules_ = granules;
        r->blocks_offset_ = static_cast<std::uint32_t>(blocks_offset_for(granules, extra));
        r->extra_offset_ = extra_offset_for(granules);
        r->clear(key);
        return r;
    }

    /// Forgets all blocks. `key`: of the links from now on. O(index).
    void clear(std::uint32_t key) noexcept {
        unpoison_all();
        poison_all();
        index_.clear(granules_, key);
        free_granules_ = granules_;
        map().set_header(0, block_header::free(granules_, 0));
        map().set_header(granules_, block_header::used(0, granules_));
        index_.give(map(), 0, 0, granules_, 0);
    }

    // ---------------------------------------------------------------------------- blocks

    /// A block of exactly `size` granules, or no_block; nothing has changed then. Inlined: a call
    /// would save and restore what its caller does not need.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline std::uint32_t allocate(std::uint32_t size) noexcept {
        const blocks b = map();
        hole h = index_.find(b, size);
        if (h.block == no_block) [[unlikely]] { return no_block; }
        h.size = size + expect_free(b, h.block, size);
        take_front(b, h, size);
        return h.block;
    }

    /// Granules of the free block that allocate(size) would cut, or no_block.
    [[nodiscard]] std::uint32_t size_of_fit(std::uint32_t size) const noexcept {
        const std::uint32_t g = index_.find(map(), size).block;
        return g == no_block ? no_block : map().header(g).size();
    }

    /// As allocate, with a payload that is a multiple of `align`, which is more than 16.
    [[nodiscard]] std::uint32_t allocate_aligned(std::uint32_t size, alignment align) noexcept {
        const blocks b = map();
        const auto gap_of = [&](std::uint32_t g) {
            return static_cast<std::uint32_t>(
                detail::padding_to(reinterpret_cast<std::uintptr_t>(b.payload(g)), align) /
                granule_size);
        };
        hole h;
        if constexpr (has_size_classes<Fit>) {
            // A hole that an aligned block left behind is aligned: it need not be larger.
            h = index_.find(b, size);
            if (h.block != no_block &&
                std::uint64_t{gap_of(h.block)} + size > b.header(h.block).size()) {
                h = {};
            }
        }
        if (h.block == no_block) {
            const std::uint64_t room = std::uint64_t{size} + align.bytes() / granule_size - 1;
            if (align.bytes() / granule_size > granules_ || room > granules_) { return no_block; }
            h = index_.find(b, static_cast<std::uint32_t>(room));
            if (h.block == no_block) { return no_block; }
        }
        const std::uint32_t gap = gap_of(h.block);
        h.size = gap + size + expect_free(b, h.block, size + gap);
        if (gap != 0) {
            // [ ------- free ------- ] => [ gap ][ free ]
            const std::uint32_t from = h.block;
            index_.take(b, h);
            index_.give(b, 0, from, gap, 0);
            h = {from + gap, no_block, h.size - gap};
            index_.give(b, 0, h.block, h.size, 0);
            b.set_size_and_bits(from, gap | block_header::free_bit);
            b.set_header(h.block, block_header::free(h.size, gap));
            b.set_previous(h.block + h.size, h.size);
        }
        take_front(b, h, size);
        return h.block;
    }

    /// Gives a block back and merges it with its free neighbours.
    /// Returns: how many granules it had.
    [[CAIRN_FORCE_INLINE]] inline std::uint32_t free(std::uint32_t g) noexcept {
        const blocks b = map();
        const std::uint32_t size = expect_live(b, g);
        const std::uint32_t right_at = g + size;
        const std::uint32_t left_size = size_of_free_left(b, g);
        const std::uint32_t right_size = size_of_free_right(b, right_at);
        // Nothing has changed yet. Headers that are none any more are marked for a second free.
        if (left_size != 0) { b.set_size_and_bits(g, size | block_header::gone); }
        if (asserts_enabled && right_size != 0) {
            b.set_size_and_bits(right_at, right_size | block_header::gone);
        }
        free_granules_ += size;
        const std::uint32_t start = g - left_size;
        const std::uint32_t total = left_size + size + right_size;
        index_.give(b, left_size, g, size, right_size);
        b.set_size_and_bits(start,
                            total | block_header::free_bit);  // the bits of the block before stay
        b.set_previous(start + total, total);
        return size;
    }

    /// Makes a live block `wanted` granules long where it stands.
    /// Returns: false when its right neighbour is not free or not large enough.
    [[nodiscard]] bool resize(std::uint32_t g, std::uint32_t wanted) noexcept {
        const blocks b = map();
        const std::uint32_t size = expect_live(b, g);
        if (wanted == size) { return true; }
        const std::uint32_t right_at = g + size;
        const std::uint32_t right_size = size_of_free_right(b, right_at);
        const std::uint32_t room = size + right_size;
        if (wanted > room) { return false; }
        free_granules_ = free_granules_ + size - wanted;
        if (wanted == room) {  // [ this ][ free ] => [ -- this -- ]
            index_.take(b, {right_at, no_block, right_size});
            if constexpr (asserts_enabled) {
                b.set_size_and_bits(right_at, right_size | block_header::gone);
            }
            b.set_size_and_bits(g, wanted);
            b.set_previous(g + wanted, wanted);
            return true;
        }
        const std::uint32_t rest = room - wanted;
        if (wanted > size) {
            index_.keep_rest(b, {right_at, no_block, right_size}, wanted - size);
        } else {
            index_.give(b, 0, g + wanted, size - wanted, right_size);
        }
        b.set_size_and_bits(g, wanted);
        b.set_header(g + wanted, block_header::free(rest, wanted));
        b.set_previous(g + room, rest);
        return true;
    }

    // ---------------------------------------------------------------------------- queries

    [[nodiscard]] blocks map() const noexcept {
        // Not first_block(): gcc would take the base class for all the memory there is.
        return blocks{const_cast<std::byte*>(reinterpret_cast<const std::byte*>(this)) +
                      blocks_offset_};
    }
    /// One more than the class of the largest free block; 0: no block is free.
    [[nodiscard]] std::uint32_t rank() const noexcept { return index_.highest_class() + 1; }
    [[nodiscard]] std::uint32_t largest_free() const noexcept { return index_.largest(map()); }
    /// False when these bytes cannot be a region with `size` bytes of bins in front of its blocks.
    [[nodiscard]] bool extra_fits(std::size_t size) const noexcept {
        return extra_offset_ % 8 == 0 && extra_offset_ >= sizeof(region) &&
               extra_offset_ + size <= blocks_offset_;
    }
    /// Checks every invariant; a broken one stops a checked build. O(blocks).
    /// Returns: the number of deferred blocks seen.
    std::size_t validate() const noexcept {
        const block_counts counts = validate_blocks();
        std::size_t indexed = 0;
        index_.validate(map(), [&](std::uint32_t at) {
            CAIRN_ASSERT(at < granules_ && map().header(at).is_free(),
                         "the index holds free blocks");
            ++indexed;
            CAIRN_ASSERT(indexed <= counts.free, "a free block is in the index once");
        });
        CAIRN_ASSERT(indexed == counts.free, "every free block is in the index");
        return counts.deferred;
    }

private:
    [[nodiscard]] static constexpr std::size_t blocks_offset_for(std::uint32_t granules,
                                                                 std::size_t extra) noexcept {
        const std::size_t used = sizeof(region) + index::array_size(granules) + 7 + extra;
        return round_up(used + block_header_size, alignment{granule_size}) - block_header_size;
    }
    [[nodiscard]] static constexpr std::uint32_t extra_offset_for(std::uint32_t granules) noexcept {
        return static_cast<std::uint32_t>(sizeof(region) + index::array_size(granules) + 7) & ~7u;
    }

    // -------------------------------------------------------- what headers say of one another

    // Headers are read in halves: of a whole one, returned, clang 19 makes one load of eight bytes,
    // which waits for the stores of four before it.

    /// `g` is in use, its size ends inside the region, and the block after it knows that size.
    /// Returns: the size.
    [[nodiscard]] std::uint32_t expect_live(blocks b, std::uint32_t g) const noexcept {
        const std::uint32_t size = b.size_and_bits(g);
        // One compare: bits make the number larger than any region, size 0 wraps.
        if (size - 1 >= granules_ - g) [[unlikely]] { freed_wrongly(g); }
        if (b.previous(g + size) != size) [[unlikely]] { freed_wrongly(g); }
        return size;
    }
    /// What the header of `g` says of the block before it, that block says, too.
    /// Returns: its size where it is free, else 0.
    [[nodiscard]] std::uint32_t size_of_free_left(blocks b, std::uint32_t g) const noexcept {
        const std::uint32_t previous = b.previous(g);
        // Only the first block has none before it.
        if (previous == 0 && g == 0) { return 0; }
        if (previous - 1 >= g) [[unlikely]] { heap_is_corrupt(heap_promise::header, this); }
        const std::uint32_t bits = b.size_and_bits(g - previous) - previous;
        if (bits == block_header::free_bit) { return previous; }
        if ((bits & ~block_header::deferred_bit) != 0) [[unlikely]] {
            heap_is_corrupt(heap_promise::header, this);
        }
        return 0;
    }
    /// `g` has at least `wanted` granules, is free, and ends inside the region; where something
    /// will be left of it, the block after it knows its size.
    /// Returns: how many granules will be left.
    [[nodiscard]] std::uint32_t expect_free(blocks b, std::uint32_t g,
                                            std::uint32_t wanted) const noexcept {
        // Another state, or a smaller size, makes the rest larger than any region.
        const std::uint32_t rest = b.size_and_bits(g) - (block_header::free_bit + wanted);
        const std::uint32_t to = g + wanted;
        if (std::uint64_t{to} + rest > granules_) [[unlikely]] {
            heap_is_corrupt(heap_promise::free_header, this);
        }
        if (rest != 0 && b.previous(to + rest) != wanted + rest) [[unlikely]] {
            heap_is_corrupt(heap_promise::free_header, this);
        }
        // Nothing above asks the block before it.
        if constexpr (asserts_enabled) {
            if (detail::poison_is_seen() || !stands(b.at(g), std::size_t{g} * granule_size,
                                                    wanted + rest, block_header::free_bit))
                [[unlikely]] {
                check_header(g, b.header(g));
            }
        }
        return rest;
    }
    /// `g`, right of a live block, ends where the next block begins, if it is free.
    /// Returns: its size where it is free, else 0.
    [[nodiscard]] std::uint32_t size_of_free_right(blocks b, std::uint32_t g) const noexcept {
        const std::uint32_t word = b.size_and_bits(g);
        if ((word & block_header::free_bit) == 0) { return 0; }
        // Both bits: larger than any region. Size 0: another number stands there, that of the live
        // block.
        const std::uint32_t size = word - block_header::free_bit;
        if (std::uint64_t{g} + size > granules_ || b.previous(g + size) != size) [[unlikely]] {
            heap_is_corrupt(heap_promise::free_header, this);
        }
        return size;
    }
    /// [ ---- free ---- ] => [ used: size ][ free: rest ]
    [[CAIRN_FORCE_INLINE]] inline void take_front(blocks b, hole h, std::uint32_t size) noexcept {
        // The index first, headers after: a new header may lie where the old block kept its links.
        free_granules_ -= size;
        const std::uint32_t g = h.block;
        const std::uint32_t rest = h.size - size;
        if (rest == 0) {
            index_.take(b, h);
            b.set_size_and_bits(g, size);  // the bits of the block before stay
            return;
        }
        index_.keep_rest(b, h, size);
        b.set_size_and_bits(g, size);
        b.set_size_and_bits(g + size, rest | block_header::free_bit);
        b.set_previous(g + size, size);
        b.set_previous(g + size + rest, rest);
    }

    index index_;  // last: its arrays follow it
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
