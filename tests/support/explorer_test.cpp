// The explorer itself: it finds what the memory model allows and nothing else.
#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "support/sanitizers.hpp"

namespace {

using cairn::detail::memory_order;

struct two_cells {
    explorer::atomic<int> x{0};
    explorer::atomic<int> y{0};
    explorer::plain<int> data{0};
    int got[4] = {};
};

/// All pairs (got[0], got[1]) that executions of `body` end with.
template <class F>
std::set<std::pair<int, int>> outcomes(F body, int threads = 2) {
    std::set<std::pair<int, int>> seen;
    const auto r = explorer::explore({.threads = threads, .preemptions = 4}, [&] {
        auto s = std::make_shared<two_cells>();
        return explorer::program{.thread = [s, body](int id) { body(*s, id); },
                                 .at_end = [s, &seen] { seen.insert({s->got[0], s->got[1]}); }};
    });
    EXPECT_TRUE(r.exhausted) << r.message;
    return seen;
}

TEST(explorer, store_buffering_is_seen_with_relaxed_and_with_acquire_release) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    const auto seen = outcomes([](two_cells& s, int id) {
        auto& mine = id == 0 ? s.x : s.y;
        auto& other = id == 0 ? s.y : s.x;
        mine.store(1, memory_order::release);
        s.got[id] = other.load(memory_order::acquire);
    });
    EXPECT_EQ(seen.size(), 4u) << "both may read 0";
}

TEST(explorer, message_passing_needs_release_and_acquire) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    const auto run = [](cairn::detail::memory_order store, cairn::detail::memory_order load) {
        return explorer::explore({.preemptions = 3}, [=] {
            auto s = std::make_shared<two_cells>();
            return explorer::program{.thread =
                                         [=](int id) {
                                             if (id == 0) {
                                                 s->data = 42;
                                                 s->x.store(1, store);
                                             } else if (s->x.load(load) == 1) {
                                                 explorer::require(s->data == 42, "arrived");
                                             }
                                         },
                                     .at_end = [] {}};
        });
    };
    EXPECT_TRUE(run(memory_order::release, memory_order::acquire).exhausted);
    EXPECT_TRUE(run(memory_order::relaxed, memory_order::acquire).failed);
    EXPECT_TRUE(run(memory_order::release, memory_order::relaxed).failed);
}

TEST(explorer, a_read_modify_write_continues_a_release_sequence_and_a_store_ends_it) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    const auto run = [](bool rmw) {
        return explorer::explore({.threads = 3, .preemptions = 3}, [=] {
            auto s = std::make_shared<two_cells>();
            return explorer::program{.thread =
                                         [=](int id) {
                                             if (id == 0) {
                                                 s->data = 42;
                                                 s->x.store(1, memory_order::release);
                                             } else if (id == 1) {
                                                 if (s->x.load(memory_order::relaxed) == 1) {
                                                     if (rmw) {
                                                         s->x.fetch_add(1, memory_order::relaxed);
                                                     } else {
                                                         s->x.store(2, memory_order::relaxed);
                                                     }
                                                 }
                                             } else if (s->x.load(memory_order::acquire) == 2) {
                                                 explorer::require(s->data == 42, "arrived");
                                             }
                                         },
                                     .at_end = [] {}};
        });
    };
    EXPECT_TRUE(run(true).exhausted);
    EXPECT_TRUE(run(false).failed);
}

TEST(explorer, one_location_is_coherent) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    const auto seen = outcomes([](two_cells& s, int id) {
        if (id == 0) {
            s.x.store(1, memory_order::relaxed);
            s.x.store(2, memory_order::relaxed);
        } else {
            s.got[0] = s.x.load(memory_order::relaxed);
            s.got[1] = s.x.load(memory_order::relaxed);
        }
    });
    for (const auto& [first, second] : seen) { EXPECT_LE(first, second) << "never backwards"; }
    EXPECT_TRUE(seen.contains({0, 2}));
    EXPECT_TRUE(seen.contains({1, 1})) << "stale values are seen";
}

TEST(explorer, a_lock_orders_what_it_guards_and_deadlock_is_found) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    struct guarded {
        explorer::mutex a;
        explorer::mutex b;
        explorer::plain<int> data{0};
    };
    const auto run = [](bool crosswise) {
        return explorer::explore({.preemptions = 2}, [crosswise] {
            auto g = std::make_shared<guarded>();
            return explorer::program{.thread =
                                         [g, crosswise](int id) {
                                             const bool swapped = crosswise && id == 1;
                                             explorer::mutex& first = swapped ? g->b : g->a;
                                             explorer::mutex& second = swapped ? g->a : g->b;
                                             first.lock();
                                             second.lock();
                                             g->data = static_cast<int>(g->data) + 1;
                                             second.unlock();
                                             first.unlock();
                                         },
                                     .at_end = [g] { explorer::require(g->data == 2, "counted"); }};
        });
    };
    EXPECT_TRUE(run(false).exhausted) << run(false).message;
    const auto r = run(true);
    EXPECT_TRUE(r.failed);
    EXPECT_NE(r.message.find("everybody waits"), std::string::npos) << r.message;
}

TEST(explorer, a_weak_exchange_may_fail_for_no_reason_and_a_strong_one_may_not) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    const auto run = [](bool is_weak, int attempts) {
        return explorer::explore({.threads = 1, .preemptions = 1}, [=] {
            auto s = std::make_shared<two_cells>();
            const auto work = [=](int) {
                bool done = false;
                for (int i = 0; i < attempts && !done; ++i) {
                    int seen = 0;
                    done = is_weak ? s->x.compare_exchange_weak(seen, 1, memory_order::relaxed,
                                                                memory_order::relaxed)
                                   : s->x.compare_exchange_strong(seen, 1, memory_order::relaxed,
                                                                  memory_order::relaxed);
                    explorer::require(done || seen == 0, "a failed exchange says what it saw");
                }
                explorer::require(done, "exchanged");
            };
            return explorer::program{.thread = work, .at_end = [] {}};
        });
    };
    EXPECT_TRUE(run(true, 1).failed);
    EXPECT_TRUE(run(true, 2).exhausted) << "a preemption's worth of failures: one";
    EXPECT_TRUE(run(false, 1).exhausted);
}

TEST(explorer, increments_are_lost_without_a_read_modify_write) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    std::set<int> sums;
    const auto run = [&](bool rmw) {
        sums.clear();
        (void)explorer::explore({.threads = 3}, [&, rmw] {
            auto s = std::make_shared<two_cells>();
            return explorer::program{
                .thread =
                    [=](int) {
                        if (rmw) {
                            s->x.fetch_add(1, memory_order::relaxed);
                        } else {
                            s->x.store(s->x.load(memory_order::relaxed) + 1, memory_order::relaxed);
                        }
                    },
                .at_end = [s, &sums] { sums.insert(s->x.load(memory_order::relaxed)); }};
        });
        return sums;
    };
    EXPECT_EQ(run(true), (std::set<int>{3}));
    EXPECT_EQ(run(false), (std::set<int>{1, 2, 3}));
}

}  // namespace
