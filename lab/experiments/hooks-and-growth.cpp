// lab/experiments/hooks-and-growth.cpp - what else a pool of built objects does, at what cost.
//
//      hooks       the pool calls objects when they are acquired and released: their members, functions of the
//                  caller, both, neither (thesis 6.2.2, Object_Notifier_Rules: "zero overhead")
//      growth      10,000 objects from an empty pool, with a clock around each acquire: cairn
//                  builds an object when it is asked for, allocPool as many again as there are
//      lines       two threads build 10,000 objects: neighbours on one cache line, or each thread
//                  on lines of its own (allocPool's mitigation, which is always on in cairn)
#include <thread>

#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>

#include "lab/families/longest_operation.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t object_count = 10000;

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

/// take(k) and give(k) for all objects, first in, first out. `Pool` has both, and their places.
template <class Make>
auto round_trips(Make make) {
    return lab::repeated_on(object_count, make, [](auto& pool) {
        for (std::size_t k = 0; k < object_count; ++k) { pool.take(k); }
        lab::clobber();
        for (std::size_t k = 0; k < object_count; ++k) { pool.give(k); }
    });
}
template <class Hooks, cairn::hook_rules Rules>
struct hooked_pool {
    cairn::object_pool<hooked, Hooks, Rules> pool;
    std::vector<hooked*> held = std::vector<hooked*>(object_count);
    explicit hooked_pool(Hooks hooks) : pool{hooks} { (void)pool.prewarm(object_count); }
    void take(std::size_t k) { lab::keep(held[k] = pool.acquire_raw()); }
    void give(std::size_t k) { pool.release(held[k]); }
};
template <class Hooks, cairn::hook_rules Rules>
auto pool_with(Hooks hooks) {
    return round_trips(lab::made<hooked_pool<Hooks, Rules>>(hooks));
}

/// The floor: a stack of pointers, and the calls written where they are needed.
template <bool IsTold>
struct stack_of_pointers {
    std::vector<hooked> objects = std::vector<hooked>(object_count);
    std::vector<hooked*> held = std::vector<hooked*>(object_count);
    std::vector<hooked*> free;
    stack_of_pointers() {
        for (hooked& object : objects) { free.push_back(&object); }
    }
    void take(std::size_t k) {
        hooked* const object = free.back();
        free.pop_back();
        if constexpr (IsTold) { object->on_exit_free_list(); }
        lab::keep(held[k] = object);
    }
    void give(std::size_t k) {
        if constexpr (IsTold) { held[k]->on_enter_free_list(); }
        free.push_back(held[k]);
    }
};

void add_hooks(lab::comparison& c) {
    using cairn::hook_rules;
    using both = cairn::pool_hooks<come, go>;
    using erased = cairn::pool_hooks<std::function<void(hooked&)>, std::function<void(hooked&)>>;
    c.limit("stack of pointers, no hooks", round_trips(lab::made<stack_of_pointers<false>>()));
    c.limit("stack of pointers, hooks by hand", round_trips(lab::made<stack_of_pointers<true>>()));
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
/// The user of any of them: holds each object in an array that is ready before the clock, and gives
/// all back before the pool ends.
template <class Pool>
struct kept_in {
    Pool pool;
    std::vector<stub*> held = std::vector<stub*>(object_count);
    ~kept_in() {
        for (stub* const object : held) { pool.release(object); }
    }
};

template <class Pool>
auto grown_from_nothing() {
    using user = kept_in<Pool>;
    return lab::longest_of(object_count, lab::made<user>(), [](user& u, std::size_t k) {
        lab::keep(u.held[k] = u.pool.acquire_raw());
    });
}

/// Two threads build all objects: in turn, so that neighbours on a line are of both, or halves.
template <bool InTurn>
void build_by_two() {
    std::allocator<stub> memory;
    stub* const objects = memory.allocate(object_count);
    const auto build = [objects](std::size_t thread) {
        for (std::size_t k = 0; k < object_count / 2; ++k) {
            ::new (objects + (InTurn ? 2 * k + thread : thread * (object_count / 2) + k)) stub;
        }
    };
    std::thread other{build, 1};
    build(0);
    other.join();
    lab::keep(objects);
    memory.deallocate(objects, object_count);
}

const lab::registration hooks_and_growth{
    "hooks-and-growth",
    "What do hooks, growth and lines of their own cost a pool of built objects?",
    [](lab::experiment& e) {
        add_hooks(e.compare("objects with hooks", {.unit = "ns/object"}));

        lab::comparison& growth =
            lab::compare_longest(e, "longest acquire, 10000 objects from nothing");
        growth.peer("doubles, builds all at once", grown_from_nothing<doubling_pool>());
        growth.peer("new", grown_from_nothing<new_and_delete>());
        growth.cairn("cairn::object_pool", grown_from_nothing<cairn::object_pool<stub>>());
        growth.cairn("cairn::concurrent_object_pool",
                     grown_from_nothing<cairn::concurrent_object_pool<stub>>());

        if (e.options().hardware_threads() < 2) { return; }
        lab::comparison& lines =
            e.compare("two threads build 10000 objects", {.unit = "us/pool", .unpinned = true});
        lines.limit("a half each", lab::repeated(1, build_by_two<false>));
        lines.peer("in turn: neighbours share lines", lab::repeated(1, build_by_two<true>));
        lines.cairn("cairn::object_pool, prewarm", lab::repeated(1, [] {
                        cairn::object_pool<stub> pool;
                        (void)pool.prewarm(object_count, 2);
                        lab::keep(&pool);
                    }));
    }};

}  // namespace
