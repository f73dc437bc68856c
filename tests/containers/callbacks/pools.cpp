// Pools, strings and owners: object_pool, concurrent_object_pool, pool_of, string_pool,
// deferred_store, destruction_queue. (A message_queue holds bytes, of which no function is called.)
#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/concurrent_object_pool.hpp>
#include <cairn/containers/object_pool.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/string_pool.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/deferred_store.hpp>
#include <cairn/owners/destruction_queue.hpp>

#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "script.hpp"

namespace {

using namespace cairn;
using namespace callback_tests;

/// Why a World calls a function of the user, and what that function does.
template <class World>
struct caller {
    const char* name;
    call function;
    void (*run)(World&);
};
template <class World>
struct deed {
    const char* name;
    void (*run)(World&);
};

/// Every cause with every act. works(cause, act): names of both.
template <class World, std::size_t Causes, std::size_t Acts, class Works>
void expect_table(const char* name, const caller<World> (&causes)[Causes],
                  const deed<World> (&acts)[Acts], Works works) {
    for (const caller<World>& why : causes) {
        for (const deed<World>& what : acts) {
            expect(name, why.name, what.name, works(std::string_view{why.name}, what.name), [&] {
                {
                    World world;
                    const auto once = [&] { what.run(world); };
                    const script told{why.function, once};
                    why.run(world);
                    check(told.has_run(), "the function was called");
                    world.expect_whole();
                }
                check(probe::alive == 0, "every object was destroyed");
                check(told_memory::held == 0, "all memory went back");
            });
        }
    }
}

// ---- pools whose objects stay built

struct pooled : probe {
    pooled() : probe{1} {}
};

template <class Pool>
struct objects {
    objects() {
        check(pool->prewarm(3), "memory");
        other = pool->acquire_raw();
        check(other != nullptr, "memory");
    }
    ~objects() {
        if (pool) { give_all(); }
    }
    void expect_whole() {
        if (pool) { pool->validate(); }
    }
    void take() {
        if (pooled* const object = pool->acquire_raw()) { taken[count++] = object; }
    }
    void give_other() {
        if (other != nullptr) { pool->release(std::exchange(other, nullptr)); }
    }
    void give_all() {
        give_other();
        while (count != 0) { pool->release(taken[--count]); }
    }
    void give_own() {
        auto* const own =
            static_cast<pooled*>(static_cast<probe*>(const_cast<void*>(script::object)));
        if (own == other) { other = nullptr; }
        pool->release(own);
    }

    told_memory upstream;
    std::optional<Pool> pool{std::in_place, allocator_ref{upstream}};
    pooled* other = nullptr;
    pooled* taken[64]{};
    std::size_t count = 0;
};

template <class Pool>
struct tables_of_objects {
    using world = objects<Pool>;
    static constexpr caller<world> causes[] = {
        {"build", call::constructor,
         [](world& w) {
             for (int i = 0; i < 4; ++i) { w.take(); }
         }},
        {"prewarm", call::constructor, [](world& w) { check(w.pool->prewarm(20), "memory"); }},
        {"acquire", call::acquired, [](world& w) { w.take(); }},
        {"release", call::released, [](world& w) { w.give_other(); }},
        {"end", call::destructor,
         [](world& w) {
             w.give_all();
             w.pool.reset();
         }},
    };
    static constexpr deed<world> acts[] = {
        {"acquires another",
         [](world& w) {
             // An empty lease while the pool ends; else it comes back at once.
             if (pooled* const object = w.pool->acquire_raw()) { w.pool->release(object); }
         }},
        {"releases another", [](world& w) { w.give_other(); }},
        {"releases its own object", [](world& w) { w.give_own(); }},
        {"prewarms", [](world& w) { (void)w.pool->prewarm(30); }},
    };
};
bool is_not_its_own(std::string_view, std::string_view what) {
    return what != "releases its own object";
}

// ---- upstreams that come back

template <class World>
struct upstream_of_objects {
    static constexpr auto grow = [](World& w) { check(w.pool->prewarm(500), "memory"); };
    static constexpr caller<World> causes[] = {{"takes memory", call::allocate, grow},
                                               {"gives memory back", call::deallocate, grow},
                                               {"ends", call::deallocate, [](World& w) {
                                                    w.give_all();
                                                    w.pool.reset();
                                                }}};
};

TEST(callbacks, of_the_upstream_of_an_object_pool) {
    using world = objects<object_pool<pooled>>;
    constexpr deed<world> acts[] = {
        {"acquires another", [](world& w) { w.take(); }},
        {"releases another", [](world& w) { w.give_other(); }},
        {"reserves", [](world& w) { (void)w.pool->reserve(900); }},
        {"trims", [](world& w) { (void)w.pool->trim(0); }},
    };
    expect_table("object_pool", upstream_of_objects<world>::causes, acts,
                 [](std::string_view, std::string_view what) {
                     return what == "acquires another" || what == "releases another";
                 });
}

TEST(callbacks, of_the_upstream_of_a_concurrent_object_pool) {
    using world = objects<concurrent_object_pool<pooled>>;
    constexpr deed<world> acts[] = {
        {"acquires another", [](world& w) { w.take(); }},
        {"releases another", [](world& w) { w.give_other(); }},
        {"prewarms", [](world& w) { (void)w.pool->prewarm(900); }},
        {"trims", [](world& w) { (void)w.pool->trim(); }},
    };
    expect_table("concurrent_object_pool", upstream_of_objects<world>::causes, acts,
                 [](std::string_view why, std::string_view what) {
                     return what == "releases another" || (what == "trims" && why != "ends") ||
                            (what == "acquires another" && why != "ends");
                 });
}

struct slots_in_use {
    slots_in_use() {
        for (int i = 0; i < 12; ++i) { take(); }  // a chunk of 4 slots, and one of 8
    }
    void take() {
        auto* const slot = static_cast<std::size_t*>(all.allocate());
        check(slot != nullptr, "memory");
        *slot = count;
        taken[count++] = slot;
    }
    void give() {
        if (count != 0) { all.deallocate(taken[--count]); }
    }
    void expect_whole() {
        all.validate();
        for (std::size_t i = 0; i < count; ++i) { check(*taken[i] == i, "a slot is given once"); }
        while (count != 0) { give(); }
        all.validate();
        (void)all.trim();
        check(all.stats().upstream_size == 0, "all memory goes back");
    }

    told_memory upstream;
    pool all{32, default_alignment, allocator_ref{upstream}, {.slots_per_chunk = 4}};
    std::size_t* taken[64]{};
    std::size_t count = 0;
};

TEST(callbacks, of_the_upstream_of_a_pool) {
    using world = slots_in_use;
    constexpr auto grow = [](world& w) {
        for (int i = 0; i < 20; ++i) { w.take(); }
    };
    constexpr auto trim = [](world& w) {
        for (int i = 0; i < 9; ++i) { w.give(); }  // a slot of the first chunk, too
        (void)w.all.trim();
    };
    constexpr caller<world> causes[] = {{"grows", call::allocate, grow},
                                        {"moves its stack", call::deallocate, grow},
                                        {"trims", call::deallocate, trim},
                                        {"ends", call::deallocate, [](world& w) {
                                             while (w.count != 0) { w.give(); }
                                             w.all = pool{32, allocator_ref{w.upstream}};
                                         }}};
    constexpr deed<world> acts[] = {
        {"frees", [](world& w) { w.give(); }},
        {"frees and allocates",
         [](world& w) {
             w.give();
             w.take();
         }},
        {"allocates", [](world& w) { w.take(); }},
        {"reserves", [](world& w) { (void)w.all.reserve(100); }},
        {"trims", [](world& w) { check(w.all.trim() == 0, "nothing goes back"); }},
    };
    // A pool that grows has no slot to give; after trim() there is a free one. One that ends has
    // none. trim() gives nothing back there.
    expect_table("pool", causes, acts, [](std::string_view why, std::string_view what) {
        if (why == "ends") { return what == "frees" || what == "trims"; }
        return what == "frees" || what == "frees and allocates" || what == "trims" ||
               (why == "trims" && what == "allocates");
    });
}

struct shared_slots_in_use {
    shared_slots_in_use() {
        for (int i = 0; i < 12; ++i) { take(); }  // a chunk of 4 slots, and one of 8
    }
    void take() {
        auto* const slot = static_cast<std::size_t*>(all->allocate());
        check(slot != nullptr, "memory");
        *slot = count;
        taken[count++] = slot;
    }
    void give() {
        if (count != 0) { all->deallocate(taken[--count]); }
    }
    void give_all() {
        while (count != 0) { give(); }
    }
    void expect_whole() {
        if (!all) { return; }
        all->validate();
        for (std::size_t i = 0; i < count; ++i) { check(*taken[i] == i, "a slot is given once"); }
        give_all();
        all->validate();
        check(all->stats().live_count == 0, "every slot came back");
    }

    told_memory upstream;
    std::optional<concurrent_pool> all{
        std::in_place, 32u, allocator_ref{upstream},
        concurrent_pool::options{.slots_per_chunk = 4, .magazine_size = 2}};
    std::size_t* taken[64]{};
    std::size_t count = 0;
};

TEST(callbacks, of_the_upstream_of_a_concurrent_pool) {
    using world = shared_slots_in_use;
    constexpr auto grow = [](world& w) {
        for (int i = 0; i < 20; ++i) {
            w.take();
            w.all->validate();
        }
    };
    constexpr auto trim = [](world& w) {
        for (int i = 0; i < 9; ++i) { w.give(); }  // a slot of the first chunk, too
        check(w.all->trim() != 0, "a chunk goes");
    };
    constexpr auto make_view = [](world& w) {
        auto view = w.all->local();
        view.deallocate(view.allocate());
    };
    constexpr auto begin_thread = [](world& w) { std::thread{[&] { w.take(); }}.join(); };
    constexpr caller<world> causes[] = {{"grows", call::allocate, grow},
                                        {"makes a view", call::allocate, make_view},
                                        {"is used first by a thread", call::allocate, begin_thread},
                                        {"trims", call::deallocate, trim},
                                        {"ends", call::deallocate, [](world& w) {
                                             w.give_all();
                                             w.all.reset();
                                         }}};
    constexpr deed<world> acts[] = {
        {"looks", [](world& w) { (void)w.all->stats(); }},
        {"frees", [](world& w) { w.give(); }},
        {"frees and allocates",
         [](world& w) {
             w.give();
             w.take();
         }},
        {"frees many", [](world& w) { w.give_all(); }},
        {"allocates", [](world& w) { w.take(); }},
        {"reserves", [](world& w) { (void)w.all->reserve(100); }},
        {"trims", [](world& w) { check(w.all->trim() == 0, "nothing goes back"); }},
        {"leaves",
         [](world& w) {
             const std::size_t held = w.all->stats().cache_count;
             w.all->release_this_thread();
             check(w.all->stats().cache_count == held, "a cache that is being filled stays");
         }},
    };
    // Memory is needed, too, where a thread that has no cache yet frees.
    expect_table("concurrent_pool", causes, acts, [](std::string_view why, std::string_view what) {
        const bool frees = what == "frees" || what == "frees and allocates" || what == "frees many";
        if (why == "ends") {
            return what != "allocates" && what != "frees and allocates" && what != "reserves" &&
                   what != "trims";
        }
        return what == "looks" || what == "leaves" || what == "trims" ||
               (frees && why != "is used first by a thread") ||
               (why == "trims" && what == "allocates");
    });
}

TEST(callbacks, of_the_upstream_of_a_concurrent_budget) {
    struct world {
        void take() {
            void* const p = all.allocate(16, default_alignment);
            check(p != nullptr, "memory");
            taken[count++] = p;
        }
        void give() {
            if (count != 0) { all.deallocate(taken[--count], 16, default_alignment); }
        }
        void expect_whole() {
            while (count != 0) { give(); }
            check(all.live_size() == 0, "every byte is given back");
        }
        told_memory upstream;
        concurrent_budget<told_memory&> all{1000, upstream};
        void* taken[8]{};
        std::size_t count = 0;
    };
    constexpr caller<world> causes[] = {{"allocates", call::allocate, [](world& w) { w.take(); }},
                                        {"frees", call::deallocate, [](world& w) {
                                             w.take();
                                             w.give();
                                         }}};
    constexpr deed<world> acts[] = {
        {"allocates", [](world& w) { w.take(); }},
        {"frees", [](world& w) { w.give(); }},
        {"sets the limit", [](world& w) { w.all.set_limit_size(2000); }},
    };
    expect_table("concurrent_budget", causes, acts, [](auto...) { return true; });
}

struct names_in_use {
    names_in_use() {
        for (int i = 0; i < 14; ++i) { add(); }  // the next one makes the table grow
    }
    void add() {
        const std::string name = "name " + std::to_string(made++);
        check(all.intern(name).data() != nullptr, "memory");
    }
    void look() const {
        check(all.find("name 3") == "name 3" && all.find("name 13") == "name 13", "it is found");
    }
    void expect_whole() {
        all.validate();
        check(all.size() == 0 || all.size() == static_cast<std::size_t>(made), "strings are kept");
    }

    told_memory upstream;
    string_pool all{allocator_ref{upstream}};
    int made = 0;
};

TEST(callbacks, of_the_upstream_of_a_string_pool) {
    using world = names_in_use;
    constexpr auto grow = [](world& w) { w.add(); };
    constexpr auto reserve = [](world& w) { check(w.all.reserve(500), "memory"); };
    constexpr caller<world> causes[] = {{"grows", call::allocate, grow},
                                        {"has grown", call::deallocate, grow},
                                        {"reserves", call::deallocate, reserve}};
    constexpr deed<world> acts[] = {
        {"looks up", [](world& w) { w.look(); }},
        {"interns", [](world& w) { w.add(); }},
        {"clears", [](world& w) { w.all.clear(); }},
        {"shrinks", [](world& w) { (void)w.all.shrink_to_fit(); }},
    };
    expect_table("string_pool", causes, acts, [](std::string_view why, std::string_view what) {
        return what == "looks up" || (why != "grows" && what == "interns");
    });
}

TEST(callbacks, of_an_object_pool) {
    using pool = object_pool<pooled>;
    using tables = tables_of_objects<pool>;
    using world = objects<pool>;
    expect_table("object_pool", tables::causes, tables::acts, is_not_its_own);
    const caller<world> visitor[] = {
        {"for_each", call::visitor, [](world& w) {
             w.pool->for_each([](pooled& object) { script::called(call::visitor, &object); });
         }}};
    const caller<world> trim[] = {
        {"trim", call::destructor, [](world& w) { (void)w.pool->trim(0); }}};
    const deed<world> more[] = {
        {"trims", [](world& w) { (void)w.pool->trim(0); }},
        {"reserves", [](world& w) { check(w.pool->reserve(500), "memory"); }},
        {"loops",
         [](world& w) { w.pool->for_each([](pooled& o) { check(o.is_whole(), "whole"); }); }},
    };
    expect_table("object_pool", visitor, tables::acts, [](auto...) { return true; });
    expect_table("object_pool", trim, tables::acts, is_not_its_own);
    const auto keeps_blocks = [](std::string_view why, std::string_view what) {
        return !(why == "for_each" && what == "trims");
    };
    expect_table("object_pool", tables::causes, more, keeps_blocks);
    expect_table("object_pool", visitor, more, keeps_blocks);
    expect_table("object_pool", trim, more, keeps_blocks);
}

TEST(callbacks, of_a_concurrent_object_pool) {
    using tables = tables_of_objects<concurrent_object_pool<pooled>>;
    expect_table("concurrent_object_pool", tables::causes, tables::acts, is_not_its_own);
}

/// Constructors that threads of prewarm() run.
struct eager : probe {
    static inline object_pool<eager>* pool = nullptr;
    eager() : probe{1} {
        if (pool != nullptr) { check(pool->acquire_raw() == nullptr, "acquire() is refused"); }
    }
};
TEST(callbacks, a_constructor_on_a_thread_of_prewarm_acquires_nothing) {
    object_pool<eager> pool;
    eager::pool = &pool;
    EXPECT_TRUE(pool.prewarm(8, 2));
    eager::pool = nullptr;
    EXPECT_TRUE(pool.acquire());
    pool.validate();
}

// ---- pool_of

/// Of 8 bytes and more: unchecked builds know then what destroy_all() has ended.
struct node : probe {
    using probe::probe;
    double weight = 1;
};

struct nodes {
    nodes() {
        for (node*& p : all) { p = pool.make(1); }
    }
    ~nodes() { pool.destroy_all(); }
    void expect_whole() { pool.validate(); }
    node* own() {
        return static_cast<node*>(static_cast<probe*>(const_cast<void*>(script::object)));
    }
    void drop(int i) { pool.destroy(std::exchange(all[i], nullptr)); }

    pool_of<node> pool;
    node* all[4];
};

TEST(callbacks, of_a_pool_of) {
    constexpr caller<nodes> causes[] = {
        {"make", call::constructor, [](nodes& w) { (void)w.pool.make(2); }},
        {"destroy", call::destructor, [](nodes& w) { w.drop(0); }},
        {"destroy_all", call::destructor, [](nodes& w) { w.pool.destroy_all(); }},
        {"for_each", call::visitor,
         [](nodes& w) {
             w.pool.for_each(
                 [](node& object) { script::called(call::visitor, static_cast<probe*>(&object)); });
         }},
    };
    constexpr deed<nodes> acts[] = {
        {"makes another", [](nodes& w) { (void)w.pool.make(3); }},
        {"destroys another", [](nodes& w) { w.drop(2); }},
        {"destroys all", [](nodes& w) { w.pool.destroy_all(); }},
        {"loops", [](nodes& w) { w.pool.for_each([](probe&) {}); }},
        {"trims", [](nodes& w) { (void)w.pool.trim(); }},
        {"resets", [](nodes& w) { w.pool.reset(); }},
    };
    expect_table("pool_of", causes, acts, [](std::string_view why, std::string_view what) {
        if (what == "makes another") { return why == "make" || why == "destroy"; }
        if (what == "destroys another") { return why != "for_each"; }
        return false;
    });
    constexpr deed<nodes> own[] = {{"destroys its own", [](nodes& w) {
                                        for (node*& p : w.all) {
                                            if (p == w.own()) { p = nullptr; }
                                        }
                                        w.pool.destroy(w.own());
                                    }}};
    // destroy_all() with a destructor that destroys its own object: checked builds do it once.
    constexpr caller<nodes> ends[] = {causes[1], causes[asserts_enabled ? 2 : 3], causes[3]};
    expect_table("pool_of", ends, own,
                 [](std::string_view why, std::string_view) { return why != "destroy"; });
}

// ---- string_pool

struct names {
    names() {
        check(pool.reserve(14), "memory");
        for (const char* name : {"one", "two", "three"}) { (void)pool.intern(name); }
    }
    void expect_whole() { pool.validate(); }
    string_pool pool;
};

TEST(callbacks, of_a_string_pool) {
    constexpr caller<names> causes[] = {
        {"for_each", call::visitor, [](names& w) {
             w.pool.for_each([](std::string_view) { script::called(call::visitor); });
         }}};
    constexpr deed<names> acts[] = {
        {"looks up", [](names& w) { check(w.pool.find("two") == "two", "there"); }},
        {"loops", [](names& w) { w.pool.for_each([](std::string_view) {}); }},
        {"interns", [](names& w) { check(w.pool.intern("four") == "four", "memory"); }},
        {"grows", [](names& w) { check(w.pool.reserve(1000), "memory"); }},
        {"clears", [](names& w) { w.pool.clear(); }},
        {"moves it away", [](names& w) { string_pool away{std::move(w.pool)}; }},
        {"assigns to it", [](names& w) { w.pool = string_pool{}; }},
    };
    expect_table("string_pool", causes, acts, [](std::string_view, std::string_view what) {
        return what == "looks up" || what == "loops" || what == "interns";
    });
}

// ---- owners

template <class Map>
struct owned {
    owned() {
        check(store->reserve(16), "memory");
        for (auto& h : all) { h = store->emplace(1); }
    }
    void expect_whole() {
        if (store) { store->objects().validate(); }
    }
    std::optional<deferred_store<Map>> store{std::in_place};
    typename Map::handle_type all[4];
};
template <class Map, class Works>
void expect_owner_table(const char* name, Works works) {
    using world = owned<Map>;
    constexpr caller<world> causes[] = {
        {"make", call::constructor,
         [](world& w) { check(static_cast<bool>(w.store->emplace(2)), "memory"); }},
        {"erase", call::destructor, [](world& w) { w.store->erase(w.all[0]); }},
        {"end", call::destructor, [](world& w) { w.store.reset(); }},
    };
    constexpr deed<world> acts[] = {
        {"looks up", [](world& w) { (void)w.store->find(w.all[1]); }},
        {"makes another",
         [](world& w) { check(static_cast<bool>(w.store->emplace(3)), "memory"); }},
        {"erases another", [](world& w) { w.store->erase(w.all[2]); }},
        {"erases its own", [](world& w) { w.store->erase(w.all[0]); }},
        {"collects", [](world& w) { w.store->collect(); }},
        {"loops", [](world& w) { w.store->objects().for_each([](auto&) {}); }},
    };
    expect_table(name, causes, acts, works);
}

TEST(callbacks, of_a_deferred_store) {
    expect_owner_table<stable_slot_map<probe>>(
        "deferred_store of a stable_slot_map",
        [](std::string_view, std::string_view what) { return what != "loops"; });
    expect_owner_table<slot_map<probe>>(
        "deferred_store of a slot_map", [](std::string_view why, std::string_view what) {
            // A constructor may not change the map; a destructor only lists what ends.
            if (what == "erases another" || what == "erases its own") { return why != "make"; }
            if (what == "loops") { return why == "make"; }
            return what == "looks up" || what == "collects";
        });
}

/// The first object of a map that has room asks for its cell.
template <class Map>
void expect_upstream_of_an_owner(const char* name) {
    struct world {
        world() { check(store.objects().reserve(16), "memory"); }
        void make() {
            const int value = ++count;
            made[value - 1] = store.emplace(value);
            check(static_cast<bool>(made[value - 1]), "memory");
        }
        void expect_whole() {
            store.objects().validate();
            for (int i = 0; i < count; ++i) {
                const probe* const object = store.find(made[i]);
                check(object != nullptr && object->value == i + 1, "a handle finds its own");
                store.erase(made[i]);
            }
            check(store.objects().size() == 0, "every object was destroyed");
        }
        told_memory upstream;
        deferred_store<Map> store{allocator_ref{upstream}};
        typename Map::handle_type made[8];
        int count = 0;
    };
    constexpr caller<world> causes[] = {{"make", call::allocate, [](world& w) { w.make(); }}};
    constexpr deed<world> acts[] = {{"makes another", [](world& w) { w.make(); }},
                                    {"collects", [](world& w) { w.store.collect(); }}};
    expect_table(name, causes, acts, [](auto...) { return true; });
}
TEST(callbacks, of_the_upstream_of_a_deferred_store) {
    expect_upstream_of_an_owner<stable_slot_map<probe>>("deferred_store of a stable_slot_map");
    expect_upstream_of_an_owner<slot_map<probe>>("deferred_store of a slot_map");
}

struct queued {
    queued() {
        for (probe*& p : all) { p = queue.make(1); }
    }
    ~queued() {
        for (probe* p : all) {
            if (p != nullptr) { destruction_queue<probe>::end(*p); }
        }
    }
    void end(int i) { destruction_queue<probe>::end(*std::exchange(all[i], nullptr)); }
    void expect_whole() {
        (void)queue.collect();
        check(queue.empty(), "what ended is destroyed");
    }
    destruction_queue<probe> queue{system_memory()};
    probe* all[4];
};

TEST(callbacks, of_a_destruction_queue) {
    constexpr caller<queued> causes[] = {
        {"make", call::constructor,
         [](queued& w) { destruction_queue<probe>::end(*w.queue.make(2)); }},
        {"collect", call::destructor,
         [](queued& w) {
             w.end(0);
             (void)w.queue.collect();
         }},
    };
    constexpr deed<queued> acts[] = {
        {"makes another", [](queued& w) { destruction_queue<probe>::end(*w.queue.make(3)); }},
        {"ends another", [](queued& w) { w.end(1); }},
        {"collects", [](queued& w) { (void)w.queue.collect(); }},
    };
    expect_table("destruction_queue", causes, acts, [](auto...) { return true; });
}

}  // namespace
