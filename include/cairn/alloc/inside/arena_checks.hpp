// cairn/alloc/inside/arena_checks.hpp - what checked builds verify in an arena: blocks that come
// back, and markers and scopes.
//
// A marker is a position to rewind to. It is dead once an older marker was rewound to:
//
//      mark A ---- mark B ---- mark C        live marks: A B C
//      rewind(B)                             live marks: A B       (B can be rewound to again)
//      rewind(C)                             reported: C died with the rewind to B
//
// Checked builds keep the serial numbers of the newest 32 live marks beside the arena; older marks
// are accepted without a check. With asserts off everything here is empty and costs no byte and no
// cycle.
//
// A scope is not among the marks. It stores its depth, and the serial number of the next mark at
// the time when it began. Where both are unchanged at its end, the scope ends in order:
//
//      scope 1 ---- scope 2 ---- mark A ---- rewind(A) ---- end of 2 ---- end of 1
//      depth 1      depth 2                                 A dies        nothing was marked
//
// A rewind to a mark from outside of a scope, and a reset, change the next serial number. The
// scopes that died with it take the longer check at their end, and are reported there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_region.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Who called which allocator: what a check inside it says in its report. Vanishes without asserts.
struct watched_call {
    const void* object;
    const char* type;
    const char* name;
    call_site from;

    /// Of a block of `size` bytes, `offset` bytes from the begin of the allocator's memory. Out of
    /// line: the callers are inlined, and this is not for speed.
    [[nodiscard]] evidence about(misuse_kind kind, std::size_t size,
                                 std::size_t offset) const noexcept;
    [[nodiscard]] evidence about(misuse_kind kind) const noexcept;
};

/// Numbers for arenas, never reused. Threads: any.
[[nodiscard]] std::uint64_t next_arena_id() noexcept;

/// Checked builds: stops the program unless `p` is a block of `size` bytes in the live part of
/// `region`, as far as the edges can tell. nullptr passes.
void expect_block(const bump_region& region, const void* p, std::size_t size,
                  const watched_call& call) noexcept;

/// States of an address in an arena, which does not know its blocks.
inline constexpr const char* given_out = "below the top: given out, perhaps freed since";
inline constexpr const char* not_given_out = "above the top: never given out, or rewound";

/// For reports: where `address` lies in a region that may be used up to `end`.
[[nodiscard]] address_place place_in_region(const bump_region& region, std::uintptr_t end,
                                            const void* address) noexcept;

#if CAIRN_ASSERTS

struct mark_stamp {
    std::uint64_t arena_id = 0;
    std::uint64_t serial = 0;
    std::size_t depth = 0;  // scopes that were open when it was taken
};

/// What a scope stores when it begins.
struct scope_stamp {
    std::uint64_t serial;  // of the mark that would have come next
    std::size_t depth;     // of the scope: 1 is the outermost
};

class mark_check {
public:
    mark_check() noexcept = default;

    /// Markers stay valid in the arena that takes over; the moved-from arena starts anew.
    mark_check(mark_check&& from) noexcept { take(from); }
    mark_check& operator=(mark_check&& from) noexcept;

    [[nodiscard]] mark_stamp mark(std::uintptr_t position) noexcept;
    void rewind(mark_stamp to, std::uintptr_t position, const watched_call& call) noexcept;
    void reset() noexcept;

    /// Scopes nest: what is allocated through an outer scope while an inner scope is open would die
    /// with the inner scope.
    [[nodiscard]] scope_stamp open_scope() noexcept { return {next_serial_, ++depth_}; }
    void expect_innermost(scope_stamp scope) const noexcept {
        CAIRN_ASSERT(depth_ == scope.depth,
                     "memory comes from the innermost open scope of an arena",
                     {.kind = misuse_kind::out_of_order});
    }
    void expect_last(scope_stamp scope) const noexcept {
        CAIRN_ASSERT(depth_ == scope.depth, "scopes end in reverse order of their beginning",
                     {.kind = misuse_kind::out_of_order});
    }
    /// True when nothing was marked since the scope began, and nothing rewound but inner scopes.
    [[nodiscard]] bool is_unmarked(scope_stamp scope) const noexcept {
        return next_serial_ == scope.serial;
    }
    /// For a scope that is not unmarked: verifies that it is live, and ends the marks in it.
    /// `position`: where it began.
    void check_scope(scope_stamp scope, std::uintptr_t position, const watched_call& call) noexcept;
    void close_scope(scope_stamp scope) noexcept { depth_ = scope.depth - 1; }
    [[nodiscard]] std::size_t open_scope_count() const noexcept { return depth_; }

private:
    static constexpr std::size_t capacity = 32;
    struct live_mark {
        std::uint64_t serial;
        std::uintptr_t position;
    };
    // Scopes of depths above `from`, up to `to`, were open when a mark from outside was rewound to.
    // The innermost of them is the next to end, and is named: the newest such rewind is enough.
    struct dead_scopes {
        std::size_t from = 0;
        std::size_t to = 0;           // 0: none
        std::uintptr_t position = 0;  // of the mark: a scope that begins there has lost nothing
    };

    void take(mark_check& from) noexcept;

    std::uint64_t id_ = 0;            // 0 until the first mark
    std::uint64_t next_serial_ = 1;   // of the next mark
    std::size_t depth_ = 0;           // scopes that are open
    std::uint64_t first_valid_ = 1;   // marks before it died with a reset
    std::uint64_t oldest_known_ = 0;  // marks before it were forgotten for lack of room
    std::size_t count_ = 0;           // live marks known
    dead_scopes dead_;
    live_mark live_[capacity] = {};  // oldest first
};

#else

struct mark_stamp {};
struct scope_stamp {};

class mark_check {
public:
    [[nodiscard]] mark_stamp mark(std::uintptr_t) noexcept { return {}; }
    void rewind(mark_stamp, std::uintptr_t, const watched_call&) noexcept {}
    void reset() noexcept {}
    [[nodiscard]] scope_stamp open_scope() noexcept { return {}; }
    void expect_innermost(scope_stamp) const noexcept {}
    void expect_last(scope_stamp) const noexcept {}
    [[nodiscard]] bool is_unmarked(scope_stamp) const noexcept { return true; }
    void check_scope(scope_stamp, std::uintptr_t, const watched_call&) noexcept {}
    void close_scope(scope_stamp) noexcept {}
    [[nodiscard]] std::size_t open_scope_count() const noexcept { return 0; }
};

#endif

/// Lets arena_scope reach what is private in an arena.
struct arena_access {
    /// What an arena_scope keeps: its marker, which is not stored among the others.
    template <class Position>
    struct scope_mark {
        Position at;
        [[CAIRN_NO_UNIQUE_ADDRESS]] scope_stamp stamp;
    };
    template <class Arena>
    [[nodiscard]] static auto open_scope(Arena& arena) noexcept {
        return scope_mark<decltype(arena.position())>{arena.position(), arena.marks_.open_scope()};
    }
    template <class Arena, class Position>
    static void close_scope(Arena& arena, const scope_mark<Position>& from) noexcept {
        if (!arena.marks_.is_unmarked(from.stamp)) [[unlikely]] {
            arena.marks_.check_scope(from.stamp, from.at.top, arena.call_of());
        }
        arena.marks_.close_scope(from.stamp);
        arena.retreat(from.at, {});
    }
    /// False where a block of `size` bytes at `p` would end above the top of its region.
    template <class Arena>
    [[nodiscard]] static bool reaches([[maybe_unused]] const Arena& arena,
                                      [[maybe_unused]] const void* p,
                                      [[maybe_unused]] std::size_t size) noexcept {
        if constexpr (requires { arena.region_.top(); }) {
            return !arena.region_.owns(p) ||
                   (arena.region_.contains(p) &&
                    size <= arena.region_.top() - reinterpret_cast<std::uintptr_t>(p));
        } else {
            return true;
        }
    }
    /// The name that reports give the arena; nullptr: none.
    template <class Arena>
    [[nodiscard]] static const char* name(const Arena& arena) noexcept {
        if constexpr (requires { arena.call_of({}).name; }) {
            return arena.call_of({}).name;
        } else {
            return nullptr;
        }
    }
    template <class Arena>
    [[nodiscard]] static const mark_check& marks(const Arena& arena) noexcept {
        return arena.marks_;
    }
};

/// What the marker of an arena with one region remembers.
struct bump_position {
    std::uintptr_t top = 0;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
