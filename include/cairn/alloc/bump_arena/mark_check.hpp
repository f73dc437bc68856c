// cairn/alloc/bump_arena/mark_check.hpp - catches markers that are foreign, stale or out of order.
//
// A marker is a position to rewind to. It is dead once something older was rewound to:
//
//      mark A ---- mark B ---- mark C        live marks: A B C
//      rewind(B)                             live marks: A B       (B can be rewound to again)
//      rewind(C)                             named: C died with the rewind to B
//
// Checked builds keep the serial numbers of the newest 32 live marks beside the arena; older ones
// are accepted unseen. With asserts off everything here is empty and costs no byte and no cycle.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// Numbers for arenas, never reused. Threads: any.
[[nodiscard]] std::uint64_t next_arena_id() noexcept;

#if CAIRN_ASSERTS

struct mark_stamp {
    std::uint64_t arena_id = 0;
    std::uint64_t serial = 0;
};

class mark_check {
public:
    mark_check() noexcept = default;
    mark_check(const mark_check&) = delete;
    mark_check& operator=(const mark_check&) = delete;

    /// Markers follow the memory: the moved-from arena starts a new life.
    mark_check(mark_check&& from) noexcept { take(from); }
    mark_check& operator=(mark_check&& from) noexcept {
        take(from);
        return *this;
    }

    [[nodiscard]] mark_stamp mark(std::uintptr_t position) noexcept {
        if (id_ == 0) { id_ = next_arena_id(); }
        // Two marks of one position are one mark: siblings in a loop do not pile up.
        if (count_ == 0 || live_[count_ - 1].position != position) {
            if (count_ == capacity) {
                oldest_known_ = live_[1].serial;
                for (std::size_t i = 1; i < capacity; ++i) { live_[i - 1] = live_[i]; }
                --count_;
            }
            live_[count_++] = {next_serial_++, position};
        }
        return {id_, live_[count_ - 1].serial};
    }

    void rewind(mark_stamp to, const watched_call& call) noexcept {
        CAIRN_ASSERT(to.arena_id == id_, "a marker is rewound on the arena that it was taken from",
                     call.about(misuse_kind::foreign_pointer));
        CAIRN_ASSERT(to.serial >= first_valid_, "a marker does not outlive reset()",
                     call.about(misuse_kind::outlived));
        while (count_ != 0 && live_[count_ - 1].serial > to.serial) { --count_; }
        const bool live = count_ != 0 && live_[count_ - 1].serial == to.serial;
        CAIRN_ASSERT(live || to.serial < oldest_known_,
                     "markers are rewound newest first: this one died with an older one",
                     call.about(misuse_kind::out_of_order));
        (void)live;
    }

    void reset() noexcept {
        count_ = 0;
        first_valid_ = next_serial_;
        oldest_known_ = 0;
    }

    /// Scopes nest: allocating through an outer one while an inner one is open would die with the
    /// inner one.
    void open_scope(const void* scope, const void*& outer) noexcept {
        outer = open_scope_;
        open_scope_ = scope;
    }
    void expect_innermost(const void* scope) const noexcept {
        CAIRN_ASSERT(open_scope_ == scope, "memory comes from the innermost open scope of an arena",
                     {.kind = misuse_kind::out_of_order});
        (void)scope;
    }
    void close_scope(const void* scope, const void* outer) noexcept {
        CAIRN_ASSERT(open_scope_ == scope, "scopes end in reverse order of their beginning",
                     {.kind = misuse_kind::out_of_order});
        (void)scope;
        open_scope_ = outer;
    }

private:
    static constexpr std::size_t capacity = 32;
    struct live_mark {
        std::uint64_t serial;
        std::uintptr_t position;
    };

    void take(mark_check& from) noexcept {
        CAIRN_ASSERT(from.open_scope_ == nullptr, "an arena does not move while a scope is open");
        id_ = from.id_;
        count_ = from.count_;
        for (std::size_t i = 0; i < count_; ++i) { live_[i] = from.live_[i]; }
        next_serial_ = from.next_serial_;
        first_valid_ = from.first_valid_;
        oldest_known_ = from.oldest_known_;
        open_scope_ = nullptr;
        from.id_ = 0;
        from.reset();
    }

    std::uint64_t id_ = 0;              // 0 until the first mark
    std::uint64_t next_serial_ = 1;     // of the next mark
    std::uint64_t first_valid_ = 1;     // marks before it died with a reset
    std::uint64_t oldest_known_ = 0;    // marks before it were forgotten for lack of room
    const void* open_scope_ = nullptr;  // innermost arena_scope
    std::size_t count_ = 0;             // live marks known
    live_mark live_[capacity] = {};     // oldest first
};

#else

struct mark_stamp {};

class mark_check {
public:
    [[nodiscard]] mark_stamp mark(std::uintptr_t) noexcept { return {}; }
    void rewind(mark_stamp, const watched_call&) noexcept {}
    void reset() noexcept {}
    void open_scope(const void*, const void*&) noexcept {}
    void expect_innermost(const void*) const noexcept {}
    void close_scope(const void*, const void*) noexcept {}
};

#endif

/// Lets arena_scope reach the checks of an arena without making them public.
struct mark_access {
    template <class Arena>
    [[nodiscard]] static mark_check& of(Arena& arena) noexcept {
        return arena.marks_;
    }
};

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
