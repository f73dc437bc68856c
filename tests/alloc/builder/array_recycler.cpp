// What cairn/alloc/array_recycler.hpp promises; its use by containers is in tests/std.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "support/allocator_contract.hpp"
#include "support/arena_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

TEST(array_recycler, a_freed_array_serves_the_next_request_of_its_size) {
    arena memory{4_KiB};
    array_recycler again{memory};
    void* const x = again.allocate(100);
    (void)again.allocate(16);
    again.deallocate(x, 100);
    EXPECT_EQ(again.allocate(65), x) << "both are of the power of two 128";
    EXPECT_NE(again.allocate(65), x);
}

TEST(array_recycler, a_mark_forgets_the_lists_as_a_rewind_does) {
    arena memory{4_KiB};
    array_recycler again{memory};
    void* const x = again.allocate(64);
    void* const y = again.allocate(64);
    again.deallocate(x, 64);  // to its list
    again.deallocate(y, 64);  // back to the arena: x is the last block now
    const auto here = again.mark();
    void* const z = again.allocate(64);
    again.deallocate(z, 64);  // were z x, the arena would shrink below the mark
    EXPECT_NE(z, x);
    again.rewind(here);
    EXPECT_EQ(memory.used_size(), 64u);
    memory.validate();
}

TEST(array_recycler, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    growing_arena memory;
    array_recycler again{memory};
    const auto sentence_of = [&](void* p, std::size_t size) {
        const caught_promise told = expect_broken_promise([&] { again.deallocate(p, size); });
        EXPECT_TRUE(told.says("array_recycler.cpp")) << told;
        return std::string{told.sentence()};
    };
    auto* const x = static_cast<std::byte*>(again.allocate(64));
    auto* const y = static_cast<std::byte*>(again.allocate(64));
    void* const z = again.allocate(64);
    alignas(16) std::byte local[64] = {};
    EXPECT_EQ(sentence_of(local, 64), "a block comes back to the arena that it was allocated from");
    again.deallocate(x, 64);
    again.deallocate(y, 64);
    EXPECT_EQ(sentence_of(x, 64), "an array is freed once");
    EXPECT_EQ(sentence_of(y, 16), "an array is freed once") << "in the list of another size";
    again.deallocate(z, 64);  // back to the arena: y is the last block now
    EXPECT_EQ(sentence_of(y, 64), "an array is freed once");
    EXPECT_EQ(sentence_of(z, 64),
              "a block is freed once, with its size, before its arena was rewound");
    EXPECT_EQ(again.allocate(64), y);
    again.deallocate(y, 64);
    EXPECT_EQ(again.allocate(64), x);
    std::memset(x, 0xA5, 64);
    again.deallocate(x, 64);
}

TEST(array_recycler, reports_name_the_arena_and_the_line_of_the_user) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    growing_arena memory{{.name = "paths"}};
    array_recycler again{memory};
    alignas(64) std::byte local[64] = {};
    // An over-aligned block is the arena's affair.
    for (const alignment align : {default_alignment, alignment{64}}) {
        const caught_promise told =
            expect_broken_promise([&] { again.deallocate(local, 64, align); });
        EXPECT_STREQ(told.sentence(), "a block comes back to the arena that it was allocated from");
        EXPECT_TRUE(told.says("paths")) << told;
        EXPECT_TRUE(told.says("array_recycler.cpp")) << told;
    }
}

TEST(array_recycler, arrays_after_a_rewind_have_no_stamp_of_those_before_it) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena memory{4_KiB};
    array_recycler again{memory};
    const auto start = again.mark();
    std::size_t before[2] = {};
    void* const x = again.allocate(64);
    (void)again.allocate(16);
    std::memset(x, 0, 16);
    again.deallocate(x, 64);
    again.rewind(start);
    ASSERT_EQ(again.allocate(64), x) << "the arena gives the address out anew";
    detail::unpoison_defined(x, 16);
    std::memcpy(before, x, 16);
    EXPECT_EQ(before[1], 0u) << "a free need not look for it in the lists";
}

TEST(array_recycler, keeps_the_common_contract) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        test_upstream upstream;
        growing_arena memory{1_KiB, upstream};
        array_recycler again{memory};
        check_allocator_contract(again, seed);
    }
}

/// The model's arena: a recycling one, with what it asks of arenas.
template <class Arena>
class recycling_arena {
public:
    using marker = typename Arena::marker;
    template <class... Args>
    explicit recycling_arena(Args&&... args)
        : inner_{std::forward<Args>(args)...}, again_{inner_} {}

    void* allocate(std::size_t size, alignment align) noexcept {
        return again_.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, alignment align) noexcept {
        again_.deallocate(p, size, align);
    }
    bool try_resize(void* p, std::size_t from, std::size_t to, alignment align) noexcept {
        // A size of its own for each block: the wrapper shrinks only within a power of two, and the
        // model wants every shrinking to succeed.
        return to > from ? again_.try_resize(p, from, to, align)
                         : again_.good_size(to, align) == again_.good_size(from, align) &&
                               again_.try_resize(p, from, to, align);
    }
    marker mark() noexcept { return again_.mark(); }
    void rewind(const marker& to) noexcept { again_.rewind(to); }
    void reset() noexcept { again_.reset(); }
    void validate() const noexcept { inner_.validate(); }

private:
    Arena inner_;
    array_recycler<Arena&> again_;
};

void check_against_model(unsigned seed, arena_model_options o) {
    o.shrinking_fails = true;
    test_upstream upstream;
    recycling_arena<growing_arena> a{std::size_t{1_KiB}, upstream};
    check_arena_against_model(a, seed, o);
    recycling_arena<virtual_arena> v{std::size_t{16_MiB}};
    check_arena_against_model(v, seed, o);
}

TEST(array_recycler, agrees_with_the_model_over_marks) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        check_against_model(seed, {.operation_count = 5000});
    }
}

TEST(array_recycler, agrees_with_the_model_over_marks_where_all_blocks_share_a_list) {
    for (const unsigned seed : {100u, 1u, 2u, 3u, 4u, 5u}) {
        check_against_model(seed, {.operation_count = 20'000,
                                   .size_min = 17,
                                   .size_max = 32,
                                   .align_log2_max = 4,
                                   .large_every = 1'000'000,
                                   .reset_every = 20,
                                   .older_percent = 10,
                                   .resize_percent = 0});
    }
}

TEST(array_recycler, an_outgrown_array_serves_again) {
    arena memory{64_KiB};
    array_recycler a{memory};
    void* const first = a.allocate(100);
    void* const behind = a.allocate(100);
    a.deallocate(first, 100);
    EXPECT_EQ(a.allocate(120), first) << "the same power of two";
    a.deallocate(behind, 100);
    EXPECT_EQ(memory.used_size(), 128u) << "the last block goes back to the arena itself";
}

TEST(array_recycler, growing_vectors_stop_taking_more_than_they_hold) {
    arena plain{1_MiB};
    arena memory{1_MiB};
    array_recycler recycled{memory};
    const auto grow_many = [](auto& a) {  // 64 arrays that double in turn, as vectors do
        void* arrays[64] = {};
        std::size_t sizes[64] = {};
        for (std::size_t size = 16; size <= 1024; size *= 2) {
            for (int i = 0; i < 64; ++i) {
                void* const larger = a.allocate(size);
                ASSERT_NE(larger, nullptr);
                if (arrays[i] != nullptr) { a.deallocate(arrays[i], sizes[i]); }
                arrays[i] = larger;
                sizes[i] = size;
            }
        }
        for (int i = 0; i < 64; ++i) {  // a second generation, smaller
            void* const again = a.allocate(512);
            ASSERT_NE(again, nullptr);
        }
    };
    grow_many(plain);
    grow_many(recycled);
    EXPECT_LE(memory.high_water_size() + 64 * 512, plain.high_water_size());
}

TEST(array_recycler, resizes_within_the_power_of_two_and_at_the_tip) {
    arena a{64_KiB};
    array_recycler r{a};
    void* const p = r.allocate(20);
    EXPECT_TRUE(r.try_resize(p, 20, 32)) << "32 bytes were taken";
    EXPECT_TRUE(r.try_resize(p, 32, 60)) << "nothing lies behind it";
    EXPECT_EQ(a.used_size(), 64u);
    (void)r.allocate(16);
    EXPECT_FALSE(r.try_resize(p, 60, 100)) << "something does now";
    EXPECT_TRUE(r.try_resize(p, 60, 40));
    EXPECT_FALSE(r.try_resize(p, 40, 50, alignment{64}))
        << "such blocks come from the arena itself";
}

TEST(array_recycler, rewind_and_reset_empty_the_lists) {
    arena memory{4_KiB};
    array_recycler a{memory};
    const auto start = a.mark();
    void* const first = a.allocate(64);
    (void)a.allocate(64);
    a.deallocate(first, 64);
    a.rewind(start);
    EXPECT_EQ(a.allocate(64), first);
    EXPECT_NE(a.allocate(64), first) << "a block is never given out twice";
}

}  // namespace
