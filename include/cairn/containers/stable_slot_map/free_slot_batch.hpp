// cairn/containers/stable_slot_map/free_slot_batch.hpp - free slots, to be given out next.
//
//      chunk:   word 0: 1111 0110 ...     word 5: 1111 1011 ...     word 9: ...
//                           |  |                       |
//      batch:  [  4 | 7 |  322 | ... ]  next ->                     64 or more, lowest first
//
// Looking for the lowest free slot at every insertion makes each wait for the words that the one
// before has stored; going through one word at a time guesses wrong at the end of each, and in a
// fragmented chunk a word has three. So the slots are gathered about sixty at a time, six per word
// without a branch, and an insertion takes a number from an array.
//
// The chunk marks them as live when they are gathered, once per word, and not when they are taken:
// iteration takes off what is still here. That is unused(w); it needs no store per insertion,
// because the slots are given out in order.
//
// Cost: gather: about 10 instructions a word and 6 a slot; a word that is wholly free, 1 per slot.
//       unused: a comparison and a mask.
#pragma once

#include <bit>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/moved.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Chunk, class Steps = uncounted>
class free_slot_batch {
public:
    [[nodiscard]] bool empty() const noexcept { return next_ == end_; }
    /// How many were taken since gather().
    [[nodiscard]] std::uint32_t taken_count() const noexcept { return next_; }
    /// The slot to take next. Requires: !empty().
    [[nodiscard]] std::uint32_t peek() const noexcept { return slots_[next_]; }
    void pop() noexcept { ++next_; }
    /// A slot that is taken soon, or behind the end any number below 2^13: for prefetching.
    [[nodiscard]] std::uint32_t peek_ahead() const noexcept { return slots_[next_ + lookahead]; }

    /// The slots of word `w` that are marked live and are still here.
    [[nodiscard]] std::uint64_t unused(std::uint32_t w) const noexcept {
        if (empty()) { return 0; }
        const std::uint32_t next = peek();
        if (w < next / 64) { return 0; }
        return w == next / 64 ? marked_[w] & (~std::uint64_t{0} << (next & 63)) : marked_[w];
    }

    /// The lowest free slots of `chunk`, marked live there. Requires: empty().
    /// Returns: false when there are none.
    bool gather(Chunk& chunk) noexcept {
        CAIRN_ASSERT(empty(), "slots are gathered when none is in the batch");
        forget();
        std::uint32_t count = 0;
        std::uint64_t open = chunk.open;  // in registers: the stores below might mean them
        std::uint64_t words = 0;
        while (open != 0 && count < enough) {
            Steps::touch();
            const auto w = static_cast<std::uint32_t>(std::countr_zero(open));
            const std::uint64_t bits = chunk.free(w);
            const std::uint64_t word = open & (~open + 1);
            open ^= word;
            if (bits == 0) { continue; }
            words |= word;
            chunk.live[w] |= bits;
            marked_[w] = bits;
            count = append(bits, w, count);
        }
        chunk.open = open;
        chunk.used |= words;
        chunk.free_count -= count;
        words_ = words;
        end_ = count;
        return count != 0;
    }

    /// One slot, which its chunk has marked live. Requires: empty().
    void hold(std::uint32_t slot) noexcept {
        forget();
        slots_[0] = static_cast<std::uint16_t>(slot);
        marked_[slot / 64] = std::uint64_t{1} << (slot & 63);
        words_ = std::uint64_t{1} << (slot / 64);
        end_ = 1;
    }

    /// Lets go of all: they are free again and their words open.
    void drop(Chunk& chunk) noexcept {
        for (std::uint64_t words = words_; words != 0; words &= words - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(words));
            const std::uint64_t left = unused(w);
            if (left == 0) { continue; }
            chunk.live[w] &= ~left;
            chunk.free_count += static_cast<std::uint32_t>(std::popcount(left));
            chunk.open |= std::uint64_t{1} << w;
            if (chunk.live[w] == 0) { chunk.used &= ~(std::uint64_t{1} << w); }
        }
        forget();
    }

    /// Empty, as if there had never been anything.
    void forget() noexcept {
        for (; words_ != 0; words_ &= words_ - 1) {
            Steps::touch();
            marked_[std::countr_zero(words_)] = 0;
        }
        next_ = 0;
        end_ = 0;
    }

    /// Steps (step_counter.hpp) of gather(): the words of the batch before, the words of the chunk
    /// that have a free slot, and turns of six for what those had.
    static constexpr std::uint64_t gather_step_count_max =
        std::uint64_t{3} * Chunk::word_count + (64 - 1 + 64) / 6;

private:
    static constexpr std::uint32_t enough = 64;
    static constexpr std::uint32_t lookahead = 6;
    static constexpr std::uint64_t top = std::uint64_t{1} << 63;

    std::uint32_t append(std::uint64_t bits, std::uint32_t w, std::uint32_t count) noexcept {
        std::uint16_t* to = slots_ + count;
        if (bits == ~std::uint64_t{0}) {
            for (std::uint32_t i = 0; i < 64; ++i) {
                to[i] = static_cast<std::uint16_t>(w * 64 + i);
            }
            return count + 64;
        }
        count += static_cast<std::uint32_t>(std::popcount(bits));
        do {  // writes behind the last one, which the next word overwrites
            Steps::touch();
            for (int i = 0; i < 6; ++i) {
                // The top bit is there for the compiler: a word that could be 0 here makes gcc
                // leave by a branch at each of the six.
                to[i] = static_cast<std::uint16_t>(
                    w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits | top)));
                bits &= bits - 1;
            }
            to += 6;
        } while (bits != 0);
        return count;
    }

    moved<std::uint32_t> next_;  // a batch that was moved from is empty
    moved<std::uint32_t> end_;
    std::uint16_t slots_[enough - 1 + 64 + lookahead] = {};
    std::uint64_t words_ = 0;                       // whose marked_ is not 0
    std::uint64_t marked_[Chunk::word_count] = {};  // by gather()
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
