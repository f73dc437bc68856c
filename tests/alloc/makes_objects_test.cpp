// What cairn/alloc/inside/makes_objects.hpp gives every arena: copies of strings. Objects and arrays are
// tested with the arenas.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

using namespace cairn;

namespace {

/// The next kilobyte that `memory` gives out is full of '#': no zero is there by chance.
template <class Arena>
void soil(Arena& memory) {
    void* const p = memory.allocate(1_KiB);
    ASSERT_NE(p, nullptr);
    std::memset(p, '#', 1_KiB);
    memory.deallocate(p, 1_KiB);
}

template <class Arena>
void expect_copies(Arena& memory) {
    std::string line = "move player 7";
    const std::string_view word = memory.copy(std::string_view{line}.substr(5, 6));
    const std::string_view all = memory.copy(std::string_view{line});
    const std::u16string_view wide = memory.copy(std::u16string_view{u"wide"});
    const std::string_view none = memory.copy(std::string_view{});
    line.assign(line.size(), '#');
    EXPECT_EQ(word, "player");
    EXPECT_EQ(word.data()[6], 0) << "a copy is ended by a zero";
    EXPECT_EQ(all, "move player 7");
    EXPECT_EQ(wide, u"wide");
    EXPECT_EQ(wide.data()[4], 0);
    EXPECT_NE(none.data(), nullptr) << "the empty string is a string";
    EXPECT_EQ(none.data()[0], 0);
}

TEST(makes_objects, every_arena_copies_strings) {
    arena fixed{64_KiB};
    soil(fixed);
    expect_copies(fixed);
    growing_arena growing;
    soil(growing);
    expect_copies(growing);
    virtual_arena large{1_MiB};
    soil(large);
    expect_copies(large);
    double_ended_arena both{64_KiB};
    soil(both.low());
    expect_copies(both.low());
    soil(fixed);
    arena_scope scope{fixed};
    expect_copies(scope);
}

TEST(makes_objects, a_string_that_does_not_fit_is_a_null_view_and_costs_nothing) {
    alignas(16) std::array<std::byte, 64>
        buffer;  // where an arena aligns its start no byte is lost
    arena memory{buffer};
    const std::string text(64, 'x');
    EXPECT_EQ(memory.copy(std::string_view{text}).data(), nullptr) << "the zero has no room";
    EXPECT_EQ(memory.used_size(), 0u);
    EXPECT_EQ(memory.copy(std::string_view{text}.substr(1)).size(), 63u);
    growing_arena none{1_KiB, no_memory()};
    EXPECT_EQ(none.copy(std::string_view{"text"}).data(), nullptr);
}

}  // namespace
