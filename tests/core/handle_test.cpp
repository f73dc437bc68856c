// Sentences of cairn/core/handle.hpp.
#include <cairn/core/handle.hpp>
#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

using namespace cairn;

struct incomplete;
using wide = handle<incomplete>;
using narrow = handle<incomplete, 32>;
using tiny = handle<incomplete, 16, 12>;
using tagged = handle<incomplete, 64, 24, 9>;

TEST(handle, null_is_all_zero_and_index_zero_is_usable) {
    static_assert(wide{}.raw() == 0);
    static_assert(!wide{});
    static_assert(wide::make(0, 1));
    static_assert(wide::make(0, 1).index() == 0);
    EXPECT_NE(wide::make(0, 1), wide{});
}

TEST(handle, keeps_index_and_generation_to_their_last_bit) {
    static_assert(narrow::index_max == 0xfffff && narrow::generation_max == 0xfff);
    static_assert(tiny::index_max == 0xfff && tiny::generation_max == 15);
    static_assert(tagged::generation_max == 0x7fffffff && tagged::user_max == 511);
    constexpr narrow last = narrow::make(narrow::index_max, narrow::generation_max);
    static_assert(last.index() == narrow::index_max && last.generation() == narrow::generation_max);
    constexpr tiny small = tiny::make(4095, 15);
    static_assert(small.index() == 4095 && small.generation() == 15 && small.raw() == 0xffff);
    constexpr wide big = wide::make(wide::index_max, wide::generation_max);
    static_assert(big.index() == wide::index_max && big.generation() == wide::generation_max);
}

TEST(handle, user_bits_travel_along_and_disturb_nothing) {
    constexpr tagged h = tagged::make(77, 1234).with_user(511);
    static_assert(h.index() == 77 && h.generation() == 1234 && h.user() == 511);
    static_assert(h.with_user(0) == tagged::make(77, 1234));
    EXPECT_NE(h, h.with_user(0));
    if (asserts_enabled) { EXPECT_DEATH((void)h.with_user(512), "a user value fits its bits"); }
}

TEST(handle, a_user_value_that_is_set_at_run_time_is_read_back) {
    const tagged h = tagged::make(77, 1234);
    for (const std::uint64_t value : {0u, 1u, 300u, 511u}) {
        const tagged with = h.with_user(value);
        EXPECT_EQ(with.user(), value);
        EXPECT_EQ(with.index(), 77u);
        EXPECT_EQ(with.generation(), 1234u);
        EXPECT_EQ(with.with_user(0), h);
    }
}

TEST(handle, raw_and_back_is_the_same_handle_and_drops_bits_that_no_handle_has) {
    constexpr wide h = wide::make(9, 42);
    static_assert(wide::from_raw(h.raw()) == h);
    static_assert(wide::from_raw(h.raw() | 0x8000'0000'0000'0000u) == h);
}

TEST(handle, is_ordered_and_hashable) {
    std::set<narrow> ordered;
    std::unordered_set<narrow> hashed;
    for (std::uint32_t i = 0; i < 100; ++i) {
        for (std::uint32_t g = 1; g < 10; ++g) {
            ordered.insert(narrow::make(i, g));
            hashed.insert(narrow::make(i, g));
        }
    }
    EXPECT_EQ(ordered.size(), 900u);
    EXPECT_EQ(hashed.size(), 900u);
    EXPECT_LT(narrow::make(1, 1), narrow::make(2, 1));
}

TEST(handle, hashes_of_neighbours_differ_in_their_low_bits) {
    std::set<std::size_t> low;
    for (std::uint32_t i = 0; i < 64; ++i) {
        low.insert(std::hash<wide>{}(wide::make(i * 1024, 1)) & 1023);
    }
    EXPECT_GT(low.size(), 48u);
}

TEST(handle, parts_that_do_not_fit_are_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    EXPECT_DEATH((void)tiny::make(4096, 1), "an index fits its bits");
    EXPECT_DEATH((void)tiny::make(1, 16), "a generation fits its bits");
    EXPECT_DEATH((void)tiny::make(1, 0), "a generation fits its bits");
}
