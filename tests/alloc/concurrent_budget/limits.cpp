// Behaviours of cairn/alloc/concurrent_budget.hpp on one thread: the limit, the count, the handler.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "support/allocator_contract.hpp"
#include "support/budget_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

using heap_budget = concurrent_budget<concurrent_heap>;

TEST(concurrent_budget, keeps_the_shared_contract_where_there_is_room) {
    test_upstream heap;
    concurrent_budget over_upstream{1_GiB, heap};
    check_allocator_contract(over_upstream, 1);
    EXPECT_EQ(over_upstream.live_size(), 0u);
    heap_budget own{1_GiB};
    check_allocator_contract(own, 1);
    EXPECT_EQ(own.live_size(), 0u);
    own.validate();
}

template <class B>
std::vector<void*> fill(B& memory, std::size_t size) {
    std::vector<void*> blocks;
    while (void* const p = memory.allocate(size)) { blocks.push_back(p); }
    return blocks;
}

TEST(concurrent_budget, one_thread_gets_every_byte_and_not_one_more) {
    test_upstream heap;
    concurrent_budget memory{100'000, heap};
    const auto blocks = fill(memory, 1'000);
    EXPECT_EQ(blocks.size(), 100u);
    EXPECT_EQ(memory.live_size(), 100'000u);
    EXPECT_EQ(memory.peak_size(), 100'000u);
    EXPECT_EQ(memory.refused_count(), 1u);
    EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
    for (void* p : blocks) { memory.deallocate(p, 1'000); }
    memory.deallocate(nullptr, 1'000);
    EXPECT_EQ(memory.live_size(), 0u);
    void* const all = memory.allocate(100'000);
    EXPECT_NE(all, nullptr);
    memory.deallocate(all, 100'000);
}

TEST(concurrent_budget, that_owns_a_heap_counts_slots_and_units) {
    heap_budget memory{1_MiB};
    auto blocks = fill(memory, 100);
    EXPECT_EQ(blocks.size(), 1_MiB / memory.good_size(100));
    for (void* p : blocks) { memory.deallocate(p, 100); }
    blocks = fill(memory, 3'000);  // slots of another class, which the first ones gave way to
    EXPECT_EQ(blocks.size(), 1_MiB / memory.good_size(3'000));
    for (void* p : blocks) { memory.deallocate(p); }
    void* const large = memory.allocate(900'000);
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(memory.live_size(), memory.good_size(900'000));
    EXPECT_EQ(memory.allocate(200'000), nullptr);
    EXPECT_FALSE(memory.try_resize(large, 900'000, 1_MiB + 1));
    EXPECT_TRUE(memory.try_resize(large, 900'000, 100'000));
    EXPECT_EQ(memory.live_size(), memory.good_size(100'000));
    memory.deallocate(large, 100'000);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_GT(memory.refused_count(), 0u);
}

TEST(concurrent_budget, that_owns_a_heap_may_take_its_memory_from_another_heap) {
    concurrent_heap all;
    {
        concurrent_budget<concurrent_heap> sounds{4_MiB, allocator_ref{all}};
        void* const small = sounds.allocate(100);
        void* const large = sounds.allocate(1_MiB);
        ASSERT_TRUE(small != nullptr && large != nullptr);
        EXPECT_GE(all.stats().used_size, sounds.inner().stats().segment_size);
        EXPECT_EQ(sounds.allocate(4_MiB), nullptr);
        void* const other = all.allocate(100);
        all.deallocate(other, 100);
        sounds.deallocate(large, 1_MiB);
        sounds.deallocate(small, 100);
        EXPECT_EQ(sounds.live_size(), 0u);
        sounds.validate();
        all.validate();
    }
    all.validate();
    all.release_this_thread();
    EXPECT_EQ(all.stats().live_size, 0u) << "what the budget took is back";
}

TEST(concurrent_budget, that_owns_a_heap_counts_a_large_block_that_moves) {
    heap_budget memory{64_MiB};
    concurrent_heap& heap = memory.inner();
    void* p = heap.allocate(5_MiB);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(heap.resize_or_move(p, 5_MiB, 65_MiB), nullptr) << "beyond the limit";
    EXPECT_EQ(memory.live_size(), heap.good_size(5_MiB));
    std::size_t size = 5_MiB;
    for (const std::size_t next : {40_MiB, 6_MiB}) {
        void* const moved = heap.resize_or_move(p, size, next);
        if (moved != nullptr) {  // Linux
            p = moved;
            size = next;
        }
        EXPECT_EQ(memory.live_size(), heap.good_size(size));
    }
    heap.deallocate(p, size);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(concurrent_budget, a_block_shrinks_although_the_limit_was_lowered_below_it) {
    heap_budget own{64_MiB};
    void* const p = own.allocate(1_MiB);
    own.set_limit_size(4_KiB);
    EXPECT_TRUE(own.try_resize(p, 1_MiB, 512_KiB));
    EXPECT_EQ(own.live_size(), own.good_size(512_KiB));
    EXPECT_EQ(own.limit_size(), 4_KiB);
    EXPECT_EQ(own.allocate(100), nullptr) << "until enough bytes are freed";
    own.validate();
    own.deallocate(p, 512_KiB);
    EXPECT_EQ(own.live_size(), 0u);
}

TEST(concurrent_budget, what_its_thread_has_cached_does_not_refuse_other_bytes) {
    heap_budget own{1_MiB};
    for (std::size_t size = 16; size <= 32_KiB; size *= 2) {
        void* const p = own.allocate(size);
        own.deallocate(p, size);
    }
    ASSERT_GT(own.inner().stats().cached_size, 0u);
    EXPECT_TRUE(own.try_charge(1_MiB));
    own.refund(1_MiB);
}

TEST(concurrent_budget, an_exhausted_allocator_inside_costs_no_budget) {
    test_upstream heap;
    heap.refuse_from(0);
    concurrent_budget over_upstream{100, heap};
    EXPECT_EQ(over_upstream.allocate(10), nullptr);
    EXPECT_EQ(over_upstream.live_size(), 0u);
    EXPECT_EQ(over_upstream.refused_count(), 0u) << "the limit did not refuse";
    heap_budget own{64_MiB, heap};
    EXPECT_EQ(own.allocate(10), nullptr);
    EXPECT_EQ(own.allocate(1_MiB), nullptr);
    EXPECT_EQ(own.live_size(), 0u);
    EXPECT_EQ(own.refused_count(), 0u);
}

TEST(concurrent_budget, that_owns_a_heap_asks_it_again_where_the_limit_has_room) {
    // As if another thread had given bytes back meanwhile: the upstream refuses two requests only.
    test_upstream heap;
    heap_budget own{64_MiB, heap};
    heap.refuse_from(0, 2);
    void* const p = own.allocate(1_MiB);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(own.refused_count(), 0u);
    own.deallocate(p, 1_MiB);
}

TEST(concurrent_budget, counts_what_a_block_grows_by_and_what_comes_from_elsewhere) {
    alignas(16) std::byte buffer[1024];
    arena a{buffer};
    concurrent_budget memory{200, a};
    check_that_growth_is_counted(memory);
    EXPECT_FALSE(memory.try_charge(151));
    EXPECT_TRUE(memory.try_charge(150));
    EXPECT_EQ(memory.live_size(), 200u);
    memory.refund(150);
    heap_budget own{200};
    EXPECT_FALSE(own.try_charge(201));
    EXPECT_TRUE(own.try_charge(200));
    EXPECT_EQ(own.allocate(1), nullptr);
    own.refund(200);
    EXPECT_EQ(own.live_size(), 0u);
}

/// Frees one of its blocks each time it is asked, and tries to allocate meanwhile.
template <class B>
struct cache_of {
    B& memory;
    std::size_t size;
    std::vector<void*> kept;
    std::size_t asked = 0;

    static bool drop(void* context, const budget_request& r) noexcept {
        auto& mine = *static_cast<cache_of*>(context);
        ++mine.asked;
        EXPECT_EQ(mine.memory.allocate(r.limit_size), nullptr) << "refused unasked";
        if (mine.kept.empty()) { return false; }
        mine.memory.deallocate(mine.kept.back(), mine.size);
        mine.kept.pop_back();
        return true;
    }
};

template <class B>
void check_handler(B& memory) {
    cache_of<B> cache{memory, 1'024, fill(memory, 1'024)};
    memory.set_handler(&cache_of<B>::drop, &cache);
    void* const p = memory.allocate(4'096);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(cache.asked, 4u);
    const std::size_t asked = cache.asked;
    EXPECT_EQ(memory.allocate(memory.limit_size() + 1), nullptr);
    EXPECT_EQ(cache.asked, asked) << "what is larger than the budget is refused unasked";
    while (!cache.kept.empty()) {
        memory.deallocate(cache.kept.back(), 1'024);
        cache.kept.pop_back();
    }
    memory.deallocate(p, 4'096);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(concurrent_budget, its_handler_frees_until_the_request_fits) {
    test_upstream heap;
    concurrent_budget over_upstream{64_KiB, heap};
    check_handler(over_upstream);
    heap_budget own{64_KiB};
    check_handler(own);
}

TEST(concurrent_budget, a_limit_below_what_is_live_waits_until_enough_is_back) {
    test_upstream heap;
    concurrent_budget memory{100'000, heap};
    void* const p = memory.allocate(80'000);
    memory.set_limit_size(50'000);
    memory.release_this_thread();
    EXPECT_EQ(memory.allocate(1), nullptr);
    memory.deallocate(p, 80'000);
    void* const q = memory.allocate(50'000);
    EXPECT_NE(q, nullptr);
    EXPECT_EQ(memory.allocate(1), nullptr);
    memory.deallocate(q, 50'000);
}

TEST(concurrent_budget, its_count_is_that_of_a_model_over_many_operations) {
    test_upstream heap;
    concurrent_budget over_upstream{10'000, heap};
    check_budget_against_model(over_upstream, 20'000, [](std::size_t size) { return size; });
    heap_budget own{10'000};
    check_budget_against_model(own, 20'000,
                               [&own](std::size_t size) { return own.good_size(size); });
}

}  // namespace
