// Macros of <windows.h>, Qt, Unreal, X11, older C libraries and debuggers of malloc (_CRTDBG_MAP_ALLOC), defined
// in front of all of cairn. The headers of the standard library come first: they are other people's business.
#include "std_headers.inc"
// of uses.hpp
#include <algorithm>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define ERROR 0
#define IN
#define OUT
#define OPTIONAL
#define TRUE 1
#define FALSE 0
#define DELETE 0x00010000L
#define slots
#define signals public
#define emit
#define check(expression)     \
    {                         \
        if (!(expression)) {} \
    }
#define verify(expression)    \
    {                         \
        if (!(expression)) {} \
    }
#define ensure(expression) (!!(expression))
#define TEXT(text) L##text
#define FORCEINLINE inline
#define PI (3.1415926535897932f)
#define foreach(variable, list) for (variable : list)
#define forever for (;;)
#define None 0L
#define Bool int
#define Status int
#define Success 0
#define Always 2
#define _C 0x10
#define _B 0x20
#define U 1
#define malloc(size) others_malloc(size, __FILE__, __LINE__)
#define calloc(count, size) others_calloc(count, size, __FILE__, __LINE__)
#define realloc(p, size) others_realloc(p, size, __FILE__, __LINE__)
#define free(p) others_free(p, 1)
#define strdup(text) others_strdup(text, __FILE__, __LINE__)

#include "cairn/testing/expect_broken_promise.hpp"
#include "cairn_headers.inc"

namespace game {
#include "game.hpp"
}

#include "uses.hpp"

int main() { return user_code::use_all(); }
