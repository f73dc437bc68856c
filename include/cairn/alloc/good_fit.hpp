// cairn/alloc/good_fit.hpp - a block that is at most a sixteenth too large, in constant time.
//
//      request 1050 B -> 67 granules with the header -> class of 69 granules
//      bins   ... | 61..62 | 63..64 | 65..68 | 69..72 | ...        the first that is not empty,
//                                              ^^^^^^ search starts here    its head always fits
//
// Sizes of requests are rounded *up* to a class, sizes of free blocks *down*: any block of the
// found bin fits, and no search looks at it. The block keeps the rounded size, so that a freed
// block serves the same request again; two-level segregated fit without the rounding fails
// there (espressif/tlsf PR #2, sysprog21/tlsf-bsd #4).
//
// Use it for: the default. Constant time, and the shape that lets freed blocks wait unmerged.
// Look elsewhere for: churn as fast as can be (quick_fit), the last percent of memory (best_fit), a
//             proved small region (half_fit, first_fit), compaction (first_fit).
//
// Bound: a request is refused only when no free block is as large as its rounded size, which is
//        less than 1/16 above the size itself; over-aligned requests count as size + alignment -
//        16, unless the first block of the bin happens to be aligned.
// Cost:  find: at most three bitmap words and a head. insert, remove: a bitmap word, a head, and at
//        most two neighbours in a list. With all around it at most 310 instructions an operation
//        in the states that the lab's `tail` builds (strict_good_fit 244). Two states are beyond:
//        an allocation that merges a surplus (495), and the last resort; strict_good_fit has none.
// Source: Masmano et al., TLSF, ECRTS 2004, with the stored size rounded as the paper says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/inside/free_lists.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// `DeferredMax`: how many freed blocks of one class may always wait unmerged, an even number (0:
/// all merge at once). They may withhold one part in `DeferredShare` of the live bytes, but always
/// 8 KiB, and no more than `DeferredSize` bytes. More may wait while the heap is smaller than it
/// has been: see heap/waiting_blocks.hpp.
template <unsigned MantissaBits, std::uint32_t DeferredMax, std::uint32_t DeferredShare = 64,
          std::uint32_t DeferredSize = 32 * 1024>
struct basic_good_fit {
    using steps = size_class<MantissaBits>;

    /// Classes are counted from one granule on, so that a power of two plus its header, the most
    /// common size there is, falls on the start of a class: 4096 B take 257 granules, not 272.
    [[nodiscard]] static constexpr std::uint32_t class_of_free(std::uint32_t granules) noexcept {
        return steps::floor(granules - 1);
    }
    [[nodiscard]] static constexpr std::uint32_t class_of_request(std::uint32_t granules) noexcept {
        return steps::ceil(granules - 1);
    }
    [[nodiscard]] static constexpr std::uint32_t size_of_class(std::uint32_t c) noexcept {
        return steps::size_of(c) + 1;
    }

    /// Blocks of more granules never wait: 4 KiB and a header.
    static constexpr std::uint32_t small_max = 4096 / granule_size + 1;

    static constexpr const char* name = "good_fit";
    static constexpr std::uint32_t deferred_max = DeferredMax;
    static constexpr std::uint32_t deferred_share = DeferredShare;
    static constexpr std::uint32_t deferred_size_max = DeferredSize;
    /// Steps (step_counter.hpp) of one operation in one region. Where blocks wait, one of them
    /// merges, or nine bins are looked at for a surplus; the last resort apart.
    static constexpr std::uint32_t allocate_steps_max = DeferredMax == 0 ? 45 : 66;
    static constexpr std::uint32_t deallocate_steps_max = DeferredMax == 0 ? 30 : 35;
    static constexpr std::uint32_t shape =
        MantissaBits | DeferredShare << 8 | DeferredSize / 1024 << 24;
    static_assert(DeferredMax % 2 == 0, "an even number of blocks of a class may wait");
    static_assert(MantissaBits < 1 << 8 && DeferredShare < 1 << 16 && DeferredSize < 256 * 1024 &&
                      DeferredSize % 1024 == 0,
                  "each has its place in the shape");

    /// Granules that a block for a request of `granules` gets.
    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        if (std::is_constant_evaluated() || granules > small_max) {
            return size_of_class(class_of_request(granules));
        }
        return by_granules.sizes[granules];
    }

    class alignas(8) index {
        static constexpr std::uint32_t bin_count_max = class_of_free(granule_count_max) + 1;
        using blocks = block_map;
        using links = links_in_blocks;

    public:
        [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
            return (class_of_free(granules) + 1) * sizeof(std::uint32_t);
        }

        /// `key`: of the links in free blocks.
        void clear(std::uint32_t granules, std::uint32_t key) noexcept {
            code_ = {granules, key};
            bin_count_ = class_of_free(granules) + 1;
            lists_.clear(heads(), bin_count_);
        }

        /// A free block of at least `size` granules: the head of the first bin that is not empty,
        /// all of whose blocks are large enough. O(1).
        [[nodiscard, CAIRN_FORCE_INLINE]] inline hole find(blocks,
                                                           std::uint32_t size) const noexcept {
            const std::uint32_t c =
                size <= small_max ? by_granules.classes[size] : class_of_request(size);
            if (c >= bin_count_) [[unlikely]] { return {}; }
            const std::uint32_t bin = lists_.bin_from(c);  // bits beyond the bins are never set
            if (bin == no_block) [[unlikely]] { return {}; }
            return {heads()[bin], bin};
        }
        [[CAIRN_FORCE_INLINE]] inline void take(blocks b, hole h) noexcept {
            lists_.take(heads(), links{b, code_}, class_of_free, h);
        }
        [[CAIRN_FORCE_INLINE]] inline void keep_rest(blocks b, hole h,
                                                     std::uint32_t used) noexcept {
            lists_.keep_rest(heads(), links{b, code_}, class_of_free, h, used);
        }
        [[CAIRN_FORCE_INLINE]] inline void give(blocks b, std::uint32_t left_size, std::uint32_t at,
                                                std::uint32_t size,
                                                std::uint32_t right_size) noexcept {
            lists_.give(heads(), links{b, code_}, class_of_free, left_size, at, size, right_size);
        }

        /// The class of the largest free block; no_block: none is free.
        [[nodiscard]] std::uint32_t highest_class() const noexcept { return lists_.highest_bin(); }

        /// Size of the largest free block; looks at every block of the highest bin. Diagnostic.
        [[nodiscard]] std::uint32_t largest(blocks b) const noexcept {
            const std::uint32_t bin = lists_.highest_bin();
            std::uint32_t best = 0;
            if (bin >= bin_count_) { return best; }
            for (std::uint32_t g = heads()[bin]; g != no_block;
                 g = lists_.next_of(links{b, code_}, g)) {
                const std::uint32_t size = b.header(g).size();
                if (size > best) { best = size; }
            }
            return best;
        }

        /// Calls visit(g) for each free block, after checking that its bin is the right one.
        template <class Visit>
        void validate(blocks b, Visit visit) const noexcept {
            lists_.validate(heads(), links{b, code_}, bin_count_,
                            [&](std::uint32_t bin, std::uint32_t g) {
                                visit(g);
                                CAIRN_ASSERT(class_of_free(b.header(g).size()) == bin,
                                             "a free block is in the bin of its size");
                            });
        }

    private:
        // The heads lie right behind this object: the region gave the room, see array_size().
        [[nodiscard]] std::uint32_t* heads() noexcept {
            return reinterpret_cast<std::uint32_t*>(this + 1);
        }
        [[nodiscard]] const std::uint32_t* heads() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(this + 1);
        }

        free_lists<bin_count_max> lists_;
        link_code code_;
        std::uint32_t bin_count_ = 0;
        std::uint32_t padding_ = 0;
    };

private:
    /// Of requests of up to small_max granules: one load, where counting bits takes ten
    /// instructions.
    struct small_table {
        std::uint8_t classes[small_max + 1] = {};
        std::uint16_t sizes[small_max + 1] = {};
        constexpr small_table() noexcept {
            for (std::uint32_t g = 1; g <= small_max; ++g) {
                classes[g] = static_cast<std::uint8_t>(class_of_request(g));
                sizes[g] = static_cast<std::uint16_t>(size_of_class(class_of_request(g)));
            }
        }
    };
    static_assert(class_of_request(small_max) <= 255);
    static constexpr small_table by_granules{};
};

}  // namespace detail

/// The default: freed blocks wait in lists of their size, within a bound, and merge later.
struct good_fit : detail::basic_good_fit<4, 64> {};

/// More of them wait: fewer operations reach the exact core, and 3 to 4 % more memory is held after
/// churn. (docs/decisions/0030-a-heap-defers-merging-within-a-bound.md)
/// Source: C. B. Weinstock and W. A. Wulf, Quick Fit, SIGPLAN Notices 23(10), 1988.
struct quick_fit : detail::basic_good_fit<4, 64, 32, 48 * 1024> {};

/// Every block merges as it is freed: no last resort, one small bound for every operation.
struct strict_good_fit : detail::basic_good_fit<4, 0> {};

}}  // namespace cairn::CAIRN_FLAVOUR
