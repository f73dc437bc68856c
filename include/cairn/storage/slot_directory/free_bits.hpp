// cairn/storage/slot_directory/free_bits.hpp - a growing set of small integers that answers "which
// is the lowest?".
//
//      group of 4096:   [ summary | word 0 | word 1 | ... | word 63 ]     65 words of 64 bits
//                           |         ^
//                           +- bit w: word w is not 0
//
// Use it for: "always the lowest free slot", which keeps handles small and runs deterministic.
// Look elsewhere for: any free slot: a list through the slots themselves is cheaper.
//
// Cost:    insert and erase: two words. lowest(): two bit scans from the lowest group that may hold
//          one; worst case a walk over the summaries, one word per 4096.
// Threads: one at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/moved.hpp>
#include <cairn/storage/growable_memory.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

class free_bits {
public:
    explicit free_bits(allocator_ref upstream) noexcept : memory_{cache_line_alignment, upstream} {}

    /// Where they lie. An owner that keeps its free slots in a line and not in a set puts it here.
    [[nodiscard]] growable_memory& memory() noexcept { return memory_; }
    [[nodiscard]] const growable_memory& memory() const noexcept { return memory_; }

    /// Makes room for 0 ... count - 1; new ones are not in the set.
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool ensure(std::size_t count) noexcept;

    /// As growable_memory::reserve_address_space, for `count_max` integers.
    [[nodiscard]] bool reserve_address_space(std::size_t count_max, page_options how = {}) noexcept;

    /// The set of `other`. Requires: this one was never grown.
    /// Returns: false when exhausted; nothing has changed then.
    [[nodiscard]] bool copy_from(const free_bits& other) noexcept;

    void insert(std::uint32_t i) noexcept {
        std::uint64_t* const group = group_of(i);
        group[1 + word_of(i)] |= std::uint64_t{1} << (i & 63);
        group[0] |= std::uint64_t{1} << word_of(i);
        lowest_group_ = (i >> 12) < lowest_group_ ? (i >> 12) : lowest_group_;
    }

    void erase(std::uint32_t i) noexcept {
        std::uint64_t* const group = group_of(i);
        std::uint64_t& word = group[1 + word_of(i)];
        word &= ~(std::uint64_t{1} << (i & 63));
        if (word == 0) { group[0] &= ~(std::uint64_t{1} << word_of(i)); }
    }

    [[nodiscard]] bool contains(std::uint32_t i) const noexcept {
        return ((group_of(i)[1 + word_of(i)] >> (i & 63)) & 1) != 0;
    }

    /// Requires: the set is not empty.
    [[nodiscard]] std::uint32_t lowest() noexcept {
        const std::uint64_t* group = group_of(lowest_group_ << 12);
        while (group[0] == 0) {
            group += group_words;
            ++lowest_group_;
        }
        const auto word = static_cast<std::uint32_t>(std::countr_zero(group[0]));
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(group[1 + word]));
        return (lowest_group_ << 12) + word * 64 + bit;
    }

private:
    static constexpr std::size_t group_words = 65;

    static std::uint32_t word_of(std::uint32_t i) noexcept { return (i >> 6) & 63; }
    std::uint64_t* group_of(std::uint32_t i) const noexcept {
        return reinterpret_cast<std::uint64_t*>(memory_.data()) + (i >> 12) * group_words;
    }

    growable_memory memory_;
    detail::moved<std::uint32_t> group_count_;
    detail::moved<std::uint32_t> lowest_group_;  // no group below holds any
};

}  // namespace cairn::inline CAIRN_FLAVOUR
