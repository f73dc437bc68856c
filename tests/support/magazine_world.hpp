// tests/support/magazine_world.hpp - programs of a few threads on a depot small enough to see all of it.
//
// Each run_*() explores one program with the given orders; see explorer.hpp. Used with the real orders
// (magazines_test.cpp) and with weakened ones (magazine_orders_test.cpp).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <cairn/alloc/concurrent_pool/magazines.hpp>

#include "support/explorer.hpp"
#include "support/magazine_world/world.hpp"

namespace magazine_world {

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
                    w->expect_magazines_in_place(scripts.size());
                    w->expect_all_there(w->caches[0], count, (scripts.size() - 1) * magazine_size);
                }};
    });
}

/// Two threads on the stack of magazines alone: one pops, the other pops twice and puts the first
/// back.
template <class Orders>
explorer::result run_stack(int preemptions) {
    struct state {
        using table_type = cairn::detail::magazine_table<explorer::atoms, Orders>;
        std::array<magazine, 3> all;
        std::array<typename table_type::entry, 3> entries;
        std::array<explorer::plain<int>, 3> owner;
        table_type table;
        cairn::detail::magazine_stack<explorer::atoms, Orders> stack;
        state() {
            table.move_to(entries.data());
            for (magazine& m : all) {
                table.append(m);
                push(m);
            }
        }
        magazine* pop() {
            magazine* const m = stack.pop(table);
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
explorer::result run_chunks(int preemptions) {
    return explorer::explore({.preemptions = preemptions}, [] {
        auto w = std::make_shared<world<Orders>>(1, 2, 2);
        return explorer::program{.thread =
                                     [=](int id) {
                                         cache& c = w->caches[static_cast<std::size_t>(id)];
                                         if (id == 0) {
                                             w->add_chunk(1);
                                             w->add_chunk(1);
                                             (void)w->allocate(c);
                                         } else {
                                             for (int i = 0; i < 3; ++i) { (void)w->allocate(c); }
                                         }
                                     },
                                 .at_end = [] {}};
    });
}

/// A pool that may grow to as many slots as are asked for: nobody may be refused.
template <class Orders>
explorer::result run_growth(int preemptions, std::vector<int> counts) {
    const explorer::options o{.threads = static_cast<int>(counts.size()),
                              .preemptions = preemptions};
    return explorer::explore(o, [counts] {
        auto w = std::make_shared<world<Orders>>(1, 0, static_cast<int>(counts.size()));
        for (const int count : counts) { w->slots_limit += static_cast<std::size_t>(count); }
        return explorer::program{
            .thread =
                [=](int id) {
                    const auto me = static_cast<std::size_t>(id);
                    for (int i = 0; i < counts[me]; ++i) {
                        require(w->allocate(w->caches[me]) != nullptr,
                                "who grows, and who sees that somebody grew, gets a slot");
                    }
                },
            .at_end = [] {}};
    });
}

/// One thread replaces the table of magazines and uses it, the other takes what was there before.
template <class Orders>
explorer::result run_table(int preemptions) {
    return explorer::explore({.preemptions = preemptions}, [] {
        auto w = std::make_shared<world<Orders>>(1, 4, 2);
        std::vector<std::byte*> slots;
        while (std::byte* const p = w->allocate(w->caches[0])) { slots.push_back(p); }
        for (std::byte* const p : slots) { w->deallocate(w->caches[0], p); }
        return explorer::program{
            .thread =
                [=](int id) {
                    if (id == 0) {
                        w->depot.magazines().move_to(w->more_entries.data());
                        w->depot.add(w->fresh_magazine());
                    } else if (std::byte* const p = w->allocate(w->caches[1])) {
                        w->deallocate(w->caches[1], p);
                    }
                },
            .at_end = [=] { w->expect_all_there(w->caches[0], 0, 1); }};
    });
}

/// One thread brings a new cache and leaves a full spare in it, the other two steal.
template <class Orders>
explorer::result run_newcomer(int preemptions, int threads, std::size_t slot_count = 3) {
    return explorer::explore({.threads = threads, .preemptions = preemptions}, [=] {
        auto w = std::make_shared<world<Orders>>(1, slot_count, 2);
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

}  // namespace magazine_world
