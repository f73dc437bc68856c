// Every interleaving of owners, of threads that lock a handle, and of the thread that collects, and
// what happens when one of the memory orders is weakened. Prints the number of executions seen.
#include <cairn/owners/shared_handle/owner_word.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "support/explorer.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::owner_orders;
using explorer::require;

/// One slot: life 1 is there at the start, with an owner in thread 0 (and in thread 1 where it asks
/// for one). An object that has ended holds -1.
template <class Orders>
struct world {
    using word = cairn::detail::basic_owner_word<explorer::atoms, Orders>;
    using list = cairn::detail::basic_ended_list<explorer::atoms, Orders>;

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

    word owners;
    list ended;
    explorer::plain<int> object{7};
    explorer::plain<std::uint32_t> next{9};
    int erased = 0;
};

/// What a thread does: 'r' reads what it owns and drops it; 'l' locks handle 1 and, where it could,
/// reads and drops; '2' the same with handle 2; 'c' collects; 'n' collects, and begins the next life.
/// `owners`: how many threads own at the start.
template <class Orders>
explorer::result run_scripts(std::initializer_list<const char*> list, int preemptions, int owners) {
    const std::vector<const char*> scripts = list;
    const explorer::options o{.threads = static_cast<int>(scripts.size()),
                              .preemptions = preemptions,
                              .execution_limit = 400'000};
    return explorer::explore(o, [=] {
        auto w = std::make_shared<world<Orders>>();
        w->owners.begin(1);
        for (int i = 1; i < owners; ++i) { w->owners.add(); }
        return explorer::program{
            .thread =
                [=](int id) {
                    for (const char* s = scripts[static_cast<std::size_t>(id)]; *s != 0; ++s) {
                        const std::uint32_t life = *s == '2' ? 2 : 1;
                        switch (*s) {
                            case 'r':
                                w->look();
                                w->drop();
                                break;
                            case 'l':
                            case '2':
                                if (w->owners.try_lock(life)) {
                                    w->look();
                                    require(life == 2 || static_cast<int>(w->object) < 100,
                                            "a handle finds its own life");
                                    w->drop();
                                }
                                break;
                            default:
                                w->collect(*s == 'n');
                        }
                    }
                },
            .at_end =
                [=] {
                    require(w->erased <= 2, "an object ends once");
                    w->collect(false);
                }};
    });
}

void expect_exhausted(const char* name, const explorer::result& r) {
    EXPECT_FALSE(r.failed) << name << ": " << r.message;
    EXPECT_TRUE(r.exhausted || r.failed) << name << ": too many executions";
    std::printf("%-40s %9llu executions%s\n", name, static_cast<unsigned long long>(r.executions),
                r.exhausted ? ", exhausted" : "");
}

TEST(owner_word, an_object_ends_only_when_it_has_no_owner_in_any_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = owner_orders;
    expect_exhausted("r | l", run_scripts<o>({"r", "l"}, 8, 1));
    expect_exhausted("rc | l", run_scripts<o>({"rc", "l"}, 6, 1));
    expect_exhausted("rc | ll", run_scripts<o>({"rc", "ll"}, 4, 1));
    expect_exhausted("rc | r", run_scripts<o>({"rc", "r"}, 6, 2));
    expect_exhausted("rc | r | l", run_scripts<o>({"rc", "r", "l"}, 2, 2));
    expect_exhausted("rcc | l | l", run_scripts<o>({"rcc", "l", "l"}, 2, 1));
}

TEST(owner_word, a_handle_is_locked_in_its_own_life_only) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = owner_orders;
    expect_exhausted("rn | l", run_scripts<o>({"rn", "l"}, 6, 1));
    expect_exhausted("rn | 2", run_scripts<o>({"rn", "2"}, 6, 1));
    expect_exhausted("rn | l2", run_scripts<o>({"rn", "l2"}, 4, 1));
    expect_exhausted("rnc | l | 2", run_scripts<o>({"rnc", "l", "2"}, 2, 1));
}

TEST(owner_word, the_list_of_the_ended_loses_none_that_two_threads_put_there_at_once) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    struct two {
        cairn::detail::basic_ended_list<explorer::atoms> ended;
        explorer::plain<std::uint32_t> next[2];
        int seen = 0;
        void take() {
            for (std::uint32_t n = ended.take(); n != 0; n = next[n - 1]) {
                seen += n == 1 ? 1 : 10;
            }
        }
    };
    const explorer::options o{.threads = 3, .preemptions = 3, .execution_limit = 400'000};
    expect_exhausted("push | push | take", explorer::explore(o, [] {
                         auto w = std::make_shared<two>();
                         return explorer::program{
                             .thread =
                                 [=](int id) {
                                     if (id == 2) {
                                         w->take();
                                     } else {
                                         w->ended.push(static_cast<std::uint32_t>(id) + 1,
                                                       w->next[id]);
                                     }
                                 },
                             .at_end =
                                 [=] {
                                     w->take();
                                     require(w->seen == 11, "each is taken once");
                                 }};
                     }));
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
    return explorer::any_failed(
        {run_scripts<Orders>({"rn", "2"}, 3, 1), run_scripts<Orders>({"rc", "l"}, 3, 1),
         run_scripts<Orders>({"rc", "r"}, 3, 2), run_scripts<Orders>({"c", "r", "r"}, 2, 2),
         run_scripts<Orders>({"cr", "r", "c"}, 2, 2)});
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
