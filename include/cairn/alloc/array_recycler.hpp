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
//           powers of two, so use it for arrays that double, not for single objects.
// Overhead: 41 list heads in the wrapper; no headers.
// mark, rewind and reset empty the lists. What they hold may lie in the part that a rewind forgets;
// and an array older than a mark, given out again behind it and freed as the last block, would make
// the arena shrink below the mark. So mark and rewind the wrapper, not the arena behind its back,
// and put no arena_scope on that arena while arrays are freed through the wrapper.
// Threads:  none.
#pragma once

#include <bit>
#include <cstddef>

#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/forwards.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

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
        if (head == nullptr) { return inner_.allocate(rounded, align); }
        link* const reused = head;
        detail::unpoison_defined(reused, sizeof(link));
        head = reused->next;
        cairn::unpoison(reused, size);
        return reused;
    }

    /// Requires: as A::deallocate. The last block goes back to the arena, any other one to its
    /// list; nullptr does nothing.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        if (p == nullptr) [[unlikely]] { return; }
        if (size > recycled_size_max || align > default_alignment) [[unlikely]] {
            inner_.deallocate(p, size, align);
            return;
        }
        const std::size_t rounded = good_size(size, align);
        if (inner_.is_last(p, rounded)) {
            inner_.deallocate(p, rounded, align);
            return;
        }
        link*& head = free_[detail::floor_log2(rounded)];
        detail::unpoison_defined(p, sizeof(link));
        head = ::new (p) link{head};
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
    };
    static constexpr std::size_t recycled_size_max = std::size_t{1} << 40;

    void forget() noexcept {
        for (link*& head : free_) { head = nullptr; }
    }

    link* free_[41] = {};  // by log2 of the size
};

template <class A>
array_recycler(A&) -> array_recycler<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
