// What a process under another malloc checks: no test framework, which would allocate.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void expect_failed(const char* condition, int line) {
    std::fprintf(stderr, "line %d: expected %s\n", line, condition);
    std::_Exit(1);
}
#define EXPECT(condition) ((condition) ? void() : expect_failed(#condition, __LINE__))
