// cairn/alloc/inside/free_lists.hpp - free blocks in bins, one doubly linked list a bin.
//
//      bitmap   . . 1 . . . 1 .           which bins have a block
//      heads    . . 7 . . . 3 .           the block that came last
//                   |       |
//                   v       v
//                  [7]<->[12]<->[5]       links lie in the blocks (heap) or in nodes (offset_heap)
//
// A size has a class (size_class), each class has a bin, and a bitmap says which bins have a block
// (two_level_bitmap).
//
// Written once for both: Links says where next and prev of a block live. Where that is memory that
// users write to (Links::is_block), no link is followed before the block that it names links back.
//
// Invariant: a bin's bit is set exactly when its head is not `none`; the head has no prev.
// Cost:      insert, remove: the bitmap, the head and at most two other blocks. first: one load.
//            The look at a link is a compare with the end of the region, and one with a word that
//            is written next.
// Position:  `heads` follows this object in memory; nothing here is an address.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/heap_block.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---------------------------------------------------------------------------- which bin a size has

//      2^M = 16 steps to an octave (M = 4):
//
//      size    1  2  3 ... 31 | 32  34  36 ... 62 | 64  68  72 ... 124 | 128 136 ...
//      class   1  2  3 ... 31 | 32  33  34 ... 47 | 48  49  50 ...  63 |  64  65 ...
//              exact          | steps of 2        | steps of 4         | steps of 8

/// Numbers for sizes: exact when small, a fixed ratio apart above. A class is the top M + 1 bits of
/// the size, so that both directions are a shift and an add, and rounding a size up to its class
/// wastes less than 1 / 2^M of it.
/// Units: whatever the caller counts in: granules in the heap, bytes in the offset heap.
/// Cost:  about five instructions each way; all constexpr.
template <unsigned MantissaBits, std::unsigned_integral Size = std::uint32_t>
struct size_class {
    static constexpr std::uint32_t steps_per_octave = 1u << MantissaBits;

    /// The class whose sizes reach from class_size(c) up to, not including, class_size(c + 1).
    [[nodiscard]] static constexpr std::uint32_t floor(Size size) noexcept {
        // `| steps` makes the small sizes fall into the first, exact, octave without a branch.
        constexpr unsigned width = sizeof(Size) * 8;
        const auto zeros = static_cast<unsigned>(std::countl_zero(size | steps_per_octave));
        if constexpr (width < 64) {
            // Shifted up first, so that the number of the highest bit serves as it is: 8
            // instructions.
            const unsigned highest = (width - 1) ^ zeros;
            const auto top =
                static_cast<std::uint32_t>((std::uint64_t{size} << MantissaBits) >> highest);
            return top + (highest << MantissaBits) - (MantissaBits << MantissaBits);
        } else {
            // The top bits, counted from the left: two instructions less than shifting right by
            // width - 1 - MantissaBits - zeros.
            const auto top = static_cast<std::uint32_t>(static_cast<Size>(size << zeros) >>
                                                        (width - 1 - MantissaBits));
            return top + ((width - 1 - MantissaBits - zeros) << MantissaBits);
        }
    }

    /// The first class all of whose sizes are >= `size`. Requires: the sum does not wrap.
    [[nodiscard]] static constexpr std::uint32_t ceil(Size size) noexcept {
        const unsigned width = static_cast<unsigned>(std::bit_width(size | steps_per_octave));
        const unsigned shift = width - 1 - MantissaBits;
        // A carry out of the octave lands on the first class of the next: the numbering goes on.
        const Size up = static_cast<Size>(size + ((Size{1} << shift) - 1));
        return (shift << MantissaBits) + static_cast<std::uint32_t>(up >> shift);
    }

    /// The smallest size of a class.
    [[nodiscard]] static constexpr Size size_of(std::uint32_t c) noexcept {
        if (c < 2 * steps_per_octave) { return c; }
        const unsigned shift = (c >> MantissaBits) - 1;
        return static_cast<Size>(static_cast<Size>((c & (steps_per_octave - 1)) + steps_per_octave)
                                 << shift);
    }

    /// `size` rounded up to the smallest size of a class.
    [[nodiscard]] static constexpr Size round_up(Size size) noexcept { return size_of(ceil(size)); }
};

static_assert(size_class<4>::floor(1) == 1 && size_class<4>::floor(31) == 31);
static_assert(size_class<4>::floor(32) == 32 && size_class<4>::floor(33) == 32);
static_assert(size_class<4>::ceil(33) == 33 && size_class<4>::size_of(33) == 34);
static_assert(size_class<4>::ceil(63) == 48 && size_class<4>::ceil(0) == 0);
static_assert(size_class<4>::round_up(65) == 68 && size_class<4>::round_up(64) == 64);

// ------------------------------------------------------------------------- which bins have a block

//      words     0 0 w 0 w                one bit each: bin 130 is not empty
//                    |   |
//      summary   . . 1 . 1                one bit per word: this word is not zero

/// The first bit that is set at or above a given one, in two looks. Why the words of a
/// stable_slot_map are none: docs/decisions/0012.
/// `Bits` <= 4096 bits. Trivially copyable; all zero is the empty bitmap.
/// Invariant: bit w of the summary is set exactly when words[w] != 0.
/// Cost:      set, clear: two words. find_from: at most three words and two countr_zero. lowest:
///            two and two.
/// Source:    the idea is TLSF's (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory
///            allocator for real-time systems", ECRTS 2004), with the two levels cut at the machine
///            word instead of at the power of two, so that any numbering of the bins will do.
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

// ---------------------------------------------------------------------------- the lists

/// Where the lists of a heap in memory keep their links: in the first 8 payload bytes.
class links_in_blocks {
public:
    links_in_blocks(block_map blocks, link_code code) noexcept : blocks_{blocks}, code_{code} {}

    [[nodiscard]] std::uint32_t next(std::uint32_t id) const noexcept {
        return blocks_.link(code_, id, 0);
    }
    [[nodiscard]] std::uint32_t prev(std::uint32_t id) const noexcept {
        return blocks_.link(code_, id, 1);
    }
    [[nodiscard]] bool next_is(std::uint32_t id, std::uint32_t to) const noexcept {
        return blocks_.links_to(code_, id, 0, to);
    }
    [[nodiscard]] bool prev_is(std::uint32_t id, std::uint32_t to) const noexcept {
        return blocks_.links_to(code_, id, 1, to);
    }
    void set_next(std::uint32_t id, std::uint32_t to) const noexcept {
        blocks_.set_link(code_, id, 0, to);
    }
    void set_prev(std::uint32_t id, std::uint32_t to) const noexcept {
        blocks_.set_link(code_, id, 1, to);
    }
    void set_both(std::uint32_t id, std::uint32_t next, std::uint32_t prev) const noexcept {
        blocks_.set_two_links(code_, id, 0, next, prev);
    }
    [[nodiscard]] bool is_block(std::uint32_t id) const noexcept { return code_.has(id); }
    /// For the report of a link that is wrong: an address that each operation has at hand.
    [[nodiscard]] const void* memory() const noexcept { return blocks_.at(0); }

private:
    block_map blocks_;
    link_code code_;
};

template <std::uint32_t BinCountMax>
class free_lists {
public:
    static constexpr std::uint32_t none = no_block;

    /// `heads` holds one entry a bin and belongs to these lists.
    void clear(std::uint32_t* heads, std::uint32_t bin_count) noexcept {
        bitmap_ = {};
        for (std::uint32_t b = 0; b < bin_count; ++b) { heads[b] = none; }
    }

    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void insert(std::uint32_t* heads, const Links& links,
                                              std::size_t bin, std::uint32_t id) noexcept {
        const std::uint32_t old = heads[bin];
        links.set_both(id, old, none);
        if (old != none) {
            links.set_prev(old, id);
        } else {
            bitmap_.set(bin);
        }
        heads[bin] = id;
    }

    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void remove(std::uint32_t* heads, const Links& links,
                                              std::size_t bin, std::uint32_t id) noexcept {
        const std::uint32_t next = links.next(id);
        const std::uint32_t prev = links.prev(id);
        if (is_after(links, next, id)) { links.set_prev(next, prev); }
        if (is_before(links, prev, id)) {
            links.set_next(prev, next);
            return;
        }
        expect_head(links, heads[bin], id);
        heads[bin] = next;
        if (next == none) { bitmap_.clear(bin); }
    }

    /// Takes out `id`, the head of its bin: no block is before it.
    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void remove_head(std::uint32_t* heads, const Links& links,
                                                   std::size_t bin, std::uint32_t id) noexcept {
        CAIRN_ASSERT(heads[bin] == id, "the head of a bin is taken out as its head");
        const std::uint32_t next = links.next(id);
        heads[bin] = next;
        if (is_after(links, next, id)) {
            links.set_prev(next, none);
        } else {
            bitmap_.clear(bin);
        }
    }

    /// Puts `to` where `from` stands in the same bin: no bit changes.
    template <class Links>
    void replace(std::uint32_t* heads, const Links& links, std::size_t bin, std::uint32_t from,
                 std::uint32_t to) noexcept {
        const std::uint32_t next = links.next(from);
        links.set_next(to, next);
        if (is_after(links, next, from)) { links.set_prev(next, to); }
        const std::uint32_t prev = links.prev(from);
        links.set_prev(to, prev);
        if (is_before(links, prev, from)) {
            links.set_next(prev, to);
            return;
        }
        expect_head(links, heads[bin], from);
        heads[bin] = to;
    }

    /// As replace, where `from` is the head of its bin.
    template <class Links>
    [[CAIRN_FORCE_INLINE]] inline void replace_head(std::uint32_t* heads, const Links& links,
                                                    std::size_t bin, std::uint32_t from,
                                                    std::uint32_t to) noexcept {
        CAIRN_ASSERT(heads[bin] == from, "the head of a bin is replaced as its head");
        const std::uint32_t next = links.next(from);
        links.set_next(to, next);
        if (is_after(links, next, from)) { links.set_prev(next, to); }
        links.set_prev(to, none);
        heads[bin] = to;
    }

    // The words of an index whose blocks are in bins; `bin_of(size)` is the bin of a size.

    /// The hole `h` is used: as the head of its bin where `where` says so.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void take(std::uint32_t* heads, const Links& links, BinOf bin_of,
                                            hole h) noexcept {
        if (h.where != none) [[likely]] { return remove_head(heads, links, h.where, h.block); }
        remove(heads, links, bin_of(h.size), h.block);
    }

    /// The first `used` granules of `h` are used, the rest stays free.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void keep_rest(std::uint32_t* heads, const Links& links,
                                                 BinOf bin_of, hole h,
                                                 std::uint32_t used) noexcept {
        const std::uint32_t rest_bin = bin_of(h.size - used);
        if (h.where != none) [[likely]] {
            if (h.where == rest_bin) {
                return replace_head(heads, links, rest_bin, h.block, h.block + used);
            }
            remove_head(heads, links, h.where, h.block);
        } else {
            const std::uint32_t bin = bin_of(h.size);
            if (bin == rest_bin) { return replace(heads, links, bin, h.block, h.block + used); }
            remove(heads, links, bin, h.block);
        }
        insert(heads, links, rest_bin, h.block + used);
    }

    /// The block of `size` at `at` and its free neighbours (0: not free) become one free block.
    template <class Links, class BinOf>
    [[CAIRN_FORCE_INLINE]] inline void give(std::uint32_t* heads, const Links& links, BinOf bin_of,
                                            std::uint32_t left_size, std::uint32_t at,
                                            std::uint32_t size, std::uint32_t right_size) noexcept {
        const std::uint32_t start = at - left_size;
        size += left_size;
        if (right_size != 0) {
            remove(heads, links, bin_of(right_size), start + size);
            size += right_size;
        }
        const std::uint32_t bin = bin_of(size);
        if (left_size != 0) {
            const std::uint32_t left_bin = bin_of(left_size);
            if (left_bin == bin) { return; }
            remove(heads, links, left_bin, start);
        }
        insert(heads, links, bin, start);
    }

    /// The block after `id`, or none: for a walk that changes nothing.
    template <class Links>
    [[nodiscard]] std::uint32_t next_of(const Links& links, std::uint32_t id) const noexcept {
        const std::uint32_t next = links.next(id);
        return is_after(links, next, id) ? next : none;
    }

    /// The lowest bin >= `bin` that has a block, or none.
    [[nodiscard]] std::uint32_t bin_from(std::uint32_t bin) const noexcept {
        return bitmap_.find_from(bin);
    }
    [[nodiscard]] std::uint32_t highest_bin() const noexcept { return bitmap_.highest(); }

    /// Calls visit(bin, id) for every block and checks the links on the way. O(blocks).
    template <class Links, class Visit>
    void validate(const std::uint32_t* heads, const Links& links, std::uint32_t bin_count,
                  Visit visit) const noexcept {
        bitmap_.validate();
        for (std::uint32_t b = 0; b < bin_count; ++b) {
            CAIRN_ASSERT(bitmap_.test(b) == (heads[b] != none), "a bin's bit says it has a block");
            std::uint32_t prev = none;
            for (std::uint32_t id = heads[b]; id != none; id = links.next(id)) {
                visit(b, id);  // first: it checks that `id` is a block at all
                CAIRN_ASSERT(links.prev(id) == prev, "a block's prev is the block before it");
                prev = id;
            }
        }
    }

private:
    // Inlined by force: what else is in a unit decides otherwise whether gcc does.

    /// Returns: false when no block comes after `id`.
    template <class Links>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool is_after(
        const Links& links, std::uint32_t next, [[maybe_unused]] std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(next); }) {
            if (links.is_block(next)) [[likely]] {
                if (!links.prev_is(next, id)) [[unlikely]] {
                    detail::heap_is_corrupt(heap_promise::links, links.memory());
                }
                return true;
            }
            if (next != none) [[unlikely]] {
                detail::heap_is_corrupt(heap_promise::links, links.memory());
            }
            return false;
        } else {
            return next != none;
        }
    }
    /// Returns: false when no block comes before `id`.
    template <class Links>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool is_before(
        const Links& links, std::uint32_t prev, [[maybe_unused]] std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(prev); }) {
            if (links.is_block(prev)) {
                if (!links.next_is(prev, id)) [[unlikely]] {
                    detail::heap_is_corrupt(heap_promise::links, links.memory());
                }
                return true;
            }
            if (prev != none) [[unlikely]] {
                detail::heap_is_corrupt(heap_promise::links, links.memory());
            }
            return false;
        } else {
            return prev != none;
        }
    }
    /// `id`, which has no block before it, is the head of its bin.
    template <class Links>
    void expect_head(const Links& links, std::uint32_t head, std::uint32_t id) const noexcept {
        if constexpr (requires { links.is_block(id); }) {
            if (head != id) [[unlikely]] {
                detail::heap_is_corrupt(heap_promise::links, links.memory());
            }
        } else {
            CAIRN_ASSERT(head == id, "the first block of a bin has no block before it");
        }
    }

    two_level_bitmap<BinCountMax> bitmap_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
