// What the tests of ref, root, weak_ref and ref_array have in common.
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

namespace squads {

using namespace cairn;

struct node {
    node() noexcept {}
    explicit node(node* n) noexcept : next{n} {}
    ref<node> next;
    int value = 0;
    using references = refers_to<&node::next>;
};
struct squad {
    ref_array<node> members;
    using references = refers_to<&squad::members>;
};

inline collected_heap small_heap() { return collected_heap{256 * 1024, {.verify = true}}; }

inline node* made(collected_heap& heap, int value) {
    node* const n = heap.make<node>();
    EXPECT_NE(n, nullptr);
    n->value = value;
    return n;
}

}  // namespace squads
