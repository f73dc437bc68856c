// collected_heap: the work of a cycle, as it is foreseen, paid for and told by type.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using cairn::collected_heap;
using cairn::outer_ref;
using cairn::packed_array;
using cairn::ref;
using cairn::refers_to;
using cairn::root;
using cairn::traced;

struct plain {
    std::uint64_t value = 0;
};
struct mortal {
    ~mortal() { value = 0; }
    std::uint64_t value = 1;
    using references = refers_to<>;
};

TEST(collected_heap_work_test, a_step_pays_its_part_of_the_destructors_that_its_cycle_will_call) {
    collected_heap heap{1 << 20};
    std::size_t mortals = 0;
    while (!heap.is_collecting()) {
        ASSERT_NE(heap.make<mortal>(), nullptr);
        ++mortals;
        heap.step({.steps = 0});
    }
    const auto begin = heap.stats();
    EXPECT_EQ(2 * begin.used_size, begin.capacity) << "a first cycle begins when half is taken";
    const std::size_t room = (begin.capacity - begin.used_size) / 2;
    while (heap.stats().allocated_size - begin.allocated_size < room / 8) {
        ASSERT_NE(heap.make<plain>(), nullptr);
    }
    EXPECT_GE(heap.step().bytes, mortals * 128 / 8) << "an eighth of the room, an eighth of them";
}

struct knot {
    ref<knot> next[4];
    using references = refers_to<&knot::next>;
};

TEST(collected_heap_work_test, a_step_pays_its_part_of_references_that_cost_more_than_their_slots) {
    static_assert(sizeof(knot) == 16, "16 bytes, of which 32 bytes of work come");
    constexpr std::size_t knots = 20'000;
    collected_heap heap{1 << 20};
    const root<knot> first = heap.make<knot>();
    knot* last = first.get();
    for (std::size_t i = 1; i < knots; ++i) {
        last->next[0] = heap.make<knot>();
        last = last->next[0].get();
        ASSERT_NE(last, nullptr);
    }
    heap.collect();  // now it is known where a knot's references are
    while (!heap.is_collecting()) {
        ASSERT_NE(heap.make<plain>(), nullptr);
        heap.step({.steps = 0});
    }
    const auto begin = heap.stats();
    const std::size_t room = (begin.capacity - begin.used_size) / 2;
    while (heap.stats().allocated_size - begin.allocated_size < room / 2) {
        ASSERT_NE(heap.make<plain>(), nullptr);
    }
    EXPECT_GE(heap.step().bytes, (begin.used_size + knots * 16) / 2) << "half of all that is left";
}

TEST(collected_heap_work_test,
     what_a_worker_has_marked_is_taken_off_a_budget_and_the_rest_is_marked) {
    collected_heap heap{1 << 20};
    cairn::marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    const root<knot> first = heap.make<knot>();
    knot* last = first.get();
    for (int i = 1; i < 10'000; ++i) {
        last->next[0] = heap.make<knot>();
        last = last->next[0].get();
        ASSERT_NE(last, nullptr);
    }
    while (!heap.is_marking()) {
        ASSERT_NE(heap.make<plain>(), nullptr);
        heap.step({.steps = 1});
    }
    heap.step({.bytes = 1000});
    EXPECT_TRUE(worker.run({.bytes = 30'000}));
    const std::size_t bytes = heap.step({.bytes = 60'000}).bytes;
    EXPECT_GE(bytes, 29'000u);
    EXPECT_LT(bytes, 32'000u);
    EXPECT_TRUE(heap.is_marking());
}

TEST(collected_heap_work_test, a_worker_that_comes_while_the_heap_is_marking_marks_at_once) {
    collected_heap heap{1 << 20};
    const root<knot> first = heap.make<knot>();
    for (int i = 0; i < 1000; ++i) {
        knot* const k = heap.make<knot>();
        ASSERT_NE(k, nullptr);
        k->next[0] = first->next[0];
        first->next[0] = k;
    }
    heap.collect();
    while (!heap.is_marking()) {
        ASSERT_NE(heap.make<plain>(), nullptr);
        heap.step({.steps = 1});
    }
    heap.step({.bytes = 100});  // past the roots
    ASSERT_TRUE(heap.is_marking());
    cairn::marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    EXPECT_TRUE(worker.run({.bytes = 100}));
}

TEST(collected_heap_work_test, a_worker_that_ends_gives_back_what_it_shared_with_the_heap) {
    test_upstream memory;
    collected_heap heap{1 << 20, memory};
    {
        cairn::marking_worker worker;
        ASSERT_TRUE(heap.mark_on(worker));
        EXPECT_EQ(memory.live_count(), 1u)
            << "the sets of names; the heap's pages are the system's";
    }
    EXPECT_EQ(memory.live_count(), 0u);
    EXPECT_TRUE(heap.collect().is_idle);
}

struct crowd {
    traced<packed_array<outer_ref<plain>>> members;
    using references = refers_to<&crowd::members>;
};

/// Of a cycle that looks at ten crowds of `count` members, and nothing else.
std::uint64_t work_of_crowds(std::size_t count) {
    constexpr std::size_t crowds = 10;
    collected_heap heap{1 << 20};
    std::vector<root<crowd>> all;
    const root<plain> one = heap.make<plain>();
    for (std::size_t i = 0; i < crowds; ++i) {
        all.emplace_back(heap.make<crowd>());
        for (std::size_t k = 0; k < count; ++k) {
            EXPECT_NE(all.back()->members.edit().emplace(one.get()), nullptr);
        }
    }
    heap.collect();
    heap.collect();
    return heap.stats().last_cycle.bytes;
}

TEST(collected_heap_work_test, an_object_costs_its_size_or_its_references_whichever_is_more) {
    constexpr std::size_t slot_size = (sizeof(crowd) + 15) / 16 * 16;
    static_assert(slot_size < 50 * 8);
    const std::uint64_t some = work_of_crowds(50);
    // A traced container shows one more: what it was told last while the heap was marking.
    EXPECT_EQ(some - work_of_crowds(0), 10 * ((50 + 1) * 8 - slot_size));
    EXPECT_EQ(work_of_crowds(90) - some, 10u * 40 * 8);
}

template <int Number>
struct numbered {
    int value = Number;
};
template <int... N>
void make_each(collected_heap& heap, std::integer_sequence<int, N...>) {
    (static_cast<void>(heap.make<numbered<N>>()), ...);
}

TEST(collected_heap_work_test, each_of_many_types_is_told_with_its_own_objects) {
    collected_heap heap{4 << 20};
    make_each(heap, std::make_integer_sequence<int, 127>{});
    std::string text;
    heap.write_json([&](const char* s, std::size_t length) { text.append(s, length); });
    const std::string part = "\"count\":1,\"size\":16,\"chunks\":1,\"roots\":0,\"refers_to\":[]}";
    std::size_t told = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) { ++told; }
    EXPECT_EQ(told, 127u) << text;
}

}  // namespace
