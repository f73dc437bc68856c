// cairn/debug/hardened.hpp - stops a program that breaks its memory, in the build that you ship.
//
//      |<---------------- one block of the allocator inside ----------------->|
//      +-------------+------+--------------------------------------+----------+
//      | size, align | seal | size bytes; the first 64 hold DD     |   seal   |
//      |     8       |  8   | while the block is freed and waits   |    8     |
//      +-------------+------+--------------------------------------+----------+
//                           ^ what allocate() returns
//      seal      a number of the process's secret, the address, the size and the state:
//                a live block, a freed one and everything else have different ones
//      places    [ block | block |       | block | ... ]   a freed block takes a random place;
//                                                          the block that had it goes back
//      from 64 KiB on: the block ends where a page ends, and the next page faults
//
//      class game { cairn::hardened<cairn::concurrent_heap> memory; ... };     // as a local, too
//
// Named, with a sentence, and the program stops: a second free, a free of what is no block, or of a
// block's middle, a wrong size or alignment (at the call); a write behind a block or in front of it
// (when it is freed); a write to a block after its free (when it leaves its place). A second free
// of a large block whose pages went back to the system faults. A write behind a block with a guard
// page faults, or changes the seal there and is found at the free. Which freed block is reused, and
// where a new one lies, is random where the allocator can (concurrent_heap; it stays so when the
// wrapper of a heap ends). docs/hardening.md has the price, and what is not detected.
//
// Use it for: shipped programs whose input is hostile, and mistakes that testers cannot repeat.
// Look elsewhere for: who broke it: guarded.hpp, which knows lines, or AddressSanitizer.
// Not around arenas: nothing waits there, since nothing is freed one by one.
// Not around a pool: each block gets larger than its slot.
//
// Cost:      allocate and deallocate write and read the seals, 64 bytes of pattern and a place:
//            about 350 instructions more, 16 to 30 ns; where blocks are not in the cache a free
//            reads both ends of its block. A guard page: 2 system calls and its faults, 4,500 ns.
// Memory:    24 bytes for each block; above an alignment of 16, that alignment and 8; with a guard
//            page, up to a page and the alignment more than that page. And those that wait:
//            quarantine_count blocks of at most 4 KiB. Larger ones go back at once.
// Threads:   those of the allocator inside; a fork may happen at any moment.
// Lifetimes: stays where it is (not movable).
// Source:    the random places: malloc of OpenBSD (Otto Moerbeek, "A new malloc(3) for OpenBSD",
//            2009). The references for what to detect: mimalloc's secure mode, snmalloc's checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/forwards.hpp>
#include <cairn/debug/hardened/random_places.hpp>
#include <cairn/debug/hardened/sealed_block.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

struct hardened_options {
    /// Freed blocks that wait before they go back, rounded up to a power of two. 0: none.
    std::size_t quarantine_count = 256;
    /// Blocks of so many bytes and more get a guard page. SIZE_MAX: none does.
    std::size_t page_guard_size_min = std::size_t{64} << 10;
    /// Guard pages at a time; further blocks have none. Linux allows a process about 32,000 of all
    /// its wrappers. Stacks of threads and shared libraries need some of that, too.
    std::size_t page_guard_count_max = 8'192;
};

/// Owns an A (`hardened<concurrent_heap>{hardened_options{}}`) or refers to one (`hardened{heap}`
/// is `hardened<heap<>&>`).
template <byte_allocator A>
class hardened : detail::forwards<A> {
    friend struct detail::wrapped_in;
    using base = detail::forwards<A>;
    using base::inner_;

public:
    using options = hardened_options;

    /// The options stand first here: the last ones are those of the A.
    template <class... Args>
        requires std::constructible_from<A, Args...>
    explicit hardened(options how, Args&&... args)
        : base(static_cast<Args&&>(args)...), how_{how}, places_{how.quarantine_count} {
        if constexpr (requires { inner_.give_in_random_order(1); }) {
            inner_.give_in_random_order(sealer_.another_secret());
        }
    }
    hardened()
        requires std::constructible_from<A>
        : hardened{options{}} {}
    explicit hardened(std::type_identity_t<A>& allocator CAIRN_LIFETIMEBOUND,
                      options how = {}) noexcept
        requires std::is_reference_v<A>
        : hardened{how, allocator} {}
    explicit hardened(allocator_ref allocator, options how = {}) noexcept
        requires std::same_as<A, allocator_ref>
        : hardened{how, allocator} {}
    hardened(const hardened&) = delete;
    hardened& operator=(const hardened&) = delete;
    /// Checks the blocks that wait and gives them back. Live blocks stay as they are.
    /// Requires: no block with a guard page is live: the page would fault where the memory of
    /// the allocator inside is used again. Checked builds stop.
    ~hardened() {
        release_waiting();
        CAIRN_ASSERT(page_guard_count_.load(detail::memory_order::relaxed) == 0,
                     "blocks with a guard page are freed before their hardened<A> ends");
    }

    using base::inner;
    using base::owns;
    using base::refund;
    using base::try_charge;

    /// `size` bytes between two seals, uninitialized.
    /// Returns: nullptr when the allocator inside is exhausted, after the blocks that waited have
    ///          gone back to it. They do for requests of at most quarantine_count times 4 KiB.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment,
                                 call_site from = call_site::current()) noexcept {
        if (size > PTRDIFF_MAX) { return nullptr; }
        if (size >= how_.page_guard_size_min) [[unlikely]] {
            if (void* const p = allocate_page_guarded(size, align, from)) { return p; }
        }
        const detail::sealed_block b{size, align, false};
        void* const memory = allocate_inside(b, from);
        return memory != nullptr ? sealer_.make_live(b, memory) : nullptr;
    }

    /// Requires: `p` came from allocate(size, align) and is live, or is nullptr. Stops the program
    /// where it is not.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) noexcept {
        if (p == nullptr) { return; }
        const detail::sealed_block b = sealer_.live(p, from);
        detail::sealer::expect(b, p, size, align, from);
        retire(p, b);
    }
    /// As above, for callers that do not know the size.
    void deallocate(void* p, call_site from = call_site::current()) noexcept {
        if (p == nullptr) { return; }
        retire(p, sealer_.live(p, from));
    }

    /// Returns: false when the allocator inside cannot, and for every block with a guard page.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment,
                                  call_site from = call_site::current()) noexcept
        requires resizes_in_place<A>
    {
        const detail::sealed_block b = sealer_.live(p, from);
        detail::sealer::expect(b, p, old_size, align, from);
        detail::sealer::close(b, p);
        if (b.page_guarded || new_size >= how_.page_guard_size_min || new_size > PTRDIFF_MAX) {
            return false;
        }
        const detail::sealed_block now{new_size, align, false};
        std::byte* const memory = detail::sealer::open(b, p);
        const bool resized = inner_.try_resize(memory, b.whole_size(), now.whole_size(), b.align);
        (void)sealer_.make_live(resized ? now : b, memory);
        return resized;
    }

    /// Bytes that the live block `p` has: exactly those that were asked for.
    /// Threads: one at a time for a block (under a memory checker it opens and closes the seals).
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
        const detail::sealed_block b = sealer_.live(p, {});
        detail::sealer::close(b, p);
        return b.size;
    }

    /// Checks every block that waits. Requires: no other thread uses this allocator.
    void validate() const noexcept {
        places_.visit([this](const void* p) { detail::sealer::close_freed(sealer_.freed(p), p); });
        if constexpr (validatable<A>) { inner_.validate(); }
    }

    /// Checks the blocks that wait and gives them back to the allocator inside.
    void release_waiting() noexcept {
        for (std::size_t i = 0; i < places_.count(); ++i) {
            if (void* const p = places_.exchange(i, nullptr)) { give_back(p); }
        }
    }

private:
    /// Asks once more when the blocks that waited are back. They stay where a request is larger
    /// than all of them can be: otherwise one absurd size would empty the quarantine.
    [[nodiscard]] void* allocate_inside(const detail::sealed_block& b, call_site from) noexcept {
        void* const memory = detail::allocate_for(inner_, b.whole_size(), b.whole_align(), from);
        if (memory != nullptr) [[likely]] { return memory; }
        if (b.size > places_.count() * detail::sealed_block::waiting_size_max) { return nullptr; }
        release_waiting();
        return detail::allocate_for(inner_, b.whole_size(), b.whole_align(), from);
    }
    /// Returns: nullptr also where there are guard pages enough, or the system protects no more.
    [[nodiscard, CAIRN_COLD]] void* allocate_page_guarded(std::size_t size, alignment align,
                                                          call_site from) noexcept {
        const detail::sealed_block b{size, align, true};
        // relaxed: only the number counts. The head of a block says whether it has a guard page.
        const bool may = page_guard_count_.fetch_add(1, detail::memory_order::relaxed) <
                         how_.page_guard_count_max;
        void* const memory = may ? allocate_inside(b, from) : nullptr;
        if (memory != nullptr) {
            if (b.protect(memory, true)) { return sealer_.make_live(b, memory); }
            inner_.deallocate(memory, b.whole_size(), b.whole_align());
        }
        page_guard_count_.fetch_sub(1, detail::memory_order::relaxed);
        return nullptr;
    }
    /// The block waits, or goes back; where it takes a place, the block that had it goes back.
    void retire(void* p, const detail::sealed_block& b) noexcept {
        sealer_.make_freed(b, p);
        void* const leaves = b.waits() ? places_.replace(p) : p;
        if (leaves != nullptr) { give_back(leaves); }
    }
    /// Looks at a freed block a last time: late writes are found here. A block whose guard page the
    /// system does not lift is lost: nothing could write there.
    void give_back(void* p) noexcept {
        const detail::sealed_block b = sealer_.make_left(p);
        std::byte* const memory = detail::sealer::open(b, p);
        if (b.page_guarded) [[unlikely]] {
            page_guard_count_.fetch_sub(1, detail::memory_order::relaxed);
            if (memory == nullptr) { return; }
        }
        inner_.deallocate(memory, b.whole_size(), b.whole_align());
    }

    detail::sealer sealer_;
    hardened_options how_;
    detail::random_places places_;
    detail::atomic<std::size_t> page_guard_count_{0};
};

template <class A>
hardened(A&) -> hardened<A&>;
template <class A>
hardened(A&, hardened_options) -> hardened<A&>;
hardened(allocator_ref) -> hardened<allocator_ref>;
hardened(allocator_ref, hardened_options) -> hardened<allocator_ref>;

}}  // namespace cairn::CAIRN_FLAVOUR
