// Sentences of cairn/debug/guarded.hpp about blocks: how they come back, wait in the quarantine,
// and the reports about them.
#include <cairn/alloc/arena.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/death_words.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(guarded, keeps_the_shared_contract_in_every_mode) {
    test_upstream heap;
    {
        guarded memory{heap};
        check_allocator_contract(memory, 1);
        guarded kept{heap, {.quarantine_count = 50}};
        check_allocator_contract(kept, 2);
        guarded paged{heap, {.page_guard_every = 1}};
        check_allocator_contract(paged, 3, {.size_max = 6000, .align_log2_max = 13});
        guarded sampled{heap, {.quarantine_count = 10, .page_guard_every = 3}};
        check_allocator_contract(sampled, 4, {.size_max = 6000});
    }
    EXPECT_EQ(heap.live_count(), 0u);
}

TEST(guarded, an_alignment_that_is_too_large_is_as_wrong_as_one_that_is_too_small) {
    test_upstream heap;
    guarded memory{heap};
    void* const p = memory.allocate(64, alignment{64});
    EXPECT_DEATH(memory.deallocate(p, 64, alignment{128}), "the alignment it was allocated with");
    EXPECT_DEATH(memory.deallocate(p, 64, alignment{32}), "the alignment it was allocated with");
    memory.deallocate(p, 64, alignment{64});
}

TEST(guarded, a_double_free_names_who_was_first) {
    test_upstream heap;
    guarded memory{heap};
    void* const p = memory.allocate(100);
    memory.deallocate(p, 100);
    EXPECT_DEATH(memory.deallocate(p, 100),
                 in_this_order({"a block is freed once", "was freed before, by ", "blocks.cpp"}));
    guarded kept{heap, {.quarantine_count = 4}};
    void* const q = kept.allocate(100);
    kept.deallocate(q, 100);
    EXPECT_DEATH(kept.deallocate(q, 100), "a block is freed once");
}

TEST(guarded, lines_that_came_through_a_ref_are_named_or_it_says_that_only_checked_builds_do) {
    test_upstream heap;
    guarded memory{heap, {.quarantine_count = 4}};
    allocator_ref ref{memory};
    const std::string line =
        asserts_enabled ? " by .*blocks.cpp:" : " by .a line that only checked builds name";
    void* const p = ref.allocate(100, default_alignment);
    EXPECT_DEATH(ref.deallocate(p, 99, default_alignment), "allocated" + line);
    ref.deallocate(p, 100, default_alignment);
    if (asserts_enabled) {
        EXPECT_DEATH(ref.deallocate(p, 100, default_alignment), "was freed before," + line);
    }
}

TEST(guarded, wrong_size_wrong_alignment_and_strangers_are_named) {
    test_upstream heap;
    guarded memory{heap};
    const std::string line = "blocks.cpp:" + std::to_string(__LINE__ + 1);
    void* const p = memory.allocate(100, alignment{32});
    EXPECT_DEATH(memory.deallocate(p, 99, alignment{32}),
                 in_this_order({"freed with the size it was allocated with", "allocated by", line,
                                "is freed as 99"}));
    EXPECT_DEATH(
        memory.deallocate(p, 100, alignment{16}),
        in_this_order({"freed with the alignment it was allocated with", "allocated by", line}));
    int stranger = 0;
    EXPECT_DEATH(memory.deallocate(&stranger, sizeof stranger), "was given out here");
    EXPECT_DEATH(memory.deallocate(static_cast<char*>(p) + 16, 84, alignment{32}),
                 "was given out here");
    memory.deallocate(p, 100, alignment{32});
}

TEST(guarded, the_quarantine_gives_the_oldest_back_first) {
    test_upstream heap;
    guarded memory{heap, {.quarantine_count = 3}};
    for (std::size_t i = 1; i <= 10; ++i) {
        memory.deallocate(memory.allocate(i), i);
        EXPECT_EQ(heap.live_count(), i < 3 ? i : 3u);
    }
}

TEST(guarded, a_refused_request_changes_nothing) {
    test_upstream heap;
    failing limited{heap};
    guarded memory{limited, {.page_guard_every = 2}};
    for (std::size_t n = 0; n < 4; ++n) {
        limited.refuse_from(limited.request_count(), 1);
        EXPECT_EQ(memory.allocate(100), nullptr);
        void* const p = memory.allocate(100);
        ASSERT_NE(p, nullptr);
        memory.deallocate(p, 100);
    }
    EXPECT_EQ(heap.live_count(), 0u);
}

TEST(guarded, wrappers_compose_in_any_order) {
    test_upstream heap;
    tracked outer_counted{heap, {.list = true}};
    guarded fenced{outer_counted};
    tracked counted{fenced, {.list = true}};
    check_allocator_contract(counted, 5);
    EXPECT_GT(outer_counted.stats().peak_size, counted.stats().peak_size);
}

TEST(guarded, random_operations_with_every_option_never_cry_wolf) {
    const unsigned seed = 5;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    test_upstream heap;
    guarded memory{heap, {.quarantine_count = 20, .page_guard_every = 7}};
    struct block {
        void* data;
        std::size_t size;
        alignment align;
    };
    std::vector<block> live;
    for (int step = 0; step < 5000; ++step) {
        if (live.empty() || random() % 2 == 0) {
            const std::size_t size = random() % 300;
            const alignment align{std::size_t{1} << random() % 8};
            void* const p = memory.allocate(size, align);
            ASSERT_NE(p, nullptr);
            std::memset(p, static_cast<int>(random()), size);
            live.push_back({p, size, align});
        } else {
            const std::size_t i = random() % live.size();
            std::swap(live[i], live.back());
            memory.deallocate(live.back().data, live.back().size, live.back().align);
            live.pop_back();
        }
        if (step % 100 == 0) { memory.validate(); }
    }
    for (const block& b : live) { memory.deallocate(b.data, b.size, b.align); }
}

TEST(guarded, rewind_reaches_the_arena_inside) {
    guarded<arena> memory{guard_options{}, std::size_t{4096}};
    const auto here = memory.mark();
    (void)memory.allocate(16);
    EXPECT_GT(memory.inner().used_size(), 0u);
    memory.rewind(here);
    EXPECT_EQ(memory.inner().used_size(), 0u);
}

TEST(guarded, a_quarantine_of_one_holds_one) {
    test_upstream heap;
    guarded memory{heap, guard_options{.quarantine_count = 1}};
    memory.deallocate(memory.allocate(16), 16);
    EXPECT_EQ(memory.quarantined_count(), 1u);
}

TEST(guarded, validate_passes_over_what_a_rewind_took_out_of_the_quarantine) {
    guarded<arena> memory{guard_options{.quarantine_count = 8}, std::size_t{4096}};
    const auto here = memory.mark();
    memory.deallocate(memory.allocate(16), 16);
    memory.rewind(here);
    memory.validate();
    EXPECT_EQ(memory.live_count(), 0u);
}

TEST(guarded, with_a_name_tells_who_allocated_or_freed_what_lies_at_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    test_upstream upstream;
    guarded memory{upstream, {.quarantine_count = 1, .name = "textures"}};
    const auto where = [](const void* address) {
        char text[512];
        return std::string{describe_address(address, text, sizeof text) ? text : ""};
    };
    auto* const p = static_cast<char*>(memory.allocate(100));
    EXPECT_NE(
        where(p + 99).find(" lies 99 bytes into block 0 of guarded 'textures' (100 bytes, live), "
                           "allocated by " __FILE__),
        std::string::npos)
        << where(p + 99);
    EXPECT_NE(where(p - 4).find(" lies 4 bytes in front of block 0"), std::string::npos);
    EXPECT_NE(where(p + 100).find(" lies 100 bytes into block 0"), std::string::npos)
        << "the fence";
    memory.deallocate(p, 100);
    EXPECT_NE(where(p + 4).find("(100 bytes, freed), freed by " __FILE__), std::string::npos);
    memory.deallocate(memory.allocate(10), 10);  // out of the quarantine, and remembered
    EXPECT_NE(where(p + 4).find("(100 bytes, freed), freed by " __FILE__), std::string::npos);
    EXPECT_EQ(where(&memory), "");

    guarded waits{upstream, {.quarantine_count = 80, .name = "waits"}};  // more than are remembered
    std::vector<char*> blocks;
    for (std::size_t i = 0; i < 80; ++i) {
        blocks.push_back(static_cast<char*>(waits.allocate(100 + i)));
    }
    for (std::size_t i = 0; i < 80; ++i) { waits.deallocate(blocks[i], 100 + i); }
    for (std::size_t i = 0; i < 80; ++i) {
        const std::string expected = "block " + std::to_string(i) + " of guarded 'waits' (" +
                                     std::to_string(100 + i) + " bytes, freed)";
        EXPECT_NE(where(blocks[i]).find(expected), std::string::npos) << where(blocks[i]);
    }

    arena same{1_KiB};
    guarded<arena&> in_arena{same, {.name = "in arena"}};
    for (const std::size_t size : {48u, 40u, 33u}) {  // at one address, each
        void* const block = in_arena.allocate(size);
        in_arena.deallocate(block, size);
        const std::string expected = "(" + std::to_string(size) + " bytes, freed)";
        EXPECT_NE(where(block).find(expected), std::string::npos) << where(block);
    }
}

TEST(guarded, trim_gives_back_the_records_of_a_peak) {
    test_upstream heap;
    guarded memory{heap};
    EXPECT_EQ(memory.trim(), 0u);
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) { blocks.push_back(memory.allocate(16)); }
    void* const kept = memory.allocate(16);
    for (void* const p : blocks) { memory.deallocate(p, 16); }
    EXPECT_GT(memory.trim(), 2000 * sizeof(detail::block_record));
    memory.validate();
    memory.deallocate(kept, 16);
    EXPECT_GT(memory.trim(), 0u);
}
