// cairn/alloc/fit/two_level_bitmap.hpp - the first non-empty bin at or above a given one, in two
// looks.
//
//      summary   . . 1 . 1                one bit per word: this word is not zero
//                    |   |
//      words     0 0 w 0 w                one bit per bin: this bin is not empty
//
// Source: the idea is TLSF's (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator
//         for real-time systems", ECRTS 2004), with the two levels cut at the machine word instead
//         of at the power of two, so that any numbering of the bins will do.
//
// Invariant: bit w of the summary is set exactly when words[w] != 0.
// Cost:      set, clear: two words. find_from: at most three words and two countr_zero.
#pragma once

#include <bit>
#include <cstdint>

#include <cairn/core/assert.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// `Bits` <= 4096 bits. Trivially copyable; all zero is the empty bitmap.
template <std::uint32_t Bits, class Steps>
class two_level_bitmap {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    static constexpr std::uint32_t word_count = (Bits + 63) / 64;
    static_assert(word_count <= 64, "one summary word has 64 bits");

    void set(std::size_t bit) noexcept {
        Steps::touch();
        words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
        summary_ |= std::uint64_t{1} << (bit / 64);
    }

    void clear(std::size_t bit) noexcept {
        Steps::touch();
        const std::uint64_t word = words_[bit / 64] & ~(std::uint64_t{1} << (bit % 64));
        words_[bit / 64] = word;
        if (word == 0) { summary_ &= ~(std::uint64_t{1} << (bit / 64)); }
    }

    [[nodiscard]] bool test(std::uint32_t bit) const noexcept {
        return (words_[bit / 64] >> (bit % 64) & 1) != 0;
    }

    /// The lowest set bit >= `bit`, or none. Requires: bit < Bits.
    [[nodiscard]] std::uint32_t find_from(std::uint32_t bit) const noexcept {
        CAIRN_ASSERT(bit < Bits, "a bin that exists is asked for");
        Steps::touch();
        const std::uint32_t first = bit / 64;
        const std::uint64_t here = words_[first] >> (bit % 64);
        if (here != 0) [[likely]] {
            const std::uint32_t found = bit + static_cast<std::uint32_t>(std::countr_zero(here));
            if (found == none) { __builtin_unreachable(); }  // then nobody compares again
            return found;
        }
        // Shift in two steps: first may be 63, and a shift by 64 is undefined.
        const std::uint64_t above = summary_ >> first >> 1;
        if (above == 0) { return none; }
        Steps::touch();
        const std::uint32_t word = first + 1 + static_cast<std::uint32_t>(std::countr_zero(above));
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }

    /// The highest set bit, or none.
    [[nodiscard]] std::uint32_t highest() const noexcept {
        if (summary_ == 0) { return none; }
        const std::uint32_t word = static_cast<std::uint32_t>(std::bit_width(summary_)) - 1;
        return word * 64 + static_cast<std::uint32_t>(std::bit_width(words_[word])) - 1;
    }

    void validate() const noexcept {
        for (std::uint32_t w = 0; w < word_count; ++w) {
            CAIRN_ASSERT((words_[w] != 0) == ((summary_ >> w & 1) != 0),
                         "the summary says which words are not zero");
        }
    }

private:
    std::uint64_t summary_ = 0;
    std::uint64_t words_[word_count] = {};
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
