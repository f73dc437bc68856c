// Sentences of cairn/alloc/monotonic.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(monotonic, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        test_upstream upstream;
        monotonic<growing_arena> a{std::size_t{1_KiB}, allocator_ref{upstream}};
        check_allocator_contract(a, seed);
    }
}

TEST(monotonic, freed_memory_waits_for_the_reset) {
    arena memory{64_KiB};
    monotonic a{memory};
    void* const first = a.allocate(100);
    a.deallocate(first, 100);
    EXPECT_NE(a.allocate(100), first) << "even the last block is kept";
    a.reset();
    EXPECT_EQ(a.allocate(100), first);
    const auto here = a.mark();
    void* const second = a.allocate(10);
    a.rewind(here);
    EXPECT_EQ(a.allocate(10), second);
}
