// expect_broken_promise with doctest, where that is installed.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
//
#include "expect_broken_promise_case.hpp"
