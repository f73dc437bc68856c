// Behaviours of cairn/std/deferred_in.hpp: owners whose objects wait in a destruction_queue.
#include <cairn/alloc/pool.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/std/deferred_in.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
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

template <class Node, class A>
deferred_in<Node, A> chain(destruction_queue<Node, A>& ended, int count) {
    deferred_in<Node, A> first;
    for (int i = 0; i < count; ++i) {
        auto made = make_deferred_in(ended, i);
        made->next = std::move(first);
        first = std::move(made);
    }
    return first;
}

}  // namespace

TEST(deferred_in, a_million_owners_in_a_row_end_without_recursion) {
    on_a_small_stack([] {
        using queue = destruction_queue<pool_node, pool>;
        pool memory{queue::block_size()};
        for (const destroys when : {destroys::at_once, destroys::in_collect}) {
            queue ended{memory, when};
            auto first = chain(ended, long_chain);
            EXPECT_EQ(pool_node::alive, long_chain);
            first.reset();
            if (when == destroys::in_collect) {
                EXPECT_EQ(pool_node::alive, long_chain) << "the end of an owner destroys nothing";
                const destruction_report frame = ended.collect({.steps = 1000});
                EXPECT_EQ(frame.objects, 1000u);
                EXPECT_EQ(pool_node::alive, long_chain - 1000);
                EXPECT_TRUE(ended.collect().settled);
            }
            EXPECT_EQ(pool_node::alive, 0);
            EXPECT_EQ(memory.stats().live_count, 0u);
        }
    });
}

namespace {

struct named {
    virtual ~named() = default;
};
struct shared_node : named, std::enable_shared_from_this<shared_node> {
    static inline int alive = 0;
    explicit shared_node(int n) : number{n} { ++alive; }
    shared_node(const shared_node&) = delete;
    ~shared_node() override { --alive; }
    int number;
    std::shared_ptr<shared_node> next;
};

}  // namespace

TEST(deferred_in, a_million_shared_owners_in_a_row_end_without_recursion) {
    on_a_small_stack([] {
        using queue = destruction_queue<shared_node, pool>;
        pool memory{queue::block_size()};
        for (const destroys when : {destroys::at_once, destroys::in_collect}) {
            const int chain_length = when == destroys::at_once ? long_chain : long_chain / 10;
            queue ended{memory, when};
            std::shared_ptr<shared_node> first;
            for (int i = 0; i < chain_length; ++i) {
                auto made = make_shared_in(ended, i);
                made->next = std::move(first);
                first = std::move(made);
            }
            std::shared_ptr<shared_node> other = first->next;
            std::weak_ptr<shared_node> watcher = first->next->shared_from_this();
            first.reset();
            EXPECT_EQ(ended.collect().settled, true);
            EXPECT_EQ(shared_node::alive, chain_length - 1) << "the rest has another owner";
            EXPECT_EQ(watcher.lock(), other);
            other.reset();
            EXPECT_TRUE(watcher.expired());
            if (when == destroys::in_collect) {
                EXPECT_EQ(shared_node::alive, chain_length - 1)
                    << "an owner's end destroys nothing";
                EXPECT_EQ(ended.collect({.steps = 1000}).objects, 1000u);
                EXPECT_EQ(shared_node::alive, chain_length - 1001);
                EXPECT_TRUE(ended.collect().settled);
            }
            EXPECT_EQ(shared_node::alive, 0);
            watcher.reset();
            EXPECT_EQ(memory.stats().live_count, 0u);
        }
    });
}

TEST(deferred_in, shared_owners_are_owners_of_a_base_too) {
    test_upstream memory;
    destruction_queue<shared_node> ended{memory};
    std::shared_ptr<named> base = make_shared_in<shared_node>(ended, 1);
    base.reset();
    EXPECT_EQ(shared_node::alive, 1);
    EXPECT_TRUE(ended.collect().settled);
    EXPECT_EQ(shared_node::alive, 0);
}

#if defined(__cpp_exceptions)
TEST(deferred_in, a_shared_owner_without_memory_leaves_no_object) {
    for (std::size_t refused = 0; refused < 2; ++refused) {
        test_upstream memory;
        destruction_queue<shared_node> ended{memory, destroys::at_once};
        memory.refuse_from(refused);
        EXPECT_THROW((void)make_shared_in(ended, 1), std::bad_alloc);
        EXPECT_EQ(shared_node::alive, 0);
        EXPECT_EQ(memory.live_count(), 0u);
    }
}
#endif

TEST(deferred_in, trees_end_too_and_each_block_goes_back_to_its_allocator) {
    test_upstream first_memory;
    test_upstream second_memory;
    {
        destruction_queue<any_node> first{first_memory, destroys::at_once};
        destruction_queue<any_node> second{second_memory, destroys::at_once};
        auto root = make_deferred_in(first, 0);
        for (int i = 0; i < 300; ++i) {
            root->more.push_back(chain(i % 2 == 0 ? first : second, 7));
        }
        EXPECT_EQ(any_node::alive, 2101);
        EXPECT_EQ(second_memory.live_count(), 1050u);
        root.reset();
        EXPECT_EQ(any_node::alive, 0);
    }
    EXPECT_EQ(first_memory.live_count(), 0u);
    EXPECT_EQ(second_memory.live_count(), 0u);
}

TEST(deferred_in, objects_of_two_types_that_own_each_other_end_without_recursion) {
    struct even;
    struct odd {
        deferred_in<even> next;
    };
    struct even {
        deferred_in<odd> next;
    };
    test_upstream memory;
    on_a_small_stack([&] {
        destruction_queue<even> evens{memory, destroys::at_once};
        destruction_queue<odd> odds{memory, destroys::at_once};
        deferred_in<even> first;
        for (int i = 0; i < 5'000; ++i) {
            first = make_deferred_in(evens, make_deferred_in(odds, std::move(first)));
        }
        EXPECT_EQ(memory.live_count(), 10'000u);
        first.reset();
        EXPECT_EQ(memory.live_count(), 0u);
    });
}

TEST(deferred_in, is_one_word_and_another_stands_before_the_object) {
    static_assert(sizeof(deferred_in<any_node>) == sizeof(void*));
    static_assert(sizeof(deferred_in<any_node, pool>) == sizeof(void*));
    static_assert(destruction_queue<any_node>::block_size() == sizeof(void*) + sizeof(any_node));
}

TEST(deferred_in, exhausted_memory_is_a_null_pointer_and_a_constructor_may_throw) {
    destruction_queue<any_node> none{no_memory()};
    EXPECT_EQ(make_deferred_in(none, 1), nullptr);
    struct never {
        never() { throw std::runtime_error{"no"}; }
    };
    test_upstream memory;
    destruction_queue<never> ended{memory};
    EXPECT_THROW((void)make_deferred_in(ended), std::runtime_error);
    EXPECT_EQ(memory.live_count(), 0u);
    EXPECT_TRUE(ended.empty());
}
