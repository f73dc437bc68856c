// Sentences of cairn/os/system_allocator.hpp.
#include <cairn/core/alignment.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

using namespace cairn;

TEST(system_allocator, serves_every_alignment_and_refuses_the_absurd) {
    const allocator_ref system = system_memory();
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        void* const p = system.allocate(3, alignment{align});
        ASSERT_NE(p, nullptr);
        EXPECT_TRUE(detail::is_aligned(p, alignment{align}));
        system.deallocate(p, 3, alignment{align});
    }
    EXPECT_EQ(system.allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(system.allocate(SIZE_MAX, alignment{4096}), nullptr);
    void* const empty = system.allocate(0);
    EXPECT_NE(empty, nullptr);
    system.deallocate(empty, 0);
}
