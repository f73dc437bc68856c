// Sentences of cairn/std/inside/bad_alloc.hpp. Without exceptions: no_exceptions_test.cpp.
#include <cairn/std/inside/bad_alloc.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

using namespace cairn;

TEST(bad_alloc, no_memory_and_a_size_that_does_not_exist_are_two_exceptions) {
    EXPECT_THROW(detail::throw_bad_alloc(), std::bad_alloc);
    EXPECT_THROW(detail::throw_bad_array_length(), std::bad_array_new_length);
}

TEST(bad_alloc, is_what_a_program_with_exceptions_gets) {
    try {
        detail::refuse(100, alignment{16});
    } catch (const std::bad_array_new_length&) {
        FAIL() << "the size exists";
    } catch (const std::bad_alloc&) {}
    EXPECT_THROW(detail::refuse_length(SIZE_MAX, alignment{16}), std::bad_array_new_length);
}
