// tests/support/precompiled.hpp - what the test programs share, parsed once: GoogleTest, the standard
// headers that most of them include, and which templates of both are not to be compiled in every
// program. Left out where nothing is precompiled (tests/CMakeLists.txt); no test includes it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <support/expectations.hpp>

// libstdc++ has std::string compiled, but for C++17 only: each C++20 program would compile its own.
#if defined(__GLIBCXX__)
#    if defined(CAIRN_TEST_ONCE)
#        define CAIRN_TEST_TEMPLATE_OF_STD template
#    else
#        define CAIRN_TEST_TEMPLATE_OF_STD extern template
#    endif
CAIRN_TEST_TEMPLATE_OF_STD class std::basic_string<char>;
CAIRN_TEST_TEMPLATE_OF_STD class std::unique_ptr<std::string>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<int>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<unsigned>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<std::size_t>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<void*>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<std::byte*>;
CAIRN_TEST_TEMPLATE_OF_STD class std::vector<std::string>;
CAIRN_TEST_TEMPLATE_OF_STD class std::mersenne_twister_engine<
    std::mt19937::result_type, 32, 624, 397, 31, 0x9908b0df, 11, 0xffffffff, 7, 0x9d2c5680, 15,
    0xefc60000, 18, 1812433253>;
#endif
