// lab/families/thread_work.hpp - what the threads of `threads` do with the memory of thread_family.hpp.
//
// A work is a template of what is allocated: one_size (slots of 64 bytes) or any_size.
//
//      template <class View>
//      void prepare(View& v, unsigned t);                                 // not timed, where there is one
//      template <class View>
//      std::size_t run(View& v, unsigned t, std::uint64_t repetitions);   // thread t; returns: operations
#pragma once

#include <atomic>
#include <bit>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lab/families/crew.hpp"
#include "lab/families/thread_family.hpp"

namespace lab::slots {

// ---- what is allocated --------------------------------------------------------------------------

struct one_size {
    struct block {
        void* p = nullptr;
        static constexpr std::size_t size = slot_size;
    };
    static void touch(const block& b) { *static_cast<volatile std::uint64_t*>(b.p) = 1; }
    template <class View>
    block take(View& v, std::size_t) const {
        const block b{v.allocate(slot_size)};
        touch(b);
        return b;
    }
};

/// Log-uniform sizes from 16 bytes to `high`: the first and the last byte are written.
struct any_size {
    struct block {
        void* p = nullptr;
        std::size_t size = 0;
    };
    std::vector<std::uint32_t> sizes;
    explicit any_size(double high, std::size_t count = 1 << 15)
        : sizes{heaps::log_uniform(count, 2, 16, high)} {}
    static void touch(const block& b) { heaps::touch(b.p, b.size); }
    template <class View>
    block take(View& v, std::size_t i) const {
        const std::size_t size = sizes[i & (sizes.size() - 1)];
        const block b{v.allocate(size), size};
        touch(b);
        return b;
    }
};

template <class View, class Block>
void give(View& v, const Block& b) {
    v.deallocate(b.p, b.size);
}

// ---- what the threads do ------------------------------------------------------------------------

struct pairs {
    template <class View>
    std::size_t run(View& v, unsigned, std::uint64_t repetitions) {
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            const one_size::block b = one_size{}.take(v, i);
            lab::keep(b.p);
            give(v, b);
        }
        return repetitions;
    }
};

/// A pair of a free and a request among `live_count` blocks of the thread, the victim at random.
template <class Blocks>
struct churn {
    Blocks blocks;
    std::size_t live_count = 1000;
    struct alignas(64) state {
        std::vector<typename Blocks::block> live;
        std::vector<std::uint32_t> victims;
        std::size_t at = 0;
    };
    std::vector<state> states = std::vector<state>(crew_max);
    template <class View>
    void prepare(View& v, unsigned t) {
        state& s = states[t];
        if (!s.victims.empty()) return;
        s.victims =
            random_indices(std::max<std::size_t>(4096, 2 * std::bit_ceil(live_count)), live_count);
        s.at = t * 1000;
        while (s.live.size() < live_count) s.live.push_back(blocks.take(v, s.live.size()));
    }
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        state& s = states[t];
        const std::size_t mask = s.victims.size() - 1;
        const std::size_t end = s.at + repetitions;
        for (std::size_t i = s.at; i != end; ++i) {
            typename Blocks::block& b = s.live[s.victims[i & mask]];
            give(v, b);
            b = blocks.take(v, i);
        }
        s.at = end;
        return repetitions;
    }
};

struct batches {
    static constexpr std::size_t batch = 1000;
    std::vector<std::vector<one_size::block>> live =
        std::vector<std::vector<one_size::block>>(crew_max);
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        std::vector<one_size::block>& mine = live[t];
        mine.resize(batch);
        const std::uint64_t rounds = repetitions / batch + 1;
        for (std::uint64_t r = 0; r != rounds; ++r) {
            for (one_size::block& b : mine) b = one_size{}.take(v, r);
            for (const one_size::block& b : mine) give(v, b);
        }
        return rounds * batch;
    }
};

/// larson: replace at random among 1000, and now and then swap everything with another thread.
template <class Blocks>
struct larson {
    static constexpr std::size_t live_count = 1000;
    using bundle = std::vector<typename Blocks::block>;
    Blocks blocks;
    std::vector<std::uint32_t> victims = random_indices(4096, live_count);
    std::vector<std::atomic<bundle*>> parked = std::vector<std::atomic<bundle*>>(crew_max);
    std::vector<std::unique_ptr<bundle>> owners{};
    std::mutex mutex{};
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        bundle* mine = parked[t].exchange(nullptr);
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            if (mine == nullptr) {
                const std::lock_guard held{mutex};
                mine = owners.emplace_back(std::make_unique<bundle>()).get();
                for (std::size_t k = 0; k != live_count; ++k) mine->push_back(blocks.take(v, k));
            }
            typename Blocks::block& b = (*mine)[victims[i % 4096]];
            give(v, b);
            b = blocks.take(v, i);
            if (i % 1000 == 999) mine = parked[(i / 1000) % 4].exchange(mine);
        }
        if (mine != nullptr) mine = parked[t].exchange(mine);
        if (mine != nullptr) {
            for (const auto& b : *mine) give(v, b);
        }
        return repetitions;
    }
};

/// xmalloc: everybody allocates batches, everybody frees batches that others allocated.
template <class Blocks>
struct xmalloc {
    static constexpr std::size_t batch = 120;
    using bundle = std::vector<typename Blocks::block>;
    struct alignas(64) place {
        std::atomic<bundle*> full{nullptr};
    };
    Blocks blocks;
    std::vector<place> places = std::vector<place>(8);
    std::vector<std::unique_ptr<bundle>> bundles{};
    std::mutex mutex{};
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        bundle* mine = nullptr;
        const std::uint64_t rounds = repetitions / batch + 1;
        for (std::uint64_t r = 0; r != rounds; ++r) {
            if (mine == nullptr) {
                const std::lock_guard held{mutex};
                mine = bundles.emplace_back(std::make_unique<bundle>(batch)).get();
            }
            std::size_t i = r * batch;
            for (auto& b : *mine) b = blocks.take(v, i++);
            mine = places[(r + t) % places.size()].full.exchange(mine, std::memory_order_acq_rel);
            if (mine != nullptr) {
                for (const auto& b : *mine) give(v, b);
            }
        }
        return rounds * batch;
    }
};

/// Berger's cache-thrash: each thread takes 8 bytes, writes them 100 times and frees them. Two
/// threads whose bytes share a line of the cache take it from each other at each write.
/// cache-scratch: the first 8 bytes of each thread came from one thread, beside those of the others.
template <bool Scratch>
struct writes_of_8_bytes {
    std::vector<void*> gifts{};
    std::vector<bool> has_begun = std::vector<bool>(crew_max);
    std::mutex mutex{};
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        if (Scratch) free_the_gift(v, t);
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            auto* const p = static_cast<volatile std::uint64_t*>(v.allocate(8));
            for (std::uint64_t k = 0; k != 100; ++k) *p = k;
            v.deallocate(const_cast<std::uint64_t*>(p), 8);
        }
        return repetitions;
    }
    template <class View>
    void free_the_gift(View& v, unsigned t) {
        const std::lock_guard held{mutex};
        while (gifts.size() != crew_max) gifts.push_back(v.allocate(8));
        if (!has_begun[t]) v.deallocate(gifts[t], 8);
        has_begun[t] = true;
    }
};

// ---- how it is timed ----------------------------------------------------------------------------

/// Threads, the memory that they share, and the view of each.
template <class A>
struct staff {
    crew people;
    A memory{50'000};
    using view_type = decltype(memory.view(0));
    std::vector<std::unique_ptr<view_type>> views;
    explicit staff(unsigned count) : people{count}, views(count) {}
    ~staff() { views.clear(); }
    staff(const staff&) = delete;
    /// A thread's view is made by the thread itself, once.
    view_type& view(unsigned t) {
        if (!views[t]) views[t] = std::make_unique<view_type>(memory.view(t));
        return *views[t];
    }
};

/// `make` returns the work, which all threads share. `scale`: operations of a repetition.
template <class A, class Make>
auto work_in(unsigned threads, Make make, std::uint64_t scale = 1) {
    struct all {
        decltype(make()) work;
        staff<A> crew;
        all(unsigned count, Make& make_work) : work(make_work()), crew{count} {}
    };
    return [a = std::make_unique<all>(threads, make), threads, scale](lab::sample& s) {
        std::atomic<std::size_t> operations{0};
        if constexpr (requires { a->work.prepare(a->crew.view(0), 0); }) {
            lab::sample unseen{1};
            a->crew.people.run(unseen, [&](unsigned t) { a->work.prepare(a->crew.view(t), t); });
        }
        a->crew.people.run(s, [&](unsigned t) {
            operations.fetch_add(a->work.run(a->crew.view(t), t, scale * s.repetitions()),
                                 std::memory_order_relaxed);
        });
        s.did(operations / threads);
    };
}

// ---- one makes, the other frees -----------------------------------------------------------------

/// A ring of blocks for one producer and one consumer, published 32 at a time.
template <class Block>
struct ring {
    static constexpr std::size_t size = 4096;
    static constexpr std::size_t step = 32;
    std::vector<Block> items = std::vector<Block>(size);
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> read{0};

    template <class Blocks, class View>
    void produce(Blocks& blocks, View& v, std::size_t count) {
        const std::size_t begin = written.load(std::memory_order_relaxed);
        for (std::size_t i = begin; i != begin + count; i += step) {
            wait_until([&] { return i + step - read.load(std::memory_order_acquire) <= size; });
            for (std::size_t k = i; k != i + step; ++k) items[k % size] = blocks.take(v, k);
            written.store(i + step, std::memory_order_release);
        }
    }
    template <class Blocks, class View>
    void consume(Blocks&, View& v, std::size_t count) {
        const std::size_t begin = read.load(std::memory_order_relaxed);
        for (std::size_t i = begin; i != begin + count; i += step) {
            wait_until([&] { return written.load(std::memory_order_acquire) != i; });
            for (std::size_t k = i; k != i + step; ++k) {
                Blocks::touch(items[k % size]);
                give(v, items[k % size]);
            }
            read.store(i + step, std::memory_order_release);
        }
    }
};

template <class A, class Blocks>
auto producer_consumer(Blocks blocks, std::uint64_t scale = 1) {
    struct all {
        ring<typename Blocks::block> between;
        staff<A> crew{2};
    };
    return [a = std::make_unique<all>(), blocks, scale](lab::sample& s) {
        constexpr std::size_t step = ring<typename Blocks::block>::step;
        const std::size_t count = (scale * s.repetitions() / step + 1) * step;
        a->crew.people.run(s, [&](unsigned t) {
            if (t == 0) {
                a->between.produce(blocks, a->crew.view(t), count);
            } else {
                a->between.consume(blocks, a->crew.view(t), count);
            }
        });
        s.did(count);
    };
}

// ---- threads that come and go -------------------------------------------------------------------

/// Two threads at a time begin, allocate 200 blocks each, free half of them, free what the two
/// before them left, and end. An operation is the life of a thread.
template <class A>
auto storm_of_threads() {
    using block = any_size::block;
    struct all {
        A memory{50'000};
        any_size blocks{256};
        std::vector<block> left[2];
    };
    return [a = std::make_unique<all>()](lab::sample& s) {
        const auto life = [&](unsigned t) {
            auto v = a->memory.view(t);
            std::vector<block> mine(200);
            for (std::size_t i = 0; i != mine.size(); ++i) {
                mine[i] = a->blocks.take(v, t * 1000 + i);
            }
            for (const block& b : a->left[t]) give(v, b);
            a->left[t].clear();
            for (std::size_t i = 0; i != mine.size(); ++i) {
                if (i % 2 == 0) {
                    give(v, mine[i]);
                } else {
                    a->left[t].push_back(mine[i]);
                }
            }
        };
        for (std::uint64_t i = 0; i != s.repetitions(); ++i) {
            std::thread first{life, 0};
            std::thread second{life, 1};
            first.join();
            second.join();
            std::swap(a->left[0], a->left[1]);
        }
        s.did(2 * s.repetitions());
    };
}

// ---- memory ---------------------------------------------------------------------------------------

/// What a malloc keeps for the calling thread, and of what was freed, goes back to the system, as
/// far as it has a function for that.
inline void give_back_of_malloc() {
    give_back_freed_memory();
    using with_flag = void (*)(bool);
    using plain = void (*)();
    using control = int (*)(const char*, void*, std::size_t*, void*, std::size_t);
    if (const auto collect = heaps::sized_malloc::found<with_flag>("mi_collect")) collect(true);
    for (const char* const name :
         {"MallocExtension_MarkThreadIdle", "MallocExtension_ReleaseFreeMemory"}) {
        if (const auto release = heaps::sized_malloc::found<plain>(name)) release();
    }
    using command = int (*)(int, void*);
    const auto of_tbb = heaps::sized_malloc::found<command>("scalable_allocation_command");
    // The lab links tbbmalloc as a peer: it is the malloc only where its proxy is here, too.
    if (of_tbb != nullptr && heaps::sized_malloc::found<plain>("__TBB_malloc_proxy") != nullptr) {
        of_tbb(1, nullptr);  // TBBMALLOC_CLEAN_THREAD_BUFFERS
        of_tbb(0, nullptr);  // TBBMALLOC_CLEAN_ALL_BUFFERS
    }
    if (const auto mallctl = heaps::sized_malloc::found<control>("mallctl")) {
        mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
        mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // of all arenas
    }
}

template <class A>
void release_this_thread(A& memory) {
    if constexpr (requires { memory.inner.release_this_thread(); }) {
        memory.inner.release_this_thread();
    } else {
        give_back_of_malloc();
    }
}

// What these rows call where it is there: another name for it would only change their figures.
static_assert(requires(cairn_heap_threads& m) {
    m.inner.trim();
    m.inner.release_this_thread();
});

/// Four threads fill, replace once, and free what others made, at random. Then they sleep.
template <class A>
auto memory_of_four(double high, std::string after, std::string trimmed) {
    constexpr std::size_t count = 25'000;  // of each thread
    return [=](lab::sample& s) {
        const auto all = std::make_unique<staff<A>>(4);
        const any_size blocks{high, std::size_t{1} << 17};
        const std::vector<std::uint32_t> order = shuffled(4 * count);
        std::vector<any_size::block> live(4 * count);
        s.start();
        s.stop();
        const resident_since_here taken;
        std::size_t peak = 0;
        std::size_t live_size = 0;
        for (std::size_t round = 0; round != 2; ++round) {
            all->people.run(s, [&](unsigned t) {
                auto& v = all->view(t);
                for (std::size_t i = t * count; i != (t + 1) * count; ++i) {
                    any_size::block& b = live[i];
                    if (b.p != nullptr) give(v, b);
                    b = blocks.take(v, i + round * 7919);
                }
            });
            peak = std::max(peak, taken.bytes());
        }
        for (const any_size::block& b : live) live_size += b.size;
        all->people.run(s, [&](unsigned t) {
            for (std::size_t i = t; i < order.size(); i += 4) give(all->view(t), live[order[i]]);
        });
        s.value(static_cast<double>(peak) / static_cast<double>(live_size));
        s.also(after, static_cast<double>(taken.bytes()) / (1 << 20));
        all->people.run(s, [&](unsigned) { release_this_thread(all->memory); });
        if constexpr (requires { all->memory.inner.trim(); }) all->memory.inner.trim();
        s.also(trimmed, static_cast<double>(taken.bytes()) / (1 << 20));
    };
}

}  // namespace lab::slots
