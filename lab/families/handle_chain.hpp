// lab/families/handle_chain.hpp - what a handle costs at each use, beside an index into a table of pointers.
//
//      asks       all objects in random order, independent of each other: what a get takes of the processor
//      follows    each object names the next: how long one waits for a get
#pragma once

#include <cairn/movable/relocatable_heap.hpp>

#include "lab/families/random_order.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::chain {

inline constexpr std::uint32_t asked_count = 10'000;

/// All are asked in random order: what a get takes of the processor.
template <class Table>
auto asks() {
    return repeated_on(asked_count, made<Table>(), [](Table& all) {
        std::uint64_t sum = 0;
        for (const std::uint32_t i : all.order) sum += all.at(all.names[i])->number;
        keep(sum);
    });
}

/// Each object names the next: how long one waits for a get.
template <class Table>
auto follows() {
    return repeated_on(asked_count, made<Table>(), [](Table& all) {
        auto next = all.names[0];
        for (std::uint32_t i = 0; i != asked_count; ++i) next = all.at(next)->next;
        keep(next);
    });
}

template <class Name>
struct linked {
    Name next;
    std::uint64_t number;
};

/// Makes one cycle through all objects, in random order.
template <class Table>
void link_all(Table& t) {
    t.order = shuffled(asked_count, 7);
    for (std::uint32_t i = 0; i != asked_count; ++i) {
        *t.at(t.names[t.order[i]]) = {t.names[t.order[(i + 1) % asked_count]], i};
    }
}

struct by_handle {
    using name = cairn::relocatable_heap::handle_type;
    cairn::relocatable_heap heap{std::size_t{4} << 20};
    std::vector<name> names;
    std::vector<std::uint32_t> order;
    by_handle() {
        for (std::uint32_t i = 0; i != asked_count; ++i) names.push_back(heap.allocate(64));
        link_all(*this);
    }
    linked<name>* at(name h) const { return static_cast<linked<name>*>(heap.get(h)); }
};

/// The limit: a table of pointers that nobody checks.
struct by_index {
    using name = std::uint64_t;  // as wide as a handle
    struct alignas(64) object : linked<name> {};
    std::vector<object> objects = std::vector<object>(asked_count);
    std::vector<linked<name>*> pointers;
    std::vector<name> names;
    std::vector<std::uint32_t> order;
    by_index() {
        for (std::uint32_t i = 0; i != asked_count; ++i) {
            pointers.push_back(&objects[i]);
            names.push_back(i);
        }
        link_all(*this);
    }
    linked<name>* at(name i) const { return pointers[i]; }
};

}  // namespace lab::chain
