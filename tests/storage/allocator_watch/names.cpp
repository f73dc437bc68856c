// Sentences of cairn/storage/allocator_watch.hpp about names: when they begin and end, and which of
// several is told.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/pool.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/allocator_watch/where.hpp"

using namespace cairn;
using namespace allocator_watch_tests;

namespace {

TEST(a_name, goes_with_a_move_and_ends_with_the_allocator) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const void* address = nullptr;
    {
        arena a{1024, system_memory(), {.name = "first"}};
        address = a.allocate(16);
        arena b{std::move(a)};
        EXPECT_TRUE(says(where(address), "'first'"));
        arena c{64};
        c = std::move(b);
        EXPECT_TRUE(says(where(address), "'first'"));
        c.set_name("second");
        EXPECT_TRUE(says(where(address), "'second'"));
        c.set_name(nullptr);
        EXPECT_EQ(where(address), "");
        c.set_name("third");
    }
    EXPECT_EQ(where(address), "");
    pool p{64};
    p.set_name("pool");
    address = p.allocate();
    pool q{std::move(p)};
    EXPECT_TRUE(says(where(address), "pool 'pool'"));
    q = pool{32};
    EXPECT_EQ(where(address), "");
}

TEST(a_name, ends_without_the_others_that_were_given_before_and_after) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    std::vector<std::unique_ptr<arena>> all;
    std::vector<const void*> addresses;
    for (int i = 0; i < 5; ++i) {
        all.push_back(std::make_unique<arena>(256, system_memory(), arena::options{.name = "one"}));
        addresses.push_back(all.back()->allocate(16));
    }
    for (const std::size_t gone : {2u, 0u, 4u, 1u, 3u}) {
        all[gone].reset();
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(says(where(addresses[i]), "'one'"), all[i] != nullptr) << i;
        }
    }
}

TEST(a_name, of_the_innermost_allocator_is_told) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{64 << 10, system_memory(), {.name = "level"}};
    pool enemies{64, default_alignment, level, {.name = "enemies"}};
    pool later{64, default_alignment, level};
    later.set_name("later");
    EXPECT_TRUE(says(where(enemies.allocate()), "pool 'enemies'"));
    EXPECT_TRUE(says(where(later.allocate()), "pool 'later'"));
    EXPECT_TRUE(says(where(level.allocate(8)), "arena 'level'"));
}

TEST(describe_address, stays_inside_its_buffer) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{1024, system_memory(), {.name = "level"}};
    const void* const p = level.allocate(16);
    const std::string all = where(p);
    for (std::size_t size = 1; size < all.size() + 2; ++size) {
        std::string text(size + 1, '?');
        EXPECT_TRUE(describe_address(p, text.data(), size));
        EXPECT_EQ(text[size], '?');
        EXPECT_EQ(std::string(text.c_str()), all.substr(0, size - 1));
    }
}

TEST(names, are_taken_from_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 200; ++i) {
                arena a{256, system_memory(), {.name = "a"}};
                arena b{std::move(a)};
                b.set_name("b");
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
}
}  // namespace
