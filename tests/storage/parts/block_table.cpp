// Sentences of cairn/debug/inside/block_table.hpp.
#include <cairn/debug/tracked.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>

#include "support/test_upstream.hpp"

using namespace cairn;

TEST(block_table, finds_exactly_what_was_put_in_whatever_was_erased_in_between) {
    const unsigned seed = 11;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    static std::byte addresses[512];
    detail::block_table table;
    std::map<std::byte*, std::uint64_t> model;
    for (std::uint64_t step = 0; step < 30000; ++step) {
        std::byte* const at = &addresses[random() % 512];
        const auto found = model.find(at);
        detail::block_record* const known = table.find(at);
        ASSERT_EQ(known != nullptr, found != model.end());
        if (known == nullptr) {
            ASSERT_TRUE(table.insert({.data = at, .serial = step}));
            model[at] = step;
        } else {
            ASSERT_EQ(known->serial, found->second);
            table.erase(known);
            model.erase(found);
        }
        if (step % 5000 == 4999) {
            const std::uint64_t since = step - random() % 1000;
            std::size_t erased = 0;
            table.erase_since(since, [&](const detail::block_record&) { ++erased; });
            EXPECT_EQ(erased, std::erase_if(model, [&](auto& m) { return m.second >= since; }));
        }
        ASSERT_EQ(table.count(), model.size());
    }
    std::size_t seen = 0;
    table.for_each([&](const detail::block_record& r) { seen += model.count(r.data); });
    EXPECT_EQ(seen, model.size());
}

TEST(block_table, without_memory_it_says_no_and_is_unchanged) {
    test_upstream heap;
    heap.refuse_from(1);
    detail::block_table table{heap};
    static std::byte addresses[64];
    std::size_t inserted = 0;
    while (inserted < 64 && table.insert({.data = &addresses[inserted]})) { ++inserted; }
    EXPECT_EQ(inserted, 32u) << "half of the 64 slots of the only block it got";
    EXPECT_EQ(table.count(), 32u);
    for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(table.find(&addresses[i]) != nullptr, i < 32);
    }
}

TEST(block_table, gives_each_table_that_it_grew_out_of_back_as_it_was_taken) {
    test_upstream heap;  // which looks at the sizes
    static std::byte addresses[300];
    detail::block_table table{heap};
    for (std::byte& at : addresses) { ASSERT_TRUE(table.insert({.data = &at})); }
    EXPECT_EQ(heap.live_count(), 1u);
    EXPECT_GT(heap.request_count(), 2u);
    for (std::byte& at : addresses) { EXPECT_NE(table.find(&at), nullptr); }
}

TEST(block_table, gives_back_what_a_peak_took_and_finds_the_rest) {
    test_upstream heap;
    static std::byte addresses[20'000];
    detail::block_table table{heap};
    EXPECT_EQ(table.shrink(), 0u) << "there is nothing to give back";
    for (std::byte& at : addresses) { ASSERT_TRUE(table.insert({.data = &at})); }
    const std::size_t peak = heap.live_size();
    for (std::size_t i = 100; i < 20'000; ++i) { table.erase(table.find(&addresses[i])); }
    heap.refuse_from(heap.request_count(), 1);
    EXPECT_EQ(table.shrink(), 0u) << "no memory for the smaller table";
    EXPECT_EQ(heap.live_size(), peak);
    const std::size_t given = table.shrink();
    EXPECT_EQ(given, peak - heap.live_size());
    EXPECT_EQ(heap.live_size(), 256 * sizeof(detail::block_record));
    for (std::size_t i = 0; i < 20'000; ++i) {
        ASSERT_EQ(table.find(&addresses[i]) != nullptr, i < 100);
    }
    for (std::size_t i = 0; i < 100; ++i) { table.erase(table.find(&addresses[i])); }
    EXPECT_GT(table.shrink(), 0u);
    EXPECT_EQ(heap.live_size(), 0u);
    EXPECT_EQ(table.find(&addresses[0]), nullptr);
    EXPECT_TRUE(table.insert({.data = &addresses[0]}));
}
