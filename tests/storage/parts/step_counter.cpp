// Sentences of cairn/storage/inside/step_counter.hpp.
#include <cairn/storage/inside/step_counter.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

using namespace cairn;

TEST(step_counter, each_thread_has_its_own_count) {
    detail::steps_taken = 0;
    CAIRN_DETAIL_STEP();
    CAIRN_DETAIL_STEP();
    std::uint64_t of_other = 99;
    std::thread{[&] {
        CAIRN_DETAIL_STEP();
        of_other = detail::steps_taken;
    }}.join();
    EXPECT_EQ(detail::steps_taken, 2u);
    EXPECT_EQ(of_other, 1u);
}
