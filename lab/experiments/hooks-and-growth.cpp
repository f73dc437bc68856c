// lab/experiments/hooks-and-growth.cpp - what else a pool of built objects does, at what cost.
//
//      hooks       the pool calls objects when they are acquired and released: their members, functions of the
//                  caller, both, neither (thesis 6.2.2, Object_Notifier_Rules: "zero overhead")
//      growth      10,000 objects from an empty pool, with a clock around each acquire: cairn
//                  builds an object when it is asked for, allocPool as many again as there are
//      lines       two threads build 10,000 objects: neighbours on one cache line, or each thread
//                  on lines of its own (allocPool's mitigation, which is always on in cairn)
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>

#include "lab/harness/clock.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t object_count = 10000;
constexpr double interrupt_us = 20;  // the longest of many readings has one in it, or has not

/// An object that counts how often a hook was called. The compiler keeps the calls for these counters.
struct hooked {
    void on_exit_free_list() { ++uses; }
    void on_enter_free_list() { --uses; }
    float position[3] = {};
    int uses = 0;
    void* links[4] = {};
};

struct come {
    void operator()(hooked& object) const { ++object.uses; }
};
struct go {
    void operator()(hooked& object) const { --object.uses; }
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

template <class Hooks, cairn::hook_rules Rules>
auto pool_with(Hooks hooks) {
    return [hooks] {
        auto made = std::make_unique<cairn::object_pool<hooked, Hooks, Rules>>(hooks);
        (void)made->prewarm(object_count);
        return [pool = std::move(made),
                held = std::vector<hooked*>(object_count)](lab::sample& s) mutable {
            round_trip(
                s, [&](std::size_t k) { lab::keep(held[k] = pool->acquire_raw()); },
                [&](std::size_t k) { pool->release(held[k]); });
        };
    };
}

/// The floor: a stack of pointers, and the calls written where they are needed.
template <bool IsTold>
auto stack_of_pointers() {
    return [] {
        auto objects = std::make_unique<std::vector<hooked>>(object_count);
        std::vector<hooked*> free;
        for (hooked& object : *objects) { free.push_back(&object); }
        return [objects = std::move(objects), free = std::move(free),
                held = std::vector<hooked*>(object_count)](lab::sample& s) mutable {
            round_trip(
                s,
                [&](std::size_t k) {
                    hooked* const object = free.back();
                    free.pop_back();
                    if constexpr (IsTold) { object->on_exit_free_list(); }
                    lab::keep(held[k] = object);
                },
                [&](std::size_t k) {
                    if constexpr (IsTold) { held[k]->on_enter_free_list(); }
                    free.push_back(held[k]);
                });
        };
    };
}

void add_hooks(lab::comparison& c) {
    using cairn::hook_rules;
    using both = cairn::pool_hooks<come, go>;
    using erased = cairn::pool_hooks<std::function<void(hooked&)>, std::function<void(hooked&)>>;
    c.limit("stack of pointers, no hooks", stack_of_pointers<false>());
    c.limit("stack of pointers, hooks by hand", stack_of_pointers<true>());
    c.cairn("cairn::object_pool, no hooks", pool_with<cairn::pool_hooks<>, hook_rules::none>({}));
    c.cairn("cairn::object_pool, members", pool_with<cairn::pool_hooks<>, hook_rules::members>({}));
    c.cairn("cairn::object_pool, functions", pool_with<both, hook_rules::functions>({}));
    c.cairn("cairn::object_pool, members and functions", pool_with<both, hook_rules::all>({}));
    c.cairn("cairn::object_pool, std::function",
            pool_with<erased, hook_rules::functions>(erased{come{}, go{}, {}}));
}

struct stub {
    stub() {
        for (int j = 0; j < 1000; ++j) { i = i + 1; }
    }
    volatile int i = 15;  // volatile: or the loop folds away
};

/// allocPool's growth: as many objects again as there are, all built at once.
class doubling_pool {
public:
    stub* acquire_raw() {
        if (free_.empty()) { grow(); }
        stub* const object = free_.back();
        free_.pop_back();
        return object;
    }
    void release(stub* object) { free_.push_back(object); }

private:
    void grow() {
        const std::size_t more = count_ == 0 ? 64 : count_;
        blocks_.push_back(std::make_unique<stub[]>(more));
        for (std::size_t k = more; k != 0; --k) { free_.push_back(&blocks_.back()[k - 1]); }
        count_ += more;
    }
    std::vector<std::unique_ptr<stub[]>> blocks_;
    std::vector<stub*> free_;
    std::size_t count_ = 0;
};

struct new_and_delete {
    stub* acquire_raw() { return new stub; }
    void release(stub* object) { delete object; }
};

template <class Pool>
auto grown_from_nothing() {
    return [] {
        return [held = std::vector<stub*>(object_count)](lab::sample& s) mutable {
            Pool pool;
            std::int64_t worst = 0;
            const std::int64_t start = lab::now_ns();
            for (stub*& object : held) {
                const std::int64_t before = lab::now_ns();
                lab::keep(object = pool.acquire_raw());
                const std::int64_t took = lab::now_ns() - before;
                worst = took > worst ? took : worst;
            }
            const std::int64_t total = lab::now_ns() - start;
            for (stub* const object : held) { pool.release(object); }
            s.value(static_cast<double>(worst) / 1000);
            s.also("all of them", static_cast<double>(total) / 1e6);
        };
    };
}

/// Two threads build all objects: in turn, so that neighbours on a line are of both, or halves.
template <bool InTurn>
auto built_by_two() {
    return [] {
        return [](lab::sample& s) {
            for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                std::allocator<stub> memory;
                stub* const objects = memory.allocate(object_count);
                const auto build = [objects](std::size_t thread) {
                    for (std::size_t k = 0; k < object_count / 2; ++k) {
                        ::new (objects +
                               (InTurn ? 2 * k + thread : thread * (object_count / 2) + k)) stub;
                    }
                };
                std::thread other{build, 1};
                build(0);
                other.join();
                lab::keep(objects);
                memory.deallocate(objects, object_count);
            }
            s.did(s.repetitions());
        };
    };
}

const lab::registration hooks_and_growth{
    "hooks-and-growth",
    "What do hooks, growth and lines of their own cost a pool of built objects?",
    [](lab::experiment& e) {
        add_hooks(e.compare("objects with hooks", {.unit = "ns/object"}));

        lab::comparison& growth = e.compare(
            "longest acquire, 10000 objects from nothing",
            {.unit = "us", .measure = lab::measure::value, .least_difference = interrupt_us});
        e.also(growth, "all of them", {.unit = "ms"});
        growth.peer("doubles, builds all at once", grown_from_nothing<doubling_pool>());
        growth.peer("new", grown_from_nothing<new_and_delete>());
        growth.cairn("cairn::object_pool", grown_from_nothing<cairn::object_pool<stub>>());
        growth.cairn("cairn::concurrent_object_pool",
                     grown_from_nothing<cairn::concurrent_object_pool<stub>>());

        if (e.options().hardware_threads() < 2) { return; }
        lab::comparison& lines =
            e.compare("two threads build 10000 objects", {.unit = "us/pool", .unpinned = true});
        lines.limit("a half each", built_by_two<false>());
        lines.peer("in turn: neighbours share lines", built_by_two<true>());
        lines.cairn("cairn::object_pool, prewarm", [] {
            return [](lab::sample& s) {
                for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
                    cairn::object_pool<stub> pool;
                    (void)pool.prewarm(object_count, 2);
                    lab::keep(&pool);
                }
                s.did(s.repetitions());
            };
        });
    }};

}  // namespace
