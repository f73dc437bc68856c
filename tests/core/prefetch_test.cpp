// Sentences of cairn/core/inside/prefetch.hpp.
#include <cairn/core/inside/prefetch.hpp>
#include <gtest/gtest.h>

#include <cstdint>

TEST(prefetch, any_address_will_do_and_nothing_changes) {
    int value = 7;
    cairn::detail::prefetch_for_writing(&value);
    cairn::detail::prefetch_for_writing(nullptr);
    for (unsigned bit = 0; bit < 64; ++bit) {
        cairn::detail::prefetch_for_writing(
            reinterpret_cast<const void*>(static_cast<std::uintptr_t>(std::uint64_t{1} << bit)));
    }
    EXPECT_EQ(value, 7);
}
