// traced, outer_ref: containers of references beside the heap; and roots as elements of others.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <utility>

namespace {

using cairn::collected_heap;
using cairn::outer_ref;
using cairn::packed_array;
using cairn::ref;
using cairn::refers_to;
using cairn::root;
using cairn::traced;

struct unit {
    int value = 0;
};
struct order {
    outer_ref<unit> from;
    outer_ref<unit> to;
    int turns = 0;
};
struct army {
    traced<packed_array<outer_ref<unit>>> units;
    traced<cairn::table<order, cairn::soa>, &order::from, &order::to> orders;
    using references = refers_to<&army::units, &army::orders>;
};

unit* made(collected_heap& heap, int value) { return heap.make<unit>(value); }

void begin_marking(collected_heap& heap) {
    while (!heap.is_marking()) {
        static_cast<void>(made(heap, 0));
        heap.step({.steps = 1});
    }
}
void finish(collected_heap& heap) {
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
}

TEST(traced_test, what_containers_and_columns_refer_to_lives_as_long_as_their_object) {
    static_assert(std::is_trivially_copyable_v<outer_ref<unit>> && sizeof(outer_ref<unit>) == 8);
    collected_heap heap{1 << 20, {.verify = true}};
    root<army> a = heap.make<army>();
    for (int cycle = 0; cycle < 3; ++cycle) {  // empty at first: nothing about places is learnt
        for (int i = 0; i < 100 * cycle; ++i) {
            ASSERT_NE(a->units.edit().emplace(made(heap, i)), nullptr);
            ASSERT_TRUE(a->orders.edit().push_back(order{made(heap, i), made(heap, -i), i}));
        }
        heap.collect();
        heap.validate();
        EXPECT_EQ(heap.stats().object_count, 1u + 3 * a->units->size());
    }
    EXPECT_EQ((*a->units)[99]->value, 99);
    EXPECT_EQ(a->orders->column<&order::to>()[150]->value, -50);
    a->units.edit().clear();
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u + 2 * 300);
    a = nullptr;
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 0u);
}

/// Each way by which a container changes, before and after its object was looked at.
TEST(traced_test, elements_and_buffers_that_move_while_marking_are_found) {
    for (int change = 0; change < 5; ++change) {
        for (std::size_t steps = 1; steps < 8; ++steps) {
            collected_heap heap{256 * 1024, {.verify = true}};
            const root<army> first = heap.make<army>();
            const root<army> second = heap.make<army>();
            for (int i = 0; i < 20; ++i) {
                ASSERT_NE(first->units.edit().emplace(made(heap, i)), nullptr);
                ASSERT_NE(second->units.edit().emplace(made(heap, 100 + i)), nullptr);
            }
            const root<army> holder = heap.make<army>();
            begin_marking(heap);
            heap.step({.steps = steps});
            unit* const last = (*second->units)[19];
            switch (change) {
                case 0:
                    std::swap(first->units.edit(), second->units.edit());
                    break;
                case 1:
                    first->units.edit() = std::move(second->units.edit());
                    break;
                case 2:
                    ASSERT_NE(holder->units.edit().emplace(last), nullptr);
                    second->units.edit().clear();
                    break;
                case 3:
                    ASSERT_NE(holder->units.edit().emplace(last), nullptr);
                    static_cast<void>(second->units.edit().swap_erase(19));
                    break;
                default:
                    ASSERT_TRUE(second->units.edit().reserve(1000));
                    std::swap(second->units.edit()[0], second->units.edit()[19]);
                    break;
            }
            finish(heap);
            heap.validate();
            EXPECT_EQ(last->value, 119);
        }
    }
}

TEST(traced_test, a_container_is_paid_for_by_its_references) {
    collected_heap heap{1 << 20};
    const root<army> a = heap.make<army>();
    unit* const u = made(heap, 1);
    for (int i = 0; i < 1000; ++i) { ASSERT_NE(a->units.edit().emplace(u), nullptr); }
    heap.collect();
    EXPECT_GT(heap.stats().last_cycle.bytes, 8000u);
}

struct watches_its_end {
    ~watches_its_end() { *is_null = (*units)[0].get() == nullptr; }
    traced<packed_array<outer_ref<unit>>> units;
    bool* is_null = nullptr;
    using references = refers_to<&watches_its_end::units>;
};

TEST(traced_test, in_a_destructor_the_references_are_null) {
    bool is_null = false;
    collected_heap heap{1 << 20};
    watches_its_end* const w = heap.make<watches_its_end>();
    w->is_null = &is_null;
    ASSERT_NE(w->units.edit().emplace(made(heap, 1)), nullptr);
    heap.collect();
    EXPECT_TRUE(is_null);
}

// ---------------------------------------------------------------- roots in other stores

struct marker {
    root<unit> at;
    int number;
};

TEST(traced_test, roots_are_elements_of_any_container) {
    collected_heap heap{1 << 20, {.verify = true}};
    {
        packed_array<root<unit>> array;
        cairn::slot_map<marker> map;
        cairn::table<marker, cairn::soa> rows;
        for (int i = 0; i < 100; ++i) {
            ASSERT_NE(array.emplace(made(heap, i)), nullptr);
            ASSERT_TRUE(map.emplace(made(heap, i), i));
            ASSERT_TRUE(rows.emplace_back(root<unit>{made(heap, i)}, i));
        }
        const auto kept = map.emplace(made(heap, 7), 7);
        static_cast<void>(array.swap_erase(3));
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 300u);
        EXPECT_EQ(map.find(kept)->at->value, 7);
        EXPECT_EQ(rows.column<&marker::at>()[50]->value, 50);
    }
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 0u);
}

TEST(traced_test, an_object_that_moves_may_hold_a_root) {
    collected_heap heap{1 << 20, {.verify = true}};
    cairn::relocatable_heap movable{64 * 1024};
    const auto hole = movable.make<marker>(root<unit>{made(heap, 1)}, 1);
    const auto moved = movable.make<marker>(root<unit>{made(heap, 2)}, 2);
    const marker* const before = moved.get();
    movable.destroy(hole);
    static_cast<void>(movable.compact());
    EXPECT_NE(moved.get(), before);
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u);
    EXPECT_EQ(moved->at->value, 2);
    movable.destroy(moved);
}

struct sword {
    cairn::slot_map<marker>::handle_type owner;  // a number: it keeps nothing, and needs no word
};

TEST(traced_test, a_collected_object_holds_handles_of_other_stores) {
    collected_heap heap{1 << 20};
    cairn::slot_map<marker> map;
    const auto m = map.emplace(made(heap, 5), 5);
    const root<sword> s = heap.make<sword>(m);
    heap.collect();
    EXPECT_EQ(map.find(s->owner)->at->value, 5);
}

#if CAIRN_ASSERTS

using cairn::expect_broken_promise;

struct silent_army {
    traced<packed_array<outer_ref<unit>>> units;
    using references = refers_to<>;
};

TEST(traced_test, a_traced_container_that_is_not_told_or_lies_elsewhere_is_named) {
    collected_heap heap{1 << 20};
    EXPECT_TRUE(expect_broken_promise([&] {
                    (void)heap.make<silent_army>();
                }).says("a type lists all of its references"));
    EXPECT_TRUE(expect_broken_promise([] { army lost; }).says("a member of a collected object"));
}

TEST(traced_test, an_element_that_leads_into_another_heap_is_named) {
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap one{1 << 20};
                    collected_heap other{1 << 20};
                    const root<army> a = one.make<army>();
                    EXPECT_NE(a->units.edit().emplace(made(other, 1)), nullptr);
                    one.collect();
                }).says("of the same heap"));
}

#endif

}  // namespace
