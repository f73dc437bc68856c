// Sentences of cairn/collected/ref_array.hpp.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>

#include "collected/ref/squads.hpp"

namespace {

using namespace squads;

TEST(ref_test, an_array_grows_and_keeps_order) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<squad> s = heap.make<squad>();
    for (int i = 0; i < 5000; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i % 100))); }
    EXPECT_EQ(s->members.size(), 5000u);
    heap.collect();
    int i = 0;
    for (const node* n : s->members) { EXPECT_EQ(n->value, i++ % 100); }
    s->members.erase(0);
    EXPECT_EQ(s->members[0]->value, 1);
    s->members.swap_erase(0);
    EXPECT_EQ(s->members[0]->value, 99);
    s->members.pop_back();
    EXPECT_EQ(s->members.size(), 4997u);
    s->members.clear();
    EXPECT_TRUE(s->members.empty());
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u);
    heap.validate();
}

TEST(ref_test, an_array_has_the_room_that_it_was_asked_for) {
    collected_heap heap{1 << 20};
    const root<squad> s = heap.make<squad>();
    EXPECT_EQ(s->members.capacity(), 0u);
    EXPECT_TRUE(s->members.reserve(0));
    EXPECT_EQ(heap.stats().object_count, 1u) << "nothing is taken for nothing";
    ASSERT_TRUE(s->members.reserve(100));
    const std::size_t capacity = s->members.capacity();
    EXPECT_GE(capacity, 100u);
    EXPECT_TRUE(s->members.empty());
    const std::size_t objects = heap.stats().object_count;
    EXPECT_TRUE(s->members.reserve(capacity));
    for (std::size_t i = 0; i < capacity; ++i) { ASSERT_TRUE(s->members.push_back(nullptr)); }
    EXPECT_EQ(s->members.capacity(), capacity);
    EXPECT_EQ(heap.stats().object_count, objects) << "it is the same buffer";
    EXPECT_FALSE(s->members.empty());
    EXPECT_EQ(s->members[capacity - 1], nullptr);
    ASSERT_TRUE(s->members.push_back(nullptr));
    EXPECT_EQ(s->members.capacity(), 2 * capacity);
}

std::size_t seen_in_destructor = 9;
struct ending_squad {
    ref_array<node> members;
    ~ending_squad() {
        seen_in_destructor = members.size() + members.capacity() + (members.empty() ? 0u : 1u);
    }
    using references = refers_to<&ending_squad::members>;
};

TEST(ref_test, an_array_is_empty_in_the_destructor_of_its_object) {
    collected_heap heap = small_heap();
    ending_squad* const s = heap.make<ending_squad>();
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i))); }
    heap.collect();
    EXPECT_EQ(seen_in_destructor, 0u);
    EXPECT_EQ(heap.stats().object_count, 0u);
}

TEST(ref_test, an_array_that_cannot_grow_stays_as_it_is) {
    collected_heap heap{256 * 1024};
    const root<squad> s = heap.make<squad>();
    const root<node> n = made(heap, 7);
    while (s->members.push_back(n)) {}
    const std::size_t size = s->members.size();
    EXPECT_GT(size, 2000u);
    EXPECT_FALSE(s->members.reserve(SIZE_MAX));
    EXPECT_EQ(s->members.size(), size);
    EXPECT_EQ(s->members[size - 1], n.get());
}

/// Every place of the cursor in an array against every operation that moves elements across it.
TEST(ref_test, elements_that_move_while_the_array_is_half_traced_are_found) {
    for (int operation = 0; operation < 6; ++operation) {
        for (std::size_t steps = 0; steps < 12; ++steps) {
            collected_heap heap{512 * 1024, {.verify = true}};
            const root<squad> s = heap.make<squad>();
            constexpr int count = 600;  // five pieces
            for (int i = 0; i < count; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i))); }
            const root<node> holder = made(heap, -1);
            while (!heap.is_marking()) {
                static_cast<void>(made(heap, 0));
                heap.step({.steps = 1});
            }
            heap.step({.steps = steps + 1});
            node* const last = s->members[count - 1];
            switch (operation) {
                case 0:
                    s->members.swap_erase(0);
                    break;
                case 1:
                    s->members.erase(0);
                    break;
                case 2:
                    s->members.set(0, last);
                    s->members.set(count - 1, nullptr);
                    break;
                case 3:
                    holder->next = last;
                    s->members.pop_back();
                    break;
                case 4:
                    holder->next = last;
                    s->members.clear();
                    break;
                default:
                    ASSERT_TRUE(s->members.reserve(4000));
                    holder->next = last;
                    s->members.set(count - 1, nullptr);
                    break;
            }
            while (heap.is_collecting()) { heap.step({.steps = 1}); }
            EXPECT_EQ(last->value, count - 1);
            heap.validate();
        }
    }
}

}  // namespace
