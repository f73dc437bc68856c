// cairn/core/poison.hpp - reports free bytes to the memory checkers.
//
// Every allocator poisons the bytes that it has not handed out. A use after free of cairn memory is
// then a report with a stack trace, not luck:
//
//      +-----------+--------+-----------+------------------+
//      | allocated | freed  | allocated | never given out  |
//      +-----------+--------+-----------+------------------+
//        readable   poisoned  readable    poisoned
//
//   AddressSanitizer   found by the compiler's own macro; exact to the byte at the end of a range.
//   Valgrind memcheck  in checked builds (CAIRN_ASSERTS) of a library that was compiled where
//                      <valgrind/memcheck.h> is installed. A program asks once, as it starts,
//                      whether Valgrind runs it; where it does not, each function is a load and a
//                      branch that is never taken (docs/decisions/0005-how-a-check-is-cheap.md).
//   otherwise          nothing: the functions are empty and vanish.
//
// This is the only file with sanitizer code. Ranges should begin at a multiple of 8 bytes: ASan
// cannot poison the first half of an 8-byte granule.
#pragma once

#include <cstddef>

#include <cairn/core/assert.hpp>

#if !CAIRN_DETAIL_ASAN && CAIRN_ASSERTS && !defined(_WIN32)
#    define CAIRN_DETAIL_VALGRIND 1
#else
#    define CAIRN_DETAIL_VALGRIND 0
#endif

#if CAIRN_DETAIL_ASAN
extern "C" {
void __asan_poison_memory_region(void const volatile* address, std::size_t size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
int __asan_address_is_poisoned(void const volatile* address);
}
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR {

#if CAIRN_DETAIL_VALGRIND
namespace detail {

/// Set once, before the constructors of static objects run.
CAIRN_DETAIL_MODULE_LOCAL extern bool on_valgrind;

// The requests, out of line: Valgrind is not there, nearly always.
void tell_no_access(const void* address, std::size_t size) noexcept;
void tell_undefined(const void* address, std::size_t size) noexcept;
void tell_defined(const void* address, std::size_t size) noexcept;
unsigned tell_description(const void* address, std::size_t size, const char* text) noexcept;
void tell_forget(unsigned number) noexcept;

}  // namespace detail
#endif

namespace detail {

/// True when poisoned bytes may be watched by a checker: AddressSanitizer, or Valgrind when it runs
/// the program.
inline constexpr bool poison_is_watched = CAIRN_DETAIL_ASAN != 0 || CAIRN_DETAIL_VALGRIND != 0;

/// True when AddressSanitizer is compiled in: is_poisoned() then answers.
inline constexpr bool poison_is_queryable = CAIRN_DETAIL_ASAN != 0;

/// True when a checker watches poisoned bytes in this run of the program.
[[nodiscard]] [[CAIRN_FORCE_INLINE]] inline bool poison_is_seen() noexcept {
#if CAIRN_DETAIL_VALGRIND
    return on_valgrind;
#else
    return poison_is_watched;
#endif
}

}  // namespace detail

/// From now on a read or write in [address, address + size) is an error, until it is unpoisoned.
[[CAIRN_FORCE_INLINE]] inline void poison([[maybe_unused]] const void* address,
                                          [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_poison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    if (detail::on_valgrind) [[unlikely]] { detail::tell_no_access(address, size); }
#endif
}

/// The bytes are in use again; their content is undefined.
[[CAIRN_FORCE_INLINE]] inline void unpoison([[maybe_unused]] const void* address,
                                            [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_unpoison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    if (detail::on_valgrind) [[unlikely]] { detail::tell_undefined(address, size); }
#endif
}

namespace detail {

/// The bytes are in use and hold data that the allocator itself put there (a free-list
/// link, a header): readable, and their content counts as defined.
[[CAIRN_FORCE_INLINE]] inline void unpoison_defined([[maybe_unused]] const void* address,
                                                    [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_unpoison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    if (on_valgrind) [[unlikely]] { tell_defined(address, size); }
#endif
}

/// Gives these bytes a name in Valgrind's reports; Valgrind copies `description`.
/// Returns: a number for forget_description(); 0 where Valgrind does not run.
[[nodiscard]] inline unsigned describe_memory([[maybe_unused]] const void* address,
                                              [[maybe_unused]] std::size_t size,
                                              [[maybe_unused]] const char* description) noexcept {
#if CAIRN_DETAIL_VALGRIND
    return on_valgrind ? tell_description(address, size, description) : 0;
#else
    return 0;
#endif
}

/// The bytes have no name any more; 0 does nothing.
inline void forget_description([[maybe_unused]] unsigned number) noexcept {
#if CAIRN_DETAIL_VALGRIND
    if (number != 0) { tell_forget(number); }
#endif
}

}  // namespace detail

/// True when AddressSanitizer watches this byte. Always false where poison_is_queryable is false.
[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* address) noexcept {
#if CAIRN_DETAIL_ASAN
    return __asan_address_is_poisoned(address) != 0;
#else
    return false;
#endif
}

}}  // namespace cairn::CAIRN_FLAVOUR
