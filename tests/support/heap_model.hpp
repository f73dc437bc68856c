// tests/support/heap_model.hpp - a heap as a sorted list of intervals: slow, and plainly right.
//
// What a heap is to do can be said without an index: blocks of whole granules, first or best hole,
// merge with free neighbours. The oracle says it that way, by linear scans, and the heaps under test
// have to give the same addresses.
#pragma once

#include <cairn/alloc/heap.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

enum class oracle_rule { first, best };

/// Blocks of `count` granules in one region, by linear scan.
class heap_oracle {
public:
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    heap_oracle(std::uint32_t count, oracle_rule rule) : rule_{rule} { free_[0] = {count, 0}; }

    /// The granule where a block of `size` goes, or none. `slack` more are asked for to align it.
    std::uint32_t find(std::uint32_t size) const {
        std::uint32_t found = none;
        for (const auto& [at, hole] : free_) {
            if (hole.size < size) { continue; }
            if (rule_ == oracle_rule::first) { return at; }
            if (found == none) {
                found = at;
                continue;
            }
            const interval& best = free_.at(found);
            // Best fit: the smallest; of equals, the one that became what it is last.
            if (hole.size < best.size || (hole.size == best.size && hole.born > best.born)) {
                found = at;
            }
        }
        return found;
    }

    std::uint32_t allocate(std::uint32_t size) { return allocate_aligned(size, 1, 0); }

    /// Payloads of granule g lie at (g + phase) granules from a multiple of `align` granules.
    std::uint32_t allocate_aligned(std::uint32_t size, std::uint32_t align, std::uint32_t phase) {
        const std::uint32_t at = find(size + align - 1);
        if (at == none) { return none; }
        const interval hole = free_.at(at);
        free_.erase(at);
        const std::uint32_t gap = (align - (at + phase) % align) % align;
        if (gap != 0) { free_[at] = {gap, ++clock_}; }
        const std::uint32_t rest = hole.size - gap - size;
        if (rest != 0) { free_[at + gap + size] = {rest, ++clock_}; }
        return at + gap;
    }

    /// True when the block at `at` could become `wanted` long in place.
    bool resize(std::uint32_t at, std::uint32_t size, std::uint32_t wanted) {
        const auto right = free_.find(at + size);
        const std::uint32_t room = size + (right == free_.end() ? 0 : right->second.size);
        if (wanted > room) { return false; }
        if (wanted == size) { return true; }
        if (right != free_.end()) { free_.erase(right); }
        if (room != wanted) { free_[at + wanted] = {room - wanted, ++clock_}; }
        return true;
    }

    void free(std::uint32_t at, std::uint32_t size) {
        auto right = free_.find(at + size);
        if (right != free_.end()) {
            size += right->second.size;
            free_.erase(right);
        }
        auto left = free_.lower_bound(at);
        if (left != free_.begin()) {
            --left;
            if (left->first + left->second.size == at) {
                at = left->first;
                size += left->second.size;
                free_.erase(left);
            }
        }
        free_[at] = {size, ++clock_};
    }

    std::uint32_t largest() const {
        std::uint32_t best = 0;
        for (const auto& [at, hole] : free_) { best = hole.size > best ? hole.size : best; }
        return best;
    }

private:
    struct interval {
        std::uint32_t size;
        std::uint64_t born;
    };
    std::map<std::uint32_t, interval> free_;
    oracle_rule rule_;
    std::uint64_t clock_ = 0;
};

/// Memory for one region, at a multiple of 4096, so that offsets of alignments are the same in every
/// test run.
class test_region {
public:
    explicit test_region(std::size_t size) : bytes_(size + 4096) {}
    std::span<std::byte> span(std::size_t size) {
        const std::size_t skip = cairn::detail::padding_to(
            reinterpret_cast<std::uintptr_t>(bytes_.data()), cairn::alignment{4096});
        return {bytes_.data() + skip, size};
    }
    std::span<std::byte> span() { return span(bytes_.size() - 4096); }

private:
    std::vector<std::byte> bytes_;
};
