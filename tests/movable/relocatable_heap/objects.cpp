// Sentences of cairn/movable/relocatable_heap.hpp about objects and handles: where an object goes,
// and when it is found. Typed objects are in relocation, random runs in
// relocatable_heap_model_test.cpp.
#include <cairn/core/alignment.hpp>
#include <cairn/core/handle.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "movable/relocatable_heap/holes.hpp"
#include "support/test_upstream.hpp"

using namespace relocatable_heap_tests;

namespace {

using namespace cairn::literals;
using cairn::alignment;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap, gives_its_region_and_its_tables_back) {
    test_upstream upstream;
    {
        relocatable_heap h{1_MiB, upstream};
        (void)h.allocate(100);
        EXPECT_GT(upstream.live_count(), 0u);
    }
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(relocatable_heap, a_move_takes_numbers_and_memory_along) {
    test_upstream upstream;
    relocatable_heap a{1_MiB, upstream};
    const handle first = a.allocate(100);
    const handle h = a.allocate(100);
    a.deallocate(first);
    (void)a.compact(everything);
    EXPECT_EQ(a.stats().move_count, 1u);
    const auto before = a.stats();
    relocatable_heap b{std::move(a)};
    relocatable_heap& same = b;
    b = std::move(same);
    ASSERT_TRUE(b.contains(h)) << "assigned to itself it keeps everything";
    EXPECT_EQ(b.stats().move_count, before.move_count);
    relocatable_heap c{64_KiB, upstream};
    c = std::move(b);
    EXPECT_EQ(c.size(h), 100u);
}

TEST(relocatable_heap_test, get_finds_the_bytes_and_a_stale_handle_nothing) {
    relocatable_heap heap{64_KiB};
    EXPECT_EQ(heap.get(handle{}), nullptr) << "also before anything was allocated";
    const handle h = heap.allocate(100);
    ASSERT_TRUE(h);
    EXPECT_NE(heap.get(h), nullptr);
    EXPECT_EQ(heap.size(h), 100u);
    EXPECT_TRUE(heap.contains(h));
    heap.deallocate(h);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_EQ(heap.get(handle{}), nullptr);
    EXPECT_FALSE(heap.contains(h));
    EXPECT_FALSE(heap.contains(handle{}));
    EXPECT_FALSE(heap.contains(handle::make(77777, 3)));
    const handle again = heap.allocate(100);
    EXPECT_EQ(heap.get(h), nullptr);
    EXPECT_NE(heap.get(again), nullptr);
}

TEST(relocatable_heap_test, handles_of_a_heap_that_was_replaced_or_of_another_one_are_told) {
    relocatable_heap heap{64_KiB};
    relocatable_heap other{64_KiB};
    std::vector<handle> old;
    for (int i = 0; i < 10; ++i) {
        old.push_back(heap.allocate(100));
        ASSERT_TRUE(other.allocate(100));
    }
    for (const handle h : old) { EXPECT_EQ(other.get(h), nullptr); }
    heap = relocatable_heap{64_KiB};
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(heap.allocate(100)); }
    for (const handle h : old) {
        EXPECT_FALSE(heap.contains(h));
        EXPECT_EQ(heap.get(h), nullptr);
    }
    heap.validate();
}

TEST(relocatable_heap_test, a_first_generation_makes_equal_handles) {
    relocatable_heap a{64_KiB, cairn::system_memory(), {.first_generation = 7}};
    relocatable_heap b{64_KiB, cairn::system_memory(), {.first_generation = 7}};
    for (int i = 0; i < 10; ++i) { EXPECT_EQ(a.allocate(100), b.allocate(100)); }
    EXPECT_EQ(a.allocate(100).generation(), 7u);
}

TEST(relocatable_heap_test, an_object_goes_into_the_lowest_hole_that_holds_it) {
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(256);
    const handle c = heap.allocate(64);
    const handle d = heap.allocate(128);
    const handle e = heap.allocate(64);
    const std::uintptr_t base = address(heap, a);
    const std::uintptr_t low = address(heap, b);
    const std::uintptr_t high = address(heap, d);
    EXPECT_EQ(low, base + 64) << "no header between objects";
    heap.deallocate(d);
    heap.deallocate(b);
    EXPECT_EQ(address(heap, heap.allocate(100)), low);
    EXPECT_EQ(address(heap, heap.allocate(128)), low + 112);
    EXPECT_EQ(address(heap, heap.allocate(128)), high);
    EXPECT_TRUE(heap.contains(c) && heap.contains(e));
    heap.validate();
}

TEST(relocatable_heap_test, what_is_too_large_to_move_lives_at_the_other_end_and_stays) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.largest_movable = 1000}};
    const handle small = heap.allocate(500);
    const handle large = heap.allocate(5000);
    const handle large_2 = heap.allocate(5000);
    EXPECT_EQ(address(heap, large) + 5008, address(heap, small) + heap.capacity());
    EXPECT_EQ(address(heap, large_2) + 5008, address(heap, large));
    const handle more = heap.allocate(1000);
    EXPECT_EQ(address(heap, more), address(heap, small) + 512);
    const std::uintptr_t before = address(heap, large_2);
    heap.deallocate(large);
    heap.deallocate(small);
    heap.compact(everything);
    EXPECT_EQ(address(heap, large_2), before);
    EXPECT_EQ(address(heap, more), before + 5008 + 5008 - heap.capacity());
    heap.validate();
}

TEST(relocatable_heap_test, every_alignment_is_kept_before_and_after_moves) {
    relocatable_heap heap{256_KiB};
    std::vector<std::pair<handle, alignment>> all;
    for (std::size_t i = 0; i < 200; ++i) {
        const alignment align{std::size_t{1} << (i % 13)};
        const handle h = heap.allocate(1 + i * 7 % 400, align);
        ASSERT_TRUE(h);
        all.emplace_back(h, align);
    }
    for (std::size_t i = 0; i < all.size(); i += 2) { heap.deallocate(all[i].first); }
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 1; i < all.size(); i += 2) {
            EXPECT_TRUE(cairn::detail::is_aligned(heap.get(all[i].first), all[i].second));
        }
        heap.compact(everything);
        heap.validate();
    }
}

TEST(relocatable_heap_test, what_is_over_aligned_takes_the_last_hole_that_it_just_fits_into) {
    alignas(64) static std::byte memory[4096];
    {
        relocatable_heap heap{cairn::byte_slice{memory}};
        ASSERT_TRUE(heap.allocate(48));
        EXPECT_TRUE(heap.allocate(4096 - 64, alignment{64})) << "from 64 to the end";
    }
    {
        relocatable_heap heap{
            cairn::byte_slice{memory}, cairn::system_memory(), {.largest_movable = 10}};
        for (int i = 0; i < 4; ++i) { ASSERT_TRUE(heap.allocate(10)); }
        ASSERT_TRUE(heap.allocate(4096 - 128, alignment{64}));  // at the other end
        EXPECT_TRUE(heap.allocate(64, alignment{64})) << "from 64 to 128";
        EXPECT_EQ(heap.stats().free_size, 0u);
    }
}

TEST(relocatable_heap_test, size_zero_has_a_handle_and_an_address_of_its_own) {
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(0);
    const handle b = heap.allocate(0);
    ASSERT_TRUE(a && b);
    EXPECT_NE(heap.get(a), heap.get(b));
    EXPECT_EQ(heap.size(a), 0u);
    heap.deallocate(a);
    heap.compact(everything);
    EXPECT_NE(heap.get(b), nullptr);
    heap.deallocate(b);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}

TEST(relocatable_heap_test, works_over_any_bytes_of_the_caller) {
    alignas(64) static std::byte memory[5000];
    for (std::size_t skip = 0; skip < 40; ++skip) {
        relocatable_heap heap{cairn::byte_slice{memory + skip, 4900 - 3 * skip}};
        const handle h = heap.allocate(heap.capacity());
        ASSERT_TRUE(h);
        auto* const p = static_cast<std::byte*>(heap.get(h));
        EXPECT_GE(p, memory + skip);
        EXPECT_LE(p + heap.capacity(), memory + skip + 4900 - 3 * skip);
        EXPECT_GE(heap.capacity() + 32, 4900 - 3 * skip);
    }
    for (std::size_t size = 0; size < 32; ++size) {
        relocatable_heap heap{cairn::byte_slice{memory + 1, size}};
        EXPECT_EQ(static_cast<bool>(heap.allocate(16)), size == 31);
    }
    std::memset(memory, 1, sizeof(memory));  // everything is the caller's again
}

TEST(relocatable_heap_test, half_of_the_tables_is_an_empty_heap) {
    alignas(64) static std::byte memory[4096];
    for (std::size_t n = 0;; ++n) {
        test_upstream upstream;
        upstream.refuse_from(n);  // a table that is refused some memory asks again for less
        relocatable_heap heap{cairn::byte_slice{memory}, upstream, {.object_count = 100}};
        if (upstream.request_count() <= n) { break; }
        EXPECT_EQ(heap.capacity(), 0u);
        EXPECT_FALSE(heap.allocate(0));
        for (std::uint32_t i = 0; i < 100; ++i) { EXPECT_FALSE(heap.contains(handle::make(i, 1))); }
        heap.validate();
    }
}

TEST(relocatable_heap_test, a_moved_heap_keeps_its_objects_and_the_old_one_is_empty) {
    relocatable_heap first{16_KiB};
    const handle h = first.allocate(100);
    void* const where = first.get(h);
    relocatable_heap second{std::move(first)};
    EXPECT_EQ(second.get(h), where);
    EXPECT_EQ(first.capacity(), 0u);
    EXPECT_FALSE(first.allocate(1));
    EXPECT_EQ(first.get(handle{}), nullptr);
    first = std::move(second);
    EXPECT_EQ(first.get(h), where);
    first.compact(everything);
    first.validate();
}
}  // namespace
