// Sentences of cairn/collected/trace.hpp: the references of every kind of type are found.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

struct base {
    ref<node> first;
    using references = refers_to<&base::first>;
};
struct derived : base {
    ref<node> second[2];
    using references = refers_to<&derived::second>::and_base<base>;
};
struct by_call {
    ref<node> odd[3];
    ref_array<node> rest;
    void trace(cairn::visitor& v) const { v(odd, rest); }
};
struct many {
    ref<node> all[20];
    using references = refers_to<&many::all>;
};
struct alignas(64) aligned {
    ref<node> one;
    using references = refers_to<&aligned::one>;
};

struct giant {
    char before[70'000] = {};
    ref<node> far_away;
    using references = refers_to<&giant::far_away>;
};

TEST(collected_heap_test, the_references_of_every_kind_of_type_are_found) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<derived> d = heap.make<derived>();
    const root<by_call> c = heap.make<by_call>();
    const root<many> m = heap.make<many>();
    const root<aligned> a = heap.make<aligned>();
    const root<huge> h = heap.make<huge>();
    const root<giant> g = heap.make<giant>();
    d->first = made(heap);
    d->second[1] = made(heap);
    c->odd[2] = made(heap);
    ASSERT_TRUE(c->rest.push_back(made(heap)));
    m->all[19] = made(heap);
    a->one = made(heap);
    h->far_away = made(heap);
    g->far_away = made(heap);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) % 64, 0u);
    for (int i = 0; i < 3; ++i) {
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 6u + 8u + 1u);
        heap.validate();
    }
}

TEST(collected_heap_test, large_objects_come_and_go) {
    collected_heap heap{1 << 20};
    root<huge> kept = heap.make<huge>();
    for (int i = 0; i < 1000; ++i) {
        huge* const h = heap.make<huge>();
        ASSERT_NE(h, nullptr) << i;
        kept->far_away = made(heap);
        heap.step();
    }
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 2u);
    kept = nullptr;
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 0u);
    heap.validate();
}

template <std::size_t Bytes>
struct filling {
    char bytes[Bytes] = {};
};
struct far_base {
    ref<node> held;
    using references = refers_to<&far_base::held>;
};
template <std::size_t Bytes>
struct far_behind : filling<Bytes>, far_base {
    using references = refers_to<>::and_base<far_base>;
};

TEST(collected_heap_test, an_object_that_is_referred_to_far_behind_its_beginning_lives) {
    for (const std::size_t stack : {0u, 1u, 2u}) {
        collected_heap heap{1 << 20, {.mark_stack_count = stack, .verify = true}};
        root<far_base> kept;
        if (stack == 2) {
            kept = heap.make<far_behind<20'000>>();  // in the second of its chunks
        } else {
            kept = heap.make<far_behind<40'000>>();  // in the third
        }
        kept->held = made(heap);
        const weak_ref<far_base> weak{kept.get()};
        for (int i = 0; i < 3; ++i) {
            heap.collect();
            EXPECT_EQ(heap.stats().object_count, 2u);
            heap.validate();
        }
        EXPECT_EQ(weak.get(), kept.get());
        kept = nullptr;
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 0u);
        EXPECT_EQ(weak.get(), nullptr);
    }
}

template <int Number>
struct numbered {
    int value = Number;
};
template <int... N>
int make_all(collected_heap& heap, std::integer_sequence<int, N...>) {
    return ((heap.make<numbered<N>>() != nullptr ? 1 : 0) + ...);
}

TEST(collected_heap_test, more_than_128_types_are_refused) {
    collected_heap heap{4 << 20};
    EXPECT_EQ(make_all(heap, std::make_integer_sequence<int, 140>{}), 128);
    EXPECT_EQ(heap.stats().type_count, 128u);
}

}  // namespace
