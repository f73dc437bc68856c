// What cairn/alloc/pool_of.hpp promises.
#include <cairn/alloc/pool_of.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

TEST(pool_of, makes_and_destroys_objects) {
    test_upstream upstream;
    {
        cairn::pool_of<std::string> names{upstream};
        std::string* const a = names.make("a name that is too long for the small buffer");
        std::string* const b = names.make(40u, 'b');
        ASSERT_NE(a, nullptr);
        EXPECT_EQ(b->size(), 40u);
        names.destroy(a);
        names.destroy(nullptr);
        (void)names.make("another name that is too long for the small buffer");
        std::size_t letters = 0;
        names.for_each([&](std::string& s) { letters += s.size(); });
        EXPECT_EQ(letters, 90u);
        names.destroy_all();
        EXPECT_EQ(names.stats().live_count, 0u);
    }
    alignas(8) std::array<std::byte, cairn::pool_of<int>::required_size(5)> buffer;
    cairn::pool_of<int> numbers{buffer};
    for (int i = 0; i < 5; ++i) { EXPECT_EQ(*numbers.make(i), i); }
    EXPECT_EQ(numbers.make(5), nullptr);
}

TEST(pool_of, destroy_all_runs_the_destructor_of_each_live_object) {
    struct counted {
        int* ended;
        explicit counted(int* e) : ended{e} {}
        ~counted() { ++*ended; }
    };
    int ended = 0;
    cairn::pool_of<counted> pool;
    for (int i = 0; i < 5; ++i) { (void)pool.make(&ended); }
    pool.destroy_all();
    EXPECT_EQ(ended, 5);
}

/// A node that destroys its children, which lie in the same pool.
template <class Number>
struct tree_node {
    static inline cairn::pool_of<tree_node>* all;
    static inline int ended[64];
    static inline tree_node* children[64][2];
    Number id;
    explicit tree_node(int i) : id{static_cast<Number>(i)} {}
    ~tree_node() {
        ++ended[id];
        for (tree_node*& child : children[id]) {
            if (child != nullptr) { all->destroy(std::exchange(child, nullptr)); }
        }
    }
};

template <class Number>
void end_a_tree(bool children_first, bool with_free_slots) {
    using node = tree_node<Number>;
    cairn::pool_of<node> pool{cairn::system_memory(), {.slots_per_chunk = 8}};
    node::all = &pool;
    node* nodes[64];
    node* gaps[64];
    for (int i = 0; i < 64; ++i) {
        node::ended[i] = 0;
        gaps[i] = with_free_slots ? pool.make(63) : nullptr;
        nodes[i] = pool.make(children_first ? 63 - i : i);
    }
    for (int i = 0; with_free_slots && i < 64; ++i) { pool.destroy(gaps[i]); }
    if (children_first) { std::reverse(nodes, nodes + 64); }
    node::ended[63] = 0;
    for (int i = 0; 2 * i + 2 < 63; ++i) {
        node::children[i][0] = nodes[2 * i + 1];
        node::children[i][1] = nodes[2 * i + 2];
    }
    pool.destroy_all();
    for (int i = 0; i < 64; ++i) { EXPECT_EQ(node::ended[i], 1) << i; }
    EXPECT_EQ(pool.stats().live_count, 0u);
    pool.validate();
    std::set<void*> different;
    for (int i = 0; i < 64; ++i) { different.insert(pool.allocate()); }
    EXPECT_EQ(different.size(), 64u);
    pool.reset();
}

TEST(pool_of, destroy_all_runs_each_destructor_once_where_destructors_destroy_other_objects) {
    for (const bool children_first : {false, true}) {
        for (const bool with_free_slots : {false, true}) {
            end_a_tree<std::uint64_t>(children_first, with_free_slots);
            if (cairn::asserts_enabled) { end_a_tree<std::uint8_t>(children_first, false); }
        }
    }
}

struct branch {
    cairn::pool_of<branch>& pool;
    branch* child;
    ~branch() { pool.destroy(child); }
};

TEST(pool_of, a_destructor_may_destroy_other_objects) {
    cairn::pool_of<branch> pool;
    branch* const leaf = pool.make(pool, nullptr);
    branch* const middle = pool.make(pool, leaf);
    pool.destroy(pool.make(pool, middle));
    EXPECT_EQ(pool.stats().live_count, 0u);
    pool.validate();
}

TEST(pool_of, takes_the_value_of_another_pool_but_not_in_its_own_loop) {
    test_upstream upstream;
    cairn::pool_of<int> pool{upstream};
    cairn::pool_of<int> other{upstream};
    (void)pool.make(1);
    int* const kept = other.make(2);
    if (cairn::asserts_enabled) {
        const cairn::caught_promise told = cairn::expect_broken_promise(
            [&] { pool.for_each([&](int&) { pool = std::move(other); }); });
        EXPECT_TRUE(told.says("is not changed by a function that it calls")) << told;
    }
    pool.reset();
    pool = std::move(other);
    int sum = 0;
    pool.for_each([&](int& i) { sum += i; });
    EXPECT_EQ(sum, 2);
    pool.destroy(kept);
    pool.validate();
}

#if defined(__cpp_exceptions)
TEST(pool_of, functions_and_constructors_that_throw_leave_the_pool_whole) {
    struct picky {
        explicit picky(int value) {
            if (value == 0) { throw value; }
        }
    };
    cairn::pool_of<picky> pool;
    picky* const object = pool.make(1);
    EXPECT_THROW((void)pool.make(0), int);
    EXPECT_THROW(pool.for_each([](picky&) { throw 1; }), int);
    EXPECT_EQ(pool.stats().live_count, 1u);
    pool.destroy(object);
    pool.validate();
}
#endif

}  // namespace
