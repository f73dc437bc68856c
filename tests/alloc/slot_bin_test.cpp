// Every interleaving of two and three threads on cairn/alloc/inside/slot_bin.hpp: batches,
// chunks that become empty and serve another class, and the epoch of a trim; and what is found when
// the lock is missing.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include <cairn/alloc/inside/slot_bin.hpp>
#include <cairn/alloc/inside/thread_caches.hpp>

#include "support/explorer/scripts.hpp"
#include "support/sanitizers.hpp"

namespace {

using explorer::expect_exhausted;
using explorer::require;
using batch = cairn::detail::basic_slot_batch<explorer::atoms>;
using chunk = cairn::detail::basic_slot_chunk<explorer::atoms>;

/// No lock at all: the mistake that the explorer has to find.
struct no_lock {
    void lock() {}
    void unlock() {}
};

/// Two classes of 32 and 16 KiB, chunks of few slots, and as many batches and chunks as are said. A
/// thread's script: '+' allocates, '-' frees the oldest, 't' trims; '>' and '<' are + and - of the other
/// class.
template <class Lock>
struct world {
    static constexpr unsigned slots_in_chunk = 2;
    static constexpr unsigned batch_room = 2;
    using bin = cairn::detail::basic_slot_bin<explorer::atoms, Lock>;

    struct place {
        static constexpr bool keeps_chunks = false;
        world& w;
        chunk* find(void* slot) {
            const auto at = static_cast<std::size_t>(static_cast<std::byte*>(slot) - w.memory());
            return &w.chunks[at / w.chunk_size];
        }
        chunk* take_chunk(unsigned k) {
            w.free_lock.lock();
            chunk* const c = w.free_chunks.empty() ? nullptr : w.free_chunks.back();
            if (c != nullptr) { w.free_chunks.pop_back(); }
            w.free_lock.unlock();
            if (c != nullptr) {
                c->cut(size_of(k), slots_in_chunk,
                       &w.words[static_cast<std::size_t>(c - w.chunks.data())]);
            }
            return c;
        }
        void release(chunk& c) {
            require(c.free_count == c.slot_count,
                    "a chunk is released when all its slots are free");
            w.free_lock.lock();
            w.free_chunks.push_back(&c);
            w.free_lock.unlock();
        }
        batch* take_batch() {
            w.free_lock.lock();
            batch* const b = w.free_batches.empty() ? nullptr : w.free_batches.back();
            if (b != nullptr) { w.free_batches.pop_back(); }
            w.free_lock.unlock();
            return b;
        }
        void give_batch(batch& b) {
            w.free_lock.lock();
            w.free_batches.push_back(&b);
            w.free_lock.unlock();
        }
        void freed_twice(void*) { require(false, "a slot is freed once"); }
    };

    static constexpr std::size_t chunk_size = std::size_t{256} << 10;
    static std::size_t size_of(unsigned k) { return k == 39 ? 32768 : 16384; }
    /// Never touched: only compared.
    static std::byte* memory() { return reinterpret_cast<std::byte*>(std::size_t{1} << 32); }

    std::array<chunk, 4> chunks;
    std::array<chunk::word, 4> words;
    std::array<batch, 4> batches;
    std::array<batch::slot, 4 * batch_room> room;
    std::vector<chunk*> free_chunks;
    std::vector<batch*> free_batches;
    explorer::mutex free_lock;
    std::array<bin, 2> bins;
    cairn::detail::basic_trim_epoch<explorer::atoms> epoch;
    std::array<unsigned, 4> epochs_seen = {};
    std::array<std::vector<void*>, 3> stacks;  // of class 39, a thread each
    std::array<std::vector<void*>, 3> live;
    std::array<explorer::plain<int>, 16> owners;

    const std::size_t chunk_count;
    const std::size_t batch_count;

    world(unsigned of_chunks, unsigned of_batches)
        : chunk_count(of_chunks), batch_count(of_batches) {
        for (unsigned i = 0; i < chunk_count; ++i) {
            chunks[i].begin = memory() + i * chunk_size;
            free_chunks.push_back(&chunks[i]);
        }
        for (unsigned i = 0; i < batch_count; ++i) {
            batches[i].first_slot = &room[i * batch_room];
            free_batches.push_back(&batches[i]);
        }
    }
    static unsigned class_of(std::size_t which) { return which == 0 ? 39 : 35; }
    explorer::plain<int>& owner(void* slot, std::size_t which) {
        const auto at = static_cast<std::size_t>(static_cast<std::byte*>(slot) - memory());
        return owners[at / chunk_size * 2 + at % chunk_size / size_of(class_of(which))];
    }

    // As concurrent_heap::take_cold and put_cold, with stacks of two slots.
    void heed(std::size_t me) {
        if (!epoch.is_new(epochs_seen[me])) { return; }
        while (!stacks[me].empty()) {
            void* slot = stacks[me].back();
            stacks[me].pop_back();
            bins[0].give_to_chunks(&slot, 1, place{*this});
        }
    }
    void allocate(std::size_t me, std::size_t which) {
        void* slots[2];
        if (which == 1) {
            if (bins[1].take(35, slots, 1, place{*this}) == 0) { return; }
        } else {
            if (stacks[me].empty()) {
                heed(me);
                const unsigned count = bins[0].take(39, slots, 2, place{*this});
                stacks[me].assign(slots, slots + count);
                if (count == 0) { return; }
            }
            slots[0] = stacks[me].back();
            stacks[me].pop_back();
        }
        owner(slots[0], which) = static_cast<int>(me);  // a race, if somebody else has it
        live[me].push_back(slots[0]);
    }
    void deallocate(std::size_t me, std::size_t which) {
        if (live[me].empty()) { return; }
        void* slot = live[me].front();
        live[me].erase(live[me].begin());
        owner(slot, which) = -1;
        if (which == 1) {
            bins[1].give_to_chunks(&slot, 1, place{*this});
            return;
        }
        if (stacks[me].size() == 2) {
            heed(me);
            void* out[2];
            for (std::size_t i = 0; i < stacks[me].size(); ++i) { out[i] = stacks[me][i]; }
            if (stacks[me].size() == 2) {
                const unsigned given = bins[0].give(out, 2, 1, place{*this});
                stacks[me].resize(2 - given);
            }
        }
        stacks[me].push_back(slot);
    }
    void trim() {
        epoch.raise();
        for (auto& b : bins) {
            while (b.drain(place{*this})) {}
            while (b.release_empty(place{*this})) {}
        }
    }
    void step(std::size_t me, char what) {
        switch (what) {
            case '+':
            case '>':
                return allocate(me, what == '>');
            case '-':
            case '<':
                return deallocate(me, what == '<');
            default:
                return trim();
        }
    }
    /// When all threads have ended: everything comes back.
    void at_end() {
        for (std::size_t me = 0; me < 3; ++me) {
            for (void* slot : live[me]) { bins[0].give_to_chunks(&slot, 1, place{*this}); }
            for (void* slot : stacks[me]) { bins[0].give_to_chunks(&slot, 1, place{*this}); }
        }
        trim();
        require(free_chunks.size() == chunk_count, "no slot and no chunk is lost");
        require(free_batches.size() == batch_count, "no batch is lost");
        require(bins[0].first_chunk() == nullptr && bins[0].batch_count() == 0, "the bin is empty");
    }
};

template <class Lock = explorer::mutex>
explorer::result run(std::vector<const char*> scripts, unsigned chunk_count, unsigned batch_count,
                     int preemptions) {
    return explorer::run_scripts<world<Lock>>(scripts, preemptions, chunk_count, batch_count);
}

TEST(slot_bin, is_not_locked_while_a_slot_that_is_freed_twice_is_named) {
    struct place {
        cairn::detail::slot_bin& bin;
        cairn::detail::slot_chunk& only;
        bool keeps_chunks = true;
        bool was_locked = true;

        cairn::detail::slot_chunk* find(void*) { return &only; }
        void release(cairn::detail::slot_chunk&) {}
        // Returns, as those of heaps do not: the bin goes on, and unlocks.
        void freed_twice(void*) { was_locked = !bin.lock().try_lock(); }
    };
    std::array<std::byte, 96> memory;
    std::array<cairn::detail::slot_chunk::word, 1> bits;
    cairn::detail::slot_chunk c;
    c.begin = memory.data();
    c.cut(48, 2, bits.data());
    cairn::detail::slot_bin bin;
    bin.add_chunk(c);
    void* free_slot = memory.data();
    place p{bin, c};
    bin.give_to_chunks(&free_slot, 1, p);
    EXPECT_FALSE(p.was_locked);
}

TEST(slot_bin, takes_from_several_chunks_of_which_slots_were_taken) {
    struct place {
        std::array<cairn::detail::slot_chunk, 3>& chunks;
        bool keeps_chunks = true;

        cairn::detail::slot_chunk* find(void* slot) {
            for (auto& c : chunks) {
                if (c.begin <= slot && slot < c.begin + 96) { return &c; }
            }
            return nullptr;
        }
        cairn::detail::slot_chunk* take_chunk(unsigned) { return nullptr; }
        void release(cairn::detail::slot_chunk&) {}
        void give_batch(cairn::detail::slot_batch&) {}
        void freed_twice(void*) { FAIL() << "no slot is"; }
    };
    std::array<std::byte, 96 * 3> memory;
    std::array<cairn::detail::slot_chunk::word, 3> bits;
    std::array<cairn::detail::slot_chunk, 3> chunks;
    cairn::detail::slot_bin bin;
    for (std::size_t i = 0; i < 3; ++i) {
        chunks[i].begin = memory.data() + 96 * i;
        chunks[i].cut(48, 2, &bits[i]);
        bin.add_chunk(chunks[i]);
    }
    place p{chunks};
    std::array<void*, 4> slots{};
    EXPECT_EQ(bin.take(0, slots.data(), 4, p), 2u) << "an untouched chunk is begun by another call";
    void* const first = slots[0];
    EXPECT_EQ(bin.take(0, slots.data(), 1, p), 1u);
    void* freed = first;
    bin.give_to_chunks(&freed, 1, p);  // its chunk stands behind the others now
    EXPECT_EQ(bin.take(0, slots.data(), 4, p), 1u);
    EXPECT_EQ(bin.take(0, slots.data(), 1, p), 1u) << "of the third chunk";
    EXPECT_EQ(bin.take(0, slots.data(), 4, p), 2u) << "the rest of the third and the first chunk";
    EXPECT_EQ(slots[1], first);
    EXPECT_EQ(bin.take(0, slots.data(), 4, p), 0u);
}

TEST(slot_bin, batches_survive_every_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("++-- | ++--", run({"++--", "++--"}, 3, 2, 5));
    expect_exhausted("++++---- | ++++----", run({"++++----", "++++----"}, 4, 2, 4));
    expect_exhausted("+++--- | +++--- without batches", run({"+++---", "+++---"}, 4, 0, 4));
    expect_exhausted("++- | ++- | ++-", run({"++-", "++-", "++-"}, 3, 2, 2));
    expect_exhausted("+++ | +++ short of chunks", run({"+++---", "+++---"}, 2, 2, 3));
}

TEST(slot_bin, chunks_that_become_empty_serve_another_class) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("++++---- | ><", run({"++++----", "><><"}, 2, 0, 3));
    expect_exhausted("++-- | >< | ><", run({"++--", "><", "><"}, 2, 1, 2));
}

TEST(slot_bin, a_trim_gets_back_what_threads_have_in_the_end) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    expect_exhausted("++--+- | t", run({"++--+-", "t"}, 3, 2, 4));
    expect_exhausted("+++--- | t+-t", run({"+++---", "t+-t"}, 3, 2, 3));
    expect_exhausted("++-- | ++-- | t", run({"++--", "++--", "t"}, 3, 2, 2));
}

TEST(slot_bin, the_explorer_finds_a_missing_lock) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_TRUE(explorer::any_failed({run<no_lock>({"++--", "++--"}, 3, 2, 2)}));
}

}  // namespace
