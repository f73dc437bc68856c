// Sentences of cairn/containers/batches.hpp, without a container; with one they are in its test.
#include <cairn/containers/batches.hpp>
#include <gtest/gtest.h>

#include <vector>

namespace {

using namespace cairn;

struct rows {
    std::size_t first = 0;
    std::size_t count = 0;
    std::size_t size() const { return count; }
    rows subview(std::size_t from, std::size_t n) const { return {first + from, n}; }
};

TEST(batches, each_row_is_in_one_batch) {
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 127u, 128u, 129u, 1000u}) {
        const row_batches<rows> batches{rows{0, count}, 64};
        EXPECT_EQ(batches.size(), (count + 63) / 64);
        std::size_t next = 0;
        for (std::size_t k = 0; k < batches.size(); ++k) {
            EXPECT_EQ(batches[k].first, next);
            EXPECT_GT(batches[k].count, 0u);
            next += batches[k].count;
        }
        EXPECT_EQ(next, count);
    }
}

TEST(batches, of_a_span_end_with_a_cache_line_whatever_the_size_of_an_element) {
    struct twelve_bytes {
        float x, y, z;
    };
    std::vector<twelve_bytes> rows(1000);
    const row_batches<std::span<twelve_bytes>> batches{rows, 1};
    EXPECT_EQ(batches.rows_per_batch() * sizeof(twelve_bytes) % cache_line_size, 0u);
    EXPECT_EQ((row_batches<std::span<twelve_bytes>>{rows, 17}.rows_per_batch()), 32u);
    std::size_t count = 0;
    for (std::span<twelve_bytes> batch : batches) { count += batch.size(); }
    EXPECT_EQ(count, rows.size());
}

TEST(batches, there_are_none_of_no_rows) {
    EXPECT_EQ(row_batches<std::span<int>>{}.size(), 0u);
    EXPECT_EQ((row_batches<rows>{rows{}, 64}.size()), 0u);
}

}  // namespace
