// cairn/storage/slot_directory/free_bits.hpp - a growing set of small integers that answers "which
// is the lowest?".
//
//      integers:   0 ... 4095    4096 ... 8191    8192 ... 12287
//                [ bitmap 0    | bitmap 1       | bitmap 2       ]    of two levels, 520 bytes each
//                  empty         ^ lowest_group_: none below holds any
//
// Use it for: "always the lowest free slot", which keeps handles small and runs deterministic.
// Look elsewhere for: any free slot: a list through the slots themselves is cheaper.
//
// Cost:    insert and erase: two words. lowest(): two bit scans from the lowest group that may hold
//          one; worst case a walk over the summaries, one word per 4096.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/moved.hpp>
#include <cairn/storage/growable_memory.hpp>
#include <cairn/storage/inside/two_level_bitmap.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

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
        const std::uint32_t group = i / group_size;
        groups()[group].set(i % group_size);
        lowest_group_ = group < lowest_group_ ? group : lowest_group_;
    }
    void erase(std::uint32_t i) noexcept { groups()[i / group_size].clear(i % group_size); }
    [[nodiscard]] bool contains(std::uint32_t i) const noexcept {
        return groups()[i / group_size].test(i % group_size);
    }

    /// Requires: the set is not empty.
    [[nodiscard]] std::uint32_t lowest() noexcept {
        const bitmap* group = groups() + lowest_group_;
        for (; group->empty(); ++group) { ++lowest_group_; }
        return lowest_group_ * group_size + group->lowest();
    }

private:
    static constexpr std::uint32_t group_size = 4096;
    using bitmap = detail::two_level_bitmap<group_size>;

    [[nodiscard]] static std::size_t groups_for(std::size_t count) noexcept {
        return (count + group_size - 1) / group_size;
    }
    [[nodiscard]] bitmap* groups() const noexcept {
        return reinterpret_cast<bitmap*>(memory_.data());
    }

    growable_memory memory_;
    detail::moved<std::uint32_t> group_count_;
    detail::moved<std::uint32_t> lowest_group_;  // no group below holds any
};

}}  // namespace cairn::CAIRN_FLAVOUR
