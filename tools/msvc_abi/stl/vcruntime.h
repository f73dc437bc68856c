// What Microsoft's standard library expects of <vcruntime.h>, for tools/prove-msvc-abi --stl.
#pragma once
#define _VCRUNTIME_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sal.h>
#define _CRT_STRINGIZE_(x) #x
#define _CRT_STRINGIZE(x) _CRT_STRINGIZE_(x)
#define _CRT_WIDE_(s) L##s
#define _CRT_WIDE(s) _CRT_WIDE_(s)
#define _CRT_CONCATENATE_(a, b) a##b
#define _CRT_CONCATENATE(a, b) _CRT_CONCATENATE_(a, b)
#define _CRT_UNPARENTHESIZE_(...) __VA_ARGS__
#define _CRT_UNPARENTHESIZE(...) _CRT_UNPARENTHESIZE_ __VA_ARGS__
#define _CRT_BEGIN_C_HEADER extern "C" {
#define _CRT_END_C_HEADER }
#define _VCRTIMP __declspec(dllimport)
#define __CRTDECL __cdecl
#define __CLRCALL_OR_CDECL __cdecl
#define __CLRCALL_PURE_OR_CDECL __cdecl
#define __CLR_OR_THIS_CALL
#define _HAS_EXCEPTIONS 1
#define _HAS_CXX17 1
#define _HAS_CXX20 1
#define _HAS_CXX23 0
#define _HAS_CXX26 0
#define _STL_LANG 202002L
#define _MSVC_CONSTEXPR
#define _CRT_SATELLITE_1
#define _CRT_SATELLITE_2
#define _CRT_SATELLITE_CODECVT_IDS
#define _CRT_SATELLITE_CODECVT_IDS_NOIMPORT
#define _Deref_post_opt_valid_
#define _HAS_NODISCARD 1
#define _NODISCARD [[nodiscard]]
#define _CRT_GUARDOVERFLOW
#define _VCRT_ALIGN(x) __declspec(align(x))
#define _CRT_FUNCTIONS_REQUIRED 1
#define _ACRTIMP
#define _CRT_INSECURE_DEPRECATE(x)
#define __vcrt_bool bool
#define _UNALIGNED
