// cairn/core/or_abort.hpp - for people who never want to check for nullptr.
//
//      cairn::or_abort memory{heap};             // refers to `heap`
//      void* p = memory.allocate(100, align);    // never null: out of memory ends the program
//
// Cost: one predictable branch on top of the allocator inside.
#pragma once

#include <cstddef>

#include <cairn/core/inside/forwards.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {
/// Prints what was asked for to stderr and aborts.
[[noreturn]] void out_of_memory(std::size_t size, alignment align) noexcept;
}  // namespace detail

/// Owns an A (`or_abort<pool>{args...}`) or refers to one (`or_abort{a}` is `or_abort<A&>`).
template <byte_allocator A>
class or_abort : public detail::forwards<A> {
public:
    using detail::forwards<A>::forwards;

    /// Returns: never nullptr. Prints what was asked for and aborts when the allocator is
    /// exhausted.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment,
                                 call_site from = call_site::current()) noexcept {
        void* const p = detail::allocate_for(this->inner_, size, align, from);
        if (p != nullptr) [[likely]] { return p; }
        detail::out_of_memory(size, align);
    }
};

template <class A>
or_abort(A&) -> or_abort<A&>;

}}  // namespace cairn::CAIRN_FLAVOUR
