// mingw's <math.h>, and the overloads for C++ that Microsoft's has.
#pragma once
#include_next <math.h>
#if defined(__cplusplus)
#    undef signbit
extern "C++" {
template <class T>
bool signbit(T x) {
    return __builtin_signbit(x);
}
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
}
#endif
