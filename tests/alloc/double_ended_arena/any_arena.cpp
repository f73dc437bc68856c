// What every arena has: the concept any_arena.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/monotonic.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {
/// Runs its destructor inside a scope.
struct counted {
    explicit counted(int& n) : alive{n} { ++alive; }
    ~counted() { --alive; }
    int& alive;
};

/// A function that takes an arena, by the concept: everything of the library that is built on one.
template <any_arena Arena>
void use_as_an_arena(Arena& memory) {
    const std::size_t before = memory.used_size();
    const typename Arena::marker begin = memory.mark();
    int alive = 0;
    {
        arena_scope scope{memory};
        EXPECT_NE(scope.template make<counted>(alive), nullptr);
        EXPECT_EQ(alive, 1);
        builder<int> through_a_ref{memory};
        builder<int, Arena> named{memory};
        for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(through_a_ref.push_back(i));
            EXPECT_TRUE(named.push_back(i));
        }
        EXPECT_EQ(through_a_ref.finish().size() + named.finish().size(), 40u);
    }
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(memory.used_size(), before);
    array_recycler<Arena&> recycled{memory};
    monotonic<Arena&> grown{memory};
    EXPECT_NE(recycled.allocate(64), nullptr);
    EXPECT_NE(grown.allocate(64), nullptr);
    int* const number = cairn::make<int>(memory, 5);
    EXPECT_TRUE(memory.owns(number));
    EXPECT_TRUE(memory.is_last(number, sizeof(int)));
    EXPECT_EQ(memory.template make_array<char>(3).size(), 3u);
    EXPECT_GE(memory.high_water_size(), memory.used_size());
    memory.rewind(begin);
    EXPECT_EQ(memory.used_size(), before);
    memory.validate();
}

/// One that is compiled once.
int* make_a_number(allocator_ref memory) { return cairn::make<int>(memory, 9); }
}  // namespace

TEST(any_arena, is_each_of_them_and_both_ends) {
    arena fixed{4_KiB};
    growing_arena growing{1_KiB};
    virtual_arena large{1_MiB};
    double_ended_arena ends{8_KiB};
    frame_arena<2> frames{4_KiB};
    use_as_an_arena(fixed);
    use_as_an_arena(growing);
    use_as_an_arena(large);
    use_as_an_arena(ends.low());
    use_as_an_arena(ends.high());
    use_as_an_arena(frames);
    frames.swap();
    use_as_an_arena(frames);
    static_assert(!any_arena<test_upstream> && !any_arena<allocator_ref>);
}

TEST(any_arena, serves_functions_that_are_compiled_once_as_an_allocator) {
    double_ended_arena ends{4_KiB};
    const int* const low = make_a_number(ends.low());
    const int* const high = make_a_number(ends.high());
    EXPECT_TRUE(ends.low().owns(low));
    EXPECT_TRUE(ends.high().owns(high));
    EXPECT_EQ(*low + *high, 18);
}
