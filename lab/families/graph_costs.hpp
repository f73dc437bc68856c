// lab/families/graph_costs.hpp - what single things cost in a collected graph: a store, a load, an
// object that is made in memory that was swept.
//
//      stores       references of random objects, to random objects. While marking the old value is
//                   white at its first change, marked at all others: two rows.
//      loads        each object names the next, or all independent of each other
//      makes        half of all objects end, at random places, and others are made in their stead
#pragma once

#include "lab/families/graph_memories.hpp"
#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

// ---- stores and loads: of pointers to objects, without a table between --------------------------

inline constexpr std::size_t cost_count = 4'000;  ///< 256 KB of pointers and data

/// `count` collected objects, all reachable, and a C++ pointer to each.
struct collected_nodes {
    using node = collected::node;
    explicit collected_nodes(std::size_t count) : memory{{count, count}, {}} {
        for (std::uint32_t i = 0; i != count; ++i) {
            memory.make(0);
            memory.store(i, 0);
            all.push_back(memory.at(0));
        }
        memory.heap.collect();  // what raw pointers lead to, the table keeps
    }
    static node* target(const cairn::ref<node>& r) { return r; }
    collected memory;
    std::vector<node*> all;
};

struct plain_nodes {
    using node = plain_node;
    explicit plain_nodes(std::size_t count) : memory(count) {
        for (node& n : memory) all.push_back(&n);
    }
    static node* target(node* r) { return r; }
    std::vector<node> memory;
    std::vector<node*> all;
};

struct counted_nodes {
    using node = counted_node;
    explicit counted_nodes(std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) all.push_back(std::make_shared<node>());
    }
    ~counted_nodes() {
        for (auto& n : all) {
            for (auto& r : n->refs) r.reset();
        }
    }
    static node* target(const std::shared_ptr<node>& r) { return r.get(); }
    std::vector<std::shared_ptr<node>> all;
};

enum class storing { idle, marked, white };

template <class Nodes, storing When = storing::idle>
struct stores {
    std::unique_ptr<Nodes> nodes = std::make_unique<Nodes>(cost_count);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> changes;
    stores() {
        dice random{3};
        for (std::size_t i = 0; i != cost_count; ++i) {
            changes.emplace_back(random.below(cost_count), random.below(cost_count));
        }
        change(0, cost_count);
    }
    void change(std::size_t first, std::size_t count) {
        const auto* const all = nodes->all.data();
        for (std::size_t i = first; i != first + count; ++i) {
            const auto [from, to] = changes[i];
            all[from]->refs[i % field_count] = all[to];
        }
    }
    void operator()(sample& s) {
        constexpr std::size_t at_once = cost_count / 4;
        if constexpr (When == storing::idle) {
            s.repeat(cost_count, [&] { change(0, cost_count); });
        } else {
            s.repeat(at_once, [&] {
                begin_cycle();
                if constexpr (When == storing::marked) change(0, cost_count), change(0, cost_count);
                s.timed([&] { change(0, at_once); });
                nodes->memory.heap.collect();
            });
        }
    }
    /// Memory must get short for it.
    void begin_cycle() {
        collected& memory = nodes->memory;
        while (!memory.heap.is_marking()) {
            memory.make(0);
            memory.heap.step({.steps = 1});
        }
    }
};

/// Each object names the next, or all are asked independently of each other.
template <class Nodes, bool InARow>
struct loads {
    std::unique_ptr<Nodes> nodes = std::make_unique<Nodes>(cost_count);
    loads() {  // in random order, as a game that has run for a while has its objects
        std::shuffle(nodes->all.begin(), nodes->all.end(), std::mt19937{7});
        for (std::size_t i = 0; i != cost_count; ++i) {
            nodes->all[i]->refs[0] = nodes->all[(i + 1) % cost_count];
        }
    }
    void operator()(sample& s) const {
        auto* at = std::to_address(nodes->all[0]);
        unsigned sum = 0;
        s.repeat(cost_count, [&] {
            for (const auto& n : nodes->all) {
                if constexpr (InARow) {
                    at = Nodes::target(at->refs[0]);
                } else {
                    sum += static_cast<unsigned char>(Nodes::target(n->refs[0])->data[0]);
                }
            }
        });
        keep(at);
        keep(sum);
    }
};

// ---- making -------------------------------------------------------------------------------------

/// The halves that end: the same for all.
[[nodiscard]] inline std::vector<std::uint32_t> random_half(std::size_t count) {
    std::vector<std::uint32_t> all = shuffled(count, 9);
    all.resize(count / 2);
    std::sort(all.begin(), all.end());
    return all;
}

/// Sweeping is timed, marking is not.
struct collected_makes {
    std::size_t count;
    std::vector<std::uint32_t> half = random_half(count);
    std::unique_ptr<collected> memory = fill(count);

    static std::unique_ptr<collected> fill(std::size_t count) {
        // A little less room than half of the objects: so a cycle begins after each round.
        auto m = std::make_unique<collected>(extent{count - count / 12, count}, pace{});
        for (std::uint32_t i = 0; i != count; ++i) {
            m->make(0);
            m->store(i, 0);
        }
        return m;
    }
    void operator()(sample& s) {
        s.repeat(half.size(), [&] {
            for (const std::uint32_t i : half) memory->store(i, 1);  // null
            while (!memory->heap.is_marking()) {
                memory->make(2);
                memory->heap.step({.steps = 1});
            }
            while (memory->heap.is_marking()) memory->heap.step({.bytes = 4096});
            s.start();
            while (memory->heap.is_collecting()) memory->heap.step({.bytes = 65536});
            for (const std::uint32_t i : half) {
                memory->make(0);
                memory->store(i, 0);
            }
            s.stop();
        });
    }
};

struct new_and_delete {
    std::size_t count;
    std::vector<std::uint32_t> half = random_half(count);
    std::vector<plain_node*> table = fill(count);

    explicit new_and_delete(std::size_t n) : count{n} {}
    new_and_delete(const new_and_delete&) = delete;
    ~new_and_delete() {
        for (plain_node* const n : table) delete n;
    }
    static std::vector<plain_node*> fill(std::size_t count) {
        std::vector<plain_node*> all(count);
        for (auto& n : all) n = new plain_node;
        return all;
    }
    void operator()(sample& s) {
        s.repeat(half.size(), [&] {
            for (const std::uint32_t i : half) delete table[i];
            for (const std::uint32_t i : half) table[i] = new plain_node;
        });
    }
};

}  // namespace lab::graphs
