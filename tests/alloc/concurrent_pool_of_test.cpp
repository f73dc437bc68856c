// What cairn/alloc/concurrent_pool_of.hpp promises.
#include <cairn/alloc/concurrent_pool_of.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/death_words.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(concurrent_pool_of, makes_objects_in_one_thread_and_destroys_them_in_another) {
    test_upstream upstream;
    {
        concurrent_pool_of<std::string> names{upstream};
        std::vector<std::string*> made;
        for (int i = 0; i < 1000; ++i) {
            made.push_back(names.make(40u, static_cast<char>('a' + i % 26)));
            ASSERT_NE(made.back(), nullptr);
        }
        std::thread{[&] {
            for (std::string* s : made) {
                EXPECT_EQ(s->size(), 40u);
                names.destroy(s);
            }
            names.destroy(nullptr);
        }}.join();
        EXPECT_EQ(names.stats().live_count, 0u);
    }
}

TEST(concurrent_pool_of, slots_have_the_size_and_alignment_of_the_type) {
    struct alignas(64) wide {
        char bytes[65];
    };
    concurrent_pool_of<wide> pool;
    EXPECT_EQ(pool.slot_size(), sizeof(wide));
    EXPECT_EQ(pool.slot_alignment(), alignment::of<wide>());
}

#if defined(__cpp_exceptions)
TEST(concurrent_pool_of, a_constructor_that_throws_gives_its_slot_back) {
    struct refuses {
        refuses() { throw std::runtime_error{"no"}; }
    };
    concurrent_pool_of<refuses> pool;
    EXPECT_THROW((void)pool.make(), std::runtime_error);
    EXPECT_EQ(pool.stats().live_count, 0u);
}
#endif

TEST(concurrent_pool_of, is_refused_when_the_upstream_is_exhausted) {
    test_upstream upstream;
    upstream.refuse_from(0);
    concurrent_pool_of<int> pool{upstream};
    EXPECT_EQ(pool.make(1), nullptr);
}

TEST(concurrent_pool_of, a_pool_that_ends_with_live_objects_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    EXPECT_DEATH(
        {
            concurrent_pool_of<std::string> names;
            (void)names.make("still here");
        },
        in_this_order({"destroyed before their pool ends", "live 1"}));
}

TEST(concurrent_pool_of, destroy_calls_the_destructor_once) {
    struct told {
        int* ended;
        ~told() { ++*ended; }
    };
    concurrent_pool_of<told> pool;
    int ended = 0;
    told* const object = pool.make(&ended);
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(ended, 0);
    pool.destroy(object);
    EXPECT_EQ(ended, 1);
}

}  // namespace
