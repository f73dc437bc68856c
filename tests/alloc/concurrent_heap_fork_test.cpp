// What cairn/alloc/concurrent_heap.hpp promises about fork(): at any moment, whatever others are doing.
#include <gtest/gtest.h>

#if !defined(_WIN32)

#    include <sys/resource.h>

#    include <atomic>
#    include <cstdio>
#    include <cstring>
#    include <thread>

#    include <cairn/alloc/concurrent_heap.hpp>

#    include "support/forking.hpp"
#    include "support/sanitizers.hpp"

namespace {

using cairn::concurrent_heap;

/// In a child: blocks of every class can be had, are whole, and come back.
bool goes_on(concurrent_heap& h) {
    void* blocks[64];
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < 64; ++i) {
            blocks[i] = h.allocate(i * i * 20);
            if (blocks[i] == nullptr) { return false; }
            std::memset(blocks[i], static_cast<int>(i), i * i * 20);
        }
        for (std::size_t i = 0; i < 64; ++i) {
            const auto* const bytes = static_cast<const unsigned char*>(blocks[i]);
            for (std::size_t k = 0; k < i * i * 20; ++k) {
                if (bytes[k] != i) { return false; }
            }
            h.deallocate(blocks[i], i * i * 20);
        }
        h.validate();
    }
    h.trim();
    h.validate();
    return true;
}

TEST(concurrent_heap_fork, the_child_goes_on_alone) {
    concurrent_heap h;
    void* const mine = h.allocate(100);
    EXPECT_TRUE(child_finds([&] {
        h.deallocate(mine, 100);
        return h.stats().live_size == 0 && goes_on(h);
    }));
    h.deallocate(mine, 100);
    EXPECT_TRUE(goes_on(h));
}

TEST(concurrent_heap_fork, the_child_goes_on_while_others_allocate_free_and_trim) {
    if (under_tsan) { GTEST_SKIP() << "a child of a threaded program"; }
    concurrent_heap h;
    std::atomic<bool> over{false};
    const auto use = [&](unsigned seed) {
        void* blocks[100] = {};
        for (unsigned n = seed; !over; n = n * 1'103'515'245u + 12'345u) {
            void*& p = blocks[n / 65'536u % 100];
            h.deallocate(p);
            const unsigned size = n / 256u % 64 == 0 ? n / 64u % 400'000 : n / 512u % 3000;
            p = h.allocate(size);
            if (n / 1024u % 4096 == 0) { h.trim(); }
        }
        for (void* p : blocks) { h.deallocate(p); }
    };
    std::thread one{use, 1u};
    std::thread two{use, 2u};
    for (int i = 0; i < 60; ++i) {
        EXPECT_TRUE(child_finds([&] { return goes_on(h); })) << i;
    }
    over = true;
    one.join();
    two.join();
    EXPECT_EQ(h.stats().live_size, 0u);
    h.validate();
}

TEST(concurrent_heap_fork, a_cache_of_a_lost_thread_serves_the_next) {
    concurrent_heap h;
    std::atomic<int> step{0};
    std::thread other{[&] {
        h.deallocate(h.allocate(100), 100);
        step = 1;
        while (step != 2) { std::this_thread::yield(); }
    }};
    while (step != 1) { std::this_thread::yield(); }
    h.deallocate(h.allocate(100), 100);
    EXPECT_TRUE(child_finds([&] {
        const bool is_one = h.stats().cache_count == 1;
        auto view = h.local();  // the lost thread's
        return is_one && h.stats().cache_count == 2 && goes_on(h);
    }));
    step = 2;
    other.join();
}

// ulimit -v: segments become smaller, then requests are refused, and the heap goes on.
TEST(concurrent_heap_fork, works_where_addresses_are_limited) {
    if (cairn::detail::poison_is_queryable || under_tsan) { GTEST_SKIP() << "shadow memory"; }
    concurrent_heap h;
    EXPECT_TRUE(child_finds([&] {
        std::size_t used = 0;
        if (std::FILE* const f = std::fopen("/proc/self/statm", "r")) {
            if (std::fscanf(f, "%zu", &used) != 1) { used = 0; }
            std::fclose(f);
        }
        if (used == 0) { return true; }
        const rlim_t limit = used * cairn::page_memory::size() + (std::size_t{24} << 20);
        const rlimit most{limit, limit};
        setrlimit(RLIMIT_AS, &most);
        std::size_t count = 0;
        while (h.allocate(1000) != nullptr) { ++count; }
        h.validate();
        return count > 10'000 && count < 30'000 && h.allocate(std::size_t{8} << 20) == nullptr;
    }));
}

}  // namespace

#endif
