// expect_broken_promise with Catch2, version 2 or 3, where that is installed.
#if __has_include(<catch2/catch_test_macros.hpp>)
#    include <catch2/catch_test_macros.hpp>
#else
#    define CATCH_CONFIG_MAIN
#    include <catch2/catch.hpp>
#endif
//
#include "expect_broken_promise_case.hpp"
