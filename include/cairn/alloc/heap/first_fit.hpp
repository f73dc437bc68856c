// cairn/alloc/heap/first_fit.hpp - the free block with the lowest address that fits, in O(log n).
//
//      granules   |................|................|................|    pages of 64 granules, 1 KiB
//      starts     ...1.......1.....................1.....                 one bit a free block, in
//                                                                         the page where it starts
//      max_tree      9               0              40                    largest of the page
//
// Find: down the tree to the first page with a block that is large enough, then along at most 32
// bits (two neighbours are never both free) to the first such block.
//
// Use it for: compaction, trimming, and the smallest guaranteed region of the four: address-ordered
//             first fit keeps the high end free.
// Look elsewhere for: raw speed (good_fit).
//
// Exact: the block is the lowest that fits. Over-aligned requests count as size + alignment - 16.
// Cost:  one cache line a level (four at 64 MiB), then the headers of at most 32 blocks of a page.
//        The index takes 13 bytes per KiB of region.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/heap/block.hpp>
#include <cairn/alloc/heap/max_tree.hpp>

namespace cairn {

struct first_fit {
    static constexpr const char* name = "first_fit";
    static constexpr std::uint32_t deferred_max = 0;

    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return granules;
    }

    template <class Steps>
    class alignas(8) index {
        using blocks = detail::block_map<Steps>;
        static constexpr std::uint32_t page = 64;  // granules: one word of start bits

        [[nodiscard]] static constexpr std::uint32_t pages_for(std::uint32_t granules) noexcept {
            return granules / page + 1;
        }

    public:
        [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
            const std::uint32_t pages = pages_for(granules);
            return pages * sizeof(std::uint64_t) +
                   detail::max_tree<Steps>::entry_count(pages) * sizeof(std::uint32_t);
        }

        void clear(std::uint32_t granules) noexcept {
            page_count_ = pages_for(granules);
            for (std::uint32_t p = 0; p < page_count_; ++p) { starts()[p] = 0; }
            tree_.clear(entries(), page_count_);
        }

        void insert(blocks, std::uint32_t g, std::uint32_t size) noexcept {
            Steps::touch();
            starts()[g / page] |= std::uint64_t{1} << (g % page);
            tree_.raise(entries(), g / page, size);
        }

        void remove(blocks b, std::uint32_t g, std::uint32_t size) noexcept {
            Steps::touch();
            const std::uint32_t p = g / page;
            starts()[p] &= ~(std::uint64_t{1} << (g % page));
            if (tree_.leaf(entries(), p) == size) { tree_.lower(entries(), p, page_max(b, p)); }
        }

        /// The free block `from` becomes `to`; no header has changed yet.
        void replace(blocks b, std::uint32_t from, std::uint32_t from_size, std::uint32_t to,
                     std::uint32_t to_size) noexcept {
            const std::uint32_t p = from / page;
            if (p != to / page) {
                remove(b, from, from_size);
                insert(b, to, to_size);
                return;
            }
            Steps::touch();
            starts()[p] = (starts()[p] & ~(std::uint64_t{1} << (from % page))) | std::uint64_t{1}
                                                                                     << (to % page);
            if (to_size >= from_size) {
                tree_.raise(entries(), p, to_size);
            } else if (tree_.leaf(entries(), p) == from_size) {
                tree_.lower(entries(), p, page_max(b, p, to, to_size));
            }
        }

        /// The free block of at least `size` granules with the lowest address, or no_block.
        [[nodiscard]] std::uint32_t find(blocks b, std::uint32_t size) const noexcept {
            const std::uint32_t p = tree_.find(entries(), size);
            if (p == detail::max_tree<Steps>::none) { return detail::no_block; }
            for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                const std::uint32_t g =
                    p * page + static_cast<std::uint32_t>(std::countr_zero(bits));
                if (b.header(g).size() >= size) { return g; }
            }
            CAIRN_ASSERT(false, "a page's maximum is the size of one of its blocks");
            return detail::no_block;
        }

        /// As find(), among those that start at granule `from` or above.
        [[nodiscard]] std::uint32_t find_from(blocks b, std::uint32_t from,
                                              std::uint32_t size) const noexcept {
            std::uint32_t p = from / page;
            if (p >= page_count_) { return detail::no_block; }
            std::uint64_t bits = starts()[p] & (~std::uint64_t{0} << (from % page));
            while (true) {
                for (; bits != 0; bits &= bits - 1) {
                    const std::uint32_t g =
                        p * page + static_cast<std::uint32_t>(std::countr_zero(bits));
                    if (b.header(g).size() >= size) { return g; }
                }
                p = tree_.find_from(entries(), p + 1, size);
                if (p == detail::max_tree<Steps>::none) { return detail::no_block; }
                bits = starts()[p];
            }
        }

        /// The free block of at least `size` granules with the highest address, or no_block.
        [[nodiscard]] std::uint32_t find_last(blocks b, std::uint32_t size) const noexcept {
            const std::uint32_t p = tree_.find_last(entries(), size);
            if (p == detail::max_tree<Steps>::none) { return detail::no_block; }
            for (std::uint64_t bits = starts()[p]; bits != 0;) {
                const auto top = 63u - static_cast<std::uint32_t>(std::countl_zero(bits));
                if (b.header(p * page + top).size() >= size) { return p * page + top; }
                bits &= ~(std::uint64_t{1} << top);
            }
            CAIRN_ASSERT(false, "a page's maximum is the size of one of its blocks");
            return detail::no_block;
        }

        /// Size of the largest free block.
        [[nodiscard]] std::uint32_t largest(blocks) const noexcept {
            return tree_.maximum(entries());
        }

        template <class Visit>
        void validate(blocks b, Visit visit) const noexcept {
            for (std::uint32_t p = 0; p < page_count_; ++p) {
                for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                    visit(p * page + static_cast<std::uint32_t>(std::countr_zero(bits)));
                }
                CAIRN_ASSERT(tree_.leaf(entries(), p) == page_max(b, p),
                             "a page's maximum is the size of its largest free block");
            }
            tree_.validate(entries(), page_count_);
        }

    private:
        /// Size of the largest free block that starts in page `p`, 0 for none. `known` has
        /// `known_size`, whatever its header says.
        [[nodiscard]] std::uint32_t page_max(blocks b, std::uint32_t p,
                                             std::uint32_t known = detail::no_block,
                                             std::uint32_t known_size = 0) const noexcept {
            std::uint32_t best = 0;
            for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                const std::uint32_t g =
                    p * page + static_cast<std::uint32_t>(std::countr_zero(bits));
                const std::uint32_t size = g == known ? known_size : b.header(g).size();
                if (size > best) { best = size; }
            }
            return best;
        }

        // The words and the entries lie right behind this object: see array_size().
        [[nodiscard]] std::uint64_t* starts() noexcept {
            return reinterpret_cast<std::uint64_t*>(this + 1);
        }
        [[nodiscard]] const std::uint64_t* starts() const noexcept {
            return reinterpret_cast<const std::uint64_t*>(this + 1);
        }
        [[nodiscard]] std::uint32_t* entries() noexcept {
            return reinterpret_cast<std::uint32_t*>(starts() + page_count_);
        }
        [[nodiscard]] const std::uint32_t* entries() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(starts() + page_count_);
        }

        detail::max_tree<Steps> tree_;
        std::uint32_t page_count_ = 0;
    };
};

}  // namespace cairn
