// cairn/alloc/half_fit.hpp - powers of two only: one word of bitmap and a bound on paper.
//
//      request 100 B -> 7 granules -> block of 8
//      bins    1 | 2..3 | 4..7 | 8..15 | 16..31 | ...        bin k holds sizes from 2^k
//                               ^^^^^^^ the first that is not empty, its head always fits
//
// Use it for: hard real time with a region whose sufficiency is to be proved (required_size.hpp).
// Look elsewhere for: thrift. A block is up to twice its request.
//
// Bound: a request is refused only when no free block is as large as its power of two.
// Cost:  as good_fit, with a single bitmap word.
// Source: Ogasawara, "An algorithm with constant execution time for dynamic storage allocation",
//         RTCSA 1995; rounding as in o1heap (Kirienko).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/inside/free_lists.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct half_fit {
    static constexpr const char* name = "half_fit";
    static constexpr std::uint32_t deferred_max = 0;
    /// Steps (step_counter.hpp) of one operation in one region.
    static constexpr std::uint32_t allocate_steps_max = 40;
    static constexpr std::uint32_t deallocate_steps_max = 30;

    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return std::bit_ceil(granules);
    }

    class alignas(8) index {
        static constexpr std::uint32_t bin_count = 30;
        using blocks = detail::block_map;
        using links = detail::links_in_blocks;

    public:
        [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t) noexcept { return 0; }

        /// `key`: of the links in free blocks.
        void clear(std::uint32_t granules, std::uint32_t key) noexcept {
            code_ = {granules, key};
            lists_.clear(heads_, bin_count);
        }

        /// A free block of at least `size` granules: the head of its bin. O(1).
        [[nodiscard, CAIRN_FORCE_INLINE]] inline detail::hole find(
            blocks, std::uint32_t size) const noexcept {
            const std::uint32_t wanted = detail::ceil_log2(size);
            if (wanted >= bin_count) [[unlikely]] { return {}; }
            const std::uint32_t bin = lists_.bin_from(wanted);
            if (bin == detail::no_block) [[unlikely]] { return {}; }
            return {heads_[bin], bin};
        }
        [[CAIRN_FORCE_INLINE]] inline void take(blocks b, detail::hole h) noexcept {
            lists_.take(heads_, links{b, code_}, bin_of, h);
        }
        [[CAIRN_FORCE_INLINE]] inline void keep_rest(blocks b, detail::hole h,
                                                     std::uint32_t used) noexcept {
            lists_.keep_rest(heads_, links{b, code_}, bin_of, h, used);
        }
        [[CAIRN_FORCE_INLINE]] inline void give(blocks b, std::uint32_t left_size, std::uint32_t at,
                                                std::uint32_t size,
                                                std::uint32_t right_size) noexcept {
            lists_.give(heads_, links{b, code_}, bin_of, left_size, at, size, right_size);
        }

        /// Size of the largest free block; looks at every block of the highest bin. Diagnostic.
        [[nodiscard]] std::uint32_t largest(blocks b) const noexcept {
            const std::uint32_t bin = lists_.highest_bin();
            std::uint32_t best = 0;
            if (bin >= bin_count) { return best; }
            for (std::uint32_t g = heads_[bin]; g != detail::no_block;
                 g = lists_.next_of(links{b, code_}, g)) {
                const std::uint32_t size = b.header(g).size();
                if (size > best) { best = size; }
            }
            return best;
        }

        template <class Visit>
        void validate(blocks b, Visit visit) const noexcept {
            lists_.validate(heads_, links{b, code_}, bin_count,
                            [&](std::uint32_t bin, std::uint32_t g) {
                                visit(g);
                                CAIRN_ASSERT(detail::floor_log2(b.header(g).size()) == bin,
                                             "a free block is in the bin of its size");
                            });
        }

    private:
        [[nodiscard]] static std::uint32_t bin_of(std::uint32_t size) noexcept {
            if (size == 0) {
                compiler::unreachable();
            }  // no block has no granule: nothing compares
            return detail::floor_log2(size);
        }

        detail::free_lists<bin_count> lists_;
        detail::link_code code_;
        std::uint32_t heads_[bin_count];
    };
};

// Compiled once, in src/alloc/heap/other_fits.cpp.
extern template class heap<half_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
