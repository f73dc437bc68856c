// cairn/alloc/inside/mark_check.hpp - catches markers that are foreign, stale or out
// of order.
//
// A marker is a position to rewind to. It is dead once something older was rewound to:
//
//      mark A ---- mark B ---- mark C        live marks: A B C
//      rewind(B)                             live marks: A B       (B can be rewound to again)
//      rewind(C)                             named: C died with the rewind to B
//
// Checked builds keep the serial numbers of the newest 32 live marks beside the arena; older ones
// are accepted unseen. With asserts off everything here is empty and costs no byte and no cycle.
//
// A scope is not among the marks. It knows its depth, and the serial number that the next mark
// would have had when it began; where both are as they were, it ends as it should:
//
//      scope 1 ---- scope 2 ---- mark A ---- rewind(A) ---- end of 2 ---- end of 1
//      depth 1      depth 2                                 A dies        nothing was marked
//
// A rewind to a mark from outside, and a reset, move the serial number on: the scopes that died
// with it look closer at their end, and are named there.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Numbers for arenas, never reused. Threads: any.
[[nodiscard]] std::uint64_t next_arena_id() noexcept;

#if CAIRN_ASSERTS

struct mark_stamp {
    std::uint64_t arena_id = 0;
    std::uint64_t serial = 0;
    std::size_t depth = 0;  // scopes that were open when it was taken
};

/// What a scope knows of its beginning.
struct scope_stamp {
    std::uint64_t serial;  // of the mark that would have come next
    std::size_t depth;     // of the scope: 1 is the outermost
};

class mark_check {
public:
    mark_check() noexcept = default;

    /// Markers follow the memory: the moved-from arena starts a new life. No copies.
    mark_check(mark_check&& from) noexcept { take(from); }
    mark_check& operator=(mark_check&& from) noexcept;

    [[nodiscard]] mark_stamp mark(std::uintptr_t position) noexcept;
    void rewind(mark_stamp to, std::uintptr_t position, const watched_call& call) noexcept;
    void reset() noexcept;

    /// Scopes nest: allocating through an outer one while an inner one is open would die with the
    /// inner one.
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
    /// True when nothing was marked since it began, and nothing rewound but scopes and such marks.
    [[nodiscard]] bool is_unmarked(scope_stamp scope) const noexcept {
        return next_serial_ == scope.serial;
    }
    void close_scope(scope_stamp scope) noexcept { depth_ = scope.depth - 1; }

    /// What is left to look at of a scope that is_unmarked() does not speak for: it is live, and
    /// the marks in it die. `position`: where it began.
    void check_scope(scope_stamp scope, std::uintptr_t position, const watched_call& call) noexcept;

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
};

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
