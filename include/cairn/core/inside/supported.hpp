// cairn/core/inside/supported.hpp - what cairn is written for; anything else is refused in one
// sentence.
//
//      C++20; gcc 12, clang 16, Apple clang 15, or newer; 64-bit pointers; little endian
//      on Windows clang, or gcc 16: older gcc emulates thread-local variables there and frees a
//      thread's before their destructors run (its PR 80816)
//      for the Microsoft ABI clang-cl 18, the first with [[msvc::no_unique_address]]
//      MSVC 2022 17.8 (19.38), where the program defines CAIRN_UNTESTED_COMPILER as 1
//
// Heaps keep two halves of a word where a little-endian load finds both, handles and counts are 64
// bits wide. What is tested, where and by which command: docs/platforms.md.
#pragma once

#if defined(_MSC_VER) && defined(__clang__)
#    if __clang_major__ < 18
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs clang-cl 18 or newer for the Microsoft ABI: this clang is older"
#    endif
#elif defined(_MSC_VER)
#    if _MSC_VER < 1938
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs Visual C++ 19.38 (Visual Studio 2022 17.8) or newer, or clang-cl 18"
#    elif !defined(CAIRN_UNTESTED_COMPILER) || !CAIRN_UNTESTED_COMPILER
#        define CAIRN_DETAIL_UNSUPPORTED
#        error \
            "cairn was never compiled by Visual C++: use clang-cl, or define \
CAIRN_UNTESTED_COMPILER=1 and run cairn's tests, which docs/guides/windows.md names"
#    endif
#elif defined(__apple_build_version__)
#    if __clang_major__ < 15
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this Apple clang is older"
#    endif
#elif defined(__clang__)
#    if __clang_major__ < 16
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this clang is older"
#    endif
#elif defined(__GNUC__)
#    if __GNUC__ < 12
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this gcc is older"
#    elif defined(__MINGW32__) && __GNUC__ < 16
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs clang or gcc 16 on Windows: this gcc loses what ending threads hold"
#    endif
#else
#    define CAIRN_DETAIL_UNSUPPORTED
#    error "cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this one is unknown"
#endif

// Visual C++ says which standard it compiles for in _MSVC_LANG: its __cplusplus is 199711 unless
// /Zc:__cplusplus is given. It has no macros for the size of pointers and the order of bytes: its
// targets of 64 bits are little-endian.
#if !defined(CAIRN_DETAIL_UNSUPPORTED)
#    if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs C++20: compile with -std=c++20 or newer (/std:c++20)"
#    elif defined(_MSC_VER) ? !defined(_WIN64) : __SIZEOF_POINTER__ != 8
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs 64-bit pointers: this target has others"
#    elif !defined(_MSC_VER) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#        define CAIRN_DETAIL_UNSUPPORTED
#        error "cairn needs a little-endian processor: this target is big-endian"
#    endif
#endif

// No such file: compilers stop here, before a hundred errors that follow from the one above.
#if defined(CAIRN_DETAIL_UNSUPPORTED)
#    include <what_cairn_needs_is_said_above>
#endif
