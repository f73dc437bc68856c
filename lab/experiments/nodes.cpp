// lab/experiments/nodes.cpp - std::map and std::unordered_map on each allocator.
#include <cairn/alloc/heap.hpp>
#include <cairn/std/node_pool.hpp>
#include <map>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lab/families/pool_family.hpp"
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
auto work() {
    struct state {
        Source source;
        std::vector<std::uint32_t> in = lab::slots::shuffled(key_count);
        std::vector<std::uint32_t> out = lab::slots::shuffled(key_count);
    };
    return [s = std::make_unique<state>()](lab::sample& sample) {
        std::uint64_t sum = 0;
        for (std::uint64_t r = 0; r != sample.repetitions(); ++r) {
            Map m{s->source.get()};
            sample.start();
            for (const std::uint32_t k : s->in) m.emplace(static_cast<int>(k), 1);
            sample.stop();
            for (const std::uint32_t k : s->out) {
                sum += static_cast<std::uint64_t>(m.find(static_cast<int>(k))->second);
            }
            sample.start();
            for (const std::uint32_t k : s->out) m.erase(static_cast<int>(k));
            sample.stop();
        }
        lab::keep(sum);
        sample.did(2 * sample.repetitions() * key_count);
    };
}

/// The look-ups: where the nodes lie decides.
template <class Map, class Source>
auto look_up() {
    struct state {
        Source source;
        Map m{source.get()};
        std::vector<std::uint32_t> order = lab::slots::shuffled(key_count);
        state() {
            for (const std::uint32_t k : order) m.emplace(static_cast<int>(k), 1);
        }
    };
    return [s = std::make_unique<state>()](lab::sample& sample) {
        std::uint64_t sum = 0;
        for (std::uint64_t r = 0; r != sample.repetitions(); ++r) {
            for (const std::uint32_t k : s->order) {
                sum += static_cast<std::uint64_t>(s->m.find(static_cast<int>(k))->second);
            }
        }
        lab::keep(sum);
        sample.did(sample.repetitions() * key_count);
    };
}

struct from_node_pool {
    cairn::node_pool nodes;
    cairn::node_pool& get() { return nodes; }
};
/// Hash tables come from a heap that keeps what it once had.
struct from_node_pool_on_heap {
    cairn::heap<> tables{cairn::grow_by{std::size_t{4} << 20}};
    cairn::node_pool nodes{tables};
    cairn::node_pool& get() { return nodes; }
};
/// The limit: the next address, and nothing comes back before the container is gone.
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
        if (count != 1) return static_cast<T*>(::operator new(count * sizeof(T)));
        void* const p = nodes->next;
        nodes->next += sizeof(T);
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t count) {
        if (count != 1) ::operator delete(p);
    }
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

struct working {
    template <class Map, class Source>
    static auto make() {
        return work<Map, Source>();
    }
};
struct looking {
    template <class Map, class Source>
    static auto make() {
        return look_up<Map, Source>();
    }
};

template <template <template <class> class> class Container>
void add_cases(lab::experiment& e, const char* name, std::vector<lab::cause> causes = {}) {
    const auto add = [](lab::comparison& c, auto maker) {
        using maker_type = decltype(maker);
        c.limit("bump, nothing freed",
                [] { return maker_type::template make<Container<bump_allocator>, from_bump>(); });
        c.cairn("cairn::node_pool", [] {
            return maker_type::template make<Container<cairn::node_allocator>, from_node_pool>();
        });
        c.cairn("cairn::node_pool on a heap", [] {
            return maker_type::template make<Container<cairn::node_allocator>,
                                             from_node_pool_on_heap>();
        });
        c.mallocs([] {
            return maker_type::template make<
                Container<std::allocator>, stateless<std::allocator<std::pair<const int, int>>>>();
        });
        c.peer("std::pmr::unsynchronized_pool", [] {
            return maker_type::template make<Container<std::pmr::polymorphic_allocator>,
                                             from_pmr>();
        });
        lab::peer_node_allocators([&]<template <class> class A>(const char* name) {
            c.peer(name, [] {
                return maker_type::template make<Container<A>,
                                                 stateless<A<std::pair<const int, int>>>>();
            });
        });
    };
    add(e.compare(std::string{name} + ", inserts and erases", {.causes = causes}), working{});
    add(e.compare(std::string{name} + ", look-ups", {.causes = std::move(causes)}), looking{});
}

const lab::registration nodes{
    "nodes", "What do the nodes of std::map and std::unordered_map cost on each allocator?",
    [](lab::experiment& e) {
        e.quick_seconds = 10;
        add_cases<map_on>(e, "map",
                          {{"node_pool takes the time of the bump allocator to some percent, "
                            "which only counts up: what remains is the search in the tree, 17 "
                            "levels of cache misses, and where the nodes lie for it.",
                            "boost::fast_pool_allocator"}});
        add_cases<hash_on>(e, "unordered_map");
    }};

}  // namespace
