// Sentences of cairn/storage/step_counter.hpp.
#include <cairn/storage/step_counter.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <type_traits>

using namespace cairn;

TEST(step_counter, each_thread_has_its_own_count) {
    counted_steps::taken = 0;
    counted_steps::touch();
    counted_steps::touch();
    std::uint64_t of_other = 99;
    std::thread{[&] {
        counted_steps::touch();
        of_other = counted_steps::taken;
    }}.join();
    EXPECT_EQ(counted_steps::taken, 2u);
    EXPECT_EQ(of_other, 1u);
}

TEST(step_counter, uncounted_is_nothing) {
    static_assert(std::is_empty_v<uncounted>);
    constexpr bool is_constant = (uncounted::touch(), true);
    static_assert(is_constant);
}
