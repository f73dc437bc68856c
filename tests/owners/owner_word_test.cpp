// Every interleaving of owners, of threads that lock a handle, and of the thread that collects, and
// what happens when one of the memory orders is weakened. Prints the number of executions seen.
#include <cairn/owners/shared_handle/owner_word.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/explorer/scripts.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::owner_orders;
using explorer::expect_exhausted;
using explorer::require;

/// One slot: life 1 is there at the start, owned by as many threads as are said. An object that has ended
/// holds -1. A thread's script: 'r' reads what it owns and drops it; 'l' locks handle 1 and, where it
/// could, reads and drops; '2' the same with handle 2; 'c' collects; 'n' collects, and begins life 2.
template <class Orders>
struct world {
    using word = cairn::detail::basic_owner_word<explorer::atoms, Orders>;
    using list = cairn::detail::basic_ended_list<explorer::atoms, Orders>;

    explicit world(int owner_count) {
        owners.begin(1);
        for (int i = 1; i < owner_count; ++i) { owners.add(); }
    }
    void look() { require(static_cast<int>(object) > 0, "what is owned lives"); }
    void drop() {
        if (owners.drop()) { ended.push(1, next); }
    }
    /// The store's thread: erases what has ended, and begins life 2 in its place.
    void collect(bool begins) {
        if (ended.take() != 1) { return; }
        require(static_cast<std::uint32_t>(next) == 0, "the list has one object");
        object = -1;
        ++erased;
        if (begins) {
            object = 100;
            owners.begin(2);
        }
    }

    void lock_and_drop(std::uint32_t life) {
        if (!owners.try_lock(life)) { return; }
        look();
        require(life == 2 || static_cast<int>(object) < 100, "a handle finds its own life");
        drop();
    }
    void step(std::size_t, char what) {
        switch (what) {
            case 'r':
                look();
                return drop();
            case 'l':
                return lock_and_drop(1);
            case '2':
                return lock_and_drop(2);
            default:
                return collect(what == 'n');
        }
    }
    void at_end() {
        require(erased <= 2, "an object ends once");
        collect(false);
    }

    word owners;
    list ended;
    explorer::plain<int> object{7};
    explorer::plain<std::uint32_t> next{9};
    int erased = 0;
};

template <class Orders>
explorer::result run(std::vector<const char*> scripts, int preemptions, int owners) {
    return explorer::run_scripts<world<Orders>>(scripts, preemptions, owners);
}

TEST(owner_word, an_object_ends_only_when_it_has_no_owner_in_any_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = owner_orders;
    expect_exhausted("r | l", run<o>({"r", "l"}, 8, 1));
    expect_exhausted("rc | l", run<o>({"rc", "l"}, 6, 1));
    expect_exhausted("rc | ll", run<o>({"rc", "ll"}, 4, 1));
    expect_exhausted("rc | r", run<o>({"rc", "r"}, 6, 2));
    expect_exhausted("rc | r | l", run<o>({"rc", "r", "l"}, 2, 2));
    expect_exhausted("rcc | l | l", run<o>({"rcc", "l", "l"}, 2, 1));
}

TEST(owner_word, a_handle_is_locked_in_its_own_life_only) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = owner_orders;
    expect_exhausted("rn | l", run<o>({"rn", "l"}, 6, 1));
    expect_exhausted("rn | 2", run<o>({"rn", "2"}, 6, 1));
    expect_exhausted("rn | l2", run<o>({"rn", "l2"}, 4, 1));
    expect_exhausted("rnc | l | 2", run<o>({"rnc", "l", "2"}, 2, 1));
}

TEST(owner_word, the_list_of_the_ended_loses_none_that_two_threads_put_there_at_once) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    struct two {
        cairn::detail::basic_ended_list<explorer::atoms> ended;
        explorer::plain<std::uint32_t> next[2];
        int seen = 0;
        void step(std::size_t me, char what) {
            if (what == 'p') { return ended.push(static_cast<std::uint32_t>(me) + 1, next[me]); }
            for (std::uint32_t n = ended.take(); n != 0; n = next[n - 1]) {
                seen += n == 1 ? 1 : 10;
            }
        }
        void at_end() {
            step(0, 't');
            require(seen == 11, "each is taken once");
        }
    };
    expect_exhausted("push | push | take", explorer::run_scripts<two>({"p", "p", "t"}, 3));
}

// ------------------------------------------------------------------------------------------------
// Every order is needed: one weakened at a time, and some execution fails.

constexpr auto relaxed = cairn::detail::memory_order::relaxed;

struct weak_begin : owner_orders {
    static constexpr auto begin = relaxed;
};
struct weak_lock : owner_orders {
    static constexpr auto lock = relaxed;
};
struct drop_without_release : owner_orders {
    static constexpr auto drop = cairn::detail::memory_order::acquire;
};
struct drop_without_acquire : owner_orders {
    static constexpr auto drop = cairn::detail::memory_order::release;
};
struct weak_push : owner_orders {
    static constexpr auto push = relaxed;
};
struct weak_take : owner_orders {
    static constexpr auto take = relaxed;
};
struct locks_in_two_steps : owner_orders {
    static constexpr bool locks_at_once = false;
};

template <class Orders>
bool is_caught() {
    return explorer::any_failed({run<Orders>({"rn", "2"}, 3, 1), run<Orders>({"rc", "l"}, 3, 1),
                                 run<Orders>({"rc", "r"}, 3, 2), run<Orders>({"c", "r", "r"}, 2, 2),
                                 run<Orders>({"cr", "r", "c"}, 2, 2)});
}

TEST(owner_word, every_memory_order_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_FALSE(is_caught<owner_orders>());
    EXPECT_TRUE(is_caught<weak_begin>());
    EXPECT_TRUE(is_caught<weak_lock>());
    EXPECT_TRUE(is_caught<drop_without_release>());
    EXPECT_TRUE(is_caught<drop_without_acquire>());
    EXPECT_TRUE(is_caught<weak_push>());
    EXPECT_TRUE(is_caught<weak_take>());
    EXPECT_TRUE(is_caught<locks_in_two_steps>());
}

}  // namespace
