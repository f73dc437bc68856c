// cairn/owners/inside/cell_blocks.hpp - cells by index that never move: in blocks that
// double.
//
//      block 0          block 1                  block 2
//      | 0 ...  63 |    | 64 .......... 191 |    | 192 .......................... 447 |    ...
//
//      block b holds the indices [2^b - 1, 2^(b+1) - 1) times 64
//
// Threads: one makes cells; find() is for all.
// Cost: a bit scan, a load and a multiplication. A block comes from upstream when its first cell is
// asked for, and is zero.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class cell_blocks {
public:
    static constexpr std::size_t first_count = 64;
    static constexpr std::size_t block_count_max = 27;

    cell_blocks(std::size_t cell_size, allocator_ref upstream) noexcept
        : cell_size_{cell_size}, upstream_{upstream} {}
    ~cell_blocks();
    cell_blocks(const cell_blocks&) = delete;
    cell_blocks& operator=(const cell_blocks&) = delete;

    /// The cell, made if it is not there; new ones are zero. nullptr: exhausted.
    [[nodiscard]] void* find_or_make(std::size_t index) noexcept {
        const std::size_t block = block_of(index);
        if (block >= block_count_max) [[unlikely]] { return nullptr; }
        if (blocks_[block] == nullptr && !add(block)) [[unlikely]] { return nullptr; }
        return at(index);
    }

    /// Makes all cells below `count`. Returns: false when exhausted; blocks that were had are kept.
    [[nodiscard]] bool reserve(std::size_t count) noexcept;

    /// Gives back the blocks that have no cell below `count`. A cell that is made again is zero.
    /// Requires: no thread is in find(), and none looks at a cell from `count` on.
    void shrink(std::size_t count) noexcept;

    /// Requires: find_or_make(index) found or made it once, and before this call.
    [[nodiscard]] void* at(std::size_t index) const noexcept {
        const std::size_t block = block_of(index);
        return in_block(blocks_[block], block, index);
    }

    /// As at(), for any index, while another thread may be in find_or_make(). nullptr: never made.
    [[nodiscard]] void* find(std::size_t index) const noexcept {
        const std::size_t block = block_of(index);
        if (block >= block_count_max) [[unlikely]] { return nullptr; }
        std::byte* const first = compiler::load(blocks_[block], compiler::memory_order::acquire);
        return first != nullptr ? in_block(first, block, index) : nullptr;
    }

private:
    [[nodiscard]] static std::size_t block_of(std::size_t index) noexcept {
        return detail::floor_log2(index / first_count + 1);
    }
    [[nodiscard]] static std::size_t first_of(std::size_t block) noexcept {
        return ((std::size_t{1} << block) - 1) * first_count;
    }
    [[nodiscard]] void* in_block(std::byte* cells, std::size_t block,
                                 std::size_t index) const noexcept {
        return cells + (index - first_of(block)) * cell_size_;
    }
    [[nodiscard]] bool add(std::size_t block) noexcept;

    std::byte* blocks_[block_count_max] = {};
    std::size_t cell_size_;
    allocator_ref upstream_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
