#include <cairn/movable/concurrent_relocatable_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <source_location>
#include <thread>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using namespace cairn::literals;
using cairn::concurrent_relocatable_heap;
using cairn::held;
using cairn::work_limit;
using handle = concurrent_relocatable_heap::handle_type;

struct asset {
    explicit asset(std::uint64_t n) noexcept {
        for (auto& w : words) { w = n; }
    }
    std::uint64_t words[12];
};

/// Keeps the old bytes wrong, so that a reader in the middle of a move sees it.
struct careful : asset {
    explicit careful(std::uint64_t n) noexcept : asset{n} {}
    careful(careful&& other) noexcept : asset{other} {
        for (auto& w : other.words) { w = ~std::uint64_t{0}; }
    }
};

TEST(concurrent_relocatable_heap, a_held_object_stays_and_is_not_freed) {
    concurrent_relocatable_heap heap{64_KiB};
    const handle low = heap.make<asset>(1u);
    const handle h = heap.make<asset>(2u);
    ASSERT_TRUE(heap.try_destroy<asset>(low));
    {
        const held<asset> a = heap.pin<asset>(h);
        ASSERT_TRUE(a);
        const asset* const before = a.get();
        heap.compact();
        EXPECT_EQ(a.get(), before);
        EXPECT_EQ(a->words[3], 2u);
        EXPECT_FALSE(heap.try_destroy<asset>(h));
        EXPECT_EQ(a->words[11], 2u);
        EXPECT_GT(heap.inner().stats().hole_count, 1u);
    }
    EXPECT_TRUE(heap.compact().one_piece);
    EXPECT_EQ(heap.pin<asset>(h)->words[5], 2u);
    EXPECT_TRUE(heap.try_destroy<asset>(h));
    EXPECT_FALSE(heap.pin<asset>(h));
    EXPECT_FALSE(heap.pin(handle{}));
    EXPECT_FALSE(heap.pin(handle::make(4'000'000, 1)));
}

TEST(concurrent_relocatable_heap, refuses_more_objects_than_it_has_gates_for) {
    test_upstream upstream;
    concurrent_relocatable_heap heap{64_KiB, upstream, {.object_count = 5}};
    const std::size_t requests = upstream.request_count();
    std::vector<handle> all;
    while (const handle h = heap.allocate(16)) { all.push_back(h); }
    EXPECT_GE(all.size(), 5u);
    EXPECT_LT(all.size(), 100u);
    EXPECT_EQ(upstream.request_count(), requests) << "nothing grows under the readers";
    for (const handle h : all) { EXPECT_TRUE(heap.try_deallocate(h)); }
    EXPECT_TRUE(heap.allocate(16));
}

#if defined(__cpp_exceptions)
TEST(concurrent_relocatable_heap, bytes_whose_fill_threw_are_free_again) {
    concurrent_relocatable_heap heap{64_KiB};
    EXPECT_THROW(static_cast<void>(heap.allocate(100, cairn::default_alignment, cairn::by_bytes,
                                                 [](void*) { throw 1; })),
                 int);
    EXPECT_EQ(heap.inner().object_count(), 0u);
    EXPECT_EQ(heap.inner().free_size(), heap.inner().capacity());
    heap.inner().validate();
}
#endif

TEST(concurrent_relocatable_heap, works_or_refuses_everything_whichever_request_fails) {
    for (std::size_t n = 0;; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n);
        concurrent_relocatable_heap heap{4_KiB, upstream, {.object_count = 10}};
        const handle h = heap.allocate(100);
        if (upstream.request_count() <= n) {
            EXPECT_TRUE(h);
            break;
        }
        EXPECT_FALSE(h);
        EXPECT_FALSE(heap.pin(h));
    }
}

TEST(concurrent_relocatable_heap, a_wrong_free_is_reported_with_its_cause_its_heap_and_its_line) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    using cairn::expect_broken_promise;
    using cairn::misuse_kind;
    concurrent_relocatable_heap heap{64_KiB, cairn::system_memory(), {.first_generation = 3}};
    const handle gone = heap.make<asset>(1u);
    EXPECT_TRUE(heap.try_deallocate(gone));
    const handle foreign = handle::make(0, 1000);
    const unsigned line = std::source_location::current().line();
    const auto twice = expect_broken_promise([&] { (void)heap.try_deallocate(gone); });
    const auto again = expect_broken_promise([&] { (void)heap.try_destroy<asset>(gone); });
    const auto other = expect_broken_promise([&] { (void)heap.try_deallocate(foreign); });
    const auto null = expect_broken_promise([&] { (void)heap.try_deallocate({}); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_EQ(twice.object(), &heap);
    EXPECT_STREQ(twice.type(), "concurrent_relocatable_heap");
    EXPECT_EQ(twice.line(), line + 1);
    EXPECT_EQ(again.line(), line + 2) << again;
    EXPECT_EQ(other.kind(), misuse_kind::foreign_handle) << other;
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
}

struct pins_itself {
    concurrent_relocatable_heap* heap = nullptr;
    handle other, me;
    void on_relocated(pins_itself*) noexcept {
        EXPECT_TRUE(heap->pin(other)) << "others may be looked at";
        if (me) { (void)heap->pin(me); }
    }
};

TEST(concurrent_relocatable_heap_death_test, an_object_that_is_told_of_its_move_waits_for_nobody) {
    GTEST_FLAG_SET(death_test_style, "fast");
    concurrent_relocatable_heap heap{64_KiB};
    const handle below = heap.allocate(500);
    const handle other = heap.allocate(16);
    const handle h = heap.make<pins_itself>();
    EXPECT_TRUE(heap.try_deallocate(below));
    *heap.pin<pins_itself>(h) = {&heap, other, {}};
    EXPECT_EQ(heap.compact().moves, 2u);
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    heap.pin<pins_itself>(h)->me = h;
    EXPECT_TRUE(heap.try_deallocate(other));
    EXPECT_DEATH(heap.compact(), "on_relocated\\(\\) does not pin its own object");
}

TEST(concurrent_relocatable_heap, readers_see_whole_objects_while_one_thread_compacts) {
    constexpr std::size_t count = 200;
    concurrent_relocatable_heap heap{64_KiB, cairn::system_memory(), {.object_count = count}};
    // Handles travel through one word each; 0: none.
    std::vector<std::atomic<std::uint64_t>> names(count);
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> reads{0};

    const auto read = [&](unsigned seed) {
        std::mt19937 random{seed};
        std::uint64_t seen = 0;
        while (!done.load(std::memory_order_relaxed)) {
            const std::size_t i = random() % count;
            const handle h = handle::from_raw(names[i].load(std::memory_order_relaxed));
            const held<careful> object = heap.pin<careful>(h);
            if (!object) { continue; }
            for (const std::uint64_t w : object->words) { ASSERT_EQ(w, i); }
            ++seen;
        }
        reads += seen;
    };
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 3; ++t) { readers.emplace_back(read, t); }

    std::mt19937 random{7};
    std::size_t moves = 0;
    const int rounds = under_tsan ? 4'000 : 20'000;
    for (int i = 0; i < rounds; ++i) {
        const std::size_t k = random() % count;
        const handle h = handle::from_raw(names[k].load(std::memory_order_relaxed));
        if (!h) {
            names[k].store(heap.make<careful>(k).raw(), std::memory_order_relaxed);
        } else if (heap.try_destroy<careful>(h)) {
            names[k].store(0, std::memory_order_relaxed);
        }
        moves += heap.compact({.steps = 8}).moves;
        if (i % 1000 == 0) { heap.inner().validate(); }
    }
    while (reads.load() == 0 && moves == 0) { std::this_thread::yield(); }
    done.store(true);
    for (auto& r : readers) { r.join(); }
    EXPECT_GT(moves, 100u);
    for (auto& name : names) {
        if (const handle h = handle::from_raw(name.load())) {
            EXPECT_TRUE(heap.try_destroy<careful>(h));
        }
    }
    EXPECT_EQ(heap.inner().free_size(), heap.inner().capacity());
}

}  // namespace
