// cairn/std/inside/bad_alloc.hpp - where "nullptr" becomes std::bad_alloc.
//
// cairn says "no memory" with a null pointer; the interfaces of the standard library can only
// throw. The two functions below are the only places of the library that do. Out of line and cold:
// at the call there is one predictable branch, and nothing of exception handling is inlined.
//
// A program built with -fno-exceptions calls the other two instead: they print what was asked for
// to stderr and abort, as or_abort does. Which pair is called is decided where the header is
// included, so a program without exceptions can link a library that was built with them.
#pragma once

#include <cstddef>

#include <cairn/core/alignment.hpp>
#include <cairn/core/or_abort.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Throws std::bad_alloc.
[[noreturn]] void throw_bad_alloc();

/// Throws std::bad_array_new_length: the size in bytes of that many elements does not exist.
[[noreturn]] void throw_bad_array_length();

[[noreturn]] inline void refuse([[maybe_unused]] std::size_t size,
                                [[maybe_unused]] alignment align) {
#if defined(__cpp_exceptions)
    throw_bad_alloc();
#else
    out_of_memory(size, align);
#endif
}

[[noreturn]] inline void refuse_length([[maybe_unused]] std::size_t count,
                                       [[maybe_unused]] alignment align) {
#if defined(__cpp_exceptions)
    throw_bad_array_length();
#else
    out_of_memory(count, align);
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
