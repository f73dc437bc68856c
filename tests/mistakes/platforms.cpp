// What cairn is not written for is refused in its first line. Parsed without the precompiled
// header.

//= mistake: C++17
//= says: cairn needs C++20: compile with -std=c++20 or newer
//= with: -std=c++17
#include <cairn/alloc/arena.hpp>

//= mistake: a processor of 32 bits
//= says: cairn needs 64-bit pointers
//= with: --target=i686-linux-gnu
//= only: clang
#include <cairn/core/inside/flavour.hpp>

//= mistake: a big-endian processor
//= says: cairn needs a little-endian processor
//= with: --target=s390x-linux-gnu
//= only: clang
#include <cairn/core/inside/flavour.hpp>

//= mistake: the compiler of Microsoft
//= says: cairn was never compiled by Visual C++: use clang-cl, or define CAIRN_UNTESTED_COMPILER=1
//= with: -D_MSC_VER=1940
//= only: gcc
#include <cairn/core/inside/flavour.hpp>

//= mistake: an older compiler of Microsoft, whatever the program defines
//= says: cairn needs Visual C++ 19.38 (Visual Studio 2022 17.8) or newer, or clang-cl 18
//= with: -D_MSC_VER=1937 -DCAIRN_UNTESTED_COMPILER=1
//= only: gcc
#include <cairn/core/inside/flavour.hpp>

//= mistake: the compiler of Microsoft for C++17, whose __cplusplus says nothing
//= says: cairn needs C++20
//= with: -D_MSC_VER=1940 -D_MSVC_LANG=201703L -DCAIRN_UNTESTED_COMPILER=1
//= only: gcc
#include <cairn/core/inside/supported.hpp>

//= fine: the compiler of Microsoft, where the program takes what was never compiled by it
//= with: -D_MSC_VER=1940 -D_MSVC_LANG=202002L -D_WIN64 -DCAIRN_UNTESTED_COMPILER=1
//= only: gcc
#include <cairn/core/inside/supported.hpp>

//= mistake: an older clang-cl
//= says: cairn needs clang-cl 18 or newer for the Microsoft ABI: this clang is older
//= with: -D_MSC_VER=1940 -U__clang_major__ -D__clang_major__=17
//= only: clang
#include <cairn/core/inside/flavour.hpp>

//= mistake: an older gcc
//= says: cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this gcc is older
//= with: -U__GNUC__ -D__GNUC__=11
//= only: gcc
#include <cairn/core/inside/flavour.hpp>

//= mistake: gcc on Windows, whose thread-local memory goes too early
//= says: cairn needs clang or gcc 16 on Windows
//= with: -D__MINGW32__
//= only: gcc
#include <cairn/core/inside/flavour.hpp>

//= mistake: an older clang
//= says: cairn needs gcc 12, clang 16 or Apple clang 15, or newer: this clang is older
//= with: -U__clang_major__ -D__clang_major__=15
//= only: clang
#include <cairn/core/inside/flavour.hpp>

//= fine: cache lines of 128 bytes on Apple's arm64
//= with: -Wall
#include <bit>
#include <cairn/core/assert.hpp>
#include <cstddef>
#include <cstdint>
#if !defined(__APPLE__)
#    define __APPLE__ 1
#endif
#if !defined(__aarch64__)
#    define __aarch64__ 1
#endif
#include <cairn/core/alignment.hpp>
static_assert(cairn::cache_line_size == 128 && cairn::detail::cache_line_alignment.bytes() == 128);
