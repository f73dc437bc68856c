#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "support/allocator_contract.hpp"
#include "support/heap_fits.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"
#include "support/step_bound.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

template <class Fit>
class heap_test : public testing::Test {};

TYPED_TEST_SUITE(heap_test, test::named_fits, test::fit_names);

struct piece {
    std::byte* data;
    std::size_t size;
    alignment align;
    std::byte fill;
};

void fill(const piece& p) {
    if (p.size != 0) { std::memset(p.data, static_cast<int>(p.fill), p.size); }
}

void expect_filled(const piece& p) {
    std::size_t i = 0;  // no macro a byte: it is most of the run time
    while (i < p.size && p.data[i] == p.fill) { ++i; }
    ASSERT_EQ(i, p.size) << "this byte of the block was overwritten by somebody else";
}

/// Random allocate, free (sized and not), resize; contents checked; validate() every `every` steps.
template <class Heap>
void random_run(Heap& h, unsigned seed, int steps, std::size_t size_max, int every) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    std::vector<piece> live;
    const auto some_size = [&] {
        const auto shift = static_cast<unsigned>(random() % 12);
        return random() % (1 + (size_max >> shift));
    };
    for (int step = 0; step < steps; ++step) {
        const auto dice = static_cast<unsigned>(random() % 100);
        if (dice < 48 || live.empty()) {
            const std::size_t size = some_size();
            const alignment align{std::size_t{1} << (random() % 8 == 0 ? random() % 10 : 4)};
            auto* const data = static_cast<std::byte*>(h.allocate(size, align));
            if (data != nullptr) {
                ASSERT_TRUE(is_aligned(data, align));
                ASSERT_TRUE(is_aligned(data, alignment{16}));
                ASSERT_TRUE(h.owns(data));
                ASSERT_GE(h.usable_size(data), size);
                ASSERT_EQ(h.usable_size(data), h.good_size(size));
                live.push_back({data, size, align, static_cast<std::byte>(random())});
                fill(live.back());
                continue;
            }
        }
        if (live.empty()) { continue; }
        std::swap(live[random() % live.size()], live.back());
        piece& p = live.back();
        expect_filled(p);
        if (dice >= 90) {
            const std::size_t size = some_size();
            const std::size_t kept = size < p.size ? size : p.size;
            if (h.try_resize(p.data, p.size, size, p.align)) {
                p.size = size;
                expect_filled({p.data, kept, p.align, p.fill});
                fill(p);
            }
        } else {
            if (dice % 2 == 0) {
                h.deallocate(p.data, p.size, p.align);
            } else {
                h.deallocate(p.data);
            }
            live.pop_back();
        }
        if (step % every == 0) { h.validate(); }
    }
    h.validate();
    for (const piece& p : live) {
        expect_filled(p);
        h.deallocate(p.data, p.size, p.align);
    }
    h.validate();
    h.trim();
    h.validate();
    if constexpr (requires { h.exceeded; }) {
        EXPECT_EQ(h.exceeded, 0u) << "steps beyond the documented maximum, up to " << h.worst;
    }
}

}  // namespace

TYPED_TEST(heap_test, keeps_the_contract_of_all_allocators) {
    test_upstream upstream;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        heap<TypeParam> fixed{256_KiB, upstream};
        check_allocator_contract(fixed, seed);
        heap<TypeParam> growing{grow_by{4_KiB}, upstream};
        check_allocator_contract(growing, seed, {.size_max = 3000});
    }
}

TYPED_TEST(heap_test, survives_random_use_of_a_tight_region) {
    test_upstream upstream;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        test::bounded_heap<TypeParam> h{static_cast<std::size_t>(2000 * seed), upstream};
        random_run(h, seed, 3000, 400, 7);
        EXPECT_EQ(h.stats().free_size, h.stats().capacity) << "all of it merges again";
    }
}

TYPED_TEST(heap_test, survives_random_use_of_a_large_region) {
    test_upstream upstream;
    test::bounded_heap<TypeParam> h{4_MiB, upstream};
    random_run(h, 99, 60'000, 40'000, 2500);
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
}

TYPED_TEST(heap_test, grows_and_gives_empty_regions_back) {
    test_upstream upstream;
    test::bounded_heap<TypeParam> h{grow_by{8_KiB}, upstream};
    EXPECT_EQ(upstream.live_count(), 0u) << "nothing is taken before it is needed";
    for (unsigned seed = 1; seed <= 3; ++seed) { random_run(h, seed, 8000, 9000, 400); }
    EXPECT_EQ(upstream.live_count(), 0u) << "nothing stays after trim()";
    EXPECT_NE(h.allocate(100), nullptr) << "and all begins again";
}

TYPED_TEST(heap_test, grows_from_the_system_where_nothing_is_said) {
    heap<TypeParam> h;
    EXPECT_EQ(h.stats().region_count, 0u) << "nothing is taken before it is needed";
    for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, 100_KiB, 3_MiB}) {
        void* const p = h.allocate(size);
        ASSERT_NE(p, nullptr) << size;
        std::memset(p, 1, size);
        h.deallocate(p, size);
    }
    h.validate();
}

TYPED_TEST(heap_test, gives_regions_back_without_trim) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{64_KiB}, upstream};
    std::vector<void*> live;
    for (int i = 0; i < 4000; ++i) { live.push_back(h.allocate(1000)); }
    const std::size_t most = h.stats().capacity;
    for (void* const p : live) { h.deallocate(p, 1000); }
    EXPECT_LT(h.stats().capacity, most / 4);
    h.validate();
}

template <class Heap>
std::size_t largest_shown(const Heap& h) {
    std::size_t largest = 0;
    h.for_each_block([&](const heap_block& b) {
        if (b.state == block_state::free && b.size > largest) { largest = b.size; }
    });
    return largest;
}

TYPED_TEST(heap_test, largest_free_is_the_largest_of_the_free_blocks) {
    heap<TypeParam> h{std::size_t{1_MiB}};
    std::mt19937 random{3};
    std::vector<void*> live;
    for (std::size_t size = 20000; size != 0;) {  // full, from large to small
        void* const p = h.allocate(size - random() % (size / 2 + 1));
        if (p != nullptr) { live.push_back(p); }
        size = p != nullptr && random() % 8 != 0 ? size : size / 2;
    }
    while (void* const p = h.allocate(8)) { live.push_back(p); }
    for (int i = 0; i < 150; ++i) {  // the smallest lie behind: their holes come first
        std::swap(
            live[live.size() - 1 -
                 random() % std::min<std::size_t>(live.size(), 1 + 40u * static_cast<unsigned>(i))],
            live.back());
        h.deallocate(live.back());
        live.pop_back();
        ASSERT_EQ(h.largest_free(), largest_shown(h)) << i;
    }
    h.trim();
    EXPECT_EQ(h.largest_free(), largest_shown(h));
}

TEST(heap, adopts_no_fewer_bytes_than_it_reads) {
    const std::size_t page = page_memory::size();
    auto* const pages = static_cast<std::byte*>(page_memory::reserve(2 * page, alignment{page}));
    ASSERT_NE(pages, nullptr);
    ASSERT_TRUE(page_memory::commit(pages, page));  // a look behind it faults
    EXPECT_EQ(heap<>::adopt(byte_slice{pages + page - 16, 16}).stats().region_count, 0u);
    page_memory::release(pages, 2 * page);
}

TYPED_TEST(heap_test, trim_leaves_the_only_region_where_something_lives) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{8_KiB}, upstream};
    void* const p = h.allocate(100);
    h.trim();
    EXPECT_TRUE(h.owns(p));
    EXPECT_EQ(upstream.live_count(), 1u);
    h.deallocate(p, 100);
    h.trim();
    EXPECT_EQ(upstream.live_count(), 0u);
}

TYPED_TEST(heap_test, region_size_for_is_enough_at_every_size) {
    std::vector<std::byte> memory(heap<TypeParam>::region_size_for(5000 * 16) + 1);
    for (std::size_t granules = 1; granules <= 5000; granules += 1 + granules / 300) {
        const std::size_t size = granules * 16 - 8;
        heap<TypeParam> h{byte_slice{memory.data() + 1, heap<TypeParam>::region_size_for(size)}};
        ASSERT_NE(h.allocate(size), nullptr) << granules;
    }
}

TYPED_TEST(heap_test, takes_one_block_for_a_request_that_exceeds_the_block_size) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{4_KiB}, upstream};
    void* const p = h.allocate(1_MiB);
    ASSERT_NE(p, nullptr);
    std::memset(p, 1, 1_MiB);
    EXPECT_EQ(upstream.live_count(), 1u);
    void* const q = h.allocate(300, alignment{4096});
    ASSERT_NE(q, nullptr);
    EXPECT_TRUE(is_aligned(q, alignment{4096}));
    h.deallocate(p, 1_MiB);
    h.deallocate(q, 300, alignment{4096});
}

TYPED_TEST(heap_test, works_on_after_upstream_refuses_at_any_point) {
    for (std::size_t refused = 0; refused < 8; ++refused) {
        test_upstream upstream;
        upstream.refuse_from(refused, 3);
        heap<TypeParam> h{grow_by{4_KiB}, upstream};
        random_run(h, static_cast<unsigned>(refused), 1500, 6000, 50);
    }
    test_upstream upstream;
    upstream.refuse_from(0);
    heap<TypeParam> none{64_KiB, upstream};
    EXPECT_EQ(none.allocate(1), nullptr);
    EXPECT_EQ(none.allocate(0), nullptr);
    EXPECT_FALSE(none.owns(&none));
    none.validate();
    none.reset();
    none.trim();
}

TYPED_TEST(heap_test, an_impossible_size_costs_no_block) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{4_KiB}, upstream};
    contract::expect_absurd_sizes_refused(h);
    for (std::size_t i = 0; i <= 64; ++i) { EXPECT_EQ(h.allocate(SIZE_MAX - i), nullptr); }
    for (unsigned k = 48; k < 64; ++k) {
        for (std::size_t d = 0; d <= 17; ++d) {
            EXPECT_EQ(h.allocate((std::size_t{1} << k) + d), nullptr);
            EXPECT_EQ(h.allocate((std::size_t{1} << k) - d), nullptr);
            EXPECT_EQ(h.allocate(16, alignment{std::size_t{1} << k}), nullptr);
        }
    }
    EXPECT_EQ(upstream.live_count(), 0u);
    test_region memory{64_KiB};
    heap<TypeParam> fixed{memory.span()};
    contract::expect_absurd_sizes_refused(fixed);
    EXPECT_EQ(fixed.stats().free_size, fixed.stats().capacity);
}

TYPED_TEST(heap_test, fits_any_region_and_never_leaves_it) {
    test_region memory{4096};
    for (std::size_t size = 0; size < 1400; ++size) {
        auto bytes = memory.span(size + 1);
        bytes.back() = std::byte{0x5A};
        heap<TypeParam> h{bytes.first(size)};
        std::vector<void*> live;
        while (void* const p = h.allocate(8)) {
            std::memset(p, 0xFF, 8);
            live.push_back(p);
        }
        h.validate();
        for (void* const p : live) { h.deallocate(p, 8); }
        EXPECT_EQ(bytes.back(), std::byte{0x5A});
    }
}

TYPED_TEST(heap_test, region_size_for_has_room_for_one_block) {
    for (const std::size_t payload : {0u, 1u, 8u, 9u, 100u, 4096u, 100'000u, 3'000'000u}) {
        test_region memory{heap<TypeParam>::region_size_for(payload)};
        heap<TypeParam> h{memory.span()};
        void* const p = h.allocate(payload);
        EXPECT_NE(p, nullptr) << payload;
        h.deallocate(p, payload);
    }
}

TYPED_TEST(heap_test, the_overhead_is_eight_bytes_and_the_smallest_block_sixteen) {
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    auto* const a = static_cast<std::byte*>(h.allocate(8));
    auto* const b = static_cast<std::byte*>(h.allocate(8));
    auto* const c = static_cast<std::byte*>(h.allocate(24));
    auto* const d = static_cast<std::byte*>(h.allocate(24));
    EXPECT_EQ(b - a, 16);
    EXPECT_EQ(d - c, 32);
    EXPECT_EQ(h.good_size(8), 8u);
    EXPECT_EQ(h.good_size(24), 24u);
    h.deallocate(a, 8), h.deallocate(b, 8), h.deallocate(c, 24), h.deallocate(d, 24);
}

TYPED_TEST(heap_test, a_block_grows_into_its_free_neighbour_and_shrinks_back) {
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    auto* const p = static_cast<std::byte*>(h.allocate(64));
    void* const q = h.allocate(64);
    EXPECT_FALSE(h.try_resize(p, 64, 5000)) << "the neighbour is in use";
    EXPECT_TRUE(h.try_resize(q, 64, 5000));
    std::memset(q, 7, 5000);
    EXPECT_TRUE(h.try_resize(q, 5000, 10));
    EXPECT_FALSE(h.try_resize(q, 10, 1_MiB)) << "the region is smaller";
    EXPECT_FALSE(h.try_resize(q, 10, SIZE_MAX));
    h.validate();
    h.deallocate(q, 10);
    h.deallocate(p, 64);
    h.trim();
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
}

TYPED_TEST(heap_test, a_copy_of_the_region_is_the_same_heap_elsewhere) {
    test_region first{256_KiB};
    test_region second{256_KiB};
    std::vector<piece> live;
    std::mt19937 random{5};
    {
        heap<TypeParam> h{first.span()};
        for (int i = 0; i < 500; ++i) {
            const std::size_t size = random() % 700;
            auto* const data = static_cast<std::byte*>(h.allocate(size));
            if (data == nullptr) { break; }
            live.push_back({data, size, default_alignment, static_cast<std::byte>(i)});
            fill(live.back());
            if (i % 3 == 0) {
                std::swap(live[random() % live.size()], live.back());
                h.deallocate(live.back().data, live.back().size);
                live.pop_back();
            }
        }
    }  // the heap object is gone; the bytes are still a heap
    std::memcpy(second.span().data(), first.span().data(), 256_KiB);
    std::memset(first.span().data(), 0xDD, 256_KiB);
    heap<TypeParam> h = heap<TypeParam>::adopt(second.span());
    h.validate();
    for (piece& p : live) {
        p.data = second.span().data() + (p.data - first.span().data());
        ASSERT_TRUE(h.owns(p.data));
        expect_filled(p);
        h.deallocate(p.data, p.size);
    }
    h.validate();
    h.trim();
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
    heap<TypeParam> stranger = heap<TypeParam>::adopt(first.span());
    EXPECT_EQ(stranger.allocate(1), nullptr) << "bytes that are no heap make an empty one";
}

TYPED_TEST(heap_test, the_first_request_of_a_growing_heap_may_be_over_aligned) {
    for (std::size_t align = 32; align <= 64_KiB; align *= 2) {
        for (const std::size_t size :
             {std::size_t{1}, std::size_t{100}, std::size_t{1500}, align}) {
            test_upstream upstream;
            heap<TypeParam> h{grow_by{1_KiB}, upstream};
            void* const p = h.allocate(size, alignment{align});
            ASSERT_NE(p, nullptr) << size << " bytes at " << align;
            EXPECT_TRUE(is_aligned(p, alignment{align}));
            h.deallocate(p, size, alignment{align});
        }
    }
}

TYPED_TEST(heap_test, regions_become_larger_so_that_64_of_them_reach_anywhere) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{1_KiB}, upstream};
    for (int i = 0; i < 8000; ++i) { ASSERT_NE(h.allocate(1000), nullptr) << i; }
    EXPECT_LT(h.stats().region_count, 50u);
}

TYPED_TEST(heap_test, a_moved_heap_still_knows_its_spare) {
    test_upstream upstream;
    heap<TypeParam> first{grow_by{20_KiB}, upstream};
    void* const home = first.allocate(10'000);
    void* const one = first.allocate(40'000);  // too large to wait, and each in a region of its own
    void* const two = first.allocate(60'000);
    ASSERT_EQ(upstream.live_count(), 3u);
    first.deallocate(one, 40'000);
    EXPECT_EQ(upstream.live_count(), 3u) << "the spare";
    heap<TypeParam> h{std::move(first)};
    h.deallocate(two, 60'000);
    EXPECT_EQ(upstream.live_count(), 2u) << "one spare stays, not two";
    h.validate();
    h.deallocate(home, 10'000);
}

TYPED_TEST(heap_test, a_block_that_grows_where_it_stands_is_counted) {
    test_region memory{1_MiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(100);
    ASSERT_TRUE(h.try_resize(p, 100, 50'000));
    h.validate();
    ASSERT_TRUE(h.try_resize(p, 50'000, 2000));
    h.validate();  // in checked builds: what is in use is what the regions say
    h.deallocate(p, 2000);
    h.validate();
}

TYPED_TEST(heap_test, reset_forgets_everything_and_keeps_the_memory) {
    test_upstream upstream;
    heap<TypeParam> h{grow_by{4_KiB}, upstream};
    for (int i = 0; i < 200; ++i) { ASSERT_NE(h.allocate(100), nullptr); }
    void* const p = h.allocate(100);
    h.deallocate(p, 100);
    const std::size_t blocks = upstream.live_count();
    h.reset();
    h.validate();
    EXPECT_EQ(upstream.live_count(), blocks);
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
    random_run(h, 3, 500, 500, 20);
}

TYPED_TEST(heap_test, a_moved_from_heap_is_empty_and_valid) {
    test_upstream upstream;
    heap<TypeParam> a{grow_by{4_KiB}, upstream};
    void* const p = a.allocate(100);
    heap<TypeParam> b{std::move(a)};
    EXPECT_FALSE(a.owns(p));  // NOLINT: this is what is tested
    EXPECT_TRUE(b.owns(p));
    void* const q = a.allocate(10);
    EXPECT_TRUE(a.owns(q));
    a = std::move(b);
    EXPECT_TRUE(a.owns(p));
    a.deallocate(p, 100);
    a.validate();
}

TYPED_TEST(heap_test, for_each_block_shows_every_byte_once) {
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    std::vector<void*> live;
    for (int i = 0; i < 100; ++i) { live.push_back(h.allocate(static_cast<std::size_t>(i * 3))); }
    for (std::size_t i = 0; i < 100; i += 2) { h.deallocate(live[i]); }
    std::size_t bytes = 0;
    std::size_t used = 0;
    h.for_each_block([&](const heap_block& b) {
        bytes += b.size + h.header_size;
        used += b.state == block_state::used ? 1u : 0u;
    });
    EXPECT_EQ(bytes, h.stats().capacity);
    EXPECT_EQ(used, 50u);
    h.reset();
}

TYPED_TEST(heap_test, freed_memory_is_poisoned) {
    if (!poison_is_queryable) { GTEST_SKIP(); }
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    auto* const p = static_cast<std::byte*>(h.allocate(100));
    void* const q = h.allocate(100);
    EXPECT_FALSE(is_poisoned(p));
    EXPECT_FALSE(is_poisoned(p + 99));
    EXPECT_TRUE(is_poisoned(p - 1)) << "the header is nobody's";
    EXPECT_TRUE(is_poisoned(p + 104)) << "so is what follows the block";
    h.deallocate(p, 100);
    for (int i = 0; i < 100; ++i) { EXPECT_TRUE(is_poisoned(p + i)) << i; }
    EXPECT_TRUE(h.try_resize(q, 100, 20));
    EXPECT_TRUE(is_poisoned(static_cast<std::byte*>(q) + 24));
    h.deallocate(q, 20);
}

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
    // Another size: the heap would become larger than it was, so what waits gives way.
    live.clear();
    for (int i = 0; i < 2500; ++i) { live.push_back(h.allocate(700)); }
    EXPECT_LT(h.stats().deferred_count, 64u);
    h.validate();
    h.reset();
}

TEST(heap, what_waits_is_bounded) {
    test_region memory{16_MiB};
    heap<good_fit> h{memory.span()};
    std::vector<void*> live;
    for (std::size_t i = 0; i < 12'000; ++i) { live.push_back(h.allocate(i % 1000)); }
    for (std::size_t i = 0; i < live.size(); ++i) { h.deallocate(live[i], i % 1000); }
    EXPECT_GE(h.stats().deferred_count, detail::deferred_surplus::surplus_max);
    EXPECT_LE(h.stats().deferred_count, detail::deferred_blocks_max<good_fit>());
    h.validate();
    h.trim();
    EXPECT_EQ(h.stats().deferred_count, 0u);
    EXPECT_EQ(h.stats().free_size, h.stats().capacity);
}

TEST(heap, what_waits_does_not_make_the_heap_larger_than_its_shares) {
    test_region memory{4_MiB};
    heap<good_fit> h{memory.span()};
    std::mt19937 random{9};
    std::vector<piece> live(1000, piece{nullptr, 0, default_alignment, {}});
    std::size_t used = 0;
    std::size_t most = 0;
    const std::size_t shares = 81 * 4_MiB / 2048;
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
        const heap_stats s = h.stats();
        ASSERT_LE(s.capacity - s.free_size, most + most / 32 + shares);
    }
    h.reset();
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

TEST(heap, can_be_the_upstream_of_another) {
    heap<> outer{1_MiB};
    heap<first_fit> inner{grow_by{8_KiB}, outer};
    random_run(inner, 4, 2000, 1000, 100);
    outer.validate();
}

TYPED_TEST(heap_test, misuse_is_named) {
    if (!asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(100);
    void* const q = h.allocate(100);
    void* const guard = h.allocate(100);
    EXPECT_DEATH((h.deallocate(q, 100), h.deallocate(q, 100)), "a block is freed once");
    EXPECT_DEATH((h.deallocate(p, 100), h.deallocate(q, 100), h.deallocate(q, 100)),
                 "a block is freed once");
    EXPECT_DEATH((h.deallocate(q), h.deallocate(q)), "a block is freed once");
    EXPECT_DEATH(h.deallocate(p, 300), "freed with the size that it was asked with");
    EXPECT_DEATH(h.deallocate(&h, 100), "freed to the heap it came from");
    EXPECT_DEATH(h.deallocate(static_cast<std::byte*>(p) + 8), "start of a block");
    h.deallocate(p, 100), h.deallocate(q, 100), h.deallocate(guard, 100);
}

TYPED_TEST(heap_test, live_blocks_at_the_end_are_told_when_that_was_asked_for) {
    test_region memory{64_KiB};
    {
        heap<TypeParam> dropped{memory.span()};  // a level that is left as a whole
        EXPECT_NE(dropped.allocate(100), nullptr);
    }
    {
        heap<TypeParam> h{memory.span()};
        h.expect_empty_end();
        void* const p = h.allocate(100);
        heap<TypeParam> moved{std::move(h)};
        moved.deallocate(p, 100);  // it may wait
    }
    if (!asserts_enabled) { return; }
    GTEST_FLAG_SET(death_test_style, "fast");
    EXPECT_DEATH(
        {
            heap<TypeParam> h{memory.span()};
            h.expect_empty_end();
            (void)h.allocate(100);
        },
        "every block of this heap has come back when it ends");
    EXPECT_DEATH(
        {
            heap<TypeParam> h{memory.span()};
            h.expect_empty_end();
            (void)h.allocate(100);
            heap<TypeParam> moved{std::move(h)};
        },
        "every block of this heap has come back when it ends");
}

TYPED_TEST(heap_test, an_overrun_header_is_noticed) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{64_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(104);
    void* const q = h.allocate(104);
    void* const guard = h.allocate(104);
    const std::size_t end = h.usable_size(p);
    for (std::size_t bit = 0; bit < 64; ++bit) {  // every bit of the header after p
        auto* const byte = static_cast<std::byte*>(p) + end + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        if (bit != 31) {  // `deferred` set is a block that nobody lists
            EXPECT_DEATH(h.validate(), "broken promise") << bit;
        } else {
            EXPECT_DEATH(h.validate(), "every deferred block waits in a bin");
        }
        if (bit >= 32) {
            EXPECT_DEATH(h.deallocate(p, 104), "overran") << bit;
            EXPECT_DEATH(h.deallocate(q, 104), "broken promise") << bit;
        } else {
            EXPECT_DEATH(h.deallocate(q, 104), "broken promise") << bit;
        }
        *byte ^= std::byte{1} << (bit % 8);
    }
    h.validate();
    h.deallocate(p, 104), h.deallocate(q, 104), h.deallocate(guard, 104);
}

TYPED_TEST(heap_test, an_overrun_free_header_is_noticed_when_the_block_is_taken) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP() << "the checker is faster"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    test_region memory{4_KiB};
    heap<TypeParam> h{memory.span()};
    void* const p = h.allocate(104);
    void* const q = h.allocate(1000);
    void* const guard = h.allocate(104);
    while (h.allocate(8) != nullptr) {}  // so that q is the only block that fits
    const std::size_t end = h.usable_size(p);
    h.deallocate(q, 1000);
    for (std::size_t bit = 0; bit < 64; ++bit) {  // every bit of the free block's header
        auto* const byte = static_cast<std::byte*>(p) + end + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        EXPECT_DEATH((void)h.allocate(1000), "broken promise") << bit;
        *byte ^= std::byte{1} << (bit % 8);
    }
    for (std::size_t bit = 32; bit < 64; ++bit) {  // and what the block after it knows of it
        auto* const byte = static_cast<std::byte*>(guard) - 8 + bit / 8;
        *byte ^= std::byte{1} << (bit % 8);
        EXPECT_DEATH((void)h.allocate(1000), "overran") << bit;
        EXPECT_DEATH((void)h.usable_size(guard), "overran") << bit;
        *byte ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(h.allocate(1000), q);
    h.validate();
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

TEST(heap, best_fit_compares_all_regions) {
    test_upstream upstream;
    heap<best_fit> h{grow_by{16_KiB}, upstream};
    const auto hole_of = [&](std::size_t size) {
        void* const p = h.allocate(size);
        EXPECT_NE(h.allocate(24), nullptr);
        return p;
    };
    void* const large = hole_of(2008);
    std::vector<void*> holes;
    while (h.stats().region_count < 3) { holes.push_back(hole_of(1000)); }
    void* const exact = holes.back();
    while (h.stats().region_count < 4) { (void)hole_of(504); }
    h.deallocate(large, 2008);
    h.deallocate(exact, 1000);
    EXPECT_EQ(h.allocate(1000), exact);
    EXPECT_EQ(h.allocate(1000), large);
}

TEST(heap, region_size_for_says_what_no_region_has) {
    static_assert(heap<>::region_size_for(SIZE_MAX) == SIZE_MAX);
    static_assert(heap<half_fit>::region_size_for(std::size_t{1} << 36) == SIZE_MAX);
    EXPECT_EQ(heap<>::region_size_for(std::size_t{1} << 34), SIZE_MAX);
    EXPECT_EQ(heap<first_fit>::region_size_for_granules(std::size_t{1} << 30), SIZE_MAX);
    EXPECT_GT(heap<>::region_size_for(heap<>::size_max), heap<>::size_max);
    EXPECT_LT(heap<>::region_size_for(heap<>::size_max), std::size_t{1} << 34);
    EXPECT_GT(heap<half_fit>::region_size_for(heap<half_fit>::size_max), heap<half_fit>::size_max);
    const std::size_t all = detail::granule_count_max;
    EXPECT_GT(heap<best_fit>::region_size_for_granules(all), all * 16);
}

TYPED_TEST(heap_test, a_region_of_region_size_for_granules_has_them_wherever_it_begins) {
    using heap_type = heap<TypeParam>;
    std::vector<std::byte> bytes(heap_type::region_size_for_granules(2200) + 16);
    std::byte* const begin =
        bytes.data() +
        padding_to(reinterpret_cast<std::uintptr_t>(bytes.data()), default_alignment);
    for (std::size_t granules = 1; granules <= 2200; granules += granules < 1900 ? 7 : 1) {
        for (const std::size_t skipped : {0u, 1u}) {
            const std::size_t size = heap_type::region_size_for_granules(granules);
            const heap_type h{byte_slice{begin + skipped, size}};
            ASSERT_GE(h.stats().capacity, granules * 16) << granules << " at " << skipped;
        }
    }
}

TEST(heap, adopts_no_region_of_a_fit_of_another_shape) {
    test_region memory{64_KiB};
    heap<best_fit> h{memory.span()};
    EXPECT_EQ(heap<best_fit>::adopt(memory.span()).stats().region_count, 1u);
    EXPECT_EQ(heap<basic_best_fit<1000>>::adopt(memory.span()).stats().region_count, 0u);
}

TEST(heap, adopting_bytes_that_are_no_heap_reads_only_these_bytes) {
    alignas(16) static std::uint32_t bytes[1024] = {};
    const byte_slice memory{reinterpret_cast<std::byte*>(bytes), sizeof bytes};
    for (const std::uint32_t extra : {0u, 8u, 60u, 4096u, 0xFFFF'FFF0u}) {
        bytes[0] = 1;      // granules
        bytes[2] = 64;     // offset of the blocks
        bytes[3] = extra;  // offset of the bins
        heap<> h = heap<>::adopt(memory);
        EXPECT_EQ(h.allocate(8), nullptr);
    }
    std::mt19937 random{7};
    for (int i = 0; i < 1000; ++i) {
        for (int word = 0; word < 4; ++word) {
            bytes[word] = static_cast<std::uint32_t>(random()) >> random() % 32;
        }
        EXPECT_EQ(heap<>::adopt(memory).allocate(8), nullptr);
    }
}

TEST(heap, all_of_usable_size_may_be_used_once_it_was_asked_for) {
    heap<> h{std::size_t{64_KiB}};
    for (std::size_t size = 0; size < 200; ++size) {
        auto* const p = static_cast<std::byte*>(h.allocate(size));
        const std::size_t usable = h.usable_size(p);
        ASSERT_GE(usable, size);
        for (std::size_t i = 0; i < usable; ++i) { ASSERT_FALSE(is_poisoned(p + i)) << size; }
        std::memset(p, 1, usable);
        h.deallocate(p, size);
        ASSERT_EQ(is_poisoned(p), poison_is_queryable);
    }
    h.validate();
}

TEST(deferred_surplus, a_heap_wants_to_shrink_when_more_waits_than_is_in_use) {
    detail::deferred_surplus surplus;
    detail::deferred_bin bin;
    surplus.start(1000, 100, 0, 0);
    surplus.set_may_shrink(true);
    ASSERT_TRUE(surplus.joined(bin, 30));
    ASSERT_TRUE(surplus.joined(bin, 30));
    surplus.left(bin, 30);
    EXPECT_EQ(surplus.waiting(), 30u);
    EXPECT_FALSE(surplus.wants_to_shrink()) << "what has left waits no longer";
    ASSERT_TRUE(surplus.joined(bin, 30));
    EXPECT_TRUE(surplus.wants_to_shrink()) << "60 of 100";
    surplus.set_may_shrink(false);
    EXPECT_FALSE(surplus.wants_to_shrink());
}

TEST(free_lists, are_cleared_with_as_many_heads_as_there_are_bins) {
    std::uint32_t heads[65];
    heads[64] = 7;  // what lies behind them
    detail::free_lists<64, uncounted> lists;
    lists.clear(heads, 64);
    for (int bin = 0; bin < 64; ++bin) { EXPECT_EQ(heads[bin], detail::no_block); }
    EXPECT_EQ(heads[64], 7u);
}
