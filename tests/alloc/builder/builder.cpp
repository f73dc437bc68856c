// Sentences of cairn/alloc/builder.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(builder, copies_nothing_while_it_is_the_last_thing_in_the_arena) {
    arena a{1_MiB};
    builder<int, arena> list{a};
    for (int i = 0; i < 100000; ++i) { ASSERT_TRUE(list.push_back(i)); }
    EXPECT_EQ(list.moved_count(), 0u);
    const slice<int> all = list.finish();
    EXPECT_EQ(all.size(), 100000u);
    EXPECT_EQ(a.used_size(), 400000u);
    EXPECT_TRUE(list.empty()) << "and can collect again";
    ASSERT_TRUE(list.push_back(1));
    EXPECT_EQ(list.finish()[0], 1);
    EXPECT_EQ(all[99999], 99999);
}

TEST(builder, moves_its_elements_once_when_something_lies_behind_it) {
    arena a{64_KiB};
    builder<std::unique_ptr<int>> list{a, 4};
    for (int i = 0; i < 4; ++i) { ASSERT_TRUE(list.push_back(std::make_unique<int>(i))); }
    (void)a.allocate(1);
    for (int i = 4; i < 100; ++i) { ASSERT_TRUE(list.emplace_back(new int{i})); }
    EXPECT_EQ(list.moved_count(), 4u);
    for (int i = 0; i < 100; ++i) { EXPECT_EQ(*list[static_cast<std::size_t>(i)], i); }
}

// As std::list in Microsoft's library.
TEST(builder, the_move_constructor_of_an_element_need_not_say_noexcept) {
    struct moved {
        explicit moved(int n) : number{n} {}
        moved(moved&& from) noexcept(false) : number{from.number} {}
        int number;
    };
    arena a{4_KiB};
    builder<moved> list{a, 4};
    for (int i = 0; i < 4; ++i) { ASSERT_TRUE(list.emplace_back(i)); }
    (void)a.allocate(1);
    ASSERT_TRUE(list.push_back(moved{4}));
    EXPECT_EQ(list.moved_count(), 4u);
    for (int i = 0; i < 5; ++i) { EXPECT_EQ(list[static_cast<std::size_t>(i)].number, i); }
}

TEST(builder, doubles_its_room) {
    arena a{4_KiB};
    builder<int> list{a, 8};
    for (int i = 0; i < 9; ++i) { ASSERT_TRUE(list.push_back(i)); }
    EXPECT_EQ(list.capacity(), 16u);
}

TEST(builder, where_there_is_room_an_element_is_copied_once) {
    struct counting {
        int* copies;
        int* moves;
        counting(int* c, int* m) : copies{c}, moves{m} {}
        counting(const counting& from) : copies{from.copies}, moves{from.moves} { ++*copies; }
        counting(counting&& from) noexcept : copies{from.copies}, moves{from.moves} { ++*moves; }
    };
    arena a{4_KiB};
    builder<counting> list{a, 8};
    int copies = 0;
    int moves = 0;
    const counting element{&copies, &moves};
    ASSERT_TRUE(list.emplace_back(&copies, &moves));
    ASSERT_TRUE(list.push_back(element));
    EXPECT_EQ(copies, 1);
    EXPECT_EQ(moves, 0);
}

TEST(builder, may_append_an_element_of_its_own_while_it_grows) {
    arena a{64_KiB};
    builder<std::string> list{a, 1};
    ASSERT_TRUE(list.push_back(std::string(100, 'x')));
    (void)a.allocate(1);
    for (int i = 0; i < 20; ++i) { ASSERT_TRUE(list.push_back(list[0])); }
    for (const std::string& s : list) { EXPECT_EQ(s, std::string(100, 'x')); }
}

TEST(builder, nests_in_stack_order_without_moving) {
    growing_arena a;
    builder<int, growing_arena> outer{a, 8};
    for (int i = 0; i < 3; ++i) {
        builder<int, growing_arena> inner{a, 8};
        for (int k = 0; k < 8; ++k) { ASSERT_TRUE(inner.push_back(k)); }
        ASSERT_TRUE(outer.push_back(inner.finish()[7]));
    }
    EXPECT_EQ(outer.moved_count(), 0u);
}

TEST(builder, an_exhausted_arena_is_a_false_and_the_elements_stay) {
    arena a{304};
    builder<int> list{a, 8};
    int pushed = 0;
    while (list.push_back(pushed)) { ++pushed; }
    EXPECT_EQ(pushed, 76) << "the arena is used to its last byte";
    EXPECT_EQ(list.size(), static_cast<std::size_t>(pushed));
    EXPECT_EQ(list[static_cast<std::size_t>(pushed) - 1], pushed - 1);
}

TEST(builder, moves_into_room_for_just_one_element_more) {
    struct alignas(16) element {
        int value;
    };
    arena a{6 * sizeof(element)};
    builder<element> list{a, 2};
    ASSERT_TRUE(list.push_back({1}));
    ASSERT_TRUE(list.push_back({2}));
    ASSERT_NE(a.allocate(1), nullptr);  // it cannot grow where it is, and three fit behind
    ASSERT_TRUE(list.push_back({3}));
    for (std::size_t i = 0; i < 3; ++i) { EXPECT_EQ(list[i].value, static_cast<int>(i) + 1); }
    EXPECT_FALSE(list.push_back({4}));
}

TEST(builder, an_unfinished_one_destroys_and_gives_back) {
    arena a{4_KiB};
    auto shared = std::make_shared<int>(1);
    {
        builder<std::shared_ptr<int>> list{a};
        for (int i = 0; i < 10; ++i) { ASSERT_TRUE(list.push_back(shared)); }
        list.pop_back();
        EXPECT_EQ(shared.use_count(), 10);
    }
    EXPECT_EQ(shared.use_count(), 1);
    EXPECT_EQ(a.used_size(), 0u);
    builder<int> empty{a};
    EXPECT_TRUE(empty.finish().empty());
    EXPECT_EQ(a.used_size(), 0u);
}

TEST(builder, agrees_with_a_vector) {
    std::mt19937 random{11};
    for (int round = 0; round < 200; ++round) {
        growing_arena a{512};
        builder<unsigned, growing_arena> list{a, random() % 5};
        std::vector<unsigned> model;
        for (int i = 0; i < 300; ++i) {
            switch (random() % 8) {
                case 0:
                    (void)a.allocate(random() % 50);
                    break;
                case 1:
                    if (!model.empty()) {
                        model.pop_back();
                        list.pop_back();
                    }
                    break;
                default:
                    model.push_back(static_cast<unsigned>(random()));
                    ASSERT_TRUE(list.push_back(model.back()));
            }
        }
        const slice<unsigned> all = list.finish();
        ASSERT_EQ(std::vector<unsigned>(all.begin(), all.end()), model);
        a.validate();
    }
}

TEST(builder, an_element_that_is_refused_stays_with_its_owner) {
    arena memory{64};
    builder<std::unique_ptr<int>, arena> list{memory, 8};
    for (int i = 0; i < 8; ++i) { ASSERT_TRUE(list.push_back(std::make_unique<int>(i))); }
    auto ninth = std::make_unique<int>(9);
    EXPECT_FALSE(list.push_back(std::move(ninth)));
    ASSERT_NE(ninth, nullptr);
    EXPECT_EQ(*ninth, 9);
}

TEST(builder, moves_one_of_its_own_elements_while_it_grows) {
    arena memory{4_KiB};
    builder<std::unique_ptr<int>, arena> list{memory, 2};
    ASSERT_TRUE(list.push_back(std::make_unique<int>(1)));
    ASSERT_TRUE(list.push_back(std::make_unique<int>(2)));
    (void)memory.allocate(16);  // the tip is taken: growth moves the elements
    ASSERT_TRUE(list.push_back(std::move(list[0])));
    EXPECT_EQ(list[0], nullptr);
    EXPECT_EQ(*list[2], 1);
}

/// The room of a builder that is declared outside of a scope and filled in it ends with the scope.
template <class Arena, class Make>
void expect_scope_named(Make make) {
    const auto in_a_scope = [&](auto behind) {
        auto a = make();
        builder<int, Arena> list{a};
        {
            arena_scope scope{a};
            for (int i = 0; i < 20; ++i) { (void)list.push_back(i); }
            if (scope.arena().used_size() == 0) { std::abort(); }
        }
        behind(list, a);
    };
    constexpr const char* sentence = "the elements ended with that scope";
    EXPECT_DEATH(in_a_scope([](auto& list, auto&) { (void)list.finish(); }), sentence);
    EXPECT_DEATH(in_a_scope([](auto&, auto&) {}), sentence) << "not finished";
    EXPECT_DEATH(in_a_scope([](auto& list, auto& a) {
                     if (a.allocate(4_KiB) == nullptr) { return; }
                     while (list.size() < 100) { (void)list.push_back(1); }
                 }),
                 sentence);
}
TEST(builder, names_the_end_of_the_scope_in_which_it_took_its_room) {
    EXPECT_EQ(sizeof(builder<int, arena>), (asserts_enabled ? 7 : 6) * sizeof(void*));
    if constexpr (asserts_enabled) {
        expect_scope_named<arena>([] { return arena{64_KiB}; });
        expect_scope_named<growing_arena>([] { return growing_arena{}; });
        expect_scope_named<allocator_ref>([] { return growing_arena{}; });
    }
}
TEST(builder, is_used_inside_and_outside_of_scopes) {
    growing_arena a;
    builder<int> again{a};
    builder<int> outside{a};
    ASSERT_TRUE(outside.push_back(0));
    for (int round = 0; round < 3; ++round) {
        arena_scope scope{a};
        for (int i = 0; i < 50; ++i) { ASSERT_TRUE(again.push_back(i)); }
        EXPECT_EQ(again.finish()[49], 49) << "finished in the scope in which it was filled";
        ASSERT_TRUE(outside.push_back(round));
        builder<int> list{scope};
        ASSERT_TRUE(list.push_back(1));
    }
    for (int i = 0; i < 50; ++i) { ASSERT_TRUE(outside.push_back(i)); }
    EXPECT_EQ(outside.finish().size(), 54u);
}
