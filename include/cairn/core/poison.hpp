// cairn/core/poison.hpp - tells the memory checkers which bytes are free.
//
// Every allocator poisons what it holds and has not given out. A use after free of cairn memory is
// then a report with a stack trace, not luck:
//
//      +-----------+--------+-----------+------------------+
//      | allocated | freed  | allocated | never given out  |
//      +-----------+--------+-----------+------------------+
//        readable   poisoned  readable    poisoned
//
//   AddressSanitizer   found by the compiler's own macro; exact to the byte at the end of a range.
//   Valgrind memcheck  in checked builds (CAIRN_ASSERTS) when <valgrind/memcheck.h> is installed.
//                      Release builds carry no client requests: six instructions on every hot path
//                      is too much for a tool that is not running.
//   otherwise          nothing: the functions are empty and vanish.
//
// This is the only file with sanitizer code. Ranges should begin at a multiple of 8 bytes: ASan
// cannot poison the first half of an 8-byte granule.
#pragma once

#include <cstddef>

#include <cairn/core/assert.hpp>

#if !CAIRN_DETAIL_ASAN && CAIRN_ASSERTS && defined(__has_include)
#    if __has_include(<valgrind/memcheck.h>)
#        include <valgrind/memcheck.h>
#        define CAIRN_DETAIL_VALGRIND 1
#    endif
#endif
#if !defined(CAIRN_DETAIL_VALGRIND)
#    define CAIRN_DETAIL_VALGRIND 0
#endif

#if CAIRN_DETAIL_ASAN
extern "C" {
void __asan_poison_memory_region(void const volatile* address, std::size_t size);
void __asan_unpoison_memory_region(void const volatile* address, std::size_t size);
int __asan_address_is_poisoned(void const volatile* address);
}
#endif

namespace cairn::inline CAIRN_FLAVOUR {

/// True when poisoned bytes are watched by a checker compiled in here.
inline constexpr bool poison_is_watched = CAIRN_DETAIL_ASAN != 0 || CAIRN_DETAIL_VALGRIND != 0;

/// True when AddressSanitizer is compiled in: is_poisoned() then answers.
inline constexpr bool poison_is_queryable = CAIRN_DETAIL_ASAN != 0;

/// From now on a read or write in [address, address + size) is an error, until it is unpoisoned.
inline void poison([[maybe_unused]] const void* address,
                   [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_poison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    (void)VALGRIND_MAKE_MEM_NOACCESS(address, size);
#endif
}

/// The bytes are in use again; their content is undefined.
inline void unpoison([[maybe_unused]] const void* address,
                     [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_unpoison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    (void)VALGRIND_MAKE_MEM_UNDEFINED(address, size);
#endif
}

/// The bytes are in use and hold data that the allocator itself put there (a free-list
/// link, a header): readable, and their content counts as defined.
inline void unpoison_defined([[maybe_unused]] const void* address,
                             [[maybe_unused]] std::size_t size) noexcept {
#if CAIRN_DETAIL_ASAN
    __asan_unpoison_memory_region(address, size);
#elif CAIRN_DETAIL_VALGRIND
    (void)VALGRIND_MAKE_MEM_DEFINED(address, size);
#endif
}

/// Tells Valgrind what its reports shall call these bytes; it copies `description`.
/// Returns: a number for forget_description(); 0 where Valgrind is not told anything.
[[nodiscard]] inline unsigned describe_memory([[maybe_unused]] const void* address,
                                              [[maybe_unused]] std::size_t size,
                                              [[maybe_unused]] const char* description) noexcept {
#if CAIRN_DETAIL_VALGRIND
    return static_cast<unsigned>(VALGRIND_CREATE_BLOCK(address, size, description)) + 1;
#else
    return 0;
#endif
}

/// The bytes have no name any more; 0 does nothing.
inline void forget_description([[maybe_unused]] unsigned number) noexcept {
#if CAIRN_DETAIL_VALGRIND
    if (number != 0) { (void)VALGRIND_DISCARD(number - 1); }
#endif
}

/// True when AddressSanitizer watches this byte. Always false where poison_is_queryable is false.
[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* address) noexcept {
#if CAIRN_DETAIL_ASAN
    return __asan_address_is_poisoned(address) != 0;
#else
    return false;
#endif
}

}  // namespace cairn::inline CAIRN_FLAVOUR
