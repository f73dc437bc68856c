// Every interleaving of producers and consumers at a message_ring, and what happens when one of its
// memory orders is weakened. Prints the number of executions seen.
#include <cairn/containers/message_queue/ring.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "support/explorer/scripts.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::message_orders;
using explorer::expect_exhausted;
using explorer::require;

/// A ring of two cells. Messages are 10 * thread + number, from 1 on; 0 is none. A thread's script:
/// 'p' pushes once, 'c' pops once. `before`: messages that are there at the start.
template <class Orders>
struct world {
    using ring = cairn::detail::message_ring<int, explorer::atoms, Orders>;

    explicit world(int before) {
        r.start(cells.data(), cells.size());
        for (int i = 1; i <= before; ++i) { (void)r.try_push(90 + i); }
        pushed = static_cast<std::size_t>(before);
    }

    void step(std::size_t me, char what) {
        int message = 0;
        if (what == 'p') {
            if (r.try_push(10 * (static_cast<int>(me) + 1) + number[me] + 1)) {
                ++number[me];
                ++pushed;
            }
        } else if (r.try_pop(message)) {
            popped[me].push_back(message);
        }
    }
    void at_end() {
        int message = 0;
        while (r.try_pop(message)) { popped[explorer::threads_max].push_back(message); }
        std::vector<int> all;
        for (const auto& mine : popped) {
            std::array<int, 12> last{};
            for (const int m : mine) {
                require(m > last[static_cast<std::size_t>(m / 10)],
                        "one producer's messages come in order");
                last[static_cast<std::size_t>(m / 10)] = m;
                for (const int other : all) { require(other != m, "a message comes once"); }
                all.push_back(m);
            }
        }
        require(all.size() == pushed, "each message that was pushed comes");
        require(r.count() == 0, "an emptied ring counts none");
    }

    std::array<typename ring::cell, 2> cells;
    ring r;
    std::size_t pushed = 0;  // successful pushes; the explorer runs one thread at a time
    std::vector<int> popped[explorer::threads_max + 1];
    int number[explorer::threads_max] = {};
};

template <class Orders>
explorer::result run(std::vector<const char*> scripts, int preemptions, int before = 0) {
    return explorer::run_scripts<world<Orders>>(scripts, preemptions, before);
}

TEST(message_ring, loses_doubles_and_reorders_nothing_in_any_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = message_orders;
    expect_exhausted("p | c", run<o>({"p", "c"}, 8));
    expect_exhausted("pp | cc", run<o>({"pp", "cc"}, 5));
    expect_exhausted("ppp | ccc", run<o>({"ppp", "ccc"}, 3));
    expect_exhausted("p | p", run<o>({"p", "p"}, 4));
    expect_exhausted("c | c, two there", run<o>({"c", "c"}, 4, 2));
    expect_exhausted("p | p | c", run<o>({"p", "p", "c"}, 3));
    expect_exhausted("p | c | c", run<o>({"p", "c", "c"}, 3));
    expect_exhausted("pc | cp, one there", run<o>({"pc", "cp"}, 4, 1));
    expect_exhausted("pp | c | c, full", run<o>({"pp", "c", "c"}, 2, 2));
}

// ------------------------------------------------------------------------------------------------
// Every order is needed: one weakened at a time, and some execution fails.

constexpr auto relaxed = cairn::detail::memory_order::relaxed;

struct weak_look : message_orders {
    static constexpr auto look = relaxed;
};
struct weak_publish : message_orders {
    static constexpr auto publish = relaxed;
};
struct weak_vacate : message_orders {
    static constexpr auto vacate = relaxed;
};
struct claims_in_two_steps : message_orders {
    static constexpr bool claims_at_once = false;
};

template <class Orders>
bool is_caught() {
    return explorer::any_failed({run<Orders>({"p", "c"}, 3), run<Orders>({"p", "c"}, 3, 2),
                                 run<Orders>({"p", "p"}, 3), run<Orders>({"pp", "cc"}, 3, 1)});
}

TEST(message_ring, every_memory_order_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_FALSE(is_caught<message_orders>());
    EXPECT_TRUE(is_caught<weak_look>());
    EXPECT_TRUE(is_caught<weak_publish>());
    EXPECT_TRUE(is_caught<weak_vacate>());
    EXPECT_TRUE(is_caught<claims_in_two_steps>());
}

}  // namespace
