// cairn/alloc/heap/heap_memory.hpp - the regions of a heap and their data:
// the part of a heap that no fit changes.
//
//      upstream <---> | home | region | region | ...     regions_, sorted by address
//                        ^ the first one, which holds the bins
//
// Compiled once: taking memory and giving it back, the name, and what checked builds say.
//
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/heap_block.hpp>
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

    /// Asserts that block `g` and both its neighbours agree about it.
    void check_header(std::uint32_t g, block_header h) const noexcept;

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
    /// Both neighbours know of `g` what its header says.
    [[nodiscard]] bool agrees(std::uint32_t g, block_header h) const noexcept;
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
    void give_back(region_base* r) noexcept;
    void give_all_back() noexcept;

    // ------------------------------------------------------------------------ checks

    /// Asserts that `p` is a live block of this heap, and, but where `size` is SIZE_MAX, that it
    /// has `good_size` bytes, the size that a request of `size` gets.
    void check_freed(const void* p, std::size_t size, std::size_t good_size,
                     call_site from) const noexcept;
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

    region_base* home_ = nullptr;  // the first one, which holds the bins
    // Operations of the core, while there are several regions; and from which of them on an empty
    // region may go back.
    std::uint64_t core_operations_ = 0;
    std::uint64_t next_return_ = UINT64_MAX;
    allocator_ref upstream_;
    std::size_t block_size_;
    bool owned_;
    bool ends_empty_ = false;  // live blocks at the end are a mistake
    [[CAIRN_NO_UNIQUE_ADDRESS]] allocator_watch watch_;
    struct payloads {
        std::uintptr_t first = 0;
        std::size_t size = 0;  // bytes; 0: no region
    } recent_;                 // of one region: checked builds look there first
    region_set regions_;

private:
    [[nodiscard]] evidence about(misuse_kind kind, call_site from) const noexcept;
    void describe(region_set::entry& entry) noexcept;
    [[nodiscard]] static address_place place_of(const void* object, const void* address) noexcept;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
