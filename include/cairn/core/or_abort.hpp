// cairn/core/or_abort.hpp - for people who never want to check for nullptr.
//
//      cairn::or_abort memory{heap};             // refers to `heap`
//      void* p = memory.allocate(100, align);    // never null: out of memory ends the program
//
// Cost: one predictable branch on top of the allocator inside.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace detail {
/// Prints what was asked for to stderr and aborts.
[[noreturn]] void out_of_memory(std::size_t size, alignment align) noexcept;
}  // namespace detail

/// Owns an A (`or_abort<pool>{args...}`) or refers to one (`or_abort{a}` is `or_abort<A&>`).
template <byte_allocator A>
class or_abort {
public:
    template <class... Args>
        requires std::is_constructible_v<A, Args...>
    explicit or_abort(Args&&... args) : inner_(static_cast<Args&&>(args)...) {}

    /// Returns: never nullptr. Prints what was asked for and aborts when the allocator is exhausted.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        if (void* const p = inner_.allocate(size, align)) [[likely]] { return p; }
        detail::out_of_memory(size, align);
    }

    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept {
        inner_.deallocate(p, size, align);
    }

    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        return inner_.try_resize(p, old_size, new_size, align);
    }

    [[nodiscard]] std::size_t good_size(std::size_t size, alignment align) const noexcept
        requires has_good_size<A>
    {
        return inner_.good_size(size, align);
    }

    [[nodiscard]] bool owns(const void* p) const noexcept
        requires has_owns<A>
    {
        return inner_.owns(p);
    }

    [[nodiscard]] std::remove_reference_t<A>& inner() noexcept { return inner_; }

private:
    A inner_;
};

template <class A>
or_abort(A&) -> or_abort<A&>;

}  // namespace cairn::inline CAIRN_FLAVOUR
