// cairn/alloc/heap/deferred_bins.hpp - the bins of deferred.hpp, in the first region of a heap.
//
//      | region | index | header, bin, bin, bin ... | blocks ...
//                         ^ room that the region leaves for its owner: extra()
//
// Takes and puts blocks that wait, and keeps the books of them. What reaches the core is the
// heap's.
//
// Cost:    take, put: one bin, the first line of the block. The rest: O(bins).
// Misuse:  a link that leads out of the regions is not followed, a header that does not say that
//          its block waits in the bin makes take() return false; both end in expect_none().
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap/deferred.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/inside/process_secret.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Fit>
class deferred_bins {
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

    /// True for sizes that have a bin.
    [[nodiscard]] bool covers(std::size_t size) const noexcept { return size < size_end_; }

    /// Where blocks of a request of `size` wait. Requires: covers(size).
    [[nodiscard, gnu::always_inline]] inline deferred_bin& of(std::size_t size) const noexcept {
        std::size_t offset = 0;
        if constexpr (used) {
            const std::size_t granules = granules_for(size);
            // Who asks has compared; said again for gcc, which warns where it inlines a constant.
            if (granules > Fit::small_max) { __builtin_unreachable(); }
            offset = deferred_offsets<Fit>::table.of[granules];
        }
        return *reinterpret_cast<deferred_bin*>(reinterpret_cast<std::byte*>(bins_) + offset);
    }
    [[nodiscard]] std::uint32_t class_of(const deferred_bin& bin) const noexcept {
        return static_cast<std::uint32_t>(&bin - bins_);
    }

    /// True when the link to the newest block of `bin` leads into the heap: not when there is none.
    [[nodiscard, gnu::always_inline]] inline bool leads_to_block(
        const deferred_bin& bin) const noexcept {
        return bin.head - link_key_ < reach_;
    }
    /// Where it leads. Requires: leads_to_block(bin).
    [[nodiscard, gnu::always_inline]] inline std::byte* newest(
        const deferred_bin& bin) const noexcept {
        return begin_ + (bin.head - link_key_);
    }

    /// Takes out `p`, the newest of `bin`. Its link becomes the head as it is, and is decoded and
    /// looked at when its turn comes: no pair of a free and a request waits for that.
    /// Returns: false when its header does not say that it waits there; nothing has changed then.
    template <bool Watched = poison_is_watched>
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
    template <bool Watched = poison_is_watched>
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
