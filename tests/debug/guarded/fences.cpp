// Sentences of cairn/debug/guarded.hpp about writes outside of blocks and into freed ones: fences,
// fillings and pages.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {
void write_byte(void* block, std::ptrdiff_t offset, int value = 0x41) {
    static_cast<volatile unsigned char*>(block)[offset] = static_cast<unsigned char>(value);
}

/// AddressSanitizer is mostly faster: it stops the write itself, where guarded names it afterwards.
std::string named(const char* sentence) {
    return detail::poison_is_queryable ? std::string{"AddressSanitizer|"} + sentence : sentence;
}
}  // namespace

TEST(guarded, fresh_memory_is_filled_and_the_first_byte_too_far_is_a_fence) {
    test_upstream heap;
    guarded memory{heap};
    auto* const p = static_cast<unsigned char*>(memory.allocate(13));
    ASSERT_NE(p, nullptr);
    for (int i = 0; i < 13; ++i) { EXPECT_EQ(p[i], 0xCD); }
    if (!detail::poison_is_watched) {
        EXPECT_EQ(p[13], 0xFD);
        EXPECT_EQ(p[-1], 0xFD);
    }
    memory.deallocate(p, 13);
    EXPECT_EQ(guarded<test_upstream&>::footprint(13, alignment{8}), 13u + 32u);
}

TEST(guarded, a_write_behind_a_block_is_named_when_it_comes_back) {
    test_upstream heap;
    guarded memory{heap};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
        void* const p = memory.allocate(size);
        const auto behind = static_cast<std::ptrdiff_t>(size);
        for (const std::ptrdiff_t offset : {behind, behind + 15}) {
            EXPECT_DEATH(
                {
                    write_byte(p, offset);
                    memory.deallocate(p, size);
                },
                named("the bytes behind a block stay as they are"));
        }
        memory.deallocate(p, size);
    }
}

TEST(guarded, a_write_in_front_of_a_block_is_named_when_it_comes_back) {
    test_upstream heap;
    guarded memory{heap};
    void* const p = memory.allocate(100, alignment{64});
    for (const std::ptrdiff_t offset : {-1, -16, -64}) {
        EXPECT_DEATH(
            {
                write_byte(p, offset);
                memory.deallocate(p, 100, alignment{64});
            },
            named("the bytes in front of a block stay as they are"));
    }
    memory.deallocate(p, 100, alignment{64});
}

TEST(guarded, validate_finds_it_without_waiting_for_the_free) {
    test_upstream heap;
    guarded memory{heap};
    void* const a = memory.allocate(100);
    void* const b = memory.allocate(100);
    memory.validate();
    EXPECT_DEATH(
        {
            write_byte(b, 100);
            memory.validate();
        },
        named("byte 100 of .* was overwritten with 41"));
    memory.deallocate(a, 100);
    memory.deallocate(b, 100);
}

TEST(guarded, validate_looks_at_the_fences_of_freed_blocks_too) {
    test_upstream heap;
    guarded memory{heap, {.quarantine_count = 4}};
    void* const p = memory.allocate(64);
    memory.deallocate(p, 64);
    EXPECT_DEATH(
        {
            write_byte(p, 64);
            memory.validate();
        },
        named("the bytes behind a block stay as they are"));
    EXPECT_DEATH(
        {
            write_byte(p, -1);
            memory.validate();
        },
        named("the bytes in front of a block stay as they are"));
    memory.validate();
}

TEST(guarded, freed_memory_is_filled_before_the_allocator_inside_sees_it) {
    static unsigned char seen = 0;
    struct watcher {
        test_upstream heap;
        void* allocate(std::size_t size, alignment align) noexcept {
            return heap.allocate(size, align);
        }
        void deallocate(void* p, std::size_t size, alignment align) noexcept {
            seen = static_cast<unsigned char*>(p)[16];
            heap.deallocate(p, size, align);
        }
    };
    guarded<watcher> memory{guard_options{}};
    void* const p = memory.allocate(1);
    write_byte(p, 0);
    memory.deallocate(p, 1);
    EXPECT_EQ(seen, 0xDD);
}

TEST(guarded, a_write_after_the_free_is_named_when_the_block_leaves_the_quarantine) {
    test_upstream heap;
    const guard_options keep_two{.quarantine_count = 2};
    EXPECT_DEATH(
        {
            guarded memory(heap, keep_two);
            void* const p = memory.allocate(100);
            memory.deallocate(p, 100);
            write_byte(p, 50);
            memory.deallocate(memory.allocate(8), 8);
            memory.deallocate(memory.allocate(8), 8);
        },
        named("a block that was freed stays as it is"));
    guarded memory{heap, {.quarantine_count = 2}};
    void* const p = memory.allocate(100);
    memory.deallocate(p, 100);
    EXPECT_DEATH(
        {
            write_byte(p, 99);
            memory.validate();
        },
        named("byte 99 of .* was overwritten"));
    EXPECT_EQ(memory.quarantined_count(), 1u);
    EXPECT_EQ(heap.live_count(), 1u) << "still here";
}

TEST(guarded, with_a_page_guard_the_first_byte_too_far_faults) {
    page_allocator pages;
    guarded memory{pages, {.page_guard_every = 1}};
    for (const std::size_t size : {std::size_t{16}, std::size_t{4096}, std::size_t{10000}}) {
        void* const p = memory.allocate(size);
        ASSERT_NE(p, nullptr);
        std::memset(p, 1, size);
        EXPECT_DEATH(write_byte(p, static_cast<std::ptrdiff_t>(size)), "");
        memory.deallocate(p, size);
    }
    // 13 bytes aligned to 16 cannot end where the page does: a fence of 3 bytes, then the fault
    void* const p = memory.allocate(13);
    EXPECT_DEATH(write_byte(p, 16), "");
    EXPECT_DEATH(
        {
            write_byte(p, 13);
            memory.deallocate(p, 13);
        },
        named("the bytes behind a block stay as they are"));
    void* const exact = memory.allocate(13, alignment{1});
    EXPECT_DEATH(write_byte(exact, 13), "") << "without alignment it ends there, to the byte";
    memory.deallocate(exact, 13, alignment{1});
    memory.deallocate(p, 13);
}

#if defined(__linux__)
TEST(guarded, more_page_guards_than_the_system_has_mappings_are_refused_or_left_out) {
    system_allocator heap;
    guarded memory{heap, {.page_guard_every = 1}};
    std::vector<void*> blocks;
    int refused = 0;
    while (blocks.size() < 70'000 && refused < 3) {  // vm.max_map_count is 65,530
        void* const p = memory.allocate(16);
        p != nullptr ? blocks.push_back(p) : void(++refused);
    }
    EXPECT_GT(blocks.size(), 20'000u);
    for (void* p : blocks) { memory.deallocate(p, 16); }
    void* const p = memory.allocate(16);
    ASSERT_NE(p, nullptr) << "it works on";
    memory.deallocate(p, 16);
    memory.validate();
}
#endif

TEST(guarded, the_page_of_a_leaked_block_is_open_again_after_the_guard) {
    page_allocator pages;
    void* p = nullptr;
    {
        guarded memory{pages, {.page_guard_every = 1}};
        p = memory.allocate(4096, alignment{4096});
        ASSERT_NE(p, nullptr);
    }
    write_byte(p, 4096);
    pages.deallocate(p, 4096 + page_memory::size(), alignment{4096});
}

TEST(guarded, grows_and_shrinks_in_place_with_its_fences) {
    guarded<arena> memory{guard_options{}, 64_KiB};
    auto* const p = static_cast<unsigned char*>(memory.allocate(100));
    std::memset(p, 7, 100);
    ASSERT_TRUE(memory.try_resize(p, 100, 1000)) << "the last block of an arena";
    EXPECT_EQ(p[99], 7);
    EXPECT_EQ(p[100], 0xCD);
    EXPECT_EQ(p[999], 0xCD);
    memory.validate();
    ASSERT_TRUE(memory.try_resize(p, 1000, 50));
    memory.validate();
    EXPECT_DEATH(
        {
            write_byte(p, 50);
            memory.validate();
        },
        named("the bytes behind a block stay as they are"));
    EXPECT_FALSE(memory.try_resize(p, 50, SIZE_MAX));
    memory.deallocate(p, 50);
    static_assert(!resizes_in_place<guarded<test_upstream&>>);
}

TEST(guarded, rewind_and_reset_check_what_they_forget) {
    for (const std::size_t quarantine : {0u, 8u}) {
        guarded<arena> memory{guard_options{.quarantine_count = quarantine}, 64_KiB};
        void* const kept = memory.allocate(100);
        const auto here = memory.mark();
        void* const lost = memory.allocate(100);
        memory.deallocate(memory.allocate(10), 10);
        EXPECT_DEATH(
            {
                write_byte(lost, 100);
                memory.rewind(here);
            },
            named("the bytes behind a block stay as they are"));
        memory.rewind(here);
        EXPECT_EQ(memory.live_count(), 1u);
        memory.deallocate(kept, 100);
        memory.reset();
        EXPECT_EQ(memory.live_count(), 0u);
        EXPECT_NE(memory.allocate(100), nullptr);
        memory.reset();
    }
}
