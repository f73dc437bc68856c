// Sentences of cairn/alloc/inside/free_lists.hpp about the bitmap of bins.
#include <cairn/alloc/inside/free_lists.hpp>
#include <cairn/storage/inside/step_counter.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

using namespace cairn;

namespace {

template <std::uint32_t Bits>
void agrees_with_a_set() {
    using bitmap = detail::two_level_bitmap<Bits>;
    SCOPED_TRACE(Bits);
    std::mt19937 random{Bits};
    bitmap bits;
    std::set<std::uint32_t> model;
    for (int step = 0; step < 4000; ++step) {
        const std::uint32_t bit = static_cast<std::uint32_t>(random() % Bits);
        // Half of the time nearly empty, half of the time nearly full.
        if ((random() % 16 == 0) != (step % 2000 < 1000)) {
            bits.set(bit);
            model.insert(bit);
        } else {
            bits.clear(bit);
            model.erase(bit);
        }
        const std::uint32_t asked = static_cast<std::uint32_t>(random() % Bits);
        const auto found = model.lower_bound(asked);
        detail::steps_taken = 0;
        ASSERT_EQ(bits.find_from(asked), found == model.end() ? bitmap::none : *found);
        ASSERT_LE(detail::steps_taken, 2u) << "a word, and the first that is not zero above it";
        ASSERT_EQ(bits.test(asked), model.count(asked) == 1);
        ASSERT_EQ(bits.empty(), model.empty());
        ASSERT_EQ(bits.highest(), model.empty() ? bitmap::none : *model.rbegin());
        if (!model.empty()) { ASSERT_EQ(bits.lowest(), *model.begin()); }
        bits.validate();
    }
}

}  // namespace

TEST(two_level_bitmap, finds_what_a_set_finds_in_two_looks) {
    agrees_with_a_set<1>();
    agrees_with_a_set<64>();
    agrees_with_a_set<65>();
    agrees_with_a_set<1000>();
    agrees_with_a_set<4096>();
}

TEST(two_level_bitmap, one_word_is_its_own_summary) {
    static_assert(sizeof(detail::two_level_bitmap<64>) == 8);
    static_assert(sizeof(detail::two_level_bitmap<65>) == 24);
    static_assert(sizeof(detail::two_level_bitmap<4096>) == 65 * 8);
}

TEST(two_level_bitmap, a_bit_that_it_does_not_have_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    detail::two_level_bitmap<100> bits;
    EXPECT_DEATH((void)bits.find_from(100), "a bit that exists is asked for");
}
