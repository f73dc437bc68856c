// Behaviours of cairn/std/deferred_in.hpp: owners whose objects wait in a destruction_queue.
#include <cairn/alloc/pool.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/std/deferred_in.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/small_stack.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

template <class A>
struct node {
    static inline int alive = 0;
    explicit node(int n) : number{n} { ++alive; }
    node(const node&) = delete;
    ~node() { --alive; }
    int number;
    deferred_in<node, A> next;
    std::vector<deferred_in<node, A>> more;
};

using any_node = node<allocator_ref>;
using pool_node = node<pool>;

template <class Link, class A, class Memory>
deferred_in<Link, A> chain(destruction_queue& ended, Memory& memory, int count) {
    deferred_in<Link, A> first;
    for (int i = 0; i < count; ++i) {
        auto next = make_deferred_in<Link, A>(ended, memory, i);
        if (next == nullptr) { break; }
        next->next = std::move(first);
        first = std::move(next);
    }
    return first;
}

}  // namespace

TEST(deferred_in, a_million_owners_in_a_row_end_without_recursion) {
    on_a_small_stack([] {
        pool memory{deferred_size<pool_node, pool>()};
        for (const destroys when : {destroys::at_once, destroys::in_collect}) {
            destruction_queue ended{when};
            auto first = chain<pool_node, pool>(ended, memory, long_chain);
            EXPECT_EQ(pool_node::alive, long_chain);
            first.reset();
            if (when == destroys::in_collect) {
                EXPECT_EQ(pool_node::alive, long_chain) << "the end of an owner destroys nothing";
                const destruction_report frame = ended.collect({.objects = 1000});
                EXPECT_EQ(frame.objects, 1000u);
                EXPECT_EQ(pool_node::alive, long_chain - 1000);
                EXPECT_TRUE(ended.collect().settled);
            }
            EXPECT_EQ(pool_node::alive, 0);
            EXPECT_EQ(memory.stats().live_count, 0u);
        }
    });
}

TEST(deferred_in, trees_end_too_and_each_block_goes_back_to_its_allocator) {
    test_upstream first_memory;
    test_upstream second_memory;
    {
        destruction_queue ended{destroys::at_once};
        auto root = make_deferred_in<any_node>(ended, first_memory, 0);
        for (int i = 0; i < 300; ++i) {
            root->more.push_back(
                chain<any_node, allocator_ref>(ended, i % 2 == 0 ? first_memory : second_memory, 7));
        }
        EXPECT_EQ(any_node::alive, 2101);
        EXPECT_EQ(second_memory.live_count(), 1050u);
        root.reset();
        EXPECT_EQ(any_node::alive, 0);
    }
    EXPECT_EQ(first_memory.live_count(), 0u);
    EXPECT_EQ(second_memory.live_count(), 0u);
}

TEST(deferred_in, objects_of_several_types_wait_in_one_queue) {
    struct leaf {
        int& ended;
        ~leaf() { ++ended; }
    };
    struct branch {
        int& ended;
        deferred_in<leaf> left;
        deferred_in<leaf> right;
        ~branch() { ended += 100; }
    };
    test_upstream memory;
    int count = 0;
    destruction_queue ended{destroys::at_once};
    auto root = make_deferred_in<branch>(ended, memory, count,
                                         make_deferred_in<leaf>(ended, memory, count),
                                         make_deferred_in<leaf>(ended, memory, count));
    root.reset();
    EXPECT_EQ(count, 102);
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(deferred_in, is_one_word) {
    static_assert(sizeof(deferred_in<any_node>) == sizeof(void*));
    static_assert(sizeof(deferred_in<any_node, pool>) == sizeof(void*));
    static_assert(deferred_size<std::uint64_t, pool>() == 4 * sizeof(void*));
}

TEST(deferred_in, keeps_an_alignment_above_that_of_its_link) {
    struct alignas(64) wide {
        int number = 3;
    };
    test_upstream memory;
    destruction_queue ended;
    auto p = make_deferred_in<wide>(ended, memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.get()) % 64, 0u);
    EXPECT_EQ(p->number, 3);
}

TEST(deferred_in, exhausted_memory_is_a_null_pointer_and_a_constructor_may_throw) {
    destruction_queue ended;
    EXPECT_EQ(make_deferred_in<any_node>(ended, no_memory(), 1), nullptr);
    struct never {
        never() { throw std::runtime_error{"no"}; }
    };
    test_upstream memory;
    EXPECT_THROW((void)make_deferred_in<never>(ended, memory), std::runtime_error);
    EXPECT_EQ(memory.live_count(), 0u);
    EXPECT_TRUE(ended.empty());
}
