// Sentences of cairn/os/inside/process_secret.hpp.
#include <cairn/os/inside/process_secret.hpp>
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <set>

using cairn::detail::process_secret;
using cairn::detail::secret_of;

TEST(process_secret, is_the_same_at_each_call_and_not_what_a_stray_write_leaves) {
    EXPECT_EQ(process_secret(), process_secret());
    EXPECT_NE(process_secret(), 0u);
    EXPECT_NE(process_secret(), UINT64_MAX);
}

TEST(process_secret, of_each_address_is_another_number_whatever_bit_differs) {
    const std::uintptr_t base = 0x7F54'0000'0000;
    std::set<std::uint64_t> seen;
    int changed = 0;
    const std::uint64_t at_base = secret_of(reinterpret_cast<const void*>(base));
    for (unsigned bit = 4; bit < 47; ++bit) {
        const std::uint64_t other =
            secret_of(reinterpret_cast<const void*>(base ^ (std::uintptr_t{1} << bit)));
        EXPECT_TRUE(seen.insert(other).second);
        EXPECT_NE(other, at_base);
        changed += std::popcount(other ^ at_base);
    }
    EXPECT_GT(changed, 43 * 16) << "half of the 64 bits change, more or less";
    EXPECT_EQ(secret_of(reinterpret_cast<const void*>(base)), at_base);
}
