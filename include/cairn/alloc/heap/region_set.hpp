// cairn/alloc/heap/region_set.hpp - the regions of a heap, up to 64, in order of their addresses.
//
//      [ 0x1000 .. ]   [ 0x8000 ....... ]   [ 0x2'0000 ... ]
//
// A pointer is found by halving, so a free in a heap of n regions looks at log n addresses; insert
// and remove move the entries behind: 64 at most, on paths that call upstream.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/heap/region_base.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class region_set {
public:
    static constexpr std::uint32_t count_max = 64;

    struct entry {
        region_base* region;
        std::size_t size;  // as asked from upstream
#if CAIRN_ASSERTS
        unsigned description = 0;  // Valgrind's number for it
#endif
    };

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] entry& operator[](std::uint32_t i) noexcept { return entries_[i]; }
    [[nodiscard]] region_base* region(std::uint32_t i) const noexcept { return entries_[i].region; }

    /// The last region that begins at or before `p`, else the first; nullptr when there is none.
    [[nodiscard]] region_base* at(const void* p) const noexcept {
        if (count_ <= 1) { return count_ == 0 ? nullptr : entries_[0].region; }
        // The last entry that begins at or below p lies in [first, first + count); where none does,
        // the first one is left over. No branch depends on p, and 64 entries are six steps.
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
    entry& insert(region_base* r, std::size_t size) noexcept {
        CAIRN_ASSERT(count_ < count_max, "64 regions are all there are");
        // From the end down, moving up what begins above: the set is sorted before and after.
        std::uint32_t at = count_++;
        for (; at != 0 && address(at - 1) > reinterpret_cast<std::uintptr_t>(r); --at) {
            entries_[at] = entries_[at - 1];
        }
        entries_[at] = {r, size};
        return entries_[at];
    }

    /// Requires: `r` is in the set. Returns: what was known of it.
    entry remove(const region_base* r) noexcept {
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

    /// Bytes as asked from upstream, granules, and free ones among them, of all regions.
    [[nodiscard]] std::size_t held() const noexcept {
        return sum([](const entry& e) { return e.size; });
    }
    [[nodiscard]] std::size_t granules() const noexcept {
        return sum([](const entry& e) { return std::size_t{e.region->granules()}; });
    }
    [[nodiscard]] std::size_t free_granules() const noexcept {
        return sum([](const entry& e) { return std::size_t{e.region->free_granules()}; });
    }

    /// Where the lowest region begins, and how far it is from there to the end of the highest.
    /// Requires: count() != 0.
    [[nodiscard]] std::byte* begin_of_memory() const noexcept {
        return reinterpret_cast<std::byte*>(region(0));
    }
    [[nodiscard]] std::size_t reach() const noexcept {
        return address(count_ - 1) + region(count_ - 1)->total_size() - address(0);
    }

private:
    [[nodiscard]] std::uintptr_t address(std::uint32_t i) const noexcept {
        return reinterpret_cast<std::uintptr_t>(entries_[i].region);
    }
    template <class Of>
    [[nodiscard]] std::size_t sum(Of of) const noexcept {
        std::size_t total = 0;
        for (std::uint32_t i = 0; i < count_; ++i) { total += of(entries_[i]); }
        return total;
    }

    std::uint32_t count_ = 0;
    entry entries_[count_max];
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
