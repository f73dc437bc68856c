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
//            (colouring, see bump_region.hpp). No headers.
// Threads:   none. Give each thread its own arena.
// Lifetimes: bytes, not objects: no destructor is ever called (arena_scope.hpp does that).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/alloc/inside/arena_checks.hpp>
#include <cairn/alloc/inside/bump_region.hpp>
#include <cairn/alloc/inside/makes_objects.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct arena_options {
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
};

}  // namespace detail

class arena : public detail::makes_objects<arena> {
public:
    using options = detail::arena_options;

    /// A point in the arena's life to rewind to; dies with a rewind to an older one, or a reset.
    class marker {
        friend class arena;
        detail::bump_position at_;
        [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_stamp stamp_;
    };

    arena() = delete;  // it needs a size, arena{64_KiB}, or memory, arena{buffer}
    explicit arena(allocator_ref) = delete;  // it needs a size: arena{64_KiB, upstream}

    /// Over memory of the caller, who keeps it alive: arena{buffer}, arena{byte_slice{p, size}}.
    explicit arena(byte_slice buffer, options how = {}) noexcept
        : region_{buffer.data(), buffer.size()}, upstream_{system_memory()} {
        if (how.name != nullptr) { set_name(how.name); }
    }

    /// Over one block of `size` bytes from `upstream`. When upstream refuses, capacity() is 0.
    explicit arena(std::size_t size, allocator_ref upstream = system_memory(),
                   options how = {}) noexcept;
    arena(std::size_t size, options how) noexcept : arena{size, system_memory(), how} {}
    template <class Other, std::size_t N>
        requires(!std::is_same_v<std::remove_const_t<Other>, std::byte>)
    explicit arena(Other (&)[N]) = delete;  // memory for objects is of std::byte: std::byte b[N]

    ~arena() { release(); }

    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;
    /// Live blocks stay where they are. `from` is empty, and may be assigned to, reset, asked and
    /// ended; checked builds name an allocation from it.
    // Written out: a region is plain numbers, which a defaulted move would leave in `from`.
    arena(arena&& from) noexcept;
    arena& operator=(arena&& from) noexcept;

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when they do not fit; nothing has changed then.
    /// Size 0:  a non-null pointer that may be freed and not read through.
    /// Cost:    see above; an alignment above 16 costs two more instructions and a compare.
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

    /// Gives the bytes back at once when `p` is the last block; otherwise at the next rewind.
    /// nullptr does nothing.
    /// Requires: `p` came from allocate(size, ...) of this arena and was not freed or rewound.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size, alignment = default_alignment,
                                           call_site from = call_site::current()) noexcept {
        // A checked build looks closer at a block that is not the last one.
        if (CAIRN_CALLER_IS_OPTIMIZED && (!asserts_enabled || region_.is_last_block(p, size)))
            [[likely]] {
            region_.deallocate(p, size);
        } else {
            deallocate_called(p, size, from);
        }
    }

    /// Grows the last block, or shrinks any block, where it is.
    /// Returns: false when it cannot; nothing has changed then.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        return region_.try_resize(p, old_size, new_size);
    }

    /// True when `p` is the newest block: only then freeing and growing help. O(1).
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return region_.is_last(p, size);
    }

    /// `size` rounded to the granule of 16 bytes: that much costs no more than `size`.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return detail::bump_region::good_size(size);
    }

    /// True when `p` points into the region, allocated or not.
    [[nodiscard]] bool owns(const void* p) const noexcept { return region_.owns(p); }

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

    /// Forgets everything. All markers die. O(1).
    void reset() noexcept {
        marks_.reset();
        region_.reset();
    }

    [[nodiscard]] std::size_t used_size() const noexcept { return region_.used_size(); }  // bytes
    /// Most bytes ever in use at once, padding included.
    [[nodiscard]] std::size_t high_water_size() const noexcept { return region_.high_water_size(); }
    void reset_high_water() noexcept { region_.reset_high_water(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return region_.capacity(); }  // bytes
    [[nodiscard]] std::size_t free_size() const noexcept { return region_.free_size(); }

    /// Scopes that are open (arena_scope.hpp). Unchecked builds do not count them: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return marks_.open_scope_count();
    }

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    /// Checks the invariant; stops a checked build when it is broken. O(1).
    void validate() const noexcept { region_.validate(); }

private:
    friend class double_ended_arena;
    friend class arena_high_end;
    friend struct detail::arena_access;

    [[nodiscard]] detail::bump_position position() const noexcept { return {region_.top()}; }
    void retreat(detail::bump_position to, [[maybe_unused]] call_site from) noexcept {
        CAIRN_ASSERT(to.top >= region_.begin() && to.top <= region_.top(),
                     "a marker lies inside the live part of its arena: no block or builder from "
                     "before it has shrunk since",
                     call_of(from).about(misuse_kind::outlived));
        region_.rewind(to.top);
    }
    [[nodiscard]] detail::watched_call call_of(call_site from = {}) const noexcept {
        return {this, "arena", watch_.name(), from};
    }
    void* allocate_called(std::size_t size, alignment align) noexcept;
    void deallocate_called(void* p, std::size_t size, call_site from) noexcept;
    void release() noexcept;
    /// Refuses what does not fit. (The region of an arena that was moved from is empty, so that the
    /// check for it is needed only here.)
    void* allocate_elsewhere(std::size_t, alignment) noexcept {
        watch_.expect_not_moved_from(this, "arena");
        return nullptr;
    }

    detail::bump_region region_;
    void* block_ = nullptr;       // from upstream_; nullptr when the memory is the caller's
    std::size_t block_size_ = 0;  // bytes asked of upstream_
    allocator_ref upstream_ = system_memory();
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_check marks_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

static_assert(byte_allocator<arena> && resizes_in_place<arena> && has_good_size<arena>);
static_assert(asserts_enabled || sizeof(arena) == 9 * sizeof(void*));
static_assert(asserts_enabled || sizeof(arena::marker) == sizeof(void*));

}}  // namespace cairn::CAIRN_FLAVOUR
