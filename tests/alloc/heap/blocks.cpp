// Sentences of cairn/alloc/heap.hpp about single blocks: contents, alignments, growing and
// shrinking, copies, moves and reset.
#include <cairn/alloc/heap.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/page_memory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "alloc/heap/pieces.hpp"
#include "support/allocator_contract.hpp"
#include "support/heap_model.hpp"
#include "support/step_bound.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;
using namespace heap_tests;

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
    EXPECT_EQ(h.largest_free(), 0u) << "nothing is free";
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

TYPED_TEST(heap_test, a_walk_in_parts_shows_each_block_of_a_heap_that_does_not_change) {
    heap<TypeParam> h{grow_by{64_KiB}};
    std::vector<void*> live;
    for (int i = 0; i < 2'000; ++i) {
        live.push_back(h.allocate(static_cast<std::size_t>(i % 200)));
    }
    for (std::size_t i = 0; i < live.size(); i += 3) { h.deallocate(live[i]); }
    std::vector<void*> all, in_parts;
    h.for_each_block([&](const heap_block& b) { all.push_back(b.payload); });
    std::size_t walked = 0;  // bytes
    bool goes_on = true;
    while (goes_on) {
        std::size_t shown = 0;
        goes_on = h.for_some_blocks(7, [&](const heap_block& b, std::size_t offset) {
            EXPECT_EQ(offset, walked);
            EXPECT_TRUE(shown < 7 || b.state == block_state::free) << "a part is bounded";
            walked += b.size + h.header_size;
            in_parts.push_back(b.payload);
            ++shown;
        });
        EXPECT_LE(shown, 8u + h.stats().region_count) << "one behind, and one of a region each";
    }
    EXPECT_EQ(in_parts, all);
    EXPECT_EQ(walked, h.stats().capacity);
    EXPECT_TRUE(h.for_some_blocks(1, [&](const heap_block& b, std::size_t offset) {
        EXPECT_TRUE(offset != 0 || b.payload == all[0]) << "it begins anew";
    }));
}

TYPED_TEST(heap_test, a_part_of_a_walk_shows_the_free_block_of_each_empty_region_behind_it) {
    heap<TypeParam> h{grow_by{8_KiB}};
    std::vector<void*> all;
    while (h.stats().region_count < 8) { all.push_back(h.allocate(6000)); }  // too large to wait
    for (std::size_t i = 1; i < all.size(); ++i) { h.deallocate(all[i], 6000); }
    ASSERT_EQ(h.stats().region_count, 8u);
    std::vector<bool> is_free;
    h.for_each_block([&](const heap_block& b) { is_free.push_back(b.state == block_state::free); });
    const auto used = std::find(is_free.begin(), is_free.end(), false);
    const auto before = static_cast<std::size_t>(used - is_free.begin());
    std::size_t count = 0;
    const auto counted = [&](const heap_block&, std::size_t) { ++count; };
    EXPECT_TRUE(h.for_some_blocks(0, counted));
    EXPECT_EQ(count, before);
    EXPECT_FALSE(h.for_some_blocks(1, counted));
    EXPECT_EQ(count, is_free.size());
    EXPECT_GE(is_free.size(), 8u);
    h.deallocate(all[0], 6000);
}

TYPED_TEST(heap_test, a_walk_in_parts_shows_only_blocks_although_the_heap_changes) {
    heap<TypeParam> h{grow_by{64_KiB}};
    std::mt19937 random{5};
    std::vector<std::pair<void*, std::size_t>> live;
    std::size_t ends = 0;
    for (int part = 0; part < 600; ++part) {
        for (int i = 0; i < 30; ++i) {
            if (random() % 2 == 0 && live.size() < 1'000) {
                const std::size_t size = 1 + random() % 300;
                void* const p = h.allocate(size);
                std::memset(p, static_cast<int>(random()), size);  // what were headers, too
                live.emplace_back(p, size);
            } else if (!live.empty()) {
                std::swap(live[random() % live.size()], live.back());
                h.deallocate(live.back().first, live.back().second);
                live.pop_back();
            }
        }
        if (part % 50 == 0) { h.trim(); }
        std::set<void*> blocks;
        h.for_each_block([&](const heap_block& b) { blocks.insert(b.payload); });
        const bool goes_on = h.for_some_blocks(
            50, [&](const heap_block& b, std::size_t) { EXPECT_EQ(blocks.count(b.payload), 1u); });
        ends += goes_on ? 0u : 1u;
    }
    EXPECT_GT(ends, 5u) << "a walk comes to its end";
    h.reset();
}

TYPED_TEST(heap_test, a_walk_in_parts_goes_on_behind_the_block_where_it_stands_when_that_is_freed) {
    heap<TypeParam> h{1_MiB};
    void* small[16];
    for (void*& p : small) { p = h.allocate(100); }
    std::vector<void*> shown;
    const auto show = [&](const heap_block& b, std::size_t) { shown.push_back(b.payload); };
    EXPECT_TRUE(h.for_some_blocks(10, show));
    for (int i = 0; i < 14; ++i) { h.deallocate(small[i], 100); }
    h.trim();  // what waits merges: the walk stood at small[10]
    while (void* const p = h.allocate(400)) {
        std::fill_n(static_cast<std::uint32_t*>(p), 100, 1u);  // a pair of them is like a header
    }
    std::set<void*> blocks;
    h.for_each_block([&](const heap_block& b) { blocks.insert(b.payload); });
    shown.clear();
    EXPECT_FALSE(h.for_some_blocks(100'000, show));
    for (void* const p : shown) { EXPECT_EQ(blocks.count(p), 1u); }
    EXPECT_EQ(std::count(shown.begin(), shown.end(), small[14]), 1);
    EXPECT_EQ(std::count(shown.begin(), shown.end(), small[13]), 0);
    h.reset();
}

TYPED_TEST(heap_test, a_walk_in_parts_ends_when_nothing_behind_it_is_live) {
    heap<TypeParam> h{grow_by{4_KiB}};
    std::vector<void*> all;
    for (int i = 0; i < 200; ++i) { all.push_back(h.allocate(100)); }
    const auto show = [](const heap_block&, std::size_t) {};
    EXPECT_TRUE(h.for_some_blocks(150, show));
    for (void* const p : all) { h.deallocate(p, 100); }
    h.trim();  // the regions behind go
    void* const p = h.allocate(100);
    std::size_t count = 0;
    const auto counted = [&](const heap_block&, std::size_t) { ++count; };
    EXPECT_FALSE(h.for_some_blocks(100, counted));
    EXPECT_EQ(count, 0u);
    h.for_some_blocks(100, counted);
    EXPECT_GE(count, 1u) << "it begins anew";
    h.deallocate(p, 100);
}

TYPED_TEST(heap_test, a_walk_in_parts_begins_anew_in_a_heap_that_was_reset_or_moved) {
    heap<TypeParam> h{1_MiB};
    const auto walk = [](heap<TypeParam>& of) {
        std::size_t first = 1;
        of.for_some_blocks(
            3, [&](const heap_block&, std::size_t offset) { first = first == 1 ? offset : first; });
        return first;
    };
    for (int i = 0; i < 20; ++i) { ASSERT_NE(h.allocate(100), nullptr); }
    EXPECT_EQ(walk(h), 0u);
    EXPECT_GT(walk(h), 1u);
    h.reset();
    for (int i = 0; i < 20; ++i) { ASSERT_NE(h.allocate(100), nullptr); }
    EXPECT_EQ(walk(h), 0u);
    heap<TypeParam> other{std::move(h)};
    EXPECT_EQ(walk(other), 0u);
    h = heap<TypeParam>{1_MiB};  // NOLINT: this is what is tested
    EXPECT_EQ(walk(h), 0u);
    other.reset();
}

TYPED_TEST(heap_test, a_walk_in_parts_shows_a_block_that_stays_once_and_comes_to_its_end) {
    heap<TypeParam> h{grow_by{16_KiB}};
    std::mt19937 random{1};
    std::map<void*, int> shown;  // blocks that stay
    for (int i = 0; i < 300; ++i) {
        shown[h.allocate(1 + random() % 600)] = 0;
        h.deallocate(h.allocate(700));
    }
    int ends = 0;
    for (int part = 0; part < 200; ++part) {
        std::vector<std::pair<void*, std::size_t>> young;
        for (int i = 0; i < 300; ++i) {
            const std::size_t size = 1 + random() % 3'000;
            young.emplace_back(h.allocate(size), size);
        }
        if (part % 2 == 0) { std::swap(young.front(), young.back()); }
        const bool goes_on = h.for_some_blocks(100, [&](const heap_block& b, std::size_t) {
            const auto of = shown.find(b.payload);
            if (of != shown.end()) { ++of->second; }
        });
        for (const auto& [p, size] : young) { h.deallocate(p, size); }
        if (part % 3 == 0) { h.trim(); }  // regions go
        if (goes_on) { continue; }
        ++ends;
        for (auto& [p, count] : shown) {
            EXPECT_EQ(count, 1) << "in walk " << ends;
            count = 0;
        }
    }
    EXPECT_GE(ends, 20);
    for (const auto& [p, count] : shown) { h.deallocate(p); }
}

TYPED_TEST(heap_test, freed_memory_is_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP(); }
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

TEST(heap, can_be_the_upstream_of_another) {
    heap<> outer{1_MiB};
    heap<first_fit> inner{grow_by{8_KiB}, outer};
    random_run(inner, 4, 2000, 1000, 100);
    outer.validate();
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
        ASSERT_EQ(is_poisoned(p), detail::poison_is_queryable);
    }
    h.validate();
}

TEST(heap, an_upstream_alone_makes_a_heap_that_grows) {
    test_upstream upstream;
    heap<> h{upstream};
    static_assert(std::is_same_v<decltype(heap{allocator_ref{upstream}}), heap<>>);
    EXPECT_EQ(upstream.live_count(), 0u);
    void* const p = h.allocate(100);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(upstream.live_size(), 64_KiB);
    h.deallocate(p, 100);
}
