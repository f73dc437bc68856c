// Sentences of cairn/movable/offset_heap.hpp about ranges: how many there are, their names, and how
// they grow, shrink and go back.
#include <cairn/movable/offset_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "movable/offset_heap/offsets.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace offset_heap_tests;

TYPED_TEST(offset_heap_test, max_allocations_is_exact) {
    test_upstream upstream;
    basic_offset_heap<TypeParam> h{1'000'000, upstream, {.allocation_count_max = 100}};
    EXPECT_EQ(upstream.request_count(), 1u);
    std::vector<offset_allocation> live;
    while (const auto a = h.allocate(10, 64)) { live.push_back(a); }  // a gap beside each
    EXPECT_EQ(live.size(), 100u);
    for (std::size_t i = 0; i < live.size(); i += 2) { h.deallocate(live[i]); }
    h.validate();
    for (int i = 0; i < 50; ++i) { EXPECT_TRUE(h.allocate(3, 16)); }
    EXPECT_FALSE(h.allocate(1));
    EXPECT_EQ(upstream.request_count(), 1u) << "all nodes were there from the start";
    h.validate();
}

TYPED_TEST(offset_heap_test, the_whole_capacity_is_one_allocation) {
    constexpr auto max = static_cast<TypeParam>(~TypeParam{0});
    for (const TypeParam capacity :
         {TypeParam{1}, TypeParam{31}, TypeParam{699'050}, static_cast<TypeParam>(max / 2 + 1),
          static_cast<TypeParam>(max - 1), max}) {
        basic_offset_heap<TypeParam> h{capacity};
        const auto a = h.allocate(capacity);
        ASSERT_TRUE(a) << capacity;
        EXPECT_FALSE(h.allocate(1));
        h.validate();
        h.deallocate(a);
        EXPECT_TRUE(h.allocate(static_cast<TypeParam>(capacity - capacity / 3)));
        h.validate();
    }
    // A request whose class would wrap does not get a hole that is too small for it.
    basic_offset_heap<TypeParam> all{max};
    const auto quarter = all.allocate(static_cast<TypeParam>(max / 4 + 5));
    EXPECT_TRUE(all.allocate(1));
    all.deallocate(quarter);
    EXPECT_FALSE(all.allocate(static_cast<TypeParam>(max - 100)));
    all.validate();

    basic_offset_heap<TypeParam> none{0};
    EXPECT_FALSE(none.allocate(0));
    EXPECT_TRUE(none.grow(10));
    EXPECT_TRUE(none.allocate(10));
}

TYPED_TEST(offset_heap_test, grows_and_shrinks_at_its_end) {
    basic_offset_heap<TypeParam> h{100};
    const auto a = h.allocate(100);
    EXPECT_FALSE(h.allocate(1));
    EXPECT_TRUE(h.grow(150));
    const auto b = h.allocate(40);
    EXPECT_EQ(h.offset(b), 100u);
    EXPECT_TRUE(h.grow(300));
    h.validate();
    EXPECT_FALSE(h.shrink(139)) << "b lives there";
    EXPECT_TRUE(h.shrink(140));
    h.validate();
    EXPECT_EQ(h.capacity(), 140u);
    h.deallocate(b);
    EXPECT_TRUE(h.shrink(100));
    h.deallocate(a);
    EXPECT_TRUE(h.shrink(0));
    h.validate();
    EXPECT_FALSE(h.allocate(1));
}

TYPED_TEST(offset_heap_test, user_data_has_64_bits) {
    basic_offset_heap<TypeParam> h{1000, {.allocation_count_max = 10}};
    const auto a = h.allocate(10, 1, 0xFEDC'BA98'7654'3210u);
    EXPECT_EQ(h.user_data(a), 0xFEDC'BA98'7654'3210u);
    h.set_user_data(a, 0x0123'4567'89AB'CDEFu);
    EXPECT_EQ(h.user_data(a), 0x0123'4567'89AB'CDEFu);
}

TYPED_TEST(offset_heap_test, statistics_count_what_is_free_and_nothing_else) {
    basic_offset_heap<TypeParam> h{1000, {.allocation_count_max = 10}};
    const auto all = h.allocate(1000);
    EXPECT_EQ(h.stats().free_size, 0u);
    EXPECT_EQ(h.stats().largest_free, 0u);
    EXPECT_EQ(h.stats().free_range_count, 0u);
    h.deallocate(all);
    (void)h.allocate(400);
    EXPECT_EQ(h.stats().free_size, 600u);
    EXPECT_EQ(h.stats().largest_free, 600u);
    EXPECT_EQ(h.stats().free_range_count, 1u);
}

TYPED_TEST(offset_heap_test, shrinks_to_its_own_size_and_never_to_a_larger_one) {
    basic_offset_heap<TypeParam> h{1000, {.allocation_count_max = 10}};
    EXPECT_TRUE(h.shrink(1000));
    EXPECT_FALSE(h.shrink(2000));
    EXPECT_EQ(h.stats().capacity, 1000u);
    const auto all = h.allocate(1000);
    EXPECT_TRUE(h.shrink(1000)) << "nothing has to go";
    EXPECT_TRUE(h.contains(all));
}

TYPED_TEST(offset_heap_test, a_name_dies_with_its_range_even_when_the_range_is_used_again) {
    basic_offset_heap<TypeParam> h{1000};
    const auto first = h.allocate(20);
    h.deallocate(first);
    for (int i = 0; i < 50; ++i) {  // the same range, the same node, another life
        const auto again = h.allocate(20);
        EXPECT_EQ(h.offset(again), 0u);
        EXPECT_FALSE(h.contains(first));
        EXPECT_TRUE(h.contains(again));
        h.deallocate(again);
        EXPECT_FALSE(h.contains(again));
    }
}

TYPED_TEST(offset_heap_test, names_of_a_heap_that_was_replaced_moved_or_of_another_one_are_told) {
    using heap_type = basic_offset_heap<TypeParam>;
    heap_type heap{1000};
    heap_type other{1000};
    std::vector<offset_allocation> old;
    for (int i = 0; i < 10; ++i) {
        old.push_back(heap.allocate(10));
        ASSERT_TRUE(other.allocate(10));
    }
    for (const offset_allocation a : old) { EXPECT_FALSE(other.contains(a)); }
    heap_type target{std::move(heap)};
    heap = heap_type{1000};
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(heap.allocate(10)); }
    for (const offset_allocation a : old) {
        EXPECT_FALSE(heap.contains(a));
        EXPECT_TRUE(target.contains(a));
    }
    heap.validate();
}

TYPED_TEST(offset_heap_test, a_first_generation_makes_equal_names) {
    using heap_type = basic_offset_heap<TypeParam>;
    heap_type a{1000, system_memory(), {.first_generation = 7}};
    heap_type b{1000, {.first_generation = 7}};
    for (int i = 0; i < 50; ++i) { EXPECT_EQ(a.allocate(10), b.allocate(10)); }
    EXPECT_EQ(a.allocate(1).generation, 7u);
}

TYPED_TEST(offset_heap_test, reset_makes_every_name_stale) {
    basic_offset_heap<TypeParam> h{1000};
    std::vector<offset_allocation> old;
    for (int i = 0; i < 20; ++i) { old.push_back(h.allocate(20)); }
    h.reset();
    h.validate();
    for (int i = 0; i < 20; ++i) { ASSERT_TRUE(h.allocate(20)); }
    for (const auto a : old) { EXPECT_FALSE(h.contains(a)); }
}

TYPED_TEST(offset_heap_test, works_on_after_upstream_refuses_nodes) {
    for (std::size_t refused = 0; refused < 5; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        basic_offset_heap<TypeParam> h{100'000, upstream};
        std::vector<offset_allocation> live;
        for (int i = 0; i < 1000; ++i) {
            if (const auto a = h.allocate(7, 8)) { live.push_back(a); }
            if (i % 100 == 0) { h.validate(); }
        }
        for (const auto a : live) { h.deallocate(a); }
        h.validate();
    }
}

TYPED_TEST(offset_heap_test, the_map_is_json) {
    basic_offset_heap<TypeParam> h{256};
    (void)h.allocate(64, 1, 7);
    std::string text;
    h.write_json([&](const char* s, std::size_t n) { text.append(s, n); });
    EXPECT_EQ(
        text,
        R"({"capacity":256,"ranges":[{"offset":0,"size":64,"user":7},{"offset":64,"size":192}]})");
}

TYPED_TEST(offset_heap_test, a_moved_from_heap_is_empty_and_valid) {
    basic_offset_heap<TypeParam> a{1000};
    const auto x = a.allocate(10);
    basic_offset_heap<TypeParam> b{std::move(a)};
    EXPECT_TRUE(b.contains(x));
    EXPECT_FALSE(a.allocate(1));  // NOLINT: this is what is tested
    a.validate();
    b.validate();
}

TYPED_TEST(offset_heap_test, misuse_is_named) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    basic_offset_heap<TypeParam> h{1000};
    const auto a = h.allocate(10);
    EXPECT_DEATH((h.deallocate(a), h.deallocate(a)), "an allocation is freed once");
    EXPECT_DEATH((void)h.offset({}), "the allocation is not null");
    EXPECT_DEATH((void)h.allocate(1, 3), "an alignment is a power of two");
    (void)h.allocate(10);
    h.deallocate(a);
    typename basic_offset_heap<TypeParam>::move m[1];
    ASSERT_EQ(h.plan(m, 1, {1, 1000, 100}), 1u);
    EXPECT_DEATH(h.deallocate(m[0].what), "committed or cancelled before its allocation is freed");
    EXPECT_DEATH((h.commit(m[0]), h.commit(m[0])), "committed or cancelled once");
    h.cancel(m[0]);
}

TYPED_TEST(offset_heap_test, a_wrong_free_is_reported_with_its_cause_its_heap_and_its_line) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    basic_offset_heap<TypeParam> h{1000, {.first_generation = 3}};
    basic_offset_heap<TypeParam> other{1000, {.first_generation = 1000}};
    const auto gone = h.allocate(10);
    h.deallocate(gone);
    const unsigned line = std::source_location::current().line();
    const auto twice = expect_broken_promise([&] { h.deallocate(gone); });  // line + 1
    const auto foreign = expect_broken_promise([&] { h.deallocate(other.allocate(10)); });
    const auto null = expect_broken_promise([&] { h.deallocate({}); });
    const auto used = expect_broken_promise([&] { (void)h.offset(gone); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_EQ(twice.object(), &h);
    EXPECT_STREQ(twice.type(), "offset_heap");
    EXPECT_EQ(twice.line(), line + 1);
    EXPECT_EQ(twice.value("life in the name"), 3u);
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_handle) << foreign;
    EXPECT_EQ(foreign.line(), line + 2);
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
    EXPECT_EQ(used.kind(), misuse_kind::stale_handle) << used;
    EXPECT_EQ(used.line(), line + 4);
    EXPECT_EQ(expect_broken_promise([&] { h.set_pinned(gone, true); }).kind(),
              misuse_kind::stale_handle);
    basic_offset_heap<TypeParam> moved{std::move(h)};
    const auto live = moved.allocate(10);
    EXPECT_EQ(expect_broken_promise([&] { h.deallocate(live); }).kind(),  // NOLINT: moved from
              misuse_kind::foreign_handle);
}

TYPED_TEST(offset_heap_test, unchecked_builds_pin_only_what_lives) {
    if (asserts_enabled) { GTEST_SKIP() << "checked builds name it"; }
    basic_offset_heap<TypeParam> h{1000};
    const auto gone = h.allocate(10);
    h.deallocate(gone);
    h.set_pinned(gone, true);
    h.set_pinned({}, true);
    h.validate();
    EXPECT_EQ(h.stats().largest_free, 1000u);
    EXPECT_TRUE(h.allocate(1000));
}

TYPED_TEST(offset_heap_test, unchecked_builds_end_a_move_once) {
    if (asserts_enabled) { GTEST_SKIP() << "checked builds name it"; }
    basic_offset_heap<TypeParam> h{1000};
    const auto hole = h.allocate(10);
    const auto moves = h.allocate(10);
    h.deallocate(hole);
    typename basic_offset_heap<TypeParam>::move m[1] = {};
    ASSERT_EQ(h.plan(m, 1, {1, 1000, 100}), 1u);
    h.commit(m[0]);
    h.commit(m[0]);
    h.cancel(m[0]);
    EXPECT_EQ(h.moves_in_flight(), 0u);
    EXPECT_EQ(h.offset(moves), 0u);
    h.validate();
    (void)h.allocate(10);
    h.deallocate(moves);
    ASSERT_EQ(h.plan(m, 1, {1, 1000, 100}), 1u);
    h.reset();
    h.commit(m[0]);
    EXPECT_EQ(h.moves_in_flight(), 0u);
    h.validate();
    EXPECT_TRUE(h.allocate(1000));
}
