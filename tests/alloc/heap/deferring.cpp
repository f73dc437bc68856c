// Sentences of cairn/alloc/heap.hpp about freed blocks that wait before they are merged, and
// that are served again.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

#include "alloc/heap/pieces.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_tests;

TEST(heap, good_fit_finds_what_it_freed) {
    // espressif/tlsf PR #2: the freed block lies in the bin below the one that is searched.
    for (std::size_t size = 0; size < 70'000; size += size < 5000 ? 1 : 97) {
        test_region memory{heap<strict_good_fit>::region_size_for(size)};
        heap<strict_good_fit> h{memory.span()};
        for (int i = 0; i < 3; ++i) {
            void* const p = h.allocate(size);
            ASSERT_NE(p, nullptr) << size;
            h.deallocate(p, size);
        }
    }
}

TEST(heap, an_aligned_hole_is_used_again_by_the_aligned) {
    test_region memory{256_KiB};
    heap<good_fit> h{memory.span()};
    void* const p = h.allocate(8192, alignment{4096});
    while (h.allocate(16) != nullptr) {}
    h.deallocate(p, 8192, alignment{4096});
    EXPECT_EQ(h.allocate(8192, alignment{4096}), p);
    h.reset();
}

TEST(heap, what_is_deferred_is_taken_back_before_a_refusal) {
    test_region memory{8_MiB};
    heap<good_fit> h{memory.span()};
    std::vector<void*> live;
    while (void* const p = h.allocate(1000)) { live.push_back(p); }
    for (void* const p : live) { h.deallocate(p, 1000); }
    EXPECT_GT(h.stats().deferred_count, 0u);
    std::size_t count = 0;
    while (h.allocate(2000) != nullptr) { ++count; }
    // All of it but the holes that are left when waiting blocks merge one by one.
    const std::size_t all = h.stats().capacity / (h.good_size(2000) + h.header_size);
    EXPECT_GE(count, all - all / 32);
    EXPECT_EQ(h.stats().deferred_count, 0u);
    h.reset();
}

TEST(heap, what_waits_makes_room_in_one_region_again_and_again) {
    test_region memory{64_KiB};
    heap<> h{memory.span()};
    for (int round = 0; round < 3; ++round) {
        std::vector<void*> live;
        while (void* const p = h.allocate(100)) { live.push_back(p); }
        ASSERT_GT(live.size(), 60u);
        for (std::size_t i = 0; i < 60; ++i) { h.deallocate(live[i], 100); }
        void* const large = h.allocate(4000);  // 60 blocks of 112 bytes have room for it
        ASSERT_NE(large, nullptr) << "round " << round;
        h.deallocate(large, 4000);
        for (std::size_t i = 60; i < live.size(); ++i) { h.deallocate(live[i], 100); }
    }
    h.reset();
}

TEST(heap, what_waits_makes_room_after_a_resize_in_a_full_region) {
    test_region memory{64_KiB};
    heap<> h{memory.span()};
    std::vector<void*> live;
    while (void* const p = h.allocate(100)) { live.push_back(p); }
    ASSERT_GT(live.size(), 60u);
    EXPECT_TRUE(h.try_resize(live.back(), 100, 90));
    for (std::size_t i = 0; i < 60; ++i) { h.deallocate(live[i], 100); }
    EXPECT_NE(h.allocate(4000), nullptr);
    h.reset();
}

TEST(heap, what_was_in_use_waits_and_is_had_again) {
    test_region memory{4_MiB};
    heap<good_fit> h{memory.span()};
    std::vector<void*> live;
    for (int i = 0; i < 1000; ++i) { live.push_back(h.allocate(500)); }
    const std::size_t free_size = h.stats().free_size;
    for (int round = 0; round < 3; ++round) {
        for (void* const p : live) { h.deallocate(p, 500); }
        EXPECT_EQ(h.stats().deferred_count, 1000u);
        h.validate();
        for (void*& p : live) { p = h.allocate(500); }
        EXPECT_EQ(h.stats().deferred_count, 0u);
        EXPECT_EQ(h.stats().free_size, free_size) << "nothing was cut from the core";
    }
    for (void* const p : live) { h.deallocate(p, 500); }
    // Another size: the heap would become larger than it was, so waiting blocks are merged.
    live.clear();
    for (int i = 0; i < 2500; ++i) { live.push_back(h.allocate(700)); }
    EXPECT_LT(h.stats().deferred_count, 64u);
    h.validate();
    h.reset();
}

template <class Fit>
void expect_what_waits_is_bounded() {
    test_region memory{16_MiB};
    heap<Fit> h{memory.span()};
    std::vector<void*> live;
    for (std::size_t i = 0; i < 12'000; ++i) { live.push_back(h.allocate(i % 1000)); }
    for (std::size_t i = 0; i < live.size(); ++i) { h.deallocate(live[i], i % 1000); }
    EXPECT_GE(h.stats().deferred_count, 2048u);
    EXPECT_LE(h.stats().deferred_count, detail::deferred_blocks_max<Fit>(false));
    h.validate();
    h.trim();
    EXPECT_EQ(h.stats().deferred_count, 0u);
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
}
TEST(heap, what_waits_is_bounded) {
    expect_what_waits_is_bounded<good_fit>();
    expect_what_waits_is_bounded<quick_fit>();
}

// Blocks of 1000 bytes that wait while so much is in use that nothing beyond the shares may.
template <class Fit>
std::size_t kept_of_a_class(std::size_t live_size, int freed) {
    test_region memory{2 * live_size};
    heap<Fit> h{memory.span()};
    std::vector<void*> live;
    for (int i = 0; i < freed; ++i) { live.push_back(h.allocate(1000)); }
    std::vector<void*> others;
    for (std::size_t size = 0; size < live_size; size += 8000) {
        others.push_back(h.allocate(8000));
    }
    while (h.allocate(8000) != nullptr) {}  // 7/8 of the heap and more
    for (void* const p : live) { h.deallocate(p, 1000); }
    const std::size_t count = h.stats().deferred_count;
    h.validate();
    h.reset();
    return count;
}
TEST(heap, a_class_keeps_a_64th_of_what_lives_at_least_8_KiB_and_at_most_32) {
    const std::size_t block = 1008;  // the last one may reach beyond the share
    EXPECT_EQ(kept_of_a_class<good_fit>(100'000, 12), (8_KiB + block - 1) / block);
    EXPECT_EQ(kept_of_a_class<good_fit>(64_MiB, 64), (32_KiB + block - 1) / block);
    EXPECT_GT(kept_of_a_class<quick_fit>(64_MiB, 64), kept_of_a_class<good_fit>(64_MiB, 64));
}

TEST(heap, nothing_waits_after_a_peak_when_nothing_lives) {
    test_upstream upstream;
    heap<> h{grow_by{64_KiB}, upstream};
    std::vector<std::pair<void*, std::size_t>> live;
    for (std::size_t i = 0; i < 60'000; ++i) {
        live.push_back({h.allocate(16 + i % 500), 16 + i % 500});
    }
    std::mt19937 random{3};
    std::shuffle(live.begin(), live.end(), random);
    for (const auto& [p, size] : live) { h.deallocate(p, size); }
    EXPECT_LT(h.stats().deferred_size, 4_KiB);
    h.validate();
}

/// Blocks of a burst, freed in random order.
struct burst {
    explicit burst(std::size_t count) : blocks(count) {
        for (std::size_t i = 0; i < count; ++i) { order.push_back(i); }
        std::shuffle(order.begin(), order.end(), std::mt19937{3});
    }
    static std::size_t size_of(std::size_t i) { return 16 + i % 240; }
    void run(heap<>& h) {
        for (std::size_t i = 0; i < blocks.size(); ++i) { blocks[i] = h.allocate(size_of(i)); }
        for (const std::size_t i : order) { h.deallocate(blocks[i], size_of(i)); }
    }
    std::vector<void*> blocks;
    std::vector<std::size_t> order;
};

TEST(heap, a_burst_that_repeats_waits_whole) {
    for (const std::size_t count : {1000u, 4000u, 16'000u, 64'000u, 128'000u}) {
        heap<> h;
        burst work{count};
        work.run(h);
        EXPECT_LT(h.stats().deferred_count, 8192u + 4096u) << "the first one of " << count;
        for (int i = 0; i < 4; ++i) { work.run(h); }
        EXPECT_EQ(h.stats().deferred_count, count);
        h.validate();
        const std::size_t free_size = h.stats().free_size;
        for (int i = 0; i < 20; ++i) { work.run(h); }
        EXPECT_EQ(h.stats().free_size, free_size) << "the core had nothing to do";
        EXPECT_EQ(h.stats().deferred_count, count);
    }
}

// A document that is read, changed and written: the text that is written moves as it grows, so that
// for a moment much more is in use than before and after it.
TEST(heap, a_burst_waits_whole_although_its_largest_buffer_moves) {
    constexpr std::size_t count = 30'000;
    constexpr std::size_t written = 1_MiB;
    heap<> h;
    std::vector<void*> blocks(count);
    for (int document = 0; document < 24; ++document) {
        for (void*& p : blocks) { p = h.allocate(100); }
        for (std::size_t i = 0; i < count / 4; ++i) {
            void* const larger = h.allocate(120);
            h.deallocate(blocks[i], 100);
            blocks[i] = larger;
        }
        void* const text = h.allocate(written);
        void* const moved = h.allocate(written + written / 2);
        h.deallocate(text, written);
        h.deallocate(moved, written + written / 2);
        for (std::size_t i = 0; i < count; ++i) {
            h.deallocate(blocks[i], i < count / 4 ? 120 : 100);
        }
        if (document >= 4) { EXPECT_GE(h.stats().deferred_count, count) << document; }
    }
    h.validate();
}

TEST(heap, a_burst_that_no_longer_repeats_goes_back) {
    test_upstream upstream;
    heap<> h{upstream};
    burst work{64'000};
    for (int i = 0; i < 5; ++i) { work.run(h); }
    const std::size_t held = upstream.live_size();
    ASSERT_EQ(h.stats().deferred_count, 64'000u);
    std::mt19937 random{5};
    std::vector<std::pair<void*, std::size_t>> live(100);
    for (int i = 0; i < 110'000; ++i) {
        auto& [p, size] = live[random() % live.size()];
        if (p != nullptr) { h.deallocate(p, size); }
        size = 16 + random() % 1000;
        p = h.allocate(size);
    }
    EXPECT_LT(upstream.live_size(), held / 32);
    h.validate();
    for (const auto& [p, size] : live) {
        if (p != nullptr) { h.deallocate(p, size); }
    }
}

TEST(heap, churn_holds_little_more_than_lives) {
    struct load {
        std::size_t count;    // of blocks that live
        std::size_t largest;  // bytes; the smallest has 16
        std::size_t percent;  // bytes from upstream for 100 that live
    };
    for (const load work : {load{1'000, 1'024, 145}, load{10'000, 1'024, 125},
                            load{1'000, 4'096, 155}, load{10'000, 4'096, 136}}) {
        test_upstream upstream;
        heap<> h{upstream};
        std::mt19937 random{1};
        std::size_t live_size = 0;
        std::vector<std::pair<void*, std::size_t>> live(work.count);
        for (std::size_t i = 0; i < 9 * work.count; ++i) {
            auto& [p, size] = live[i < work.count ? i : random() % work.count];
            if (p != nullptr) { h.deallocate(p, size); }
            live_size -= size;
            size = 16 + random() % (work.largest - 15);
            live_size += size;
            p = h.allocate(size);
        }
        EXPECT_LE(upstream.live_size(), live_size * work.percent / 100)
            << work.count << " blocks of 16 to " << work.largest;
        for (const auto& [p, size] : live) { h.deallocate(p, size); }
    }
}

TEST(heap, a_peak_goes_back_while_pairs_run_among_few_live_blocks) {
    for (const std::size_t kept : {0u, 16u}) {
        test_upstream upstream;
        heap<> h{upstream};
        std::mt19937 random{5};
        std::vector<std::pair<void*, std::size_t>> peak;
        for (std::size_t size = 0, total = 0; total < 64_MiB; total += size) {
            size = 16 + random() % 4081;
            peak.push_back({h.allocate(size), size});
        }
        const std::size_t held = upstream.live_size();
        std::shuffle(peak.begin() + 100, peak.end(), random);
        for (std::size_t i = kept; i < peak.size(); ++i) {
            h.deallocate(peak[i].first, peak[i].second);
        }
        std::vector<std::pair<void*, std::size_t>> live(1000);
        for (int i = 0; i < 100'000; ++i) {
            auto& [p, size] = live[random() % live.size()];
            if (p != nullptr) { h.deallocate(p, size); }
            size = 16 + random() % 4081;
            p = h.allocate(size);
        }
        EXPECT_LT(upstream.live_size(), held / 8) << kept << " of the peak live";
        h.validate();
        h.reset();
    }
}

TEST(heap, searches_all_classes_for_what_waits_in_few_frees_while_it_shrinks) {
    heap<> h;
    std::vector<void*> large;  // these never wait: each free reaches the core
    std::vector<void*> small;
    for (int i = 0; i < 4000; ++i) { large.push_back(h.allocate(6000)); }
    for (int i = 0; i < 60; ++i) { small.push_back(h.allocate(100)); }
    for (void* const p : small) { h.deallocate(p, 100); }
    ASSERT_EQ(h.stats().deferred_count, 60u);
    std::size_t frees = 0;
    for (; !large.empty() && h.stats().deferred_count != 0; large.pop_back()) {
        h.deallocate(large.back(), 6000);
        const heap<>::stats_type s = h.stats();
        frees += s.capacity - s.free_size < s.capacity / 4 ? 1u : 0u;
    }
    EXPECT_GE(frees, 50u);
    EXPECT_LE(frees, 60u + 12u) << "one block a free, and eight of the hundred classes";
    for (void* const p : large) { h.deallocate(p, 6000); }
    h.validate();
}

TEST(heap, keeps_a_smaller_surplus_after_upstream_refused) {
    test_upstream upstream;
    heap<> h{upstream};
    burst work{32'000};
    for (int i = 0; i < 4; ++i) { work.run(h); }
    ASSERT_EQ(h.stats().deferred_count, 32'000u);
    upstream.refuse_larger(0);
    EXPECT_EQ(h.allocate(64_MiB), nullptr);
    EXPECT_EQ(h.stats().deferred_count, 0u) << "the last resort";
    for (int i = 0; i < 4; ++i) { work.run(h); }
    EXPECT_LE(h.stats().deferred_count, detail::deferred_blocks_max<good_fit>(false));
    h.validate();
    upstream.refuse_larger(test_upstream::never);
}

template <class Fit>
void expect_no_more_than_its_shares() {
    test_region memory{4_MiB};
    heap<Fit> h{memory.span()};
    std::mt19937 random{9};
    std::vector<piece> live(1000, piece{nullptr, 0, default_alignment, {}});
    std::size_t used = 0;
    std::size_t most = 0;
    for (int step = 0; step < 30'000; ++step) {
        piece& p = live[random() % live.size()];
        if (p.data != nullptr) {
            used -= h.good_size(p.size) + h.header_size;
            h.deallocate(p.data, p.size);
        }
        p.size = random() % (1 + (4096u >> random() % 8));
        p.data = static_cast<std::byte*>(h.allocate(p.size));
        ASSERT_NE(p.data, nullptr);
        used += h.good_size(p.size) + h.header_size;
        most = std::max(most, used);
        const heap<>::stats_type s = h.stats();
        ASSERT_LE(s.capacity - s.free_size, 2 * most + most / 32) << "as much waits as lives";
    }
    h.reset();
}
TEST(heap, what_waits_does_not_make_the_heap_larger_than_its_shares) {
    expect_no_more_than_its_shares<good_fit>();
    expect_no_more_than_its_shares<quick_fit>();
}

TEST(heap, nothing_more_waits_while_the_heap_is_larger_than_it_was) {
    test_region memory{8_MiB};
    heap<good_fit> h{memory.span()};
    std::vector<void*> kept;
    std::vector<void*> burst;
    for (int i = 0; i < 300; ++i) { kept.push_back(h.allocate(300)); }
    for (int i = 0; i < 1000; ++i) { burst.push_back(h.allocate(500)); }
    for (void* const p : burst) { h.deallocate(p, 500); }
    const std::size_t waiting = h.stats().deferred_count;
    EXPECT_EQ(waiting, 1000u);
    void* const large = h.allocate(3_MiB / 2);  // beside what waits there was never so much
    ASSERT_NE(large, nullptr);
    for (void* const p : kept) { h.deallocate(p, 300); }
    EXPECT_LE(h.stats().deferred_count, waiting + 64) << "only its share waits";
    h.validate();
    h.reset();
}

TEST(heap, a_write_into_a_block_that_waits_is_noticed) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    heap<good_fit> h{1_MiB};
    void* const p = h.allocate(100);
    void* const q = h.allocate(100);
    void* const guard = h.allocate(100);
    h.deallocate(p, 100), h.deallocate(q, 100);
    ASSERT_EQ(h.stats().deferred_count, 2u);
    std::memset(q, 0x41, 8);
    EXPECT_DEATH(((void)h.allocate(100), (void)h.allocate(100)),
                 "wrote into it after it was freed");
    h.deallocate(guard, 100);
}

/// A freed block of `bin` joins the books as a heap asks them.
static bool joins(detail::waiting_books<good_fit>& books, detail::deferred_bin& bin) {
    return books.joined(bin, bin.word()) || (!books.refuses(bin) && books.joined_after_a_look(bin));
}

TEST(waiting_books, a_heap_of_several_regions_that_needs_few_of_them_wants_to_shrink) {
    detail::waiting_books<good_fit> books;
    detail::deferred_bin bin;
    bin.granules = 30;
    books.set_capacity(1000, true);
    books.start(100, 0, 0, true);
    ASSERT_TRUE(joins(books, bin));
    books.left(bin, bin.word());
    EXPECT_EQ(books.waiting(), 0u);
    ASSERT_TRUE(joins(books, bin));
    EXPECT_EQ(books.waiting(), 30u);
    EXPECT_EQ(books.count(), 1u);
    EXPECT_FALSE(books.wants_to_shrink()) << "70 of 100 live";
    ASSERT_TRUE(joins(books, bin));
    EXPECT_TRUE(books.wants_to_shrink()) << "40 of 100 live";
    EXPECT_FALSE(joins(books, bin)) << "more waits than lives";
    books.set_capacity(300, true);
    EXPECT_FALSE(books.wants_to_shrink()) << "a third of the heap is not little";
    books.set_capacity(1000, false);
    EXPECT_FALSE(books.wants_to_shrink()) << "one region stays";
}

TEST(waiting_books, a_block_that_grows_where_it_stands_moves_no_more_than_it_grows) {
    detail::waiting_books<good_fit> books;
    detail::deferred_bin bin;
    bin.granules = 30;
    books.set_capacity(100'000, false);
    books.start(10'000, 0, 0, true);
    for (int i = 0; i < 20; ++i) { ASSERT_TRUE(joins(books, bin)); }
    books.gave_back(9'000);  // of the 1,000 that are left 600 wait
    for (int i = 0; i < 2'800; ++i) {
        books.gave_back(2);
        EXPECT_FALSE(books.took(2));
        books.settle();
    }
    // The most in use is looked for anew from here on. The 10,000 of before are known until
    // 20,000 have moved.
    books.resized(1'000);
    for (int i = 0; i < 2'100; ++i) {
        books.resized(1);
        books.settle();
        books.resized(-1);
    }
    EXPECT_FALSE(books.took(2'000)) << "4,000 are less than there were";
}

/// Whether a burst counts as repeated: of 10,000 granules `steps` are freed one after the other,
/// then requests bring back what is in use to `back`. The regions have 30,000.
static bool repeats(std::initializer_list<std::size_t> steps, std::size_t back) {
    detail::waiting_books<good_fit> books;
    books.set_capacity(30'000, true);
    books.start(0, 0, 0, true);
    (void)books.took(10'000);
    books.settle();
    for (const std::size_t step : steps) {
        books.gave_back(step);
        books.settle();
    }
    (void)books.took(back - books.taken());
    books.settle();
    books.gave_back(books.taken() - 4'000);
    books.settle();
    return !books.is_sparse();  // 4,000 are; the burst of 10,000 that comes again is not
}

TEST(waiting_books, a_burst_repeats_where_the_use_falls_below_half_and_is_back_at_seven_eighths) {
    EXPECT_TRUE(repeats({5'010}, 8'760));
    EXPECT_FALSE(repeats({4'990}, 8'760)) << "half of it is still in use";
    EXPECT_FALSE(repeats({5'010}, 8'740)) << "less than seven eighths";
    // What is in use is known to 1/64 and 64 granules: at 5,100 to 143.
    EXPECT_TRUE(repeats({4'900, 144}, 8'760));
    EXPECT_FALSE(repeats({4'900, 143}, 8'760));
}

TEST(waiting_books, a_request_merges_once_the_heap_is_a_64th_larger_than_it_was) {
    detail::waiting_books<good_fit> books;
    books.set_capacity(100'000, false);
    books.start(6'501, 101, 1, true);  // 6,400 live are the most; a block of 101 waits
    books.has_surplus = true;
    books.gave_back(10);
    EXPECT_FALSE(books.took(9)) << "6,500 are larger by a 64th";
    EXPECT_TRUE(books.took(1));
    books.has_surplus = false;
    books.gave_back(1);
    EXPECT_FALSE(books.took(1)) << "no class has more than its share";
}

TEST(waiting_books, a_surplus_has_2048_blocks_where_the_heap_cannot_grow) {
    detail::waiting_books<good_fit> books;
    detail::deferred_bin bin;
    bin.granules = 3;
    books.set_capacity(100'000, false);
    books.start(8'000, 300, 100, false);  // 100 blocks wait in other classes
    books.gave_back(500);                 // the heap is smaller than it has been
    for (int i = 0; i < 2'500; ++i) { (void)joins(books, bin); }
    EXPECT_GE(books.count(), 2'000u);
    EXPECT_LE(books.count(), 2'048u);
}

/// Random requests and frees of a heap, on its books alone. Where a free does not join at once, one
/// copy of the books is asked refuses(), another one looks.
static void compare_refusals_with_looks(unsigned seed, bool grows) {
    std::mt19937 random{seed};
    detail::waiting_books<good_fit> books;
    detail::deferred_bin bins[4];
    for (unsigned c = 0; c < 4; ++c) { bins[c].granules = static_cast<std::uint16_t>(3 << 2 * c); }
    std::size_t capacity = grows ? 1000 : 100'000;
    books.set_capacity(capacity, false);
    books.start(0, 0, 0, grows);
    unsigned live[4] = {};
    unsigned refused = 0;
    unsigned accepted = 0;
    for (unsigned step = 0; step < 200'000; ++step) {
        const unsigned c = random() % 4;
        detail::deferred_bin& bin = bins[c];
        // Five of eight are requests in one phase, frees in the next.
        const bool takes = (random() % 8 < 5) == (step / 16'384 % 2 == 0);
        if (takes && bin.count() != 0) {
            books.left(bin, bin.word());
            ++live[c];
        } else if (takes && (grows || books.taken() + bin.granules <= capacity)) {
            if (books.taken() + bin.granules > capacity) {
                books.set_capacity(capacity += capacity / 8, true);
                books.set_growing(random() % 64 != 0);
            }
            (void)books.took(bin.granules);
            books.settle();
            ++live[c];
        } else if (!takes && live[c] != 0) {
            --live[c];
            if (books.joined(bin, bin.word())) { continue; }
            detail::waiting_books<good_fit> looking = books;
            detail::deferred_bin looked_at = bin;
            const bool waits = looking.joined_after_a_look(looked_at);
            if (books.refuses(bin)) {
                ++refused;
                ASSERT_FALSE(waits) << "refused at step " << step;
                books.gave_back(bin.granules);
                if (random() % 2 == 0) { books.settle(); }
            } else {
                ++accepted;
                ASSERT_EQ(books.joined_after_a_look(bin), waits) << "looked twice at step " << step;
                // The books of a heap that grows may refuse after they have decided anew.
                ASSERT_TRUE(waits || grows) << "not refused at step " << step;
                if (!waits) { books.gave_back(bin.granules); }
            }
            ASSERT_EQ(books.waiting(), looking.waiting());
            ASSERT_EQ(bin.count(), looked_at.count());
        }
    }
    EXPECT_GT(refused, 100u);
    EXPECT_GT(accepted, 100u);
}
TEST(waiting_books, refuse_what_a_look_would_refuse) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        compare_refusals_with_looks(seed, false);
        compare_refusals_with_looks(seed, true);
    }
}
