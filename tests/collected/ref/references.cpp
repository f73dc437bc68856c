// Sentences of cairn/collected/ref.hpp about ref and root: what they cost, what they keep.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "collected/ref/squads.hpp"

namespace {

using namespace squads;

TEST(ref_test, a_ref_has_four_bytes_and_is_no_copy) {
    static_assert(sizeof(ref<node>) == 4 && sizeof(ref_array<node>) == 12);
    static_assert(!std::is_copy_constructible_v<ref<node>>, "on the stack it would be lost");
    static_assert(std::is_trivially_destructible_v<ref<node>>);
    static_assert(std::is_trivially_copyable_v<weak_ref<node>> && sizeof(weak_ref<node>) == 16);
    static_assert(!std::is_constructible_v<ref<node>, int*>);
}

TEST(ref_test, a_ref_leads_to_its_target_and_may_be_exchanged) {
    collected_heap heap = small_heap();
    const root<node> a = made(heap, 1);
    const root<node> b = made(heap, 2);
    EXPECT_EQ(a->next.get(), nullptr);
    a->next = b.get();
    b->next = a.get();
    EXPECT_EQ(a->next->value, 2);
    EXPECT_TRUE(a->next);
    EXPECT_EQ((*b->next).value, 1);
    swap(a->next, b->next);
    EXPECT_EQ(a->next.get(), a.get());
    a->next = b->next;
    EXPECT_EQ(a->next.get(), b.get());
    a->next = nullptr;
    EXPECT_FALSE(a->next);
}

TEST(ref_test, a_root_keeps_its_target_however_it_is_copied_and_moved) {
    collected_heap heap = small_heap();
    std::vector<root<node>> roots;
    for (int i = 0; i < 100; ++i) { roots.emplace_back(made(heap, i)); }
    roots.erase(roots.begin(), roots.begin() + 50);
    root<node> copy = roots.front();
    root<node> moved = std::move(roots.back());
    EXPECT_FALSE(roots.back());
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 50u);
    EXPECT_EQ(heap.stats().root_count, 51u);
    EXPECT_EQ(copy->value, 50);
    EXPECT_EQ(moved->value, 99);
    moved = std::move(copy);
    moved = roots[3];
    moved = *&moved;
    roots.clear();
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u);
    EXPECT_EQ(moved->value, 53);
    heap.validate();
}

TEST(ref_test, a_root_that_moves_while_roots_are_looked_at_is_looked_at_once) {
    for (std::size_t steps = 1; steps < 6; ++steps) {
        collected_heap heap = small_heap();
        std::vector<root<node>> roots;
        for (int i = 0; i < 4; ++i) { roots.emplace_back(made(heap, i)); }
        while (!heap.is_marking()) {
            static_cast<void>(made(heap, 0));
            heap.step({.steps = steps});
        }
        std::vector<root<node>> others;
        for (root<node>& r : roots) { others.push_back(std::move(r)); }
        roots.assign(4, root<node>{});
        roots.shrink_to_fit();
        while (heap.is_collecting()) { heap.step({.steps = 1}); }
        for (int i = 0; i < 4; ++i) { EXPECT_EQ(others[static_cast<std::size_t>(i)]->value, i); }
        heap.validate();
    }
}

TEST(ref_test, roots_that_end_while_roots_are_looked_at_are_not_looked_at) {
    for (std::size_t steps = 1; steps < 8; ++steps) {
        collected_heap heap = small_heap();
        std::vector<std::unique_ptr<root<node>>> roots;
        for (int i = 0; i < 6; ++i) {
            roots.push_back(std::make_unique<root<node>>(made(heap, i)));
        }
        while (!heap.is_marking()) {
            static_cast<void>(made(heap, 0));
            heap.step({.steps = 1});
        }
        if (steps > 1) { heap.step({.steps = steps - 1}); }
        for (std::size_t i = 1; i < 6; ++i) { roots[i].reset(); }
        while (heap.is_collecting()) { heap.step({.steps = 1}); }
        EXPECT_EQ((*roots[0])->value, 0);
        heap.validate();
    }
}

}  // namespace
