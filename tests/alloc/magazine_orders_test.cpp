// What happens without one of the memory orders of cairn/alloc/concurrent_pool/magazines.hpp, or without its tag: some
// execution of two or three threads loses a slot, gives one out twice, refuses one or races.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/magazine_world.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::magazine_orders;
using namespace magazine_world;

constexpr auto relaxed = cairn::detail::memory_order::relaxed;

/// The orders as variables: one instantiation for all ways to weaken them.
struct variable_orders : magazine_orders {
    static inline cairn::detail::memory_order push, pop_look, pop_exchange, swap_spare,
        publish_cache, follow_cache, publish_chunk, follow_chunk, publish_table, follow_table,
        publish_count, follow_count;
    static void restore() {
        push = magazine_orders::push;
        pop_look = magazine_orders::pop_look;
        pop_exchange = magazine_orders::pop_exchange;
        swap_spare = magazine_orders::swap_spare;
        publish_cache = magazine_orders::publish_cache;
        follow_cache = magazine_orders::follow_cache;
        publish_chunk = magazine_orders::publish_chunk;
        follow_chunk = magazine_orders::follow_chunk;
        publish_table = magazine_orders::publish_table;
        follow_table = magazine_orders::follow_table;
        publish_count = magazine_orders::publish_count;
        follow_count = magazine_orders::follow_count;
    }
};
struct no_tag : magazine_orders {
    static constexpr unsigned tag_bits = 0;
};
struct claims_in_two_steps : magazine_orders {
    static constexpr bool claims_at_once = false;
};

/// True when one of the explorations of magazines_test.cpp notices.
template <class Orders>
bool is_caught() {
    using look = explorer::result (*)();
    constexpr look looks[] = {
        [] { return run_stack<Orders>(3); },
        [] { return run_chunks<Orders>(2); },
        [] { return run_table<Orders>(2); },
        [] { return run_growth<Orders>(1, {1, 1}); },
        [] { return run_newcomer<Orders>(1, 2, 1); },
        [] { return run_newcomer<Orders>(1, 2); },
        [] { return run_scripts<Orders>({"++-", "+-+"}, 1, 3, 2, true); },
        [] { return run_scripts<Orders>({"++-", "++-"}, 1, 4, 2, false); },
    };
    for (const look& l : looks) {
        const explorer::result r = l();
        if (r.failed) {
            std::printf("    caught after %llu executions: %s",
                        static_cast<unsigned long long>(r.executions),
                        r.message.substr(0, r.message.find('\n') + 1).c_str());
            return true;
        }
    }
    return false;
}

TEST(magazine_orders, each_of_them_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using v = variable_orders;
    struct weakening {
        const char* name;
        cairn::detail::memory_order* order;
        cairn::detail::memory_order to;
    };
    const weakening weakenings[] = {
        {"push", &v::push, relaxed},
        {"pop_look", &v::pop_look, relaxed},
        {"pop_exchange", &v::pop_exchange, relaxed},
        {"swap_spare, release", &v::swap_spare, cairn::detail::memory_order::acquire},
        {"swap_spare, acquire", &v::swap_spare, cairn::detail::memory_order::release},
        {"publish_cache", &v::publish_cache, relaxed},
        {"follow_cache", &v::follow_cache, relaxed},
        {"publish_chunk", &v::publish_chunk, relaxed},
        {"follow_chunk", &v::follow_chunk, relaxed},
        {"publish_table", &v::publish_table, relaxed},
        {"follow_table", &v::follow_table, relaxed},
        {"publish_count", &v::publish_count, relaxed},
        {"follow_count", &v::follow_count, relaxed},
    };
    v::restore();
    EXPECT_FALSE(is_caught<v>()) << "as they are";
    for (const weakening& w : weakenings) {
        v::restore();
        *w.order = w.to;
        std::printf("%s\n", w.name);
        EXPECT_TRUE(is_caught<v>()) << w.name;
    }
}

TEST(magazine_orders, the_tag_and_the_indivisible_claim_are_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_TRUE(is_caught<no_tag>());
    EXPECT_TRUE(is_caught<claims_in_two_steps>());
}

}  // namespace
