// cairn/alloc/inside/first_fit_index.hpp - the free block with the lowest address that fits: the
// index of first_fit, and of the holes of a relocatable heap.
//
//      granules   |................|................|................|  stretches of 64, 1 KiB each
//      starts     ...1.......1.....................1.....               one bit a free block, in
//                                                                       the stretch where it starts
//      stretches     9               0              40                  largest of the stretch, or
//                                                                       32767 for what is larger
//      spans         0              90000                               the one block of 512 KiB or
//                                                                       more that starts in a span
//      top                                                ^.........|   the free block at the end
//
// Find: down a tree of maxima to the first stretch with a block that is large enough, then along at
// most 32 bits (two neighbours are never both free) to the first such block. If there is none, the
// top: it has the highest address of all. While a heap fills up, nothing but the top changes.
//
// Cost:  one cache line a level (three where 32 MiB are in use), then the headers of at most 32
//        blocks of a stretch. The index takes 10.1 bytes per KiB of region.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/inside/max_tree.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class alignas(8) first_fit_index {
    using blocks = block_map;
    using stretch_tree = max_tree<std::uint16_t>;
    using span_tree = max_tree<std::uint32_t>;
    static constexpr std::uint32_t none = stretch_tree::none;

    static constexpr std::uint32_t stretch = 64;  // granules: one word of start bits
    static constexpr std::uint32_t large = stretch_tree::value_max;  // granules: and more
    // A large block and the block in use behind it fill a span: at most one starts in each.
    static constexpr std::uint32_t span = large + 1;
    static_assert(span % stretch == 0);

    [[nodiscard]] static constexpr std::uint32_t stretches_for(std::uint32_t granules) noexcept {
        return granules / stretch + 1;
    }
    [[nodiscard]] static constexpr std::uint32_t spans_for(std::uint32_t granules) noexcept {
        return granules / span + 1;
    }
    [[nodiscard]] static constexpr std::uint32_t capped(std::uint32_t size) noexcept {
        return size < large ? size : large;
    }

public:
    [[nodiscard]] static constexpr std::size_t array_size(std::uint32_t granules) noexcept {
        const std::uint32_t stretches = stretches_for(granules);
        return span_tree::entry_count(spans_for(granules)) * sizeof(std::uint32_t) +
               stretches * sizeof(std::uint64_t) +
               stretch_tree::entry_count(stretches) * sizeof(std::uint16_t);
    }

    /// There is no link in a free block, so there is no key.
    void clear(std::uint32_t granules, std::uint32_t = 0) noexcept {
        end_ = granules;
        stretch_count_ = stretches_for(granules);
        starts_offset_ = static_cast<std::uint32_t>(span_tree::entry_count(spans_for(granules)) *
                                                    sizeof(std::uint32_t));
        for (std::uint32_t p = 0; p < stretch_count_; ++p) { starts()[p] = 0; }
        stretches_.clear(stretch_entries(), stretch_count_);
        spans_.clear(span_entries(), spans_for(granules));
        set_top(end_);
    }

    void insert(blocks, std::uint32_t g, std::uint32_t size) noexcept {
        CAIRN_DETAIL_STEP();
        if (g + size == end_) {
            set_top(g);
            return;
        }
        starts()[g / stretch] |= bit_of(g);
        stretches_.raise(stretch_entries(), g / stretch, capped(size));
        if (size >= large) [[unlikely]] { spans_.raise(span_entries(), g / span, size); }
    }

    void remove(blocks b, std::uint32_t g, std::uint32_t size) noexcept {
        CAIRN_DETAIL_STEP();
        if (g == top_) {
            set_top(end_);
            return;
        }
        const std::uint32_t p = g / stretch;
        starts()[p] &= ~bit_of(g);
        if (stretches_.leaf(stretch_entries(), p) == capped(size)) {
            stretches_.lower(stretch_entries(), p, stretch_max(b, p));
        }
        if (size >= large) [[unlikely]] { spans_.lower(span_entries(), g / span, 0); }
    }

    /// The free block `from` becomes `to`; no header has changed yet.
    void change(blocks b, std::uint32_t from, std::uint32_t from_size, std::uint32_t to,
                std::uint32_t to_size) noexcept {
        if (from == top_ && to + to_size == end_) {
            CAIRN_DETAIL_STEP();
            set_top(to);
            return;
        }
        const std::uint32_t p = from / stretch;
        if (p != to / stretch || from == top_ || to + to_size == end_ ||
            (from_size | to_size) >= large) {
            remove(b, from, from_size);
            insert(b, to, to_size);
            return;
        }
        CAIRN_DETAIL_STEP();
        starts()[p] = (starts()[p] & ~bit_of(from)) | bit_of(to);
        if (to_size >= from_size) {
            stretches_.raise(stretch_entries(), p, to_size);
        } else if (stretches_.leaf(stretch_entries(), p) == from_size) {
            stretches_.lower(stretch_entries(), p, stretch_max(b, p, to, to_size));
        }
    }

    [[CAIRN_FORCE_INLINE]] inline void take(blocks b, hole h) noexcept {
        remove(b, h.block, h.size);
    }
    [[CAIRN_FORCE_INLINE]] inline void keep_rest(blocks b, hole h, std::uint32_t used) noexcept {
        change(b, h.block, h.size, h.block + used, h.size - used);
    }
    [[CAIRN_FORCE_INLINE]] inline void give(blocks b, std::uint32_t left_size, std::uint32_t at,
                                            std::uint32_t size, std::uint32_t right_size) noexcept {
        give_by_change(*this, b, left_size, at, size, right_size);
    }

    /// The free block of at least `size` granules with the lowest address.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline hole find(blocks b,
                                                       std::uint32_t size) const noexcept {
        if (size > large) [[unlikely]] { return {large_from(b, 0, size)}; }
        const std::uint32_t p = stretches_.find(stretch_entries(), size, levels_in_use_);
        if (p == none) { return {top_from(size)}; }
        return {expect_found(first_in_stretch(b, p, starts()[p], size))};
    }

    /// As find(), among those that start at granule `from` or above.
    [[nodiscard]] std::uint32_t find_from(blocks b, std::uint32_t from,
                                          std::uint32_t size) const noexcept {
        std::uint32_t p = from / stretch;
        if (p >= stretch_count_) { return no_block; }
        std::uint64_t bits = starts()[p] & (~std::uint64_t{0} << (from % stretch));
        while (true) {
            const std::uint32_t g = first_in_stretch(b, p, bits, size);
            if (g != no_block) { return g; }
            p = stretches_.find_from(stretch_entries(), p + 1, capped(size));
            if (p == none) { return from <= top_ ? top_from(size) : no_block; }
            bits = starts()[p];
            if (size > large) [[unlikely]] {
                const std::uint32_t first = expect_found(first_in_stretch(b, p, bits, large));
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
            return s == none ? no_block : large_of_span(b, s);
        }
        const std::uint32_t p = stretches_.find_last(stretch_entries(), size);
        if (p == none) { return no_block; }
        for (std::uint64_t bits = starts()[p]; bits != 0;) {
            const auto last = 63u - static_cast<std::uint32_t>(std::countl_zero(bits));
            if (b.header(p * stretch + last).size() >= size) { return p * stretch + last; }
            bits &= ~(std::uint64_t{1} << last);
        }
        heap_is_corrupt(heap_promise::stretch, this);
    }

    /// Size of the largest free block.
    [[nodiscard]] std::uint32_t largest(blocks) const noexcept {
        const std::uint32_t stretch_size = stretches_.maximum(stretch_entries());
        const std::uint32_t below =
            stretch_size < large ? stretch_size : spans_.maximum(span_entries());
        return end_ - top_ > below ? end_ - top_ : below;
    }

    template <class Visit>
    void validate(blocks b, Visit visit) const noexcept {
        std::uint32_t large_count = 0;
        for (std::uint32_t p = 0; p < stretch_count_; ++p) {
            for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
                const std::uint32_t g = p * stretch + lowest(bits);
                visit(g);
                const std::uint32_t size = b.header(g).size();
                CAIRN_ASSERT(g + size < end_, "the free block at the end is the top");
                if (size >= large) {
                    ++large_count;
                    CAIRN_ASSERT(spans_.leaf(span_entries(), g / span) == size,
                                 "a span knows the large block that starts in it");
                }
            }
            CAIRN_ASSERT(stretches_.leaf(stretch_entries(), p) == stretch_max(b, p),
                         "a stretch's maximum is the size of its largest free block");
        }
        for (std::uint32_t s = 0; s < spans_for(end_); ++s) {
            large_count -= spans_.leaf(span_entries(), s) != 0 ? 1u : 0u;
        }
        CAIRN_ASSERT(large_count == 0, "a span without a large block says so");
        stretches_.validate(stretch_entries(), stretch_count_);
        spans_.validate(span_entries(), spans_for(end_));
        if (top_ != end_) { visit(top_); }
    }

private:
    [[nodiscard]] static std::uint64_t bit_of(std::uint32_t g) noexcept {
        return std::uint64_t{1} << (g % stretch);
    }
    [[nodiscard]] static std::uint32_t lowest(std::uint64_t bits) noexcept {
        return static_cast<std::uint32_t>(std::countr_zero(bits));
    }

    /// The index lies in front of all blocks, but the sizes stand in their headers.
    [[nodiscard]] std::uint32_t expect_found(std::uint32_t g) const noexcept {
        if (g == no_block) [[unlikely]] { heap_is_corrupt(heap_promise::stretch, this); }
        return g;
    }

    void set_top(std::uint32_t g) noexcept {
        top_ = g;
        levels_in_use_ = stretches_.levels_for(g / stretch + 1);
    }
    [[nodiscard]] std::uint32_t top_from(std::uint32_t size) const noexcept {
        return end_ - top_ >= size ? top_ : no_block;
    }

    [[nodiscard]] static std::uint32_t first_in_stretch(blocks b, std::uint32_t p,
                                                        std::uint64_t bits,
                                                        std::uint32_t size) noexcept {
        for (; bits != 0; bits &= bits - 1) {
            const std::uint32_t g = p * stretch + lowest(bits);
            if (b.header(g).size() >= size) { return g; }
        }
        return no_block;
    }

    /// The large block that starts in span `s`, which has one.
    [[nodiscard]] std::uint32_t large_of_span(blocks b, std::uint32_t s) const noexcept {
        const std::uint32_t p =
            stretches_.find_from(stretch_entries(), s * (span / stretch), large);
        if (p == none) [[unlikely]] { heap_is_corrupt(heap_promise::stretch, this); }
        return expect_found(first_in_stretch(b, p, starts()[p], large));
    }
    /// The first block of more than `large` granules from span `s` on.
    [[nodiscard]] std::uint32_t large_from(blocks b, std::uint32_t s,
                                           std::uint32_t size) const noexcept {
        s = spans_.find_from(span_entries(), s, size);
        return s == none ? top_from(size) : large_of_span(b, s);
    }

    /// Size of the largest free block that starts in stretch `p`, capped, 0: none. `known` has
    /// `known_size`, whatever its header says.
    [[nodiscard]] std::uint32_t stretch_max(blocks b, std::uint32_t p,
                                            std::uint32_t known = no_block,
                                            std::uint32_t known_size = 0) const noexcept {
        std::uint32_t best = 0;
        for (std::uint64_t bits = starts()[p]; bits != 0; bits &= bits - 1) {
            const std::uint32_t g = p * stretch + lowest(bits);
            const std::uint32_t size = g == known ? known_size : b.header(g).size();
            if (size > best) { best = size; }
        }
        return capped(best);
    }

    // The arrays lie right behind this object: spans, starts, stretches; see array_size().
    [[nodiscard]] const std::byte* arrays() const noexcept {
        return reinterpret_cast<const std::byte*>(this + 1);
    }
    [[nodiscard]] std::byte* arrays() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
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
    [[nodiscard]] const std::uint16_t* stretch_entries() const noexcept {
        return reinterpret_cast<const std::uint16_t*>(starts() + stretch_count_);
    }
    [[nodiscard]] std::uint16_t* stretch_entries() noexcept {
        return reinterpret_cast<std::uint16_t*>(starts() + stretch_count_);
    }

    stretch_tree stretches_;
    span_tree spans_;
    std::uint32_t top_ = 0;       // the free block that ends the region; end_: there is none
    std::uint32_t end_ = 0;       // granules of the region
    unsigned levels_in_use_ = 0;  // of stretches_: those above the top hold nothing
    std::uint32_t stretch_count_ = 0;
    std::uint32_t starts_offset_ = 0;  // bytes
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
