// cairn/alloc/inside/bump_region.hpp - the moving edge that every arena has.
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
// Invariant: begin_ <= top_ <= end_, all three multiples of 16.
//
// Colouring: blocks whose size is a multiple of a page (8 KiB, 1 MiB), laid out back to back, put
// their first bytes into one and the same cache set; touching a thousand of them costs ten times
// what it should (7.3 ns against 0.8 ns a block, field study W2). So a page-multiple block that
// would directly follow another one starts one cache line later. Cost: 64 bytes per such pair.
//
// What checked builds verify of an address before it comes here: arena_checks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr alignment bump_granule = default_alignment;
inline constexpr std::size_t colour_page = 4096;  // a cache way: 64 sets of 64 bytes

/// An address, kept as a pointer to no object. As a std::uintptr_t the compiler would have to
/// load it again after every std::uint64_t that the user writes into a new block: a chain through
/// memory that made a loop of allocations up to three times slower (lab: linear, 8 b).
class edge {
public:
    edge(std::uintptr_t address) noexcept : address_{reinterpret_cast<nothing*>(address)} {}
    operator std::uintptr_t() const noexcept { return reinterpret_cast<std::uintptr_t>(address_); }
    [[nodiscard]] void* pointer() const noexcept { return address_; }

private:
    struct nothing;
    nothing* address_;
};

class bump_region {
public:
    bump_region() noexcept = default;

    /// Manages the whole granules inside [address, address + size).
    bump_region(void* address, std::size_t size) noexcept;

    /// Takes up a region again where it was left: [begin, top) is live.
    [[nodiscard]] static bump_region resumed(std::uintptr_t begin, std::uintptr_t top,
                                             std::uintptr_t end) noexcept;

    /// Hot path. Returns: what `elsewhere(size, align)` returns when the request does not fit;
    /// nothing has changed then.
    // `elsewhere` instead of a null result: a test of the result would be one more branch for every
    // request. A closure that holds the request itself is stored to the stack by gcc 12 at each.
    // always_inline: with the alignment known half of the code folds away, which clang 19's inliner
    // does not foresee.
    template <class Elsewhere>
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] void* allocate_or(std::size_t size, alignment align,
                                                           Elsewhere elsewhere) noexcept {
        std::uintptr_t p = top_;
        std::size_t available = end_ - p;
        if (align > bump_granule) [[unlikely]] {
            const std::size_t padding = detail::padding_to(p, align);
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

    /// Returns: nullptr when the request does not fit; nothing has changed then.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] void* allocate(std::size_t size,
                                                        alignment align) noexcept {
        return allocate_or(size, align,
                           [](std::size_t, alignment) noexcept -> void* { return nullptr; });
    }

    /// True when nothing lies above this block.
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) + round_up(size, bump_granule) == top_;
    }

    /// The same for a block that is not known to lie in this region.
    [[nodiscard]] bool is_last_block(const void* p, std::size_t size) const noexcept {
        return is_last(p, size) && contains(p);
    }

    /// `size` rounded up to the granule.
    [[nodiscard]] static std::size_t good_size(std::size_t size) noexcept {
        return size > SIZE_MAX - 15 ? size : round_up(size, bump_granule);
    }

    /// Gives the bytes back when the block is the last one; otherwise they wait for a rewind.
    /// nullptr does nothing: it is never the last block, not even of an empty region.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size) noexcept {
        if (is_last(p, size)) {
            raise_peak();
            top_ = reinterpret_cast<std::uintptr_t>(p);
        }
        if (p != nullptr) { poison(p, round_up(size, bump_granule)); }
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

    /// Requires: begin() <= to <= top().
    [[CAIRN_FORCE_INLINE]] void rewind(std::uintptr_t to) noexcept {
        raise_peak();
        poison(reinterpret_cast<void*>(to), top_ - to);
        top_ = to;
    }

    void reset() noexcept { rewind(begin_); }

    /// Moves the far edge: a virtual arena commits, the other end of a double-ended arena moves.
    void set_end(std::uintptr_t end) noexcept {
        CAIRN_ASSERT(end >= top_ && end % bump_granule.bytes() == 0,
                     "the far edge stays above the live part");
        end_ = end;
    }

    /// Before the memory goes back to the upstream: the memory checkers forget about it.
    void unpoison_all() noexcept { unpoison(begin_.pointer(), end_ - begin_); }

    /// True when `p` lies in the live part, or at its end.
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

    /// Most bytes ever in use. It is updated when the top retreats and computed when it is asked
    /// for, so that allocate() never counts.
    [[nodiscard]] std::size_t high_water_size() const noexcept {
        return (top_ > peak_ ? top_ : peak_) - begin_;
    }
    void reset_high_water() noexcept { peak_ = top_; }

    void validate() const noexcept;

private:
    void raise_peak() noexcept { peak_ = top_ > peak_ ? top_ : peak_; }

    static bool repoison(void* p, std::size_t old_size, std::size_t new_size) noexcept {
        auto* const first = static_cast<std::byte*>(p);
        if (new_size < old_size) {
            poison(first + new_size, old_size - new_size);
        } else {
            detail::unpoison_defined(first + old_size, new_size - old_size);
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

    // An empty region sits at an address that no memory has: size 0 has a non-null answer, at every
    // alignment, and no block of a size that anything could have ends there when it begins at 0.
    static constexpr std::uintptr_t nowhere = std::uintptr_t{1} << (sizeof(void*) * 8 - 1);
    edge top_ = nowhere;
    edge end_ = nowhere;
    edge begin_ = nowhere;
    edge peak_ = nowhere;  // highest top_ at any retreat
    edge large_end_ = 0;   // end of the newest page-multiple block
};

static_assert(sizeof(bump_region) == 5 * sizeof(void*));

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
