// lab/experiments/nodes.cpp - std::map and std::unordered_map on each allocator.
#include <cairn/alloc/heap.hpp>
#include <cairn/std/node_pool.hpp>
#include <map>
#include <memory_resource>
#include <unordered_map>

#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/peers/offers.hpp"

namespace {

constexpr std::size_t key_count = 100'000;

template <template <class> class Allocator>
using map_on = std::map<int, int, std::less<>, Allocator<std::pair<const int, int>>>;
template <template <class> class Allocator>
using hash_on = std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                                   Allocator<std::pair<const int, int>>>;

/// Inserts and erases, each in random order: 2 operations a key. The look-ups in between are those of a
/// map in use, and are not timed: they are a case of their own.
template <class Map, class Source>
struct filled_and_emptied {
    Source source;
    std::vector<std::uint32_t> order = lab::shuffled(key_count);
    void operator()(lab::sample& s) {
        std::uint64_t sum = 0;
        s.repeat(2 * key_count, [&] {
            Map m{source.get()};
            s.timed([&] {
                for (const std::uint32_t k : order) m.emplace(static_cast<int>(k), 1);
            });
            for (const std::uint32_t k : order) {
                sum += static_cast<std::uint64_t>(m.find(static_cast<int>(k))->second);
            }
            s.timed([&] {
                for (const std::uint32_t k : order) m.erase(static_cast<int>(k));
            });
        });
        lab::keep(sum);
    }
};

/// The look-ups: where the nodes lie decides.
template <class Map, class Source>
struct looked_up {
    Source source;
    Map m{source.get()};
    std::vector<std::uint32_t> order = lab::shuffled(key_count);
    looked_up() {
        for (const std::uint32_t k : order) m.emplace(static_cast<int>(k), 1);
    }
    void operator()(lab::sample& s) {
        std::uint64_t sum = 0;
        s.repeat(key_count, [&] {
            for (const std::uint32_t k : order) {
                sum += static_cast<std::uint64_t>(m.find(static_cast<int>(k))->second);
            }
        });
        lab::keep(sum);
    }
};

struct from_node_pool {
    cairn::node_pool nodes;
    cairn::node_pool& get() { return nodes; }
};
/// A node_allocator with a type of its own. gcc inlines the functions of a container that has one
/// caller: inserts and erases of unordered_map take 16.7 ns then, and 21 where two rows share them.
template <class T>
struct node_allocator_on_heap : cairn::node_allocator<T> {
    using cairn::node_allocator<T>::node_allocator;
};
/// Hash tables come from a heap that keeps what it once had.
struct from_node_pool_on_heap {
    cairn::heap<> tables{cairn::grow_by{std::size_t{4} << 20}};
    cairn::node_pool nodes{tables};
    cairn::node_pool& get() { return nodes; }
};
/// The limit: the next address, for tables, too; nothing comes back before the container is gone.
struct bump_nodes {
    std::vector<std::byte> memory = std::vector<std::byte>(key_count * 64);
    std::byte* next = memory.data();
};
template <class T>
struct bump_allocator {
    using value_type = T;
    bump_nodes* nodes;
    bump_allocator(bump_nodes* n) : nodes{n} { nodes->next = nodes->memory.data(); }
    template <class U>
    bump_allocator(const bump_allocator<U>& other) : nodes{other.nodes} {}
    T* allocate(std::size_t count) {
        void* const p = nodes->next;
        nodes->next += count * sizeof(T);
        return static_cast<T*>(p);
    }
    void deallocate(T*, std::size_t) {}
    template <class U>
    bool operator==(const bump_allocator<U>& other) const {
        return nodes == other.nodes;
    }
};
struct from_bump {
    bump_nodes nodes;
    bump_nodes* get() { return &nodes; }
};
struct from_pmr {
    std::pmr::unsynchronized_pool_resource slots;
    std::pmr::memory_resource* get() { return &slots; }
};
template <class Allocator>
struct stateless {
    Allocator get() { return {}; }
};

/// Everybody's containers, for work<Map, Source>.
template <template <class, class> class Work, template <template <class> class> class Container>
void add_allocators(lab::comparison& c) {
    using element = std::pair<const int, int>;
    c.limit("bump, nothing freed", lab::made<Work<Container<bump_allocator>, from_bump>>());
    c.cairn("cairn::node_pool",
            lab::made<Work<Container<cairn::node_allocator>, from_node_pool>>());
    c.cairn("cairn::node_pool on a heap",
            lab::made<Work<Container<node_allocator_on_heap>, from_node_pool_on_heap>>());
    c.mallocs(lab::made<Work<Container<std::allocator>, stateless<std::allocator<element>>>>());
    c.peer("std::pmr::unsynchronized_pool",
           lab::made<Work<Container<std::pmr::polymorphic_allocator>, from_pmr>>());
    lab::offers<lab::kinds::node_allocators>([&]<template <class> class A>(const char* name) {
        c.peer(name, lab::made<Work<Container<A>, stateless<A<element>>>>());
    });
}

template <template <template <class> class> class Container>
void add_cases(lab::experiment& e, const std::string& name, std::vector<lab::cause> causes = {}) {
    add_allocators<filled_and_emptied, Container>(
        e.compare(name + ", inserts and erases", {.causes = causes}));
    add_allocators<looked_up, Container>(e.compare(name + ", look-ups", {.causes = causes}));
}

const lab::registration nodes{
    "nodes", "What do the nodes of std::map and std::unordered_map cost on each allocator?",
    [](lab::experiment& e) {
        e.quick_seconds = 10;
        add_cases<map_on>(e, "map",
                          {{"node_pool takes the time of the bump allocator to some percent, which "
                            "only counts up: what remains is the search in the tree, 17 levels of "
                            "cache misses, and where the nodes lie for it.",
                            "boost::fast_pool_allocator"}});
        add_cases<hash_on>(e, "unordered_map");
    }};

}  // namespace
