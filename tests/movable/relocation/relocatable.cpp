// Sentences of cairn/movable/relocatable_heap.hpp about typed objects: making, pinning and misusing
// them.
#include <cairn/movable/relocatable.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <source_location>
#include <unordered_map>

#include "movable/relocation/types.hpp"

using namespace relocation_tests;

namespace {

using namespace cairn::literals;
using cairn::frame_ptr;
using cairn::pinned;
using cairn::relocatable;
using cairn::relocatable_heap;
struct big {
    big() noexcept { std::memset(bytes, 3, sizeof(bytes)); }
    big(big&& other) noexcept {
        const auto distance =
            reinterpret_cast<std::intptr_t>(&other) - reinterpret_cast<std::intptr_t>(this);
        EXPECT_GE(distance < 0 ? -distance : distance, static_cast<std::intptr_t>(sizeof(big)))
            << "source and destination do not overlap";
        std::memcpy(bytes, other.bytes, sizeof(bytes));
    }
    unsigned char bytes[1000];
};

TEST(relocation_test, what_cannot_slide_over_itself_goes_through_another_hole) {
    relocatable_heap heap{16 + 1008 + 2000 + 1008};  // the hole at the end is just large enough
    const auto below = heap.allocate(16);
    const auto b = heap.make<big>();
    const auto above = heap.allocate(2000);  // its hole is the one to go through
    heap.deallocate(below);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_EQ(b->bytes[999], 3);
    EXPECT_TRUE(heap.contains(above));
    heap.validate();
    heap.destroy(b);
}

TEST(relocation_test, what_cannot_slide_and_finds_no_hole_stays) {
    relocatable_heap heap{1024 + 32};
    const auto below = heap.allocate(16);
    const auto b = heap.make<big>();
    const big* const before = b.get();
    heap.deallocate(below);
    const auto report = heap.compact(everything);
    EXPECT_TRUE(report.settled);
    EXPECT_EQ(b.get(), before);
    heap.destroy(b);
}

TEST(relocation_test, make_gives_null_when_exhausted) {
    relocatable_heap heap{512};
    const auto b = heap.make<big>();
    EXPECT_FALSE(b);
    EXPECT_EQ(b.get(), nullptr);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}
}  // namespace

#if defined(__cpp_exceptions)
namespace {
TEST(relocation_test, a_constructor_that_throws_leaves_nothing_behind) {
    struct throws {
        throws() { throw 1; }
        throws(throws&&) noexcept {}
    };
    relocatable_heap heap{4_KiB};
    EXPECT_THROW((void)heap.make<throws>(), int);
    EXPECT_EQ(heap.object_count(), 0u);
    EXPECT_EQ(heap.free_size(), heap.capacity());
}
}  // namespace
#endif

namespace {
TEST(relocation_test, a_handle_gets_its_type_back) {
    relocatable_heap heap{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const relocatable<plain> again = heap.as<plain>(p.handle());
    EXPECT_EQ(again, p);
    EXPECT_EQ(again->b, 2);
    EXPECT_EQ(again.heap(), &heap);
    const relocatable<plain> nothing;
    EXPECT_FALSE(nothing);
    EXPECT_FALSE(nothing.pin());
}

TEST(relocation_test, a_pinned_object_is_a_pointer_that_stays_right) {
    relocatable_heap heap{4_KiB};
    const auto below = heap.allocate(200);
    const auto p = heap.make<plain>(1, 2);
    pinned<plain> still = p.pin();
    heap.deallocate(below);
    heap.compact(everything);
    EXPECT_EQ(still.get(), p.get());
    EXPECT_EQ(still->a, 1);
    EXPECT_EQ((*still).b, 2);
    still.reset();
    EXPECT_FALSE(still);
    EXPECT_TRUE(heap.compact(everything).one_piece);
    EXPECT_FALSE(heap.is_pinned(p.handle()));
}

TEST(relocation_test, a_view_is_a_pointer_for_one_epoch) {
    relocatable_heap heap{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const frame_ptr<plain> v = p.frame_ptr();
    EXPECT_EQ(v.get(), p.get());
    EXPECT_EQ(v->a + (*v).b, 3);
    EXPECT_TRUE(v);
    EXPECT_FALSE(frame_ptr<plain>{});
    const std::uint32_t epoch = heap.epoch();
    heap.compact({});
    EXPECT_EQ(heap.epoch(), epoch + 1) << "every compact() is a safe point, moves or not";
}

TEST(relocation_death_test, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    relocatable_heap other{4_KiB};
    const auto p = heap.make<plain>(1, 2);
    const frame_ptr<plain> v = p.frame_ptr();
    heap.compact({});
    EXPECT_DEATH((void)v->a, "a frame pointer is used before the next safe point");
    const auto late_view = cairn::expect_broken_promise([&] { (void)v->a; });
    EXPECT_EQ(late_view.kind(), cairn::misuse_kind::outlived) << late_view;
    EXPECT_EQ(late_view.object(), &heap);
    EXPECT_EQ(late_view.value("epoch"), late_view.value("epoch of the pointer") + 1);
    {
        const auto brief = heap.make<plain>(3, 4);
        const frame_ptr<plain> late = brief.frame_ptr();
        heap.destroy(brief);
        const auto next = heap.make<plain>(5, 6);  // in its place
        EXPECT_DEATH((void)late->a, "a frame pointer is used while its object lives");
        heap.destroy(next);
    }
    EXPECT_DEATH(other.destroy(p), "an object is destroyed by the heap that made it");
    {
        const pinned<plain> still = p.pin();
        EXPECT_DEATH(heap.destroy(p), "an object is unpinned before it is freed");
    }
    heap.destroy(p);
    EXPECT_DEATH((void)p->a, "an object is used while it lives");
    const auto gone = cairn::expect_broken_promise([&] { (void)p->a; });
    EXPECT_EQ(gone.kind(), cairn::misuse_kind::stale_handle) << gone;
    EXPECT_EQ(gone.value("slot"), p.handle().index());
    const unsigned line = std::source_location::current().line() + 1;
    const auto twice = cairn::expect_broken_promise([&] { heap.destroy(p); });
    EXPECT_STREQ(twice.sentence(), "an object is destroyed once") << twice;
    EXPECT_EQ(twice.kind(), cairn::misuse_kind::double_free);
    EXPECT_EQ(twice.line(), line);
    const auto null = cairn::expect_broken_promise([&] { heap.destroy(relocatable<plain>{}); });
    EXPECT_EQ(null.kind(), cairn::misuse_kind::null_handle) << null;
    EXPECT_DEATH((void)p.frame_ptr(), "an object is used while it lives");
}
}  // namespace

TEST(relocation_test, the_names_of_objects_are_keys_of_hash_tables) {
    relocatable_heap heap{64_KiB};
    std::unordered_map<relocatable<plain>, int> sum;
    const auto a = heap.make<plain>(1, 2);
    const auto b = heap.make<plain>(3, 4);
    sum[a] = 10;
    sum[b] = 20;
    sum[{}] = 30;
    heap.destroy(a);
    (void)heap.compact(everything);
    EXPECT_EQ(sum.size(), 3u);
    EXPECT_EQ(sum[a], 10);
    EXPECT_EQ((sum[{heap, b.handle()}]), 20);
    heap.destroy(b);
}
