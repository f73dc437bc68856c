// Sentences of cairn/containers/polymorphic_store.hpp about finding, visiting, moving and retiring
// objects.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <memory>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "containers/polymorphic_store/things.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace polymorphic_tests;

TYPED_TEST(polymorphic, an_object_is_found_by_its_handle_as_its_base_and_as_what_it_is) {
    // The slots of all types begin with the same life, so that only the type tells them apart.
    TypeParam store{system_memory(), {.first_generation = 5}};
    EXPECT_TRUE(store.empty());
    const auto d = store.template emplace<disc>(1u);
    const auto b = store.insert(box{2});
    const auto r = store.template emplace_with<ring>([](auto h) { return ring{h.raw()}; });
    EXPECT_EQ(store.size(), 3u);
    EXPECT_EQ(store.template size<box>(), 1u);
    EXPECT_EQ(store.type_count(), 3u);
    EXPECT_EQ(store[d].value(), 1u);
    EXPECT_EQ(std::as_const(store).at(b).kind(), 1);
    EXPECT_EQ(store.find(r)->value(), r.raw()) << "make() is told the handle that is returned";
    EXPECT_EQ(store.template find<box>(b), store.find(b));
    EXPECT_EQ(std::as_const(store).template find<ring>(b), nullptr) << "it is of another type";
    const auto second = store.insert(box{9});
    EXPECT_EQ(std::as_const(store).template find<box>(second)->value(), 9u);
    EXPECT_TRUE(store.erase(second));
    EXPECT_EQ(store.handle_of(store[b]), b);
    EXPECT_EQ(store.handle_of(store[r]), r);
    EXPECT_NE(d, b) << "handles name the type";
    EXPECT_TRUE(store.erase(b));
    EXPECT_FALSE(store.erase(b));
    EXPECT_EQ(store.find(b), nullptr);
    EXPECT_EQ(store.fault_of(b), handle_fault::stale);
    EXPECT_EQ(store.fault_of(d), handle_fault::none);
    EXPECT_EQ(store.fault_of({}), handle_fault::null);
    EXPECT_EQ(store.fault_of(d.with_user(400)), handle_fault::foreign) << "no such type";
    EXPECT_EQ(store.find(d.with_user(400)), nullptr);
    EXPECT_FALSE(store.template take<box>(d)) << "it is of another type";
    EXPECT_EQ(store.template take<disc>(d)->value(), 1u);
    EXPECT_FALSE(store.contains(d));
    store.validate();
}

TYPED_TEST(polymorphic, loops_visit_each_object_once_type_by_type) {
    TypeParam store;
    std::vector<typename TypeParam::handle_type> all;
    for (int i = 0; i < 300; ++i) { all.push_back(add(store, i % 3, static_cast<unsigned>(i))); }
    for (int i = 0; i < 300; i += 7) { EXPECT_TRUE(store.erase(all[static_cast<unsigned>(i)])); }
    const std::size_t left = store.size();
    const auto visited = [&](int times, int kind = -1) {
        std::size_t count = 0;
        for (const thing& t : std::as_const(store)) {
            count += t.visits == times && (kind < 0 || t.kind() == kind) ? 1u : 0u;
        }
        return count;
    };
    store.for_each([](thing& t) { ++t.visits; });
    EXPECT_EQ(visited(1), left);
    store.for_each([&](auto h, auto& t) {
        EXPECT_EQ(store.find(h), &t);
        ++t.visits;
    });
    EXPECT_EQ(visited(2), left);
    for (thing& t : store) { ++t.visits; }
    EXPECT_EQ(visited(3), left);
    for (auto [h, t] : store.items()) {
        EXPECT_EQ(&store[h], &t);
        ++t.visits;
    }
    EXPECT_EQ(visited(4), left);
    store.template for_each<box>([](box& b) { ++b.visits; });
    EXPECT_EQ(visited(5, 1), store.template size<box>());
    EXPECT_EQ(visited(4), left - store.template size<box>());
    store.template for_each<box>([&](auto h, box& b) {
        EXPECT_EQ(store.template find<box>(h), &b);
        --b.visits;
    });
    EXPECT_EQ(visited(4), left);
    std::size_t count = 0;
    std::as_const(store).template for_each<disc>([&](const disc&) { ++count; });
    std::as_const(store).for_each(
        [&](auto h, const auto&) { count += store.contains(h) ? 1u : 0u; });
    for (auto [h, t] : std::as_const(store).items()) { count += store.find(h) == &t ? 1u : 0u; }
    EXPECT_EQ(count, store.template size<disc>() + 2 * left);
    int before = 0;
    for (const thing& t : store) {
        EXPECT_LE(before, t.kind()) << "type by type";
        before = t.kind();
    }
    const std::span<disc> discs = store.template values<disc>();
    EXPECT_EQ(discs.size(), store.template size<disc>());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(discs.data()) % cache_line_size, 0u);
}

TYPED_TEST(polymorphic, a_type_that_has_no_objects_is_passed_over) {
    TypeParam store;
    EXPECT_TRUE(store.begin() == store.end());
    for (auto [h, t] : store.items()) { ADD_FAILURE() << h.raw() << t.kind(); }
    EXPECT_EQ(store.template size<ring>(), 0u);
    EXPECT_EQ(store.template capacity<ring>(), 0u);
    EXPECT_EQ(store.template erase_if<ring>([](const ring&) { return true; }), 0u);
    EXPECT_TRUE(store.template sort<ring>([](const ring&, const ring&) { return false; }));
    store.template clear<ring>();
    const auto d = add(store, 0, 1);
    const auto b = add(store, 1, 2);
    add(store, 2, 3);
    EXPECT_TRUE(store.erase(b));
    std::vector<std::uint64_t> values;
    for (const thing& t : store) { values.push_back(t.value()); }
    EXPECT_EQ(values, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_TRUE(store.erase(d));
    EXPECT_EQ(store.begin()->value(), 3u);
    store.clear();
    EXPECT_TRUE(store.begin() == store.end());
}

TYPED_TEST(polymorphic, room_that_was_reserved_asks_for_nothing_and_moves_nothing) {
    test_upstream upstream;
    TypeParam store{upstream};
    ASSERT_TRUE(store.template reserve<box>(100));
    EXPECT_GE(store.template capacity<box>(), 100u);
    ASSERT_TRUE(store.template reserve_address_space<ring>(5000));
    const ring* const r = store.template find<ring>(add(store, 2, 1));
    upstream.refuse_from(0);
    for (int i = 0; i < 100; ++i) { EXPECT_TRUE(add(store, 1, 2)); }
    for (int i = 0; i < 4000; ++i) { EXPECT_TRUE(add(store, 2, 3)); }
    EXPECT_EQ(store.template values<ring>().data(), r);
    EXPECT_FALSE(store.template reserve<box>(1'000'000));
    EXPECT_FALSE(store.template reserve<box>(std::size_t{1} << 24 | 1)) << "more than handles name";
}

TYPED_TEST(polymorphic, a_handle_of_another_store_finds_nothing) {
    TypeParam one;
    TypeParam other;
    const auto h = add(one, 0, 1);
    add(other, 0, 1);
    EXPECT_EQ(other.find(h), nullptr);
    EXPECT_EQ(other.fault_of(h), handle_fault::foreign);
    const TypeParam kept = std::move(one);
    EXPECT_TRUE(kept.contains(h));
    add(one, 0, 2);
    EXPECT_FALSE(one.contains(h)) << "what was moved from begins with other lives";
    TypeParam again{system_memory(), {.first_generation = 5}};
    TypeParam alike{system_memory(), {.first_generation = 5}};
    EXPECT_EQ(add(again, 1, 1), add(alike, 1, 1)) << "lockstep";
    test_upstream upstream;  // which looks whether every block comes back
    TypeParam full{upstream};
    add(full, 0, 1);
    const auto gone = add(full, 1, 2);
    full = std::move(alike);
    EXPECT_EQ(full.size(), 1u);
    EXPECT_FALSE(full.contains(gone));
}

TYPED_TEST(polymorphic, options_go_where_the_objects_go) {
    const auto options = detail::slot_map_options{.first_generation = 5};
    TypeParam alike{system_memory(), options};
    TypeParam moved{system_memory(), options};
    add(alike, 0, 1);
    add(moved, 0, 1);
    auto copy = moved.clone();
    ASSERT_TRUE(copy);
    TypeParam target;
    target = std::move(moved);
    const auto h = add(alike, 1, 2);
    EXPECT_EQ(add(target, 1, 2), h) << "a type that is new in the store: lockstep goes on";
    EXPECT_EQ(add(*copy, 1, 2), h) << "in a clone too";
}

TYPED_TEST(polymorphic, what_is_retired_is_counted_until_its_fence_has_passed) {
    TypeParam store;
    const auto d = add(store, 0, 1);
    const auto r = add(store, 2, 2);
    add(store, 2, 3);
    EXPECT_EQ(store.pending_count(), 0u);
    EXPECT_TRUE(store.retire(d, 10));
    EXPECT_TRUE(store.retire(r, 20));
    EXPECT_FALSE(store.retire(r, 20)) << "once";
    EXPECT_EQ(store.pending_count(), 2u);
    EXPECT_EQ(store.size(), 1u);
    EXPECT_EQ(store.collect(19), 1u);
    EXPECT_EQ(store.pending_count(), 1u);
    EXPECT_EQ(store.collect(20), 1u);
    EXPECT_EQ(store.pending_count(), 0u);
}

TYPED_TEST(polymorphic, a_store_that_is_moved_to_itself_keeps_its_objects) {
    TypeParam store;
    const auto h = add(store, 1, 7);
    TypeParam& itself = store;
    store = std::move(itself);
    EXPECT_EQ(store.size(), 1u);
    ASSERT_TRUE(store.contains(h));
    EXPECT_EQ(store[h].value(), 7u);
}

TYPED_TEST(polymorphic, iterators_step_after_they_are_read) {
    TypeParam store;
    for (int i = 0; i < 6; ++i) { add(store, i / 3, static_cast<unsigned>(i)); }
    std::uint64_t sum = 0;
    for (auto it = store.begin(); it != store.end();) { sum = 10 * sum + (it++)->value(); }
    EXPECT_EQ(sum, 12345u);
    const auto items = store.items();
    auto item = items.begin();
    const auto first = item++;
    EXPECT_EQ((*first).handle, store.begin().handle());
    EXPECT_FALSE(item == first);
    EXPECT_EQ((*item).handle, (++store.begin()).handle());
}

TYPED_TEST(polymorphic, a_handle_that_finds_nothing_stops_the_program_and_says_why) {
    TypeParam store;
    TypeParam other;
    const auto stale = add(store, 1, 1);
    store.erase(stale);
    const auto foreign = add(other, 2, 1);
    EXPECT_DEATH((void)store.at({}), "the handle is not null");
    EXPECT_DEATH((void)store.at(foreign), "the handle is of this map");
    EXPECT_DEATH((void)std::as_const(store).at(stale), "the handle is not stale");
    if (asserts_enabled) {
        EXPECT_DEATH((void)store[stale], "the handle is not stale");
        EXPECT_DEATH((void)std::as_const(store)[{}], "the handle is not null");
        const disc elsewhere{1};
        EXPECT_DEATH((void)store.handle_of(elsewhere), "the object lives in this store");
    }
}

namespace {
struct shape {
    int number;
    std::unique_ptr<polymorphic_store<shape>> parts;
    explicit shape(int n) : number{n} {}
    shape(shape&&) noexcept = default;
    shape& operator=(shape&&) noexcept = default;
    shape* operator&() { return nullptr; }              // NOLINT
    const shape* operator&() const { return nullptr; }  // NOLINT
};
template <std::size_t>
struct kind : shape {
    using shape::shape;
};
}  // namespace

TEST(polymorphic_store, may_be_moved_from_a_part_of_its_own_object_and_from_itself) {
    polymorphic_store<shape> store;
    const auto h = store.emplace<shape>(1);
    store[h].parts = std::make_unique<polymorphic_store<shape>>();
    const auto part = store[h].parts->emplace<kind<1>>(2);
    store = std::move(*store[h].parts);
    ASSERT_EQ(store.size(), 1u);
    EXPECT_EQ(store[part].number, 2);
    auto& same = store;
    store = std::move(same);
    EXPECT_EQ(store[part].number, 2);
    EXPECT_EQ(store.handle_of(store[part]), part) << "an object may hide its address";
}
