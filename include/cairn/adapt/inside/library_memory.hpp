// cairn/adapt/inside/library_memory.hpp - what the adapters share: memory that never ends, and the
// end of a program whose library does not check for nullptr.
#pragma once

#include <cstddef>
#include <new>

#include <cairn/core/byte_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// An A that is made at its first use and never ends, one for each `Library`: the default of an
/// adapter whose library may free memory in destructors of static objects.
template <byte_allocator A, class Library>
[[nodiscard]] A& never_ended() noexcept {
    alignas(A) static std::byte place[sizeof(A)];
    static A* const memory = ::new (static_cast<void*>(place)) A;
    return *memory;
}

/// Bytes that may be live in `a`; 0 where it has no such limit (budget has one).
template <class A>
[[nodiscard]] std::size_t limit_of(const A& a) noexcept {
    if constexpr (requires { a.limit_size(); }) {
        return a.limit_size();
    } else {
        return 0;
    }
}

/// Prints that `library` asked the memory `name` for `size` bytes and was refused, with the limit
/// where it is not 0, and aborts.
[[noreturn]] void end_for_library(const char* library, const char* name, std::size_t size,
                                  std::size_t limit) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
