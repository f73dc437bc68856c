// cairn/alloc/growing_arena.hpp - an arena that asks for another block when it is full.
//
//      used blocks, newest first                                        spare blocks
//      +-------------------+   +------------------+   +------------+    +------+   +----------+
//      | head | live | free|-->| head | live .....|-->| head | big |    | head |-->| head     |
//      +-------------------+   +------------------+   +------------+    +------+   +----------+
//        current: the region     full                   one oversized     kept by rewind and
//        to bump in                                     request           reset, for next time
//
// Use it when: the total is not known in advance. Live memory never moves.
// Look elsewhere for: one contiguous range (virtual_arena.hpp); a hard limit (arena.hpp).
//
// Growth:    each block is twice the last, up to a cap. A request of more than half a block gets a
//            block of its own size, slipped in under the current one, which goes on being filled.
// Reset:     forgets everything and keeps memory by policy (reset_policy), so that a frame loop
//            stops calling upstream after it has seen its largest frame. By default such a frame
//            then lies in one piece: each allocation takes the hot path of an arena.
//
// Invariant: the region lies inside the newest used block that is not oversized; serial numbers of
//            used blocks tell for every marker which blocks are younger than it.
// Cost:      allocate as arena, one call in (block size / average size) takes the cold path: it
//            looks through the spare blocks (O(spares)), then asks upstream once. rewind: O(blocks
//            that it drops). reset: O(1) after a frame in one block; O(blocks) otherwise, with
//            one call to upstream that coalesces them; O(blocks^2) when keep(bytes) has to choose
//            among them.
// Overhead:  as arena, one header of 48 bytes a block, and the tail of each full block (at most
//            half a block).
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/arena_checks.hpp>
#include <cairn/alloc/inside/bump_region.hpp>
#include <cairn/alloc/inside/makes_objects.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What reset() does with the blocks.
class reset_policy {
public:
    /// Keeps every block: no upstream call until a frame is larger than all before it. A frame that
    /// needed many blocks goes through them again, one cold path a block; but memory is never given
    /// back, for an upstream that cannot take it (an arena).
    [[nodiscard]] static constexpr reset_policy keep_all() noexcept {
        return {kind::keep, ~std::size_t{0}};
    }
    /// Keeps blocks of at most `bytes` in all, the largest ones that fit.
    [[nodiscard]] static constexpr reset_policy keep(std::size_t bytes) noexcept {
        return {kind::keep, bytes};
    }
    /// When more than one block was needed, replaces them all by one of the summed size: from then
    /// on a frame of that size lies in one piece, however large its requests. Costs one upstream
    /// call after such a frame. The blocks go back first, so that no more is held than before; a
    /// size that upstream refuses then is not asked for again (until all was released): the next
    /// frame takes its blocks anew, and the arena keeps them. The default.
    [[nodiscard]] static constexpr reset_policy coalesce() noexcept { return {kind::coalesce, 0}; }
    /// Gives everything back.
    [[nodiscard]] static constexpr reset_policy release() noexcept { return {kind::keep, 0}; }
    /// As coalesce, but follows the recent load down: the size kept decays by 1/16 a reset towards
    /// what recent frames used, and shrinks once it is more than twice too large. One worst frame
    /// is not paid for ever.
    [[nodiscard]] static constexpr reset_policy adaptive() noexcept { return {kind::adaptive, 0}; }

private:
    friend class growing_arena;
    enum class kind : unsigned char { keep, coalesce, adaptive };
    constexpr reset_policy(kind what, std::size_t bytes) noexcept : what_{what}, bytes_{bytes} {}
    kind what_;
    std::size_t bytes_;
};

namespace detail {

/// What a marker remembers where blocks follow each other.
struct block_position {
    std::uintptr_t top = 0;
    std::uint64_t serial = 0;  // blocks with larger numbers are younger
};

}  // namespace detail

class growing_arena : public detail::makes_objects<growing_arena> {
    struct block;

public:
    enum class growth : unsigned char { allowed, forbidden };

    /// A point in the arena's life to rewind to; dies with a rewind to an older one, or a reset.
    class marker {
        friend class growing_arena;
        detail::block_position at_;
        [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_stamp stamp_;
    };

    struct options {
        std::size_t block_size_max = 64_MiB;  // bytes; growth stops doubling here
        reset_policy on_reset = reset_policy::coalesce();
        /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
        const char* name = nullptr;
    };

    /// Takes nothing until the first allocation; then blocks of `first_block_size` bytes, doubling.
    explicit growing_arena(std::size_t first_block_size,
                           allocator_ref upstream = system_memory()) noexcept
        : growing_arena{first_block_size, upstream, options{}} {}
    /// The same with a first block of 64 KiB.
    growing_arena() noexcept : growing_arena{64_KiB} {}
    growing_arena(std::size_t first_block_size, allocator_ref upstream, options how) noexcept;
    growing_arena(std::size_t first_block_size, options how) noexcept
        : growing_arena{first_block_size, system_memory(), how} {}
    explicit growing_arena(options how) noexcept : growing_arena{64_KiB, system_memory(), how} {}
    /// Blocks of 64 KiB at first, from `upstream`.
    explicit growing_arena(allocator_ref upstream) noexcept : growing_arena{64_KiB, upstream} {}
    growing_arena(allocator_ref upstream, options how) noexcept
        : growing_arena{64_KiB, upstream, how} {}

    ~growing_arena() {
        watch_.end();
        release_all();
    }

    growing_arena(const growing_arena&) = delete;  // a child: growing_arena{allocator_ref{parent}}
    growing_arena& operator=(const growing_arena&) = delete;
    // Written out: `from` may be used again, with a first block of the size that it had at first.
    growing_arena(growing_arena&& from) noexcept;
    growing_arena& operator=(growing_arena&& from) noexcept;

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when the upstream refuses another block; nothing has changed then.
    /// Size 0:  a non-null pointer that may be freed and not read through.
    /// Cost:    as arena; a request that does not fit takes a spare block, or asks the
    ///          upstream once. An alignment above 16 costs two more instructions and a compare.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] void* allocate(
        std::size_t size, alignment align = default_alignment) noexcept {
        if constexpr (CAIRN_CALLER_IS_OPTIMIZED) {
            return region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
                return allocate_elsewhere(s, a);
            });
        } else {
            return allocate_called(size, align);
        }
    }

    /// As arena::deallocate: the last block's bytes come back at once, and so do those of a block
    /// that one large request has for itself.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size, alignment = default_alignment,
                                           call_site from = call_site::current()) noexcept {
        // A checked build looks closer at a block that is not the last one.
        if (CAIRN_CALLER_IS_OPTIMIZED &&
            (asserts_enabled ? region_.is_last_block(p, size) : region_.contains(p))) [[likely]] {
            region_.deallocate(p, size);
        } else {
            deallocate_called(p, size, from);
        }
    }

    /// As arena::try_resize; the last allocation grows up to the end of its block.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        if (region_.contains(p)) [[likely]] { return region_.try_resize(p, old_size, new_size); }
        return detail::bump_region::resize_inner(p, old_size, new_size);
    }

    /// True when `p` points into a used block. O(used blocks).
    [[nodiscard]] bool owns(const void* p) const noexcept;

    /// True when `p` is the newest block of the current one: then it grows in place. O(1).
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return region_.is_last_block(p, size);
    }

    /// `size` rounded to the granule of 16 bytes: that much costs no more than `size`.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return detail::bump_region::good_size(size);
    }

    [[nodiscard]] marker mark() noexcept {
        marker here;
        here.at_ = position();
        here.stamp_ = marks_.mark(here.at_.top);
        return here;
    }

    /// Forgets everything allocated since `to` was taken; the memory stays with the arena. O(1), or
    /// O(blocks dropped).
    /// Requires: `to` came from this arena and is not dead (see marker).
    void rewind(marker to, call_site from = call_site::current()) noexcept {
        marks_.rewind(to.stamp_, to.at_.top, call_of(from));
        retreat(to.at_, from);
    }

    /// Forgets everything; keeps blocks by the policy given at construction.
    void reset() noexcept { reset(how_.on_reset); }
    void reset(reset_policy policy) noexcept;

    /// Gives the spare blocks back to upstream, also while others are used. O(spare blocks).
    /// reset(reset_policy::release()) gives all blocks back.
    /// Returns: bytes given back.
    std::size_t trim() noexcept {
        const std::size_t bytes = trim_spares(0);
        // As reset(reset_policy::release()): a size that upstream refused is asked for again.
        if (held_size_ == 0) { refused_ = SIZE_MAX; }
        return bytes;
    }

    /// Makes sure that the next `size` bytes need no call to upstream: a spare block holds them.
    /// Returns: false when upstream refuses.
    [[nodiscard]] bool reserve(std::size_t size) noexcept;

    /// Forbids (or allows again) calls to upstream. Forbidden after reserve(), a frame can not pay
    /// for growth: what does not fit is refused.
    void set_growth(growth wanted) noexcept { growth_ = wanted; }

    [[nodiscard]] std::size_t used_size() const noexcept;    // bytes, tails of full blocks included
    [[nodiscard]] std::size_t capacity() const noexcept;     // bytes in all blocks, spares included
    [[nodiscard]] std::size_t block_count() const noexcept;  // used and spare
    /// Most bytes ever in use at once. Exact at every rewind, reset and question.
    [[nodiscard]] std::size_t high_water_size() const noexcept;
    void reset_high_water() noexcept;

    /// Scopes that are open (arena_scope.hpp). Unchecked builds do not count them: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return marks_.open_scope_count();
    }

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    void validate() const noexcept;

private:
    friend struct detail::arena_access;

    [[nodiscard]] detail::block_position position() const noexcept {
        return {region_.top(), last_serial_};
    }
    void retreat(detail::block_position to, [[maybe_unused]] call_site from) noexcept {
        if (to.serial == last_serial_) [[likely]] {
            CAIRN_ASSERT(
                to.top >= region_.begin() && to.top <= region_.top(),
                "a marker lies inside the live part of its arena: no block or builder from "
                "before it has shrunk since",
                call_of(from).about(misuse_kind::outlived));
            region_.rewind(to.top);
        } else {
            rewind_over_blocks(to);
        }
    }
    [[nodiscard]] detail::watched_call call_of(call_site from = {}) const noexcept {
        return {this, "growing_arena", watch_.name(), from};
    }
    void* allocate_called(std::size_t size, alignment align) noexcept;
    void deallocate_called(void* p, std::size_t size, call_site from) noexcept;
    void* allocate_elsewhere(std::size_t size, alignment align) noexcept;
    void deallocate_in_full_block(void* p, std::size_t size, call_site from) noexcept;
    void rewind_over_blocks(detail::block_position to) noexcept;
    void* allocate_oversized(block* b, std::size_t needed, std::size_t size,
                             alignment align) noexcept;
    block* take_spare(std::size_t payload_min, bool for_oversized) noexcept;
    block* ask_upstream(std::size_t block_size) noexcept;
    void give_back(block* b) noexcept;
    void retire_youngest() noexcept;
    std::size_t trim_spares(std::size_t bytes_kept) noexcept;
    void replace_by_one_block(std::size_t block_size) noexcept;
    void note_peak() noexcept;
    void release_all() noexcept;

    //  used_size()  = full_size_ + region_.used_size()
    //  full_size_   = sum of (top - begin) over the used blocks but the current one
    //  held_size_   = sum of size over used and spare blocks; capacity() is that less the headers
    //  last_serial_ never falls, so a block that comes again is younger than every marker before
    detail::bump_region region_;     // of the current block: the newest that is not oversized
    block* used_ = nullptr;          // current block first, then older ones
    block* spare_ = nullptr;         // empty, waiting
    std::uint64_t last_serial_ = 0;  // number of the youngest used block; 0: none
    std::size_t full_size_ = 0;      // bytes used in blocks other than the current one
    std::size_t held_size_ = 0;      // bytes asked of upstream, headers included
    std::size_t block_count_ = 0;    // used and spare
    std::size_t next_size_;          // bytes of the next block, header included
    std::size_t first_size_;         // bytes of the first one, header included
    std::size_t peak_ = 0;           // highest used_size() at any retreat
    std::size_t cycle_peak_ = 0;     // the same since the last reset
    std::size_t recent_ = 0;         // adaptive: decaying high-water mark
    std::size_t refused_ = ~std::size_t{0};  // coalesce: bytes that upstream had no block for
    allocator_ref upstream_;
    options how_;
    growth growth_ = growth::allowed;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_check marks_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

static_assert(byte_allocator<growing_arena> && resizes_in_place<growing_arena>);

}}  // namespace cairn::CAIRN_FLAVOUR
