// cairn/storage/inside/two_level_bitmap.hpp - up to 4,096 bits: the first that is set at or above
// a given one, in two looks.
//
//      words     0 0 w 0 w                one bit each: bin 130 is not empty
//                    |   |
//      summary   . . 1 . 1                one bit per word: this word is not zero
//
// The bins of a heap's fit (alloc/inside/free_lists.hpp) are such a set. Why the words of a
// stable_slot_map are none: docs/decisions/0012.
//
// Source: the idea is TLSF's (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator
//         for real-time systems", ECRTS 2004), with the two levels cut at the machine word instead
//         of at the power of two, so that any numbering of the bins will do.
//
// Invariant: bit w of the summary is set exactly when words[w] != 0.
// Cost:      set, clear: two words. find_from: at most three words and two countr_zero. lowest: two
//            and two.
#pragma once

#include <bit>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `Bits` <= 4096 bits. Trivially copyable; all zero is the empty bitmap.
template <std::uint32_t Bits, class = void>
class two_level_bitmap {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    static constexpr std::uint32_t word_count = (Bits + 63) / 64;
    static_assert(word_count <= 64, "one summary word has 64 bits");

    [[CAIRN_FORCE_INLINE]] inline void set(std::size_t bit) noexcept {
        CAIRN_DETAIL_STEP();
        words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
        if constexpr (word_count > 1) { words_[summary] |= std::uint64_t{1} << (bit / 64); }
    }

    [[CAIRN_FORCE_INLINE]] inline void clear(std::size_t bit) noexcept {
        CAIRN_DETAIL_STEP();
        const std::uint64_t word = words_[bit / 64] & ~(std::uint64_t{1} << (bit % 64));
        words_[bit / 64] = word;
        if constexpr (word_count > 1) {
            if (word == 0) { words_[summary] &= ~(std::uint64_t{1} << (bit / 64)); }
        }
    }

    [[nodiscard]] bool test(std::uint32_t bit) const noexcept {
        return (words_[bit / 64] >> (bit % 64) & 1) != 0;
    }

    /// The lowest set bit >= `bit`, or none. Requires: bit < Bits.
    [[nodiscard]] std::uint32_t find_from(std::uint32_t bit) const noexcept {
        CAIRN_ASSERT(bit < Bits, "a bit that exists is asked for");
        CAIRN_DETAIL_STEP();
        const std::uint32_t first = bit / 64;
        const std::uint64_t here = words_[first] >> (bit % 64);
        if (here != 0) [[likely]] {
            const std::uint32_t found = bit + static_cast<std::uint32_t>(std::countr_zero(here));
            if (found == none) { compiler::unreachable(); }  // no caller compares again
            return found;
        }
        if constexpr (word_count == 1) { return none; }
        // Shift in two steps: first may be 63, and a shift by 64 is undefined.
        const std::uint64_t above = words_[summary] >> first >> 1;
        if (above == 0) { return none; }
        CAIRN_DETAIL_STEP();
        const std::uint32_t word = first + 1 + static_cast<std::uint32_t>(std::countr_zero(above));
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }

    [[nodiscard]] bool empty() const noexcept { return words_[summary] == 0; }

    /// The lowest set bit. Requires: !empty().
    [[nodiscard]] std::uint32_t lowest() const noexcept {
        CAIRN_DETAIL_STEP();
        const auto word =
            static_cast<std::uint32_t>(word_count == 1 ? 0 : std::countr_zero(words_[summary]));
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }

    /// The highest set bit, or none.
    [[nodiscard]] std::uint32_t highest() const noexcept {
        if (words_[summary] == 0) { return none; }
        const std::uint32_t word =
            word_count == 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(words_[summary])) - 1;
        return word * 64 + static_cast<std::uint32_t>(std::bit_width(words_[word])) - 1;
    }

    void validate() const noexcept {
        for (std::uint32_t w = 0; w < word_count; ++w) {
            CAIRN_ASSERT(word_count == 1 || (words_[w] != 0) == ((words_[summary] >> w & 1) != 0),
                         "the summary says which words are not zero");
        }
    }

private:
    // Behind the words. One word is its own summary.
    static constexpr std::uint32_t summary = word_count == 1 ? 0 : word_count;

    std::uint64_t words_[summary + 1] = {};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
