// lab/families/graph_collections.hpp - a whole collection of a graph in which all is reachable:
// nothing but marking, beside walks that were written for this graph.
#pragma once

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

template <class Make>
struct collections {
    std::size_t count;
    Make make;
    std::unique_ptr<typename Make::memory_type> memory = fill(count, make);

    static auto fill(std::size_t count, const Make& make) {
        auto m = make({count, count});
        dice random{5};
        for (std::uint32_t i = 0; i != count; ++i) {
            m->make(0);
            m->store(i, 0);
            if (i % 1000 == 999) m->safe_point();
        }
        for (std::uint32_t i = 0; i != count; ++i) {
            m->load(0, i);
            for (unsigned f = 0; f != field_count; ++f) {
                m->load(1, random.below(count));
                m->link(0, f, 1);
            }
        }
        m->forget(0);
        m->forget(1);
        return m;
    }
    void operator()(sample& s) {
        s.repeat(count * (1 + field_count), [&] { memory->collect(); });
    }
};

/// The walk that one writes first: a stack of pointers, the mark in the object.
struct walk_of_pointers {
    struct node {
        node* refs[field_count];
        std::uint64_t mark;
        char data[data_size - 8];
    };
    explicit walk_of_pointers(std::size_t count) : nodes(count) {
        dice random{5};
        for (node& n : nodes) {
            for (node*& r : n.refs) r = &nodes[random.below(count)];
        }
        stack.resize(count);
    }
    void operator()(sample& s) {
        s.repeat(nodes.size() * (1 + field_count), [&] {
            ++round;
            for (node& root : nodes) walk(&root);
        });
    }
    void walk(node* root) {
        node** top = stack.data();
        if (root->mark == round) return;
        root->mark = round;
        *top++ = root;
        while (top != stack.data()) {
            for (node* const child : (*--top)->refs) {
                if (child->mark == round) continue;
                child->mark = round;
                *top++ = child;
            }
        }
    }
    std::vector<node> nodes;
    std::vector<node*> stack;
    std::uint64_t round = 0;
};

/// The walk for one size of object and names of four bytes, in an array: bits beside the objects,
/// and a queue in which each waits until its line has come.
struct walk_of_names {
    struct node {
        std::uint32_t refs[field_count];
        char data[data_size];
    };
    explicit walk_of_names(std::size_t count) : nodes(count), marks(count / 64 + 1) {
        dice random{5};
        for (node& n : nodes) {
            for (std::uint32_t& r : n.refs) r = random.below(count);
        }
        stack.resize(count);
    }
    void operator()(sample& s) {
        s.repeat(nodes.size() * (1 + field_count), [&] {
            std::fill(marks.begin(), marks.end(), 0);
            top = stack.data();
            for (std::uint32_t i = 0; i != nodes.size(); ++i) {
                see(i);
                walk();
            }
        });
    }
    [[gnu::always_inline]] void see(std::uint32_t name) {
        std::uint64_t& word = marks[name / 64];
        const std::uint64_t bit = std::uint64_t{1} << (name % 64);
        if ((word & bit) != 0) return;
        word |= bit;
        *top++ = name;
    }
    void walk() {
        std::uint32_t queue[16];
        unsigned first = 0;
        unsigned count = 0;
        for (;;) {
            while (count < 16 && top != stack.data()) {
                const std::uint32_t next = *--top;
                __builtin_prefetch(&nodes[next]);
                queue[(first + count++) % 16] = next;
            }
            if (count == 0) return;
            const node& n = nodes[queue[first]];
            first = (first + 1) % 16;
            --count;
            for (const std::uint32_t child : n.refs) see(child);
        }
    }
    std::vector<node> nodes;
    std::vector<std::uint64_t> marks;
    std::vector<std::uint32_t> stack;
    std::uint32_t* top = nullptr;
};

}  // namespace lab::graphs
