// lab/families/graph_trees.hpp - GCBench: trees of growing depth come and go; one large one and an
// array of numbers stay.
#pragma once

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

/// Each node is made after those below it, as GCBench's bottom-up trees are. The registers are a
/// stack.
template <class Memory>
void make_tree(Memory& m, unsigned depth) {
    const std::uint32_t leaves = 1u << depth;
    unsigned top = 0;  // the next free register
    for (std::uint32_t leaf = 1; leaf <= leaves; ++leaf) {
        m.make(top++);
        for (std::uint32_t n = leaf; n % 2 == 0; n /= 2) {
            m.make(top);
            m.link(top, 0, top - 2);
            m.link(top, 1, top - 1);
            m.copy(top - 2, top);
            m.forget(top);
            m.forget(top - 1);
            --top;
        }
    }
}

template <class Make>
struct trees {
    static constexpr unsigned shallow = 4;
    static constexpr unsigned deep = 10;
    static constexpr unsigned lasting = 12;
    static constexpr std::size_t nodes_a_depth = 1u << (deep + 1);

    explicit trees(const Make& make) : memory{make({(2u << lasting) + nodes_a_depth, 1})} {
        memory->keep_numbers(8192);
        make_tree(*memory, lasting);
        memory->store(0, 0);
        memory->forget(0);
    }
    trees(const trees&) = delete;
    ~trees() {
        memory->load(0, 0);
        if constexpr (requires { memory->end_tree(0); }) memory->end_tree(0);
        memory->forget(0);
    }
    void operator()(sample& s) {
        std::uint64_t made = 0;
        for (std::uint64_t r = 0; r != s.repetitions(); ++r) {
            for (unsigned depth = shallow; depth <= deep; depth += 2) {
                const std::size_t nodes = (2u << depth) - 1;
                for (std::size_t n = 0; n < nodes_a_depth; n += nodes) {
                    make_tree(*memory, depth);
                    if constexpr (requires { memory->end_tree(0); }) memory->end_tree(0);
                    memory->forget(0);
                    memory->safe_point();
                    made += nodes;
                }
            }
        }
        s.did(made);
    }
    std::unique_ptr<typename Make::memory_type> memory;
};

}  // namespace lab::graphs
