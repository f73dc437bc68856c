// Sentences of cairn/containers/slot_table.hpp, with handles of every age against a model.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/slot_table.hpp>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct vec2 {
    float x = 0, y = 0;
};

template <class K = value>
struct unit {
    field<K, int> id;
    field<K, vec2> position;
    field<K, std::string> name;
};

template <class Layout>
class slot_table_in : public testing::Test {};
using layouts = testing::Types<aos, split_soa>;
TYPED_TEST_SUITE(slot_table_in, layouts);

}  // namespace

TYPED_TEST(slot_table_in, handles_follow_their_rows_through_every_column) {
    slot_table<unit<>, TypeParam> world;
    const auto a = world.emplace(1, vec2{1, 1}, "one");
    const auto b = world.emplace(2, vec2{2, 2}, "two");
    const auto c = world.emplace(3, vec2{3, 3}, "three");
    EXPECT_TRUE(world.erase(a));
    EXPECT_FALSE(world.erase(a));
    EXPECT_FALSE(world.find(a));
    EXPECT_TRUE(world.find(a) == nullptr);
    ASSERT_TRUE(world.find(c));
    EXPECT_EQ(world.find(c)->name, "three");
    EXPECT_EQ((*world.find(b)).id, 2);
    EXPECT_EQ(world.dense_index(c), 0u);
    EXPECT_EQ(world.handle_at(0), c);
    world[c].position = vec2{9, 9};
    EXPECT_EQ(part<&vec2::x>(world.template column<&unit<>::position>()[0]), 9.0f);
    const auto d =
        world.emplace_with([](auto h) { return unit<>{static_cast<int>(h.index()), {}, "d"}; });
    EXPECT_EQ(world[d].id, static_cast<int>(d.index()));
    world.clear();
    EXPECT_FALSE(world.contains(b));
    world.validate();
}

TYPED_TEST(slot_table_in, sorting_keeps_handles_valid) {
    slot_table<unit<>, TypeParam> world;
    std::vector<typename decltype(world)::handle_type> handles;
    for (int i = 0; i < 300; ++i) {
        handles.push_back(world.emplace(i * 37 % 300, vec2{}, std::to_string(i)));
    }
    ASSERT_TRUE((world.template sort_by<&unit<>::id>()));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(world.rows()[static_cast<std::size_t>(i)].id, i);
        EXPECT_EQ(world[handles[static_cast<std::size_t>(i)]].name, std::to_string(i));
    }
    ASSERT_TRUE((world.template sort_by<&unit<>::name>()));
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(world[handles[static_cast<std::size_t>(i)]].id, i * 37 % 300);
    }
    EXPECT_EQ(world.erase_if([](auto&& row) { return row.id % 2 == 0; }), 150u);
    world.validate();
}

TYPED_TEST(slot_table_in, random_operations_agree_with_a_map_for_handles_of_every_age) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        slot_table<unit<>, TypeParam> world{upstream};
        using handle = typename decltype(world)::handle_type;
        std::map<handle, int> model;
        std::vector<handle> all;
        for (int op = 0; op < 20000; ++op) {
            const bool refuse = random() % 10 == 0;
            if (refuse) { upstream.refuse_from(upstream.request_count()); }
            const auto what = random() % 100;
            if (what < 50 || all.empty()) {
                if (const handle h = world.emplace(op, vec2{}, "unit")) {
                    model[h] = op;
                    all.push_back(h);
                } else {
                    EXPECT_TRUE(refuse);
                }
            } else if (what < 97) {
                const handle h = all[random() % all.size()];
                EXPECT_EQ(world.erase(h), model.erase(h) == 1);
            } else if (what < 99) {
                (void)world.template sort_by<&unit<>::id>();
            } else {
                world.clear();
                model.clear();
            }
            upstream.refuse_nothing();
            const handle h = all.empty() ? handle{} : all[random() % all.size()];
            const auto known = model.find(h);
            const auto row = world.find(h);
            ASSERT_EQ(static_cast<bool>(row), known != model.end());
            if (row) { ASSERT_EQ(row->id, known->second); }
            if (op % 2000 == 0) {
                world.validate();
                ASSERT_EQ(world.size(), model.size());
            }
        }
    }
}

TYPED_TEST(slot_table_in, reserved_addresses_grow_without_moving_a_row) {
    test_upstream upstream;
    slot_table<unit<>, TypeParam> world{upstream};
    ASSERT_TRUE(world.reserve_address_space(50000));
    const auto first = world.emplace(0, vec2{}, "first");
    const std::string* const address = &world[first].name;
    attached_column<int> follows{world, 7, upstream};
    for (int i = 1; i < 50000; ++i) { ASSERT_TRUE(world.emplace(i, vec2{}, "unit")); }
    EXPECT_EQ(&world[first].name, address);
    EXPECT_EQ(follows[49999], 7);
    world.validate();
    EXPECT_GE(world.capacity(), 50000u);
    for (std::size_t i = world.size(); i < world.capacity(); ++i) {
        (void)world.emplace(1, vec2{}, "");
    }
    const std::size_t full = world.size();
    EXPECT_FALSE(world.emplace(1, vec2{}, "beyond")) << "addresses are used up";
    EXPECT_EQ(world.size(), full);
    EXPECT_EQ(world[first].name, "first");
    world.clear();
    world.validate();
}

TYPED_TEST(slot_table_in, a_retired_row_waits_for_its_fence) {
    slot_table<unit<>, TypeParam> world;
    const auto a = world.emplace(1, vec2{}, "a");
    const auto b = world.emplace(2, vec2{}, "b");
    EXPECT_TRUE(world.retire(a, 10));
    EXPECT_FALSE(world.find(a));
    EXPECT_FALSE(world.retire(a, 10)) << "stale";
    EXPECT_EQ(world.size(), 1u);
    EXPECT_EQ(world.pending_count(), 1u);
    EXPECT_EQ(world.collect(9), 0u);
    EXPECT_EQ(world.collect(10), 1u);
    EXPECT_EQ(world.pending_count(), 0u);
    EXPECT_EQ(world[b].name, "b");
}

TYPED_TEST(slot_table_in, a_promise_that_finds_no_memory_for_its_row_stays_one) {
    test_upstream upstream;
    slot_table<unit<>, TypeParam> world{upstream};
    ASSERT_TRUE(world.emplace(1, vec2{}, "one"));
    while (world.size() < world.capacity()) { ASSERT_TRUE(world.emplace(2, vec2{}, "two")); }
    const auto h = world.promise_handle();
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(world.fulfil(h, 5, vec2{1, 2}, "later"));
    EXPECT_TRUE(world.is_promised(h));
    upstream.refuse_nothing();
    const auto row = world.fulfil(h, 5, vec2{1, 2}, "later");
    ASSERT_TRUE(row);
    EXPECT_EQ(row->name, "later") << "in the memory that the rows have grown into";
    row->id = 6;
    EXPECT_EQ(world[h].id, 6);
    world.validate();
}

TYPED_TEST(slot_table_in, a_handle_now_and_the_row_later) {
    slot_table<unit<>, TypeParam> world;
    const auto h = world.promise_handle();
    EXPECT_TRUE(world.is_promised(h));
    EXPECT_FALSE(world.find(h));
    const auto row = world.fulfil(h, 5, vec2{1, 2}, "later");
    ASSERT_TRUE(row);
    EXPECT_EQ(row->id, 5);
    EXPECT_EQ(world.find(h)->name, "later");
    EXPECT_FALSE(world.is_promised(h));
    const auto never = world.promise_handle();
    world.abandon(never);
    EXPECT_FALSE(world.is_promised(never));
    const auto taken = world.take(h);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->name, "later");
    EXPECT_FALSE(world.take(h).has_value());
    world.validate();
    if constexpr (asserts_enabled) {
        EXPECT_DEATH((void)world.fulfil(h, 1, vec2{}, ""),
                     "only a promised handle can be fulfilled");
        EXPECT_DEATH(world.abandon(h), "only a promised handle can be abandoned");
        EXPECT_DEATH((void)world[h].id, "the handle is not stale");
        if constexpr (!std::is_pointer_v<decltype(world.find(
                          h))>) {  // aos: a pointer, which is null
            EXPECT_DEATH((void)world.find(h)->id, "a row is used when it was found");
            EXPECT_DEATH((void)*world.find(h), "a row is used when it was found");
        }
        EXPECT_DEATH((void)world.reserve_address_space(10), "before the first");
    }
}

TYPED_TEST(slot_table_in, batches_share_no_cache_line_in_any_column) {
    slot_table<unit<>, TypeParam> world;
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(world.emplace(i, vec2{}, "x")); }
    std::size_t rows = 0;
    std::map<std::uintptr_t, std::size_t> batch_of_line;
    std::size_t k = 0;
    for (auto batch : world.batches(100)) {
        EXPECT_EQ(batch[0].id, static_cast<int>(k * world.batches(100).rows_per_batch()));
        for (auto&& row : batch) {
            const auto line = [&](const void* field) {
                const auto at = reinterpret_cast<std::uintptr_t>(field) / 64;
                EXPECT_EQ(batch_of_line.emplace(at, k).first->second, k)
                    << "a line has two writers";
            };
            line(&row.id);
            line(&row.name);
            line(&part<&vec2::y>(row.position));
            ++rows;
        }
        ++k;
    }
    EXPECT_EQ(rows, world.size());
    EXPECT_EQ(k, world.batches(100).size());
}

TYPED_TEST(slot_table_in, what_was_found_is_assigned_as_a_pointer_is) {
    slot_table<unit<>, TypeParam> world;
    const auto a = world.emplace(1, vec2{}, "one");
    const auto b = world.emplace(2, vec2{}, "two");
    auto row = world.find(a);
    row = world.find(b);
    row->name = "second";
    EXPECT_EQ(world[a].name, "one") << "another row, not another value";
    EXPECT_EQ(world[b].name, "second");
    row = world.find({});
    EXPECT_FALSE(row);
}

TYPED_TEST(slot_table_in, a_map_is_looped_over_in_every_way_whether_it_is_const_or_not) {
    slot_table<unit<>, TypeParam> world;
    for (int i = 0; i < 100; ++i) { ASSERT_TRUE(world.emplace(i, vec2{}, "")); }
    const auto& read = world;
    int sum = 0;
    const auto add = [&](const int& id) { sum += id; };
    world.template each<&unit<>::id>(add);
    world.for_each_batch(64, [&](auto part) { part.template each<&unit<>::id>(add); });
    EXPECT_EQ(sum, 2 * 99 * 50);
    sum = 0;
    read.for_each([&](auto&& row) { add(row.id); });
    read.template each<&unit<>::id>(add);
    read.for_each_batch(64, [&](auto part) { part.template each<&unit<>::id>(add); });
    for (auto part : read.batches(64)) { part.template each<&unit<>::id>(add); }
    EXPECT_EQ(sum, 4 * 99 * 50);
}

TYPED_TEST(slot_table_in, has_the_names_of_slot_map) {
    using map = slot_table<unit<>, TypeParam>;
    map world;
    EXPECT_TRUE(world.reserve(20));
    EXPECT_GE(world.slot_count(), 20u);
    EXPECT_GE(map::max_size(), typename map::size_type{1000});
    std::vector<typename map::handle_type> all;
    for (int i = 0; i < 6; ++i) { all.push_back(world.emplace(i, vec2{}, "")); }
    const map& read = world;
    EXPECT_EQ(world.at(all[2]).id, 2);
    EXPECT_EQ(read.at(all[3]).id, 3);
    EXPECT_EQ(world.find(all[2])->id, 2);
    EXPECT_EQ(read.find(all[3])->id, 3);
    EXPECT_EQ(world.handle_of(world.begin() + 4), all[4]);
    EXPECT_EQ(read.handle_of(read.cbegin() + 4), all[4]);
    world.swap_rows(0, 5);
    EXPECT_EQ(world.dense_index(all[5]), 0u);
    EXPECT_EQ((*world.begin()).id, 5);
    EXPECT_EQ(world[all[0]].id, 0);
    int order = 0;
    for (typename map::const_reverse_iterator r = world.rbegin(); r != world.crend(); ++r) {
        order = order * 10 + (*r).id;
    }
    EXPECT_EQ(order, 43215) << "0 4 3 2 1 5";
    auto next = world.erase(world.begin() + 1);  // unit 1; the last one moves in: unit 0
    EXPECT_EQ((*next).id, 0);
    EXPECT_FALSE(world.contains(all[1]));
    world.erase(read.cbegin() + 1, read.cbegin() + 4);
    EXPECT_EQ(world.size(), 2u);
    EXPECT_TRUE(world.contains(all[5]) && world.contains(all[4]));
    EXPECT_DEATH((void)world.at(all[1]), "the handle is not stale") << "at() in every build";
    world.validate();
}

TYPED_TEST(slot_table_in, addresses_for_more_rows_than_a_handle_can_name_are_refused) {
    slot_table<unit<>, TypeParam, slot_policy<16>> small;
    EXPECT_FALSE(small.reserve_address_space(100000));
    EXPECT_TRUE(small.emplace(1, vec2{}, "a"));
    slot_table<unit<>, TypeParam> world;
    EXPECT_FALSE(world.reserve_address_space(0));
    EXPECT_TRUE(world.emplace(1, vec2{}, "a"));
    world.validate();
}

TEST(slot_table, algorithms_that_would_leave_handles_behind_do_not_take_its_proxies) {
    using rows = slot_table<unit<>>;
    using plain = table<unit<>>;
    using category = std::iterator_traits<rows::iterator>::iterator_category;
    static_assert(std::is_same_v<category, std::input_iterator_tag>, "std::rotate chooses by it");
    static_assert(std::random_access_iterator<rows::iterator>);
    using category_of_table = std::iterator_traits<plain::iterator>::iterator_category;
    static_assert(std::is_same_v<category_of_table, std::random_access_iterator_tag>);

    static_assert(std::is_convertible_v<rows::iterator, rows::const_iterator>);
    static_assert(!std::is_convertible_v<rows::const_iterator, rows::iterator>);
    static_assert(!std::is_convertible_v<rows::iterator, plain::iterator>);
    rows world;
    ASSERT_TRUE(world.emplace(1, vec2{}, "one"));
    EXPECT_TRUE(world.rows().begin() == world.begin()) << "one way, so it is not ambiguous";
    EXPECT_TRUE(world.cbegin() == world.begin());
}
