// cairn/alloc/double_ended_arena.hpp - two arenas that share one gap.
//
//      begin           low top              high top             end
//        v                v                    v                  v
//        +----------------+--------------------+------------------+
//        |  low: live     |   free, for both   |   high: live     |
//        +----------------+--------------------+------------------+
//                         | low() -->      <-- high() |
//
// Use it for: a level load: what stays goes to high(), the temporary buffers of loading to low(),
//   and the memory divides as they need it. Either end may be the temporary one.
// Thesis, section 6.1.2.
//
// Both ends are full arenas: markers, scopes, make, try_resize, high-water mark. Functions take
// either as any_arena (any_arena.hpp), or, compiled once, as an allocator_ref. Each end's far edge
// is the other one's top: it is refused what would run into the other, and there is no second
// bookkeeping to disagree.
//
// Invariant: begin <= low top <= high top <= end, all multiples of 16.
// Cost:      as arena at both ends; high() rounds the address down instead of the size up.
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/any_arena.hpp>
#include <cairn/alloc/arena.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// The upper end of a double_ended_arena: bumps downwards.
class arena_high_end : public detail::makes_objects<arena_high_end> {
public:
    /// A point in the arena's life to rewind to; dies with a rewind to an older one, or a reset.
    class marker {
        friend class arena_high_end;
        detail::bump_position at_;
        [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_stamp stamp_;
    };

    /// As arena::allocate; the bytes lie below everything allocated here before.
    /// Cost: 6 instructions, one branch.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        detail::bump_region& gap = low_->region_;
        if (size > gap.free_size()) [[unlikely]] { return nullptr; }
        const alignment at_least = align > detail::bump_granule ? align : detail::bump_granule;
        std::uintptr_t p = detail::round_down(gap.end() - size, at_least);
        if (p < gap.top()) [[unlikely]] { return nullptr; }
        if (size >= detail::colour_page) [[unlikely]] { p = coloured(p, size, align); }
        gap.set_end(p);
        unpoison(reinterpret_cast<void*>(p), size);
        return reinterpret_cast<void*>(p);
    }

    /// Gives the bytes back at once when `p` is the last block; otherwise at the next rewind.
    /// nullptr does nothing.
    void deallocate(void* p, std::size_t size, alignment = default_alignment,
                    [[maybe_unused]] call_site from = call_site::current()) noexcept {
        if constexpr (asserts_enabled) { expect_block(p, size, call_of(from)); }
        const std::size_t step = detail::round_up(size, detail::bump_granule);
        if (reinterpret_cast<std::uintptr_t>(p) == low_->region_.end()) {
            note_peak();
            low_->region_.set_end(reinterpret_cast<std::uintptr_t>(p) + step);
        }
        if (p != nullptr) { poison(p, step); }
    }

    /// Shrinks a block where it is. Growing is refused: a block that grows downwards would move.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        return detail::bump_region::resize_inner(p, old_size, new_size);
    }

    [[nodiscard]] bool owns(const void* p) const noexcept {
        const std::uintptr_t begin = low_->region_.end();
        return reinterpret_cast<std::uintptr_t>(p) - begin < limit_ - begin;
    }
    [[nodiscard]] bool is_last(const void* p, std::size_t) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) == low_->region_.end();
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

    /// Forgets everything allocated since `to` was taken; the memory stays with the arena. O(1).
    /// Requires: `to` came from this arena and is not dead (see marker).
    void rewind(marker to, call_site from = call_site::current()) noexcept {
        marks_.rewind(to.stamp_, to.at_.top, call_of(from));
        retreat(to.at_, from);
    }

    /// Forgets everything at this end. O(1).
    void reset() noexcept {
        marks_.reset();
        go_back(limit_);
    }

    [[nodiscard]] std::size_t used_size() const noexcept { return limit_ - low_->region_.end(); }
    [[nodiscard]] std::size_t free_size() const noexcept { return low_->free_size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return used_size() + free_size(); }
    [[nodiscard]] std::size_t high_water_size() const noexcept {
        return used_size() > peak_ ? used_size() : peak_;
    }

    void reset_high_water() noexcept { peak_ = 0; }
    /// Scopes that are open (arena_scope.hpp). Unchecked builds do not count them: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return marks_.open_scope_count();
    }

    void validate() const noexcept {
        low_->validate();
        CAIRN_ASSERT(low_->region_.end() <= limit_, "the upper end stays inside the region");
    }

private:
    friend class double_ended_arena;
    friend struct detail::arena_access;

    explicit arena_high_end(arena& low) noexcept : low_{&low}, limit_{low.region_.end()} {}

    void note_peak() noexcept { peak_ = used_size() > peak_ ? used_size() : peak_; }
    [[nodiscard]] detail::bump_position position() const noexcept { return {low_->region_.end()}; }
    void retreat(detail::bump_position to, [[maybe_unused]] call_site from) noexcept {
        CAIRN_ASSERT(to.top >= low_->region_.end() && to.top <= limit_,
                     "a marker lies inside the live part of its end: no block or builder from "
                     "before it has shrunk since",
                     call_of(from).about(misuse_kind::outlived));
        go_back(to.top);
    }
    /// Checked builds: as arena's expect_block(), of the live part of this end.
    void expect_block(const void* p, std::size_t size,
                      const detail::watched_call& call) const noexcept;
    [[nodiscard]] detail::watched_call call_of(call_site from = {}) const noexcept {
        return {this, "arena_high_end", watch_.name(), from};
    }
    void go_back(std::uintptr_t to) noexcept {
        note_peak();
        const std::uintptr_t from = low_->region_.end();
        low_->region_.set_end(to);
        poison(reinterpret_cast<void*>(from), to - from);
    }

    /// See bump_region: consecutive page-multiple blocks start one cache line apart.
    [[nodiscard]] std::uintptr_t coloured(std::uintptr_t p, std::size_t size,
                                          alignment align) noexcept {
        if (align.bytes() > cache_line_size) { return p; }  // one line away is not aligned
        if (size % detail::colour_page == 0 && low_->region_.end() == large_begin_ &&
            p - low_->region_.top() >= cache_line_size) {
            p -= cache_line_size;
        }
        large_begin_ = size % detail::colour_page == 0 ? p : large_begin_;
        return p;
    }

    arena* low_;                      // owns the region; its end is our top
    std::uintptr_t limit_;            // end of the whole region
    std::size_t peak_ = 0;            // highest used_size() at any retreat
    std::uintptr_t large_begin_ = 0;  // start of the newest page-multiple block
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_check marks_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

class double_ended_arena {
public:
    double_ended_arena() = delete;  // it needs a size, double_ended_arena{1_MiB}, or memory
    explicit double_ended_arena(allocator_ref) = delete;  // it needs a size: {1_MiB, upstream}

    /// Over memory of the caller, who keeps it alive.
    explicit double_ended_arena(byte_slice buffer) noexcept : low_{buffer}, high_{low_} {}

    /// Over one block of `size` bytes from `upstream`. When upstream refuses, capacity() is 0.
    explicit double_ended_arena(std::size_t size, allocator_ref upstream = system_memory()) noexcept
        : low_{size, upstream}, high_{low_} {}

    /// Pinned: the two ends know each other's address.
    double_ended_arena(const double_ended_arena&) = delete;
    double_ended_arena& operator=(const double_ended_arena&) = delete;
    ~double_ended_arena() { reset(); }

    /// The two ends: each is an arena, whose blocks live until it is reset or rewound.
    [[nodiscard]] arena& low() noexcept { return low_; }
    [[nodiscard]] arena_high_end& high() noexcept { return high_; }

    /// Forgets everything at both ends.
    void reset() noexcept {
        low_.reset();
        high_.reset();
    }

    [[nodiscard]] std::size_t free_size() const noexcept { return low_.free_size(); }
    [[nodiscard]] std::size_t used_size() const noexcept {
        return low_.used_size() + high_.used_size();
    }
    [[nodiscard]] std::size_t capacity() const noexcept { return used_size() + free_size(); }

    /// The name of both ends in reports of checked builds and the memory checkers; the string is
    /// not copied. nullptr: none.
    void set_name(const char* name) noexcept;

    void validate() const noexcept { high_.validate(); }

private:
    arena low_;
    arena_high_end high_;  // its watch has the name of both
};

static_assert(any_arena<arena_high_end> && any_arena<arena>);

}}  // namespace cairn::CAIRN_FLAVOUR
