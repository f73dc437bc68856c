// cairn/alloc/heap/waiting_blocks.hpp - freed blocks that wait for the next request of their size.
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
//            6 KiB            decision 0030 (quick_fit: 24 KiB)
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
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/inside/process_secret.hpp>

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

// ---------------------------------------------------------------------------- the bins

//      | region | index | header, bin, bin, bin ... | blocks ...
//                         ^ room that the first region leaves for its owner: extra()
//
// Cost:    take, put: one bin, the first line of the block. The rest: O(bins).
// Misuse:  a link that leads out of the regions is not followed, a header that does not say that
//          its block waits in the bin makes take() return false; both end in expect_none().
template <class Fit>
class waiting_blocks {
    static constexpr bool used = Fit::deferred_max != 0;

public:
    // ------------------------------------------------------------------------ how large

    /// Granules that one class may withhold in a heap of `granules`.
    [[nodiscard]] static constexpr std::uint32_t share_of(std::size_t granules) noexcept {
        if constexpr (!used) {
            return 0;
        } else {
            constexpr std::size_t most = Fit::deferred_size_max / granule_size;
            const std::size_t share = granules / Fit::deferred_share;
            return static_cast<std::uint32_t>(share < most ? share : most);
        }
    }
    /// How many classes have a bin there.
    [[nodiscard]] static constexpr std::uint32_t count_for(std::size_t granules) noexcept {
        if constexpr (!used) {
            return 0;
        } else {
            const std::uint32_t share = share_of(granules);
            if (share == 0) { return 0; }
            return Fit::class_of_free(share < Fit::small_max ? share : Fit::small_max) + 1;
        }
    }
    [[nodiscard]] static constexpr std::size_t size_of(std::uint32_t bin_count) noexcept {
        return sizeof(deferred_header) + bin_count * sizeof(deferred_bin);
    }
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t granules) noexcept {
        return size_of(count_for(granules));
    }

    // ------------------------------------------------------------------------ life

    /// Writes empty bins without a share, and a new key, into `room`.
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
                ::new (bins + c) deferred_bin{no_waiting_block + header->link_key, 0,
                                              Fit::size_of_class(c) + block_header::deferred_bit};
            }
        }
    }

    /// Uses the bins in `room`, of a heap whose memory reaches from `begin` `size` bytes far.
    void use(std::byte* room, std::byte* begin, std::size_t size) noexcept {
        header_ = reinterpret_cast<deferred_header*>(room);
        bins_ = reinterpret_cast<deferred_bin*>(header_ + 1);
        link_key_ = header_->link_key;
        if constexpr (used) {
            size_end_ = header_->bin_count == 0
                            ? 0
                            : payload_size(Fit::size_of_class(header_->bin_count - 1)) + 1;
        }
        set_reach(begin, size);
    }

    /// Links count from the lowest region: that may change only while nothing waits.
    void set_reach(std::byte* begin, std::size_t size) noexcept {
        begin_ = begin;
        reach_ = size;
        zero_ = reinterpret_cast<std::uintptr_t>(begin) - link_key_;
    }

    void set_share(std::uint32_t share) noexcept {
        // Shares never fall, so room never has to be taken back: a bin that is over its share stays
        // a part of the surplus.
        if (share <= header_->share) { return; }
        for (std::uint32_t c = 0; c < count(); ++c) {
            CAIRN_DETAIL_STEP();
            const std::uint32_t before = cap(bins_[c]);
            bins_[c].room += static_cast<std::int32_t>(
                deferred_cap(share, bins_[c].granules(), Fit::deferred_max) - before);
        }
        header_->share = share;
    }

    /// Forgets what waits.
    void clear() noexcept {
        for (std::uint32_t c = 0; c < count(); ++c) {
            bins_[c].head = no_waiting_block + link_key_;
            bins_[c].room = static_cast<std::int32_t>(cap(bins_[c]));
        }
    }

    // ------------------------------------------------------------------------ blocks

    /// The bin in which blocks of a request of `size` wait; nullptr: they do not wait.
    [[nodiscard, gnu::always_inline]] inline deferred_bin* bin_for(
        std::size_t size) const noexcept {
        if constexpr (used) {
            if (size < size_end_) [[likely]] {
                const std::size_t granules = granules_for(size);
                // The comparison implies it; without it gcc warns where it inlines a constant.
                if (granules > Fit::small_max) { __builtin_unreachable(); }
                auto* const at =
                    reinterpret_cast<std::byte*>(bins_) + deferred_offsets<Fit>::table.of[granules];
                if (at == nullptr) { __builtin_unreachable(); }
                return reinterpret_cast<deferred_bin*>(at);
            }
        }
        return nullptr;
    }

    /// The newest block of `bin`; nullptr: there is none, or the link leads out of the heap.
    [[nodiscard, gnu::always_inline]] inline std::byte* newest(
        const deferred_bin& bin) const noexcept {
        const std::uint64_t at = bin.head - link_key_;
        return at < reach_ ? begin_ + at : nullptr;
    }

    /// The newest block of `bin`, taken out. nullptr: none, or a look found something else; then
    /// expect_none() tells them apart.
    [[nodiscard, gnu::always_inline]] inline std::byte* take_newest(deferred_bin& bin) noexcept {
        CAIRN_DETAIL_STEP();
        const std::uint64_t at = bin.head - link_key_;
        if (at >= reach_) { return nullptr; }
        std::byte* const p = begin_ + at;
        return take(bin, p) ? p : nullptr;
    }

    /// Takes out `p`, the newest of `bin`. Its link becomes the head as it is, and is decoded and
    /// looked at when its turn comes: no pair of a free and a request waits for that.
    /// Returns: false when its header does not say that it waits there; nothing has changed then.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, gnu::always_inline]] inline bool take(deferred_bin& bin, std::byte* p) noexcept {
        // The header before the link: what stands in a block is a link only where the header says
        // that it waits here. Then the block is in use, before anything of it is given out.
        const std::uint64_t waiting = bin.waiting;
        CAIRN_DETAIL_STEP();
        std::byte* const header = p - block_header_size;
        if (load_hidden<std::uint32_t, Watched>(header) != waiting) [[unlikely]] { return false; }
        CAIRN_DETAIL_STEP();
        bin.head = load_hidden<std::uint64_t, Watched>(p);
        store_hidden<std::uint32_t, Watched>(
            header, static_cast<std::uint32_t>(waiting) - block_header::deferred_bit);
        surplus_.left(bin, waiting);
        return true;
    }

    /// `p` waits in `bin` now. Returns: false when it may not; nothing has changed then.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, gnu::always_inline]] inline bool put(deferred_bin& bin, std::byte* p) noexcept {
        const std::uint64_t waiting = bin.waiting;
        std::byte* const header = p - block_header_size;
        CAIRN_DETAIL_STEP();
        // Asked first: a refusal leaves the block as it was, for the core. Then the link, the
        // header, and at last the head.
        if (!surplus_.joined(bin, waiting)) [[unlikely]] { return false; }
        if constexpr (Watched) { poison(p, payload_size(bin.granules())); }
        CAIRN_DETAIL_STEP();
        store_hidden<std::uint64_t, Watched>(p, bin.head);
        store_hidden<std::uint32_t, Watched>(header, static_cast<std::uint32_t>(waiting));
        bin.head = reinterpret_cast<std::uintptr_t>(p) - zero_;
        return true;
    }

    /// No block was to be had of `bin`: because there is none, or a look found something else.
    void expect_none(const deferred_bin& bin) const noexcept {
        if (bin.head - link_key_ != no_waiting_block) [[unlikely]] {
            heap_is_corrupt(heap_promise::waiting, begin_);
        }
    }

    // ------------------------------------------------------------------------ books

    [[nodiscard]] deferred_surplus& surplus() noexcept { return surplus_; }
    [[nodiscard]] const deferred_surplus& surplus() const noexcept { return surplus_; }

    /// Counts anew, for a heap of `capacity` granules of which the core has given away `taken`.
    void recount(std::size_t capacity, std::size_t taken, bool may_shrink) noexcept {
        std::uint32_t beyond = 0;
        std::size_t granules = 0;
        for (std::uint32_t c = 0; c < count(); ++c) {
            CAIRN_DETAIL_STEP();
            granules += std::size_t{waiting_in(bins_[c])} * bins_[c].granules();
            beyond += bins_[c].room < 0 ? static_cast<std::uint32_t>(-bins_[c].room) : 0;
        }
        surplus_.set_may_shrink(may_shrink);
        surplus_.start(capacity, taken, granules, beyond);
    }

    /// One of the next eight bins that has a surplus, or nullptr.
    [[nodiscard]] deferred_bin* next_surplus() noexcept {
        // Eight at most, so that a request does not pay for bins without a surplus; the cursor goes
        // on there at the next request, and comes round.
        for (unsigned tries = 8; tries != 0; --tries) {
            CAIRN_DETAIL_STEP();
            if (surplus_.cursor == 0) { surplus_.cursor = count(); }
            deferred_bin& bin = bins_[surplus_.cursor - 1];
            if (bin.room < 0) { return &bin; }
            --surplus_.cursor;  // the largest first: most memory for a merge
        }
        return nullptr;
    }

    [[nodiscard]] std::uint32_t count() const noexcept {
        return used && header_ != nullptr ? header_->bin_count : 0;
    }
    [[nodiscard]] deferred_bin& operator[](std::uint32_t c) const noexcept { return bins_[c]; }
    [[nodiscard]] std::uint32_t waiting_in(const deferred_bin& bin) const noexcept {
        return cap(bin) - static_cast<std::uint32_t>(bin.room);
    }

    /// Calls visit(bin, p) for each block that waits, and checks the links and counts on the way.
    template <class Visit>
    void validate(Visit visit) const noexcept {
        std::size_t granules = 0;
        std::uint32_t beyond = 0;
        for (std::uint32_t c = 0; c < count(); ++c) {
            const deferred_bin& bin = bins_[c];
            std::uint32_t n = 0;
            for (std::uint64_t at = bin.head - link_key_; at != no_waiting_block; ++n) {
                CAIRN_ASSERT(n < cap(bin) + deferred_surplus::surplus_max,
                             "a class withholds its share and the surplus at most");
                CAIRN_ASSERT(at < reach_, "a deferred block lies in the heap");
                visit(bin, begin_ + at);
                at = load_hidden<std::uint64_t>(begin_ + at) - link_key_;
            }
            CAIRN_ASSERT(n == waiting_in(bin), "a bin knows how many blocks wait in it");
            granules += std::size_t{n} * bin.granules();
            beyond += n > cap(bin) ? n - cap(bin) : 0;
        }
        CAIRN_ASSERT(granules == surplus_.waiting(), "what waits is counted");
        CAIRN_ASSERT(beyond == surplus_.count() && beyond <= deferred_surplus::surplus_max,
                     "what waits beyond the shares is counted, and bounded");
    }

private:
    [[nodiscard]] std::uint32_t cap(const deferred_bin& bin) const noexcept {
        return deferred_cap(header_->share, bin.granules(), Fit::deferred_max);
    }

    //  link or head = (address - begin_) + link_key_ = address - zero_
    //  it leads into the heap where link - link_key_ < reach_; no_waiting_block never does
    deferred_bin* bins_ = nullptr;  // in the first region
    std::size_t size_end_ = 0;      // smaller sizes have a bin
    std::byte* begin_ = nullptr;    // links count from here, the lowest region
    std::uint64_t reach_ = 0;       // bytes from there to the end of the highest region
    std::uint64_t link_key_ = 0;    // a link: this, and an offset
    std::uintptr_t zero_ = 0;       // begin_ - link_key_: an address less this is a link
    deferred_surplus surplus_;      // what waits beyond the shares of the bins
    deferred_header* header_ = nullptr;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
