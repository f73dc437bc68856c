// cairn/core/byte_allocator.hpp - what every allocator promises; the contract of the library.
//
//      void* p = a.allocate(size, align);     nullptr: exhausted, and `a` is unchanged
//      a.deallocate(p, size, align);          with what allocate was called with
//
// Bytes, not objects: an allocator never runs a constructor or a destructor (make.hpp does).
// Everything else is optional and found by `requires`; an allocator needs no stubs.
//
// A wrapper around an allocator keeps them too: the same calls are legal with both.
//
// The shared promises, tested by tests/support/allocator_contract.hpp:
//   - the address is a multiple of `align`, blocks never overlap, and they stay where they are;
//   - size 0 gives a non-null pointer that may be freed and not read through;
//   - nullptr may be freed, with any size and alignment, and that does nothing;
//   - an absurd size (SIZE_MAX) is refused and costs no block of the upstream;
//   - when the upstream is exhausted the allocator is unchanged and goes on working;
//   - every block goes back to the upstream.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Bytes in, bytes out. References to allocators model it too: wrappers hold an `A` or an `A&`.
template <class A>
concept byte_allocator =
    requires(std::remove_reference_t<A>& a, void* p, std::size_t size, alignment align) {
        { a.allocate(size, align) } noexcept -> std::same_as<void*>;
        { a.deallocate(p, size, align) } noexcept;
    };

/// Can change the size of a live block in place. Never moves; false: nothing changed.
/// After true, the block is to be freed with the new size.
template <class A>
concept resizes_in_place =
    requires(std::remove_reference_t<A>& a, void* p, std::size_t size, alignment align) {
        { a.try_resize(p, size, size, align) } noexcept -> std::same_as<bool>;
    };

/// Knows what a request really occupies: asking for good_size(n) costs no more than asking for n.
template <class A>
concept has_good_size =
    requires(const std::remove_reference_t<A>& a, std::size_t size, alignment align) {
        { a.good_size(size, align) } noexcept -> std::same_as<std::size_t>;
    };

/// Can say whether an address lies in memory that it manages.
template <class A>
concept has_owns = requires(const std::remove_reference_t<A>& a, const void* p) {
    { a.owns(p) } noexcept -> std::same_as<bool>;
};

/// Can forget everything at once.
template <class A>
concept resettable = requires(std::remove_reference_t<A>& a) {
    { a.reset() } noexcept;
};

/// Can check its own invariants; broken ones stop a checked build.
template <class A>
concept validatable = requires(const std::remove_reference_t<A>& a) {
    { a.validate() } noexcept;
};

/// Has markers: rewind(mark()) forgets what came in between.
template <class A>
concept markable = requires(std::remove_reference_t<A>& a) { a.rewind(a.mark()); };

}}  // namespace cairn::CAIRN_FLAVOUR
