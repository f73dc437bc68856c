// collected_heap's debug modes: a pointer that lived over a safe point is caught, though its object
// lives; a trace() that forgets a reference is found when it is marked.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::outer_ref;
using cairn::ref;
using cairn::refers_to;
using cairn::root;
using cairn::weak_ref;

struct unit {
    ref<unit> next;
    std::uint32_t id = 0;
    using references = refers_to<&unit::next>;
};
struct stays {
    ref<stays> next;
    std::uint32_t id = 0;
    using references = refers_to<&stays::next>;
};
struct squad {
    cairn::ref_array<unit> members;
    using references = refers_to<&squad::members>;
};
struct fleet {
    cairn::traced<cairn::packed_array<outer_ref<unit>>> units;
    using references = refers_to<&fleet::units>;
};

}  // namespace

template <>
inline constexpr bool cairn::enable_trivial_relocation<unit> = true;
template <>
inline constexpr bool cairn::enable_trivial_relocation<squad> = true;

namespace {

unit* made(collected_heap& heap, std::uint32_t id) {
    unit* const u = heap.make<unit>();
    EXPECT_NE(u, nullptr);
    u->id = id;
    return u;
}
/// Looks at freed memory, as a stray pointer does.
__attribute__((no_sanitize("address"))) std::uint32_t bytes_at(const std::uint32_t* p) {
    return *static_cast<const volatile std::uint32_t*>(p);
}

TEST(collected_heap_stress_test, each_safe_point_moves_what_may_move) {
    collected_heap heap{1 << 20, {.stress = true, .verify = true}};
    std::vector<root<unit>> units;
    for (std::uint32_t i = 0; i < 2'000; ++i) {
        units.emplace_back(made(heap, i));
        if (i != 0) { units[i]->next = units[i - 1].get(); }
    }
    const root<fleet> f = heap.make<fleet>();
    ASSERT_NE(f->units.edit().emplace(units[7].get()), nullptr);
    const root<stays> s = heap.make<stays>();
    const stays* const place = s.get();
    for (int frame = 0; frame < 5; ++frame) {
        std::vector<const unit*> before;
        for (const auto& u : units) { before.push_back(u.get()); }
        const cairn::collection_report report = frame % 2 == 0 ? heap.step() : heap.collect();
        EXPECT_EQ(report.moved_count, units.size());
        heap.validate();
        for (std::uint32_t i = 0; i < units.size(); ++i) {
            ASSERT_NE(units[i].get(), before[i]);
            ASSERT_EQ(units[i]->id, i);
            ASSERT_EQ(bytes_at(&before[i]->id), 0xF0F0'F0F0u) << "nothing is there any more";
            ASSERT_EQ(units[i]->next.get(), i == 0 ? nullptr : units[i - 1].get());
        }
        EXPECT_EQ((*f->units)[0].get(), units[7].get());
        EXPECT_EQ(s.get(), place) << "a type that does not move";
    }
}

TEST(collected_heap_stress_test, a_full_heap_moves_what_it_has_room_for) {
    collected_heap heap{256 * 1024, {.stress = true, .verify = true}};
    std::vector<root<unit>> units;
    while (unit* const u = heap.make<unit>()) {
        u->id = static_cast<std::uint32_t>(units.size());
        units.emplace_back(u);
    }
    EXPECT_EQ(heap.step().moved_count, 0u);
    units.resize(units.size() - 2'500);
    heap.step();
    const std::size_t moved = heap.step().moved_count;
    EXPECT_GT(moved, 0u);
    EXPECT_LT(moved, units.size());
    heap.validate();
    for (std::uint32_t i = 0; i < units.size(); ++i) { ASSERT_EQ(units[i]->id, i); }
}

TEST(collected_heap_stress_test, what_is_referred_to_weakly_is_found_where_it_is) {
    collected_heap heap{1 << 20, {.stress = true, .verify = true}};
    const root<unit> kept = made(heap, 1);
    const weak_ref<unit> weak{kept.get()};
    const weak_ref<unit> gone{made(heap, 2)};
    heap.step();
    EXPECT_EQ(weak.get(), kept.get());
    EXPECT_EQ(gone.get(), nullptr);
}

TEST(collected_heap_stress_test, without_it_nothing_moves) {
    collected_heap heap{1 << 20};
    const root<unit> kept = made(heap, 1);
    const unit* const before = kept.get();
    EXPECT_EQ(heap.collect().moved_count, 0u);
    EXPECT_EQ(kept.get(), before);
}

#if CAIRN_ASSERTS

using cairn::expect_broken_promise;

TEST(collected_heap_stress_test, a_pointer_that_lived_over_a_safe_point_is_named) {
    collected_heap heap{1 << 20, {.stress = true}};
    const root<unit> alive = made(heap, 1);
    alive->next = made(heap, 2);
    unit* const moved = alive.get();
    unit* const gone = made(heap, 3);
    heap.step();
    for (unit* const stray : {moved, gone}) {
        EXPECT_TRUE(
            expect_broken_promise([&] { stray->next = nullptr; }).says("in an object that lives"));
        EXPECT_TRUE(expect_broken_promise([&] {
                        static_cast<void>(stray->next.get());
                    }).says("in an object that lives"));
        EXPECT_TRUE(expect_broken_promise([&] {
                        static_cast<void>(stray->next->id);
                    }).says("in an object that lives"));
        EXPECT_TRUE(
            expect_broken_promise([&] { alive->next = stray; }).says("to an object that lives"));
        EXPECT_TRUE(expect_broken_promise([&] {
                        const root<unit> kept{stray};
                    }).says("to an object that lives"));
        EXPECT_TRUE(expect_broken_promise([&] {
                        const weak_ref<unit> weak{stray};
                    }).says("to an object that lives"));
    }
}

TEST(collected_heap_stress_test, so_is_one_to_an_array_that_moved_with_its_object) {
    collected_heap heap{1 << 20, {.stress = true}};
    const root<squad> s = heap.make<squad>();
    ASSERT_TRUE(s->members.push_back(made(heap, 1)));
    const squad* const stray = s.get();
    heap.step();
    EXPECT_EQ(s->members[0]->id, 1u);
    EXPECT_TRUE(expect_broken_promise([&] {
                    static_cast<void>(stray->members[0]);
                }).says("in an object that lives"));
}

TEST(collected_heap_stress_test, a_store_into_an_object_that_is_gone_is_named_in_any_mode) {
    collected_heap heap{1 << 20};
    const root<unit> alive = made(heap, 1);
    unit* const gone = made(heap, 2);
    heap.collect();
    EXPECT_TRUE(
        expect_broken_promise([&] { gone->next = alive.get(); }).says("in an object that lives"));
}

struct forgets_later {
    forgets_later() noexcept {}
    ref<unit> always;
    std::uint64_t between = 0;
    ref<unit> sometimes[40];
    std::uint32_t told = 40;
    void trace(cairn::visitor& v) {
        v(always);
        for (std::uint32_t i = 0; i < told; ++i) { v(sometimes[i]); }
    }
};

TEST(collected_heap_stress_test, a_trace_that_forgets_a_reference_is_found_when_marking_ends) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<forgets_later> f = heap.make<forgets_later>();
    f->sometimes[39] = made(heap, 1);
    heap.collect();
    f->told = 39;
    EXPECT_TRUE(
        expect_broken_promise([&] { heap.collect(); }).says("a type lists all of its references"));
    f->told = 40;  // on Windows the heap is left where it broke, and looks again at its end
}

struct forgets_the_last {
    ref<unit> told[100];
    ref<unit> forgotten;
    using references = refers_to<&forgets_the_last::told>;
};

TEST(collected_heap_stress_test, a_reference_behind_many_is_missed_too) {
    collected_heap heap{1 << 20};
    EXPECT_TRUE(expect_broken_promise([&] {
                    (void)heap.make<forgets_the_last>();
                }).says("a type lists all of its references"));
}

/// Ends the life of a reference, and begins another there: no barrier sees that.
struct renews {
    ref<unit> own;
    using references = refers_to<&renews::own>;
};

TEST(collected_heap_stress_test, a_reference_that_begins_later_than_its_object_is_named) {
    collected_heap heap{1 << 20};
    renews* const r = heap.make<renews>();
    EXPECT_TRUE(expect_broken_promise([&] {
                    ::new (static_cast<void*>(&r->own)) ref<unit>;
                }).says("a ref lives as long as its object"));
}

#endif

}  // namespace
