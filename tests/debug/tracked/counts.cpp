// Sentences of cairn/debug/tracked.hpp about what it counts and checks, alone and around others.
#include <cairn/core/make.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/death_words.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

TEST(tracked, keeps_the_shared_contract_with_and_without_the_list) {
    test_upstream heap;
    tracked plain{heap};
    check_allocator_contract(plain, 1);
    tracked listed{heap, {.list = true}};
    check_allocator_contract(listed, 2);
    EXPECT_EQ(plain.stats().live_size + listed.stats().live_size, 0u);
}

TEST(tracked, counts_what_is_live_the_most_there_was_and_what_was_refused) {
    test_upstream heap;
    tracked memory{heap};
    void* const a = memory.allocate(100);
    void* const b = memory.allocate(50);
    memory.deallocate(a, 100);
    void* const c = memory.allocate(20);
    EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
    const detail::track_stats& s = memory.stats();
    EXPECT_EQ(s.live_count, 2u);
    EXPECT_EQ(s.live_size, 70u);
    EXPECT_EQ(s.peak_size, 150u);
    EXPECT_EQ(s.peak_count, 2u);
    EXPECT_EQ(s.allocated_count, 3u);
    EXPECT_EQ(s.allocated_size, 170u);
    EXPECT_EQ(s.refused_count, 1u);
    EXPECT_EQ(s.refused_size, SIZE_MAX);
    EXPECT_EQ(memory.live_size(), 70u) << "the words of budget";
    EXPECT_EQ(memory.peak_size(), 150u);
    memory.deallocate(b, 50);
    memory.deallocate(c, 20);
}

TEST(tracked, the_list_names_a_wrong_size_a_wrong_alignment_and_a_stranger_in_any_build) {
    test_upstream heap;
    tracked memory{heap, {.name = "textures", .list = true}};
    const std::string line = "counts.cpp:" + std::to_string(__LINE__ + 1);
    void* const p = memory.allocate(100, alignment{32});
    EXPECT_DEATH(memory.deallocate(p, 96, alignment{32}),
                 in_this_order({"freed with the size and alignment", "from ", line}));
    EXPECT_DEATH(memory.deallocate(p, 100, alignment{16}), "freed with the size and alignment");
    int stranger = 0;
    EXPECT_DEATH(memory.deallocate(&stranger, 4), "is no live block of 'textures'");
    memory.deallocate(p, 100, alignment{32});
    EXPECT_DEATH(memory.deallocate(p, 100, alignment{32}), "a block that comes back is live");
}

TEST(tracked, even_without_the_list_more_cannot_come_back_than_was_given) {
    test_upstream heap;
    tracked memory{heap};
    void* const p = memory.allocate(100);
    EXPECT_DEATH(memory.deallocate(p, 101), "no more comes back than was given out");
    memory.deallocate(p, 100);
}

TEST(tracked, resizing_is_counted) {
    page_allocator pages;
    tracked memory{pages, {.list = true}};
    void* const p = memory.allocate(100);
    ASSERT_TRUE(memory.try_resize(p, 100, 3000));
    EXPECT_EQ(memory.stats().live_size, 3000u);
    EXPECT_EQ(memory.stats().peak_size, 3000u);
    ASSERT_TRUE(memory.try_resize(p, 3000, 10));
    EXPECT_EQ(memory.stats().live_size, 10u);
    memory.deallocate(p, 10);  // and the list knows the new size
}

TEST(tracked, wrappers_compose_in_any_order) {
    test_upstream heap;
    failing limited{heap};
    limited.limit_size(100);
    tracked outer{limited};
    tracked<failing<test_upstream&>> owning{track_options{}, heap};
    void* const p = outer.allocate(100);
    EXPECT_EQ(outer.allocate(1), nullptr);
    EXPECT_EQ(outer.stats().refused_count, 1u);
    outer.deallocate(p, 100);
    owning.inner().refuse_every(1);
    EXPECT_EQ(owning.allocate(1), nullptr);
    int* const n = make<int>(outer, 5);
    destroy(outer, n);
}

TEST(tracked, the_list_agrees_with_a_model_over_random_operations) {
    const unsigned seed = 7;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    test_upstream heap;
    tracked memory{heap, {.list = true}};
    std::map<void*, std::size_t> model;
    std::size_t bytes = 0;
    for (int step = 0; step < 20000; ++step) {
        if (model.empty() || random() % 100 < 52) {
            const std::size_t size = 1 + random() % 64;
            void* const p = memory.allocate(size);
            ASSERT_TRUE(model.emplace(p, size).second);
            bytes += size;
        } else {
            auto it = model.lower_bound(reinterpret_cast<void*>(random() * std::uintptr_t{4096}));
            if (it == model.end()) { it = model.begin(); }
            memory.deallocate(it->first, it->second);  // names any disagreement
            bytes -= it->second;
            model.erase(it);
        }
        ASSERT_EQ(memory.stats().live_size, bytes);
        ASSERT_EQ(memory.stats().live_count, model.size());
    }
    for (const auto& [p, size] : model) { memory.deallocate(p, size); }
    EXPECT_EQ(memory.stats().live_count, 0u);
}

TEST(tracked, trim_gives_back_the_list_of_a_peak_and_keeps_the_sites) {
    tracked<system_allocator> plain{track_options{}};
    EXPECT_EQ(plain.trim(), 0u);
    tracked<system_allocator> listed{track_options{.list = true}};
    std::vector<void*> blocks;
    for (int i = 0; i < 10'000; ++i) { blocks.push_back(listed.allocate(16)); }
    while (blocks.size() > 10) {
        listed.deallocate(blocks.back(), 16);
        blocks.pop_back();
    }
    EXPECT_GT(listed.trim(), 10'000 * sizeof(detail::block_record));
    EXPECT_EQ(listed.trim(), 0u);
    track_site site[2];
    EXPECT_EQ(listed.sites(site), 1u);
    EXPECT_EQ(site[0].count, 10u);
    for (void* const p : blocks) { listed.deallocate(p, 16); }
    EXPECT_GT(listed.trim(), 0u);
    EXPECT_EQ(listed.stats().live_size, 0u);
}
