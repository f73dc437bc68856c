// Sentences of cairn/std/std_allocator.hpp about the standard containers: each works, in which
// memory, and how it is propagated.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/std_allocator.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "std/std_allocator/in_test.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace std_allocator_tests;

namespace {
/// Counts what happens to it, so that "moved, not copied" is a number.
struct counted {
    static inline int copies = 0;
    static inline int moves = 0;
    int value = 0;
    counted(int v) : value{v} {}
    counted(const counted& other) : value{other.value} { ++copies; }
    counted(counted&& other) noexcept : value{other.value} { ++moves; }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&&) noexcept = default;
    static void reset() { copies = moves = 0; }
};

/// Copies, moves and swaps between two memories: contents must follow the table in the header.
template <class Container>
void use_everywhere() {
    test_upstream memory_a;
    test_upstream memory_b;
    {
        Container a{memory_a};
        fill(a);
        const Container model{a, memory_a};
        EXPECT_GT(memory_a.live_count(), 0u);

        Container copy = a;  // lives where a lives
        EXPECT_TRUE(copy.get_allocator() == a.get_allocator());
        Container elsewhere{a, memory_b};
        EXPECT_EQ(elsewhere, model);
        EXPECT_FALSE(elsewhere.get_allocator() == a.get_allocator());
        EXPECT_GT(memory_b.live_count(), 0u);

        Container moved = std::move(copy);
        EXPECT_EQ(moved, model);
        Container b{memory_b};
        b = a;  // keeps its own memory
        EXPECT_EQ(b, model);
        EXPECT_TRUE(b.get_allocator() == elsewhere.get_allocator());

        Container taker{memory_b};
        taker = std::move(moved);  // takes the other memory
        EXPECT_EQ(taker, model);
        EXPECT_TRUE(taker.get_allocator() == a.get_allocator());

        Container across{std::move(taker), memory_b};  // must move element by element
        EXPECT_EQ(across, model);
        EXPECT_TRUE(across.get_allocator() == elsewhere.get_allocator());

        Container other{memory_a};
        using std::swap;
        swap(other, across);
        EXPECT_EQ(other, model);
        EXPECT_TRUE(other.get_allocator() == elsewhere.get_allocator());
        EXPECT_TRUE(across.empty());
        fill(across);
        across.clear();
    }
    EXPECT_EQ(memory_a.live_count(), 0u);
    EXPECT_EQ(memory_b.live_count(), 0u);
}

template <template <class> class Alloc>
void use_every_container() {
    using text = std::basic_string<char, std::char_traits<char>, Alloc<char>>;
    use_everywhere<std::vector<int, Alloc<int>>>();
    use_everywhere<std::vector<bool, Alloc<bool>>>();
    use_everywhere<std::vector<std::string, Alloc<std::string>>>();
    use_everywhere<std::list<int, Alloc<int>>>();
    use_everywhere<std::deque<int, Alloc<int>>>();
    use_everywhere<text>();
    use_everywhere<std::map<int, int, std::less<>, Alloc<std::pair<const int, int>>>>();
    use_everywhere<std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                                      Alloc<std::pair<const int, int>>>>();
}
}  // namespace

TEST(std_allocator, every_container_works_when_the_allocator_type_is_known) {
    use_every_container<in_test>();
}

TEST(std_allocator, every_container_works_when_it_is_chosen_at_run_time) {
    use_every_container<in_any>();
}

template <class Allocator>
void refuse_by_default() {
    static_assert(std::is_nothrow_default_constructible_v<Allocator>);
    std::vector<int, Allocator> none;
    EXPECT_THROW(none.push_back(1), std::bad_alloc);
    EXPECT_EQ(none.get_allocator(), Allocator{});
}

TEST(std_allocator, refuses_every_request_when_it_was_default_constructed) {
    refuse_by_default<in_test<int>>();
    refuse_by_default<in_any<int>>();
}

TEST(std_allocator, the_table_of_propagation_is_true) {
    using traits = std::allocator_traits<in_test<int>>;
    static_assert(traits::propagate_on_container_move_assignment::value);
    static_assert(traits::propagate_on_container_swap::value);
    static_assert(!traits::propagate_on_container_copy_assignment::value);
    static_assert(!traits::is_always_equal::value);
    static_assert(std::is_convertible_v<test_upstream&, in_test<int>>);
    static_assert(std::is_convertible_v<test_upstream&, in_any<int>>);
    static_assert(std::is_convertible_v<allocator_ref, in_any<int>>);
    static_assert(!std::is_constructible_v<in_test<int>, test_upstream>,
                  "a temporary would dangle");
    static_assert(!std::is_constructible_v<in_any<int>, system_allocator>);
    static_assert(sizeof(in_test<int>) == sizeof(void*));
    static_assert(noexcept(std::declval<vector_in<int>&>() = std::declval<vector_in<int>>()));
}

TEST(std_allocator, move_assignment_between_memories_moves_no_element) {
    test_upstream memory_a;
    test_upstream memory_b;
    vector_in<counted> a{memory_a};
    vector_in<counted> b{memory_b};
    a.reserve(10);
    for (int i = 0; i < 10; ++i) { a.emplace_back(i); }
    const counted* const data = a.data();
    counted::reset();
    b = std::move(a);
    EXPECT_EQ(b.data(), data);
    std::swap(a, b);
    EXPECT_EQ(a.data(), data);
    EXPECT_EQ(counted::copies + counted::moves, 0);
}

TEST(std_allocator, is_equal_exactly_when_the_allocator_object_is_the_same) {
    test_upstream memory_a;
    test_upstream memory_b;
    EXPECT_TRUE(in_test<int>{memory_a} == in_test<char>{memory_a});
    EXPECT_TRUE(in_test<int>{memory_a} != in_test<char>{memory_b});
    EXPECT_TRUE(in_any<int>{memory_a} == in_any<char>{memory_a});
    EXPECT_TRUE(in_any<int>{memory_a} != in_any<int>{memory_b});
    EXPECT_TRUE(in_any<int>{system_memory()} == in_any<int>{system_memory()});
    EXPECT_EQ(&in_test<int>{memory_a}.inner(), &memory_a);
    EXPECT_EQ(in_any<int>{memory_a}.inner(), allocator_ref{memory_a});
}

TEST(std_allocator, over_aligned_elements_are_aligned) {
    struct alignas(64) line {
        char bytes[64];
    };
    test_upstream memory;
    vector_in<line> lines{memory};
    for (int i = 0; i < 20; ++i) {
        lines.emplace_back();
        EXPECT_TRUE(detail::is_aligned(lines.data(), alignment{64}));
    }
}

TEST(std_allocator, the_last_block_of_an_arena_gives_its_bytes_back) {
    arena memory{64_KiB};
    {
        std::vector<int, std_allocator<int, arena>> numbers{memory};
        numbers.reserve(1000);
        EXPECT_GE(memory.used_size(), 4000u);
    }
    EXPECT_EQ(memory.used_size(), 0u);
}

TEST(std_allocator, a_container_lives_in_a_growing_arena_and_in_a_scope) {
    growing_arena memory;
    std::list<int, std_allocator<int, growing_arena>> outer{memory};
    outer.push_back(1);
    const std::size_t before = memory.used_size();
    {
        const auto here = memory.mark();
        {
            std::map<int, int, std::less<>, std_allocator<std::pair<const int, int>, growing_arena>>
                squares{memory};
            for (int i = 0; i < 1000; ++i) { squares[i] = i * i; }
            EXPECT_EQ(squares[999], 999 * 999);
        }  // the container first, then its memory
        memory.rewind(here);
    }
    EXPECT_EQ(memory.used_size(), before);
    EXPECT_EQ(outer.front(), 1);
}

TEST(std_allocator, a_copy_lives_where_the_original_lives_unless_told_otherwise) {
    arena frame{64_KiB};
    arena level{64_KiB};
    using numbers_in = std::vector<int, std_allocator<int, arena>>;
    const numbers_in original(10, 7, frame);
    const numbers_in copy = original;
    const numbers_in kept{original, level};
    EXPECT_TRUE(frame.owns(copy.data()));
    EXPECT_TRUE(level.owns(kept.data()));
}
