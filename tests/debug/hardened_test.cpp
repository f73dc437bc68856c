// Sentences of cairn/debug/hardened.hpp. They are true of every build, with asserts and without.
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/hardened.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

using memory_type = hardened<concurrent_heap>;

std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }

/// Writes where the program may not. A memory checker, which would see it at once, is told that it
/// may.
void smash(std::byte* p) {
    unpoison(p, 1);
    volatile std::byte* const at = p;
    *at = *at ^ std::byte{0x55};
}

}  // namespace

TEST(hardened, keeps_the_shared_contract) {
    test_upstream upstream;
    {
        hardened memory{upstream};
        check_allocator_contract(memory, 1, {.size_max = 6000, .align_log2_max = 13});
        hardened at_once{upstream, {.quarantine_count = 0}};
        check_allocator_contract(at_once, 2);
        hardened paged{upstream, {.quarantine_count = 8, .page_guard_size_min = 100}};
        check_allocator_contract(paged, 3, {.size_max = 6000, .align_log2_max = 13});
    }
    EXPECT_EQ(upstream.live_count(), 0u) << "what waited went back";
    memory_type shared;
    check_allocator_contract(shared, 4, {.size_max = 100'000});
    hardened<heap<>> local{hardened_options{}};
    check_allocator_contract(local, 5);
}

TEST(hardened, a_second_free_stops_the_program_also_long_after_the_first) {
    memory_type memory{hardened_options{.quarantine_count = 64}};
    const auto twice = expect_broken_promise([&] {
        void* const p = memory.allocate(100);
        memory.deallocate(p, 100);
        memory.deallocate(p, 100);
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    const auto later = expect_broken_promise([&] {
        void* const p = memory.allocate(100);
        memory.deallocate(p);
        for (int i = 0; i < 10; ++i) { memory.deallocate(memory.allocate(100)); }
        memory.deallocate(p);
    });
    EXPECT_EQ(later.kind(), misuse_kind::double_free) << later;
}

TEST(hardened, a_free_of_what_is_no_block_stops_the_program) {
    memory_type memory;
    memory_type other;
    std::byte local[64] = {};
    auto* const p = bytes(memory.allocate(200));
    void* const foreign = other.allocate(200);
    const auto kind_of = [&](void* address) {
        return expect_broken_promise([&] { memory.deallocate(address); }).kind();
    };
    EXPECT_EQ(kind_of(p + 16), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(p + 1), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(foreign), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(local + 32), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(memory.inner().allocate(200)), misuse_kind::foreign_pointer);
    alignas(16) std::byte copy[16 + 200 + 8];  // of a live block, with its seals
    unpoison(p - 16, sizeof copy);
    std::memcpy(copy, p - 16, sizeof copy);
    EXPECT_EQ(kind_of(copy + 16), misuse_kind::foreign_pointer);
    memory.deallocate(p, 200);
    other.deallocate(foreign, 200);
}

TEST(hardened, a_wrong_size_or_alignment_stops_the_program) {
    memory_type memory;
    void* const p = memory.allocate(200, alignment{64});
    const auto kind_of = [&](std::size_t size, std::size_t align) {
        return expect_broken_promise([&] { memory.deallocate(p, size, alignment{align}); }).kind();
    };
    EXPECT_EQ(kind_of(199, 64), misuse_kind::wrong_size);
    EXPECT_EQ(kind_of(201, 64), misuse_kind::wrong_size);
    EXPECT_EQ(kind_of(200, 32), misuse_kind::wrong_size);
    EXPECT_EQ(memory.usable_size(p), 200u);
    memory.deallocate(p, 200, alignment{64});
    void* const q = memory.allocate(10, alignment{1});
    memory.deallocate(q, 10, alignment{8});  // below 16 all are one
}

TEST(hardened, a_write_beside_a_block_stops_the_program_when_the_block_is_freed) {
    memory_type memory;
    for (const std::size_t size : {0u, 1u, 24u, 100u, 5000u, 60'000u}) {
        for (const std::size_t far : {0u, 7u}) {
            const auto behind = expect_broken_promise([&] {
                auto* const p = bytes(memory.allocate(size));
                smash(p + size + far);
                memory.deallocate(p, size);
            });
            EXPECT_EQ(behind.kind(), misuse_kind::corrupted) << size;
        }
        for (const int far : {1, 8, 9, 16}) {
            const auto before = expect_broken_promise([&] {
                auto* const p = bytes(memory.allocate(size));
                smash(p - far);
                memory.deallocate(p, size);
            });
            EXPECT_TRUE(before) << size;
        }
    }
}

TEST(hardened, the_end_of_a_string_behind_a_block_stops_the_program) {
    memory_type memory;
    for (int i = 0; i < 200; ++i) {  // whatever the seal of the address is
        auto* const p = bytes(memory.allocate(24));
        if (i % 20 != 0) { continue; }
        EXPECT_TRUE(expect_broken_promise([&] {
            unpoison(p + 24, 8);
            p[24] = std::byte{0};
            memory.deallocate(p, 24);
        }));
    }
}

TEST(hardened, a_write_to_a_freed_block_stops_the_program_when_it_goes_back) {
    memory_type memory;
    for (const std::size_t at : {7u, 10u, 63u}) {
        const auto late = expect_broken_promise([&] {
            auto* const p = bytes(memory.allocate(at + 6));
            memory.deallocate(p, at + 6);
            smash(p + at);
            memory.release_waiting();
        });
        EXPECT_EQ(late.kind(), misuse_kind::corrupted) << at;
    }
    for (const int far : {1, 9}) {
        const auto beside = expect_broken_promise([&] {
            auto* const p = bytes(memory.allocate(100));
            memory.deallocate(p, 100);
            smash(p - far);
            memory.release_waiting();
        });
        EXPECT_EQ(beside.kind(), misuse_kind::corrupted) << far;
    }
    const auto seen = expect_broken_promise([&] {
        auto* const p = bytes(memory.allocate(100));
        memory.deallocate(p, 100);
        smash(p + 50);
        memory.validate();
    });
    EXPECT_EQ(seen.kind(), misuse_kind::corrupted) << seen;
    memory.validate();
}

TEST(hardened, each_address_has_a_seal_of_its_own) {
    memory_type memory;
    std::set<std::uint64_t> seals;
    for (int i = 0; i < 200; ++i) {
        auto* const p = bytes(memory.allocate(24));
        std::uint64_t seal;
        unpoison(p - sizeof seal, sizeof seal);
        std::memcpy(&seal, p - sizeof seal, sizeof seal);
        seals.insert(seal);
    }
    EXPECT_EQ(seals.size(), 200u);
}

TEST(hardened, a_byte_behind_a_large_block_faults) {
    memory_type memory;
    for (const std::size_t size : {64_KiB, std::size_t{100'000}, 9_MiB}) {
        auto* const p = bytes(memory.allocate(size));
        ASSERT_NE(p, nullptr);
        p[size - 1] = std::byte{1};
        EXPECT_DEATH(*static_cast<volatile std::byte*>(p + size) = std::byte{1}, "");
        memory.deallocate(p, size);
        auto* const aligned = bytes(memory.allocate(size, alignment{8192}));
        EXPECT_TRUE(detail::is_aligned(aligned, alignment{8192}));
        memory.deallocate(aligned, size, alignment{8192});
    }
}

TEST(hardened, addresses_are_not_in_order) {
    memory_type memory;
    concurrent_heap plain;
    const auto neighbours = [](auto& heap, std::size_t size) {
        std::vector<std::byte*> blocks;
        for (int i = 0; i < 500; ++i) { blocks.push_back(bytes(heap.allocate(size))); }
        std::size_t count = 0;
        for (std::size_t i = 1; i < 500; ++i) {
            count += blocks[i] - blocks[i - 1] == 64 ? 1u : 0u;
        }
        for (auto* p : blocks) { heap.deallocate(p, size); }
        return count;
    };
    EXPECT_GT(neighbours(plain, 64), 400u);
    EXPECT_LT(neighbours(memory, 40), 100u);
}

TEST(hardened, a_freed_block_waits_for_a_random_time) {
    memory_type memory{hardened_options{.quarantine_count = 64}};
    std::set<int> waits;
    for (int round = 0; round < 50; ++round) {
        void* const p = memory.allocate(100);
        memory.deallocate(p, 100);
        int steps = 1;
        while (true) {
            void* const q = memory.allocate(100);
            memory.deallocate(q, 100);
            if (q == p || steps == 2000) { break; }
            ++steps;
        }
        waits.insert(steps);
    }
    EXPECT_GT(waits.size(), 20u);
}

TEST(hardened, as_many_freed_blocks_of_at_most_4_KiB_wait_as_there_are_places) {
    test_upstream upstream;
    hardened memory{upstream, {.quarantine_count = 4}};
    memory.deallocate(memory.allocate(4097), 4097);
    EXPECT_EQ(upstream.live_count(), 0u);
    memory.deallocate(memory.allocate(4096), 4096);
    EXPECT_EQ(upstream.live_count(), 1u);
    for (int i = 0; i < 300; ++i) { memory.deallocate(memory.allocate(100), 100); }
    EXPECT_EQ(upstream.live_count(), 4u);
}

TEST(hardened, nothing_waits_where_there_is_no_memory_for_the_places) {
    if (detail::poison_is_queryable || under_tsan) { GTEST_SKIP() << "their malloc ends instead"; }
    test_upstream upstream;
    hardened memory{upstream, {.quarantine_count = SIZE_MAX >> 8}};
    memory.deallocate(memory.allocate(100), 100);
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(hardened, what_waits_serves_a_request_that_is_refused) {
    test_upstream upstream;
    upstream.limit_size(10'000);
    hardened memory{upstream};
    std::vector<void*> blocks;
    for (void* p = memory.allocate(100); p != nullptr; p = memory.allocate(100)) {
        blocks.push_back(p);
    }
    EXPECT_EQ(blocks.size(), 10'000u / 124);
    for (void* p : blocks) { memory.deallocate(p, 100); }
    EXPECT_GT(upstream.live_count(), 0u) << "they wait";
    void* const p = memory.allocate(9000);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(upstream.live_count(), 1u);
    EXPECT_EQ(memory.allocate(9000), nullptr);
    memory.deallocate(p, 9000);
    EXPECT_EQ(upstream.live_count(), 0u) << "a block of more than 4 KiB does not wait";
}

TEST(hardened, a_guard_page_without_memory_for_it_is_left_out) {
    test_upstream upstream;
    upstream.refuse_larger(66'000);  // no room for the page
    hardened memory{upstream};
    void* const p = memory.allocate(65'536);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(memory.usable_size(p), 65'536u);
    memory.deallocate(p, 65'536);
}

TEST(hardened, blocks_resize_where_they_are) {
    memory_type memory;
    auto* const p = bytes(memory.allocate(100));
    std::memset(p, 7, 100);
    ASSERT_TRUE(memory.try_resize(p, 100, 90));  // the same class
    EXPECT_EQ(memory.usable_size(p), 90u);
    EXPECT_TRUE(expect_broken_promise([&] {
        smash(p + 90);
        memory.deallocate(p, 90);
    }));
    const auto wrong = expect_broken_promise([&] { (void)memory.try_resize(p, 89, 80); });
    EXPECT_EQ(wrong.kind(), misuse_kind::wrong_size) << wrong;
    EXPECT_FALSE(memory.try_resize(p, 90, 2000));
    EXPECT_FALSE(memory.try_resize(p, 90, 1_MiB));
    EXPECT_EQ(p[89], std::byte{7});
    memory.deallocate(p, 90);
    void* const large = memory.allocate(100'000);
    EXPECT_FALSE(memory.try_resize(large, 100'000, 90'000)) << "the guard page cannot move";
    memory.deallocate(large, 100'000);
    hardened<heap<>> local{hardened_options{.page_guard_size_min = 1000}};
    void* const grows = local.allocate(500);
    EXPECT_TRUE(local.try_resize(grows, 500, 999));
    EXPECT_FALSE(local.try_resize(grows, 999, 1000)) << "such a block has a guard page";
    local.deallocate(grows, 999);
}

TEST(hardened, free_and_waiting_bytes_are_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP() << "no AddressSanitizer"; }
    memory_type memory;
    auto* const p = bytes(memory.allocate(96));
    (void)memory.usable_size(p);
    memory.validate();
    EXPECT_FALSE(is_poisoned(p) || is_poisoned(p + 95));
    EXPECT_TRUE(is_poisoned(p + 96) && is_poisoned(p - 1));
    memory.deallocate(p, 96);
    EXPECT_TRUE(is_poisoned(p) && is_poisoned(p + 95) && is_poisoned(p - 1));
}

TEST(hardened, threads_free_what_others_made) {
    memory_type memory{hardened_options{.quarantine_count = 128}};
    constexpr std::size_t count = 2000;
    std::vector<std::atomic<std::byte*>> table(200);
    const auto work = [&](unsigned seed) {
        std::mt19937 random{seed};
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t size = 1 + random() % 600;
            auto* const p = bytes(memory.allocate(size));
            std::memset(p, static_cast<int>(size % 251), size);
            auto* const other = table[random() % table.size()].exchange(p);
            if (other == nullptr) { continue; }
            const std::size_t n = memory.usable_size(other);
            EXPECT_EQ(other[n - 1], static_cast<std::byte>(n % 251));
            memory.deallocate(other);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) { threads.emplace_back(work, i); }
    for (auto& t : threads) { t.join(); }
    for (auto& p : table) { memory.deallocate(p.load()); }
    memory.validate();
    memory.release_waiting();
    EXPECT_EQ(memory.inner().stats().live_size, 0u);
}
