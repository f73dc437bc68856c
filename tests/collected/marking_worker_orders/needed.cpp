// Every order is needed, and every step of the protocol: without one of them some execution fails.
#include <cairn/collected/marking_worker.hpp>
#include <gtest/gtest.h>

#include <cstdio>

#include "collected/marking_worker_orders/world.hpp"
#include "support/explorer.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace marking_world;

/// The orders as variables: one instantiation for all ways to weaken them.
struct variable_orders : marking_orders {
    static inline memory_order take, give_back, hand_over, receive, publish, follow;
    static void restore() {
        take = marking_orders::take;
        give_back = marking_orders::give_back;
        hand_over = marking_orders::hand_over;
        receive = marking_orders::receive;
        publish = marking_orders::publish;
        follow = marking_orders::follow;
    }
};
struct marks_in_two_steps : marking_orders {
    static constexpr bool marks_at_once = false;
};

/// True when one of the explorations fails.
template <class Orders>
bool is_caught(const flaws& forgets = {}) {
    constexpr const char* programs[] = {"bmhe", "bn", "bhmhme", "bkhe", "beebe"};
    for (const char* const p : programs) {
        if (explorer::any_failed({run_scripts<Orders>(p, "99", 2, forgets)})) { return true; }
    }
    return false;
}

TEST(marking_worker_orders, each_of_them_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using v = variable_orders;
    struct weakening {
        const char* name;
        memory_order* order;
    };
    const weakening weakenings[] = {
        {"take", &v::take},       {"give_back", &v::give_back}, {"hand_over", &v::hand_over},
        {"receive", &v::receive}, {"publish", &v::publish},     {"follow", &v::follow},
    };
    v::restore();
    EXPECT_FALSE(is_caught<v>()) << "as they are";
    for (const weakening& w : weakenings) {
        v::restore();
        *w.order = memory_order::relaxed;
        std::printf("%s\n", w.name);
        EXPECT_TRUE(is_caught<v>()) << w.name;
    }
    EXPECT_TRUE(is_caught<marks_in_two_steps>());
}

TEST(marking_worker_orders, each_step_of_the_protocol_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = marking_orders;
    EXPECT_TRUE(is_caught<o>({.store_keeps_nothing = true}));
    EXPECT_TRUE(is_caught<o>({.weak_get_keeps_nothing = true}));
    EXPECT_TRUE(is_caught<o>({.new_is_published_unmarked = true}));
    EXPECT_TRUE(is_caught<o>({.ends_with_names_left = true}));
    EXPECT_TRUE(is_caught<o>({.ends_without_the_gate = true}));
}

}  // namespace
