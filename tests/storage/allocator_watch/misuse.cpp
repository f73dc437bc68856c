// Sentences of cairn/storage/allocator_watch.hpp about misuse that only a watched allocator sees:
// what comes back wrongly, and what ends too early.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <source_location>
#include <string>
#include <utility>

#include "storage/allocator_watch/where.hpp"

using namespace cairn;
using namespace allocator_watch_tests;

namespace {

TEST(a_named_heap, is_told_when_a_block_comes_back_wrongly_with_the_line_that_freed) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    heap<> level{std::size_t{16} << 10};
    level.set_name("level");
    void* const p = level.allocate(100);
    unsigned line = line_of() + 1;
    const auto size = expect_broken_promise([&] { level.deallocate(p, 500); });
    EXPECT_EQ(size.kind(), misuse_kind::wrong_size) << size;
    EXPECT_EQ(size.line(), line);
    EXPECT_EQ(size.object(), &level);
    EXPECT_EQ(size.value("bytes freed"), 500u);
    EXPECT_EQ(size.value("bytes of the block"), level.good_size(100));
    EXPECT_TRUE(size.says("heap 'level' at")) << size;
    line = line_of() + 3;
    const auto twice = expect_broken_promise([&] {
        level.deallocate(p, 100);
        level.deallocate(p, 100);
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_TRUE(twice.says("a block is freed once"));
    EXPECT_EQ(twice.line(), line);
    int elsewhere = 0;
    line = line_of() + 1;
    const auto foreign = expect_broken_promise([&] { level.deallocate(&elsewhere); });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_pointer) << foreign;
    EXPECT_EQ(foreign.line(), line);
    const auto leak = expect_broken_promise([] {
        heap<> mine{std::size_t{16} << 10};
        mine.set_name("mine");
        mine.expect_empty_end();
        (void)mine.allocate(8);
    });
    EXPECT_EQ(leak.kind(), misuse_kind::leak) << leak;
    EXPECT_EQ(leak.value("live blocks"), 1u);
    EXPECT_TRUE(leak.says("heap 'mine' at")) << leak;
}

TEST(a_named_concurrent_pool, is_told_when_a_slot_comes_back_wrongly_with_the_line_that_freed) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    concurrent_pool jobs{64};
    jobs.set_name("jobs");
    void* const p = jobs.allocate();
    unsigned line = line_of() + 1;
    const auto size = expect_broken_promise([&] { jobs.deallocate(p, 65, default_alignment); });
    EXPECT_EQ(size.kind(), misuse_kind::wrong_size) << size;
    EXPECT_EQ(size.line(), line);
    EXPECT_EQ(size.value("bytes freed"), 65u);
    EXPECT_TRUE(size.says("concurrent_pool 'jobs' at")) << size;
    jobs.deallocate(p);
    line = line_of() + 1;
    const auto twice = expect_broken_promise([&] { jobs.deallocate(p); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_EQ(twice.line(), line);
    EXPECT_NE(twice.value("slot"), ~0ull);
    line = line_of() + 1;
    const auto of_view = expect_broken_promise([&] { jobs.local().deallocate(p); });
    EXPECT_EQ(of_view.line(), line);
    int elsewhere = 0;
    EXPECT_EQ(expect_broken_promise([&] { jobs.deallocate(&elsewhere); }).kind(),
              misuse_kind::foreign_pointer);
}

TEST(an_arena_that_was_moved_from, is_named_when_it_is_used_and_may_be_assigned_to) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1024, system_memory(), {.name = "level"}};
    arena b{std::move(a)};
    const auto broken = expect_broken_promise([&] { (void)a.allocate(1); });  // NOLINT
    EXPECT_TRUE(broken.says("an arena that was moved from is assigned to before it is used"));
    EXPECT_EQ(broken.kind(), misuse_kind::moved_from);
    EXPECT_EQ(broken.object(), &a);
    EXPECT_FALSE(expect_broken_promise([&] { (void)b.allocate(5000); })) << "that is out of memory";
    EXPECT_FALSE(expect_broken_promise([] { (void)arena{byte_slice{}}.allocate(1); }))
        << "and that, too";
    a.reset();
    a.validate();
    a = std::move(b);
    EXPECT_NE(a.allocate(1), nullptr);
    EXPECT_TRUE(expect_broken_promise([&] { (void)b.allocate(1); }));  // NOLINT

    virtual_arena v{std::size_t{1} << 20};
    virtual_arena w{std::move(v)};
    EXPECT_EQ(expect_broken_promise([&] { (void)v.allocate(1); }).kind(),  // NOLINT
              misuse_kind::moved_from);
    v = std::move(w);
    EXPECT_NE(v.allocate(1), nullptr);
}

TEST(a_pool_of_objects_with_destructors, is_named_when_it_ends_with_live_ones) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    using names = pool_of<std::string>;
    const auto broken = expect_broken_promise([] {
        names n{system_memory(), {.name = "names"}};
        (void)n.make("a");
        (void)n.make("b");
    });
    EXPECT_TRUE(broken.says("every object is destroyed before its pool ends")) << broken;
    EXPECT_TRUE(broken.says("pool_of 'names' at"));
    EXPECT_EQ(broken.kind(), misuse_kind::leak);
    EXPECT_EQ(broken.value("live objects"), 2u);
    EXPECT_TRUE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n = names{};
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n.destroy_all();
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n.reset();
    })) << "dropped by intent";
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        std::string* const s = n.make("a");
        names other{std::move(n)};
        other.destroy(s);
    }));
    EXPECT_FALSE(expect_broken_promise([] { (void)pool_of<int>{}.make(1); }))
        << "dropping what has no destructor is what pools are good for";
}

TEST(an_object_of_a_pool, is_not_destroyed_twice_before_the_sentence_is_said) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    struct counted {
        int* destroyed;
        ~counted() { std::abort(); }
    };
    pool_of<counted> objects;
    int count = 0;
    counted* const c = objects.make(&count);
    void* const memory = c;
    static_cast<pool&>(objects).deallocate(memory);
    const unsigned line = std::source_location::current().line() + 1;
    const auto broken = expect_broken_promise([&] { objects.destroy(c); });
    EXPECT_EQ(broken.kind(), misuse_kind::double_free) << broken;
    EXPECT_EQ(broken.line(), line);
}

TEST(a_pool_that_wants_all_slots_back, is_named_when_it_ends_with_a_live_one) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto broken = expect_broken_promise([] {
        pool p{64, default_alignment, system_memory(), {.all_back_at_end = true}};
        (void)p.allocate();
    });
    EXPECT_TRUE(broken.says("every slot comes back before the pool ends")) << broken;
    EXPECT_EQ(broken.value("live slots"), 1u);
    EXPECT_FALSE(expect_broken_promise([] {
        pool p{64, default_alignment, system_memory(), {.all_back_at_end = true}};
        p.deallocate(p.allocate());
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        pool p{64};
        (void)p.allocate();
    }));
}
}  // namespace
