#include <cairn/core/inside/rollback.hpp>
#include <gtest/gtest.h>

using namespace cairn;

TEST(rollback, undoes_what_was_not_finished) {
    int undone = 0;
    {
        detail::rollback undo{[&]() noexcept { ++undone; }};
    }
    EXPECT_EQ(undone, 1);
}

TEST(rollback, leaves_what_was_finished) {
    int undone = 0;
    {
        detail::rollback undo{[&]() noexcept { ++undone; }};
        undo.cancel();
    }
    EXPECT_EQ(undone, 0);
}

#if defined(__cpp_exceptions)
TEST(rollback, undoes_once_what_an_exception_interrupts) {
    int undone = 0;
    try {
        detail::rollback undo{[&]() noexcept { ++undone; }};
        throw 1;
    } catch (int) {}
    EXPECT_EQ(undone, 1);
}
#endif
