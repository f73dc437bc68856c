// Sentences of cairn/core/slice.hpp.
#include <cairn/core/slice.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace cairn;

TEST(slice, is_made_of_names_and_of_views_and_of_no_temporary_that_owns) {
    using bytes = std::vector<std::byte>;
    using array = std::array<std::byte, 8>;
    static_assert(std::is_constructible_v<byte_slice, bytes&>);
    static_assert(std::is_constructible_v<byte_slice, array&>);
    static_assert(std::is_constructible_v<byte_slice, std::byte(&)[8]>);
    static_assert(std::is_constructible_v<byte_slice, std::span<std::byte>>);
    static_assert(std::is_constructible_v<byte_slice, const std::span<std::byte, 8>>);
    static_assert(std::is_constructible_v<slice<const char>, std::string_view>);
    static_assert(!std::is_constructible_v<byte_slice, bytes>);
    static_assert(!std::is_constructible_v<byte_slice, array>);
    static_assert(!std::is_constructible_v<byte_slice, const bytes&>);
    // As std::span: constant elements may be a temporary's, for the length of a call.
    static_assert(std::is_constructible_v<slice<void* const>, std::vector<void*>>);
}

TEST(slice, front_and_back_are_the_first_and_the_last) {
    int numbers[] = {1, 2, 3};
    const slice<int> s{numbers, 3};
    EXPECT_EQ(&s.front(), numbers);
    EXPECT_EQ(&s.back(), numbers + 2);
}
