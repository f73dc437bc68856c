// cairn/alloc/heap/max_tree.hpp - the first place that is large enough, in a few cache lines.
//
//      level 2                 [ 90 . ]                       each entry is the maximum of the
//      level 1       [ 12  90  7 ... ]                        sixteen below it
//      level 0   [ 3 0 12 .. ] [ 90 1 .. ] [ 7 0 .. ]         one entry a page: its largest block
//
// Sixteen entries of 32 bits are one cache line, and two or four vector instructions find the first
// that is large enough. 64 MiB of heap in pages of 1 KiB are four levels.
//
// Cost:  find: one line a level. raise: one entry a level, until the maximum above is large enough.
//        lower: one line a level, until the maximum above does not change.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#include <cairn/core/assert.hpp>

namespace cairn::detail {

inline constexpr std::uint32_t fan_out = 16;

/// Bit i is set when group[i] >= wanted. Requires: all values < 2^31, wanted >= 1.
[[nodiscard]] inline std::uint32_t at_least(const std::uint32_t* group,
                                            std::uint32_t wanted) noexcept {
#if defined(__SSE2__)
    // Compilers do not find this by themselves (gcc 12, clang 19): four compares, packed to bytes.
    const __m128i limit = _mm_set1_epi32(static_cast<int>(wanted) - 1);
    const auto* const v = reinterpret_cast<const __m128i*>(group);
    const __m128i a = _mm_cmpgt_epi32(_mm_loadu_si128(v + 0), limit);
    const __m128i b = _mm_cmpgt_epi32(_mm_loadu_si128(v + 1), limit);
    const __m128i c = _mm_cmpgt_epi32(_mm_loadu_si128(v + 2), limit);
    const __m128i d = _mm_cmpgt_epi32(_mm_loadu_si128(v + 3), limit);
    const __m128i bytes = _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
    std::uint32_t mask = 0;
    for (std::uint32_t i = 0; i < fan_out; ++i) {
        mask |= static_cast<std::uint32_t>(group[i] >= wanted) << i;
    }
    return mask;
#endif
}

/// Requires: all values < 2^31.
[[nodiscard]] inline std::uint32_t largest_of(const std::uint32_t* group) noexcept {
#if defined(__SSE2__)
    // SSE2 has no maximum of 32-bit integers: a compare and a selection.
    const auto larger = [](__m128i a, __m128i b) {
        const __m128i is_a = _mm_cmpgt_epi32(a, b);
        return _mm_or_si128(_mm_and_si128(is_a, a), _mm_andnot_si128(is_a, b));
    };
    const auto* const v = reinterpret_cast<const __m128i*>(group);
    const __m128i four = larger(larger(_mm_loadu_si128(v + 0), _mm_loadu_si128(v + 1)),
                                larger(_mm_loadu_si128(v + 2), _mm_loadu_si128(v + 3)));
    const __m128i two = larger(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
    const __m128i one = larger(two, _mm_shuffle_epi32(two, _MM_SHUFFLE(2, 3, 0, 1)));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(one));
#else
    std::uint32_t best = group[0];
    for (std::uint32_t i = 1; i < fan_out; ++i) { best = group[i] > best ? group[i] : best; }
    return best;
#endif
}

/// The shape of a tree over `leaves` entries; the entries themselves lie where the caller says,
/// level 0 first, each level padded to whole groups. Trivially copyable.
template <class Steps>
class max_tree {
public:
    static constexpr unsigned level_max = 8;
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    [[nodiscard]] static constexpr std::size_t entry_count(std::uint32_t leaves) noexcept {
        std::size_t total = 0;
        for (std::uint32_t n = leaves;;) {
            n = (n + fan_out - 1) / fan_out;
            total += std::size_t{n} * fan_out;
            if (n <= 1) { return total; }
        }
    }

    void clear(std::uint32_t* entries, std::uint32_t leaves) noexcept {
        levels_ = 0;
        std::uint32_t start = 0;
        for (std::uint32_t n = leaves;;) {
            n = (n + fan_out - 1) / fan_out;
            CAIRN_ASSERT(levels_ < level_max, "eight levels of sixteen are all there is");
            start_[levels_++] = start;
            start += n * fan_out;
            if (n <= 1) { break; }
        }
        for (std::uint32_t i = 0; i < start; ++i) { entries[i] = 0; }
    }

    /// The first leaf with an entry >= wanted, or none.
    [[nodiscard]] std::uint32_t find(const std::uint32_t* entries,
                                     std::uint32_t wanted) const noexcept {
        std::uint32_t place = 0;
        for (unsigned level = levels_; level-- != 0;) {
            Steps::touch();
            const std::uint32_t mask = at_least(entries + start_[level] + place * fan_out, wanted);
            if (mask == 0) { return none; }  // only at the top: below it the maximum is true
            place = place * fan_out + static_cast<std::uint32_t>(std::countr_zero(mask));
        }
        return place;
    }

    /// The first leaf from `leaf` on with an entry >= wanted, or none. Up, then down: at most two
    /// lines a level.
    [[nodiscard]] std::uint32_t find_from(const std::uint32_t* entries, std::uint32_t leaf,
                                          std::uint32_t wanted) const noexcept {
        std::uint32_t mask = 0;
        unsigned level = 0;
        for (;; ++level) {
            if (level == levels_) { return none; }
            Steps::touch();
            const std::uint32_t group = leaf / fan_out;
            if (group < group_count(level)) {
                mask = at_least(entries + start_[level] + group * fan_out, wanted) &
                       (~std::uint32_t{0} << (leaf % fan_out));
                if (mask != 0) { break; }
            }
            leaf = group + 1;  // one level up, the group after this one
        }
        std::uint32_t place =
            leaf / fan_out * fan_out + static_cast<std::uint32_t>(std::countr_zero(mask));
        while (level-- != 0) {
            Steps::touch();
            mask = at_least(entries + start_[level] + place * fan_out, wanted);
            place = place * fan_out + static_cast<std::uint32_t>(std::countr_zero(mask));
        }
        return place;
    }

    /// The last leaf with an entry >= wanted, or none.
    [[nodiscard]] std::uint32_t find_last(const std::uint32_t* entries,
                                          std::uint32_t wanted) const noexcept {
        std::uint32_t place = 0;
        for (unsigned level = levels_; level-- != 0;) {
            Steps::touch();
            const std::uint32_t mask = at_least(entries + start_[level] + place * fan_out, wanted);
            if (mask == 0) { return none; }
            place = place * fan_out + 31u - static_cast<std::uint32_t>(std::countl_zero(mask));
        }
        return place;
    }

    /// The leaf's maximum is now `value`, which is more than before or equal.
    void raise(std::uint32_t* entries, std::uint32_t leaf, std::uint32_t value) noexcept {
        for (unsigned level = 0; level < levels_; ++level) {
            Steps::touch();
            std::uint32_t& entry = entries[start_[level] + leaf];
            if (entry >= value) { return; }
            entry = value;
            leaf /= fan_out;
        }
    }

    /// The leaf's maximum is now `value`, which is less than before or equal.
    void lower(std::uint32_t* entries, std::uint32_t leaf, std::uint32_t value) noexcept {
        for (unsigned level = 0;; ++level) {
            Steps::touch();
            std::uint32_t& entry = entries[start_[level] + leaf];
            const std::uint32_t before = entry;
            if (before == value) { return; }
            entry = value;
            if (level + 1 == levels_) { return; }
            leaf /= fan_out;
            if (entries[start_[level + 1] + leaf] != before) { return; }  // another was larger
            value = largest_of(entries + start_[level] + leaf * fan_out);
        }
    }

    [[nodiscard]] std::uint32_t leaf(const std::uint32_t* entries, std::uint32_t i) const noexcept {
        return entries[i];
    }
    [[nodiscard]] std::uint32_t maximum(const std::uint32_t* entries) const noexcept {
        return largest_of(entries + start_[levels_ - 1]);
    }
    [[nodiscard]] unsigned levels() const noexcept { return levels_; }

    void validate(const std::uint32_t* entries, std::uint32_t leaves) const noexcept {
        std::uint32_t n = leaves;
        for (unsigned level = 0; level + 1 < levels_; ++level) {
            n = (n + fan_out - 1) / fan_out;
            for (std::uint32_t i = 0; i < n; ++i) {
                CAIRN_ASSERT(entries[start_[level + 1] + i] ==
                                 largest_of(entries + start_[level] + i * fan_out),
                             "an entry is the maximum of the sixteen below it");
            }
        }
    }

private:
    /// Groups of sixteen on one level.
    [[nodiscard]] std::uint32_t group_count(unsigned level) const noexcept {
        return level + 1 == levels_ ? 1 : (start_[level + 1] - start_[level]) / fan_out;
    }

    std::uint32_t start_[level_max] = {};  // index of each level's first entry
    unsigned levels_ = 0;
};

}  // namespace cairn::detail
