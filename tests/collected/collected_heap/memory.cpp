// Sentences of cairn/collected/collected_heap.hpp about its memory: what is taken, counted,
// refused.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

/// 16 KiB and less: one chunk each.
struct chunkful {
    char bytes[9000] = {};
    using references = refers_to<>;
};
struct two_chunks {
    char bytes[17'000] = {};
    using references = refers_to<>;
};

TEST(collected_heap_test, no_free_chunk_is_passed_over) {
    collected_heap heap{3 << 20};
    std::vector<root<chunkful>> all;
    while (chunkful* const c = heap.make<chunkful>()) { all.emplace_back(c); }
    ASSERT_EQ(all.size(), 192u);
    const auto number = [](const void* p) {
        return (reinterpret_cast<std::uintptr_t>(p) & 0xFFFF'FFFF) / 16384;
    };
    std::size_t word = 0;  // where the second whole word of the chunks begins
    while (number(all[word].get()) % 64 != 0 || word < 64) { ++word; }
    const auto free = [&](std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) { all[i] = nullptr; }
        heap.collect();
    };
    const auto fill = [&](std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) {
            all[i] = heap.make<chunkful>();
            ASSERT_TRUE(all[i]) << i;
        }
        EXPECT_EQ(heap.make<chunkful>(), nullptr);
    };
    free({1, word});
    fill({1, word});
    // A large object passes over what is too small for it, which is not lost.
    free({1, 3, word + 5, word + 6});
    root<two_chunks> large = heap.make<two_chunks>();
    ASSERT_TRUE(large);
    fill({1, 3});
    heap.validate();
}

TEST(collected_heap_test, a_heap_whose_memory_is_refused_refuses_everything) {
    cairn::page_allocator pages;
    cairn::failing memory{pages};
    memory.refuse_from(0);
    collected_heap heap{1 << 20, memory};
    EXPECT_EQ(heap.make<node>(), nullptr);
    EXPECT_TRUE(heap.step().is_idle);
    EXPECT_TRUE(heap.collect().is_idle);
    EXPECT_EQ(heap.capacity(), 0u);
    EXPECT_EQ(heap.stats().capacity, 0u);
    EXPECT_FALSE(heap.is_collecting());
    EXPECT_FALSE(heap.is_marking());
    heap.validate();
    memory.refuse_nothing();
    collected_heap other{1 << 20, memory};
    EXPECT_NE(other.make<node>(), nullptr);
    EXPECT_EQ(memory.request_count(), 2u) << "a heap is one request";
    heap = std::move(other);
    EXPECT_NE(heap.make<node>(), nullptr);
}

TEST(collected_heap_test, a_heap_smaller_than_a_chunk_refuses_everything) {
    collected_heap heap{1000};
    EXPECT_EQ(heap.make<node>(), nullptr);
    EXPECT_EQ(heap.make<huge>(), nullptr);
    EXPECT_TRUE(heap.collect().is_idle);
}

TEST(collected_heap_test, it_knows_its_own) {
    collected_heap heap{1 << 20};
    int outside = 0;
    EXPECT_TRUE(heap.owns(made(heap)));
    EXPECT_FALSE(heap.owns(&outside));
    EXPECT_FALSE(heap.owns(nullptr));
    const collected_heap other{1 << 20};
    EXPECT_FALSE(other.owns(made(heap)));
    const auto first = reinterpret_cast<std::uintptr_t>(made(heap)) & ~std::uintptr_t{16383};
    EXPECT_TRUE(heap.owns(reinterpret_cast<const void*>(first)));
    EXPECT_FALSE(heap.owns(reinterpret_cast<const void*>(first - 1))) << "the mark stack";
    EXPECT_TRUE(heap.owns(reinterpret_cast<const void*>(first + heap.capacity() - 1)));
    EXPECT_FALSE(heap.owns(reinterpret_cast<const void*>(first + heap.capacity())));
}

TEST(collected_heap_test, it_counts_its_memory) {
    collected_heap heap{1 << 20};
    EXPECT_EQ(heap.capacity(), 1u << 20);
    EXPECT_EQ(heap.stats().free_chunk_count, 64u);
    EXPECT_EQ(heap.stats().free_size, heap.capacity());
    const root<node> kept = made(heap);
    const root<huge> large = heap.make<huge>();
    const auto s = heap.stats();
    EXPECT_EQ(s.free_chunk_count, 61u) << "one for the nodes, two for the large one";
    EXPECT_GE(s.used_size, 48u + 2 * 16384);
    EXPECT_LE(s.used_size, 64u * 48 + 2 * 16384) << "make() takes 64 slots at a time, or fewer";
    EXPECT_EQ(s.used_size + s.free_size, s.capacity);
    EXPECT_EQ(s.allocated_size, s.used_size);
    EXPECT_EQ(s.object_count, 2u);
    EXPECT_EQ(s.root_count, 2u);
    EXPECT_EQ(s.type_count, 2u);
    EXPECT_EQ(s.cycle_count, 0u);
}

TEST(collected_heap_test, a_heap_that_is_moved_keeps_what_it_has) {
    collected_heap heap{1 << 20};
    {
        const root<node> kept = made(heap);
        collected_heap& itself = heap;
        heap = std::move(itself);
        EXPECT_EQ(heap.stats().object_count, 1u);
        collected_heap other = std::move(heap);
        EXPECT_TRUE(other.owns(kept.get()));
        EXPECT_EQ(heap.capacity(), 0u);
        EXPECT_EQ(heap.make<node>(), nullptr) << "nothing is left to what was moved from";
        heap = std::move(other);
        EXPECT_NE(heap.make<node>(), nullptr);
        EXPECT_EQ(other.capacity(), 0u);
    }
}

TEST(collected_heap_test, heaps_end_in_any_order) {
    auto oldest = std::make_unique<collected_heap>(std::size_t{1} << 20);
    collected_heap newer{1 << 20};
    collected_heap newest{1 << 20};
    oldest = nullptr;
    const root<node> a = made(newer);
    const root<node> b = made(newest);
    EXPECT_TRUE(a && b);
}

}  // namespace
