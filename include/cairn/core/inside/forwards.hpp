// cairn/core/inside/forwards.hpp - what a wrapper around an allocator does not change.
//
//      user                 wrapper : forwards<A>                     A
//       |  allocate(24)      |                                        |
//       |------------------->| its own allocate: counts, refuses ...  |
//       |                    |--------------------------------------->|
//       |  owns(p)           |                                        |
//       |------------------->| none of its own: forwards::owns ------>|
//
// A wrapper derives from it and writes the functions that it changes; these hide the ones here.
// Every operation is there exactly when A has it, so the concepts are true of the wrapper when they
// are true of A. `Around` is held during each call (locked.hpp: a mutex).
//
// Cost:    none: inlined.
// Threads: those of A, unless `Around` says otherwise.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/allocator_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Calls pass through with nothing around them.
struct straight {
    struct scope {
        explicit scope(straight&) noexcept {}
    };
};

/// Owns an A, or refers to one where A is a reference type.
/// The allocator in a wrapper, also in one that does not show it (locked, guarded).
struct wrapped_in {
    template <class W>
    [[nodiscard]] static const auto& of(const W& wrapper) noexcept
        requires requires { wrapper.inner(); }
    {
        return wrapper.inner();
    }
    template <class W>
    [[nodiscard]] static const auto& of(const W& wrapper) noexcept
        requires(
            !requires { wrapper.inner(); } && requires { wrapper.inner_; })
    {
        return wrapper.inner_;
    }
};

template <byte_allocator A, class Around = straight>
class forwards {
    using inner_type = std::remove_reference_t<A>;
    using scope = typename Around::scope;

public:
    template <class... Args>
        requires std::is_constructible_v<A, Args...>
    explicit forwards(Args&&... args) : inner_(static_cast<Args&&>(args)...) {}

    forwards(const forwards&) = delete;
    forwards& operator=(const forwards&) = delete;

    /// `from`, here and in the wrappers: the caller's line, for an A whose reports name lines.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment,
                                 call_site from = call_site::current()) noexcept {
        const scope held{around_};
        return detail::allocate_for(inner_, size, align, from);
    }
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) noexcept {
        const scope held{around_};
        detail::deallocate_for(inner_, p, size, align, from);
    }
    /// For allocators whose blocks know their size, or have only one.
    void deallocate(void* p, [[maybe_unused]] call_site from = call_site::current()) noexcept
        requires requires(inner_type& a) {
            { a.deallocate(p) } noexcept;
        }
    {
        const scope held{around_};
        if constexpr (requires { inner_.deallocate(p, from); }) {
            inner_.deallocate(p, from);
        } else {
            inner_.deallocate(p);
        }
    }
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept
        requires resizes_in_place<A>
    {
        const scope held{around_};
        return inner_.try_resize(p, old_size, new_size, align);
    }
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept
        requires has_good_size<A>
    {
        const scope held{around_};
        return inner_.good_size(size, align);
    }
    /// Bytes that do not come from here are counted by an A that counts.
    [[nodiscard]] bool try_charge(std::size_t size) noexcept
        requires counts_for_others<A>
    {
        const scope held{around_};
        return inner_.try_charge(size);
    }
    /// Takes bytes of try_charge() off the count.
    void refund(std::size_t size) noexcept
        requires counts_for_others<A>
    {
        const scope held{around_};
        inner_.refund(size);
    }
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept
        requires requires(const inner_type& a) {
            { a.usable_size(p) } noexcept -> std::same_as<std::size_t>;
        }
    {
        const scope held{around_};
        return inner_.usable_size(p);
    }
    [[nodiscard]] bool owns(const void* p) const noexcept
        requires has_owns<A>
    {
        const scope held{around_};
        return inner_.owns(p);
    }
    [[nodiscard]] auto mark() noexcept
        requires markable<A>
    {
        const scope held{around_};
        return inner_.mark();
    }
    template <class Marker>
    void rewind(const Marker& to) noexcept
        requires markable<A>
    {
        const scope held{around_};
        inner_.rewind(to);
    }
    void reset() noexcept
        requires resettable<A>
    {
        const scope held{around_};
        inner_.reset();
    }
    void validate() const noexcept
        requires validatable<A>
    {
        const scope held{around_};
        inner_.validate();
    }

    /// The allocator that is wrapped.
    [[nodiscard]] inner_type& inner() noexcept { return inner_; }
    [[nodiscard]] const inner_type& inner() const noexcept { return inner_; }

protected:
    friend struct wrapped_in;

    A inner_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] mutable Around around_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
