// Sentences of testing/src/aside.hpp.
#include "aside.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace cairn::detail;

namespace {

struct told {
    int number = 0;
    int changed = 0;
};

}  // namespace

TEST(aside, its_report_comes_back_from_the_middle_of_the_work) {
    int asked = 41;
    told answer;
    const aside_end end = run_aside(
        [](void* context) noexcept {
            const told say{*static_cast<int*>(context) + 1, 7};
            end_aside(&say, sizeof say);
        },
        &asked, &answer, sizeof answer);
    EXPECT_EQ(end, aside_end::reported);
    EXPECT_EQ(answer.number, 42);
    EXPECT_EQ(answer.changed, 7);
}

TEST(aside, work_that_comes_to_its_end_reports_nothing) {
    told answer{3, 4};
    EXPECT_EQ(run_aside([](void*) noexcept {}, nullptr, &answer, sizeof answer),
              aside_end::returned);
    EXPECT_EQ(answer.number, 3);
}

TEST(aside, a_work_that_aborts_has_died) {
    told answer;
    EXPECT_EQ(run_aside([](void*) noexcept { std::abort(); }, nullptr, &answer, sizeof answer),
              aside_end::died);
}

#ifndef _WIN32
TEST(aside, what_it_does_to_memory_stays_behind) {
    int here = 1;
    told answer;
    const aside_end end = run_aside(
        [](void* context) noexcept {
            *static_cast<int*>(context) = 2;
            const told say{*static_cast<int*>(context), 0};
            end_aside(&say, sizeof say);
        },
        &here, &answer, sizeof answer);
    EXPECT_EQ(end, aside_end::reported);
    EXPECT_EQ(answer.number, 2);
    EXPECT_EQ(here, 1);
}
#endif
