// What the tests of collected_heap have in common.
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace nodes {

using namespace cairn;

struct node {
    ref<node> next, other;
    std::uint64_t value[4] = {};
    using references = refers_to<&node::next, &node::other>;
};
static_assert(sizeof(node) == 40);

inline node* made(collected_heap& heap) {
    node* const n = heap.make<node>();
    EXPECT_NE(n, nullptr);
    return n;
}

inline void begin_marking(collected_heap& heap) {
    while (!heap.is_marking()) {
        static_cast<void>(made(heap));
        heap.step({.steps = 1});
    }
}

struct hub {
    ref_array<node> all;
    using references = refers_to<&hub::all>;
};

/// With chunks of its own.
struct huge {
    char before[20'000] = {};
    ref<node> far_away;
    using references = refers_to<&huge::far_away>;
};

inline int ended = 0;  // objects, by their destructors
/// To be set to 0 in front of each use.
inline int told = 0;  // by before_collect
struct tells_and_ends {
    void before_collect() noexcept { ++told; }
    ~tells_and_ends() { ++ended; }
    ref<tells_and_ends> next;
    using references = refers_to<&tells_and_ends::next>;
};

}  // namespace nodes
