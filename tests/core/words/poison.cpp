// Sentences of cairn/core/poison.hpp, of which AddressSanitizer answers most. What Valgrind is told
// shows in the run of these tests under it.
#include <cairn/core/poison.hpp>
#include <gtest/gtest.h>

using namespace cairn;

namespace {

struct alignas(8) bytes {
    char all[64];
};

}  // namespace

TEST(poison, free_bytes_are_known_to_the_byte_at_the_end_of_a_range) {
    bytes b{};
    poison(b.all, sizeof b.all);
    unpoison(b.all, 13);
    EXPECT_FALSE(is_poisoned(&b.all[12]));
    EXPECT_EQ(is_poisoned(&b.all[13]), detail::poison_is_queryable);
    EXPECT_EQ(is_poisoned(&b.all[63]), detail::poison_is_queryable);
    detail::unpoison_defined(b.all, sizeof b.all);
    EXPECT_FALSE(is_poisoned(&b.all[63]));
    EXPECT_EQ(b.all[63], 0) << "and their content is what it was";
}

TEST(poison, a_touch_of_poisoned_bytes_is_a_report) {
    if (!detail::poison_is_queryable) { GTEST_SKIP(); }
    bytes b{};
    poison(b.all, sizeof b.all);
    char* volatile at = b.all;  // clang does not look where it sees that an object is there
    EXPECT_DEATH(at[20] = 1, "use-after-poison");
    unpoison(b.all, sizeof b.all);
}

TEST(poison, who_may_answer_may_watch) {
    static_assert(detail::poison_is_watched || !detail::poison_is_queryable);
    EXPECT_TRUE(detail::poison_is_watched || !detail::poison_is_seen());
    EXPECT_TRUE(detail::poison_is_seen() || !detail::poison_is_queryable);
}

TEST(poison, a_name_of_bytes_is_given_and_taken) {
    bytes b{};
    const unsigned number = detail::describe_memory(b.all, sizeof b.all, "some bytes");
    EXPECT_TRUE(number == 0 || detail::poison_is_seen());
    detail::forget_description(number);
    detail::forget_description(0);
}
