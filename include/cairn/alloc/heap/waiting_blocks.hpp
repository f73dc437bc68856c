// cairn/alloc/heap/waiting_blocks.hpp - freed blocks that wait for the next request of their size.
//
//      class   1   2   3   4   5 ...
//      head   [.] [o] [.] [o] [.]      newest first; a link in the block leads to the next
//                  |       |
//                 [ ]     [ ]          the header says `deferred`: neighbours do not merge with it
//                  |
//                 [ ]                  as many as the rules below say, then frees go to the core
//
// Programs free and allocate the same few sizes over and over. To merge a block with its neighbours
// and cut it out again costs five cache misses. So freed blocks of each class wait here, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/inside/heap_block.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/inside/process_secret.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---------------------------------------------------------------------------- how many may wait

// Share:   what a class may always keep waiting: 1/64 of the live bytes, at least 8 KiB, at most
//          32 KiB and 64 blocks, while no more waits in all classes than lives, or than 128 KiB and
//          half of the heap, or than 1/32 of a heap that cannot grow. A class learns that its
//          share has changed when it is full.
// Looks:   a free compares its block with the room of its class and with the room of all, and
//          subtracts it from both. The rules are read when one of the two is used up, for 16 to
//          1,024 blocks: so the limits hold to 16 blocks, and "in use" is known to 1/64.
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
//                                            of the surplus, or looks at the next eight classes
//   a heap of several regions uses less      each free that reaches the core merges one block,
//   than a quarter of them                   and up to eight while more waits than lives, so that
//                                            regions become empty; no surplus joins, and a share
//                                            is 2 KiB, so that frees reach the core
//   the core refuses a request and the       all blocks merge: the last resort. At most
//   heap cannot grow                         deferred_blocks_max() of them wait. Until upstream
//                                            gives a region again, the surplus is 2,048 blocks
//
// Growth:  a region more is at least what grow_by says, and 1/8 of what the heap holds; from the
//          32nd region on 1/4, from the 48th on 1/2, so that 64 regions reach 200 GiB. Growing
//          merges nothing. An empty region goes back to upstream after 4,000 operations of the core
//          in which no request used it, at the next look: each 16th operation looks at one of 64.

struct deferred_bin {
    std::uint64_t head = 0;      // offset of the newest block's payload, encoded like the links
    std::int32_t room = 0;       // blocks left of the share; below 0: so many wait beyond it
    std::uint16_t share = 0;     // blocks: the share of the class when it was looked at last
    std::uint16_t granules = 0;  // of each block of this class

    /// Blocks that wait here.
    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(share - room);
    }
    /// First half of the header of each of them.
    [[nodiscard]] std::uint32_t word() const noexcept {
        return granules | block_header::deferred_bit;
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

/// Operations of the core after which an empty region goes back when no request has used it, and in
/// which one region is looked at.
inline constexpr std::uint64_t empty_region_delay = 4'000;
inline constexpr std::uint64_t operations_for_a_look = 16;

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
    static constexpr std::size_t floor_max = 128 * 1024 / granule_size;
    static_assert(Fit::deferred_max <= UINT16_MAX, "a bin keeps its share in 16 bits");
    static_assert(Fit::small_max <= UINT16_MAX, "a bin keeps the size of its blocks in 16 bits");

public:
    /// One more block of `bin` waits, if the last look allows it. `word`: bin.word().
    /// Returns: false where refuses() and joined_after_a_look() decide, which must come next.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool joined(deferred_bin& bin,
                                                         std::uint32_t word) noexcept {
        if (bin.room <= room_end_) [[unlikely]] { return false; }
        // One instruction subtracts and compares; refuses() mends what is below 0.
        ahead_ -= word;
        if (static_cast<std::int64_t>(ahead_) < 0) [[unlikely]] { return false; }
        --bin.room;
        return true;
    }
    /// True where a look would refuse the block that joined() refused. The block goes to the core
    /// then: a look beside that would be a third of the longest free.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool refuses(deferred_bin& bin) noexcept {
        mend(bin);
        const bool ends = ahead_ < bin.word();
        if ((ends && must_decide()) || allows_surplus()) { return false; }
        set_share(bin);
        return bin.room <= 0 || (ends && waiting() >= all_max_);
    }
    /// joined() after a look.
    [[nodiscard]] bool joined_after_a_look(deferred_bin& bin) noexcept {
        mend(bin);
        if (ahead_ < bin.word()) {
            must_decide() ? decide() : look();
        } else if (room_end_ == 0 && allows_surplus()) {
            look();
        }
        set_share(bin);
        return ahead_ >= bin.word() && joined(bin, bin.word());
    }
    /// One block of `bin` waits no longer. `word`: bin.word().
    [[CAIRN_FORCE_INLINE]] inline void left(deferred_bin& bin, std::uint32_t word) noexcept {
        ++bin.room;
        left_ += word;
    }
    /// `bin` learns the share of its class.
    void set_share(deferred_bin& bin) const noexcept {
        // The last block of a share may end beyond it.
        const bool fits = share_ >= bin.granules * Fit::deferred_max;
        const std::uint32_t share =
            fits ? Fit::deferred_max : (share_ + bin.granules - 1) / bin.granules;
        bin.room += static_cast<std::int32_t>(share) - bin.share;
        bin.share = static_cast<std::uint16_t>(share);
    }

    /// The core gave `granules` away.
    /// Returns: true when the heap is larger than it has been by 1/64: a block should merge.
    [[nodiscard]] bool took(std::size_t granules) noexcept {
        taken_ += granules;
        moved_ += granules;
        ++operations_;
        if (taken_ <= most_) [[likely]] { return false; }
        const std::size_t live = taken_ - waiting();
        if (live > most_) { most_ = live < roof_ ? live : roof_; }
        if (dipped_ || repeats_) { watch_bursts(live); }
        return taken_ > most_ + most_ / 64 && has_surplus && count() != 0;
    }
    /// The core got `granules` back.
    void gave_back(std::size_t granules) noexcept {
        taken_ -= granules;
        moved_ += granules;
        ++operations_;
    }
    /// A block of the core became larger by so many granules; below 0: smaller.
    void resized(std::ptrdiff_t granules) noexcept {
        taken_ += static_cast<std::size_t>(granules);
        moved_ += static_cast<std::size_t>(granules < 0 ? -granules : granules);
        ++operations_;
    }
    /// Decides anew where 1/64 of what is taken came or went, or after 32 operations of the core.
    void settle() noexcept {
        const std::size_t changed = taken_ - taken_seen_ + step_;
        if (changed > 2 * step_ || operations_ >= operations_due_) [[unlikely]] { decide(); }
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
        roof_ = grows_ ? SIZE_MAX : granules - granules / 8;
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
        joined_end_ = joined_seen_ = held + blocks * block_header::deferred_bit;
        ahead_ = 0;
        left_ = left_seen_ = 0;
        grows_ = grows;
        roof_ = grows ? SIZE_MAX : capacity_ - capacity_ / 8;
        refused_ = dipped_ = repeats_ = false;
        most_ = peak_ = 0;
        decide();
    }
    /// Blocks that wait.
    [[nodiscard]] std::size_t count() const noexcept { return blocks_of(joined() - left_); }
    [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
    /// Granules that wait.
    [[nodiscard]] std::size_t waiting() const noexcept {
        return (joined() - left_) % block_header::deferred_bit;
    }

    std::uint32_t cursor = 0;  // the bin from which blocks to merge are looked for
    /// False: all classes have been looked at since the last surplus, and none has one.
    bool has_surplus = false;

private:
    [[nodiscard]] static constexpr std::size_t blocks_of(std::size_t sum) noexcept {
        return sum / block_header::deferred_bit;
    }

    [[nodiscard]] std::size_t joined() const noexcept { return joined_end_ - ahead_; }
    /// Adds what a joined() that refused has subtracted.
    void mend(const deferred_bin& bin) noexcept {
        if (static_cast<std::int64_t>(ahead_) < 0) { ahead_ += bin.word(); }
    }
    /// Enough blocks joined to decide anew. A heap that cannot grow watches no bursts.
    [[nodiscard]] bool must_decide() const noexcept {
        return grows_ && blocks_of(joined() - joined_seen_) >= 32;
    }
    [[nodiscard]] std::size_t surplus_max() const noexcept {
        return !grows_ || refused_ ? surplus_of_fixed
               : repeats_          ? surplus_of_repeating
                                   : surplus_of_growing;
    }
    /// Blocks may wait beyond their shares.
    [[nodiscard]] bool allows_surplus() const noexcept {
        // The next decide() may find the burst smaller than it was by what joined until then.
        return (taken_ <= most_ || (repeats_ && taken_ <= most_ + most_ / 16)) &&
               count() < surplus_max() && !is_sparse();
    }

    /// Reads what is in use, and writes down what follows from it.
    void decide() noexcept {
        const std::size_t live = taken_ - waiting();
        const std::size_t share = live / Fit::deferred_share;
        share_ = is_sparse()         ? share_min / 4
                 : share < share_min ? share_min
                 : share < share_max ? static_cast<std::uint32_t>(share)
                                     : share_max;
        all_max_ = taken_ / 2 > all_min() ? taken_ / 2 : all_min();
        peak_ = live > peak_ ? live : peak_;
        const std::size_t most = most_ > peak_ ? most_ : peak_;
        most_ = most < roof_ ? most : roof_;
        if (grows_) {
            watch_bursts(live);
            forget(live);
        }
        taken_seen_ = taken_;
        step_ = taken_ / 64 + 64;
        operations_due_ = operations_ + 32;
        look();
    }

    /// Granules that may wait in all classes however little lives.
    [[nodiscard]] std::size_t all_min() const noexcept {
        if (is_sparse()) { return 0; }
        const std::size_t least = grows_ ? 0 : capacity_ / 32;
        const std::size_t floor = capacity_ / 2 < floor_max ? capacity_ / 2 : floor_max;
        return floor > least ? floor : least;
    }

    /// A burst repeats where the use falls below half of the most and comes back to 7/8 of it.
    /// Where its largest buffer moves, a request of the core alone sees the most.
    void watch_bursts(std::size_t live) noexcept {
        if (live < most_ / 2) {
            dipped_ = true;
        } else if ((dipped_ || repeats_) && live >= most_ - most_ / 8) {
            peak_ = live > peak_ ? live : peak_;
            dipped_ = false;
            repeats_ = true;
        }
    }

    /// Forgets what was most in use. A pair of a request and a free is an operation, in the core or
    /// not; a burst that only joins is none.
    void forget(std::size_t live) noexcept {
        const std::size_t joins = joined() - joined_seen_;
        const std::size_t leaves = left_ - left_seen_;
        const std::size_t pairs = joins < leaves ? joins : leaves;
        operations_ += blocks_of(pairs);
        moved_ += pairs % block_header::deferred_bit;
        joined_seen_ = joined();
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

    /// How many blocks may join until the next look, and whether beyond their shares.
    void look() noexcept {
        joined_end_ = joined();
        ahead_ = 0;
        const std::size_t blocks = count();
        const std::size_t held = waiting();
        // Looks cost time: a small heap has little to decide.
        std::size_t ahead = taken_ <= floor_max ? 1024 : blocks / 64 < 32 ? 32 : blocks / 64;
        std::size_t room = 0;
        if (allows_surplus()) {
            room_end_ = INT32_MIN;
            has_surplus = true;
            room = surplus_max() - blocks;
        } else {
            room_end_ = 0;
            if (held >= all_max_) { return; }
            room = (all_max_ - held) / 64;  // blocks of 1 KiB
            room = is_sparse() ? 1 : room < 16 ? 16 : room;
        }
        ahead = ahead < room ? ahead : room;
        ahead_ = ahead * block_header::deferred_bit + Fit::small_max;
        joined_end_ += ahead_;
    }

    //   in use + waiting = taken_                what the core gave away and has not got back
    //          waiting   = joined() - left_
    //   a block joins     within its share       while ahead_ lasts
    //                     beyond its share       the same, where room_end_ is below 0
    std::size_t ahead_ = 0;      // what may join until a look: granules and bits, as below
    std::int32_t room_end_ = 0;  // a class with no more room asks
    std::uint32_t share_ = 0;    // granules that a class may always keep
    bool several_ = false;       // the heap has several regions
    bool grows_ = false;
    bool refused_ = false;  // by upstream, when it was asked last
    bool dipped_ = false;   // the use fell below half of most_
    bool repeats_ = false;  // and came back
    // Granules that ever came, and that left again: one number would be one chain of additions.
    // Each block adds its `deferred` bit, too. Waiting blocks have far less than 2^31 granules, so
    // the sum of the bits stands above the sum of the granules.
    std::size_t joined_end_ = 0;  // joined() when ahead_ is used up
    std::size_t left_ = 0;
    std::size_t joined_seen_ = 0;  // joined() and left_ at the last decide()
    std::size_t left_seen_ = 0;
    std::size_t all_max_ = 0;         // granules that wait in all classes within their shares
    std::size_t operations_ = 0;      // since most_ was forgotten
    std::size_t operations_due_ = 0;  // settle() decides then
    std::size_t taken_ = 0;           // granules
    std::size_t taken_seen_ = 0;      // taken_ at the last decide()
    // Granules that came or went in operations_. Not beside taken_: gcc would add to both in a
    // vector.
    std::size_t moved_ = 0;
    std::size_t step_ = 0;  // granules: a larger change makes settle() decide
    std::size_t most_ = 0;  // granules: most in use so far
    std::size_t peak_ = 0;  // granules: most in use since then
    std::size_t roof_ = 0;  // granules: most_ is no more
    std::size_t capacity_ = 0;
};

template <class Fit>
    requires(Fit::deferred_max == 0)
class waiting_books<Fit> {};

// ---------------------------------------------------------------------------- where they wait

inline constexpr std::uint64_t no_waiting_block = std::uint64_t{1} << 63;  // an offset

/// What the number of granules of a small request says, in one load each: nothing is left to do
/// where the size is a constant.
template <class Fit>
struct small_requests {
    struct entry {
        std::uint32_t offset = 0;  // of its bin in the array of bins, in bytes
        std::uint32_t word = 0;    // of its bin
    } of[Fit::small_max + 1];
    constexpr small_requests() noexcept {
        for (std::uint32_t g = 1; g <= Fit::small_max; ++g) {
            const std::uint32_t c = Fit::class_of_request(g);
            of[g] = {c * static_cast<std::uint32_t>(sizeof(deferred_bin)),
                     Fit::size_of_class(c) | block_header::deferred_bit};
        }
    }
    static const small_requests table;
};
template <class Fit>
inline constexpr small_requests<Fit> small_requests<Fit>::table{};

/// In front of the bins, in the home region.
struct deferred_header {
    std::uint64_t magic = 0;       // which kind of heap this is, for adopt()
    std::uint64_t total_size = 0;  // of the region, for adopt()
    std::uint32_t bin_count = 0;   // classes 0 .. bin_count - 1 may wait
    std::uint32_t unused = 0;
    std::uint64_t link_key = 0;  // of the links between waiting blocks
};

// ---------------------------------------------------------------------------- the bins

//      | region | index | header, bin, bin, bin ... | blocks ...
//                         ^ room that the first region leaves for its owner: extra()
//
// Links: heads and links are an offset in bytes from the first region, plus the region's key; they
//        stay when a region is added. A link lies in a freed block, so before its block is given
//        out it must lead into the regions, and the header there must say that it waits, and of
//        which size it is. A head becomes a link as it is.
// Cost:    take, put: one bin, the first line of the block. The rest: O(bins).
// Misuse:  a link that leads out of the regions is not followed, a header that does not say that
//          its block waits in the bin makes take() return false; both end in expect_none().
template <class Fit>
class waiting_blocks {
    static constexpr bool used = Fit::deferred_max != 0;

public:
    // ------------------------------------------------------------------------ how large

    /// How many classes have a bin in a region of `granules`: those of blocks up to 1/32 of it.
    [[nodiscard]] static constexpr std::uint32_t count_for(std::size_t granules) noexcept {
        if constexpr (!used) {
            return 0;
        } else {
            const std::size_t largest = granules / 32;
            if (largest == 0) { return 0; }
            return Fit::class_of_free(largest < Fit::small_max ? static_cast<std::uint32_t>(largest)
                                                               : Fit::small_max) +
                   1;
        }
    }
    [[nodiscard]] static constexpr std::size_t size_of(std::uint32_t bin_count) noexcept {
        return sizeof(deferred_header) + bin_count * sizeof(deferred_bin);
    }
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t granules) noexcept {
        return size_of(count_for(granules));
    }

    // ------------------------------------------------------------------------ life

    /// Writes empty bins and a new key into `room`.
    static void make(std::byte* room, std::uint32_t bin_count, std::uint64_t magic,
                     std::uint64_t total_size) noexcept {
        auto* const header = ::new (room) deferred_header{};
        header->magic = magic;
        header->total_size = total_size;
        header->bin_count = bin_count;
        header->link_key = secret_of(header);
        if constexpr (used) {
            auto* const bins = reinterpret_cast<deferred_bin*>(header + 1);
            for (std::uint32_t c = 0; c < bin_count; ++c) {
                ::new (bins + c) deferred_bin{no_waiting_block + header->link_key, 0, 0,
                                              static_cast<std::uint16_t>(Fit::size_of_class(c))};
            }
        }
    }

    /// Uses the bins in `room`, of a heap whose first region is at `begin` and has `size` bytes;
    /// `taken` of its granules are not in the core.
    void use(std::byte* room, std::byte* begin, std::size_t size, std::size_t taken,
             bool grows) noexcept {
        header_ = reinterpret_cast<deferred_header*>(room);
        bins_ = reinterpret_cast<deferred_bin*>(header_ + 1);
        zero_ = reinterpret_cast<std::uintptr_t>(begin) - header_->link_key;
        if constexpr (used) {
            size_end_ = header_->bin_count == 0
                            ? 0
                            : detail::payload_size(Fit::size_of_class(header_->bin_count - 1)) + 1;
        }
        set_reach(begin, size);
        count_anew(taken, grows);
    }

    /// The memory of the heap reaches from `begin` `size` bytes far. Links stay what they are.
    void set_reach(std::byte* begin, std::size_t size) noexcept {
        begin_ = begin;
        reach_ = size;
        first_ = reinterpret_cast<std::uintptr_t>(begin) - zero_;
    }

    /// Counts waiting blocks, and forgets what was most in use. O(bins).
    void count_anew(std::size_t taken, bool grows) noexcept {
        if constexpr (used) {
            std::size_t granules = 0;
            std::size_t blocks = 0;
            for (std::uint32_t c = 0; c < count(); ++c) {
                CAIRN_DETAIL_STEP();
                granules += std::size_t{bins_[c].count()} * bins_[c].granules;
                blocks += bins_[c].count();
            }
            books_.start(taken, granules, blocks, grows);
        }
    }

    /// Forgets all waiting blocks.
    void clear() noexcept {
        for (std::uint32_t c = 0; c < count(); ++c) {
            bins_[c].head = no_waiting_block + header_->link_key;
            bins_[c].room = bins_[c].share;
        }
    }

    // ------------------------------------------------------------------------ blocks

    struct bin_of_size {
        deferred_bin* bin;   // nullptr: blocks of the size do not wait
        std::uint32_t word;  // of the bin
    };
    /// The bin in which blocks of a request of `size` wait.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bin_of_size bin_for(std::size_t size) const noexcept {
        if constexpr (used) {
            if (size < size_end_) [[likely]] {
                const std::size_t granules = granules_for(size);
                // The comparison implies it; without it gcc warns where it inlines a constant.
                if (granules > Fit::small_max) { compiler::unreachable(); }
                const auto& request = small_requests<Fit>::table.of[granules];
                auto* const at = reinterpret_cast<std::byte*>(bins_) + request.offset;
                if (at == nullptr) { compiler::unreachable(); }
                return {reinterpret_cast<deferred_bin*>(at), request.word};
            }
        }
        return {};
    }

    /// The newest block of `bin`; nullptr: there is none, or the link leads out of the heap.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline std::byte* newest(
        const deferred_bin& bin) const noexcept {
        const std::uint64_t at = bin.head - first_;
        return at < reach_ ? begin_ + at : nullptr;
    }

    // `word` is the bin's in the functions below: what bin_for() found, or bin.word().

    /// The newest block of `bin`, taken out. nullptr: none, or a look found something else; then
    /// expect_none() tells them apart.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline std::byte* take_newest(deferred_bin& bin,
                                                                    std::uint32_t word) noexcept {
        CAIRN_DETAIL_STEP();
        const std::uint64_t at = bin.head - first_;
        if (at >= reach_) { return nullptr; }
        std::byte* const p = begin_ + at;
        return take(bin, word, p) ? p : nullptr;
    }

    /// Takes out `p`, the newest of `bin`. Its link becomes the head as it is, and is looked at
    /// when its turn comes: no pair of a free and a request waits for that. The block that it leads
    /// to is prefetched: a burst of 64,000 blocks, which no cache holds, takes a quarter of the
    /// time.
    /// Returns: false when its header does not say that it waits there; nothing has changed then.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool take(deferred_bin& bin, std::uint32_t word,
                                                       std::byte* p) noexcept {
        // The header before the link: what stands in a block is a link only where the header says
        // that it waits here. Then the block is in use, before anything of it is given out.
        CAIRN_DETAIL_STEP();
        std::byte* const header = p - block_header_size;
        if (detail::load_hidden<std::uint32_t, Watched>(header) != word) [[unlikely]] {
            return false;
        }
        CAIRN_DETAIL_STEP();
        const auto next = detail::load_hidden<std::uint64_t, Watched>(p);
        // A number, not a pointer: where the link was overwritten, it leads anywhere.
        compiler::prefetch_for_writing(reinterpret_cast<const void*>(zero_ + next));
        bin.head = next;
        detail::store_hidden<std::uint32_t, Watched>(header, word - block_header::deferred_bit);
        books_.left(bin, word);
        return true;
    }

    /// `p` waits in `bin` now.
    /// Returns: false when books().refuses() must come next, which also mends the books; the block
    ///          is as it was.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool put(deferred_bin& bin, std::uint32_t word,
                                                      std::byte* p) noexcept {
        // Asked first: a refusal leaves the block as it was.
        if (!books_.joined(bin, word)) [[unlikely]] { return false; }
        link<Watched>(bin, word, p);
        return true;
    }
    /// The same where books().refuses() returned false: looks at the books. Returns: false when `p`
    /// may not wait; the block is as it was then.
    [[nodiscard]] bool put_after_a_look(deferred_bin& bin, std::byte* p) noexcept {
        if (!books_.joined_after_a_look(bin)) { return false; }
        link(bin, bin.word(), p);
        return true;
    }

    /// No block was to be had of `bin`: because there is none, or a look found something else.
    void expect_none(const deferred_bin& bin) const noexcept {
        if (bin.head != no_waiting_block + header_->link_key) [[unlikely]] {
            // A block that is given out and still in its bin was in there twice, or something
            // wrote a link to it into a freed block: links are hidden, so that is nearly never so.
            const std::byte* const p = newest(bin);
            const bool is_given_out =
                p != nullptr && load_hidden<std::uint32_t>(p - block_header_size) == bin.granules;
            heap_is_corrupt(is_given_out ? heap_promise::freed_once : heap_promise::waiting,
                            begin_);
        }
    }

    // ------------------------------------------------------------------------ books

    [[nodiscard]] waiting_books<Fit>& books() noexcept { return books_; }
    [[nodiscard]] const waiting_books<Fit>& books() const noexcept { return books_; }

    /// The bin at the cursor, if more waits there than the share that its class had at its last
    /// look, or, where `any`, one block; nullptr: it has none. The cursor then moves by up to eight
    /// bins, to the next that has.
    [[nodiscard]] deferred_bin* next_to_merge(bool any) noexcept {
        CAIRN_DETAIL_STEP();
        deferred_bin& at = bins_[books_.cursor];
        if (at.room < 0 || (any && at.count() != 0)) { return &at; }
        // A request merges a block or looks for one: both would make the longest request longer.
        for (unsigned tries = 8; tries != 0; --tries) {
            CAIRN_DETAIL_STEP();
            if (books_.cursor == 0) {
                books_.has_surplus = books_.has_surplus && found_;
                found_ = false;
                books_.cursor = count();
            }
            --books_.cursor;  // the largest first: most memory for a merge
            if (gives_way(any)) { break; }
        }
        return nullptr;
    }

    [[nodiscard]] std::uint32_t count() const noexcept {
        return used && header_ != nullptr ? header_->bin_count : 0;
    }
    [[nodiscard]] deferred_bin& operator[](std::uint32_t c) const noexcept { return bins_[c]; }

    /// Calls visit(bin, p) for each block that waits, and checks the links and counts on the way.
    template <class Visit>
    void validate(Visit visit) const noexcept {
        std::size_t granules = 0;
        std::size_t blocks = 0;
        for (std::uint32_t c = 0; c < count(); ++c) {
            const deferred_bin& bin = bins_[c];
            std::uint32_t n = 0;
            for (std::uint64_t link = bin.head; link != no_waiting_block + header_->link_key; ++n) {
                CAIRN_ASSERT(n < bin.count(), "a bin knows how many blocks wait in it");
                const std::uint64_t at = link - first_;
                CAIRN_ASSERT(at < reach_, "a deferred block lies in the heap");
                visit(bin, begin_ + at);
                link = load_hidden<std::uint64_t>(begin_ + at);
            }
            CAIRN_ASSERT(n == bin.count(), "a bin knows how many blocks wait in it");
            granules += std::size_t{n} * bin.granules;
            blocks += n;
        }
        if constexpr (used) {
            CAIRN_ASSERT(granules == books_.waiting(),
                         "the granules of the waiting blocks are counted");
            CAIRN_ASSERT(
                blocks == books_.count() && blocks <= detail::deferred_blocks_max<Fit>(true),
                "the blocks that wait are counted, and bounded");
        }
    }

private:
    /// More waits in the bin at the cursor than its share, or, where `any`, one block.
    [[nodiscard]] bool gives_way(bool any) noexcept {
        deferred_bin& bin = bins_[books_.cursor];
        if (any && bin.count() != 0) { return true; }
        if (bin.room >= 0) { return false; }
        books_.set_share(bin);
        found_ = true;
        return bin.room < 0;
    }

    /// `p` is the newest of `bin`.
    template <bool Watched = detail::poison_is_watched>
    [[CAIRN_FORCE_INLINE]] inline void link(deferred_bin& bin, std::uint32_t word,
                                            std::byte* p) noexcept {
        if constexpr (Watched) { poison(p, payload_size(bin.granules)); }
        CAIRN_DETAIL_STEP();
        // The link, the header, and at last the head.
        detail::store_hidden<std::uint64_t, Watched>(p, bin.head);
        detail::store_hidden<std::uint32_t, Watched>(p - block_header_size, word);
        bin.head = reinterpret_cast<std::uintptr_t>(p) - zero_;
    }

    //  link or head = (address - first region) + key = address - zero_
    //  it leads into the heap where link - first_ < reach_; no_waiting_block never does
    deferred_bin* bins_ = nullptr;  // in the first region
    std::size_t size_end_ = 0;      // smaller sizes have a bin
    std::byte* begin_ = nullptr;    // the lowest region
    std::uint64_t reach_ = 0;       // bytes from there to the end of the highest region
    std::uint64_t first_ = 0;       // begin_ - zero_: the link to the lowest region
    std::uintptr_t zero_ = 0;       // first region - key: an address less this is a link
    [[CAIRN_NO_UNIQUE_ADDRESS]] waiting_books<Fit> books_;
    bool found_ = true;  // a surplus, since the cursor came round
    deferred_header* header_ = nullptr;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
