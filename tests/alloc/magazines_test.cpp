// Every interleaving of two and three threads on cairn/alloc/magazines.hpp, and what happens when
// one of its memory orders is weakened. Prints the number of executions seen.
#include <cairn/alloc/magazines.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "support/explorer.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::magazine_orders;
using explorer::require;

constexpr std::size_t slots_max = 8;
constexpr std::size_t magazines_max = 16;

using magazine = cairn::detail::basic_magazine<explorer::atoms>;
using cache = cairn::detail::basic_cache<explorer::atoms>;
using fresh_chunk = cairn::detail::basic_fresh_chunk<explorer::atoms>;

struct find_magazine {
    magazine* table;
    magazine* operator()(std::uint32_t index) const { return &table[index]; }
};

/// A pool of at most 8 one-byte slots, two magazines for each of 3 caches, and an owner for each
/// slot.
template <class Orders>
struct world {
    using depot_type = cairn::detail::basic_depot<explorer::atoms, find_magazine, Orders>;

    world(std::size_t magazine_size, std::size_t slot_count, int cache_count)
        : depot{magazine_size, {table.data()}} {
        for (std::size_t i = 0; i < magazines_max; ++i) {
            table[i].index = static_cast<std::uint32_t>(i);
            table[i].slots = pointers.data() + 2 * i;
        }
        for (std::size_t i = 0; i < slot_count / magazine_size + 1; ++i) {
            depot.add(fresh_magazine());
        }
        for (int i = 0; i < cache_count; ++i) { equip(caches[static_cast<std::size_t>(i)]); }
        chunk.first = memory.data();
        chunk.slot_count = slot_count;
        depot.add_fresh(chunk);
    }
    magazine& fresh_magazine() { return table[magazines_used++]; }
    void equip(cache& c) {
        c.load(&fresh_magazine(), depot.magazine_size());
        c.spare.store(&fresh_magazine(), std::memory_order_relaxed);
        depot.enlist(c);
    }

    std::byte* allocate(cache& c) {
        if (c.top == c.floor && !depot.refill(c) && !depot.carve(c, 1) && !depot.steal(c)) {
            return nullptr;
        }
        auto* const p = static_cast<std::byte*>(static_cast<void*>(*--c.top));
        require(p >= memory.data() && p < memory.data() + slots_max, "a slot is a slot");
        // Plain: two owners at once are a data race, and so is an owner who did not see the last
        // one leave.
        owned[static_cast<std::size_t>(p - memory.data())] = 1;
        return p;
    }
    void deallocate(cache& c, std::byte* p) {
        owned[static_cast<std::size_t>(p - memory.data())] = 0;
        if (c.top == c.ceiling) { depot.drain(c); }
        *c.top++ = p;
    }
    /// Everything can be allocated again, once, by one cache. (Run at the end.)
    void expect_all_there(cache& c, std::size_t live, std::size_t hoarded_max) {
        std::array<bool, slots_max> seen{};
        std::size_t count = 0;
        while (std::byte* const p = allocate(c)) {
            bool& s = seen[static_cast<std::size_t>(p - memory.data())];
            require(!s, "a slot is given out once");
            if (s) { return; }  // it goes round in circles
            s = true;
            ++count;
        }
        const std::size_t slot_count = chunk.slot_count;
        require(count + live + hoarded_max >= slot_count, "no slot is lost");
        require(count + live <= slot_count, "no slot appears");
    }

    std::array<magazine, magazines_max> table;
    std::array<magazine::slot, 2 * magazines_max> pointers;
    std::array<std::byte, slots_max> memory;
    std::array<explorer::plain<int>, slots_max> owned;
    std::array<cache, 3> caches;
    std::size_t magazines_used = 0;
    depot_type depot;
    fresh_chunk chunk;
};

/// What a thread does: '+' allocates, '-' frees its oldest.
template <class Orders>
explorer::result run_scripts(std::vector<const char*> scripts, std::size_t magazine_size,
                             std::size_t slot_count, int preemptions, bool prefill) {
    const explorer::options o{.threads = static_cast<int>(scripts.size()),
                              .preemptions = preemptions};
    return explorer::explore(o, [=] {
        auto w = std::make_shared<world<Orders>>(magazine_size, slot_count,
                                                 static_cast<int>(scripts.size()));
        auto live = std::make_shared<std::array<std::array<std::byte*, 8>, 3>>();
        auto counts = std::make_shared<std::array<std::array<std::size_t, 2>, 3>>();  // begin, end
        if (prefill) {  // everything has been used before: the depot's full stack is stocked
            cache& c = w->caches[0];
            std::vector<std::byte*> all;
            while (std::byte* const p = w->allocate(c)) { all.push_back(p); }
            for (std::byte* const p : all) { w->deallocate(c, p); }
        }
        return explorer::program{
            .thread =
                [=](int id) {
                    const auto me = static_cast<std::size_t>(id);
                    auto& [begin, end] = (*counts)[me];
                    for (const char* op = scripts[me]; *op != 0; ++op) {
                        if (*op == '+') {
                            if (std::byte* const p = w->allocate(w->caches[me])) {
                                (*live)[me][end++] = p;
                            }
                        } else if (begin != end) {
                            w->deallocate(w->caches[me], (*live)[me][begin++]);
                        }
                    }
                },
            .at_end =
                [=] {
                    std::size_t count = 0;
                    for (const auto& [begin, end] : *counts) { count += end - begin; }
                    w->expect_all_there(w->caches[0], count, (scripts.size() - 1) * magazine_size);
                }};
    });
}

/// Two threads on the stack of magazines alone: one pops, the other pops twice and puts the first
/// back.
template <class Orders>
explorer::result run_stack(int preemptions) {
    struct state {
        std::array<magazine, 3> table;
        std::array<magazine::slot, 3> pointers;
        std::array<explorer::plain<int>, 3> owner;
        cairn::detail::magazine_stack<explorer::atoms, Orders> stack;
        magazine* pop() {
            magazine* const m = stack.pop(find_magazine{table.data()});
            if (m != nullptr) {
                owner[m->index] = 1;
                require(m->count == 1, "what the pusher wrote has arrived");
                m->count = std::size_t{0};
            }
            return m;
        }
        void push(magazine& m) {
            m.count = std::size_t{1};
            owner[m.index] = 0;
            stack.push(m);
        }
    };
    return explorer::explore({.threads = 2, .preemptions = preemptions}, [] {
        auto s = std::make_shared<state>();
        for (std::uint32_t i = 0; i < 3; ++i) {
            s->table[i].index = i;
            s->push(s->table[i]);
        }
        return explorer::program{.thread =
                                     [s](int id) {
                                         if (id == 0) {
                                             if (magazine* const m = s->pop()) { s->push(*m); }
                                         } else {
                                             magazine* const a = s->pop();
                                             (void)s->pop();
                                             if (a != nullptr) { s->push(*a); }
                                         }
                                     },
                                 .at_end =
                                     [s] {
                                         int count = 0;
                                         while (count <= 2 && s->pop() != nullptr) { ++count; }
                                         require(count <= 2, "a magazine is in one place");
                                         require(count >= 1, "no magazine is lost");
                                     }};
    });
}

/// One thread adds two chunks and carves, the other carves.
template <class Orders>
explorer::result run_growth(int preemptions) {
    return explorer::explore({.preemptions = preemptions}, [] {
        auto w = std::make_shared<world<Orders>>(1, 2, 2);
        auto chunks = std::make_shared<std::array<fresh_chunk, 2>>();
        return explorer::program{.thread =
                                     [=](int id) {
                                         cache& c = w->caches[static_cast<std::size_t>(id)];
                                         if (id == 0) {
                                             for (std::size_t i = 0; i < 2; ++i) {
                                                 (*chunks)[i].first = w->memory.data() + 2 + i;
                                                 (*chunks)[i].slot_count = 1;
                                                 w->depot.add_fresh((*chunks)[i]);
                                             }
                                             (void)w->allocate(c);
                                         } else {
                                             for (int i = 0; i < 3; ++i) { (void)w->allocate(c); }
                                         }
                                     },
                                 .at_end = [] {}};
    });
}

/// One thread brings a new cache and leaves a full spare in it, the other two steal.
template <class Orders>
explorer::result run_newcomer(int preemptions, int threads) {
    return explorer::explore({.threads = threads, .preemptions = preemptions}, [] {
        auto w = std::make_shared<world<Orders>>(1, 3, 2);
        return explorer::program{
            .thread =
                [=](int id) {
                    cache& c = w->caches[static_cast<std::size_t>(id == 0 ? 2 : id - 1)];
                    if (id == 0) {
                        w->equip(c);
                        std::byte* const a = w->allocate(c);
                        std::byte* const b = w->allocate(c);
                        if (a != nullptr) { w->deallocate(c, a); }
                        if (b != nullptr) { w->deallocate(c, b); }
                    } else {
                        (void)w->allocate(c);
                        (void)w->allocate(c);
                    }
                },
            .at_end = [] {}};
    });
}

void expect_exhausted(const char* name, const explorer::result& r) {
    EXPECT_FALSE(r.failed) << name << ": " << r.message;
    EXPECT_TRUE(r.exhausted || r.failed) << name << ": too many executions";
    std::printf("%-58s %9llu executions%s\n", name, static_cast<unsigned long long>(r.executions),
                r.exhausted ? ", exhausted" : "");
}

TEST(magazines, survive_every_interleaving_of_two_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = magazine_orders;
    expect_exhausted("M=1  +- | +-  fresh", run_scripts<o>({"+-", "+-"}, 1, 2, 4, false));
    expect_exhausted("M=1  ++- | ++-  fresh", run_scripts<o>({"++-", "++-"}, 1, 4, 3, false));
    expect_exhausted("M=1  +++ | +++  recycled", run_scripts<o>({"+++", "+++"}, 1, 5, 2, true));
    expect_exhausted("M=1  ++- | +-+  short of slots",
                     run_scripts<o>({"++-", "+-+"}, 1, 3, 4, true));
    expect_exhausted("M=1  +++- | ++--  recycled", run_scripts<o>({"+++-", "++--"}, 1, 6, 2, true));
    expect_exhausted("M=2  +++ | +++  recycled", run_scripts<o>({"+++", "+++"}, 2, 8, 4, true));
    expect_exhausted("M=2  +++--- | +++  short of slots",
                     run_scripts<o>({"+++---", "+++"}, 2, 5, 4, true));
    expect_exhausted("M=2  +++++ | +++++  recycled",
                     run_scripts<o>({"+++++", "+++++"}, 2, 8, 2, true));
}

TEST(magazines, survive_every_interleaving_of_three_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = magazine_orders;
    expect_exhausted("M=1  +- | +- | +-  recycled",
                     run_scripts<o>({"+-", "+-", "+-"}, 1, 3, 3, true));
    expect_exhausted("M=1  ++ | ++ | ++  fresh",
                     run_scripts<o>({"++", "++", "++"}, 1, 5, 1, false));
    expect_exhausted("M=2  ++- | ++- | +  recycled",
                     run_scripts<o>({"++-", "++-", "+"}, 2, 6, 2, true));
}

TEST(magazines, the_stack_survives_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("stack: pop push | pop pop push", run_stack<magazine_orders>(4));
    expect_exhausted("one adds chunks | the other carves", run_growth<magazine_orders>(2));
    expect_exhausted("one joins and hoards | one steals", run_newcomer<magazine_orders>(2, 2));
    expect_exhausted("one joins and hoards | two steal", run_newcomer<magazine_orders>(1, 3));
}

// ------------------------------------------------------------------------------------------------
// Every order is needed: one weakened at a time, and some execution fails.

constexpr auto relaxed = std::memory_order_relaxed;

struct weak_push : magazine_orders {
    static constexpr auto push = relaxed;
};
struct weak_pop_look : magazine_orders {
    static constexpr auto pop_look = relaxed;
};
struct weak_pop_exchange : magazine_orders {
    static constexpr auto pop_exchange = relaxed;
};
struct spare_not_released : magazine_orders {
    static constexpr auto swap_spare = std::memory_order_acquire;
};
struct spare_not_acquired : magazine_orders {
    static constexpr auto swap_spare = std::memory_order_release;
};
struct weak_publish : magazine_orders {
    static constexpr auto publish = relaxed;
};
struct weak_follow : magazine_orders {
    static constexpr auto follow = relaxed;
};
struct no_tag : magazine_orders {
    static constexpr unsigned tag_bits = 0;
};
struct claims_in_two_steps : magazine_orders {
    static constexpr bool claims_at_once = false;
};

/// True when one of the explorations above notices.
template <class Orders>
bool is_caught() {
    for (const auto& r : {run_stack<Orders>(3), run_growth<Orders>(2), run_newcomer<Orders>(1, 2),
                          run_scripts<Orders>({"++-", "+-+"}, 1, 3, 2, true),
                          run_scripts<Orders>({"++-", "++-"}, 1, 4, 2, false)}) {
        if (r.failed) {
            std::printf("    caught after %llu executions: %s",
                        static_cast<unsigned long long>(r.executions),
                        r.message.substr(0, r.message.find('\n') + 1).c_str());
            return true;
        }
    }
    return false;
}

TEST(magazines, every_memory_order_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_FALSE(is_caught<magazine_orders>());
    EXPECT_TRUE(is_caught<weak_push>()) << "push";
    EXPECT_TRUE(is_caught<weak_pop_look>()) << "pop_look";
    EXPECT_TRUE(is_caught<weak_pop_exchange>()) << "pop_exchange";
    EXPECT_TRUE(is_caught<spare_not_released>()) << "swap_spare, release";
    EXPECT_TRUE(is_caught<spare_not_acquired>()) << "swap_spare, acquire";
    EXPECT_TRUE(is_caught<weak_publish>()) << "publish";
    EXPECT_TRUE(is_caught<weak_follow>()) << "follow";
}

TEST(magazines, the_tag_and_the_indivisible_claim_are_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_TRUE(is_caught<no_tag>());
    EXPECT_TRUE(is_caught<claims_in_two_steps>());
}

}  // namespace
