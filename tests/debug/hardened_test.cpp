// Sentences of cairn/debug/hardened.hpp. They are true of every build, with asserts and without.
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/hardened.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#if defined(__linux__)
#    include <sys/mman.h>
#    include <sys/wait.h>
#    include <unistd.h>
#endif

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
    for (int i = 0; i < 10'000; ++i) {  // whatever the seal of the address is
        auto* const p = bytes(memory.allocate(24));
        if (i % 1000 != 0) {
            unpoison(p + 24, 1);
            ASSERT_NE(p[24], std::byte{0}) << "the end of a string would change nothing";
            continue;
        }
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
    for (const std::size_t size : {1u, 3u, 7u, 8u, 12u, 63u}) {
        const auto last = expect_broken_promise([&] {
            auto* const p = bytes(memory.allocate(size));
            memory.deallocate(p, size);
            smash(p + size - 1);
            memory.release_waiting();
        });
        EXPECT_EQ(last.kind(), misuse_kind::corrupted) << size;
        memory.deallocate(memory.allocate(size), size);
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

TEST(hardened, a_write_between_a_large_block_and_its_guard_page_is_found) {
    memory_type memory;
    for (const std::size_t align : {16u, 4096u}) {
        for (const std::size_t size : {65'537u, 100'001u}) {
            auto* const p = bytes(memory.allocate(size, alignment{align}));
            ASSERT_NE(p, nullptr);
            for (const std::size_t far : {0u, 7u}) {
                const auto behind = expect_broken_promise([&] {
                    smash(p + size + far);
                    memory.deallocate(p, size, alignment{align});
                });
                EXPECT_EQ(behind.kind(), misuse_kind::corrupted) << size;
            }
            memory.deallocate(p, size, alignment{align});
        }
    }
    auto* const p = bytes(memory.allocate(5 * 16'384 - 3));  // 3 bytes of the seal fit
    EXPECT_TRUE(expect_broken_promise([&] {
        smash(p + 5 * 16'384 - 1);
        memory.deallocate(p);
    }));
    EXPECT_DEATH(*static_cast<volatile std::byte*>(p + 5 * 16'384) = std::byte{1}, "");
    memory.deallocate(p);
}

TEST(hardened, every_block_or_none_has_a_guard_page) {
    memory_type all{hardened_options{.page_guard_size_min = 0}};
    for (const std::size_t size : {0u, 1u, 100u, 5000u}) {
        auto* const p = bytes(all.allocate(size));
        ASSERT_NE(p, nullptr);
        EXPECT_DEATH(*static_cast<volatile std::byte*>(p + size + 16) = std::byte{1}, "");
        all.deallocate(p, size);
    }
    memory_type none{hardened_options{.page_guard_size_min = SIZE_MAX}};
    auto* const p = bytes(none.allocate(100'000));
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(expect_broken_promise([&] {
        smash(p + 100'000);
        none.deallocate(p);
    })) << "it has its seal";
    none.deallocate(p, 100'000);
    EXPECT_EQ(none.allocate(SIZE_MAX), nullptr);
}

TEST(hardened, guard_pages_have_a_limit) {
    test_upstream upstream;
    {
        hardened memory{upstream, {.page_guard_size_min = 1000, .page_guard_count_max = 2}};
        void* const first = memory.allocate(5000);
        EXPECT_GT(upstream.live_size(), 8000u);
        void* const second = memory.allocate(5000);
        const std::size_t before = upstream.live_size();
        void* const third = memory.allocate(5000);
        EXPECT_EQ(upstream.live_size() - before, 5024u) << "no guard page";
        memory.deallocate(first, 5000);
        const std::size_t later = upstream.live_size();
        void* const fourth = memory.allocate(5000);
        EXPECT_GT(upstream.live_size() - later, 8000u) << "one went back";
        for (void* p : {second, third, fourth}) { memory.deallocate(p, 5000); }
    }
    EXPECT_EQ(upstream.live_count(), 0u);
}

TEST(hardened, a_block_with_a_guard_page_must_not_outlive_the_wrapper) {
    if (!CAIRN_ASSERTS) { GTEST_SKIP() << "asserts are off"; }
    EXPECT_TRUE(expect_broken_promise([] {
        memory_type memory;
        (void)memory.allocate(100'000);
    }));
}

#if defined(__linux__)
namespace {

/// Pages from the system, so that a test can take one of them away.
struct counting_pages {
    void* allocate(std::size_t size, alignment align) noexcept {
        return page_memory::reserve_committed(page_memory::round_up_to_pages(size), align);
    }
    void deallocate(void* p, std::size_t size, alignment) noexcept {
        ++freed_count;
        unpoison(p, size);
        page_memory::release(p, page_memory::round_up_to_pages(size));
    }
    std::size_t freed_count = 0;
};

}  // namespace

TEST(hardened, a_block_whose_guard_page_stays_does_not_go_back) {
    counting_pages pages;
    hardened memory{pages};
    auto* const p = bytes(memory.allocate(64_KiB));
    memory.deallocate(p, 64_KiB);
    EXPECT_EQ(pages.freed_count, 1u);
    auto* const q = bytes(memory.allocate(64_KiB));
    ASSERT_EQ(munmap(q + 64_KiB, page_memory::size()), 0);  // mprotect refuses from now on
    memory.deallocate(q, 64_KiB);
    EXPECT_EQ(pages.freed_count, 1u);
}

TEST(hardened, a_fork_may_happen_while_another_thread_frees) {
    memory_type memory{hardened_options{.quarantine_count = 16}};
    std::atomic<bool> ends{false};
    std::thread other{[&] {
        while (!ends) { memory.deallocate(memory.allocate(100), 100); }
    }};
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that stays held ends here
            for (int n = 0; n < 100; ++n) { memory.deallocate(memory.allocate(100), 100); }
            memory.release_waiting();
            _exit(0);
        }
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    ends = true;
    other.join();
}
#endif

namespace {

/// Leaves a freed block as it is, and does not notice a second free.
struct careless {
    void* allocate(std::size_t size, alignment) noexcept {
        return size <= sizeof memory ? memory : nullptr;
    }
    void deallocate(void*, std::size_t, alignment) noexcept {}
    alignas(16) std::byte memory[256] = {};
};

}  // namespace

TEST(hardened, a_block_that_two_threads_free_at_once_goes_back_once) {
    hardened<careless> memory{hardened_options{}};
    const auto twice = expect_broken_promise([&] {
        auto* const p = bytes(memory.allocate(100));
        std::byte live_head[16];
        unpoison(p - 16, 16);
        std::memcpy(live_head, p - 16, 16);
        memory.deallocate(p);
        unpoison(p - 16, 16);
        std::memcpy(p - 16, live_head, 16);  // what the other thread saw
        unpoison(p, 100);
        memory.deallocate(p);
        memory.release_waiting();
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    const auto late = expect_broken_promise([&] {
        void* const p = memory.allocate(100);
        memory.deallocate(p);
        memory.release_waiting();
        memory.deallocate(p);
    });
    EXPECT_EQ(late.kind(), misuse_kind::double_free) << late;
}

TEST(hardened, a_wrapper_begins_around_a_heap_that_threads_use) {
    concurrent_heap heap;
    std::atomic<bool> ends{false};
    std::thread other{[&] {
        while (!ends) {
            void* blocks[100];
            for (void*& p : blocks) { p = heap.allocate(64); }
            for (void* p : blocks) { heap.deallocate(p, 64); }
            heap.trim();
        }
    }};
    for (int i = 0; i < 20; ++i) {
        hardened memory{heap};
        memory.deallocate(memory.allocate(64), 64);
    }
    ends = true;
    other.join();
}

TEST(hardened, wrappers_one_after_another_at_one_address_do_not_know_each_other) {
    test_upstream upstream;
    void* p = nullptr;
    alignas(hardened<test_upstream&>) std::byte place[sizeof(hardened<test_upstream&>)];
    auto* first = ::new (place) hardened<test_upstream&>{upstream};
    p = first->allocate(100);
    first->~hardened();
    auto* second = ::new (place) hardened<test_upstream&>{upstream};
    const auto foreign = expect_broken_promise([&] { second->deallocate(p); });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_pointer) << foreign;
    second->~hardened();
    upstream.deallocate(bytes(p) - 16, 124, alignment{16});
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
    void* const waits = memory.allocate(100);
    memory.deallocate(waits, 100);
    EXPECT_EQ(memory.allocate(std::size_t{1} << 62), nullptr);
    EXPECT_EQ(upstream.live_count(), 2u) << "an absurd request leaves it waiting";
    memory.release_waiting();
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
    EXPECT_TRUE(expect_broken_promise([&] {
        smash(bytes(p) + 65'536);
        memory.deallocate(p, 65'536);
    })) << "it has its seal";
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
    auto* const odd = bytes(memory.allocate(100));
    memory.deallocate(odd, 100);
    EXPECT_TRUE(is_poisoned(odd + 95) && is_poisoned(odd + 99));
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
