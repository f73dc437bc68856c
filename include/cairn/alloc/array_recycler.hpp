// cairn/alloc/array_recycler.hpp - an arena whose dead arrays serve again.
//
//      free_[5]: 32-byte blocks   -> [ next | ... ] -> [ next | ... ]
//      free_[6]: 64-byte blocks   -> [ next | ..................... ]
//      free_[7]: 128-byte blocks       the links lie in the freed memory itself
//
// A vector that grows inside an arena leaves its old arrays behind: 1 + 2 + 4 + ... elements, as
// much again as it holds. This wrapper keeps them in one list per power of two and hands them to
// the next vector that outgrows its own. (The idea is protobuf's and LLVM's ArrayRecycler.)
//
//      cairn::growing_arena memory;
//      cairn::array_recycler frame{memory};         // array_recycler<growing_arena&>
//      std::vector<int, cairn::std_allocator<int, decltype(frame)>> v{frame};
//
//      class parser { cairn::array_recycler<cairn::growing_arena> arrays; ... };    // a member
//
// Cost:     allocate: one compare and one list head more than the arena; sizes are rounded up to
//           powers of two, so use it for arrays that double, not for single objects. A free in a
//           checked build asks the arena's owns(): O(blocks) in a growing_arena.
// Overhead: 41 list heads in the wrapper; no headers.
// mark, rewind and reset empty the lists. What they hold may lie in the part that a rewind forgets;
// and an array older than a mark, given out again behind it and freed as the last block, would make
// the arena shrink below the mark. So mark and rewind the wrapper, not the arena behind its back,
// and put no arena_scope on that arena while arrays are freed through the wrapper.
// Threads:  none.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/arena_checks.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/forwards.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// What a checked build writes into an array that waits: a second free reads it there.
class recycled_stamp {
public:
    recycled_stamp() = default;
#if CAIRN_ASSERTS
    explicit recycled_stamp(const void* p) noexcept : word_{~reinterpret_cast<std::uintptr_t>(p)} {}
    [[nodiscard]] bool is_of(const void* p) const noexcept {
        return word_ == ~reinterpret_cast<std::uintptr_t>(p);
    }

private:
    std::uintptr_t word_ = 0;
#else
    explicit recycled_stamp(const void*) noexcept {}
    [[nodiscard]] static bool is_of(const void*) noexcept { return false; }
#endif
};

}  // namespace detail

/// Owns an arena A, or refers to one (`array_recycler{a}` is `array_recycler<A&>`).
template <byte_allocator A>
class array_recycler : public detail::forwards<A> {
    using base = detail::forwards<A>;
    using base::inner_;

public:
    using base::base;

    /// As A::allocate, from the list of its size first. O(1).
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        if (size > recycled_size_max || align > default_alignment) [[unlikely]] {
            return inner_.allocate(size, align);
        }
        const std::size_t rounded = good_size(size, align);
        link*& head = free_[detail::floor_log2(rounded)];
        if (head == nullptr) { return allocate_new(rounded, align); }
        link* const reused = head;
        detail::unpoison_defined(reused, sizeof(link));
        head = reused->next;
        reused->stamp = {};
        cairn::unpoison(reused, size);
        return reused;
    }

    /// Requires: as A::deallocate. The last block goes back to the arena, any other one to its
    /// list; nullptr does nothing. Checked builds stop at a second free, and where the arena does.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    [[maybe_unused]] call_site from = call_site::current()) noexcept {
        if (p == nullptr) [[unlikely]] { return; }
        if (size > recycled_size_max || align > default_alignment) [[unlikely]] {
            detail::deallocate_for(inner_, p, size, align, from);
            return;
        }
        const std::size_t rounded = good_size(size, align);
        const bool is_last = inner_.is_last(p, rounded);
        if constexpr (asserts_enabled) { check_freed(p, rounded, from); }
        if (is_last) {
            detail::deallocate_for(inner_, p, rounded, align, from);
            return;
        }
        link*& head = free_[detail::floor_log2(rounded)];
        detail::unpoison_defined(p, sizeof(link));
        head = ::new (p) link{head, detail::recycled_stamp(p)};
        poison(p, rounded);
    }

    /// In place within the power of two, or at the tip of the arena.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        if (new_size > recycled_size_max || old_size > recycled_size_max ||
            align > default_alignment) {
            return false;
        }
        const std::size_t old_rounded = good_size(old_size, align);
        const std::size_t new_rounded = good_size(new_size, align);
        if (new_rounded != old_rounded &&
            (!inner_.is_last(p, old_rounded) ||
             !inner_.try_resize(p, old_rounded, new_rounded, align))) {
            return false;
        }
        if (new_size > old_size) {
            detail::unpoison_defined(static_cast<std::byte*>(p) + old_size, new_size - old_size);
        }
        return true;
    }

    /// The power of two that a request occupies, 16 at least.
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return size > recycled_size_max ? size : std::bit_ceil(size < 16 ? std::size_t{16} : size);
    }

    [[nodiscard]] bool is_last(const void* p, std::size_t size) const noexcept {
        return inner_.is_last(p, good_size(size, default_alignment));
    }

    [[nodiscard]] auto mark() noexcept {
        forget();
        return inner_.mark();
    }
    template <class Marker>
    void rewind(const Marker& to) noexcept {
        forget();
        inner_.rewind(to);
    }
    void reset() noexcept {
        forget();
        inner_.reset();
    }

private:
    struct link {
        link* next;
        [[CAIRN_NO_UNIQUE_ADDRESS]] detail::recycled_stamp stamp;  // of checked builds
    };
    static_assert(sizeof(link) <= 16);  // of the smallest array
    static constexpr std::size_t recycled_size_max = std::size_t{1} << 40;

    /// A block of the arena. An array that was there before a rewind may have left its stamp: each
    /// free would look through all lists for it. Checked builds clear it.
    [[nodiscard]] void* allocate_new(std::size_t rounded, alignment align) noexcept {
        void* const p = inner_.allocate(rounded, align);
        if constexpr (asserts_enabled) {
            if (p != nullptr) {
                ::new (p) link{};
                cairn::unpoison(p, sizeof(link));
            }
        }
        return p;
    }

    /// Asserts that `p` is a live array, as far as the arena can tell, and is in no list.
    void check_freed(void* p, [[maybe_unused]] std::size_t rounded,
                     [[maybe_unused]] call_site from) const noexcept {
        if constexpr (has_owns<A>) {
            CAIRN_ASSERT(inner_.owns(p),
                         "a block comes back to the arena that it was allocated from",
                         about(misuse_kind::foreign_pointer, from));
        }
        CAIRN_ASSERT(detail::arena_access::reaches(inner_, p, rounded),
                     "a block is freed once, with its size, before its arena was rewound",
                     about(misuse_kind::outlived, from));
        detail::unpoison_defined(p, sizeof(link));
        CAIRN_ASSERT(!static_cast<const link*>(p)->stamp.is_of(p) || !is_listed(p),
                     "an array is freed once", about(misuse_kind::double_free, from));
    }
    [[nodiscard]] detail::evidence about(misuse_kind kind, call_site from) const noexcept {
        return {.kind = kind,
                .object = this,
                .type = "array_recycler",
                .name = detail::arena_access::name(inner_),
                .caller = from};
    }
    [[nodiscard]] bool is_listed(const void* p) const noexcept {
        for (const link* at : free_) {
            while (at != nullptr && at != p) {
                detail::unpoison_defined(at, sizeof(link));
                at = at->next;
            }
            if (at != nullptr) { return true; }
        }
        return false;
    }
    void forget() noexcept {
        for (link*& head : free_) { head = nullptr; }
    }

    link* free_[41] = {};  // by log2 of the size
};

template <class A>
array_recycler(A&) -> array_recycler<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
