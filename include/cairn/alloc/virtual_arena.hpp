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
// Reset:     memory above `retain_size` goes back to the system; below it stays, warm.
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/bump_arena.hpp>
#include <cairn/core/byte_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class virtual_arena : public detail::bump_arena<virtual_arena> {
public:
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
    explicit virtual_arena(std::size_t reserve_size) noexcept
        : virtual_arena{reserve_size, options{}} {}
    virtual_arena(std::size_t reserve_size, options how) noexcept;

    ~virtual_arena() { release(); }

    virtual_arena(const virtual_arena&) = delete;
    virtual_arena& operator=(const virtual_arena&) = delete;
    // Written out: where `from` is empty, its reserved end is its region's begin.
    virtual_arena(virtual_arena&& from) noexcept;
    virtual_arena& operator=(virtual_arena&& from) noexcept;

    /// As arena::try_resize; the last block grows up to the end of the reservation.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment = default_alignment) noexcept {
        [[maybe_unused]] const auto inside = enter();
        if (region_.try_resize(p, old_size, new_size)) [[likely]] { return true; }
        return commit_and_resize(p, old_size, new_size);
    }

    /// True when `p` points into the reservation.
    [[nodiscard]] bool owns(const void* p) const noexcept {
        return reinterpret_cast<std::uintptr_t>(p) - region_.begin() < capacity();
    }

    /// Forgets everything; decommits what lies above retain_size (one system call at most).
    void reset() noexcept {
        [[maybe_unused]] const auto inside = enter();
        marks_.reset();
        region_.reset();
        if (region_.capacity() > how_.retain_size) { decommit_above_retained(); }
    }

    /// Commits so that the first `size` bytes need no system call.
    /// Returns: false when the system refuses.
    [[nodiscard]] bool commit(std::size_t size) noexcept;

    /// Commits and touches the first `size` bytes: no page fault is left in them.
    [[nodiscard]] bool prefault(std::size_t size) noexcept;

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

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    void validate() const noexcept {
        region_.validate();
        CAIRN_ASSERT(region_.end() <= reserved_end_, "only reserved addresses are committed");
    }

private:
    friend class detail::bump_arena<virtual_arena>;

    static constexpr const char* type_name = "virtual_arena";

    void* allocate_elsewhere(std::size_t size, alignment align) noexcept;
    bool commit_and_resize(void* p, std::size_t old_size, std::size_t new_size) noexcept;
    bool commit_up_to(std::size_t size_needed, std::size_t size_wanted) noexcept;
    void raise_step() noexcept;
    void decommit_above_retained() noexcept;
    void release() noexcept;

    detail::bump_region region_;                     // its end is the committed edge
    std::uintptr_t reserved_end_ = region_.begin();  // end of the usable reservation
    std::size_t reservation_size_ = 0;               // bytes to release, guard included
    std::size_t next_step_ = 0;                      // bytes to commit next
    options how_;
};

#if CAIRN_ASSERTS
extern template void detail::bump_arena<virtual_arena>::deallocate_checked(void*, std::size_t,
                                                                           call_site) noexcept;
#endif

static_assert(byte_allocator<virtual_arena> && resizes_in_place<virtual_arena>);

}}  // namespace cairn::CAIRN_FLAVOUR
