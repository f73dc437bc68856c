// cairn/alloc/heap/waiting_blocks.hpp - freed blocks that wait for the next request of their size.
//
//      class   1   2   3   4   5 ...
//      head   [.] [o] [.] [o] [.]      newest first; a link in the block leads to the next
//                  |       |
//                 [ ]     [ ]          the header says `deferred`: neighbours do not merge with it
//                  |
//                 [ ]                  as many as waiting_rules.hpp says, then frees go to the core
//
// Programs free and allocate the same few sizes over and over. To merge a block with its neighbours
// and cut it out again costs five cache misses. So freed blocks of each class wait here, whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap/waiting_rules.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/inside/process_secret.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr std::uint64_t no_waiting_block = std::uint64_t{1} << 63;  // an offset

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
                            : payload_size(Fit::size_of_class(header_->bin_count - 1)) + 1;
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
                granules += bins_[c].held();
                blocks += waiting_in(bins_[c]);
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

    /// The bin in which blocks of a request of `size` wait; nullptr: they do not wait.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline deferred_bin* bin_for(
        std::size_t size) const noexcept {
        if constexpr (used) {
            if (size < size_end_) [[likely]] {
                const std::size_t granules = granules_for(size);
                // The comparison implies it; without it gcc warns where it inlines a constant.
                if (granules > Fit::small_max) { compiler::unreachable(); }
                auto* const at =
                    reinterpret_cast<std::byte*>(bins_) + deferred_offsets<Fit>::table.of[granules];
                if (at == nullptr) { compiler::unreachable(); }
                return reinterpret_cast<deferred_bin*>(at);
            }
        }
        return nullptr;
    }

    /// The newest block of `bin`; nullptr: there is none, or the link leads out of the heap.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline std::byte* newest(
        const deferred_bin& bin) const noexcept {
        const std::uint64_t at = bin.head - first_;
        return at < reach_ ? begin_ + at : nullptr;
    }

    /// The newest block of `bin`, taken out. nullptr: none, or a look found something else; then
    /// expect_none() tells them apart.
    [[nodiscard, CAIRN_FORCE_INLINE]] inline std::byte* take_newest(deferred_bin& bin) noexcept {
        CAIRN_DETAIL_STEP();
        const std::uint64_t at = bin.head - first_;
        if (at >= reach_) { return nullptr; }
        std::byte* const p = begin_ + at;
        return take(bin, p) ? p : nullptr;
    }

    /// Takes out `p`, the newest of `bin`. Its link becomes the head as it is, and is looked at
    /// when its turn comes: no pair of a free and a request waits for that. The block that it leads
    /// to is prefetched: a burst of 64,000 blocks, which no cache holds, takes a quarter of the
    /// time.
    /// Returns: false when its header does not say that it waits there; nothing has changed then.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool take(deferred_bin& bin, std::byte* p) noexcept {
        // The header before the link: what stands in a block is a link only where the header says
        // that it waits here. Then the block is in use, before anything of it is given out.
        const std::uint32_t granules = bin.granules;
        CAIRN_DETAIL_STEP();
        std::byte* const header = p - block_header_size;
        if (load_hidden<std::uint32_t, Watched>(header) != waiting_word(granules)) [[unlikely]] {
            return false;
        }
        CAIRN_DETAIL_STEP();
        const auto next = load_hidden<std::uint64_t, Watched>(p);
        compiler::prefetch_for_writing(reinterpret_cast<const void*>(zero_ + next));
        bin.head = next;
        store_hidden<std::uint32_t, Watched>(header, granules);
        books_.left(bin, granules);
        return true;
    }

    /// `p` waits in `bin` now. Returns: false when put_after_a_look() has to decide; nothing has
    /// changed then.
    template <bool Watched = detail::poison_is_watched>
    [[nodiscard, CAIRN_FORCE_INLINE]] inline bool put(deferred_bin& bin, std::byte* p) noexcept {
        // Asked first: a refusal leaves the block as it was.
        const std::uint32_t granules = bin.granules;
        if (!books_.joined(bin, granules)) [[unlikely]] { return false; }
        link<Watched>(bin, p, granules);
        return true;
    }
    /// The same where put() returned false: looks at the books. Returns: false when `p` may not
    /// wait; nothing has changed then.
    [[nodiscard]] bool put_after_a_look(deferred_bin& bin, std::byte* p) noexcept {
        if (!books_.joined_after_a_look(bin)) { return false; }
        link(bin, p, bin.granules);
        return true;
    }

    /// No block was to be had of `bin`: because there is none, or a look found something else.
    void expect_none(const deferred_bin& bin) const noexcept {
        if (bin.head != no_waiting_block + header_->link_key) [[unlikely]] {
            heap_is_corrupt(heap_promise::waiting, begin_);
        }
    }

    // ------------------------------------------------------------------------ books

    [[nodiscard]] waiting_books<Fit>& books() noexcept { return books_; }
    [[nodiscard]] const waiting_books<Fit>& books() const noexcept { return books_; }

    /// One of the next eight bins in which more waits than its share, or, where `any`, one block;
    /// nullptr: none of them.
    [[nodiscard]] deferred_bin* next_to_merge(bool any) noexcept {
        // Eight at most, so that a request does not pay for bins without one; the cursor goes on
        // there at the next request, and comes round.
        for (unsigned tries = 8; tries != 0; --tries) {
            CAIRN_DETAIL_STEP();
            if (books_.cursor == 0) {
                books_.has_surplus = books_.has_surplus && found_;
                found_ = false;
                books_.cursor = count();
            }
            deferred_bin& bin = bins_[books_.cursor - 1];
            if (any && bin.held() != 0) { return &bin; }
            if (bin.room < 0) {
                books_.set_share(bin);
                found_ = true;
                if (bin.room < 0) { return &bin; }
            }
            --books_.cursor;  // the largest first: most memory for a merge
        }
        return nullptr;
    }

    [[nodiscard]] std::uint32_t count() const noexcept {
        return used && header_ != nullptr ? header_->bin_count : 0;
    }
    [[nodiscard]] deferred_bin& operator[](std::uint32_t c) const noexcept { return bins_[c]; }
    [[nodiscard]] std::uint32_t waiting_in(const deferred_bin& bin) const noexcept {
        return bin.held() / bin.granules;
    }

    /// Calls visit(bin, p) for each block that waits, and checks the links and counts on the way.
    template <class Visit>
    void validate(Visit visit) const noexcept {
        std::size_t granules = 0;
        std::size_t blocks = 0;
        for (std::uint32_t c = 0; c < count(); ++c) {
            const deferred_bin& bin = bins_[c];
            std::uint32_t n = 0;
            for (std::uint64_t link = bin.head; link != no_waiting_block + header_->link_key; ++n) {
                CAIRN_ASSERT(n < waiting_in(bin), "a bin knows how many blocks wait in it");
                const std::uint64_t at = link - first_;
                CAIRN_ASSERT(at < reach_, "a deferred block lies in the heap");
                visit(bin, begin_ + at);
                link = load_hidden<std::uint64_t>(begin_ + at);
            }
            CAIRN_ASSERT(n == waiting_in(bin), "a bin knows how many blocks wait in it");
            granules += std::size_t{n} * bin.granules;
            blocks += n;
        }
        if constexpr (used) {
            CAIRN_ASSERT(granules == books_.waiting(),
                         "the granules of the waiting blocks are counted");
            CAIRN_ASSERT(blocks == books_.count() && blocks <= deferred_blocks_max<Fit>(true),
                         "the blocks that wait are counted, and bounded");
        }
    }

private:
    /// `p` is the newest of `bin`.
    template <bool Watched = detail::poison_is_watched>
    [[CAIRN_FORCE_INLINE]] inline void link(deferred_bin& bin, std::byte* p,
                                            std::uint32_t granules) noexcept {
        if constexpr (Watched) { poison(p, payload_size(granules)); }
        CAIRN_DETAIL_STEP();
        // The link, the header, and at last the head.
        store_hidden<std::uint64_t, Watched>(p, bin.head);
        store_hidden<std::uint32_t, Watched>(p - block_header_size, waiting_word(granules));
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
