// Included in front of each unit by tools/prove-msvc-abi: lets clang read the C headers of mingw-w64
// with the ABI of Microsoft, whose own headers need a licence. Not part of cairn.
//
// mingw's headers know two compilers: gcc, for which attributes stand behind a declaration, and
// Microsoft's, for which __attribute__ is nothing and __declspec stands in front. Here both are
// needed: the ABI is Microsoft's and the compiler is clang.
#pragma once

#define _CRT_RAND_S  // for rand_s(), of which libc++ makes its random_device
#include <_mingw.h>

#undef __attribute__  // clang's attributes are attributes
#undef __MINGW_ATTRIB_NORETURN
#undef __MINGW_ATTRIB_NONNULL
#undef __MINGW_ATTRIB_DEPRECATED
#undef __MINGW_ATTRIB_DEPRECATED_MSVC2005
#undef __MINGW_ATTRIB_DEPRECATED_SEC_WARN
#undef __MINGW_ATTRIB_DEPRECATED_STR
#undef __MINGW_NOTHROW
#undef __nothrow
#define __MINGW_ATTRIB_NORETURN
#define __MINGW_ATTRIB_NONNULL(argument)
#define __MINGW_ATTRIB_DEPRECATED
#define __MINGW_ATTRIB_DEPRECATED_MSVC2005
#define __MINGW_ATTRIB_DEPRECATED_SEC_WARN
#define __MINGW_ATTRIB_DEPRECATED_STR(text)
#define __MINGW_NOTHROW
#define __nothrow

#if defined(__cplusplus)
extern "C" {
__declspec(noreturn) void __cdecl abort();
__declspec(noreturn) void __cdecl exit(int);
__declspec(noreturn) void __cdecl _exit(int);
}
#endif

// clang's <intrin.h> declares it otherwise.
#define __intrinsic_setjmpex mingw_setjmpex
#include <setjmp.h>
#undef __intrinsic_setjmpex

#if defined(__cplusplus)
#    include <locale.h>
#    include <math.h>
#    include <stdlib.h>
#    include <wchar.h>

extern "C" {
int ___mb_cur_max_l_func(_locale_t);
float _strtof_l(const char*, char**, _locale_t);
long double _strtold_l(const char*, char**, _locale_t);
}

// libc++ expects what Microsoft's <math.h> has: functions where mingw has macros.
#    undef fpclassify
#    undef isfinite
#    undef isinf
#    undef isnan
#    undef isnormal
#    undef signbit
#    undef isgreater
#    undef isgreaterequal
#    undef isless
#    undef islessequal
#    undef islessgreater
#    undef isunordered
template <class T>
int fpclassify(T x) {
    return __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x);
}
#    define CAIRN_TEST_MATH(name)       \
        template <class T>              \
        bool name(T x) {                \
            return __builtin_##name(x); \
        }
#    define CAIRN_TEST_MATH_2(name)        \
        template <class T, class U>        \
        bool name(T x, U y) {              \
            return __builtin_##name(x, y); \
        }
CAIRN_TEST_MATH(isfinite)
CAIRN_TEST_MATH(isinf)
CAIRN_TEST_MATH(isnan)
CAIRN_TEST_MATH(isnormal)
CAIRN_TEST_MATH_2(isgreater)
CAIRN_TEST_MATH_2(isgreaterequal)
CAIRN_TEST_MATH_2(isless)
CAIRN_TEST_MATH_2(islessequal)
CAIRN_TEST_MATH_2(islessgreater)
CAIRN_TEST_MATH_2(isunordered)
#endif
