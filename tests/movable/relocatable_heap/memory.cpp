// Sentences of cairn/movable/relocatable_heap.hpp about memory: its tables, its limits, and what a
// refusal changes.
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "movable/relocatable_heap/holes.hpp"
#include "support/test_upstream.hpp"

using namespace relocatable_heap_tests;

namespace {

using namespace cairn::literals;
using cairn::alignment;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap_test, refuses_what_does_not_fit_and_is_unchanged) {
    relocatable_heap heap{4_KiB};
    const handle all = heap.allocate(heap.capacity());
    ASSERT_TRUE(all) << "the whole region is one object";
    EXPECT_FALSE(heap.allocate(1));
    EXPECT_FALSE(heap.allocate(0));
    heap.deallocate(all);
    for (const std::size_t size : {heap.capacity() + 1, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2}) {
        EXPECT_FALSE(heap.allocate(size));
    }
    EXPECT_FALSE(heap.allocate(16, alignment{std::size_t{1} << 40}));
    EXPECT_EQ(heap.free_size(), heap.capacity());
    EXPECT_EQ(heap.object_count(), 0u);
    heap.validate();
}

TEST(relocatable_heap_test, takes_no_more_than_it_can_manage) {
    struct {  // remembers the largest request, and refuses it
        std::size_t most = 0;
        void* allocate(std::size_t size, alignment) noexcept {
            most = size > most ? size : most;
            return nullptr;
        }
        void deallocate(void*, std::size_t, alignment) noexcept {}
    } upstream;
    for (const std::size_t size : {17_GiB, 1000_GiB}) {
        EXPECT_EQ((relocatable_heap{size, upstream}.capacity()), 0u);
        EXPECT_EQ(upstream.most, 16_GiB - 16);
    }
    EXPECT_EQ((relocatable_heap{17_GiB, upstream, {.stress_relocate = true}}.capacity()), 0u);
    EXPECT_EQ(upstream.most, 32_GiB - 16);
}

TEST(relocatable_heap_test, works_or_refuses_everything_whichever_request_fails) {
    for (std::size_t count : {0u, 100u}) {
        for (std::size_t n = 0;; ++n) {
            test_upstream upstream;
            upstream.refuse_from(n, 1);
            relocatable_heap heap{16_KiB, upstream, {.object_count = count}};
            std::vector<handle> all;
            for (int i = 0; i < 100; ++i) {
                const std::size_t free = heap.free_size();
                if (const handle h = heap.allocate(100)) {
                    all.push_back(h);
                } else {
                    EXPECT_EQ(heap.free_size(), free);
                    for (const handle old : all) { EXPECT_NE(heap.get(old), nullptr); }
                }
                heap.validate();
            }
            EXPECT_TRUE(all.empty() || all.size() >= 99) << "one refusal costs one object";
            EXPECT_EQ(heap.capacity() == 0, all.empty());
            for (const handle h : all) { EXPECT_NE(heap.get(h), nullptr); }
            heap.compact(everything);
            if (upstream.request_count() <= n) { break; }
        }
    }
}

TEST(relocatable_heap_test, what_is_freed_is_served_again_while_upstream_refuses) {
    for (std::size_t n = 0; n < 12; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n);
        relocatable_heap heap{16_KiB, upstream};
        std::vector<handle> all;
        while (const handle h = heap.allocate(16)) { all.push_back(h); }
        for (int i = 0; i < 3 && !all.empty(); ++i) {
            heap.deallocate(all[all.size() / 2]);
            all[all.size() / 2] = heap.allocate(16);
            EXPECT_TRUE(all[all.size() / 2]) << "refused after request " << n;
        }
        heap.validate();
    }
}

TEST(relocatable_heap_test, reserved_tables_do_not_grow) {
    test_upstream upstream;
    relocatable_heap heap{64_KiB, upstream, {.object_count = 1000}};
    const std::size_t requests = upstream.request_count();
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(heap.allocate(16)); }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(relocatable_heap_test, trim_gives_back_what_a_peak_of_objects_took) {
    test_upstream upstream;
    relocatable_heap heap{8_MiB, upstream};
    EXPECT_EQ(heap.trim(), 0u) << "there is nothing to give back";
    const std::size_t before = upstream.live_size();
    std::vector<handle> kept;
    std::vector<handle> gone;
    while (gone.size() < 100'000) {
        auto& list = gone.size() < 10 && kept.size() < 10 ? kept : gone;
        list.push_back(heap.allocate(16));
        ASSERT_TRUE(list.back());
    }
    for (const handle h : gone) { heap.deallocate(h); }
    const std::size_t peak = upstream.live_size();
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_EQ(heap.trim(), 0u) << "no memory for the smaller table";
    const std::size_t given = heap.trim();
    EXPECT_EQ(upstream.live_size(), peak - given);
    EXPECT_EQ(upstream.live_size(), before + heap.slot_count() * 12 + kept.size() * 32);
    heap.validate();
    for (const handle h : gone) { ASSERT_EQ(heap.get(h), nullptr); }
    for (const handle h : kept) { EXPECT_NE(heap.get(h), nullptr); }
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(heap.allocate(16)); }
    EXPECT_LE(upstream.live_size(), peak - given + 2000 * 32) << "the lowest slots come first";
    heap.compact(everything);
    while (heap.object_count() < 100'000) { ASSERT_TRUE(heap.allocate(16)); }
    EXPECT_LE(upstream.live_size(), peak);
    heap.validate();
}
}  // namespace
