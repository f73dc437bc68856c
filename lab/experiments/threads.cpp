// lab/experiments/threads.cpp - slots of 64 bytes for several threads at once.
//
// Figures are per operation and thread: a design that scales shows the same number for one thread and
// for many.
#include <atomic>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/locked.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "lab/families/pool_family.hpp"
#include "lab/harness/experiment.hpp"

#if CAIRN_LAB_HAS_BOOST
#    include <boost/lockfree/stack.hpp>
#endif

namespace {

using namespace lab::slots;

constexpr std::size_t slot_size = 64;

void touch(void* p) { *static_cast<volatile std::uint64_t*>(p) = 1; }

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// ---- threads that wait for work ----------------------------------------------------------------

/// The caller is thread 0; the others sleep between samples and start together.
class crew {
public:
    explicit crew(unsigned count) : count_{count} {
        lab::pin_this_thread(0);
        for (unsigned t = 1; t != count; ++t) helpers_.emplace_back([this, t] { help(t); });
    }
    ~crew() {
        work_ = nullptr;
        wake();
        for (auto& h : helpers_) h.join();
    }
    crew(const crew&) = delete;

    /// Runs work(t) in every thread; times from the common start to the last one's end.
    template <class Work>
    void run(lab::sample& s, Work&& work) {
        work_ = std::ref(work);
        ready_ = 0;
        finished_ = 0;
        wake();
        while (ready_.load(std::memory_order_acquire) != count_ - 1) pause();
        s.start();
        go_.store(round_, std::memory_order_release);
        work(0u);
        while (finished_.load(std::memory_order_acquire) != count_ - 1) pause();
        s.stop();
    }

private:
    void wake() {
        ++round_;
        wanted_.store(round_, std::memory_order_release);
        wanted_.notify_all();
    }
    void help(unsigned t) {
        lab::pin_this_thread(t);
        for (unsigned round = 1;; ++round) {
            for (unsigned seen; (seen = wanted_.load(std::memory_order_acquire)) < round;) {
                wanted_.wait(seen, std::memory_order_acquire);
            }
            if (!work_) return;
            ready_.fetch_add(1, std::memory_order_release);
            while (go_.load(std::memory_order_acquire) < round) pause();
            work_(t);
            finished_.fetch_add(1, std::memory_order_release);
        }
    }

    unsigned count_;
    unsigned round_ = 0;
    std::function<void(unsigned)> work_;
    alignas(64) std::atomic<unsigned> wanted_{0};
    alignas(64) std::atomic<unsigned> go_{0};
    alignas(64) std::atomic<unsigned> ready_{0};
    alignas(64) std::atomic<unsigned> finished_{0};
    std::vector<std::thread> helpers_;
};

// ---- who gives slots to threads: view(t) is what thread t works with ----------------------------

template <class P>
struct shared_by_all {
    P inner;
    explicit shared_by_all(std::size_t count) : inner{count} {}
    struct thread_view {
        P* p;
        void* allocate() { return p->allocate(); }
        void deallocate(void* q) { p->deallocate(q); }
    };
    thread_view view(unsigned) { return {&inner}; }
    std::size_t depot_operations() const { return 0; }
};

/// The hand-written limit: two magazines a thread, a depot of magazines under a spin lock.
template <std::size_t M>
struct magazine_limit {
    struct magazine {
        std::size_t count = 0;
        void* slots[M];
    };
    std::vector<std::byte> memory;
    std::atomic_flag lock = ATOMIC_FLAG_INIT;
    std::vector<magazine*> full;
    std::vector<magazine*> empty;
    std::vector<std::unique_ptr<magazine>> all;
    struct alignas(128) thread_view {
        magazine_limit* depot;
        magazine* loaded;
        magazine* spare;
        void* allocate() {
            if (loaded->count == 0) [[unlikely]] {
                if (spare->count != 0) {
                    std::swap(loaded, spare);
                } else {
                    depot->exchange(loaded, depot->empty, depot->full);
                }
            }
            return loaded->slots[--loaded->count];
        }
        void deallocate(void* p) {
            if (loaded->count == M) [[unlikely]] {
                if (spare->count == 0) {
                    std::swap(loaded, spare);
                } else {
                    depot->exchange(loaded, depot->full, depot->empty);
                }
            }
            loaded->slots[loaded->count++] = p;
        }
    };
    explicit magazine_limit(std::size_t count) : memory((count + 64 * M) * slot_size + 64) {
        std::size_t next = 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        for (std::size_t m = 0; m != count / M + 32; ++m) {
            full.push_back(make());
            while (full.back()->count != M) {
                full.back()->slots[full.back()->count++] = memory.data() + next;
                next += slot_size;
            }
        }
        for (int i = 0; i != 64; ++i) empty.push_back(make());
    }
    magazine* make() { return all.emplace_back(std::make_unique<magazine>()).get(); }
    [[gnu::noinline]] void exchange(magazine*& mine, std::vector<magazine*>& to,
                                    std::vector<magazine*>& from) {
        while (lock.test_and_set(std::memory_order_acquire)) pause();
        to.push_back(mine);
        mine = from.back();
        from.pop_back();
        lock.clear(std::memory_order_release);
    }
    thread_view view(unsigned) { return {this, make(), make()}; }
    std::size_t depot_operations() const { return 0; }
};

struct cairn_threads {
    cairn::concurrent_pool slots{slot_size, cairn::alignment{64}};
    explicit cairn_threads(std::size_t) {}
    struct thread_view {
        cairn::concurrent_pool* p;
        void* allocate() { return p->allocate(); }
        void deallocate(void* q) { p->deallocate(q); }
    };
    thread_view view(unsigned) { return {&slots}; }
    std::size_t depot_operations() const { return slots.stats().depot_operations; }
};

struct cairn_views {
    cairn::concurrent_pool slots{slot_size, cairn::alignment{64}};
    explicit cairn_views(std::size_t) {}
    cairn::concurrent_pool::local_view view(unsigned) { return slots.local(); }
    std::size_t depot_operations() const { return slots.stats().depot_operations; }
};

struct cairn_locked {
    cairn::locked<cairn::pool> slots{std::size_t{slot_size}, cairn::alignment{64}};
    explicit cairn_locked(std::size_t) {}
    void* allocate() { return slots.allocate(slot_size, cairn::alignment{64}); }
    void deallocate(void* p) { slots.deallocate(p, slot_size, cairn::alignment{64}); }
};

/// fast-alloc's ThreadSafePool: its pool behind a std::mutex.
struct mutex_pool {
    fast_alloc_pool<slot_size> slots;
    std::mutex mutex;
    explicit mutex_pool(std::size_t count) : slots{count} {}
    void* allocate() {
        const std::lock_guard held{mutex};
        return slots.allocate();
    }
    void deallocate(void* p) {
        const std::lock_guard held{mutex};
        slots.deallocate(p);
    }
};

struct pmr_synchronized {
    std::pmr::synchronized_pool_resource slots;
    explicit pmr_synchronized(std::size_t) {}
    void* allocate() { return slots.allocate(slot_size, 8); }
    void deallocate(void* p) { slots.deallocate(p, slot_size, 8); }
};

#if CAIRN_LAB_HAS_BOOST
struct boost_lockfree {
    std::vector<std::byte> memory;
    boost::lockfree::stack<void*> free;
    explicit boost_lockfree(std::size_t count) : memory(count * slot_size + 64), free{count} {
        std::byte* first =
            memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        for (std::size_t i = 0; i + 1 < count; ++i) free.bounded_push(first + i * slot_size);
    }
    void* allocate() {
        void* p = nullptr;
        free.pop(p);
        return p;
    }
    void deallocate(void* p) { free.bounded_push(p); }
};
#endif

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
        std::vector<std::uint32_t> victims = random_indices(4096, live_count);
    };
    std::vector<state> states = std::vector<state>(64);
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        state& s = states[t];
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
    std::vector<std::vector<void*>> live =
        std::vector<std::vector<void*>>(64, std::vector<void*>(batch));
    template <class View>
    std::size_t run(View& v, unsigned t, std::uint64_t repetitions) {
        std::vector<void*>& mine = live[t];
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
        std::vector<std::atomic<std::vector<void*>*>>(64);
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
        crew people;
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
        crew people{2};
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
                    while (i + ring::step - r.read.load(std::memory_order_acquire) > ring::size)
                        pause();
                    for (std::size_t k = i; k != i + ring::step; ++k) {
                        void* const p = v.allocate();
                        touch(p);
                        r.items[k % ring::size] = p;
                    }
                    r.written.store(i + ring::step, std::memory_order_release);
                } else {
                    while (r.written.load(std::memory_order_acquire) == i) pause();
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

/// Objects that were there before, one after the other, and nothing is freed.
struct no_allocator {
    std::vector<std::byte> memory = std::vector<std::byte>(8192 * slot_size + 64);
    explicit no_allocator(std::size_t) {}
    struct thread_view {
        std::byte* first;
        std::size_t next = 0;
        void* allocate() { return first + (next++ % 8192) * slot_size; }
        void deallocate(void*) {}
    };
    thread_view view(unsigned) {
        return {memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64};
    }
    std::size_t depot_operations() const { return 0; }
};

template <class Add>
void add_everybody(lab::comparison& c, Add add) {
    using lab::kind;
    add.template operator()<magazine_limit<64>>(c, kind::limit, "magazines of 64, spin lock");
    add.template operator()<cairn_threads>(c, kind::cairn, "cairn::concurrent_pool");
    add.template operator()<cairn_views>(c, kind::cairn, "cairn::concurrent_pool, local()");
    add.template operator()<shared_by_all<cairn_locked>>(c, kind::cairn, "cairn::locked<pool>");
    add.template operator()<shared_by_all<mutex_pool>>(c, kind::baseline, "fast-alloc, mutex pool");
    add.template operator()<shared_by_all<pmr_synchronized>>(c, kind::peer,
                                                             "std::pmr::synchronized_pool");
#if CAIRN_LAB_HAS_BOOST
    add.template operator()<shared_by_all<boost_lockfree>>(c, kind::peer, "boost::lockfree::stack");
#endif
#if CAIRN_LAB_HAS_TBB
    add.template operator()<shared_by_all<tbb_scalable<slot_size>>>(c, kind::peer,
                                                                    "tbb scalable_malloc");
#endif
}

template <class Work>
void add_case(lab::experiment& e, const std::string& what, unsigned threads, double weight) {
    const std::string name =
        what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    lab::comparison& c = e.compare(name, {.weight = weight, .unpinned = true});
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
        e.quick_seconds = 24;
        for (unsigned count = 1; count <= e.options().hardware_threads(); count *= 2) {
            add_case<pairs>(e, "pair", count, 1);
            add_case<churn>(e, "churn", count, 1);
            add_case<batches>(e, "batches of 1000", count, 1);
        }
        const unsigned all = e.options().hardware_threads();
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
