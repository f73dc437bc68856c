// cairn/alloc/heap/deferred.hpp - freed blocks that wait for the next request of their size.
//
//      class   1   2   3   4   5 ...
//      head   [.] [o] [.] [o] [.]      newest first; a link in the block leads to the next
//                  |       |
//                 [ ]     [ ]          the header says `deferred`: neighbours do not merge with it
//                  |
//                 [ ]                  at most `room` more, then frees go to the exact core
//
// Programs free and allocate the same few sizes over and over. To merge a block with its neighbours
// and cut it out again costs five cache misses. So freed blocks of each class wait here, whole, in
// two parts:
//
// Share:   what a class may always keep waiting. The least of three:
//            64 blocks        deferred_max of the fit: a list longer than that is rarely used up
//            heap / 2048      80 classes withhold 1/25 of a small heap (quick_fit: / 512, 1/6)
//            6 KiB            decision 0030 (quick_fit: 24 KiB, decision 0030)
// Surplus: what waits beyond the shares: blocks of all classes together, 2048 at most, so that the
//          last resort (below) ends. More may join only while
//
//            in use + waiting <= most          in granules; the heap does not grow by what waits
//
//            most: the largest "in use" so far, and 7/8 of the heap at most: the last eighth is
//                  given out without a surplus, so that little of it is left at the last resort
//
//          A level that is left and loaded again, a burst that ends, a frame: all of it waits, and
//          is had again at the price of a list.
//
// Who gives way:
//   in use + waiting > most + most / 64      each request that reaches the core merges one block
//                                            of the surplus; by the 64th part not at every step
//   several regions, waiting > in use        no new surplus; each free that reaches the core merges
//                                            one: what is not used goes back to upstream
//   the core refuses a request               all that waits merges: the last resort
//
// Links: heads and links are an offset in bytes from the lowest region, plus the region's key. A
//        link lies in a freed block, so before its block is given out it must lead into the
//        regions, and the header there must say that it waits, and of which size it is. A head
//        becomes a link as it is. The heap grows only when nothing waits: then a new region may
//        become the lowest.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr std::uint64_t no_waiting_block = UINT64_MAX;  // no region reaches that far

struct deferred_bin {
    std::uint64_t head = 0;     // offset of the newest block's payload, encoded like the links
    std::int32_t room = 0;      // left of its share; below 0: so many wait beyond it
    std::uint32_t waiting = 0;  // first half of the header of each block that waits here

    [[nodiscard]] std::uint32_t granules() const noexcept {  // of each block of this class
        return waiting - block_header::deferred_bit;
    }
};

static_assert(sizeof(deferred_bin) == 16, "four bins are one cache line");

/// Where in its array the bin of a small request is, in bytes: the number that the address needs,
/// so that one load finds it.
template <class Fit>
struct deferred_offsets {
    std::uint16_t of[Fit::small_max + 1] = {};
    constexpr deferred_offsets() noexcept {
        for (std::uint32_t g = 1; g <= Fit::small_max; ++g) {
            of[g] = static_cast<std::uint16_t>(Fit::class_of_request(g) * sizeof(deferred_bin));
        }
    }
    static const deferred_offsets table;
};
template <class Fit>
inline constexpr deferred_offsets<Fit> deferred_offsets<Fit>::table{};

/// Counts what waits beyond the shares, and says whether more may.
class deferred_surplus {
public:
    static constexpr std::uint32_t surplus_max = 2048;  // blocks

    /// One more block of `bin`, whose `waiting` this is, waits, if it may.
    [[nodiscard]] bool joined(deferred_bin& bin, std::uint64_t waiting) noexcept {
        // Asked before it is written: a free that goes to the core stores nothing here.
        if (bin.room <= 0) {
            if (count_ >= end_) { return false; }
            ++count_;
        }
        --bin.room;
        joined_ += waiting;
        return true;
    }
    /// One block of `bin`, whose `waiting` this is, waits no longer.
    void left(deferred_bin& bin, std::uint64_t waiting) noexcept {
        if (bin.room < 0) { --count_; }
        ++bin.room;
        left_ += waiting;
    }

    /// The core gave `granules` away.
    /// Returns: true when the heap is larger than it has been by 1/64: some surplus should merge.
    [[nodiscard]] bool took(std::size_t granules) noexcept {
        taken_ += granules;
        if (taken_ <= most_) [[likely]] { return false; }  // nothing changes: more may wait
        const std::size_t used = taken_ - waiting();
        if (used > most_) { most_ = used < roof_ ? used : roof_; }
        return decide() && taken_ > most_ + most_ / 64;
    }
    /// The core got `granules` back.
    void gave_back(std::size_t granules) noexcept {
        taken_ -= granules;
        (void)decide();
    }

    /// The heap has this many granules now; these are not in the core, of them `waiting` wait, and
    /// `count` blocks beyond the shares.
    void start(std::size_t capacity, std::size_t taken, std::size_t waiting,
               std::uint32_t count) noexcept {
        roof_ = capacity - capacity / 8;
        taken_ = taken;
        joined_ = waiting;
        left_ = 0;
        count_ = count;
        most_ = taken - waiting < roof_ ? taken - waiting : roof_;
        (void)decide();
    }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    [[nodiscard]] std::size_t waiting() const noexcept {
        return (joined_ - left_) % block_header::deferred_bit;
    }

    /// The heap has several regions, and would rather give one back than have much wait in it.
    void set_may_shrink(bool may) noexcept { may_shrink_ = may; }
    [[nodiscard]] bool wants_to_shrink() const noexcept {
        return may_shrink_ && count_ != 0 && waiting() > taken_ - waiting();
    }

    std::uint32_t cursor = 0;  // the bin from which a surplus is looked for

private:
    /// Returns: true when there is a surplus and there should be none.
    bool decide() noexcept {
        const bool room = taken_ <= most_;
        end_ = room && !wants_to_shrink() ? surplus_max : 0;
        return !room && count_ != 0;
    }

    //   in use + waiting = taken_                what the core gave away and has not got back
    //          waiting   = joined_ - left_
    //   another block joins the surplus while count_ < end_
    //   end_ = surplus_max where taken_ <= most_, else 0
    std::uint32_t count_ = 0;  // blocks of the surplus
    std::uint32_t end_ = 0;
    bool may_shrink_ = false;  // the heap has several regions
    // Granules that ever came, and that left again: one number would be one chain of additions.
    // Each block counts with its bit: what waits is far less than 2^31 granules, so the bits are
    // above it.
    std::size_t joined_ = 0;
    std::size_t left_ = 0;
    std::size_t taken_ = 0;  // granules
    std::size_t most_ = 0;   // granules: most in use so far, roof_ at most
    std::size_t roof_ = 0;   // granules: 7/8 of the heap
};

/// In front of the bins, in the home region.
struct deferred_header {
    std::uint64_t magic = 0;       // which kind of heap this is, for adopt()
    std::uint64_t total_size = 0;  // of the region, for adopt()
    std::uint32_t bin_count = 0;   // classes 0 .. bin_count - 1 may wait
    std::uint32_t share = 0;       // granules that one class may withhold
    std::uint64_t link_key = 0;    // of the links between waiting blocks
};

/// How many blocks of `granules` may wait when one class may withhold `share` granules.
[[nodiscard]] constexpr std::uint32_t deferred_cap(std::uint32_t share, std::uint32_t granules,
                                                   std::uint32_t cap_max) noexcept {
    const std::uint32_t fits = share / granules;
    return fits < cap_max ? fits : cap_max;
}

/// How many blocks may wait in all, in a heap of any size: what the last resort may have to merge.
template <class Fit>
[[nodiscard]] constexpr std::uint32_t deferred_blocks_max() noexcept {
    std::uint32_t total = deferred_surplus::surplus_max;
    constexpr std::uint32_t share = Fit::deferred_size_max / granule_size;
    for (std::uint32_t c = 0; Fit::size_of_class(c) <= share; ++c) {
        total += deferred_cap(share, Fit::size_of_class(c), Fit::deferred_max);
    }
    return total;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
