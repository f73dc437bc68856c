// What every wrapper promises: the same program is legal with it and without it. The program is the
// shared contract of the allocators (support/allocator_contract.hpp), and one that mixes everything
// a wrapper passes on.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/concurrent_budget.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/or_abort.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "support/allocator_contract.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

struct place {
    std::size_t x[3];
};

/// Legal with every allocator of several sizes.
template <class A>
void run_legal_program(A& a) {
    a.deallocate(nullptr, 0, alignment{1});
    a.deallocate(nullptr, 100, alignment{64});
    destroy(a, static_cast<place*>(nullptr));
    for (int round = 0; round < 3; ++round) {
        void* const empty = a.allocate(0, alignment{16});
        ASSERT_NE(empty, nullptr);
        a.deallocate(empty, 0, alignment{16});
        place* const object = make<place>(a);
        ASSERT_NE(object, nullptr);
        auto* p = static_cast<unsigned char*>(a.allocate(100, alignment{16}));
        ASSERT_NE(p, nullptr);
        std::memset(p, 7, 100);
        std::size_t size = 100;
        if constexpr (resizes_in_place<A>) {
            for (const std::size_t wanted : {60u, 100u, 101u, 60u, 0u, 8u}) {
                if (a.try_resize(p, size, wanted, alignment{16})) { size = wanted; }
            }
        }
        if (size != 0) { std::memset(p, 8, size); }
        a.deallocate(nullptr, size, alignment{16});
        a.deallocate(p, size, alignment{16});
        destroy(a, object);
        void* const large = a.allocate(5000, alignment{256});
        ASSERT_NE(large, nullptr);
        std::memset(large, 9, 5000);
        a.deallocate(large, 5000, alignment{256});
    }
    if constexpr (markable<A>) {
        const auto outer = a.mark();
        (void)a.allocate(100, alignment{16});
        const auto inner = a.mark();
        (void)a.allocate(100, alignment{16});
        a.rewind(inner);
        a.deallocate(nullptr, 100, alignment{16});
        a.rewind(inner);
        a.rewind(outer);
    }
    if constexpr (validatable<A>) { a.validate(); }
    if constexpr (resettable<A>) {
        (void)a.allocate(100, alignment{16});
        a.reset();
        a.deallocate(nullptr, 1, alignment{16});
    }
}

template <class A>
void expect_legal(A& a, contract::options o = {}) {
    run_legal_program(a);
    check_allocator_contract(a, 7, o);
    run_legal_program(a);
}

constexpr contract::options never_absurd{.sizes_are_refused = false};

TEST(legal_programs, pass_through_every_wrapper_of_a_heap) {
    test_upstream upstream;
    heap<> memory{grow_by{64_KiB}, upstream};
    expect_legal(memory);
    tracked counted{memory};
    expect_legal(counted);
    EXPECT_EQ(counted.stats().live_count, 0u);
    tracked listed{memory, {.list = true}};
    expect_legal(listed);
    auto place = listed.at("place");
    expect_legal(place);
    EXPECT_EQ(listed.stats().live_count, 0u);
    EXPECT_EQ(listed.stats().live_size, 0u);
    guarded guard{memory};
    expect_legal(guard);
    guarded quarantine{memory, {.quarantine_count = 8}};
    expect_legal(quarantine);
    guarded pages{memory, {.page_guard_every = 16}};
    expect_legal(pages);
    failing never{memory};
    expect_legal(never);
    EXPECT_EQ(never.live_size(), 0u);
    locked one_at_a_time{memory};
    expect_legal(one_at_a_time);
    or_abort certain{memory};
    expect_legal(certain, never_absurd);
}

TEST(legal_programs, pass_through_every_wrapper_of_an_arena) {
    test_upstream upstream;
    growing_arena memory{4_KiB, upstream};
    expect_legal(memory);
    array_recycler again{memory};
    expect_legal(again);
    monotonic kept{memory};
    expect_legal(kept);
    tracked counted{memory};
    expect_legal(counted);
    tracked listed{memory, {.list = true, .report_leaks = false}};
    expect_legal(listed);
    guarded guard{memory};
    expect_legal(guard);
    failing never{memory};
    expect_legal(never);
    locked one_at_a_time{memory};
    expect_legal(one_at_a_time);
    or_abort certain{memory};
    expect_legal(certain, never_absurd);
}

TEST(legal_programs, pass_through_wrappers_of_wrappers) {
    test_upstream upstream;
    growing_arena memory{4_KiB, upstream};
    array_recycler again{memory};
    guarded guard{again, {.quarantine_count = 4}};
    failing never{guard};
    tracked listed{never, {.list = true}};
    locked all{listed};
    expect_legal(all);
    EXPECT_EQ(listed.stats().live_count, 0u);
    EXPECT_EQ(never.live_size(), 0u);
}

TEST(legal_programs, name_options_alone_where_the_allocator_inside_needs_no_argument) {
    guarded<heap<>> guard{{}};
    expect_legal(guard);
    tracked<heap<>> listed{{}};
    expect_legal(listed);
}

TEST(legal_programs, free_nullptr_to_what_serves_one_size_pages_or_nothing) {
    pool slots{64, alignment{64}};
    contract::expect_nullptr_does_nothing(
        slots, {.size_max = 64, .align_log2_max = 6, .fixed_size = true});
    concurrent_pool threads{64, alignment{64}};
    contract::expect_nullptr_does_nothing(
        threads, {.size_max = 64, .align_log2_max = 6, .fixed_size = true});
    std::array<void*, 2> none_of_them{};
    threads.deallocate_n(none_of_them);
    EXPECT_EQ(threads.stats().live_count, 0u);
    slots.deallocate_n(none_of_them);
    EXPECT_EQ(slots.stats().live_count, 0u);
    locked<pool> shared{64u, alignment{64}};
    contract::expect_nullptr_does_nothing(
        shared, {.size_max = 64, .align_log2_max = 6, .fixed_size = true});
    page_allocator pages;
    contract::expect_nullptr_does_nothing(pages, {});
    system_allocator system;
    contract::expect_nullptr_does_nothing(system, {});
    null_allocator none;
    contract::expect_nullptr_does_nothing(none, {});
    arena empty{byte_slice{}};
    contract::expect_nullptr_does_nothing(empty, {});
    EXPECT_NE(empty.allocate(0, alignment{64}), nullptr);
    EXPECT_EQ(empty.allocate(1), nullptr);
}

}  // namespace

#if CAIRN_ASSERTS

namespace {

/// The line at which a checked build says that a block of `memory` was freed a second time.
template <class Wrapper>
void expect_the_line_of_a_second_free(Wrapper& memory) {
    void* const p = memory.allocate(64);
    void* const kept = memory.allocate(64);
    memory.deallocate(p, 64);
    const std::string line = "wrappers_test.cpp:" + std::to_string(__LINE__ + 1);
    EXPECT_DEATH(memory.deallocate(p, 64), line);
    memory.deallocate(kept, 64);
}

/// The same for a free without the size.
template <class Wrapper>
void expect_the_line_of_a_second_free_without_size(Wrapper& memory) {
    void* const p = memory.allocate(64);
    memory.deallocate(p);
    const std::string line = "wrappers_test.cpp:" + std::to_string(__LINE__ + 1);
    EXPECT_DEATH(memory.deallocate(p), line);
}

}  // namespace

TEST(wrappers, a_wrong_free_that_the_allocator_inside_finds_has_the_line_of_the_caller) {
    pool slots{64};
    budget limited{1_MiB, slots};
    tracked counted{slots};
    locked shared{slots};
    concurrent_budget by_threads{1_MiB, slots};
    budget outer{1_MiB, counted};
    expect_the_line_of_a_second_free(limited);
    expect_the_line_of_a_second_free(counted);
    expect_the_line_of_a_second_free(shared);
    expect_the_line_of_a_second_free(by_threads);
    expect_the_line_of_a_second_free(outer);
}

TEST(wrappers, a_wrong_free_without_a_size_has_the_line_of_the_caller) {
    pool slots{64};
    heap<> blocks;
    locked shared_slots{slots};
    locked shared_blocks{blocks};
    or_abort outer{shared_blocks};
    expect_the_line_of_a_second_free_without_size(shared_slots);
    expect_the_line_of_a_second_free_without_size(shared_blocks);
    expect_the_line_of_a_second_free_without_size(outer);
}

#endif
