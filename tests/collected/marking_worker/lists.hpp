// What the tests of marking_worker have in common.
#pragma once

#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <gtest/gtest.h>

#include <cstdint>

namespace lists {

using namespace cairn;

struct thing {
    std::uint32_t number;
    bool is_squad;
    using references = refers_to<>;
};
/// What a worker traces.
struct node : thing {
    explicit node(std::uint32_t n) noexcept : thing{n, false} {}
    ref<thing> at[3];
    using references = refers_to<&node::at>::and_base<thing>;
};
/// What it keeps for the program; the array's memory is the worker's again.
struct squad : thing {
    explicit squad(std::uint32_t n) noexcept : thing{n, true} {}
    ref_array<thing> members;
    void trace(cairn::visitor& v) { v(members); }
};
/// So that a cycle begins soon.
struct filler {
    filler() noexcept {}
    char bytes[4000];
};

/// Makes garbage until a cycle is marking, all roots looked at.
inline void begin_marking(collected_heap& heap) {
    while (!heap.is_marking()) {
        ASSERT_NE(heap.make<filler>(), nullptr);
        heap.step({.steps = 0});
    }
    heap.step({.steps = 1});
}
inline void end_cycle(collected_heap& heap) {
    while (heap.is_collecting()) { heap.step({.bytes = 1000}); }
}

/// 1 -> 2 -> .. -> count
inline node* make_list(collected_heap& heap, root<node>& first, std::uint32_t count) {
    for (std::uint32_t i = count; i != 0; --i) {
        node* const n = heap.make<node>(i);
        if (n == nullptr) { return nullptr; }
        n->at[0] = first.get();
        first = n;
    }
    return first;
}
inline std::uint32_t length_of(const thing* first) {
    std::uint32_t length = 0;
    for (; first != nullptr; first = static_cast<const node*>(first)->at[0]) { ++length; }
    return length;
}
/// So many references behind `from`.
inline node* behind(thing* from, int count) {
    for (; count != 0; --count) { from = static_cast<node*>(from)->at[0]; }
    return static_cast<node*>(from);
}

/// squad -> squad -> ..., each with a node.
inline squad* make_squads(collected_heap& heap, root<squad>& first, std::uint32_t count) {
    for (std::uint32_t i = count; i != 0; --i) {
        root<squad> s = heap.make<squad>(i);
        if (!s->members.push_back(heap.make<node>(i)) || !s->members.push_back(first)) {
            return nullptr;
        }
        first = s;
    }
    return first;
}
inline std::uint32_t count_squads(const squad* s) {
    std::uint32_t count = 0;
    for (; s != nullptr; s = static_cast<const squad*>(s->members[1])) {
        count += s->number == s->members[0]->number ? 1u : 0u;
    }
    return count;
}

}  // namespace lists
