// cairn/alloc/inside/bump_region.hpp - the moving edge that every arena shares.
//
//      begin_                    top_                          end_
//        |                        |                             |
//        v                        v                             v
//        +------+-----+--+--------+-----------------------------+
//        | live | live|  |  live  |            free             |
//        +------+-----+--+--------+-----------------------------+
//                      ^          | allocate(): top_ moves -->
//                      |     <-- rewind(), freeing the last block: top_ moves back
//                      rounding to the granule of 16 bytes
//
// All three edges are multiples of the granule, always. So an alignment of up to 16 needs no
// arithmetic on the pointer, and the size can be compared before it is rounded: when `size` bytes
// fit, the rounded size fits too, and no sum can wrap.
//
// Invariant: begin_ <= top_ <= end_, all three multiples of 16. (They are in gated_edges.hpp.)
//
// Colouring: blocks whose size is a multiple of a page (8 KiB, 1 MiB), laid out back to back, put
// their first bytes into one and the same cache set; touching a thousand of them costs ten times
// what it should (7.3 ns against 0.8 ns a block, field study W2). So a page-multiple block that
// would directly follow another one starts one cache line later. Cost: 64 bytes per such pair.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_arena/gated_edges.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class bump_region : public gated_edges {
public:
    bump_region() noexcept = default;

    /// Manages the whole granules inside [address, address + size).
    bump_region(void* address, std::size_t size) noexcept;

    /// Takes up a region again where it was left: [begin, top) is live.
    [[nodiscard]] static bump_region resumed(std::uintptr_t begin, std::uintptr_t top,
                                             std::uintptr_t end) noexcept;

    /// Hot path. nullptr: does not fit, nothing changed.
    [[nodiscard]] [[gnu::always_inline]] void* allocate(std::size_t size,
                                                        alignment align) noexcept {
        return allocate_or(size, align,
                           [](std::size_t, alignment) noexcept -> void* { return nullptr; });
    }

    /// Hot path of the arenas that can find more room: `elsewhere(size, align)` is the answer when
    /// the request does not fit. (A null test on allocate() would be one more branch for every
    /// request; a closure that holds the two is stored to the stack by gcc 12 at each.)
    /// always_inline: with the alignment known half of it folds away, which clang 19's inliner does
    /// not foresee.
    template <class Elsewhere>
    [[nodiscard]] [[gnu::always_inline]] void* allocate_or(std::size_t size, alignment align,
                                                           Elsewhere elsewhere) noexcept {
        std::uintptr_t p = top_;
        std::size_t available = end_ - p;
        if (align > bump_granule) [[unlikely]] {
            const std::size_t padding = padding_to(p, align);
            if (padding > available) { return elsewhere(size, align); }
            available -= padding;
            p += padding;
        }
        if (size > available) [[unlikely]] { return elsewhere(size, align); }
        const std::size_t step = round_up(size, bump_granule);
        if (size >= colour_page) [[unlikely]] { p = coloured(p, step, align); }
        top_ = p + step;
        unpoison(reinterpret_cast<void*>(p), size);
        return reinterpret_cast<void*>(p);
    }

    /// True when nothing lies above this block.
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) + round_up(size, bump_granule) == top_;
    }

    /// Gives the bytes back when the block is the last one; otherwise they wait for a rewind.
    /// nullptr does nothing, and costs nothing: it is never the last block, not even of an empty
    /// region.
    void deallocate(void* p, std::size_t size, [[maybe_unused]] const watched_call& call) noexcept {
        if constexpr (asserts_enabled || poison_is_watched) {
            if (p == nullptr) { return; }
        }
        // A block of size 0 owns no byte: the top may have retreated past it.
        CAIRN_ASSERT(size == 0 ? owns(p) || p == end_.pointer() : owns(p),
                     "a block comes back to the arena that it was allocated from",
                     call.about(misuse_kind::foreign_pointer));
        CAIRN_ASSERT(
            size == 0 || (contains(p) && size <= top_ - reinterpret_cast<std::uintptr_t>(p)),
            "a block is freed once, with its size, before its arena was rewound",
            call.about(misuse_kind::outlived, size, reinterpret_cast<std::uintptr_t>(p) - begin_));
        if (is_last(p, size)) {
            raise_peak();
            top_ = reinterpret_cast<std::uintptr_t>(p);
        }
        poison(p, round_up(size, bump_granule));
    }

    /// In place or not at all. The last block may grow up to the end; any block may shrink.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        if (is_last(p, old_size)) {
            if (new_size > end_ - address) { return false; }
            if (new_size < old_size) { raise_peak(); }
            top_ = address + round_up(new_size, bump_granule);
            return repoison(p, old_size, new_size);
        }
        return resize_inner(p, old_size, new_size);
    }

    /// The same for a block that others follow: it may shrink, and grow into its own rounding.
    [[nodiscard]] static bool resize_inner(void* p, std::size_t old_size,
                                           std::size_t new_size) noexcept {
        return new_size <= round_up(old_size, bump_granule) && repoison(p, old_size, new_size);
    }

    /// Requires: begin_ <= to <= top_.
    void rewind(std::uintptr_t to, [[maybe_unused]] const watched_call& call) noexcept {
        CAIRN_ASSERT(to >= begin_ && to <= top_, "a marker lies inside the live part of its arena",
                     call.about(misuse_kind::outlived));
        raise_peak();
        poison(reinterpret_cast<void*>(to), top_ - to);
        top_ = to;
    }

    void reset() noexcept { rewind(begin_, {}); }

    /// Moves the far edge: a virtual arena commits, the other end of a double-ended arena moves.
    void set_end(std::uintptr_t end) noexcept {
        CAIRN_ASSERT(end >= top_ && end % bump_granule.bytes() == 0,
                     "the far edge stays above the live part");
        end_ = end;
#if CAIRN_ASSERTS
        if (gate_ > end) { gate_ = end + 1; }
#endif
    }

    /// The memory belongs to the upstream again: the checkers forget about it.
    void unpoison_all() noexcept { unpoison(begin_.pointer(), end_ - begin_); }

    [[nodiscard]] bool contains(const void* p) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        return address >= begin_ && address <= top_;
    }
    [[nodiscard]] bool owns(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - begin_ < end_ - begin_;
    }

    [[nodiscard]] std::uintptr_t begin() const noexcept { return begin_; }
    [[nodiscard]] const void* begin_pointer() const noexcept { return begin_.pointer(); }
    [[nodiscard]] std::uintptr_t top() const noexcept { return top_; }
    [[nodiscard]] std::uintptr_t end() const noexcept { return end_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return end_ - begin_; }
    [[nodiscard]] std::size_t used_size() const noexcept { return top_ - begin_; }
    [[nodiscard]] std::size_t free_size() const noexcept { return end_ - top_; }

    /// Most bytes ever in use. Known at every retreat of the top and asked for between them, so
    /// allocate() never counts.
    [[nodiscard]] std::size_t high_water_size() const noexcept {
        return (top_ > peak_ ? top_ : peak_) - begin_;
    }
    void reset_high_water() noexcept { peak_ = top_; }

    void validate() const noexcept;

private:
    static bool repoison(void* p, std::size_t old_size, std::size_t new_size) noexcept {
        auto* const first = static_cast<std::byte*>(p);
        if (new_size < old_size) {
            poison(first + new_size, old_size - new_size);
        } else {
            unpoison_defined(first + old_size, new_size - old_size);
        }
        return true;
    }

    /// [ page-multiple block ][ 64 bytes ][ page-multiple block ]
    [[nodiscard]] std::uintptr_t coloured(std::uintptr_t p, std::size_t step,
                                          alignment align) noexcept {
        if (step % colour_page == 0 && align <= cache_line_alignment) {
            if (p == large_end_ && end_ - p - step >= cache_line_size) { p += cache_line_size; }
            large_end_ = p + step;
        }
        return p;
    }

    edge large_end_ = 0;  // end of the newest page-multiple block
};

/// States of an address in an arena, which does not know its blocks.
inline constexpr const char* given_out = "below the top: given out, perhaps freed since";
inline constexpr const char* not_given_out = "above the top: never given out, or rewound";

/// For reports: where `address` lies in a region that may be used up to `end`.
[[nodiscard]] address_place place_in_region(const bump_region& region, std::uintptr_t end,
                                            const void* address) noexcept;

static_assert(sizeof(bump_region) == (asserts_enabled ? 6 : 5) * sizeof(void*));

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
