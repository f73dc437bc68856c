// Behaviours of cairn/os/page_allocator.hpp.
#include <cairn/core/make.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "support/allocator_contract.hpp"

using namespace cairn;

namespace {
const std::size_t page = page_memory::size();
}

TEST(page_allocator, keeps_the_shared_contract) {
    page_allocator pages;
    check_allocator_contract(pages, 1,
                             {.size_max = 20000, .align_log2_max = 16, .block_count = 60});
    page_allocator eager{{.huge_pages = true, .prefault = true, .name = "cairn contract"}};
    check_allocator_contract(eager, 2,
                             {.size_max = 20000, .align_log2_max = 16, .block_count = 60});
}

TEST(page_allocator, gives_whole_pages_of_zeros) {
    page_allocator pages;
    EXPECT_EQ(pages.good_size(0), page);
    EXPECT_EQ(pages.good_size(1), page);
    EXPECT_EQ(pages.good_size(page), page);
    EXPECT_EQ(pages.good_size(page + 1), 2 * page);
    EXPECT_EQ(pages.good_size(SIZE_MAX), SIZE_MAX);
    auto* const p = static_cast<std::byte*>(pages.allocate(100));
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(detail::is_aligned(p, alignment{page}));
    for (std::size_t i = 0; i < page; ++i) { ASSERT_EQ(p[i], std::byte{0}); }
    std::memset(p, 1, pages.good_size(100));
    pages.deallocate(p, 100);
}

TEST(page_allocator, freed_pages_fault) {
    page_allocator pages;
    auto* const p = static_cast<volatile std::byte*>(pages.allocate(100));
    ASSERT_NE(p, nullptr);
    // In one breath: the next thing that maps memory may get the address.
    const auto frees_and_writes = [&] {
        pages.deallocate(const_cast<std::byte*>(p), 100);
        p[0] = std::byte{1};
    };
    EXPECT_DEATH(frees_and_writes(), "");
    pages.deallocate(const_cast<std::byte*>(p), 100);
}

TEST(page_allocator, shrinking_always_works_and_gives_pages_back) {
    page_allocator pages;
    auto* const p = static_cast<std::byte*>(pages.allocate(10 * page));
    ASSERT_NE(p, nullptr);
    std::memset(p, 0x5A, 10 * page);
    ASSERT_TRUE(pages.try_resize(p, 10 * page, 3 * page + 1));
    EXPECT_EQ(p[4 * page - 1], std::byte{0x5A});
    EXPECT_DEATH(static_cast<volatile std::byte*>(p)[4 * page] = std::byte{1}, "");
    ASSERT_TRUE(pages.try_resize(p, 3 * page + 1, 3 * page + 100)) << "the same pages";
    ASSERT_TRUE(pages.try_resize(p, 3 * page + 100, 0)) << "to nothing: one page stays";
    EXPECT_EQ(p[page - 1], std::byte{0x5A});
    EXPECT_FALSE(pages.try_resize(p, 0, SIZE_MAX));
    EXPECT_FALSE(pages.try_resize(p, 0, std::size_t{1} << 60));
    pages.deallocate(p, 0);
}

TEST(page_allocator, growing_in_place_keeps_the_content_and_never_moves) {
    page_allocator pages{{.prefault = true}};
    auto* const p = static_cast<std::byte*>(pages.allocate(64 * page));
    ASSERT_NE(p, nullptr);
    std::memset(p, 0x5A, 64 * page);
    std::size_t size = page;
    ASSERT_TRUE(pages.try_resize(p, 64 * page, size));
    // The addresses behind were ours a moment ago; growing into them may be refused, never wrong.
    while (size < 64 * page && pages.try_resize(p, size, size + 7 * page)) {
        size += 7 * page;
        EXPECT_EQ(page_memory::resident_bytes(p, size), size) << "grown pages are prefaulted too";
        EXPECT_EQ(p[size - page], std::byte{0}) << "grown pages are fresh";
    }
    EXPECT_EQ(p[0], std::byte{0x5A});
    pages.deallocate(p, size);
}

TEST(page_allocator, a_prefaulted_block_is_resident_at_once) {
    page_allocator lazy;
    page_allocator eager{{.prefault = true}};
    void* const a = lazy.allocate(64 * page);
    void* const b = eager.allocate(64 * page);
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(page_memory::resident_bytes(a, 64 * page), 0u);
    EXPECT_EQ(page_memory::resident_bytes(b, 64 * page), 64 * page);
    lazy.deallocate(a, 64 * page);
    eager.deallocate(b, 64 * page);
}

TEST(page_allocator, blocks_that_may_have_huge_pages_are_aligned_to_one) {
    page_allocator pages{{.huge_pages = true}};
    const std::size_t huge = page_memory::huge_size();
    void* const big = pages.allocate(huge + 1);
    void* const small = pages.allocate(page);
    ASSERT_TRUE(big != nullptr && small != nullptr);
    EXPECT_TRUE(detail::is_aligned(big, alignment{huge}));
    pages.deallocate(big, huge + 1);
    pages.deallocate(small, page);
}

#if defined(__linux__)
TEST(page_allocator, a_block_of_just_one_huge_page_is_aligned_to_it) {
    page_allocator memory{{.huge_pages = true}};
    const std::size_t huge = page_memory::huge_size();
    for (int i = 0; i < 4; ++i) {  // by chance one could be
        void* const p = memory.allocate(huge);
        EXPECT_TRUE(detail::is_aligned(p, alignment{huge}));
        memory.deallocate(p, huge);
        void* const other = memory.allocate(page);  // moves the next addresses
        memory.deallocate(other, page);
    }
}

TEST(page_allocator, names_its_blocks) {
    page_allocator pages{{.name = "cairn levels"}};
    void* const p = pages.allocate(page);
    ASSERT_NE(p, nullptr);
    std::ifstream maps{"/proc/self/maps"};
    bool found = false;
    for (std::string line; std::getline(maps, line);) {
        found = found || line.find("[anon:cairn levels]") != std::string::npos;
    }
    pages.deallocate(p, page);
    if (!found) { GTEST_SKIP() << "this kernel does not name anonymous memory"; }
}
#endif

TEST(page_allocator, poison_left_in_a_freed_block_does_not_stick_to_the_addresses) {
    if (!detail::poison_is_queryable) { GTEST_SKIP() << "only AddressSanitizer answers"; }
    page_allocator pages;
    void* const p = pages.allocate(4 * page);
    ASSERT_NE(p, nullptr);
    poison(p, 4 * page);  // as an arena on top does with what it has not given out
    pages.deallocate(p, 4 * page);
    EXPECT_FALSE(is_poisoned(p));
}

TEST(page_allocator, everybody_can_refer_to_the_plain_one) {
    const allocator_ref pages = system_pages();
    EXPECT_EQ(pages, system_pages());
    EXPECT_EQ(pages.good_size(1), page);
    int* const p = make<int>(pages, 7);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(*p, 7);
    destroy(pages, p);
}

#if defined(__linux__)
TEST(page_allocator, a_block_becomes_the_beginning_of_another_one) {
    page_allocator pages;
    const std::size_t size = 64 * page - 100;
    auto* from = static_cast<std::byte*>(pages.allocate(size));
    ASSERT_NE(from, nullptr);
    for (std::size_t i = 0; i < size; ++i) { from[i] = static_cast<std::byte>(i % 251); }
    std::size_t from_size = size;
    for (const std::size_t to_size : {64 * page, 200 * page, 200 * page + 1, 1000 * page}) {
        auto* const to = static_cast<std::byte*>(pages.allocate(to_size));
        ASSERT_NE(to, nullptr);
        std::memset(to, 0xEE, to_size);
        ASSERT_TRUE(pages.try_move(from, from_size, to, to_size));
        for (std::size_t i = 0; i < size; ++i) {
            ASSERT_EQ(to[i], static_cast<std::byte>(i % 251)) << i << " of " << to_size;
        }
        EXPECT_EQ(to[to_size - 1], std::byte{0}) << "behind the moved pages it reads zero";
        from = to;
        from_size = to_size;
    }
    pages.deallocate(from, from_size);
}

TEST(page_allocator, moved_pages_leave_their_addresses) {
    page_allocator pages;
    auto* const from = static_cast<volatile std::byte*>(pages.allocate(8 * page));
    void* const to = pages.allocate(16 * page);
    ASSERT_NE(to, nullptr);
    poison(const_cast<std::byte*>(from), page);  // as a container does behind its last element
    const auto moves_and_writes = [&] {
        if (pages.try_move(const_cast<std::byte*>(from), 8 * page, to, 16 * page)) {
            from[0] = std::byte{1};
        }
    };
    EXPECT_DEATH(moves_and_writes(), "");
    ASSERT_TRUE(pages.try_move(const_cast<std::byte*>(from), 8 * page, to, 16 * page));
    EXPECT_FALSE(is_poisoned(const_cast<std::byte*>(from)));
    pages.deallocate(to, 16 * page);
}

TEST(page_allocator, prefaulted_blocks_are_copied) {
    page_allocator pages{{.prefault = true}};
    void* const from = pages.allocate(8 * page);
    void* const to = pages.allocate(16 * page);
    EXPECT_FALSE(pages.try_move(from, 8 * page, to, 16 * page));
    EXPECT_EQ(page_memory::resident_bytes(to, 16 * page), 16 * page);
    pages.deallocate(from, 8 * page);
    pages.deallocate(to, 16 * page);
}
#endif
