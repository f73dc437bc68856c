// Behaviours of cairn/std in a program without exceptions and RTTI: this file is always compiled
// with both off, whatever the library and the other tests are compiled with.
#include <cairn/core/null_allocator.hpp>
#include <cairn/std/pmr_resource.hpp>
#include <cairn/std/std_allocator.hpp>
#include <cairn/std/unique_in.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

#if defined(__cpp_exceptions)
#    error "this test is about life without exceptions"
#endif

TEST(no_exceptions, containers_and_pointers_work_as_ever) {
    test_upstream memory;
    {
        std::vector<int, std_allocator<int>> numbers{memory};
        for (int i = 0; i < 100; ++i) { numbers.push_back(i); }
        pmr_resource resource{memory};
        std::pmr::vector<int> more(numbers.begin(), numbers.end(), &resource);
        auto p = make_unique_in<int>(memory, 7);
        auto q = make_shared_in<int>(memory, 8);
        EXPECT_EQ(*p + *q + more[85], 100);
    }
    EXPECT_EQ(memory.live_count(), 0u);
    EXPECT_EQ(make_unique_in<int>(no_memory(), 7), nullptr);
}

TEST(no_exceptions, where_the_standard_would_throw_the_program_says_what_was_asked_for_and_ends) {
    std::vector<int, std_allocator<int>> numbers{no_memory()};
    EXPECT_DEATH(numbers.reserve(100), "out of memory: 400 bytes, aligned to 4");
    null_allocator none;
    pmr_resource resource{none};
    EXPECT_DEATH((void)resource.allocate(100, 32), "out of memory: 100 bytes, aligned to 32");
}
