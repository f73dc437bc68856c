// cairn/alloc/inside/max_tree.hpp - the first place that is large enough, in a few cache lines.
//
//      level 2                 [ 90 . ]                       each entry is the maximum of the
//      level 1       [ 12  90  7 ... ]                        group below it
//      level 0   [ 3 0 12 .. ] [ 90 1 .. ] [ 7 0 .. ]         one entry a place
//
// A group is one cache line: 32 entries of 16 bits or 16 of 32 bits, and a few vector instructions
// find the first that is large enough.
//
// Cost:  find: one line a level, of the levels that the caller says are in use. raise: one entry a
//        level, until the maximum above is large enough. lower: one line a level, until the maximum
//        above does not change.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// What a level is made of: 64 bytes of `Entry`.
template <class Entry>
inline constexpr std::uint32_t fan_out = 64 / sizeof(Entry);

#if defined(__SSE2__)
// Compilers do not find these by themselves (gcc 12, clang 19). SSE2 has signed comparisons only.

/// Four quarters of a group.
struct group_quarters {
    __m128i a, b, c, d;
    explicit group_quarters(const void* group) noexcept
        : group_quarters{static_cast<const __m128i*>(group)} {}

private:
    explicit group_quarters(const __m128i* v) noexcept
        : a{_mm_loadu_si128(v + 0)},
          b{_mm_loadu_si128(v + 1)},
          c{_mm_loadu_si128(v + 2)},
          d{_mm_loadu_si128(v + 3)} {}
};

[[nodiscard]] inline std::uint32_t mask_of(__m128i bytes) noexcept {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
}

[[nodiscard]] inline std::uint32_t at_least(const std::uint32_t* group,
                                            std::uint32_t wanted) noexcept {
    const __m128i limit = _mm_set1_epi32(static_cast<int>(wanted) - 1);
    const group_quarters g{group};
    return mask_of(
        _mm_packs_epi16(_mm_packs_epi32(_mm_cmpgt_epi32(g.a, limit), _mm_cmpgt_epi32(g.b, limit)),
                        _mm_packs_epi32(_mm_cmpgt_epi32(g.c, limit), _mm_cmpgt_epi32(g.d, limit))));
}

[[nodiscard]] inline std::uint32_t at_least(const std::uint16_t* group,
                                            std::uint32_t wanted) noexcept {
    const __m128i limit = _mm_set1_epi16(static_cast<short>(wanted - 1));
    const group_quarters g{group};
    const std::uint32_t low =
        mask_of(_mm_packs_epi16(_mm_cmpgt_epi16(g.a, limit), _mm_cmpgt_epi16(g.b, limit)));
    const std::uint32_t high =
        mask_of(_mm_packs_epi16(_mm_cmpgt_epi16(g.c, limit), _mm_cmpgt_epi16(g.d, limit)));
    return low | high << 16;
}

[[nodiscard]] inline std::uint32_t largest_of(const std::uint32_t* group) noexcept {
    // No maximum of 32-bit integers in SSE2: a compare and a selection.
    const auto larger = [](__m128i a, __m128i b) {
        const __m128i is_a = _mm_cmpgt_epi32(a, b);
        return _mm_or_si128(_mm_and_si128(is_a, a), _mm_andnot_si128(is_a, b));
    };
    const group_quarters g{group};
    const __m128i four = larger(larger(g.a, g.b), larger(g.c, g.d));
    const __m128i two = larger(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
    const __m128i one = larger(two, _mm_shuffle_epi32(two, _MM_SHUFFLE(2, 3, 0, 1)));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(one));
}

[[nodiscard]] inline std::uint32_t largest_of(const std::uint16_t* group) noexcept {
    const group_quarters g{group};
    const __m128i eight = _mm_max_epi16(_mm_max_epi16(g.a, g.b), _mm_max_epi16(g.c, g.d));
    const __m128i four = _mm_max_epi16(eight, _mm_shuffle_epi32(eight, _MM_SHUFFLE(1, 0, 3, 2)));
    const __m128i two = _mm_max_epi16(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(2, 3, 0, 1)));
    const __m128i one = _mm_max_epi16(two, _mm_shufflelo_epi16(two, _MM_SHUFFLE(2, 3, 0, 1)));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(one)) & 0xFFFF;
}

#else

/// Bit i is set when group[i] >= wanted. Requires: no entry's sign bit is set, wanted >= 1.
template <class Entry>
[[nodiscard]] inline std::uint32_t at_least(const Entry* group, std::uint32_t wanted) noexcept {
    std::uint32_t mask = 0;
    for (std::uint32_t i = 0; i < fan_out<Entry>; ++i) {
        mask |= static_cast<std::uint32_t>(group[i] >= wanted) << i;
    }
    return mask;
}

/// Requires: no entry's sign bit is set.
template <class Entry>
[[nodiscard]] inline std::uint32_t largest_of(const Entry* group) noexcept {
    std::uint32_t best = group[0];
    for (std::uint32_t i = 1; i < fan_out<Entry>; ++i) { best = group[i] > best ? group[i] : best; }
    return best;
}

#endif

/// The shape of a tree over `leaves` entries; the entries themselves lie where the caller says,
/// level 0 first, each level padded to whole groups. Trivially copyable.
template <class Entry>
class max_tree {
    static constexpr std::uint32_t width = fan_out<Entry>;

public:
    static constexpr unsigned level_max = 8;
    static constexpr std::uint32_t value_max = static_cast<Entry>(~Entry{0}) / 2;  // no sign bit
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    [[nodiscard]] static constexpr std::size_t entry_count(std::uint32_t leaves) noexcept {
        std::size_t total = 0;
        for (std::uint32_t n = leaves;;) {
            n = (n + width - 1) / width;
            total += std::size_t{n} * width;
            if (n <= 1) { return total; }
        }
    }

    void clear(Entry* entries, std::uint32_t leaves) noexcept {
        levels_ = 0;
        std::uint32_t start = 0;
        for (std::uint32_t n = leaves;;) {
            n = (n + width - 1) / width;
            CAIRN_ASSERT(levels_ < level_max, "eight levels are all there is");
            start_[levels_++] = start;
            start += n * width;
            if (n <= 1) { break; }
        }
        for (std::uint32_t i = 0; i < start; ++i) { entries[i] = 0; }
    }

    /// How many levels a search needs when only the leaves below `end` are not 0.
    [[nodiscard]] unsigned levels_for(std::uint32_t end) const noexcept {
        constexpr unsigned bits = std::countr_zero(width);
        const unsigned levels = (detail::floor_log2(end | 1) + bits) / bits;
        return levels < levels_ ? levels : levels_;
    }

    /// The first leaf with an entry >= wanted, or none. Requires: `levels` as levels_for() said.
    [[nodiscard]] std::uint32_t find(const Entry* entries, std::uint32_t wanted,
                                     unsigned levels) const noexcept {
        std::uint32_t place = 0;
        for (unsigned level = levels; level-- != 0;) {
            CAIRN_DETAIL_STEP();
            const std::uint32_t mask =
                detail::at_least(entries + start_[level] + place * width, wanted);
            if (mask == 0) { return none; }  // only at the top: below it the maximum is true
            place = place * width + static_cast<std::uint32_t>(std::countr_zero(mask));
        }
        return place;
    }

    /// The first leaf from `leaf` on with an entry >= wanted, or none. Up, then down: at most two
    /// lines a level.
    [[nodiscard]] std::uint32_t find_from(const Entry* entries, std::uint32_t leaf,
                                          std::uint32_t wanted) const noexcept {
        std::uint32_t mask = 0;
        unsigned level = 0;
        for (;; ++level) {
            if (level == levels_) { return none; }
            CAIRN_DETAIL_STEP();
            const std::uint32_t group = leaf / width;
            if (group < group_count(level)) {
                mask = detail::at_least(entries + start_[level] + group * width, wanted) &
                       (~std::uint32_t{0} << (leaf % width));
                if (mask != 0) { break; }
            }
            leaf = group + 1;  // one level up, the group after this one
        }
        std::uint32_t place =
            leaf / width * width + static_cast<std::uint32_t>(std::countr_zero(mask));
        while (level-- != 0) {
            CAIRN_DETAIL_STEP();
            mask = detail::at_least(entries + start_[level] + place * width, wanted);
            place = place * width + static_cast<std::uint32_t>(std::countr_zero(mask));
        }
        return place;
    }

    /// The last leaf with an entry >= wanted, or none.
    [[nodiscard]] std::uint32_t find_last(const Entry* entries,
                                          std::uint32_t wanted) const noexcept {
        std::uint32_t place = 0;
        for (unsigned level = levels_; level-- != 0;) {
            CAIRN_DETAIL_STEP();
            const std::uint32_t mask =
                detail::at_least(entries + start_[level] + place * width, wanted);
            if (mask == 0) { return none; }
            place = place * width + 31u - static_cast<std::uint32_t>(std::countl_zero(mask));
        }
        return place;
    }

    /// The leaf's maximum is now `value`, which is more than before or equal.
    void raise(Entry* entries, std::uint32_t leaf, std::uint32_t value) noexcept {
        for (unsigned level = 0; level < levels_; ++level) {
            CAIRN_DETAIL_STEP();
            Entry& entry = entries[start_[level] + leaf];
            if (entry >= value) { return; }
            entry = static_cast<Entry>(value);
            leaf /= width;
        }
    }

    /// The leaf's maximum is now `value`, which is less than before or equal.
    void lower(Entry* entries, std::uint32_t leaf, std::uint32_t value) noexcept {
        for (unsigned level = 0;; ++level) {
            CAIRN_DETAIL_STEP();
            Entry& entry = entries[start_[level] + leaf];
            const std::uint32_t before = entry;
            if (before == value) { return; }
            entry = static_cast<Entry>(value);
            if (level + 1 == levels_) { return; }
            leaf /= width;
            if (entries[start_[level + 1] + leaf] != before) { return; }  // another was larger
            value = detail::largest_of(entries + start_[level] + leaf * width);
        }
    }

    [[nodiscard]] std::uint32_t leaf(const Entry* entries, std::uint32_t i) const noexcept {
        return entries[i];
    }
    [[nodiscard]] std::uint32_t maximum(const Entry* entries) const noexcept {
        return detail::largest_of(entries + start_[levels_ - 1]);
    }
    [[nodiscard]] unsigned levels() const noexcept { return levels_; }

    void validate(const Entry* entries, std::uint32_t leaves) const noexcept {
        std::uint32_t n = leaves;
        for (unsigned level = 0; level + 1 < levels_; ++level) {
            n = (n + width - 1) / width;
            for (std::uint32_t i = 0; i < n; ++i) {
                CAIRN_ASSERT(entries[start_[level + 1] + i] ==
                                 detail::largest_of(entries + start_[level] + i * width),
                             "an entry is the maximum of the group below it");
            }
        }
    }

private:
    /// Groups on one level.
    [[nodiscard]] std::uint32_t group_count(unsigned level) const noexcept {
        return level + 1 == levels_ ? 1 : (start_[level + 1] - start_[level]) / width;
    }

    std::uint32_t start_[level_max] = {};  // index of each level's first entry
    unsigned levels_ = 0;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
