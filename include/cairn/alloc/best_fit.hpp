// cairn/alloc/best_fit.hpp - the smallest free block that fits, exactly, without a walk.
//
//      sizes below 1024 granules: one bin each        larger: a trie keyed by the bits of the size
//      |1|2|3|4|5| ... |1023|                            [ 1500 ]
//       two-level bitmap: next non-empty bin             |      |          (size_trie.hpp)
//
// Use it for: the least fragmentation on ordinary programs (Johnstone and Wilson 1998) when every
//             byte counts.
// Look elsewhere for: speed (good_fit), the worst-case bound (first_fit, half_fit).
//
// Exact:  the block is the smallest that fits, in all regions; of equals, the one in the region
//         with the lowest address that became free last.
// Bound:  a request is refused only when no free block is as large as it; over-aligned requests
//         count as size + alignment - 16.
// Cost:   small: as good_fit. Large: at most 2 * 31 nodes of the trie.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/best_fit/size_trie.hpp>
#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/inside/free_lists.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// `ExactBins`: sizes below this many granules have a bin each. At least 2: a node of the trie
/// needs two granules.
template <std::uint32_t ExactBins>
struct basic_best_fit {
    static_assert(ExactBins >= 2 && ExactBins <= 4096);

    static constexpr const char* name = "best_fit";
    static constexpr std::uint32_t deferred_max = 0;
    /// Steps (step_counter.hpp) of one operation in one region: three walks of a trie of 30 bits,
    /// each of whose links is compared with the one back.
    static constexpr std::uint32_t allocate_steps_max = 30 * 16;
    static constexpr std::uint32_t deallocate_steps_max = 30 * 16;
    static constexpr bool smallest_of_all_regions = true;
    static constexpr std::uint32_t shape = ExactBins;  // a region of another shape is another heap

    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return granules;
    }

    class alignas(8) index {
        using blocks = block_map;
        using links = links_in_blocks;

        [[nodiscard]] static constexpr std::uint32_t bins_for(std::uint32_t granules) noexcept {
            return granules < ExactBins ? granules + 1 : ExactBins;
        }

    public:
        [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
            return bins_for(granules) * sizeof(std::uint32_t);
        }

        /// `key`: of the links in free blocks.
        void clear(std::uint32_t granules, std::uint32_t key) noexcept {
            code_ = {granules, key};
            bin_count_ = bins_for(granules);
            lists_.clear(heads(), bin_count_);
            large_.clear(code_);
        }

        /// The smallest free block of at least `size` granules, the newest of equals. where: its
        /// bin, ExactBins for one of the trie.
        [[nodiscard, CAIRN_FORCE_INLINE]] inline hole find(blocks b,
                                                           std::uint32_t size) const noexcept {
            if (size < bin_count_) [[likely]] {
                const std::uint32_t bin = lists_.bin_from(size);
                if (bin != no_block) [[likely]] { return {heads()[bin], bin}; }
            }
            return {large_.find(b, size), ExactBins};
        }
        [[CAIRN_FORCE_INLINE]] inline void take(blocks b, hole h) noexcept {
            if (h.where < ExactBins) {
                lists_.remove_head(heads(), links{b, code_}, h.where, h.block);
            } else {
                remove(b, h.block, h.size);
            }
        }
        [[CAIRN_FORCE_INLINE]] inline void keep_rest(blocks b, hole h,
                                                     std::uint32_t used) noexcept {
            const std::uint32_t rest = h.size - used;
            if (h.where >= ExactBins) { return change(b, h.block, h.size, h.block + used, rest); }
            lists_.remove_head(heads(), links{b, code_}, h.where, h.block);
            insert(b, h.block + used, rest);
        }
        [[CAIRN_FORCE_INLINE]] inline void give(blocks b, std::uint32_t left_size, std::uint32_t at,
                                                std::uint32_t size,
                                                std::uint32_t right_size) noexcept {
            detail::give_by_change(*this, b, left_size, at, size, right_size);
        }

        // The parts of give(). Inlined by force: gcc decides by what else is in a unit otherwise.
        [[CAIRN_FORCE_INLINE]] inline void insert(blocks b, std::uint32_t g,
                                                  std::uint32_t size) noexcept {
            if (size < ExactBins) {
                lists_.insert(heads(), links{b, code_}, size, g);
            } else {
                large_.insert(b, g, size);
            }
        }
        void remove(blocks b, std::uint32_t g, std::uint32_t size) noexcept {
            if (size < ExactBins) {
                lists_.remove(heads(), links{b, code_}, size, g);
            } else {
                large_.remove(b, g);
            }
        }
        void change(blocks b, std::uint32_t from, std::uint32_t from_size, std::uint32_t to,
                    std::uint32_t to_size) noexcept {
            if (from_size >= ExactBins && to_size >= ExactBins && large_.is_alone(b, from)) {
                return large_.replace_alone(b, from, to);
            }
            remove(b, from, from_size);
            insert(b, to, to_size);
        }

        /// Size of the largest free block.
        [[nodiscard]] std::uint32_t largest(blocks b) const noexcept {
            if (!large_.empty()) { return large_.largest(b); }
            const std::uint32_t bin = lists_.highest_bin();
            return bin < bin_count_ ? bin : 0;
        }

        template <class Visit>
        void validate(blocks b, Visit visit) const noexcept {
            lists_.validate(heads(), links{b, code_}, bin_count_,
                            [&](std::uint32_t bin, std::uint32_t g) {
                                visit(g);
                                CAIRN_ASSERT(b.header(g).size() == bin,
                                             "a free block is in the bin of its size");
                            });
            large_.validate(b, visit);
        }

    private:
        // The heads lie right behind this object: the region gave the room, see array_size().
        [[nodiscard]] std::uint32_t* heads() noexcept {
            return reinterpret_cast<std::uint32_t*>(this + 1);
        }
        [[nodiscard]] const std::uint32_t* heads() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(this + 1);
        }

        free_lists<ExactBins> lists_;
        size_trie large_;
        link_code code_;
        std::uint32_t bin_count_ = 0;
    };
};

}  // namespace detail

/// The one to take: blocks below 16 KiB have a bin for each size.
struct best_fit : detail::basic_best_fit<1024> {};

// Compiled once, in src/alloc/heap/other_fits.cpp.
extern template class heap<best_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
