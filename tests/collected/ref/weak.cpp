// Sentences of cairn/collected/ref.hpp about weak_ref: null from the moment that its target is
// garbage.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "collected/ref/squads.hpp"

namespace {

using namespace squads;

TEST(ref_test, a_weak_reference_is_null_as_soon_as_marking_has_ended_without_its_target) {
    collected_heap heap = small_heap();
    root<node> kept = made(heap, 1);
    weak_ref<node> to_kept{kept.get()};
    weak_ref<node> to_garbage{made(heap, 2)};
    EXPECT_NE(to_garbage.get(), nullptr);
    heap.collect();
    EXPECT_EQ(to_garbage.get(), nullptr);
    EXPECT_EQ(to_kept.get(), kept.get());
    for (int i = 0; i < 10'000; ++i) {
        static_cast<void>(made(heap, i));
        heap.step();
    }
    EXPECT_EQ(to_garbage.get(), nullptr) << "also when its slot has another object";
}

TEST(ref_test, a_weak_reference_stays_null_in_all_later_cycles) {
    collected_heap heap = small_heap();
    const weak_ref<node> weak{made(heap, 1)};
    std::vector<root<node>> kept;
    for (int i = 0; i < 4000; ++i) { kept.emplace_back(made(heap, i)); }
    for (int i = 0; i < 3; ++i) {
        heap.collect();
        EXPECT_EQ(weak.get(), nullptr) << i;
    }
}

struct ending {
    ~ending() {}
    using references = refers_to<>;
};

TEST(ref_test, a_weak_reference_is_null_before_its_target_is_swept) {
    collected_heap heap = small_heap();
    const root<node> anchor = made(heap, 1);
    const weak_ref<ending> weak{heap.make<ending>()};
    while (!heap.is_marking()) {
        static_cast<void>(made(heap, 0));
        heap.step({.steps = 1});
    }
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    EXPECT_TRUE(heap.is_collecting());
    EXPECT_EQ(weak.get(), nullptr);
    EXPECT_EQ(heap.stats().last_cycle.destructor_count, 0u);
}

TEST(ref_test, a_weak_reference_that_is_read_while_marking_keeps_its_target_for_the_cycle) {
    collected_heap heap = small_heap();
    const root<node> anchor = made(heap, 1);
    const weak_ref<node> weak{made(heap, 2)};
    while (!heap.is_marking()) {
        static_cast<void>(made(heap, 0));
        heap.step({.steps = 1});
    }
    node* const found = weak.get();
    ASSERT_NE(found, nullptr);
    const root<node> holder = made(heap, 3);  // black: it is not looked at any more
    holder->next = found;
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(holder->next->value, 2);
    EXPECT_EQ(weak.get(), found);
}

TEST(ref_test, a_weak_reference_to_nothing_stays_null) {
    const weak_ref<node> none{static_cast<node*>(nullptr)};
    const weak_ref<node> empty;
    const weak_ref<node> null = nullptr;
    EXPECT_EQ(none.get(), nullptr);
    EXPECT_EQ(empty.get(), nullptr);
    EXPECT_EQ(null.get(), nullptr);
}

}  // namespace
