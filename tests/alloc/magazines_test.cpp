// Every interleaving of two and three threads on cairn/alloc/concurrent_pool/magazines.hpp, up to a
// number of preemptions that each call below names: exchanges, growth, stolen spares, and trims. And
// what is found without its memory order, and without the lock.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cairn/alloc/concurrent_pool/magazines.hpp>

#include "support/explorer/scripts.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::magazine_orders;
using cairn::detail::memory_order;
using explorer::expect_exhausted;
using explorer::require;
using magazine = cairn::detail::basic_slot_batch<explorer::atoms>;
using cache = cairn::detail::basic_magazines<explorer::atoms>;
using chunk = cairn::detail::basic_slot_chunk<explorer::atoms>;

/// No lock at all: the mistake that the explorer has to find.
struct no_lock {
    void lock() {}
    void unlock() {}
};
struct spares_are_not_acquired : magazine_orders {
    static constexpr auto swap_spare = memory_order::release;
};
struct spares_are_not_released : magazine_orders {
    static constexpr auto swap_spare = memory_order::acquire;
};

constexpr std::size_t slots_max = 8;
constexpr std::size_t magazines_max = 20;

/// A pool of at most 8 one-byte slots, two magazines for each of 3 caches, and an owner for each
/// slot.
template <class Orders, class Lock>
struct world {
    using depot_type = cairn::detail::basic_magazine_depot<explorer::atoms, Lock, Orders>;

    struct place {
        static constexpr bool keeps_chunks = true;
        world& w;
        chunk* find(void* slot) {
            const auto at =
                static_cast<std::size_t>(static_cast<std::byte*>(slot) - w.memory.data());
            return &w.chunks[w.chunk_of[at]];
        }
        chunk* take_chunk(unsigned) { return nullptr; }
        void release(chunk&) { require(false, "a pool keeps its chunks"); }
        void give_batch(magazine& m) {
            w.depot.lock().lock();
            w.depot.push_empty(m);
            w.depot.lock().unlock();
        }
        void freed_twice(void*) { require(false, "a slot is freed once"); }
    };

    world(unsigned magazine_size, unsigned slot_count, std::size_t caches_used, bool recycled,
          std::size_t limit)
        : slots_limit{limit}, depot{magazine_size}, cache_count{caches_used} {
        for (std::size_t i = 0; i < caches_used; ++i) {
            caches[i].load(&fresh_magazine(), magazine_size);
            caches[i].spare.store(&fresh_magazine(), memory_order::relaxed);
        }
        if (slot_count != 0) { add_chunk(slot_count); }
        if (!recycled) { return; }
        std::vector<std::byte*> slots;
        while (std::byte* const p = allocate(0)) { slots.push_back(p); }
        for (std::byte* const p : slots) { deallocate(0, p); }
    }
    void step(std::size_t me, char op) {
        if (op == '+') {
            std::byte* const p = allocate(me);
            require(p != nullptr || slots_limit == 0,
                    "who grows, and who sees that somebody grew, gets a slot");
            if (p != nullptr) { live[me].push_back(p); }
        } else if (op == 't') {
            trim();
        } else if (op == 'p') {
            depot.pour_out(caches[me], false, place{*this});
        } else if (!live[me].empty()) {
            deallocate(me, live[me].front());
            live[me].erase(live[me].begin());
        }
    }
    magazine& fresh_magazine() {
        magazine& m = all[magazine_count++];
        m.first_slot = pointers.data() + 2 * (magazine_count - 1);
        return m;
    }
    /// Requires: one thread at a time. As concurrent_pool::add_chunk().
    void add_chunk(unsigned slot_count) {
        chunk& c = chunks[chunk_count];
        c.begin = memory.data() + total;
        c.cut(1, slot_count, &words[chunk_count]);
        for (unsigned i = 0; i < slot_count; ++i) { chunk_of[total + i] = chunk_count; }
        ++chunk_count;
        depot.lock().lock();
        for (unsigned i = 0; i < slot_count / depot.magazine_size() + 1; ++i) {
            depot.push_empty(fresh_magazine());
        }
        depot.add_chunk(c);
        total += slot_count;
        counted.store(total, memory_order::relaxed);
        depot.lock().unlock();
    }
    /// As concurrent_pool::grow(), a slot at a time.
    bool grow(std::size_t seen) {
        grow_lock.lock();
        const bool somebody_did = counted.load(memory_order::relaxed) != seen;
        const bool may = somebody_did || total < slots_limit;
        if (may && !somebody_did) { add_chunk(1); }
        grow_lock.unlock();
        return may;
    }
    /// As concurrent_pool::fill().
    bool fill(cache& c) {
        while (true) {
            const std::size_t seen = counted.load(memory_order::relaxed);
            if (depot.refill(c)) { return true; }
            if (slots_limit == 0 || !grow(seen)) { break; }
        }
        c.unload();
        magazine* mine = c.loaded;
        bool has_slots = false;
        for (std::size_t i = 0; i < cache_count && !has_slots; ++i) {
            if (&caches[i] != &c) { has_slots = depot_type::steal(mine, caches[i]); }
        }
        c.load(mine, depot.magazine_size());
        return has_slots;
    }
    void heed(std::size_t me) {
        if (epoch.is_new(epochs_seen[me])) { depot.pour_out(caches[me], true, place{*this}); }
    }

    std::byte* allocate(std::size_t me) {
        cache& c = caches[me];
        if (c.top == c.floor) {
            heed(me);
            if (c.top == c.floor && !fill(c)) { return nullptr; }
        }
        auto* const p = static_cast<std::byte*>(static_cast<void*>(*--c.top));
        require(p >= memory.data() && p < memory.data() + slots_max, "a slot is a slot");
        // Plain: two owners at once are a data race, and so is an owner who did not see the last
        // one leave.
        owned[static_cast<std::size_t>(p - memory.data())] = 1;
        return p;
    }
    void deallocate(std::size_t me, std::byte* p) {
        cache& c = caches[me];
        owned[static_cast<std::size_t>(p - memory.data())] = 0;
        if (c.top == c.ceiling) {
            heed(me);
            if (c.top == c.ceiling) { depot.drain_cache(c, place{*this}); }
        }
        *c.top++ = p;
    }
    void trim() {
        epoch.raise();
        while (depot.drain(place{*this})) {}
    }
    /// When all threads have ended: everything comes back to its chunk, and no magazine is lost.
    void at_end() {
        std::size_t live_count = 0;
        for (const auto& mine : live) { live_count += mine.size(); }
        for (std::size_t i = 0; i < cache_count; ++i) {
            depot.pour_out(caches[i], i % 2 == 0, place{*this});
        }
        trim();
        std::size_t free_count = 0;
        for (std::size_t i = 0; i < chunk_count; ++i) {
            free_count += static_cast<unsigned>(chunks[i].free_count);
        }
        require(free_count + live_count == total, "no slot is lost, and none appears");
        std::size_t empty_count = 0;
        while (depot.pop_empty() != nullptr) { ++empty_count; }
        require(empty_count + 2 * cache_count == magazine_count, "no magazine is lost");
    }

    std::array<magazine, magazines_max> all;
    std::array<magazine::slot, 2 * magazines_max> pointers;
    std::array<std::byte, slots_max> memory;
    std::array<explorer::plain<int>, slots_max> owned;
    std::array<std::size_t, slots_max> chunk_of = {};
    std::array<cache, 3> caches;
    std::array<unsigned, 3> epochs_seen = {};
    std::array<chunk, 4> chunks;
    std::array<chunk::word, 4> words;
    std::size_t chunk_count = 0;
    std::size_t magazine_count = 0;
    std::size_t total = 0;    // slots in all chunks
    std::size_t slots_limit;  // how far it may grow; 0: not at all
    std::array<std::vector<std::byte*>, 3> live;
    explorer::atoms::atomic<std::size_t> counted{std::size_t{0}};
    cairn::detail::basic_trim_epoch<explorer::atoms> epoch;
    explorer::mutex grow_lock;
    depot_type depot;
    std::size_t cache_count;
};

/// `recycled`: all slots have been used, and the depot has full magazines. `slots_limit`: not 0:
/// nobody may be refused.
struct setting {
    unsigned magazine_size;
    unsigned slot_count;
    int preemptions;
    bool recycled = false;
    std::size_t slots_limit = 0;
};

/// What a thread does: '+' allocates, '-' frees its oldest, 't' trims, 'p' pours its cache out.
template <class Orders = magazine_orders, class Lock = explorer::mutex>
explorer::result run(std::vector<const char*> scripts, setting s) {
    return explorer::run_scripts<world<Orders, Lock>>(scripts, s.preemptions, s.magazine_size,
                                                      s.slot_count, scripts.size(), s.recycled,
                                                      s.slots_limit);
}

TEST(magazines, survive_every_interleaving_of_two_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("M=1  +- | +-  fresh", run({"+-", "+-"}, {1, 2, 4}));
    expect_exhausted("M=1  ++- | ++-  fresh", run({"++-", "++-"}, {1, 4, 3}));
    expect_exhausted("M=1  +++ | +++  recycled", run({"+++", "+++"}, {1, 5, 2, true}));
    expect_exhausted("M=1  ++- | +-+  short of slots", run({"++-", "+-+"}, {1, 3, 3, true}));
    expect_exhausted("M=1  +++- | ++--  recycled", run({"+++-", "++--"}, {1, 6, 2, true}));
    expect_exhausted("M=2  +++ | +++  recycled", run({"+++", "+++"}, {2, 8, 4, true}));
    expect_exhausted("M=2  +++--- | +++  short of slots", run({"+++---", "+++"}, {2, 5, 3, true}));
    expect_exhausted("M=2  +++++ | +++++  recycled", run({"+++++", "+++++"}, {2, 8, 2, true}));
}

TEST(magazines, survive_every_interleaving_of_three_threads) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("M=1  +- | +- | +-  recycled", run({"+-", "+-", "+-"}, {1, 3, 2, true}));
    expect_exhausted("M=1  ++ | ++ | ++  fresh", run({"++", "++", "++"}, {1, 5, 1}));
    expect_exhausted("M=2  ++- | ++- | +  recycled", run({"++-", "++-", "+"}, {2, 6, 2, true}));
}

TEST(magazines, growth_survives_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("growing: + | +", run({"+", "+"}, {1, 0, 3, false, 2}));
    expect_exhausted("growing: ++ | +", run({"++", "+"}, {1, 0, 2, false, 3}));
    expect_exhausted("growing: + | + | +", run({"+", "+", "+"}, {1, 0, 1, false, 3}));
}

TEST(magazines, trims_and_ending_threads_survive_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("M=1  ++--+ | t", run({"++--+", "t"}, {1, 4, 3, true}));
    expect_exhausted("M=2  ++++---- | t+-t", run({"++++----", "t+-t"}, {2, 6, 2}));
    expect_exhausted("M=1  ++--p | +++", run({"++--p", "+++"}, {1, 4, 3, true}));
    expect_exhausted("M=1  +-p | +-p | t+", run({"+-p", "+-p", "t+"}, {1, 4, 1, true}));
}

TEST(magazines, the_explorer_finds_a_spare_that_is_not_acquired_or_released) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    // The first leaves a full spare without a lock; the second takes it when all else is gone.
    const setting short_of_slots{1, 3, 2, true};
    expect_exhausted("M=1  ++-- | ++  short of slots", run({"++--", "++"}, short_of_slots));
    EXPECT_TRUE(run<spares_are_not_acquired>({"++--", "++"}, short_of_slots).failed);
    EXPECT_TRUE(run<spares_are_not_released>({"++--", "++"}, short_of_slots).failed);
}

TEST(magazines, the_explorer_finds_a_missing_lock) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_TRUE((run<magazine_orders, no_lock>({"++-", "++-"}, {1, 4, 2})).failed);
}

}  // namespace
