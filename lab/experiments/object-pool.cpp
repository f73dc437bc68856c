// lab/experiments/object-pool.cpp - allocPool's load: 10,000 objects taken, used and given back.
//
// Its stub has a constructor of 1,000 increments; a cheap constructor stands beside it, because the
// gain of a pool of built objects is the constructor that it avoids.
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>
#include <mutex>
#include <unordered_map>

#include "lab/families/crew.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"
#include "lab/system/system.hpp"

namespace {

constexpr std::size_t object_count = 10000;

struct stub {
    stub() {
        for (int j = 0; j < 1000; ++j) { i = i + 1; }
    }
    void reset() { i = 15; }
    volatile int i = 15;  // volatile: or the loop folds away
};

struct cheap {
    void reset() {
        id = 0;
        state = 0;
    }
    float position[3] = {};
    int id = 0;
    int state = 1;
    void* links[4] = {};
};

/// The floor: built objects, a stack of pointers.
template <class T>
class recycling_stack {
public:
    recycling_stack() {
        for (std::size_t i = object_count; i != 0; --i) { free_.push_back(&objects_[i - 1]); }
    }
    T* get() {
        if (free_.empty()) { return nullptr; }
        T* const object = free_.back();
        free_.pop_back();
        return object;
    }
    void put(T* object) {
        object->reset();
        free_.push_back(object);
    }

private:
    std::vector<T> objects_ = std::vector<T>(object_count);
    std::vector<T*> free_;
};

/// What one finds in many repositories.
template <class T>
class vector_of_unique {
public:
    std::unique_ptr<T> get() {
        if (free_.empty()) { return std::make_unique<T>(); }
        std::unique_ptr<T> object = std::move(free_.back());
        free_.pop_back();
        return object;
    }
    void put(std::unique_ptr<T> object) {
        object->reset();
        free_.push_back(std::move(object));
    }

private:
    std::vector<std::unique_ptr<T>> free_;
};

/// The seed's: every object is looked up in a map when it comes back, under a mutex.
template <class T>
class map_and_mutex {
public:
    T* get() {
        const std::lock_guard lock{mutex_};
        if (free_.empty()) {
            auto object = std::make_unique<T>();
            T* const p = object.get();
            all_.emplace(p, std::move(object));
            return p;
        }
        T* const object = free_.back();
        free_.pop_back();
        return object;
    }
    void put(T* object) {
        const std::lock_guard lock{mutex_};
        if (all_.find(object) == all_.end()) return;
        object->reset();
        free_.push_back(object);
    }

private:
    std::mutex mutex_;
    std::unordered_map<T*, std::unique_ptr<T>> all_;
    std::vector<T*> free_;
};

// ---- what the load is done with: take(place), give(place) ---------------------------------------

template <class Pool, class Object>
struct by_pointer {
    using place = Object*;
    Pool pool;
    void take(place& p) { lab::keep(p = pool.get()); }
    void give(place& p) { pool.put(p); }
};
template <class Pool>
struct built_before : Pool {
    built_before() { (void)this->prewarm(object_count); }
};
template <class T>
struct by_hand {
    using place = T*;
    built_before<cairn::object_pool<T>> pool;
    void take(place& p) { lab::keep(p = pool.acquire_raw()); }
    void give(place& p) { pool.release(p); }
};
template <class Pool>
struct by_lease {
    using place = cairn::lease<Pool>;
    built_before<Pool> pool;
    void take(place& p) {
        p = pool.acquire();
        lab::keep(p.get());
    }
    void give(place& p) { p.give_back(); }
};
template <class T>
struct by_new {
    using place = T*;
    void take(place& p) { lab::keep(p = new T); }
    void give(place& p) { delete p; }
};
template <class T>
struct by_unique {
    using place = std::unique_ptr<T>;
    vector_of_unique<T> pool;
    void take(place& p) {
        p = pool.get();
        lab::keep(p.get());
    }
    void give(place& p) { pool.put(std::move(p)); }
};
template <class T, class P>
struct by_peer {
    using place = T*;
    static constexpr bool last_first = true;
    P pool;
    void take(place& p) { lab::keep(p = pool.construct()); }
    void give(place& p) { pool.destroy(p); }
};

template <class Way>
void round_trip(Way& way, std::vector<typename Way::place>& held) {
    for (auto& p : held) { way.take(p); }
    lab::clobber();
    if constexpr (requires { Way::last_first; }) {
        for (std::size_t k = held.size(); k != 0; --k) { way.give(held[k - 1]); }
    } else {
        for (auto& p : held) { way.give(p); }
    }
}

/// All objects are taken, then all are given back, first in, first out.
template <class Way>
struct load {
    Way way;
    std::vector<typename Way::place> held = std::vector<typename Way::place>(object_count);
    void operator()(lab::sample& s) {
        s.repeat(object_count, [&] { round_trip(way, held); });
    }
};
/// Each of two threads does it with half of the objects.
template <class Way>
struct load_of_two {
    using places = std::vector<typename Way::place>;
    lab::crew people{2};
    Way way;
    std::array<places, 2> held{places(object_count / 2), places(object_count / 2)};
    void operator()(lab::sample& s) {
        people.run(s, [&](unsigned t) {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) { round_trip(way, held[t]); }
        });
        s.did(s.repetitions() * object_count);
    }
};

const lab::cause state{
    "Acquiring and releasing check the state that says which object lies where on the stack."};

template <class T>
lab::comparison& add_case(lab::experiment& e, const char* name) {
    lab::comparison& c = e.compare(name, {.unit = "ns/object", .causes = {state}});
    c.limit("stack of built objects", lab::made<load<by_pointer<recycling_stack<T>, T>>>());
    c.cairn("cairn::object_pool", lab::made<load<by_hand<T>>>());
    c.cairn("cairn::object_pool, lease", lab::made<load<by_lease<cairn::object_pool<T>>>>());
    c.cairn("cairn::concurrent_object_pool, lease",
            lab::made<load<by_lease<cairn::concurrent_object_pool<T>>>>());
    c.mallocs(lab::made<load<by_new<T>>>(), " new/delete");
    c.peer("vector of unique_ptr", lab::made<load<by_unique<T>>>());
    c.baseline("allocPool's design: a map and a mutex",
               lab::made<load<by_pointer<map_and_mutex<T>, T>>>())
        .note(
            "allocPool's 21 ms for new are an unoptimized build: at -O2 the loop of its "
            "constructor folds away; here the counter is volatile");
    lab::offers<lab::kinds::object_pools<T>>(
        [&]<class P>(const char* peer) { c.peer(peer, lab::made<load<by_peer<T, P>>>()); });
    return c;
}

void publish(lab::comparison& c, const std::string& name, double linux_ms, double windows_ms) {
    constexpr double to_ns = 1e6 / object_count;
    if (lab::contender* const who = c.row(name)) {
        who->published(linux_ms * to_ns, "ns/object", "allocPool README, Linux");
        who->published(windows_ms * to_ns, "ns/object", "allocPool README, Windows");
    }
}

/// The seed's threads share its pool, and its mutex is the bottleneck.
void add_shared(lab::experiment& e) {
    if (e.options().hardware_threads() < 2) { return; }
    lab::comparison& c = e.compare(
        "a pool that two threads share",
        {.unit = "ns/object",
         .unpinned = true,
         .causes = {{"More than half of the objects that a thread acquires were used by the other "
                     "thread last, so their cache lines move between the processors. With a pool "
                     "for each thread an object takes 3 ns here."}}});
    c.cairn("cairn::concurrent_object_pool, lease",
            lab::made<load_of_two<by_lease<cairn::concurrent_object_pool<cheap>>>>());
    c.mallocs(lab::made<load_of_two<by_new<cheap>>>(), " new/delete");
    c.baseline("allocPool's design: a map and a mutex",
               lab::made<load_of_two<by_pointer<map_and_mutex<cheap>, cheap>>>());
}

/// With 1, 2, 4 ... threads, and all that the machine has: what the seed builds its pool with.
void add_prewarm(lab::experiment& e) {
    lab::comparison& c = e.compare("prewarm 10000 stubs", {.unit = "us/pool", .unpinned = true});
    const std::vector<unsigned> sizes =
        lab::crew_sizes(std::min(e.options().hardware_threads(), 16u));
    for (const unsigned threads : sizes) {
        const std::string count = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
        c.cairn(threads == sizes.back() ? "all, " + count : count, lab::repeated(1, [=] {
                    cairn::object_pool<stub> pool;
                    (void)pool.prewarm(object_count, threads);
                    lab::keep(&pool);
                }));
    }
    c.contenders.back()
        .published(9000, "us/pool", "allocPool README, Linux, on all threads")
        .published(51000, "us/pool", "allocPool README, Windows, on all threads");
}

const lab::registration object_pool{
    "object-pool", "What does it save to keep objects built?", [](lab::experiment& e) {
        lab::comparison& stubs = add_case<stub>(e, "constructor of 1000 increments");
        publish(stubs, "cairn::object_pool", 3, 6);
        publish(stubs, std::string{lab::name_of_system_malloc()} + " new/delete", 21, 62);
        add_case<cheap>(e, "cheap constructor");
        add_shared(e);
        add_prewarm(e);
    }};

}  // namespace
