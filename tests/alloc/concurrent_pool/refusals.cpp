// Sentences of cairn/alloc/concurrent_pool.hpp about refusals and misuse.
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "support/death_words.hpp"
#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

TEST(concurrent_pool, an_absurd_number_of_caches_is_refused_before_anything_is_taken) {
    test_upstream upstream;
    upstream.limit_size(std::size_t{32} << 20);
    cairn::concurrent_pool p{64, cairn::default_alignment, upstream};
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 40}) {
        EXPECT_FALSE(p.reserve(10, count)) << count;
        EXPECT_EQ(upstream.live_size(), 0u) << count;
    }
    EXPECT_TRUE(p.reserve(10, 2));
}

TEST(concurrent_pool, refused_at_every_upstream_request_it_goes_on_working) {
    for (std::size_t refused = 0; refused < 20; ++refused) {
        test_upstream upstream;
        concurrent_pool p{32,
                          alignment{16},
                          upstream,
                          {.slots_per_chunk = 4, .chunk_size_max = 512, .magazine_size = 2}};
        upstream.refuse_from(refused, 1);
        std::vector<void*> slots;
        std::size_t refusals = 0;
        while (slots.size() < 100) {
            if (void* const s = p.allocate()) {
                slots.push_back(s);
            } else {
                ++refusals;
                p.validate();
            }
            ASSERT_LE(refusals, 1u);
        }
        EXPECT_EQ(std::set<void*>(slots.begin(), slots.end()).size(), 100u);
        for (void* s : slots) { p.deallocate(s); }
        p.validate();
        EXPECT_EQ(p.stats().live_count, 0u);
    }
}

/// Refuses, once it is `full`, and frees a slot of the pool then: as a budget's handler may.
struct freeing_upstream {
    void* allocate(std::size_t size, alignment align) noexcept {
        if (!is_full) { return cairn::system_memory().allocate(size, align); }
        if (void* const p = std::exchange(slot, nullptr)) { view->deallocate(p); }
        return nullptr;
    }
    static void deallocate(void* p, std::size_t size, alignment align) noexcept {
        cairn::system_memory().deallocate(p, size, align);
    }
    bool is_full = false;
    void* slot = nullptr;
    concurrent_pool::local_view* view = nullptr;
};
TEST(concurrent_pool, a_slot_that_upstream_frees_while_it_refuses_is_found) {
    freeing_upstream upstream;
    concurrent_pool p{32, cairn::allocator_ref{upstream}, {.slots_per_chunk = 2}};
    ASSERT_TRUE(p.reserve(2));
    upstream.is_full = true;
    auto view = p.local();  // without a cache, for which there is no memory
    EXPECT_EQ(p.stats().cache_count, 0u);
    void* const a = view.allocate();
    void* const b = view.allocate();
    EXPECT_EQ(view.allocate(), nullptr);
    upstream.view = &view;
    upstream.slot = b;
    EXPECT_EQ(view.allocate(), b);
    view.deallocate(a);
    view.deallocate(b);
    p.validate();
}

TEST(concurrent_pool, absurd_pools_are_refused) {
    test_upstream upstream;
    concurrent_pool absurd{SIZE_MAX, alignment{64}, upstream};
    EXPECT_EQ(absurd.allocate(), nullptr);
    concurrent_pool many{64, alignment{64}, upstream, {.slots_per_chunk = SIZE_MAX / 2}};
    EXPECT_EQ(many.allocate(), nullptr);
    EXPECT_FALSE(many.reserve(SIZE_MAX));
    EXPECT_EQ(many.allocate(65, alignment{1}), nullptr);
}

#if !defined(_WIN32)  // where the lock of the depot stays held
// In every build: the second one comes to its chunk while the first is there.
TEST(concurrent_pool, a_slot_that_comes_to_its_chunk_twice_stops_every_build) {
    concurrent_pool p{64, alignment{64}};
    ASSERT_NE(p.allocate(), nullptr);  // keeps the chunk
    const auto twice = cairn::expect_broken_promise([&] {
        void* const slot = p.allocate();
        for (int i = 0; i < 2; ++i) {
            p.deallocate(slot);
            p.release_this_thread();
            p.trim();
        }
    });
    EXPECT_EQ(twice.kind(), cairn::misuse_kind::double_free) << twice;
}

cairn::detail::installed_handler told_of_a_slot;

// In every build: no chunk has it. The handler allocates from the pool before it tells.
TEST(concurrent_pool, a_slot_of_another_pool_stops_every_build_when_it_comes_to_no_chunk) {
    static concurrent_pool p{64, alignment{64}};
    const auto foreign = cairn::expect_broken_promise([] {
        told_of_a_slot = cairn::set_assert_handler([](const cairn::broken_promise& broken, void*) {
            for (int i = 0; i < 1000; ++i) { ASSERT_NE(p.allocate(), nullptr); }
            told_of_a_slot.handler(broken, told_of_a_slot.context);
        });
        concurrent_pool other{64, alignment{64}};
        p.deallocate(p.allocate());
        p.deallocate(other.allocate());
        p.release_this_thread();
    });
    EXPECT_EQ(foreign.kind(), cairn::misuse_kind::foreign_pointer) << foreign;
}
#endif

using concurrent_pool_death = testing::Test;

TEST(concurrent_pool_death, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "promises are checked in checked builds"; }
    if (under_tsan) { GTEST_SKIP() << "death tests fork"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    concurrent_pool p{64, alignment{64}};
    void* const a = p.allocate();
    void* const b = p.allocate();
    p.deallocate(b);
    EXPECT_DEATH(p.deallocate(b), in_this_order({"a slot is freed once", "concurrent_pool at ",
                                                 ", slot ", ", bytes of a slot 64"}));
    EXPECT_DEATH(p.deallocate(static_cast<std::byte*>(a) + 8),
                 "by the address it was given out with");
    int foreign = 0;
    EXPECT_DEATH(p.deallocate(&foreign), "comes back to the pool that gave it out");
    EXPECT_DEATH(p.deallocate(a, 65, alignment{64}), "with the size it was asked with");
    EXPECT_DEATH(p.deallocate(a, 64, alignment{128}),
                 in_this_order({"with the alignment it was asked with", "alignment of a slot 64",
                                "alignment freed 128"}));
}
TEST(concurrent_pool_death, misuse_is_named_in_each_chunk_and_for_slots_of_any_size) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "promises are checked in checked builds"; }
    if (under_tsan) { GTEST_SKIP() << "death tests fork"; }
    for (const std::size_t size : {1u, 24u, 4104u}) {
        concurrent_pool p{size, alignment{1}, cairn::system_memory(), {.slots_per_chunk = 4}};
        std::vector<void*> slots;
        for (int i = 0; i < 40; ++i) { slots.push_back(p.allocate()); }
        auto view = p.local();  // remembers other chunks than this thread does
        for (std::size_t i = 0; i < slots.size(); i += 3) { view.deallocate(slots[i]); }
        p.validate();
        EXPECT_EQ(p.stats().live_count, 26u);
        for (const std::size_t i : {0u, 39u}) {
            EXPECT_DEATH(p.deallocate(slots[i]), "a slot is freed once") << size;
        }
        if (size != 1) {
            EXPECT_DEATH(p.deallocate(static_cast<std::byte*>(slots[1]) + 1),
                         "by the address it was given out with");
        }
        for (std::size_t i = 0; i < slots.size(); ++i) {
            if (i % 3 != 0) { p.deallocate(slots[i]); }
        }
        EXPECT_EQ(p.stats().live_count, 0u);
    }
}

}  // namespace
