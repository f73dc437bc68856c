// Behaviours of cairn/alloc/budget.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "support/allocator_contract.hpp"
#include "support/budget_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(budget, keeps_the_shared_contract_where_there_is_room) {
    test_upstream heap;
    budget memory{1_GiB, heap};
    check_allocator_contract(memory, 1);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(budget, gives_out_as_many_bytes_as_it_was_given_and_not_one_more) {
    test_upstream heap;
    budget memory{100, heap};
    void* const a = memory.allocate(60);
    void* const b = memory.allocate(40);
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(memory.allocate(1), nullptr);
    void* const nothing = memory.allocate(0);
    EXPECT_NE(nothing, nullptr) << "no bytes are within any budget";
    memory.deallocate(nothing, 0);
    EXPECT_EQ(memory.refused_count(), 1u);
    memory.deallocate(a, 60);
    EXPECT_EQ(memory.live_size(), 40u);
    void* const c = memory.allocate(60);
    EXPECT_NE(c, nullptr);
    EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(memory.peak_size(), 100u);
    memory.deallocate(b, 40);
    memory.deallocate(c, 60);
    memory.deallocate(nullptr, 60);
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(budget, an_exhausted_allocator_inside_costs_no_budget) {
    test_upstream heap;
    heap.refuse_from(0);
    budget memory{100, heap};
    EXPECT_EQ(memory.allocate(10), nullptr);
    EXPECT_EQ(memory.live_size(), 0u);
    EXPECT_EQ(memory.refused_count(), 0u) << "the limit did not refuse";
}

TEST(budget, its_handler_frees_until_the_request_fits) {
    test_upstream heap;
    struct cache {
        budget<test_upstream&> memory;
        std::vector<void*> kept{};
        std::size_t asked = 0;
    } c{budget{100, heap}};
    for (int i = 0; i < 5; ++i) { c.kept.push_back(c.memory.allocate(20)); }
    c.memory.set_handler(
        [](void* context, const budget_request& r) noexcept {
            auto& mine = *static_cast<cache*>(context);
            EXPECT_EQ(r.size, 50u);
            EXPECT_EQ(r.limit_size, 100u);
            EXPECT_EQ(r.live_size, 100u - 20u * mine.asked);
            EXPECT_EQ(r.missing_size(), 50u - 20u * mine.asked);
            ++mine.asked;
            if (mine.kept.empty()) { return false; }
            mine.memory.deallocate(mine.kept.back(), 20);
            mine.kept.pop_back();
            return true;
        },
        &c);
    void* const p = c.memory.allocate(50);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(c.asked, 3u);
    EXPECT_EQ(c.memory.live_size(), 90u);
    EXPECT_EQ(c.memory.allocate(101), nullptr);
    EXPECT_EQ(c.asked, 3u) << "what is larger than the budget is refused unasked";
    c.memory.deallocate(p, 50);
    for (void* k : c.kept) { c.memory.deallocate(k, 20); }
}

TEST(budget, a_handler_that_gives_up_or_allocates_itself_is_asked_once) {
    test_upstream heap;
    struct state {
        budget<test_upstream&> memory;
        int asked = 0;
    } s{budget{10, heap}};
    s.memory.set_handler(
        [](void* context, const budget_request&) noexcept {
            auto& mine = *static_cast<state*>(context);
            ++mine.asked;
            EXPECT_EQ(mine.memory.allocate(8), nullptr) << "beyond the limit, and not asked again";
            return false;
        },
        &s);
    void* const p = s.memory.allocate(4);
    EXPECT_EQ(s.memory.allocate(10), nullptr);
    EXPECT_EQ(s.asked, 1);
    s.memory.set_handler(nullptr);
    EXPECT_EQ(s.memory.allocate(10), nullptr);
    EXPECT_EQ(s.asked, 1);
    s.memory.deallocate(p, 4);
}

TEST(budget, a_limit_below_what_is_live_waits_until_enough_is_back) {
    test_upstream heap;
    budget memory{100, heap};
    void* const p = memory.allocate(80);
    memory.set_limit_size(50);
    EXPECT_EQ(memory.allocate(1), nullptr);
    memory.deallocate(p, 80);
    void* const q = memory.allocate(50);
    EXPECT_NE(q, nullptr);
    memory.deallocate(q, 50);
}

TEST(budget, counts_what_a_block_grows_and_shrinks_by) {
    alignas(16) std::byte buffer[1024];
    arena a{buffer};
    budget memory{200, a};
    check_that_growth_is_counted(memory);
    EXPECT_EQ(memory.peak_size(), 200u);
}

TEST(budget, rewind_and_reset_give_the_budget_back) {
    alignas(16) std::byte buffer[1024];
    arena a{buffer};
    budget memory{100, a};
    (void)memory.allocate(30);
    const auto here = memory.mark();
    (void)memory.allocate(70);
    memory.rewind(here);
    EXPECT_EQ(memory.live_size(), 30u);
    memory.reset();
    EXPECT_EQ(memory.live_size(), 0u);
}

TEST(budget, budgets_stand_on_budgets_and_under_containers) {
    budget<heap<>> all{1_MiB, std::size_t{2} << 20};
    budget sounds{1000 * sizeof(int), all};
    packed_array<int> samples{sounds};
    while (samples.emplace_back(1)) {}
    EXPECT_LE(samples.size(), 1000u);
    EXPECT_GE(samples.size(), 500u);
    EXPECT_EQ(all.live_size(), sounds.live_size());
    EXPECT_GT(sounds.refused_count(), 0u);
    EXPECT_EQ(all.refused_count(), 0u);
}

TEST(budget, its_count_is_that_of_a_model_over_many_operations) {
    test_upstream heap;
    budget memory{10'000, heap};
    check_budget_against_model(memory, 100'000, [](std::size_t size) { return size; });
}

}  // namespace
