// cairn/alloc/virtual_arena.hpp - an arena that grows and never moves: addresses first, memory
// later.
//
//      begin             top        committed                              reserved
//        v                v             v                                     v
//        +----------------+-------------+-------------------------------------+-------+
//        |      live      |   free      |   addresses without memory          | guard |
//        +----------------+-------------+-------------------------------------+-------+
//                         | allocate -->  commit -->                           never touched
//
// Use it for: one growing thing whose size is unknown: a compiler's nodes, a level's data, a log.
//   Everything stays in one piece, so positions can be kept as offsets, and the last allocation
//   (a builder, an array) grows in place up to gigabytes.
// Look elsewhere for: small arenas (a page is the least); many of them; systems without virtual
//   memory (growing_arena.hpp).
//
// Invariant: begin <= top <= committed <= reserved.
// Cost:      allocate as arena (one compare, against the committed edge); the cold path is one
//            system call for a step that doubles from commit_step_min to commit_step_max, so the
//            number of calls is logarithmic, then linear in 64 MiB steps. First touch of each page
//            costs a page fault: prefault() pays for it outside the frame.
// Reset:     memory above `retain_size` goes back to the system; below it stays, warm, until
//            trim().
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

class virtual_arena : public detail::makes_objects<virtual_arena> {
public:
    /// A point in the arena's life to rewind to; dies with a rewind to an older one, or a reset.
    class marker {
        friend class virtual_arena;
        detail::bump_position at_;
        [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_stamp stamp_;
    };

    /// The name of its pages where options::name is nullptr.
    static constexpr const char* default_name = "cairn virtual_arena";

    /// Whether the system is asked for huge pages, and whether running off the end faults.
    enum class huge_pages : unsigned char { no, advised };
    enum class guard : unsigned char { none, page_at_end };

    struct options {
        std::size_t commit_step_min = 64_KiB;       // bytes committed first; doubles ...
        std::size_t commit_step_max = 64_MiB;       // ... up to this
        std::size_t retain_size = ~std::size_t{0};  // bytes that reset() keeps committed
        huge_pages huge = huge_pages::no;           // steps are then at least one huge page
        guard end_guard = guard::page_at_end;       // running off the end faults at once
        /// In /proc/self/maps, where the kernel can, and in reports of checked builds; not copied.
        const char* name = default_name;
    };

    /// Reserves `reserve_size` bytes of addresses. Takes no memory before the first allocation.
    /// When the system refuses, capacity() is 0 and every allocation is refused.
    explicit virtual_arena(std::size_t reserve_size,
                           allocator_ref upstream = system_memory()) noexcept
        : virtual_arena{reserve_size, upstream, options{}} {}
    /// The same with 1 GiB of addresses.
    virtual_arena() noexcept : virtual_arena{1_GiB} {}
    virtual_arena(std::size_t reserve_size, options how) noexcept
        : virtual_arena{reserve_size, system_memory(), how} {}
    /// `upstream` counts the committed pages where it counts (budget, also behind other wrappers),
    /// and may refuse them. It gives no memory: the pages are the system's.
    virtual_arena(std::size_t reserve_size, allocator_ref upstream, options how) noexcept;
    explicit virtual_arena(allocator_ref upstream) noexcept : virtual_arena{1_GiB, upstream} {}
    explicit virtual_arena(options how) noexcept : virtual_arena{1_GiB, how} {}

    ~virtual_arena() { release(); }

    virtual_arena(const virtual_arena&) = delete;  // no child: its pages are the system's
    virtual_arena& operator=(const virtual_arena&) = delete;
    // Written out: where `from` is empty, its reserved end is its region's begin.
    virtual_arena(virtual_arena&& from) noexcept;
    virtual_arena& operator=(virtual_arena&& from) noexcept;

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when the reservation is used up, or the system refuses; nothing has
    ///          changed then.
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

    /// As arena::try_resize; the last block grows up to the end of the reservation.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        if (region_.try_resize(p, old_size, new_size)) [[likely]] { return true; }
        return commit_and_resize(p, old_size, new_size);
    }

    /// True when `p` is the newest block: only then freeing and growing help. O(1).
    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return region_.is_last(p, size);
    }

    /// `size` rounded to the granule of 16 bytes: that much costs no more than `size`.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return detail::bump_region::good_size(size);
    }

    /// True when `p` points into the reservation.
    [[nodiscard]] bool owns(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - region_.begin() < capacity();
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

    /// Forgets everything; decommits what lies above retain_size (one system call at most).
    void reset() noexcept {
        marks_.reset();
        region_.reset();
        if (region_.capacity() > how_.retain_size) { (void)decommit_above(how_.retain_size); }
    }
    /// Gives the pages above what is used back to the system, those that `retain_size` keeps, too.
    /// One system call. Returns: the bytes that went back.
    std::size_t trim() noexcept { return decommit_above(used_size()); }

    /// Commits so that the first `size` bytes need no system call.
    /// Returns: false when the system refuses.
    [[nodiscard]] bool commit(std::size_t size) noexcept;

    /// Commits and touches the first `size` bytes: no page fault is left in them.
    [[nodiscard]] bool prefault(std::size_t size) noexcept;

    [[nodiscard]] std::size_t used_size() const noexcept { return region_.used_size(); }  // bytes
    /// Most bytes ever in use at once, padding included.
    [[nodiscard]] std::size_t high_water_size() const noexcept { return region_.high_water_size(); }
    void reset_high_water() noexcept { region_.reset_high_water(); }
    [[nodiscard]] std::size_t capacity() const noexcept {  // bytes reserved for use
        return reserved_end_ - region_.begin();
    }
    /// Bytes that have memory behind them.
    [[nodiscard]] std::size_t committed_size() const noexcept { return region_.capacity(); }
    [[nodiscard]] std::size_t free_size() const noexcept { return capacity() - used_size(); }

    /// First byte of the reservation; positions relative to it survive growth.
    [[nodiscard]] const void* data() const noexcept {
        return reinterpret_cast<const void*>(region_.begin());
    }

    /// Scopes that are open (arena_scope.hpp). Unchecked builds do not count them: 0.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return marks_.open_scope_count();
    }

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    void validate() const noexcept {
        region_.validate();
        CAIRN_ASSERT(region_.end() <= reserved_end_, "only reserved addresses are committed");
    }

private:
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
        return {this, "virtual_arena", watch_.name(), from};
    }
    void* allocate_called(std::size_t size, alignment align) noexcept;
    void deallocate_called(void* p, std::size_t size, call_site from) noexcept;
    void* allocate_elsewhere(std::size_t size, alignment align) noexcept;
    bool commit_and_resize(void* p, std::size_t old_size, std::size_t new_size) noexcept;
    bool commit_up_to(std::size_t size_needed, std::size_t size_wanted) noexcept;
    void raise_step() noexcept;
    std::size_t decommit_above(std::size_t size) noexcept;
    void release() noexcept;

    detail::bump_region region_;                     // its end is the committed edge
    std::uintptr_t reserved_end_ = region_.begin();  // end of the usable reservation
    std::size_t reservation_size_ = 0;               // bytes to release, guard included
    std::size_t next_step_ = 0;                      // bytes to commit next
    allocator_ref upstream_;                         // counts committed bytes
    options how_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::mark_check marks_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
};

static_assert(byte_allocator<virtual_arena> && resizes_in_place<virtual_arena>);

}}  // namespace cairn::CAIRN_FLAVOUR
