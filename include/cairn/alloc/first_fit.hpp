// cairn/alloc/first_fit.hpp - the free block with the lowest address that fits, in O(log n).
//
//      granules   |................|................|................|  pages of 64 granules, 1 KiB
//      starts     ...1.......1.....................1.....               one bit a free block, in
//                                                                       the page where it starts
//      pages         9               0              40                  largest of the page, or
//                                                                       32767 for what is larger
//      spans         0              90000                               the one block of 512 KiB or
//                                                                       more that starts in a span
//      top                                                ^.........|   the free block at the end
//
// Find: down a tree of maxima to the first page with a block that is large enough, then along at
// most 32 bits (two neighbours are never both free) to the first such block. If there is none, the
// top: it has the highest address of all. While a heap fills up, nothing but the top changes.
//
// Use it for: compaction, trimming, and the smallest guaranteed region of the four: address-ordered
//             first fit keeps the high end free.
// Look elsewhere for: raw speed (good_fit).
//
// Exact: the block is the lowest that fits. Over-aligned requests count as size + alignment - 16.
// Cost:  one cache line a level (three where 32 MiB are in use), then the headers of at most 32
//        blocks of a page. The index takes 10.1 bytes per KiB of region.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/first_fit/max_tree.hpp>
#include <cairn/alloc/fit.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

struct first_fit {
    static constexpr const char* name = "first_fit";
    static constexpr std::uint32_t deferred_max = 0;
    /// Steps (step_counter.hpp) of one operation in one region: eight levels and the 32 free blocks
    /// of a page, three times each.
    static constexpr std::uint32_t allocate_steps_max = 3 * (8 + 32) + 20;
    static constexpr std::uint32_t deallocate_steps_max = 3 * (8 + 32) + 20;

    [[nodiscard]] static constexpr std::uint32_t block_size(std::uint32_t granules) noexcept {
        return granules;
    }

    template <class Steps>
    class alignas(8) index {
        using blocks = detail::block_map<Steps>;
        using page_tree = detail::max_tree<std::uint16_t, Steps>;
        using span_tree = detail::max_tree<std::uint32_t, Steps>;
        static constexpr std::uint32_t none = page_tree::none;

        static constexpr std::uint32_t page = 64;  // granules: one word of start bits
        static constexpr std::uint32_t large = page_tree::value_max;  // granules: and more
        // A large block and the block in use behind it fill a span: at most one starts in each.
        static constexpr std::uint32_t span = large + 1;
        static_assert(span % page == 0);

        [[nodiscard]] static constexpr std::uint32_t pages_for(std::uint32_t granules) noexcept {
            return granules / page + 1;
        }
        [[nodiscard]] static constexpr std::uint32_t spans_for(std::uint32_t granules) noexcept {
            return granules / span + 1;
        }
        [[nodiscard]] static constexpr std::uint32_t capped(std::uint32_t size) noexcept {
            return size < large ? size : large;
        }

    public:
        [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
            const std::uint32_t pages = pages_for(granules);
            return span_tree::entry_count(spans_for(granules)) * sizeof(std::uint32_t) +
                   pages * sizeof(std::uint64_t) +
                   page_tree::entry_count(pages) * sizeof(std::uint16_t);
        }

        /// There is no link in a free block, so there is no key.
        void clear(std::uint32_t granules, std::uint32_t = 0) noexcept {
            end_ = granules;
            page_count_ = pages_for(granules);
            starts_offset_ = static_cast<std::uint32_t>(
                span_tree::entry_count(spans_for(granules)) * sizeof(std::uint32_t));
            for (std::uint32_t p = 0; p < page_count_; ++p) { starts()[p] = 0; }
            pages_.clear(page_entries(), page_count_);
            spans_.clear(span_entries(), spans_for(granules));
            set_top(end_);
        }

        void insert(blocks, std::uint32_t g, std::uint32_t size) noexcept {
            Steps::touch();
            if (g + size == end_) {
                set_top(g);
                return;
            }
            starts()[g / page] |= bit_of(g);
            pages_.raise(page_entries(), g / page, capped(size));
            if (size >= large) [[unlikely]] { spans_.raise(span_entries(), g / span, size); }
        }

        void remove(blocks b, std::uint32_t g, std::uint32_t size) noexcept {
            Steps::touch();
            if (g == top_) {
                set_top(end_);
                return;
            }
            const std::uint32_t p = g / page;
            starts()[p] &= ~bit_of(g);
            if (pages_.leaf(page_entries(), p) == capped(size)) {
                pages_.lower(page_entries(), p, page_max(b, p));
            }
            if (size >= large) [[unlikely]] { spans_.lower(span_entries(), g / span, 0); }
        }

        /// The free block `from` becomes `to`; no header has changed yet.
        void replace(blocks b, std::uint32_t from, std::uint32_t from_size, std::uint32_t to,
                     std::uint32_t to_size) noexcept {
            if (from == top_ && to + to_size == end_) {
                Steps::touch();
                set_top(to);
                return;
            }
            const std::uint32_t p = from / page;
            if (p != to / page || from == top_ || to + to_size == end_ ||
                (from_size | to_size) >= large) {
                remove(b, from, from_size);
                insert(b, to, to_size);
                return;
            }
            Steps::touch();
            starts()[p] = (starts()[p] & ~bit_of(from)) | bit_of(to);
            if (to_size >= from_size) {
                pages_.raise(page_entries(), p, to_size);
            } else if (pages_.leaf(page_entries(), p) == from_size) {
                pages_.lower(page_entries(), p, page_max(b, p, to, to_size));
            }
        }

        /// The free block of at least `size` granules with the lowest address, or no_block.
        [[nodiscard]] std::uint32_t find(blocks b, std::uint32_t size) const noexcept {
            if (size > large) [[unlikely]] { return large_from(b, 0, size); }
            const std::uint32_t p = pages_.find(page_entries(), size, levels_in_use_);
            if (p == none) { return top_from(size); }
            return expect_found(first_in_page(b, p, starts()[p], size));
        }

        /// As find(), among those that start at granule `from` or above.
        [[nodiscard]] std::uint32_t find_from(blocks b, std::uint32_t from,
                                              std::uint32_t size) const noexcept {
            std::uint32_t p = from / page;
            if (p >= page_count_) { return detail::no_block; }
            std::uint64_t bits = starts()[p] & (~std::uint64_t{0} << (from % page));
            while (true) {
                const std::uint32_t g = first_in_page(b, p, bits, size);
                if (g != detail::no_block) { return g; }
                p = pages_.find_from(page_entries(), p + 1, capped(size));
                if (p == none) { return from <= top_ ? top_from(size) : detail::no_block; }
                bits = starts()[p];
                if (size > large) [[unlikely]] {
                    const std::uint32_t first = expect_found(first_in_page(b, p, bits, large));
                    if (b.header(first).size() >= size) { return first; }
                    return large_from(b, first / span + 1, size);
                }
            }
        }

        /// The free block of at least `size` granules with the highest address, or no_block.
        [[nodiscard]] std::uint32_t find_last(blocks b, std::uint32_t size) const noexcept {
            if (end_ - top_ >= size) { return top_; }
            if (size > large) [[unlikely]] {
                const std::uint32_t s = spans_.find_last(span_entries(), size);
                return s == none ? detail::no_block : large_of_span(b, s);
            }
            const std::uint32_t p = pages_.find_last(page_entries(), size);
            if (p == none) { return detail::no_block; }
            for (std::uint64_t bits = starts()[p]; bits != 0;) {
                const auto last = 63u - static_cast<std::uint32_t>(std::countl_zero(bits));
                if (b.header(p * page + last).size() >= size) { return p * page + last; }
                bits &= ~(std::uint64_t{1} << last);
            }
            detail::heap_is_corrupt(detail::heap_promise::page, this);
        }

        /// Size of the largest free block.
        [[nodiscard]] std::uint32_t largest(blocks) const noexcept {
            const std::uint32_t page_size = pages_.maximum(page_entries());
            const std::uint32_t below =
                page_size < large ? page_size : spans_.maximum(span_entries());
            return end_ - top_ > below ? end_ - top_ : below;
        }

        template <class Visit>
        void validate(blocks b, Visit visit) const noexcept {
            std::uint32_t large_count = 0;
            for (std::uint32_t p = 0; p < page_count_; ++p) {
                for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                    const std::uint32_t g = p * page + lowest(bits);
                    visit(g);
                    const std::uint32_t size = b.header(g).size();
                    CAIRN_ASSERT(g + size < end_, "the free block at the end is the top");
                    if (size >= large) {
                        ++large_count;
                        CAIRN_ASSERT(spans_.leaf(span_entries(), g / span) == size,
                                     "a span knows the large block that starts in it");
                    }
                }
                CAIRN_ASSERT(pages_.leaf(page_entries(), p) == page_max(b, p),
                             "a page's maximum is the size of its largest free block");
            }
            for (std::uint32_t s = 0; s < spans_for(end_); ++s) {
                large_count -= spans_.leaf(span_entries(), s) != 0 ? 1u : 0u;
            }
            CAIRN_ASSERT(large_count == 0, "a span without a large block says so");
            pages_.validate(page_entries(), page_count_);
            spans_.validate(span_entries(), spans_for(end_));
            if (top_ != end_) { visit(top_); }
        }

    private:
        [[nodiscard]] static std::uint64_t bit_of(std::uint32_t g) noexcept {
            return std::uint64_t{1} << (g % page);
        }
        [[nodiscard]] static std::uint32_t lowest(std::uint64_t bits) noexcept {
            return static_cast<std::uint32_t>(std::countr_zero(bits));
        }

        /// The index lies in front of all blocks, but the sizes stand in their headers.
        [[nodiscard]] std::uint32_t expect_found(std::uint32_t g) const noexcept {
            if (g == detail::no_block) [[unlikely]] {
                detail::heap_is_corrupt(detail::heap_promise::page, this);
            }
            return g;
        }

        void set_top(std::uint32_t g) noexcept {
            top_ = g;
            levels_in_use_ = pages_.levels_for(g / page + 1);
        }
        [[nodiscard]] std::uint32_t top_from(std::uint32_t size) const noexcept {
            return end_ - top_ >= size ? top_ : detail::no_block;
        }

        [[nodiscard]] static std::uint32_t first_in_page(blocks b, std::uint32_t p,
                                                         std::uint64_t bits,
                                                         std::uint32_t size) noexcept {
            for (; bits != 0; bits &= bits - 1) {
                const std::uint32_t g = p * page + lowest(bits);
                if (b.header(g).size() >= size) { return g; }
            }
            return detail::no_block;
        }

        /// The large block that starts in span `s`, which has one.
        [[nodiscard]] std::uint32_t large_of_span(blocks b, std::uint32_t s) const noexcept {
            const std::uint32_t p = pages_.find_from(page_entries(), s * (span / page), large);
            if (p == none) [[unlikely]] {
                detail::heap_is_corrupt(detail::heap_promise::page, this);
            }
            return expect_found(first_in_page(b, p, starts()[p], large));
        }
        /// The first block of more than `large` granules from span `s` on.
        [[nodiscard]] std::uint32_t large_from(blocks b, std::uint32_t s,
                                               std::uint32_t size) const noexcept {
            s = spans_.find_from(span_entries(), s, size);
            return s == none ? top_from(size) : large_of_span(b, s);
        }

        /// Size of the largest free block that starts in page `p`, capped, 0 for none. `known` has
        /// `known_size`, whatever its header says.
        [[nodiscard]] std::uint32_t page_max(blocks b, std::uint32_t p,
                                             std::uint32_t known = detail::no_block,
                                             std::uint32_t known_size = 0) const noexcept {
            std::uint32_t best = 0;
            for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                const std::uint32_t g = p * page + lowest(bits);
                const std::uint32_t size = g == known ? known_size : b.header(g).size();
                if (size > best) { best = size; }
            }
            return capped(best);
        }

        // The arrays lie right behind this object: spans, starts, pages; see array_size().
        [[nodiscard]] const std::byte* arrays() const noexcept {
            return reinterpret_cast<const std::byte*>(this + 1);
        }
        [[nodiscard]] std::byte* arrays() noexcept {
            return reinterpret_cast<std::byte*>(this + 1);
        }
        [[nodiscard]] const std::uint32_t* span_entries() const noexcept {
            return reinterpret_cast<const std::uint32_t*>(arrays());
        }
        [[nodiscard]] std::uint32_t* span_entries() noexcept {
            return reinterpret_cast<std::uint32_t*>(arrays());
        }
        [[nodiscard]] const std::uint64_t* starts() const noexcept {
            return reinterpret_cast<const std::uint64_t*>(arrays() + starts_offset_);
        }
        [[nodiscard]] std::uint64_t* starts() noexcept {
            return reinterpret_cast<std::uint64_t*>(arrays() + starts_offset_);
        }
        [[nodiscard]] const std::uint16_t* page_entries() const noexcept {
            return reinterpret_cast<const std::uint16_t*>(starts() + page_count_);
        }
        [[nodiscard]] std::uint16_t* page_entries() noexcept {
            return reinterpret_cast<std::uint16_t*>(starts() + page_count_);
        }

        page_tree pages_;
        span_tree spans_;
        std::uint32_t top_ = 0;       // the free block that ends the region; end_: there is none
        std::uint32_t end_ = 0;       // granules of the region
        unsigned levels_in_use_ = 0;  // of pages_: those above the top hold nothing
        std::uint32_t page_count_ = 0;
        std::uint32_t starts_offset_ = 0;  // bytes
    };
};

}  // namespace cairn::inline CAIRN_FLAVOUR
