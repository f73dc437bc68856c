// cairn/alloc/heap/region_set.hpp - the regions of a heap, up to 64, in order of their addresses.
//
//      [ 0x1000 .. ]   [ 0x8000 ....... ]   [ 0x2'0000 ... ]
//
// A pointer is found by halving, so a free in a heap of n regions looks at log n addresses; insert
// and remove move the entries behind: 64 at most, on paths that call upstream.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

template <class Region>
class region_set {
public:
    static constexpr std::uint32_t count_max = 64;

    struct entry {
        Region* region;
        std::size_t size;  // as asked from upstream
#if CAIRN_ASSERTS
        unsigned description = 0;  // Valgrind's number for it
#endif
    };

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] entry& operator[](std::uint32_t i) noexcept { return entries_[i]; }
    [[nodiscard]] Region* region(std::uint32_t i) const noexcept { return entries_[i].region; }

    /// The last region that begins at or before `p`, else the first; nullptr when there is none.
    [[nodiscard]] Region* at(const void* p) const noexcept {
        if (count_ <= 1) { return count_ == 0 ? nullptr : entries_[0].region; }
        std::uint32_t first = 0;
        for (std::uint32_t count = count_; count > 1;) {
            const std::uint32_t half = count / 2;
            const bool right = address(first + half) <= reinterpret_cast<std::uintptr_t>(p);
            first += right ? half : 0;
            count = right ? count - half : half;
        }
        return entries_[first].region;
    }

    /// Requires: count() < count_max.
    entry& insert(Region* r, std::size_t size) noexcept {
        CAIRN_ASSERT(count_ < count_max, "64 regions are all there are");
        std::uint32_t at = count_++;
        for (; at != 0 && address(at - 1) > reinterpret_cast<std::uintptr_t>(r); --at) {
            entries_[at] = entries_[at - 1];
        }
        entries_[at] = {r, size};
        return entries_[at];
    }

    /// Requires: `r` is in the set. Returns: what was known of it.
    entry remove(const Region* r) noexcept {
        std::uint32_t at = 0;
        while (entries_[at].region != r) { ++at; }
        const entry removed = entries_[at];
        for (--count_; at < count_; ++at) { entries_[at] = entries_[at + 1]; }
        return removed;
    }

    /// Moves what `other` has here, where nothing is.
    void take_all(region_set& other) noexcept {
        count_ = other.count_;
        for (std::uint32_t i = 0; i < count_; ++i) { entries_[i] = other.entries_[i]; }
        other.count_ = 0;
    }

    /// Bytes as asked from upstream, of all.
    [[nodiscard]] std::size_t held() const noexcept {
        std::size_t sum = 0;
        for (std::uint32_t i = 0; i < count_; ++i) { sum += entries_[i].size; }
        return sum;
    }
    /// Granules of all, and those among them that are free.
    [[nodiscard]] std::size_t granules() const noexcept {
        std::size_t sum = 0;
        for (std::uint32_t i = 0; i < count_; ++i) { sum += region(i)->granules(); }
        return sum;
    }
    [[nodiscard]] std::size_t free_granules() const noexcept {
        std::size_t sum = 0;
        for (std::uint32_t i = 0; i < count_; ++i) { sum += region(i)->free_granules(); }
        return sum;
    }

    /// Where the lowest region begins, and how far it is from there to the end of the highest.
    /// Requires: count() != 0.
    [[nodiscard]] std::byte* begin_of_memory() const noexcept {
        return reinterpret_cast<std::byte*>(region(0));
    }
    [[nodiscard]] std::size_t reach() const noexcept {
        const Region* const last = region(count_ - 1);
        return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(last) +
                                        last->total_size() - begin_of_memory());
    }

private:
    [[nodiscard]] std::uintptr_t address(std::uint32_t i) const noexcept {
        return reinterpret_cast<std::uintptr_t>(entries_[i].region);
    }

    std::uint32_t count_ = 0;
    entry entries_[count_max];
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
