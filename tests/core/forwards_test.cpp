// What a wrapper around an allocator offers: what the allocator offers, whole and nothing else.
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/core/inside/forwards.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/or_abort.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <gtest/gtest.h>

using namespace cairn;

namespace {

template <class Wrapper, class A>
constexpr bool offers_the_same =
    resizes_in_place<Wrapper> == resizes_in_place<A> &&
    has_good_size<Wrapper> == has_good_size<A> && has_owns<Wrapper> == has_owns<A> &&
    resettable<Wrapper> == resettable<A> && markable<Wrapper> == markable<A> &&
    validatable<Wrapper> == validatable<A>;

template <template <class> class Wrapper>
constexpr bool follows_its_allocator =
    offers_the_same<Wrapper<growing_arena>, growing_arena> &&
    offers_the_same<Wrapper<growing_arena&>, growing_arena> &&
    offers_the_same<Wrapper<heap<>>, heap<>> && offers_the_same<Wrapper<pool>, pool> &&
    offers_the_same<Wrapper<null_allocator>, null_allocator> &&
    !std::is_copy_constructible_v<Wrapper<null_allocator>>;

static_assert(follows_its_allocator<detail::forwards>);
static_assert(follows_its_allocator<or_abort>);
static_assert(follows_its_allocator<failing>);
static_assert(follows_its_allocator<tracked>);
static_assert(offers_the_same<monotonic<growing_arena>, growing_arena>);
static_assert(offers_the_same<array_recycler<growing_arena>, growing_arena>);

// A request between two fences is exactly as large as it was asked for.
static_assert(!has_good_size<guarded<growing_arena>> && has_owns<guarded<growing_arena>>);
static_assert(markable<guarded<growing_arena>> && !markable<guarded<pool>>);
// A marker would rewind what another thread has allocated.
static_assert(!markable<locked<growing_arena>> && resettable<locked<growing_arena>>);

TEST(forwards, passes_every_call_on) {
    detail::forwards<growing_arena> memory{4_KiB};
    const auto start = memory.mark();
    void* const p = memory.allocate(100);
    EXPECT_EQ(memory.inner().used_size(), memory.good_size(100));
    EXPECT_TRUE(memory.owns(p));
    EXPECT_TRUE(memory.try_resize(p, 100, 200));
    memory.validate();
    memory.deallocate(p, 200);
    EXPECT_EQ(memory.inner().used_size(), 0u);
    (void)memory.allocate(1);
    memory.rewind(start);
    EXPECT_EQ(memory.inner().used_size(), 0u);
    (void)memory.allocate(1);
    memory.reset();
    EXPECT_EQ(memory.inner().used_size(), 0u);
}

TEST(forwards, frees_without_a_size_where_the_allocator_does) {
    pool slots{64};
    detail::forwards<pool&> memory{slots};
    memory.deallocate(memory.allocate(64));
    EXPECT_EQ(slots.stats().live_count, 0u);
}

}  // namespace
