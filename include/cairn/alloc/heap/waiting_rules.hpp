// cairn/alloc/heap/waiting_rules.hpp - how many freed blocks of a heap may wait, and how it grows.
//
// Share:   what a class may always keep waiting: 1/64 of the live bytes, at least 8 KiB, at most
//          24 KiB and 64 blocks, while no more waits in all classes than lives, or than 64 KiB and
//          half of the heap.
// Surplus: blocks beyond the shares: at most 2,048; in a heap that grows 8,192, and 131,072 where
//          bursts repeat. More may join while
//
//            in use + waiting <= most          in granules; the heap does not grow by it
//
//            most: the largest "in use", at most 7/8 of a heap that cannot grow. A heap that grows
//                  forgets it after 4,096 operations in which twice as many granules came or went.
// Repeats: a burst repeats where the use falls below half of the most and comes back to 7/8 of it,
//          until the heap forgets a "most" that it has not come near again: here after 16,384
//          operations in which 1/32 of it came or went.
//
//            in use    .-.      .-.      .-.
//                     /   |    /   |    /   |
//                    /    |___/    |___/    |____________________
//                         merges   waits    waits     forgotten: merges
//
// When waiting blocks merge:
//   in use + waiting > most + most / 64      each request that reaches the core merges one block
//   a heap of several regions uses less      each free that reaches the core merges one block,
//   than a quarter of them                   and up to eight while more waits than lives, so that
//                                            regions become empty; no surplus joins
//   the core refuses a request and the       all blocks merge: the last resort. At most
//   heap cannot grow                         deferred_blocks_max() of them wait. Until upstream
//                                            gives a region again, the surplus is 2,048 blocks
//
// Growth:  a region more is at least what grow_by says, and 1/8 of what the heap holds; from the
//          32nd region on 1/4, from the 48th on 1/2, so that 64 regions reach 200 GiB. Growing
//          merges nothing. An empty region goes back to upstream after 4,000 operations of the core
//          in which no request used it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/heap_block.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct deferred_bin {
    std::uint64_t head = 0;     // offset of the newest block's payload, encoded like the links
    std::uint32_t held = 0;     // granules that wait here
    std::uint32_t waiting = 0;  // first half of the header of each block that waits here

    [[nodiscard]] std::uint32_t granules() const noexcept {  // of each block of this class
        return waiting - block_header::deferred_bit;
    }
};

static_assert(sizeof(deferred_bin) == 16, "four bins are one cache line");

/// Bytes that the next region of a heap should have, which has `region_count` of them with `held`
/// bytes and takes `block_size` at least.
[[nodiscard]] constexpr std::size_t next_region_size(std::size_t block_size, std::size_t held,
                                                     std::uint32_t region_count) noexcept {
    constexpr std::size_t size_max = std::size_t{granule_count_max} * granule_size;
    const std::size_t step = held / (region_count < 32 ? 8 : region_count < 48 ? 4 : 2);
    const std::size_t size = block_size > step ? block_size : step;
    return size < size_max ? size : size_max;
}

/// Operations of the core after which an empty region goes back when no request has used it.
inline constexpr std::uint64_t empty_region_delay = 4'000;

/// Blocks that may wait beyond the shares: in a heap that cannot grow, in one that grows, and in
/// one that grows and whose bursts repeat.
inline constexpr std::uint32_t surplus_of_fixed = 2048;
inline constexpr std::uint32_t surplus_of_growing = 8192;
inline constexpr std::uint32_t surplus_of_repeating = 131'072;

/// How many blocks may wait in all: what the last resort may have to merge.
template <class Fit>
[[nodiscard]] constexpr std::uint32_t deferred_blocks_max(bool grows) noexcept {
    std::uint32_t total = grows ? surplus_of_repeating : surplus_of_fixed;
    constexpr std::uint32_t share = Fit::deferred_size_max / granule_size;
    for (std::uint32_t c = 0; Fit::size_of_class(c) <= Fit::small_max; ++c) {
        const std::uint32_t fits = share / Fit::size_of_class(c) + 1;
        total += fits < Fit::deferred_max ? fits : Fit::deferred_max;
    }
    return total;
}

/// Counts waiting blocks, and says whether more may.
template <class Fit>
class waiting_books {
    static constexpr std::uint32_t share_min = 8192 / granule_size;
    static constexpr std::uint32_t share_max = Fit::deferred_size_max / granule_size;
    static constexpr std::size_t floor_max = 65536 / granule_size;
    static_assert(Fit::deferred_max % 2 == 0, "joined() relies on it");

public:
    /// One more block of `bin`, whose `waiting` this is, waits, if it may.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool joined(deferred_bin& bin,
                                                         std::uint64_t waiting) noexcept {
        // Asked before anything is written: a free that goes to the core stores nothing here.
        // The highest bit of `waiting` drops out of the product, because deferred_max is even.
        const std::uint32_t cap = static_cast<std::uint32_t>(waiting) * Fit::deferred_max;
        const std::uint32_t share = share_ < cap ? share_ : cap;
        if (bin.held >= share) [[unlikely]] {
            if (joined_ >= surplus_until_ && !may_join(false)) { return false; }
        } else if (joined_ >= look_at_) [[unlikely]] {
            if (!may_join(true)) { return false; }
        }
        bin.held += static_cast<std::uint32_t>(waiting) - block_header::deferred_bit;
        joined_ += waiting;
        return true;
    }
    /// One block of `bin`, whose `waiting` this is, waits no longer.
    [[CAIRN_FORCE_INLINE]] inline void left(deferred_bin& bin, std::uint64_t waiting) noexcept {
        bin.held -= static_cast<std::uint32_t>(waiting) - block_header::deferred_bit;
        left_ += waiting;
    }
    /// More waits in `bin` than its share.
    [[nodiscard]] bool is_beyond(const deferred_bin& bin) const noexcept {
        const std::uint32_t cap = bin.granules() * Fit::deferred_max;
        return bin.held > (share_ < cap ? share_ : cap);
    }

    /// The core gave `granules` away.
    /// Returns: true when the heap is larger than it has been by 1/64: a block should merge.
    [[nodiscard]] bool took(std::size_t granules) noexcept {
        taken_ += granules;
        ++operations_;
        moved_ += granules;
        decide();
        return taken_ > most_ + most_ / 64 && count() != 0;
    }
    /// The core got `granules` back.
    void gave_back(std::size_t granules) noexcept {
        taken_ -= granules;
        ++operations_;
        moved_ += granules;
        decide();
    }
    /// The heap has several regions and needs less than a quarter of them; where bursts repeat, the
    /// next one counts as needed.
    [[nodiscard]] bool is_sparse() const noexcept {
        return several_ && (repeats_ ? most_ : taken_) < capacity_ / 4;
    }

    /// A heap of several regions would rather give one back than have much wait in it.
    [[nodiscard]] bool wants_to_shrink() const noexcept {
        return is_sparse() && waiting() > taken_ - waiting();
    }

    /// The heap has this many granules now, in several regions or in one.
    void set_capacity(std::size_t granules, bool several) noexcept {
        capacity_ = granules;
        several_ = several;
        decide();
    }
    /// Whether upstream gave memory when it was asked last.
    void set_growing(bool grows) noexcept {
        refused_ = !grows;
        decide();
    }
    /// These granules are not in the core, of them `held` in `blocks` blocks wait. What was most is
    /// forgotten.
    void start(std::size_t taken, std::size_t held, std::size_t blocks, bool grows) noexcept {
        taken_ = taken;
        joined_ = joined_seen_ = held + blocks * block_header::deferred_bit;
        left_ = left_seen_ = 0;
        grows_ = grows;
        refused_ = dipped_ = repeats_ = false;
        most_ = peak_ = 0;
        decide();
    }
    /// Blocks that wait.
    [[nodiscard]] std::size_t count() const noexcept { return blocks_of(joined_ - left_); }
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    /// Granules that wait.
    [[nodiscard]] std::size_t waiting() const noexcept {
        return (joined_ - left_) % block_header::deferred_bit;
    }

    std::uint32_t cursor = 0;  // the bin from which blocks to merge are looked for

private:
    [[nodiscard]] static constexpr std::size_t blocks_of(std::size_t sum) noexcept {
        return sum / block_header::deferred_bit;
    }

    /// A block that joined() did not let wait at once. `in_share`: its class has room.
    [[nodiscard, CAIRN_NOINLINE]] bool may_join(bool in_share) noexcept {
        if (look_at_ != 0 && joined_ >= look_at_) { decide(); }
        return joined_ < surplus_until_ || (in_share && waiting() < all_max_);
    }

    /// After each change of the core, and each time that 1/64 of the waiting blocks has joined.
    void decide() noexcept {
        const std::size_t held = waiting();
        const std::size_t live = taken_ - held;
        const std::size_t share = live / Fit::deferred_share;
        share_ = share < share_min   ? share_min
                 : share < share_max ? static_cast<std::uint32_t>(share)
                                     : share_max;
        const std::size_t half = capacity_ / 2;
        const std::size_t floor = is_sparse() ? 0 : half < floor_max ? half : floor_max;
        all_max_ = taken_ / 2 > floor ? taken_ / 2 : floor;
        peak_ = live > peak_ ? live : peak_;
        most_ = peak_ > most_ ? peak_ : most_;
        if (grows_) {
            watch_bursts(live);
            forget(live);
        } else {
            const std::size_t roof = capacity_ - capacity_ / 8;
            most_ = most_ < roof ? most_ : roof;
        }
        set_looks(held);
    }

    /// A burst repeats where the use falls below half of the most and comes back to 7/8 of it.
    void watch_bursts(std::size_t live) noexcept {
        if (live < most_ / 2) {
            dipped_ = true;
        } else if (dipped_ && live >= most_ - most_ / 8) {
            dipped_ = false;
            repeats_ = true;
        }
    }

    /// Forgets what was most in use. A pair of a request and a free is an operation, in the core or
    /// not; a burst that only joins is none.
    void forget(std::size_t live) noexcept {
        const std::size_t joins = joined_ - joined_seen_;
        const std::size_t leaves = left_ - left_seen_;
        const std::size_t pairs = joins < leaves ? joins : leaves;
        operations_ += blocks_of(pairs);
        moved_ += pairs % block_header::deferred_bit;
        joined_seen_ = joined_;
        left_seen_ = left_;
        // A first burst moves through the core twice until it repeats.
        const bool early = repeats_ ? operations_ < 16'384 || moved_ < most_ / 32
                                    : operations_ < 4096 || moved_ < 2 * most_;
        if (early) { return; }
        moved_ = 0;
        operations_ = 0;
        if (peak_ < most_ - most_ / 8) { repeats_ = dipped_ = false; }
        most_ = peak_;
        peak_ = live;
    }

    void set_looks(std::size_t held) noexcept {
        const std::size_t blocks = count();
        const std::size_t most_blocks = !grows_ || refused_ ? surplus_of_fixed
                                        : repeats_          ? surplus_of_repeating
                                                            : surplus_of_growing;
        // Looks cost time: a small heap has little to decide.
        std::size_t ahead = taken_ <= floor_max ? 1024 : blocks / 64 < 32 ? 32 : blocks / 64;
        // The next decide() may find the burst smaller than it was by what joined until then.
        const std::size_t slack = repeats_ ? most_ / 16 : 0;
        if (taken_ <= most_ + slack && blocks < most_blocks && !is_sparse()) {
            const std::size_t room = most_blocks - blocks;
            ahead = ahead < room ? ahead : room;
            look_at_ = surplus_until_ = joined_ + ahead * block_header::deferred_bit;
            return;
        }
        surplus_until_ = 0;
        if (held >= all_max_) {
            look_at_ = 0;  // each block asks
            return;
        }
        const std::size_t room = 1 + (all_max_ - held) / 64;  // blocks of 1 KiB
        look_at_ = joined_ + (ahead < room ? ahead : room) * block_header::deferred_bit;
    }

    //   in use + waiting = taken_                what the core gave away and has not got back
    //          waiting   = joined_ - left_
    //   a block joins           within its share    while joined_ < look_at_, or where may_join()
    //                           beyond its share    while joined_ < surplus_until_
    std::size_t look_at_ = 0;        // of joined_: decide() is called then; 0: may_join() counts
    std::size_t surplus_until_ = 0;  // of joined_; 0: no surplus joins
    std::uint32_t share_ = 0;        // granules that a class may always keep
    bool several_ = false;           // the heap has several regions
    bool grows_ = false;
    bool refused_ = false;  // by upstream, when it was asked last
    bool dipped_ = false;   // the use fell below half of most_
    bool repeats_ = false;  // and came back
    // Granules that ever came, and that left again: one number would be one chain of additions.
    // Each block adds its `deferred` bit, too. Waiting blocks have far less than 2^31 granules, so
    // the sum of the bits stands above the sum of the granules.
    std::size_t joined_ = 0;
    std::size_t left_ = 0;
    std::size_t joined_seen_ = 0;  // joined_ and left_ at the last decide()
    std::size_t left_seen_ = 0;
    std::size_t all_max_ = 0;     // granules that wait in all classes within their shares
    std::size_t operations_ = 0;  // since most_ was forgotten
    std::size_t moved_ = 0;       // granules, in those operations
    std::size_t taken_ = 0;       // granules
    std::size_t most_ = 0;        // granules: most in use so far
    std::size_t peak_ = 0;        // granules: most in use since then
    std::size_t capacity_ = 0;
};

template <class Fit>
    requires(Fit::deferred_max == 0)
class waiting_books<Fit> {};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
