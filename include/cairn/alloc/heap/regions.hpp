// cairn/alloc/heap/regions.hpp - the exact core: memory of upstream, cut into blocks without a gap.
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
//
// The regions of a heap:
//
//      upstream <---> | home | region | region | ...     sorted by address
//                        ^ the first one, which holds the bins
//
// What no fit changes is compiled once: taking memory and giving it back, the name, and the reports
// of checked builds.
//
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/inside/heap_block.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/allocator_watch.hpp>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---------------------------------------------------------------------------- one region

/// What a region is without its fit: blocks in a row, and what their headers say of one another.
/// Compiled once for all fits (src/alloc/heap/region_base.cpp).
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

    /// As for_each, for `count` blocks from `g` on, and for the free one right behind them.
    /// Subtracts from `count` what it shows. Returns: the block behind them; granules(): the end.
    template <class Visit>
    std::uint32_t for_some(std::uint32_t g, std::size_t& count, Visit visit) const noexcept {
        while (g < granules_) {
            const block_header h = every_block().header(g);
            CAIRN_ASSERT(h.size() != 0 && h.size() <= granules_ - g,
                         "blocks end inside the region");
            if (count == 0 && !h.is_free()) { break; }
            visit(g, h);
            count -= count == 0 ? 0 : 1;
            g += h.size();
        }
        return g;
    }

    /// Where `address` lies: blocks are numbered by address. Believes no header that leads out of
    /// the region: this is asked when something has been overrun. O(blocks).
    [[nodiscard]] address_place place_of(const void* address) const noexcept;

    // ---------------------------------------------------------------------------- checkers

    void poison_all() noexcept { poison(first_block(), blocks_size()); }
    /// The bytes belong to the owner of the memory again.
    void unpoison_all() noexcept { unpoison(first_block(), blocks_size()); }
    /// Bytes that came from elsewhere: poisons unused bytes. O(blocks) under a checker only.
    void poison_unused() noexcept;

    // ---------------------------------------------------------------------------- checks

    /// The checks of checked builds in one look: the header `at`, `offset` bytes behind the first
    /// one of the region, is that of a block of `size` granules in this `state` (its bits), and
    /// both neighbours agree about it.
    /// Requires: a block of that size ends in the region; poison_is_seen() says no.
    [[nodiscard, CAIRN_FORCE_INLINE]] static inline bool stands(const std::byte* at,
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

    /// Asserts that block `g` and both its neighbours agree about it. `overrun` says more.
    void check_header(std::uint32_t g, block_header h,
                      const evidence& overrun = {.kind = misuse_kind::corrupted,
                                                 .type = "heap"}) const noexcept;

    /// Both neighbours know of `g` what its header says.
    [[nodiscard]] bool agrees(std::uint32_t g, block_header h) const noexcept;

    /// The block in whose middle granule `g` lies: by the headers from the first one on, as far as
    /// they agree. O(blocks).
    /// Returns: `g` where a block begins there, or a header before it was overrun.
    [[nodiscard]] std::uint32_t block_around(std::uint32_t g) const noexcept;

    /// The header of `g` is one that a free leaves: free, waiting, or the mark of a block that
    /// is part of another one. Unchecked builds do not mark the right one of two that join.
    [[nodiscard]] bool was_freed(std::uint32_t g, block_header h) const noexcept;

    /// Reports block `g`, which is to be freed and is not in use, or has another size than its
    /// owner says.
    [[noreturn, CAIRN_COLD, CAIRN_NOINLINE]] void freed_wrongly(std::uint32_t g) const noexcept;

protected:
    region_base() = default;

    struct block_counts {
        std::size_t free = 0;
        std::size_t deferred = 0;
    };
    /// Asserts every invariant but those of the index. O(blocks).
    block_counts validate_blocks() const noexcept;

    [[nodiscard]] std::byte* first_block() const noexcept {
        // A holder writes to the region; whether a caller may is decided by the heap's own const.
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
        compiler::copy_bytes<sizeof half>(&half, at);
        return half;
    }
    [[nodiscard]] bool is_plausible(std::uint32_t g, block_header h) const noexcept {
        return g < granules_ && h.size() != 0 && h.size() <= granules_ - g && h.previous() <= g;
    }
};

/// For region::free_at(), of a block whose size is not given.
inline constexpr std::uint32_t size_unknown = UINT32_MAX;
static_assert(granule_count_max - size_unknown <= size_unknown,
              "free_at() takes it for every size that a block can have");

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
        map().set_header(0, block_header::unused(granules_, 0));
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

    /// The free block that find() has for `size` granules, where they fit at a multiple of `align`.
    /// A hole that an aligned block left behind is aligned: it need not be larger.
    [[nodiscard]] hole aligned_hole(std::uint32_t size, alignment align) const noexcept {
        const hole h = index_.find(map(), size);
        if (h.block == no_block) { return h; }
        const std::uint64_t end = std::uint64_t{gap_at(h.block, align)} + size;
        return end <= map().header(h.block).size() ? h : hole{};
    }

    /// As allocate, with a payload that is a multiple of `align`, which is more than 16.
    [[nodiscard]] std::uint32_t allocate_aligned(std::uint32_t size, alignment align) noexcept {
        const blocks b = map();
        hole h;
        if constexpr (has_size_classes<Fit>) { h = aligned_hole(size, align); }
        if (h.block == no_block) {
            const std::uint64_t room = std::uint64_t{size} + align.bytes() / granule_size - 1;
            if (align.bytes() / granule_size > granules_ || room > granules_) { return no_block; }
            h = index_.find(b, static_cast<std::uint32_t>(room));
            if (h.block == no_block) { return no_block; }
        }
        const std::uint32_t gap = gap_at(h.block, align);
        h.size = gap + size + expect_free(b, h.block, size + gap);
        if (gap != 0) {
            // [ ------- free ------- ] => [ gap ][ free ]
            const std::uint32_t from = h.block;
            index_.take(b, h);
            index_.give(b, 0, from, gap, 0);
            h = {from + gap, no_block, h.size - gap};
            index_.give(b, 0, h.block, h.size, 0);
            b.set_size_and_bits(from, gap | block_header::free_bit);
            b.set_header(h.block, block_header::unused(h.size, gap));
            b.set_previous(h.block + h.size, h.size);
        }
        take_front(b, h, size);
        return h.block;
    }

    /// Gives a block back and merges it with its free neighbours. `asked`: granules of its request
    /// or of the block itself, or size_unknown; 0, which no request has, is refused.
    /// Returns: how many granules it had.
    [[CAIRN_FORCE_INLINE]] inline std::uint32_t free_at(std::uint32_t g,
                                                        std::uint32_t asked) noexcept {
        const blocks b = map();
        const std::uint32_t size = expect_live(b, g);
        // The fits of cairn make no block more than twice as large as its request, others may. So
        // the fit is asked after the comparison, which every free pays for.
        if (size - asked > asked && !is_block_of(size, asked)) [[unlikely]] { freed_wrongly(g); }
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
        b.set_header(g + wanted, block_header::unused(rest, wanted));
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

    /// The fit makes a block of `size` for a request of `asked`.
    [[nodiscard]] static bool is_block_of(std::uint32_t size, std::uint32_t asked) noexcept {
        return asked != 0 && asked <= size && size == Fit::block_size(asked);
    }

    /// Granules from block `g` to the first one whose payload is a multiple of `align`.
    [[nodiscard]] std::uint32_t gap_at(std::uint32_t g, alignment align) const noexcept {
        return static_cast<std::uint32_t>(
            padding_to(reinterpret_cast<std::uintptr_t>(map().payload(g)), align) / granule_size);
    }

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
        if (previous - 1 >= g) [[unlikely]] { detail::heap_is_corrupt(heap_promise::header, this); }
        const std::uint32_t bits = b.size_and_bits(g - previous) - previous;
        if (bits == block_header::free_bit) { return previous; }
        if ((bits & ~block_header::deferred_bit) != 0) [[unlikely]] {
            detail::heap_is_corrupt(heap_promise::header, this);
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
            detail::heap_is_corrupt(heap_promise::free_header, this);
        }
        if (rest != 0 && b.previous(to + rest) != wanted + rest) [[unlikely]] {
            detail::heap_is_corrupt(heap_promise::free_header, this);
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
            detail::heap_is_corrupt(heap_promise::free_header, this);
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

// ---------------------------------------------------------------------------- all regions

/// The regions of a heap, up to 64, in order of their addresses. A pointer is found by halving, so
/// a free in a heap of n regions looks at log n addresses; insert and remove move the entries
/// behind: 64 at most, on paths that call upstream.
class region_set {
public:
    static constexpr std::uint32_t count_max = 64;

    struct entry {
        region_base* region;
        std::size_t size;               // as asked from upstream
        std::uint64_t empty_since = 0;  // operations of the core; where the region is empty
#if CAIRN_ASSERTS
        unsigned description = 0;  // Valgrind's number for it
#endif
    };

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] entry& operator[](std::uint32_t i) noexcept { return entries_[i]; }
    [[nodiscard]] region_base* region(std::uint32_t i) const noexcept { return entries_[i].region; }

    /// The last region that begins at or before `p`, else the first; nullptr when there is none.
    [[nodiscard]] region_base* at(const void* p) const noexcept {
        return count_ == 0 ? nullptr : entries_[index_of(p)].region;
    }
    /// Which of them that is. Requires: count() != 0.
    [[nodiscard]] std::uint32_t index_of(const void* p) const noexcept {
        // The last entry that begins at or below p lies in [first, first + count); where none does,
        // the first one is left over. No branch depends on p, and 64 entries are six steps.
        std::uint32_t first = 0;
        for (std::uint32_t count = count_; count > 1;) {
            const std::uint32_t half = count / 2;
            const bool right = address(first + half) <= reinterpret_cast<std::uintptr_t>(p);
            first += right ? half : 0;
            count = right ? count - half : half;
        }
        return first;
    }

    // A rank says how large the largest free block of a region is; 0: there is none. Kept by heaps
    // whose fit has classes, while they have several regions.

    void set_rank(std::uint32_t i, std::uint32_t rank) noexcept {
        ranks_[i] = static_cast<std::uint16_t>(rank);
    }
    /// The region of the lowest rank that is `wanted` or more, which is the fullest that serves;
    /// count_max: there is none. All ranks are 128 bytes: the work is the same for any number of
    /// regions.
    [[nodiscard]] std::uint32_t fullest(std::uint32_t wanted) const noexcept;

    /// Requires: count() < count_max.
    entry& insert(region_base* r, std::size_t size) noexcept {
        CAIRN_ASSERT(count_ < count_max, "64 regions are all there are");
        // From the end down, moving up what begins above: the set is sorted before and after.
        std::uint32_t at = count_++;
        for (; at != 0 && address(at - 1) > reinterpret_cast<std::uintptr_t>(r); --at) {
            entries_[at] = entries_[at - 1];
            ranks_[at] = ranks_[at - 1];
        }
        entries_[at] = {r, size};
        ranks_[at] = 0;
        return entries_[at];
    }

    /// Requires: `r` is in the set. Returns: its entry.
    entry remove(const region_base* r) noexcept {
        std::uint32_t at = 0;
        while (entries_[at].region != r) { ++at; }
        const entry removed = entries_[at];
        for (--count_; at < count_; ++at) {
            entries_[at] = entries_[at + 1];
            ranks_[at] = ranks_[at + 1];
        }
        ranks_[count_] = 0;
        return removed;
    }

    /// Moves what `other` has here, where nothing is.
    void take_all(region_set& other) noexcept {
        count_ = other.count_;
        for (std::uint32_t i = 0; i < count_max; ++i) {
            ranks_[i] = other.ranks_[i];
            other.ranks_[i] = 0;
            if (i < count_) { entries_[i] = other.entries_[i]; }
        }
        other.count_ = 0;
    }

    /// Bytes as asked from upstream, granules, and free ones among them, of all regions.
    [[nodiscard]] std::size_t held() const noexcept {
        return sum([](const entry& e) { return e.size; });
    }
    [[nodiscard]] std::size_t granules() const noexcept {
        return sum([](const entry& e) { return std::size_t{e.region->granules()}; });
    }
    /// Granules of the first `count` regions.
    [[nodiscard]] std::size_t granules_before(std::uint32_t count) const noexcept {
        std::size_t total = 0;
        for (std::uint32_t i = 0; i < count; ++i) { total += entries_[i].region->granules(); }
        return total;
    }
    [[nodiscard]] std::size_t free_granules() const noexcept {
        return sum([](const entry& e) { return std::size_t{e.region->free_granules()}; });
    }

    /// Where the lowest region begins, and how far it is from there to the end of the highest.
    /// Requires: count() != 0.
    [[nodiscard]] std::byte* begin_of_memory() const noexcept {
        return reinterpret_cast<std::byte*>(region(0));
    }
    [[nodiscard]] std::size_t reach() const noexcept {
        return address(count_ - 1) + region(count_ - 1)->total_size() - address(0);
    }

private:
    [[nodiscard]] std::uintptr_t address(std::uint32_t i) const noexcept {
        return reinterpret_cast<std::uintptr_t>(entries_[i].region);
    }
    template <class Of>
    [[nodiscard]] std::size_t sum(Of of) const noexcept {
        std::size_t total = 0;
        for (std::uint32_t i = 0; i < count_; ++i) { total += of(entries_[i]); }
        return total;
    }

    alignas(16) std::uint16_t ranks_[count_max] = {};
    std::uint32_t count_ = 0;
    entry entries_[count_max];
};

inline std::uint32_t region_set::fullest(std::uint32_t wanted) const noexcept {
    CAIRN_DETAIL_STEP();
#if defined(__SSE2__)
    // rank - wanted wraps for ranks that are too low: the smallest is that of the region wanted.
    // SSE2 has the minimum of signed words only, so the highest bit is turned.
    const __m128i less = _mm_set1_epi16(static_cast<short>(wanted + 0x8000u));
    const auto* const all = reinterpret_cast<const __m128i*>(ranks_);
    __m128i distances[8];
    for (int i = 0; i < 8; ++i) { distances[i] = _mm_sub_epi16(_mm_load_si128(all + i), less); }
    const __m128i low = _mm_min_epi16(_mm_min_epi16(distances[0], distances[1]),
                                      _mm_min_epi16(distances[2], distances[3]));
    const __m128i high = _mm_min_epi16(_mm_min_epi16(distances[4], distances[5]),
                                       _mm_min_epi16(distances[6], distances[7]));
    __m128i least = _mm_min_epi16(low, high);
    least = _mm_min_epi16(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(1, 0, 3, 2)));
    least = _mm_min_epi16(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(2, 3, 0, 1)));
    least = _mm_min_epi16(least, _mm_shufflelo_epi16(least, _MM_SHUFFLE(2, 3, 0, 1)));
    least = _mm_set1_epi16(static_cast<short>(_mm_extract_epi16(least, 0)));
    const auto distance =
        static_cast<std::uint16_t>(static_cast<unsigned>(_mm_extract_epi16(least, 0)) ^ 0x8000u);
    if (distance + wanted > 0xFFFF) { return count_max; }
    std::uint64_t equal = 0;
    for (int i = 0; i < 8; i += 2) {
        const __m128i pair = _mm_packs_epi16(_mm_cmpeq_epi16(distances[i], least),
                                             _mm_cmpeq_epi16(distances[i + 1], least));
        equal |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(pair))} << i * 8;
    }
    return compiler::trailing_zeros(equal);
#else
    std::uint32_t best = count_max;
    std::uint32_t best_rank = 0xFFFF'FFFF;
    for (std::uint32_t i = 0; i < count_; ++i) {
        if (ranks_[i] >= wanted && ranks_[i] < best_rank) {
            best = i;
            best_rank = ranks_[i];
        }
    }
    return best;
#endif
}

class heap_memory {
public:
    /// `block_size`: of what is taken at least; 0: nothing is. `owned`: regions go back.
    heap_memory(allocator_ref upstream, std::size_t block_size, bool owned) noexcept
        : upstream_{upstream}, block_size_{block_size}, owned_{owned} {}
    heap_memory(heap_memory&& other) noexcept;
    heap_memory& operator=(heap_memory&&) = delete;
    /// Gives every region back; checked builds assert before that nothing lives, where that was
    /// asked for.
    ~heap_memory();

    // ------------------------------------------------------------------------ regions

    /// Memory for one more region: `size` bytes, at least `needed`; nullptr: there is none.
    [[nodiscard]] std::byte* take(std::size_t needed, std::size_t& size) noexcept;
    /// `r` is one of the regions now, in `size` bytes of upstream's.
    void add(region_base* r, std::size_t size) noexcept;
    /// `r` is none of the regions any more.
    [[nodiscard]] region_set::entry let_go(region_base* r) noexcept;
    /// The memory of a region that was let go.
    void give_back(const region_set::entry& gone) noexcept;

    // ------------------------------------------------------------------------ checks

    /// Asserts that `p` is a live block of this heap, and, but where `size` is SIZE_MAX, that it
    /// has `good_size` bytes, the size that a request of `size` gets.
    void check_freed(const void* p, std::size_t size, std::size_t good_size,
                     call_site from) const noexcept;
    /// Asserts that granule `g`, whose header disagrees with its neighbours, begins a block: then
    /// the header was overrun.
    void check_middle(const region_base& r, std::uint32_t g, call_site from) const noexcept;
    /// Asserts that `p` waits in the bin of blocks with `granules`.
    void check_waiting(const void* p, std::uint32_t granules) const noexcept;

    /// `p` lies in the region that was looked at last, where a block may begin.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool is_recent(const void* p) const noexcept {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - recent_.first;
        return offset < recent_.size && offset % granule_size == 0;
    }
    /// The region of `p` is the recent one from now on. Returns: false where there is none.
    bool turn_to(const void* p) noexcept;

    /// The checks of a block about which all is well, which nearly every one is: it has `granules`,
    /// and `state` beside its size in its header. Requires: is_recent(p); poison_is_seen() says no.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool stands(const void* p, std::uint32_t granules,
                                                         std::uint32_t state) const noexcept {
        const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - recent_.first;
        return std::size_t{granules} * granule_size <= recent_.size - offset &&
               region_base::stands(static_cast<const std::byte*>(p) - block_header_size, offset,
                                   granules, state);
    }

    void set_name(const char* name) noexcept;
    void expect_empty_end(bool expected) noexcept { ends_empty_ = expected; }
    [[nodiscard]] bool owns(const void* p) const noexcept {
        const region_base* const r = regions_.at(p);
        return r != nullptr && r->contains(p);
    }

    // ------------------------------------------------------------------------ data

    region_base* home_ = nullptr;        // the first one, which holds the bins
    std::uint64_t core_operations_ = 0;  // refused requests count, too
    allocator_ref upstream_;
    std::size_t block_size_;
    bool owned_;
    bool ends_empty_ = false;  // live blocks at the end are a mistake
    [[CAIRN_NO_UNIQUE_ADDRESS]] allocator_watch watch_;
    struct payloads {
        std::uintptr_t first = 0;
        std::size_t size = 0;  // bytes; 0: no region
    } recent_;                 // of one region: checked builds look there first
    // Payload of the block with which for_some_blocks() goes on; nullptr: the first one; this heap:
    // none is left. The block is not free, so it stays one until it is freed (heap::free_in).
    const void* walked_to_ = nullptr;
    region_set regions_;

private:
    [[nodiscard]] evidence about(misuse_kind kind, call_site from) const noexcept;
    void describe(region_set::entry& entry) noexcept;
    [[nodiscard]] static address_place place_of(const void* object, const void* address) noexcept;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
