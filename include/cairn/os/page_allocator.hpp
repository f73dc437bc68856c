// cairn/os/page_allocator.hpp - whole pages from the operating system, as an allocator.
//
//      allocate(10'000)
//      |<------- 4096 ------->|<------- 4096 ------->|<------- 4096 ------->|
//      +----------------------+----------------------+---------------+------+
//      |                 10'000 bytes, read as zero                  | slack|  good_size: 12'288
//      +----------------------+----------------------+---------------+------+
//      ^ a multiple of the page size, or of `align` when that is larger
//
// Use it for: the root of a chain that must not share malloc's heap; big blocks that go back to the
//   system the moment they are freed; huge pages; memory that is touched before the frame begins.
// Look elsewhere for: anything below a page: 1 byte costs 4096 (put an arena or a pool in front);
//   a block that grows to an unknown size without moving (virtual_arena).
//
// Invariant: this object holds only its options. Each block is one mapping of its own, known to
//            the system, so nothing is kept here and nothing can leak here.
// Cost:      allocate: one system call, two with huge pages or a name, and up to two more to cut an
//            alignment above a page out of a larger range; deallocate: one.
//            Then a fault per page at its first touch, unless prefaulted (page_memory.hpp).
// Threads:   any, at once: there is no state.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/page_memory.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class page_allocator {
public:
    constexpr page_allocator() noexcept = default;
    constexpr explicit page_allocator(page_options options) noexcept : options_{options} {}

    /// `size` bytes that read as zero, on pages of their own. `align` may exceed a page.
    /// Returns: nullptr when the system refuses; nothing has changed then.
    /// Size 0:  allowed; occupies a page.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept;

    /// Gives the pages back to the system; touching them faults from now on.
    /// A second free is noticed on Windows alone, in checked builds: elsewhere the system accepts
    /// addresses that have no pages, and other pages may lie there by then.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept;

    /// Shrinks by giving whole pages at the end back, grows when the addresses behind the block
    /// happen to be free. Never moves. Grown bytes read as zero, as far as they are new pages.
    /// Returns: false when the addresses are taken or the system refuses; nothing has changed then.
    /// Cost:    none while the number of pages stays the same, else one system call.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept;

    /// The pages of the block `from` become the first ones of the block `to`, and `from` is freed.
    /// What `to` held is lost. So containers of rows that may be copied by bytes grow without a
    /// copy.
    /// Requires: from_size <= to_size.
    /// Returns: false when the system cannot (all but Linux), and with `prefault`; `from` is
    ///          unchanged then.
    /// Cost:    a system call: a microsecond, and some 0.02 for each page that was touched.
    [[nodiscard]] bool try_move(void* from, std::size_t from_size, void* to, std::size_t to_size,
                                alignment align = default_alignment) noexcept;

    /// `size` in whole pages; the absurd stays absurd and is refused by allocate().
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment = default_alignment) const noexcept {
        const std::size_t pages = page_memory::round_up_to_pages(size != 0 ? size : 1);
        return pages < size ? size : pages;
    }

    [[nodiscard]] const page_options& options() const noexcept { return options_; }

private:
    void apply_options(void* first, std::size_t bytes) const noexcept;

    page_options options_{};
};

/// The page allocator that any code can refer to: plain pages, no options.
[[nodiscard]] inline allocator_ref system_pages() noexcept {
    static constinit page_allocator instance;
    return instance;
}

static_assert(byte_allocator<page_allocator> && resizes_in_place<page_allocator> &&
              has_good_size<page_allocator>);

}}  // namespace cairn::CAIRN_FLAVOUR
