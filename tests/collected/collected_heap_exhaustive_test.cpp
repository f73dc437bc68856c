// Every order of a few stores and the collector's units of work: nothing that is reachable is
// freed.
//
//      root --> a      b, c: held by a, or by raw pointers alone
//      an operation: a place of a, b or c, or the root, is given a, b, c or null
//      after each: no unit, or one
//
// With the second walk (options::verify) each end of marking is compared with the graph, so a
// store or a root without its barrier is named here.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

namespace {

using cairn::collected_heap;
using cairn::ref;
using cairn::refers_to;
using cairn::root;

struct node {
    int number = 0;
    ref<node> at;
    using references = refers_to<&node::at>;
};

/// Four of them are a chunk, so that a cycle begins after a few.
struct filler {
    filler() noexcept {}
    char bytes[4000];
};

constexpr unsigned nodes = 3;
constexpr unsigned places = nodes + 1;                 // of each node, and the root
constexpr unsigned operations = places * (nodes + 1);  // to each of them, or null
constexpr unsigned choices = operations * 2;           // and a unit of work, or none

class world {
public:
    /// A snapshot of a -> b -> c, after which `first` units are done.
    void begin(unsigned first) {
        for (unsigned i = 0; i < nodes; ++i) {
            all_[i] = heap_.make<node>();
            ASSERT_NE(all_[i], nullptr);
            all_[i]->number = static_cast<int>(i) + 1;
        }
        all_[0]->at = all_[1];
        all_[1]->at = all_[2];
        outside_ = all_[0];
        while (!heap_.is_marking()) {
            ASSERT_NE(heap_.make<filler>(), nullptr);
            heap_.step({.steps = 0});
        }
        heap_.step({.steps = first});
    }
    /// All three were reachable at the snapshot, so their addresses are good while the cycle runs.
    void operate(unsigned choice) {
        const unsigned what = choice / 2;
        const unsigned target = what % (nodes + 1);
        node* const to = target == nodes ? nullptr : all_[target];
        const unsigned place = what / (nodes + 1);
        if (place == nodes) {
            outside_ = to;
        } else {
            all_[place]->at = to;
        }
        if (choice % 2 != 0) { heap_.step({.steps = 1}); }
    }
    void end() {
        while (heap_.is_marking()) { heap_.step({.steps = 1}); }
        const node* n = outside_;
        for (unsigned i = 0; n != nullptr && i <= nodes; ++i, n = n->at) {
            ASSERT_TRUE(n->number >= 1 && n->number <= static_cast<int>(nodes));
        }
        while (heap_.is_collecting()) { heap_.step({.steps = 1}); }
        n = outside_;
        for (unsigned i = 0; n != nullptr && i <= nodes; ++i, n = n->at) {
            ASSERT_TRUE(heap_.owns(n) && n->number >= 1 && n->number <= static_cast<int>(nodes));
        }
        outside_ = nullptr;
    }

private:
    collected_heap heap_{48 * 1024, {.verify = true}};
    node* all_[nodes] = {};
    root<node> outside_;
};

TEST(collected_heap_exhaustive_test, no_order_of_two_stores_and_steps_frees_what_is_reachable) {
    world w;
    for (unsigned first = 0; first < 4; ++first) {
        for (unsigned i = 0; i < choices * choices; ++i) {
            w.begin(first);
            w.operate(i % choices);
            w.operate(i / choices);
            w.end();
            ASSERT_FALSE(HasFatalFailure()) << first << ' ' << i;
        }
    }
}

}  // namespace
