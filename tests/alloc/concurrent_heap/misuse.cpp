// Mistakes that cairn/alloc/concurrent_heap.hpp names.
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "support/sanitizers.hpp"

namespace {

using cairn::asserts_enabled;
using cairn::concurrent_heap;
using cairn::expect_broken_promise;
using cairn::misuse_kind;
using namespace cairn::literals;

TEST(concurrent_heap, a_block_freed_twice_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    concurrent_heap h{cairn::system_pages(), {.name = "jobs"}};
    void* const p = h.allocate(100);
    h.deallocate(p, 100);
    const auto twice = expect_broken_promise([&] { h.deallocate(p, 100); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_TRUE(twice.says("concurrent_heap 'jobs' at")) << twice;
    EXPECT_EQ(twice.value("bytes of the block"), 112u);
    const auto unsized = expect_broken_promise([&] { h.deallocate(p); });
    EXPECT_EQ(unsized.kind(), misuse_kind::double_free) << unsized;
    void* const large = h.allocate(100_KiB);
    h.deallocate(large, 100_KiB);
    const auto of_large = expect_broken_promise([&] { h.deallocate(large, 100_KiB); });
    EXPECT_EQ(of_large.kind(), misuse_kind::foreign_pointer) << of_large;
}

TEST(concurrent_heap, a_slot_behind_the_last_one_of_its_chunk_is_refused) {
    std::array<std::byte, 100> memory;
    std::array<cairn::detail::slot_chunk::word, 1> bits;
    cairn::detail::slot_chunk c;
    c.begin = memory.data();
    c.cut(48, 2, bits.data());
    std::array<void*, 2> slots{};
    EXPECT_EQ(c.take(slots.data(), 2), 2u);
    EXPECT_FALSE(c.give(memory.data() + 96));
    EXPECT_EQ(c.free_count, 0u);
    EXPECT_TRUE(c.give(slots[1]));
}

TEST(concurrent_heap, a_wrong_size_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    concurrent_heap h;
    void* const p = h.allocate(100);
    void* const large = h.allocate(100_KiB);
    EXPECT_EQ(expect_broken_promise([&] { h.deallocate(p, 200); }).kind(), misuse_kind::wrong_size);
    const auto as_large = expect_broken_promise([&] { h.deallocate(p, 100_KiB); });
    EXPECT_EQ(as_large.kind(), misuse_kind::wrong_size) << as_large;
    EXPECT_EQ(as_large.value("bytes freed"), 100_KiB);
    EXPECT_EQ(expect_broken_promise([&] { h.deallocate(large, 100); }).kind(),
              misuse_kind::wrong_size);
    EXPECT_EQ(expect_broken_promise([&] { h.deallocate(large, 300_KiB); }).kind(),
              misuse_kind::wrong_size);
}

TEST(concurrent_heap, a_foreign_address_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    concurrent_heap h;
    concurrent_heap other;
    auto* const p = static_cast<std::byte*>(h.allocate(100));
    void* const foreign = other.allocate(100);
    int local = 0;
    const auto kind_of = [&](void* address) {
        return expect_broken_promise([&] { h.deallocate(address); }).kind();
    };
    EXPECT_EQ(kind_of(foreign), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(&local), misuse_kind::foreign_pointer);
    EXPECT_EQ(kind_of(p + 16), misuse_kind::foreign_pointer);
    auto* const large = static_cast<std::byte*>(h.allocate(100_KiB));
    for (const std::size_t size : {8u, 84u, 100u, 100'000u}) {
        for (std::byte* const block : {p, large}) {
            EXPECT_EQ(expect_broken_promise([&] { h.deallocate(block + 16, size); }).kind(),
                      misuse_kind::foreign_pointer)
                << size;
        }
    }
    EXPECT_EQ(expect_broken_promise([&] { h.deallocate(foreign, 100); }).kind(),
              misuse_kind::foreign_pointer);
    EXPECT_EQ(expect_broken_promise([&] { (void)h.usable_size(foreign); }).kind(),
              misuse_kind::foreign_pointer);
}

#if !defined(_WIN32)  // where the lock of the class stays held
// In every build: the second slot comes to its chunk while the first is there.
TEST(concurrent_heap, a_slot_that_comes_to_its_chunk_twice_stops_every_build) {
    concurrent_heap h;
    void* const p = h.allocate(100);
    const auto twice = expect_broken_promise([&] {
        h.deallocate(p, 100);
        h.release_this_thread();
        h.deallocate(p, 100);
        h.release_this_thread();
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
}

// In every build: its chunk is not there any more. Checked builds name it at the free.
TEST(concurrent_heap, a_slot_that_comes_back_after_its_chunk_went_stops_every_build) {
    concurrent_heap h;
    void* const p = h.allocate(100);
    h.deallocate(p, 100);
    h.release_this_thread();
    h.trim();
    ASSERT_FALSE(h.owns(p));
    const auto twice = expect_broken_promise([&] {
        h.deallocate(p, 100);
        h.release_this_thread();
    });
    EXPECT_EQ(twice.kind(),
              asserts_enabled ? misuse_kind::foreign_pointer : misuse_kind::double_free)
        << twice;
}

cairn::detail::installed_handler told;

TEST(concurrent_heap, a_handler_may_allocate_from_the_heap_of_a_thread_that_ends) {
    if (asserts_enabled) { GTEST_SKIP() << "the second free is told at once"; }
    static concurrent_heap h;
    const auto twice = expect_broken_promise([] {
        told = cairn::set_assert_handler([](const cairn::broken_promise& broken, void*) {
            if (h.allocate(100) != nullptr) { told.handler(broken, told.context); }
        });
        std::thread{[] {
            void* const p = h.allocate(100);
            void* const q = h.allocate(100);
            h.deallocate(p, 100);
            h.deallocate(q, 100);
            h.deallocate(p, 100);
        }}.join();
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
}
#endif

// In every build: the map knows of no block there.
TEST(concurrent_heap, an_unsized_free_of_memory_that_went_back_stops_every_build) {
    concurrent_heap h;
    for (const std::size_t size : {100_B, 100_KiB}) {
        void* const p = h.allocate(size);
        h.deallocate(p);
        h.release_this_thread();
        h.trim();
        ASSERT_FALSE(h.owns(p));
        const auto twice = expect_broken_promise([&] { h.deallocate(p); });
        EXPECT_EQ(twice.kind(), misuse_kind::foreign_pointer) << twice;
        const auto by_view = expect_broken_promise([&] { h.local().deallocate(p); });
        EXPECT_EQ(by_view.kind(), misuse_kind::foreign_pointer) << by_view;
    }
}

// In every build: the slot is the newest of the thread's stack.
TEST(concurrent_heap, a_slot_freed_twice_in_a_row_stops_every_build) {
    concurrent_heap h{cairn::system_pages(), {.name = "jobs"}};
    for (const std::size_t count : {1u, 8u, 200u}) {  // also with a full stack, and a longer one
        const auto twice = expect_broken_promise([&] {
            std::array<void*, 200> blocks{};
            for (std::size_t i = 0; i < count; ++i) { blocks[i] = h.allocate(100); }
            for (std::size_t i = 0; i < count; ++i) { h.deallocate(blocks[i], 100); }
            h.deallocate(blocks[count - 1], 100);
        });
        EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    }
    void* const p = h.allocate(100);
    const auto unsized = expect_broken_promise([&] {
        h.deallocate(p);
        h.deallocate(p);
    });
    EXPECT_EQ(unsized.kind(), misuse_kind::double_free) << unsized;
}

// In every build: free slots hold nothing of the heap.
TEST(concurrent_heap, a_write_to_freed_blocks_leads_nowhere) {
    concurrent_heap h;
    std::array<void*, 200> blocks{};
    for (const bool of_chunks : {false, true}) {
        for (auto& p : blocks) { p = h.allocate(100); }
        for (auto* p : blocks) { h.deallocate(p, 100); }
        if (of_chunks) { h.release_this_thread(); }
        for (auto* p : blocks) {
            cairn::unpoison(p, 100);
            std::memset(p, 0x41, 100);
        }
        for (auto& p : blocks) {
            p = h.allocate(100);
            EXPECT_TRUE(h.owns(p) && cairn::detail::is_aligned(p, cairn::default_alignment));
        }
        h.validate();
        std::sort(blocks.begin(), blocks.end(), std::less<>{});
        EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
        for (auto* p : blocks) { h.deallocate(p, 100); }
    }
}

TEST(concurrent_heap, free_bytes_are_poisoned) {
    if (!cairn::detail::poison_is_queryable) { GTEST_SKIP() << "no AddressSanitizer"; }
    concurrent_heap h;
    auto* const p = static_cast<std::byte*>(h.allocate(100));
    EXPECT_FALSE(cairn::is_poisoned(p));
    EXPECT_FALSE(cairn::is_poisoned(p + 99));
    EXPECT_TRUE(cairn::is_poisoned(p + 104));
    (void)h.usable_size(p);
    EXPECT_FALSE(cairn::is_poisoned(p + 111));
    h.deallocate(p, 100);
    EXPECT_TRUE(cairn::is_poisoned(p));
    auto* const large = static_cast<std::byte*>(h.allocate(100_KiB));
    EXPECT_FALSE(cairn::is_poisoned(large + 100_KiB - 1));
    EXPECT_TRUE(cairn::is_poisoned(large + 100_KiB));
    h.deallocate(large);
    EXPECT_TRUE(cairn::is_poisoned(large));
}

TEST(concurrent_heap, a_named_heap_knows_its_addresses) {
    concurrent_heap h{cairn::system_pages(), {.name = "jobs"}};
    auto* const p = static_cast<std::byte*>(h.allocate(100));
    char text[200] = {};
    if (!cairn::asserts_enabled) {
        EXPECT_FALSE(cairn::describe_address(p, text, sizeof text));
        return;
    }
    ASSERT_TRUE(cairn::describe_address(p + 8, text, sizeof text));
    EXPECT_NE(std::string{text}.find("8 bytes into slot"), std::string::npos) << text;
    EXPECT_NE(std::string{text}.find("of concurrent_heap 'jobs' (112 bytes, live)"),
              std::string::npos)
        << text;
    h.deallocate(p, 100);
    ASSERT_TRUE(cairn::describe_address(p, text, sizeof text));
    EXPECT_NE(std::string{text}.find("free"), std::string::npos) << text;
}

}  // namespace
