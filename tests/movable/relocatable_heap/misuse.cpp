// Sentences of cairn/movable/relocatable_heap.hpp about its numbers and its checks: statistics,
// poison and misuse.
#include <cairn/core/handle.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <source_location>
#include <string>
#include <utility>

#include "movable/relocatable_heap/holes.hpp"

using namespace relocatable_heap_tests;

namespace {

using namespace cairn::literals;
using cairn::expect_broken_promise;
using cairn::misuse_kind;
using cairn::pinned;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap_test, free_memory_is_poisoned_before_and_after_moves) {
    if (!cairn::detail::poison_is_queryable) { GTEST_SKIP() << "needs AddressSanitizer"; }
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(40);
    const handle b = heap.allocate(100);
    auto* const p = static_cast<std::byte*>(heap.get(b));
    EXPECT_FALSE(cairn::is_poisoned(p + 99));
    EXPECT_TRUE(cairn::is_poisoned(p + 100)) << "exact at the end";
    heap.deallocate(a);
    heap.compact(everything);  // slides by 48 over its own bytes
    auto* const q = static_cast<std::byte*>(heap.get(b));
    ASSERT_EQ(q, p - 48);
    EXPECT_FALSE(cairn::is_poisoned(q));
    EXPECT_FALSE(cairn::is_poisoned(q + 99));
    EXPECT_TRUE(cairn::is_poisoned(q + 100));
    EXPECT_TRUE(cairn::is_poisoned(p + 99));
    heap.deallocate(b);
    EXPECT_TRUE(cairn::is_poisoned(q + 50));
}

TEST(relocatable_heap_test, numbers_say_what_the_map_shows) {
    relocatable_heap heap{1_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(128);
    const handle c = heap.allocate(256);
    heap.deallocate(a);
    const pinned<void> still = heap.pin(c);
    auto s = heap.stats();
    EXPECT_EQ(s.capacity, 1024u);
    EXPECT_EQ(s.free_size, 1024u - 384);
    EXPECT_EQ(s.largest_free, 576u);
    EXPECT_EQ(s.hole_count, 2u);
    EXPECT_EQ(s.object_count, 2u);
    EXPECT_DOUBLE_EQ(s.fragmentation(), 1.0 - 576.0 / 640.0);
    EXPECT_EQ(heap.unusable_for(64), 0u);
    EXPECT_EQ(heap.unusable_for(65), 64u);
    EXPECT_EQ(heap.unusable_for(577), 640u);
    std::string json;
    heap.write_json([&](const char* text, std::size_t length) { json.append(text, length); });
    EXPECT_EQ(json,
              "{\"capacity\":1024,\"ranges\":[{\"offset\":0,\"size\":64},"
              "{\"offset\":64,\"size\":128,\"user\":" +
                  std::to_string(b.index()) + "},{\"offset\":192,\"size\":256,\"user\":" +
                  std::to_string(c.index()) + ",\"pinned\":true},{\"offset\":448,\"size\":576}]}");
    const auto report = heap.compact(everything);
    s = heap.stats();
    EXPECT_EQ(s.moved_size, report.bytes);
    EXPECT_EQ(s.move_count, report.moves);
    EXPECT_EQ(s.compact_count, 1u);
}

TEST(relocatable_heap_death_test, misuse_is_named) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle h = heap.allocate(64);
    const handle gone = heap.allocate(64);
    heap.deallocate(gone);
    EXPECT_DEATH(heap.deallocate(gone), "an object is freed once, by its handle");
    EXPECT_DEATH(heap.deallocate(handle{}), "the handle is not null");
    EXPECT_DEATH((void)heap.size(gone), "an object is used while it lives");
    EXPECT_DEATH((void)heap.get(handle::make(100'000, 1)), "a handle is used with its own heap");
    const pinned<void> still = heap.pin(h);
    EXPECT_DEATH(heap.deallocate(h), "an object is unpinned before it is freed");
}

TEST(relocatable_heap_test, a_wrong_free_is_reported_with_its_cause_its_heap_and_its_line) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    relocatable_heap heap{4_KiB, cairn::system_memory(), {.first_generation = 3}};
    relocatable_heap other{4_KiB, cairn::system_memory(), {.first_generation = 1000}};
    const handle gone = heap.allocate(64);
    heap.deallocate(gone);
    const unsigned line = std::source_location::current().line();
    const auto twice = expect_broken_promise([&] { heap.deallocate(gone); });  // line + 1
    const auto foreign = expect_broken_promise([&] { heap.deallocate(other.allocate(64)); });
    const auto null = expect_broken_promise([&] { heap.deallocate({}); });
    const auto size = expect_broken_promise([&] { (void)heap.size(gone); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_EQ(twice.object(), &heap);
    EXPECT_STREQ(twice.type(), "relocatable_heap");
    EXPECT_EQ(twice.line(), line + 1);
    EXPECT_EQ(twice.value("slot"), gone.index());
    EXPECT_EQ(twice.value("life in the handle"), 3u);
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_handle) << foreign;
    EXPECT_EQ(foreign.line(), line + 2);
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
    EXPECT_EQ(size.kind(), misuse_kind::stale_handle) << size;
    EXPECT_EQ(size.line(), line + 4);

    relocatable_heap moved{std::move(heap)};
    const handle live = moved.allocate(64);
    const auto left = expect_broken_promise([&] { heap.deallocate(live); });  // NOLINT: moved from
    EXPECT_EQ(left.kind(), misuse_kind::foreign_handle) << left;
}

/// Misuses the heap in its move hook.
struct meddler {
    relocatable_heap* heap;
    handle other;
    int what;
    void on_relocated(meddler*) noexcept {
        if (what == 0) { heap->deallocate(other); }
        if (what == 1) { (void)heap->allocate(8); }
        if (what == 2) { heap->compact({}); }
        if (what == 3) { heap->pin(other).reset(); }
        EXPECT_TRUE(heap->contains(other)) << "to look is fine";
    }
};

TEST(relocatable_heap_death_test, an_object_that_is_told_of_its_move_changes_nothing) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle below = heap.allocate(200);
    const auto m = heap.make<meddler>(&heap, heap.allocate(16), 0);
    heap.deallocate(below);
    for (m->what = 0; m->what < 4; ++m->what) {
        EXPECT_DEATH(heap.compact(everything), "on_relocated\\(\\) changes nothing in the heap");
    }
    EXPECT_EQ(heap.compact(everything).moves, 2u);
    heap.validate();
}

/// Compacts its heap when it begins, or when it ends.
struct compacts {
    compacts(relocatable_heap& h, bool at_begin) noexcept : heap{h}, at_end{!at_begin} {
        if (at_begin) { heap.compact(); }
    }
    ~compacts() {
        if (at_end) { heap.compact(); }
    }
    static void relocate(compacts*, compacts*) noexcept {}
    relocatable_heap& heap;
    bool at_end;
};

TEST(relocatable_heap_death_test, a_constructor_and_a_destructor_do_not_compact_their_heap) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    EXPECT_DEATH((void)heap.make<compacts>(heap, true), "does not compact the object's heap");
    const auto c = heap.make<compacts>(heap, false);
    EXPECT_DEATH(heap.destroy(c), "does not compact the object's heap");
}

/// Makes or destroys others when it begins and when it ends.
struct owner_of_others {
    explicit owner_of_others(relocatable_heap& h) noexcept : heap{h}, other{h.make<int>(7)} {}
    owner_of_others(owner_of_others&& from) noexcept
        : heap{from.heap}, other{std::exchange(from.other, {})} {}
    ~owner_of_others() {
        if (other) { heap.destroy(other); }
    }
    relocatable_heap& heap;
    cairn::relocatable<int> other;
};

TEST(relocatable_heap_test, constructors_and_destructors_make_and_destroy_others) {
    relocatable_heap heap{4_KiB};
    const handle below = heap.allocate(100);
    const auto o = heap.make<owner_of_others>(heap);
    ASSERT_TRUE(o && o->other);
    heap.deallocate(below);
    heap.compact(everything);
    EXPECT_EQ(*o->other, 7);
    EXPECT_EQ(heap.object_count(), 2u);
    heap.destroy(o);
    EXPECT_EQ(heap.object_count(), 0u);
    heap.validate();
}

TEST(relocatable_heap_death_test, a_visitor_changes_nothing) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle h = heap.allocate(64);
    const auto visits = [&](auto change) {
        heap.for_each_range([&](const cairn::relocatable_heap::range&) { change(); });
    };
    EXPECT_DEATH(visits([&] { heap.deallocate(h); }), "a visitor of for_each_range");
    EXPECT_DEATH(visits([&] { (void)heap.allocate(8); }), "a visitor of for_each_range");
    EXPECT_DEATH(visits([&] { heap.compact(); }), "a visitor of for_each_range");
    EXPECT_DEATH(heap.write_json([&](const char*, std::size_t) { heap.deallocate(h); }),
                 "a visitor of for_each_range");
    visits([&] { EXPECT_TRUE(heap.contains(h)) << "to look is fine"; });
    heap.deallocate(h);
}

TEST(relocatable_heap_test, a_visitor_that_throws_leaves_the_heap_as_it_was) {
#if defined(__cpp_exceptions)
    relocatable_heap heap{4_KiB};
    const handle h = heap.allocate(64);
    EXPECT_THROW(heap.for_each_range([](const cairn::relocatable_heap::range&) { throw 1; }), int);
    heap.deallocate(h);
    heap.validate();
#endif
}

/// A heap that lies in an object of another one.
struct room {
    relocatable_heap inner{4_KiB};
};

TEST(relocatable_heap_test, a_heap_is_assigned_from_one_of_its_own_objects) {
    relocatable_heap heap{64_KiB};
    const auto r = heap.make<room>();
    ASSERT_TRUE(r);
    const handle h = r->inner.allocate(100);
    std::memset(r->inner.get(h), 7, 100);
    heap = std::move(r->inner);
    EXPECT_EQ(*static_cast<unsigned char*>(heap.get(h)), 7);
    EXPECT_EQ(heap.capacity(), 4_KiB);
    heap.validate();
}

TEST(relocatable_heap_death_test, a_heap_neither_ends_nor_moves_under_a_pin) {
    if (!cairn::asserts_enabled) { GTEST_SKIP() << "asserts are off"; }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    relocatable_heap other{4_KiB};
    const pinned<void> still = heap.pin(heap.allocate(16));
    EXPECT_DEATH(relocatable_heap{std::move(heap)}, "an object is unpinned before its heap moves");
    EXPECT_DEATH(other = std::move(heap), "an object is unpinned before its heap moves");
    EXPECT_DEATH(heap = std::move(other), "an object is unpinned before its heap ends");
    EXPECT_DEATH(
        {
            relocatable_heap brief{4_KiB};
            new pinned<void>{brief.pin(brief.allocate(16))};
        },
        "an object is unpinned before its heap ends");
}

TEST(relocatable_heap_death_test, a_write_into_free_memory_is_noticed) {
    if (!cairn::asserts_enabled || cairn::detail::poison_is_queryable) {
        GTEST_SKIP() << "asserts are off, or a checker is faster";
    }
    GTEST_FLAG_SET(death_test_style, "fast");
    relocatable_heap heap{4_KiB};
    const handle a = heap.allocate(64);
    const handle b = heap.allocate(64);
    void* const old = heap.get(a);
    heap.deallocate(a);
    EXPECT_DEATH((std::memset(old, 7, 16), heap.validate()),
                 "a hole is as the heap left it: nothing wrote into free memory");
    EXPECT_DEATH((std::memset(old, 7, 16), heap.deallocate(b)),
                 "a hole is as the heap left it: nothing wrote into free memory");
}
}  // namespace
