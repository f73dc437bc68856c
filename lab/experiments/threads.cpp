// lab/experiments/threads.cpp - slots of 64 bytes for several threads at once.
//
// Figures are per operation and thread: a design that scales shows the same number for one thread and
// for many. "1 thread" is one in a program that has others (crew.hpp says why that matters).
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "lab/families/crew.hpp"
#include "lab/families/thread_family.hpp"
#include "lab/harness/experiment.hpp"

namespace {

using namespace lab::slots;

void touch(void* p) { *static_cast<volatile std::uint64_t*>(p) = 1; }

// ---- what the threads do ------------------------------------------------------------------------

struct pairs {
    template <class View>
    std::size_t run(View& v, unsigned, std::uint64_t repetitions) {
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            void* const p = v.allocate();
            touch(p);
            lab::keep(p);
            v.deallocate(p);
        }
        return repetitions;
    }
};

struct churn {
    static constexpr std::size_t live_count = 1000;
    struct state {
        std::vector<void*> live;
        std::vector<std::uint32_t> victims;
    };
    std::vector<state> states = std::vector<state>(lab::crew_max);
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        state& s = states[t];
        if (s.victims.empty()) s.victims = random_indices(4096, live_count);
        while (s.live.size() < live_count) s.live.push_back(v.allocate());
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            void*& p = s.live[s.victims[i % 4096]];
            v.deallocate(p);
            p = v.allocate();
            touch(p);
        }
        return repetitions;
    }
};

struct batches {
    static constexpr std::size_t batch = 1000;
    std::vector<std::vector<void*>> live = std::vector<std::vector<void*>>(lab::crew_max);
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        std::vector<void*>& mine = live[t];
        mine.resize(batch);
        const std::uint64_t rounds = repetitions / batch + 1;
        for (std::uint64_t r = 0; r != rounds; ++r) {
            for (void*& p : mine) {
                p = v.allocate();
                touch(p);
            }
            for (void* p : mine) v.deallocate(p);
        }
        return rounds * batch;
    }
};

/// larson: replace at random among 1000, and now and then swap everything with another thread.
struct larson {
    static constexpr std::size_t live_count = 1000;
    std::vector<std::uint32_t> victims = random_indices(4096, live_count);
    std::vector<std::atomic<std::vector<void*>*>> parked =
        std::vector<std::atomic<std::vector<void*>*>>(lab::crew_max);
    std::vector<std::unique_ptr<std::vector<void*>>> owners;
    std::mutex mutex;
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        std::vector<void*>* mine = parked[t].exchange(nullptr);
        for (std::uint64_t i = 0; i != repetitions; ++i) {
            if (mine == nullptr) {
                const std::lock_guard held{mutex};
                mine = owners.emplace_back(std::make_unique<std::vector<void*>>()).get();
                for (std::size_t k = 0; k != live_count; ++k) mine->push_back(v.allocate());
            }
            void*& p = (*mine)[victims[i % 4096]];
            v.deallocate(p);
            p = v.allocate();
            touch(p);
            if (i % 1000 == 999) mine = parked[(i / 1000) % 4].exchange(mine);
        }
        if (mine != nullptr) mine = parked[t].exchange(mine);
        if (mine != nullptr) {
            for (void* p : *mine) v.deallocate(p);
        }
        return repetitions;
    }
};

/// xmalloc: everybody allocates batches, everybody frees batches that others allocated.
struct xmalloc {
    static constexpr std::size_t batch = 120;
    using bundle = std::vector<void*>;
    struct alignas(64) place {
        std::atomic<bundle*> full{nullptr};
    };
    std::vector<place> places = std::vector<place>(8);
    std::vector<std::unique_ptr<bundle>> bundles;
    std::mutex mutex;
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        bundle* mine = nullptr;
        const std::uint64_t rounds = repetitions / batch + 1;
        for (std::uint64_t r = 0; r != rounds; ++r) {
            if (mine == nullptr) {
                const std::lock_guard held{mutex};
                mine = bundles.emplace_back(std::make_unique<bundle>(batch)).get();
            }
            for (void*& p : *mine) {
                p = v.allocate();
                touch(p);
            }
            mine = places[(r + t) % places.size()].full.exchange(mine, std::memory_order_acq_rel);
            if (mine != nullptr) {
                for (void* p : *mine) v.deallocate(p);
            }
        }
        return rounds * batch;
    }
};

template <class A, class Work>
auto work_in(unsigned threads, std::string depot_case) {
    struct all {
        lab::crew people;
        A slots{50'000};
        Work work;
        // A thread's view is made by the thread itself, once.
        using view_type = decltype(slots.view(0));
        std::vector<std::unique_ptr<view_type>> views;
        explicit all(unsigned count) : people{count}, views(count) {}
        ~all() { views.clear(); }
    };
    return [a = std::make_unique<all>(threads), threads, depot_case](lab::sample& s) {
        std::atomic<std::size_t> operations{0};
        const std::size_t before = a->slots.depot_operations();
        a->people.run(s, [&](unsigned t) {
            if (!a->views[t]) {
                a->views[t] = std::make_unique<typename all::view_type>(a->slots.view(t));
            }
            operations.fetch_add(a->work.run(*a->views[t], t, s.repetitions()),
                                 std::memory_order_relaxed);
        });
        s.did(operations / threads);
        if (a->slots.depot_operations() != 0) {
            s.also(depot_case, 1000.0 * static_cast<double>(a->slots.depot_operations() - before) /
                                   static_cast<double>(2 * operations));
        }
    };
}

// ---- one makes, the other frees -----------------------------------------------------------------

/// A ring of pointers for one producer and one consumer, published 32 at a time.
struct ring {
    static constexpr std::size_t size = 4096;
    static constexpr std::size_t step = 32;
    std::vector<void*> items = std::vector<void*>(size);
    alignas(64) std::atomic<std::size_t> written{0};
    alignas(64) std::atomic<std::size_t> read{0};
};

template <class A>
auto producer_consumer() {
    struct all {
        lab::crew people{2};
        A slots{50'000};
        ring r;
        using view_type = decltype(slots.view(0));
        std::unique_ptr<view_type> views[2];
        ~all() {
            views[0].reset();
            views[1].reset();
        }
    };
    return [a = std::make_unique<all>()](lab::sample& s) {
        const std::size_t count = (s.repetitions() / ring::step + 1) * ring::step;
        a->people.run(s, [&](unsigned t) {
            if (!a->views[t]) {
                a->views[t] = std::make_unique<typename all::view_type>(a->slots.view(t));
            }
            auto& v = *a->views[t];
            ring& r = a->r;
            const std::size_t begin = (t == 0 ? r.written : r.read).load(std::memory_order_relaxed);
            for (std::size_t i = begin; i != begin + count; i += ring::step) {
                if (t == 0) {
                    lab::wait_until([&] {
                        return i + ring::step - r.read.load(std::memory_order_acquire) <=
                               ring::size;
                    });
                    for (std::size_t k = i; k != i + ring::step; ++k) {
                        void* const p = v.allocate();
                        touch(p);
                        r.items[k % ring::size] = p;
                    }
                    r.written.store(i + ring::step, std::memory_order_release);
                } else {
                    lab::wait_until([&] { return r.written.load(std::memory_order_acquire) != i; });
                    for (std::size_t k = i; k != i + ring::step; ++k) {
                        void* const p = r.items[k % ring::size];
                        touch(p);
                        v.deallocate(p);
                    }
                    r.read.store(i + ring::step, std::memory_order_release);
                }
            }
        });
        s.did(count);
    };
}

template <class Add>
void add_everybody(lab::comparison& c, Add add) {
    using lab::kind;
    add.template operator()<magazine_limit<64>>(c, kind::limit, "magazines of 64, spin lock");
    add.template operator()<cairn_threads>(c, kind::cairn, "cairn::concurrent_pool");
    add.template operator()<cairn_heap_threads>(c, kind::cairn, "cairn::concurrent_heap");
    add.template operator()<cairn_limited_threads>(c, kind::cairn,
                                                   "cairn::concurrent_budget<concurrent_heap>");
    add.template operator()<cairn_views>(c, kind::cairn, "cairn::concurrent_pool, local()");
    add.template operator()<shared_by_all<cairn_locked>>(c, kind::cairn, "cairn::locked<pool>");
    add.template operator()<shared_by_all<mutex_pool>>(c, kind::baseline, "fast-alloc, mutex pool");
    add.template operator()<shared_by_all<pmr_synchronized>>(c, kind::peer,
                                                             "std::pmr::synchronized_pool");
    lab::peer_thread_pools<slot_size>([&]<class P>(const char* name) {
        add.template operator()<shared_by_all<P>>(c, kind::peer, name);
    });
}

template <class Work>
void add_case(lab::experiment& e, const std::string& what, unsigned threads, double weight,
              std::vector<lab::cause> causes = {}) {
    const std::string name =
        what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    lab::comparison& c =
        e.compare(name, {.weight = weight, .unpinned = true, .causes = std::move(causes)});
    const std::string depot = name + ", depot operations per 1000";
    add_everybody(c, [=]<class A>(lab::comparison& in, lab::kind k, const char* who) {
        in.add(k, who, [=] { return work_in<A, Work>(threads, depot); });
    });
    c.mallocs([=] { return work_in<shared_by_all<new_delete<slot_size>>, Work>(threads, depot); });
    e.also(c, depot, {.unit = "operations"});
}

const lab::registration threads{
    "threads", "What does a slot cost when several threads take and free at once?",
    [](lab::experiment& e) {
        e.quick_seconds = 18;
        const std::vector<unsigned> counts = lab::crew_sizes(e.options().hardware_threads());
        for (const unsigned count : counts) {
            add_case<pairs>(
                e, "pair", count, 1,
                {{"A pair that finds its thread's cache by thread-local memory is sixteen loads; "
                  "local() looks it up once (docs/dead-ends.md)."}});
            add_case<churn>(e, "churn", count, 1);
            add_case<batches>(e, "batches of 1000", count, 1);
        }
        const unsigned all = counts.back();
        // More threads than processors: who is interrupted in the middle of an exchange holds up
        // others only where there is a lock. Times are the scheduler's; the counts are exact.
        for (const unsigned crowd : {4u, 8u, 16u}) {
            if (crowd <= all) continue;
            const std::string name =
                "crowd, batches of 1000, " + std::to_string(crowd) + " threads";
            lab::comparison& c =
                e.compare(name, {.weight = 0.5, .unpinned = true, .compares = false});
            const std::string depot = name + ", depot operations per 1000";
            const auto add = [&]<class A>(lab::kind k, const char* who) {
                c.add(k, who, [=] { return work_in<A, batches>(crowd, depot); });
            };
            add.operator()<cairn_threads>(lab::kind::cairn, "cairn::concurrent_pool");
            add.operator()<cairn_heap_threads>(lab::kind::cairn, "cairn::concurrent_heap");
            add.operator()<cairn_views>(lab::kind::cairn, "cairn::concurrent_pool, local()");
            add.operator()<shared_by_all<mutex_pool>>(lab::kind::baseline,
                                                      "fast-alloc, mutex pool");
            e.also(c, depot, {.unit = "operations", .compares = false});
        }
        if (all >= 2) {
            lab::comparison& c =
                e.compare("producer and consumer", {.weight = 1, .unpinned = true});
            c.limit("ring without an allocator", [] { return producer_consumer<no_allocator>(); });
            add_everybody(c, []<class A>(lab::comparison& in, lab::kind k, const char* who) {
                in.add(k, who, [] { return producer_consumer<A>(); });
            });
            c.mallocs([] { return producer_consumer<shared_by_all<new_delete<slot_size>>>(); });
            add_case<larson>(e, "larson", all, 0.7);
            add_case<xmalloc>(e, "xmalloc", all, 0.7);
        }
    }};

}  // namespace
