// Sentences of cairn/storage/inside/slot_directory.hpp; the maps built on it have the large model tests.
#include <cairn/storage/inside/slot_directory.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::detail;

namespace {
constexpr std::uint32_t none = slot_directory<>::none;
}

TEST(slot_directory, a_slot_is_found_only_in_the_life_it_was_given_out_in) {
    slot_directory<> slots{{1000, 15, 0}};
    const std::uint32_t s = slots.next();
    slots.occupy(s, 77);
    const std::uint32_t life = slots.generation(s);
    EXPECT_EQ(slots.find(s, life), 77u);
    slots.vacate(s);
    EXPECT_EQ(slots.find(s, life), none);
    EXPECT_EQ(slots.find(s, life + 1), none) << "not even with the life to come";
    EXPECT_EQ(slots.find(0, 0), none);
    EXPECT_EQ(slots.find(none, 1), none);
    slots.validate();
}

TEST(slot_directory, fifo_takes_the_oldest_and_a_freed_slot_waits_behind_free_min_others) {
    slot_directory<reuse::fifo> slots{{1000, 4095, 4}};
    for (std::uint32_t i = 0; i < 10; ++i) { slots.occupy(slots.next(), i); }
    for (const std::uint32_t i : {3u, 1u, 7u, 2u, 9u}) { slots.vacate(i); }
    std::uint32_t waited = 0;
    for (; slots.next() != 3; ++waited) { slots.occupy(slots.next(), 0); }
    EXPECT_GE(waited, 4u);
    for (const std::uint32_t i : {3u, 1u, 7u, 2u, 9u}) {
        EXPECT_EQ(slots.next(), i);
        slots.occupy(i, 0);
    }
    slots.validate();
}

TEST(slot_directory, fifo_spreads_the_lives_of_one_busy_object_over_all_slots) {
    slot_directory<reuse::fifo> slots{{1000, 4095, 64}};
    std::vector<std::uint32_t> lives(1000);
    for (int i = 0; i < 6500; ++i) {
        const std::uint32_t s = slots.next();
        slots.occupy(s, 0);
        slots.vacate(s);
        ++lives[s];
    }
    for (const std::uint32_t count : lives) { EXPECT_LE(count, 101u); }
}

TEST(slot_directory, a_copy_of_one_without_slots_begins_at_the_life_that_was_asked_for) {
    const slot_directory<> asked{{1000, 4095, 0, 9}};
    slot_directory<> copy{{1000, 4095, 0}};
    ASSERT_TRUE(copy.copy_from(asked));
    const std::uint32_t s = copy.next();
    copy.occupy(s, 1);
    EXPECT_EQ(copy.generation(s), 9u);
}

TEST(slot_directory, growth_gives_the_old_line_back_before_the_slots_grow) {
    test_upstream upstream;
    slot_directory<> slots{{10'000, 4095, 0}, upstream};
    ASSERT_TRUE(slots.reserve(1000));
    const std::size_t before = upstream.live_size();  // 4 bytes a slot for the line, 8 for the slot
    ASSERT_TRUE(slots.reserve(3000));
    EXPECT_EQ(upstream.peak_size(), upstream.live_size() + before / 3 * 2);
}

TEST(slot_directory, lifo_takes_the_newest) {
    slot_directory<reuse::lifo> newest{{1000, 4095, 0, 1}};
    for (std::uint32_t i = 0; i < 10; ++i) { newest.occupy(newest.next(), i); }
    for (const std::uint32_t i : {3u, 1u, 7u}) { newest.vacate(i); }
    EXPECT_EQ(newest.next(), 7u);
    newest.validate();
}

TEST(slot_directory, slots_that_are_reserved_twice_before_the_first_is_used_are_given_out_once) {
    slot_directory<reuse::fifo> slots{{1000, 4095, 0}};
    ASSERT_TRUE(slots.reserve(10));
    ASSERT_TRUE(slots.reserve(100));
    slots.validate();
    std::vector<int> given(slots.capacity());
    for (std::uint32_t i = slots.capacity(); i != 0; --i) {
        const std::uint32_t s = slots.next();
        ASSERT_LT(s, given.size());
        EXPECT_EQ(given[s]++, 0) << s;
        slots.occupy(s, 0);
    }
}

TEST(slot_directory, lives_that_begin_in_the_middle_are_as_many) {
    for (const std::uint32_t first : {1u, 2u, 9u, 15u}) {
        slot_directory<reuse::lifo> slots{{1, 15, 0, first}};
        std::vector<std::uint32_t> lives;
        for (std::uint32_t s = slots.next(); s != none; s = slots.next()) {
            slots.occupy(s, 1);
            lives.push_back(slots.generation(s));
            slots.vacate(s);
            slots.validate();
        }
        ASSERT_EQ(lives.size(), 15u);
        EXPECT_EQ(lives.front(), first);
        EXPECT_EQ(slots.fault_of(0, first), handle_fault::stale);
        EXPECT_EQ(slots.recycle_worn_out(no_handles_left), 1u);
        EXPECT_EQ(slots.generation(0), first);
    }
}

TEST(slot_directory, a_slot_whose_generations_are_used_up_is_retired_and_counted) {
    slot_directory<reuse::lifo> slots{{2, 15, 0}};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> given;
    for (std::uint32_t s = slots.next(); s != none; s = slots.next()) {
        slots.occupy(s, 1);
        for (const auto& [index, life] : given) { ASSERT_EQ(slots.find(index, life), none); }
        given.emplace_back(s, slots.generation(s));
        slots.vacate(s);
        slots.validate();
    }
    EXPECT_EQ(given.size(), 30u) << "two slots, fifteen lives each";
    EXPECT_EQ(slots.worn_out_count(), 2u);
    for (const auto& [index, life] : given) { EXPECT_EQ(slots.find(index, life), none); }

    EXPECT_EQ(slots.recycle_worn_out(no_handles_left), 2u);
    EXPECT_EQ(slots.worn_out_count(), 0u);
    EXPECT_NE(slots.next(), none);
    slots.validate();
}

TEST(slot_directory, a_held_slot_is_found_only_after_it_was_fulfilled) {
    slot_directory<> slots{{1000, 15, 2}};
    const std::uint32_t s = slots.next();
    slots.promise(s);
    const std::uint32_t life = slots.generation(s);
    EXPECT_EQ(slots.find(s, life), none);
    EXPECT_TRUE(slots.is_promised(s, life));
    EXPECT_FALSE(slots.is_promised(s, life + 1));
    slots.fulfil(s, 5);
    EXPECT_EQ(slots.find(s, life), 5u);
    EXPECT_FALSE(slots.is_promised(s, life));
    slots.vacate(s);
    slots.promise(slots.next());
    slots.vacate_promised();
    EXPECT_EQ(slots.in_use_count(), 0u);
    slots.validate();
}

#if CAIRN_ASSERTS
TEST(slot_directory, a_value_that_means_promised_or_no_slot_is_named) {
    slot_directory<> slots{{1000, 4095, 0}};
    const std::uint32_t s = slots.next();
    for (const std::uint32_t value : {none, none - 1}) {
        const auto taken = expect_broken_promise([&] { slots.occupy(s, value); });
        EXPECT_TRUE(taken.says("a value is at most value_max")) << taken.text();
    }
    slots.occupy(s, slot_directory<>::value_max);
    const std::uint32_t life = slots.generation(s);
    EXPECT_EQ(slots.find(s, life), slot_directory<>::value_max);
    const auto changed = expect_broken_promise([&] { slots.set_value(s, none - 1); });
    EXPECT_TRUE(changed.says("a value is at most value_max")) << changed.text();
    slots.vacate(s);
    EXPECT_FALSE(slots.is_promised(s, slots.generation(s)));
    const std::uint32_t held = slots.next();
    slots.promise(held);
    const auto fulfilled = expect_broken_promise([&] { slots.fulfil(held, none - 1); });
    EXPECT_TRUE(fulfilled.says("a value is at most value_max")) << fulfilled.text();
    slots.validate();
}
#endif

TEST(slot_directory, uses_a_free_slot_early_rather_than_fail) {
    test_upstream upstream;
    slot_directory<reuse::fifo> slots{{1000, 4095, 64}, upstream};
    ASSERT_TRUE(slots.reserve(10));
    upstream.refuse_from(upstream.request_count());
    for (std::uint32_t i = 0; i < slots.capacity(); ++i) { slots.occupy(slots.next(), i); }
    EXPECT_EQ(slots.next(), none);
    slots.vacate(5);
    EXPECT_EQ(slots.next(), 5u);
}

TEST(slot_directory, refuses_more_slots_than_the_handle_has_indices_for) {
    slot_directory<reuse::fifo> slots{{100, 4095, 8}};
    EXPECT_FALSE(slots.reserve(101));
    EXPECT_TRUE(slots.reserve(100));
    for (std::uint32_t i = 0; i < 100; ++i) { slots.occupy(slots.next(), i); }
    EXPECT_EQ(slots.next(), none);
}

TEST(slot_directory, moved_from_is_empty_and_usable) {
    // From life 1 on: a life in sixteen is followed by an exchange of slots.
    slot_directory<reuse::lifo> a{{1000, 15, 0, 1}};
    for (std::uint32_t i = 0; i < 100; ++i) { a.occupy(a.next(), i); }
    a.vacate(50);
    slot_directory<reuse::lifo> b{std::move(a)};
    EXPECT_EQ(b.next(), 50u);
    EXPECT_EQ(a.in_use_count(), 0u);
    a.occupy(a.next(), 1);
    a.vacate(0);
    EXPECT_EQ(a.next(), 0u);
    a.validate();
    b.validate();
}

TEST(slot_directory, moved_from_takes_as_many_slots_again) {
    slot_directory<reuse::lifo> a{{1000, 15, 0}};
    for (std::uint32_t i = 0; i < 100; ++i) { a.occupy(a.next(), i); }
    slot_directory<reuse::lifo> b{{10, 15, 0}};
    b = std::move(a);
    ASSERT_TRUE(a.reserve(200));
    for (std::uint32_t i = 0; i < 200; ++i) {
        ASSERT_EQ(a.next(), i);
        a.occupy(i, i);
    }
    a.validate();
}

TEST(slot_directory, a_refusal_at_any_request_leaves_it_usable) {
    for (std::size_t first = 0; first < 6; ++first) {
        test_upstream upstream;
        upstream.refuse_from(first, 1);
        slot_directory<reuse::lifo> slots{{10000, 15, 0}, upstream};
        std::uint32_t used = 0;
        for (int i = 0; i < 6000; ++i) {
            const std::uint32_t at = slots.next();
            if (at == none) { continue; }
            slots.occupy(at, used++);
        }
        EXPECT_GT(used, 5000u);
        EXPECT_EQ(slots.in_use_count(), used);
        slots.validate();
    }
}

TEST(slot_directory, inside_reserved_addresses_it_grows_to_what_was_asked_for) {
    for (const std::size_t count : {4095u, 4096u, 4097u, 8193u}) {
        slot_directory<reuse::lifo> slots{{20000, 15, 0}};
        ASSERT_TRUE(slots.reserve_address_space(20000)) << "all that the rules allow";
        ASSERT_TRUE(slots.reserve(count));
        EXPECT_GE(slots.capacity(), count);
    }
}

TEST(slot_directory, is_ready_again_when_a_held_slot_is_abandoned_or_retired_ones_come_back) {
    slot_directory<reuse::lifo> slots{{4, 1, 0}};  // four slots of one life each
    ASSERT_TRUE(slots.reserve(4));
    for (std::uint32_t i = 0; i < 3; ++i) { slots.occupy(slots.next(), i); }
    ASSERT_TRUE(slots.is_ready());
    const std::uint32_t last = slots.next();
    slots.promise(last);
    EXPECT_FALSE(slots.is_ready());
    slots.vacate(last);  // its only life is over: it retires
    EXPECT_FALSE(slots.is_ready());
    EXPECT_EQ(slots.recycle_worn_out(no_handles_left), 1u);
    EXPECT_TRUE(slots.is_ready());

    slot_directory<reuse::lifo> longer{{4, 4095, 0}};
    ASSERT_TRUE(longer.reserve(4));
    for (std::uint32_t i = 0; i < 3; ++i) { longer.occupy(longer.next(), i); }
    const std::uint32_t one = longer.next();
    longer.promise(one);
    EXPECT_FALSE(longer.is_ready());
    longer.vacate(one);
    EXPECT_TRUE(longer.is_ready());
}

TEST(slot_directory, a_hidden_slot_is_stale_in_each_of_its_lives_and_not_found_by_the_null_handle) {
    slot_directory<reuse::lifo> few{
        {.slot_count_max = 1, .generation_max = 3, .free_min = 0, .first_generation = 2}};
    for (const std::uint32_t life : {2u, 3u, 1u}) {
        const std::uint32_t s = few.next();
        ASSERT_EQ(s, 0u);
        ASSERT_EQ(few.generation(s), life);
        few.occupy(s, 7);
        few.hide(s);
        EXPECT_EQ(few.find(s, life), few.none);
        EXPECT_EQ(few.fault_of(s, life), handle_fault::stale) << "life " << life;
        few.stop_hiding(s, life);
        few.vacate_live(s, life);
    }
    EXPECT_EQ(few.worn_out_count(), 1u);

    constexpr std::uint32_t largest = 0x7fff'ffff;
    slot_directory<reuse::lifo> many{{.slot_count_max = 1,
                                      .generation_max = largest,
                                      .free_min = 0,
                                      .first_generation = largest}};
    ASSERT_EQ(many.next(), 0u);
    many.occupy(0, 7);
    many.hide(0);
    EXPECT_EQ(many.find(0, 0), many.none) << "the null handle";
    EXPECT_EQ(many.fault_of(0, largest), handle_fault::stale);
    many.stop_hiding(0, largest);
    many.vacate_live(0, largest);
}
