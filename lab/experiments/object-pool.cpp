// lab/experiments/object-pool.cpp - allocPool's load: 10,000 objects taken, used and given back.
//
// Its stub has a constructor of 1,000 increments; a cheap constructor stands beside it, because the
// gain of a pool of built objects is the constructor that it avoids.
#include <algorithm>
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

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

template <class T>
class mutex_and_shared {
public:
    std::shared_ptr<T> get() {
        const std::lock_guard lock{mutex_};
        if (free_.empty()) { free_.push_back(std::make_unique<T>()); }
        T* const object = free_.back().release();
        free_.pop_back();
        return {object, [this](T* back) {
                    back->reset();
                    const std::lock_guard relock{mutex_};
                    free_.emplace_back(back);
                }};
    }

private:
    std::mutex mutex_;
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

/// take(k) and give(k) for all objects, first in, first out.
template <class Take, class Give>
void round_trip(lab::sample& s, Take take, Give give) {
    for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
        for (std::size_t k = 0; k < object_count; ++k) { take(k); }
        lab::clobber();
        for (std::size_t k = 0; k < object_count; ++k) { give(k); }
    }
    s.did(s.repetitions() * object_count);
}

template <class T>
auto map_and_mutex_cases() {
    return [] {
        return [pool = std::make_unique<map_and_mutex<T>>(),
                held = std::vector<T*>(object_count)](lab::sample& s) mutable {
            round_trip(
                s, [&](std::size_t k) { lab::keep(held[k] = pool->get()); },
                [&](std::size_t k) { pool->put(held[k]); });
        };
    };
}

template <class T>
void add_cases(lab::comparison& c) {
    c.limit("stack of built objects", [] {
        return [pool = std::make_unique<recycling_stack<T>>(),
                held = std::vector<T*>(object_count)](lab::sample& s) mutable {
            round_trip(
                s, [&](std::size_t k) { lab::keep(held[k] = pool->get()); },
                [&](std::size_t k) { pool->put(held[k]); });
        };
    });
    c.cairn("cairn::object_pool", [] {
        auto made = std::make_unique<cairn::object_pool<T>>();
        (void)made->prewarm(object_count);
        return
            [pool = std::move(made), held = std::vector<T*>(object_count)](lab::sample& s) mutable {
                round_trip(
                    s, [&](std::size_t k) { lab::keep(held[k] = pool->acquire_raw()); },
                    [&](std::size_t k) { pool->release(held[k]); });
            };
    });
    c.cairn("cairn::object_pool, lease", [] {
        auto made = std::make_unique<cairn::object_pool<T>>();
        (void)made->prewarm(object_count);
        using lease = cairn::lease<cairn::object_pool<T>>;
        return [pool = std::move(made),
                held = std::vector<lease>(object_count)](lab::sample& s) mutable {
            round_trip(
                s,
                [&](std::size_t k) {
                    held[k] = pool->acquire();
                    lab::keep(held[k].get());
                },
                [&](std::size_t k) { held[k].give_back(); });
        };
    });
    c.cairn("cairn::concurrent_object_pool, lease", [] {
        auto made = std::make_unique<cairn::concurrent_object_pool<T>>();
        (void)made->prewarm(object_count);
        using lease = cairn::lease<cairn::concurrent_object_pool<T>>;
        return [pool = std::move(made),
                held = std::vector<lease>(object_count)](lab::sample& s) mutable {
            round_trip(
                s,
                [&](std::size_t k) {
                    held[k] = pool->acquire();
                    lab::keep(held[k].get());
                },
                [&](std::size_t k) { held[k].give_back(); });
        };
    });
    c.mallocs(
        [] {
            return [held = std::vector<T*>(object_count)](lab::sample& s) mutable {
                round_trip(
                    s, [&](std::size_t k) { lab::keep(held[k] = new T); },
                    [&](std::size_t k) { delete held[k]; });
            };
        },
        " new/delete");
    c.peer("vector of unique_ptr", [] {
        return [pool = std::make_unique<vector_of_unique<T>>(),
                held = std::vector<std::unique_ptr<T>>(object_count)](lab::sample& s) mutable {
            round_trip(
                s,
                [&](std::size_t k) {
                    held[k] = pool->get();
                    lab::keep(held[k].get());
                },
                [&](std::size_t k) { pool->put(std::move(held[k])); });
        };
    });
    c.peer("shared_ptr and mutex", [] {
        return [pool = std::make_unique<mutex_and_shared<T>>(),
                held = std::vector<std::shared_ptr<T>>(object_count)](lab::sample& s) mutable {
            round_trip(
                s,
                [&](std::size_t k) {
                    held[k] = pool->get();
                    lab::keep(held[k].get());
                },
                [&](std::size_t k) { held[k].reset(); });
        };
    });
    lab::peer_object_pools<T>([&]<class P>(const char* name) {
        c.peer(name, [] {
            return [pool = std::make_unique<P>(),
                    held = std::vector<T*>(object_count)](lab::sample& s) mutable {
                round_trip(
                    s, [&](std::size_t k) { lab::keep(held[k] = pool->construct()); },
                    [&](std::size_t k) { pool->destroy(held[object_count - 1 - k]); });
            };
        });
    });
}

const lab::registration object_pool{
    "object-pool", "What does it save to keep objects built?", [](lab::experiment& e) {
        const lab::cause state{
            "Acquiring and releasing check the state that says which object lies where "
            "on the stack."};
        lab::comparison& stubs =
            e.compare("constructor of 1000 increments", {.unit = "ns/object", .causes = {state}});
        add_cases<stub>(stubs);
        const auto publish = [&](const char* name, double linux_ms, double windows_ms) {
            lab::contender* const who = stubs.row(name);
            if (who == nullptr) return;
            const double to_ns = 1e6 / object_count;
            who->published(linux_ms * to_ns, "ns/object", "allocPool README, Linux");
            who->published(windows_ms * to_ns, "ns/object", "allocPool README, Windows");
        };
        stubs.baseline("allocPool's design: a map and a mutex", map_and_mutex_cases<stub>())
            .note(
                "allocPool's 21 ms for new are an unoptimized build: at -O2 the loop of its "
                "constructor folds away; here the counter is volatile");
        publish("cairn::object_pool", 3, 6);
        publish((std::string{lab::name_of_system_malloc()} + " new/delete").c_str(), 21, 62);
        add_cases<cheap>(e.compare("cheap constructor", {.unit = "ns/object", .causes = {state}}));
        lab::comparison& warm =
            e.compare("prewarm 10000 stubs", {.unit = "us/pool", .unpinned = true});
        // 1, 2, 4 ... and all that the machine has
        const unsigned most = std::min(e.options().hardware_threads(), 16u);
        for (unsigned threads = 1; threads != 0;
             threads = threads == most ? 0 : std::min(2 * threads, most)) {
            const std::string count =
                std::to_string(threads) + (threads == 1 ? " thread" : " threads");
            // All: what the seed builds its pool with.
            const std::string name = threads == most ? "all, " + count : count;
            warm.cairn(name, [=] {
                return [=](lab::sample& s) {
                    for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                        cairn::object_pool<stub> pool;
                        (void)pool.prewarm(object_count, threads);
                        lab::keep(&pool);
                    }
                    s.did(s.repetitions());
                };
            });
        }
        warm.contenders.back()
            .published(9000, "us/pool", "allocPool README, Linux, on all threads")
            .published(51000, "us/pool", "allocPool README, Windows, on all threads");
    }};

}  // namespace
