#include <cairn/movable/offset_heap.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

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

template <class Offset>
class offset_heap_test : public testing::Test {};
using offsets = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(offset_heap_test, offsets);

// A seed is 3000 operations. Ten million, some seconds of an optimized build for each offset type:
//     CAIRN_OPERATIONS=10000000 movable_offset_heap_test --gtest_filter=*random_use*
unsigned seed_count() {
    const char* const wish = std::getenv("CAIRN_OPERATIONS");
    return wish != nullptr ? static_cast<unsigned>(std::strtoul(wish, nullptr, 10) / 3000 + 1) : 20;
}

struct range {
    offset_allocation name;
    std::uint64_t offset, size, align, user;
};

}  // namespace

TYPED_TEST(offset_heap_test, random_use_against_intervals_without_false_exhaustion) {
    using heap_type = basic_offset_heap<TypeParam, counted_steps>;
    test_upstream upstream;
    std::uint64_t steps_max = 0;
    for (unsigned seed = 1; seed <= seed_count(); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        const std::uint64_t capacity = 500 + random() % 20'000;
        heap_type h{static_cast<TypeParam>(capacity), 3000, upstream};  // no nodes on the way
        interval_oracle oracle{capacity};
        std::vector<range> live;
        std::size_t refused = 0;
        for (unsigned step = 0; step < 3000; ++step) {
            if (random() % 100 < 55 || live.empty()) {
                const std::uint64_t size = 1 + random() % (1 + (900u >> random() % 9));
                const std::uint64_t align = random() % 3 == 0 ? 1u << random() % 8 : 1;
                counted_steps::taken = 0;
                const auto a =
                    h.allocate(static_cast<TypeParam>(size), static_cast<TypeParam>(align), step);
                steps_max = std::max(steps_max, counted_steps::taken);
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
                    counted_steps::taken = 0;
                    h.deallocate(r.name);
                    steps_max = std::max(steps_max, counted_steps::taken);
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

TYPED_TEST(offset_heap_test, max_allocations_is_exact) {
    test_upstream upstream;
    basic_offset_heap<TypeParam> h{1'000'000, 100, upstream};
    EXPECT_EQ(upstream.request_count(), 1u);
    std::vector<offset_allocation> live;
    while (const auto a = h.allocate(10, 64)) { live.push_back(a); }  // a gap beside each
    EXPECT_EQ(live.size(), 100u);
    for (std::size_t i = 0; i < live.size(); i += 2) { h.deallocate(live[i]); }
    h.validate();
    for (int i = 0; i < 50; ++i) { EXPECT_TRUE(h.allocate(3, 16)); }
    EXPECT_FALSE(h.allocate(1));
    EXPECT_EQ(upstream.request_count(), 1u) << "all nodes were there from the start";
    h.validate();
}

TYPED_TEST(offset_heap_test, the_whole_capacity_is_one_allocation) {
    constexpr auto max = static_cast<TypeParam>(~TypeParam{0});
    for (const TypeParam capacity :
         {TypeParam{1}, TypeParam{31}, TypeParam{699'050}, static_cast<TypeParam>(max / 2 + 1),
          static_cast<TypeParam>(max - 1), max}) {
        basic_offset_heap<TypeParam> h{capacity};
        const auto a = h.allocate(capacity);
        ASSERT_TRUE(a) << capacity;
        EXPECT_FALSE(h.allocate(1));
        h.validate();
        h.deallocate(a);
        EXPECT_TRUE(h.allocate(static_cast<TypeParam>(capacity - capacity / 3)));
        h.validate();
    }
    // A request whose class would wrap does not get a hole that is too small for it.
    basic_offset_heap<TypeParam> all{max};
    const auto quarter = all.allocate(static_cast<TypeParam>(max / 4 + 5));
    EXPECT_TRUE(all.allocate(1));
    all.deallocate(quarter);
    EXPECT_FALSE(all.allocate(static_cast<TypeParam>(max - 100)));
    all.validate();

    basic_offset_heap<TypeParam> none{0};
    EXPECT_FALSE(none.allocate(0));
    EXPECT_TRUE(none.grow(10));
    EXPECT_TRUE(none.allocate(10));
}

TYPED_TEST(offset_heap_test, grows_and_shrinks_at_its_end) {
    basic_offset_heap<TypeParam> h{100};
    const auto a = h.allocate(100);
    EXPECT_FALSE(h.allocate(1));
    EXPECT_TRUE(h.grow(150));
    const auto b = h.allocate(40);
    EXPECT_EQ(h.offset(b), 100u);
    EXPECT_TRUE(h.grow(300));
    h.validate();
    EXPECT_FALSE(h.shrink(139)) << "b lives there";
    EXPECT_TRUE(h.shrink(140));
    h.validate();
    EXPECT_EQ(h.capacity(), 140u);
    h.deallocate(b);
    EXPECT_TRUE(h.shrink(100));
    h.deallocate(a);
    EXPECT_TRUE(h.shrink(0));
    h.validate();
    EXPECT_FALSE(h.allocate(1));
}

TYPED_TEST(offset_heap_test, user_data_has_64_bits) {
    basic_offset_heap<TypeParam> h{1000, 10};
    const auto a = h.allocate(10, 1, 0xFEDC'BA98'7654'3210u);
    EXPECT_EQ(h.user_data(a), 0xFEDC'BA98'7654'3210u);
    h.set_user_data(a, 0x0123'4567'89AB'CDEFu);
    EXPECT_EQ(h.user_data(a), 0x0123'4567'89AB'CDEFu);
}

TYPED_TEST(offset_heap_test, statistics_count_what_is_free_and_nothing_else) {
    basic_offset_heap<TypeParam> h{1000, 10};
    const auto all = h.allocate(1000);
    EXPECT_EQ(h.stats().free_size, 0u);
    EXPECT_EQ(h.stats().largest_free, 0u);
    EXPECT_EQ(h.stats().free_range_count, 0u);
    h.deallocate(all);
    (void)h.allocate(400);
    EXPECT_EQ(h.stats().free_size, 600u);
    EXPECT_EQ(h.stats().largest_free, 600u);
    EXPECT_EQ(h.stats().free_range_count, 1u);
}

TYPED_TEST(offset_heap_test, shrinks_to_its_own_size_and_never_to_a_larger_one) {
    basic_offset_heap<TypeParam> h{1000, 10};
    EXPECT_TRUE(h.shrink(1000));
    EXPECT_FALSE(h.shrink(2000));
    EXPECT_EQ(h.stats().capacity, 1000u);
    const auto all = h.allocate(1000);
    EXPECT_TRUE(h.shrink(1000)) << "nothing has to go";
    EXPECT_TRUE(h.contains(all));
}

TYPED_TEST(offset_heap_test, a_name_dies_with_its_range_even_when_the_range_is_used_again) {
    basic_offset_heap<TypeParam> h{1000};
    const auto first = h.allocate(20);
    h.deallocate(first);
    for (int i = 0; i < 50; ++i) {  // the same range, the same node, another life
        const auto again = h.allocate(20);
        EXPECT_EQ(h.offset(again), 0u);
        EXPECT_FALSE(h.contains(first));
        EXPECT_TRUE(h.contains(again));
        h.deallocate(again);
        EXPECT_FALSE(h.contains(again));
    }
}

TYPED_TEST(offset_heap_test, names_of_a_heap_that_was_replaced_moved_or_of_another_one_are_told) {
    using heap_type = basic_offset_heap<TypeParam>;
    heap_type heap{1000};
    heap_type other{1000};
    std::vector<offset_allocation> old;
    for (int i = 0; i < 10; ++i) {
        old.push_back(heap.allocate(10));
        ASSERT_TRUE(other.allocate(10));
    }
    for (const offset_allocation a : old) { EXPECT_FALSE(other.contains(a)); }
    heap_type target{std::move(heap)};
    heap = heap_type{1000};
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(heap.allocate(10)); }
    for (const offset_allocation a : old) {
        EXPECT_FALSE(heap.contains(a));
        EXPECT_TRUE(target.contains(a));
    }
    heap.validate();
}

TYPED_TEST(offset_heap_test, a_first_generation_makes_equal_names) {
    using heap_type = basic_offset_heap<TypeParam>;
    heap_type a{1000, heap_type::unlimited, system_memory(), {.first_generation = 7}};
    heap_type b{1000, heap_type::unlimited, system_memory(), {.first_generation = 7}};
    for (int i = 0; i < 50; ++i) { EXPECT_EQ(a.allocate(10), b.allocate(10)); }
    EXPECT_EQ(a.allocate(1).generation, 7u);
}

TYPED_TEST(offset_heap_test, reset_makes_every_name_stale) {
    basic_offset_heap<TypeParam> h{1000};
    std::vector<offset_allocation> old;
    for (int i = 0; i < 20; ++i) { old.push_back(h.allocate(20)); }
    h.reset();
    h.validate();
    for (int i = 0; i < 20; ++i) { ASSERT_TRUE(h.allocate(20)); }
    for (const auto a : old) { EXPECT_FALSE(h.contains(a)); }
}

TYPED_TEST(offset_heap_test, works_on_after_upstream_refuses_nodes) {
    for (std::size_t refused = 0; refused < 5; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 1);
        basic_offset_heap<TypeParam> h{100'000, 0xFFFF'FFFF, upstream};
        std::vector<offset_allocation> live;
        for (int i = 0; i < 1000; ++i) {
            if (const auto a = h.allocate(7, 8)) { live.push_back(a); }
            if (i % 100 == 0) { h.validate(); }
        }
        for (const auto a : live) { h.deallocate(a); }
        h.validate();
    }
}

TYPED_TEST(offset_heap_test, planned_moves_bring_the_free_memory_together) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        basic_offset_heap<TypeParam> h{50'000};
        std::vector<range> live;
        std::vector<std::uint8_t> memory(50'000);
        const auto check = [&] {
            for (const range& r : live) {
                const auto at = static_cast<std::size_t>(h.offset(r.name));
                for (std::size_t i = 0; i < r.size; ++i) {
                    if (memory[at + i] != static_cast<std::uint8_t>(r.user)) { return false; }
                }
            }
            return true;
        };
        for (unsigned i = 0; i < 400; ++i) {
            const std::uint64_t size = 1 + random() % 300;
            const std::uint64_t align = i % 5 == 0 ? 16 : 1;
            const auto a =
                h.allocate(static_cast<TypeParam>(size), static_cast<TypeParam>(align), i);
            if (!a) { break; }
            live.push_back({a, 0, size, align, i});
            std::memset(memory.data() + h.offset(a), static_cast<int>(i), size);
        }
        for (int i = 0; i < 150; ++i) {
            std::swap(live[random() % live.size()], live.back());
            h.deallocate(live.back().name);
            live.pop_back();
        }
        using move = typename basic_offset_heap<TypeParam>::move;
        const plan_limits<TypeParam> limits{3, 2000, 50};
        int idle_rounds = 0;
        int calls = 0;
        std::size_t moved = 0;
        while (idle_rounds < 2 && ++calls < 200'000) {
            move moves[3];
            const std::size_t n = h.plan(moves, 3, limits);
            if (calls % 16 == 0) { h.validate(); }
            moved += n;
            TypeParam bytes = 0;
            for (std::size_t i = 0; i < n; ++i) {
                bytes = static_cast<TypeParam>(bytes + moves[i].size);
                ASSERT_LT(moves[i].to, moves[i].from) << "memory moves down";
                if (random() % 8 == 0) {
                    h.cancel(moves[i]);
                } else {
                    std::memmove(memory.data() + moves[i].to, memory.data() + moves[i].from,
                                 moves[i].size);
                    h.commit(moves[i]);
                }
                if (calls % 16 == 1) { h.validate(); }
            }
            ASSERT_LE(bytes, 2000u);
            if (random() % 50 == 0 && !live.empty()) {  // life goes on between the calls
                std::swap(live[random() % live.size()], live.back());
                h.deallocate(live.back().name);
                live.pop_back();
            }
            if (h.round_is_over()) {
                idle_rounds = moved == 0 ? idle_rounds + 1 : 0;
                moved = 0;
            }
        }
        ASSERT_TRUE(check()) << "every allocation has its bytes";
        for (const range& r : live) { ASSERT_EQ(h.offset(r.name) % r.align, 0u); }
        const auto s = h.stats();
        std::size_t aligned = 0;
        for (const range& r : live) { aligned += r.align != 1 ? 1u : 0u; }
        EXPECT_LE(s.free_size - s.largest_free, 15u * aligned)
            << "but for what alignment keeps apart, the free memory is one piece";
        h.reset();
    }
}

TYPED_TEST(offset_heap_test, what_is_larger_than_the_limit_does_not_stop_the_others) {
    basic_offset_heap<TypeParam> h{790};
    const auto gone = h.allocate(400);
    const auto small = h.allocate(50);
    const auto large = h.allocate(300);
    const auto top = h.allocate(40);
    h.deallocate(gone);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 4, {4, 100, 1000}), 2u);
    EXPECT_EQ(moves[0].what, top);
    EXPECT_EQ(moves[1].what, small);
    h.commit(moves[0]);
    h.commit(moves[1]);
    EXPECT_EQ(h.plan(moves, 4, {4, 100, 1000}), 0u);
    EXPECT_EQ(h.offset(large), 450u);
    h.validate();
}

TYPED_TEST(offset_heap_test, with_all_holes_that_there_can_be_an_allocation_still_finds_its_nodes) {
    test_upstream upstream;
    basic_offset_heap<TypeParam> h{1000, 3, upstream};
    const auto first = h.allocate(10);
    const auto second = h.allocate(10);
    ASSERT_TRUE(h.allocate(10));
    h.deallocate(first);
    ASSERT_TRUE(h.allocate(30, 64));  // [30, 64) stays free in front of it
    h.deallocate(second);
    EXPECT_EQ(h.stats().free_range_count, 3u);
    upstream.refuse_from(upstream.request_count());
    EXPECT_TRUE(h.allocate(25, 16)) << "from 32 on, with a hole on both sides";
    h.validate();
}

TYPED_TEST(offset_heap_test, without_overlaps_it_slides_what_fits_beside_itself) {
    basic_offset_heap<TypeParam> h{45};
    const auto gone = h.allocate(10);
    ASSERT_TRUE(h.allocate(4));
    const auto gone_too = h.allocate(6);
    const auto moves_first = h.allocate(10);
    const auto slides = h.allocate(15);
    h.deallocate(gone);
    h.deallocate(gone_too);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000, false}), 1u);
    EXPECT_EQ(moves[0].what, moves_first);
    h.commit(moves[0]);  // leaves 16 free in front of the 15
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000, false}), 1u);
    EXPECT_EQ(moves[0].what, slides);
    EXPECT_FALSE(moves[0].overlaps);
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(slides), 14u);
    h.validate();
}

TYPED_TEST(offset_heap_test, what_slides_takes_its_hole_whole_until_the_copy_is_done) {
    basic_offset_heap<TypeParam> h{120};
    const auto gone = h.allocate(30);
    const auto slides = h.allocate(40);
    ASSERT_TRUE(h.allocate(50));
    h.deallocate(gone);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000}), 1u);
    EXPECT_TRUE(moves[0].overlaps);
    EXPECT_EQ(h.stats().free_range_count, 0u);
    h.validate();
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(slides), 0u);
    EXPECT_EQ(h.stats().free_size, 30u);
    h.validate();
}

TYPED_TEST(offset_heap_test, a_commit_between_two_calls_does_not_lead_a_round_astray) {
    basic_offset_heap<TypeParam> h{28};
    ASSERT_TRUE(h.allocate(10));
    const auto hole = h.allocate(4);
    ASSERT_TRUE(h.allocate(3));
    const auto gap = h.allocate(2);
    const auto slides = h.allocate(5);
    const auto top = h.allocate(4);
    h.deallocate(hole);
    h.deallocate(gap);
    typename basic_offset_heap<TypeParam>::move moves[4];
    ASSERT_EQ(h.plan(moves, 1, {1, 1000, 1000}), 1u);
    const auto first = moves[0];
    EXPECT_EQ(first.what, top);
    // Down to the end of the first phase, and to the place that the move goes to in the second.
    EXPECT_EQ(h.plan(moves, 1, {1, 1000, 6}), 0u);
    ASSERT_FALSE(h.round_is_over());
    h.commit(first);
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 1u) << "the round goes on above that place";
    EXPECT_EQ(moves[0].what, slides);
    h.commit(moves[0]);
    h.validate();
}

TYPED_TEST(offset_heap_test, pinned_allocations_stay) {
    basic_offset_heap<TypeParam> h{1000};
    const auto a = h.allocate(100);
    const auto b = h.allocate(100);
    h.deallocate(a);
    h.set_pinned(b, true);
    typename basic_offset_heap<TypeParam>::move moves[4];
    EXPECT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 0u);
    h.set_pinned(b, false);
    ASSERT_EQ(h.plan(moves, 4, {4, 1000, 1000}), 1u);
    EXPECT_EQ(moves[0].to, 0u);
    h.commit(moves[0]);
    EXPECT_EQ(h.offset(b), 0u);
    h.validate();
}

TYPED_TEST(offset_heap_test, the_map_is_json) {
    basic_offset_heap<TypeParam> h{256};
    (void)h.allocate(64, 1, 7);
    std::string text;
    h.write_json([&](const char* s, std::size_t n) { text.append(s, n); });
    EXPECT_EQ(
        text,
        R"({"capacity":256,"ranges":[{"offset":0,"size":64,"user":7},{"offset":64,"size":192}]})");
}

TYPED_TEST(offset_heap_test, a_moved_from_heap_is_empty_and_valid) {
    basic_offset_heap<TypeParam> a{1000};
    const auto x = a.allocate(10);
    basic_offset_heap<TypeParam> b{std::move(a)};
    EXPECT_TRUE(b.contains(x));
    EXPECT_FALSE(a.allocate(1));  // NOLINT: this is what is tested
    a.validate();
    b.validate();
}

TYPED_TEST(offset_heap_test, misuse_is_named) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    basic_offset_heap<TypeParam> h{1000};
    const auto a = h.allocate(10);
    EXPECT_DEATH((h.deallocate(a), h.deallocate(a)), "an allocation is freed once");
    EXPECT_DEATH((void)h.offset({}), "used while it lives");
    EXPECT_DEATH((void)h.allocate(1, 3), "an alignment is a power of two");
    (void)h.allocate(10);
    h.deallocate(a);
    typename basic_offset_heap<TypeParam>::move m[1];
    ASSERT_EQ(h.plan(m, 1, {1, 1000, 100}), 1u);
    EXPECT_DEATH(h.deallocate(m[0].what), "committed or cancelled before its allocation is freed");
    EXPECT_DEATH((h.commit(m[0]), h.commit(m[0])), "committed or cancelled once");
    h.cancel(m[0]);
}
