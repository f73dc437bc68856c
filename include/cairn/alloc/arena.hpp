// cairn/alloc/arena.hpp - bump allocation inside one region.
//
//      begin                      top                           end
//        v                         v                             v
//        +------+------+--+--------+-----------------------------+
//        | live | live |  |  live  |            free             |
//        +------+------+--+--------+-----------------------------+
//                                  | allocate(): top moves --->
//                        <--- rewind(marker), freeing the last block
//
// Use it for: memory that dies all at once - a frame, a level load, one job, one parse.
// Look elsewhere for: freeing single objects (pool.hpp, heap.hpp); a size that is not known
//   (growing_arena.hpp, virtual_arena.hpp).
//
// Invariant: begin <= top <= end, all multiples of 16; live blocks never overlap and never move.
// Cost:      allocate with constant size and alignment <= 16: 4 instructions and one branch on the
//            way (load top, compare with end, add, store); with a run-time size two more to round
//            it and one compare for large blocks. Nothing is counted, and no memory but this object
//            is touched. rewind, reset, freeing the last block: O(1).
// Overhead:  rounding to 16 bytes; 64 bytes between consecutive blocks of a page multiple
//            (colouring, see bump_arena/bump_region.hpp). No headers.
// Threads:   none. Give each thread its own arena.
// Lifetimes: bytes, not objects: no destructor is ever called (arena_scope.hpp does that).
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_arena.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct arena_options {
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
};

class arena : public detail::bump_arena<arena> {
public:
    using options = arena_options;

    /// Holds nothing: every allocation of more than 0 bytes is refused.
    arena() noexcept = default;

    /// Over memory of the caller, who keeps it alive.
    explicit arena(byte_slice buffer, options how = {}) noexcept
        : region_{buffer.data(), buffer.size()}, upstream_{system_memory()} {
        if (how.name != nullptr) { set_name(how.name); }
    }

    /// Over one block of `size` bytes from `upstream`. When upstream refuses, capacity() is 0.
    explicit arena(std::size_t size, allocator_ref upstream = system_memory(),
                   options how = {}) noexcept;

    ~arena() { release(); }

    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    /// Live blocks stay where they are. `from` is empty, and may be assigned to, reset, asked and
    /// ended; checked builds name an allocation from it.
    // Written out: a region is plain numbers, which a defaulted move would leave in `from`.
    arena(arena&& from) noexcept;
    arena& operator=(arena&& from) noexcept;

    // allocate(), mark() and whatever all arenas do alike: bump_arena.hpp.

    /// Grows the last block, or shrinks any block, where it is.
    /// Returns: false when it cannot; nothing has changed then.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        [[maybe_unused]] const auto inside = enter();
        return region_.try_resize(p, old_size, new_size);
    }

    /// True when `p` points into the region, allocated or not.
    [[nodiscard]] bool owns(const void* p) const noexcept { return region_.owns(p); }

    /// Forgets everything. All markers die. O(1).
    void reset() noexcept {
        [[maybe_unused]] const auto inside = enter();
        marks_.reset();
        region_.reset();
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return region_.capacity(); }  // bytes
    [[nodiscard]] std::size_t free_size() const noexcept { return region_.free_size(); }

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    /// Checks the invariant; stops a checked build when it is broken. O(1).
    void validate() const noexcept { region_.validate(); }

private:
    friend class double_ended_arena;
    friend class arena_high_end;
    friend class detail::bump_arena<arena>;

    static constexpr const char* type_name = "arena";

    void release() noexcept;
    /// What does not fit is refused. (A region that was moved from is empty, and refuses: the
    /// question costs nothing where a block was found.)
    void* allocate_elsewhere(std::size_t, alignment) noexcept {
        CAIRN_ASSERT(!watch_.moved_from(),
                     "an arena that was moved from is assigned to before it is used",
                     {.kind = misuse_kind::moved_from,
                      .object = this,
                      .type = "arena",
                      .name = watch_.name()});
        return nullptr;
    }

    detail::bump_region region_;
    void* block_ = nullptr;       // from upstream_; nullptr when the memory is the caller's
    std::size_t block_size_ = 0;  // bytes asked of upstream_
    allocator_ref upstream_ = system_memory();
};

#if CAIRN_ASSERTS
extern template void detail::bump_arena<arena>::deallocate_checked(void*, std::size_t,
                                                                   call_site) noexcept;
#endif

static_assert(byte_allocator<arena> && resizes_in_place<arena> && has_good_size<arena>);
static_assert(asserts_enabled || sizeof(arena) == 9 * sizeof(void*));
static_assert(asserts_enabled || sizeof(arena::marker) == sizeof(void*));

}}  // namespace cairn::CAIRN_FLAVOUR
