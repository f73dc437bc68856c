// Sentences of cairn/movable/offset_heap.hpp about any history of calls: a random one against a
// list of intervals.
#include <cairn/movable/offset_heap.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "movable/offset_heap/offsets.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace offset_heap_tests;

namespace {
/// The map as a sorted list, by linear scans.
class interval_oracle {
public:
    explicit interval_oracle(std::uint64_t capacity) : capacity_{capacity} {}

    /// True when some gap holds `size` at a multiple of `align`.
    bool largest_gap_holds(std::uint64_t size) const {
        std::uint64_t at = 0;
        for (const auto& [offset, length] : used_) {
            if (offset - at >= size) { return true; }
            at = offset + length;
        }
        return capacity_ - at >= size;
    }
    ::testing::AssertionResult add(std::uint64_t offset, std::uint64_t size) {
        const auto next = used_.lower_bound(offset);
        if (next != used_.end() && next->first < offset + size) {
            return ::testing::AssertionFailure() << "overlaps the range after it";
        }
        if (next != used_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second > offset) {
                return ::testing::AssertionFailure() << "overlaps the range before it";
            }
        }
        if (offset + size > capacity_) { return ::testing::AssertionFailure() << "leaves the map"; }
        used_[offset] = size;
        return ::testing::AssertionSuccess();
    }
    void remove(std::uint64_t offset) { used_.erase(offset); }
    void set_capacity(std::uint64_t c) { capacity_ = c; }

private:
    std::map<std::uint64_t, std::uint64_t> used_;
    std::uint64_t capacity_;
};

std::uint64_t round_to_class(std::uint64_t size) {
    return detail::size_class<5, std::uint64_t>::round_up(size);
}

// A seed is 3000 operations. Ten million, some seconds of an optimized build for each offset type:
//     CAIRN_OPERATIONS=10000000 movable_offset_heap_test --gtest_filter=*random_use*
unsigned seed_count() {
    const char* const wish = std::getenv("CAIRN_OPERATIONS");
    return wish != nullptr ? static_cast<unsigned>(std::strtoul(wish, nullptr, 10) / 3000 + 1) : 20;
}
}  // namespace

TYPED_TEST(offset_heap_test, random_use_against_intervals_without_false_exhaustion) {
    using heap_type = basic_offset_heap<TypeParam>;
    test_upstream upstream;
    std::uint64_t steps_max = 0;
    for (unsigned seed = 1; seed <= seed_count(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        const std::uint64_t capacity = 500 + random() % 20'000;
        heap_type h{static_cast<TypeParam>(capacity), upstream, {.allocation_count_max = 3000}};
        interval_oracle oracle{capacity};
        std::vector<range> live;
        std::size_t refused = 0;
        for (unsigned step = 0; step < 3000; ++step) {
            if (random() % 100 < 55 || live.empty()) {
                const std::uint64_t size = 1 + random() % (1 + (900u >> random() % 9));
                const std::uint64_t align = random() % 3 == 0 ? 1u << random() % 8 : 1;
                detail::steps_taken = 0;
                const auto a =
                    h.allocate(static_cast<TypeParam>(size), static_cast<TypeParam>(align), step);
                steps_max = std::max(steps_max, detail::steps_taken);
                if (!a) {
                    ++refused;
                    ASSERT_FALSE(oracle.largest_gap_holds(round_to_class(size + align - 1)))
                        << "refused although a range fits within the bound";
                } else {
                    live.push_back({a, h.offset(a), size, align, step});
                    ASSERT_EQ(h.offset(a) % align, 0u);
                    ASSERT_EQ(h.size(a), size);
                    ASSERT_TRUE(oracle.add(h.offset(a), size));
                }
            } else {
                std::swap(live[random() % live.size()], live.back());
                range& r = live.back();
                ASSERT_EQ(h.user_data(r.name), r.user);
                ASSERT_EQ(h.offset(r.name), r.offset);
                if (random() % 4 == 0) {
                    const std::uint64_t size = 1 + random() % 500;
                    if (h.try_resize(r.name, static_cast<TypeParam>(size))) {
                        oracle.remove(r.offset);
                        ASSERT_TRUE(oracle.add(r.offset, size));
                        r.size = size;
                    }
                } else {
                    detail::steps_taken = 0;
                    h.deallocate(r.name);
                    steps_max = std::max(steps_max, detail::steps_taken);
                    ASSERT_FALSE(h.contains(r.name));
                    oracle.remove(r.offset);
                    live.pop_back();
                }
            }
            if (step % 64 == 0) { h.validate(); }
        }
        EXPECT_GT(refused, 0u) << "the run was tight enough to be refused sometimes";
        for (const range& r : live) { h.deallocate(r.name); }
        h.validate();
        EXPECT_EQ(h.stats().largest_free, capacity);
    }
    EXPECT_LE(steps_max, heap_type::steps_max) << "allocate and deallocate are bounded";
}
