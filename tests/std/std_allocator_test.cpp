// Behaviours of cairn/std/std_allocator.hpp: the standard containers on cairn memory.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/std_allocator.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {

template <class T>
using in_test = std_allocator<T, test_upstream>;  // the allocator's type is known
template <class T>
using in_any = std_allocator<T>;  // chosen at run time

template <class T>
using vector_in = std::vector<T, in_test<T>>;

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

template <class Container>
void fill(Container& c) {
    for (int i = 0; i < 300; ++i) {
        if constexpr (requires { c[std::size_t{}].size(); }) {
            c.emplace_back("a string that is longer than the small buffer of a string");
        } else if constexpr (requires { typename Container::mapped_type; }) {
            c[i * 7919 % 1009] = i;
        } else {
            c.push_back(static_cast<typename Container::value_type>('a' + i % 26));
        }
    }
}

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

TEST(std_allocator, the_table_of_propagation_is_true) {
    using traits = std::allocator_traits<in_test<int>>;
    static_assert(traits::propagate_on_container_move_assignment::value);
    static_assert(traits::propagate_on_container_swap::value);
    static_assert(!traits::propagate_on_container_copy_assignment::value);
    static_assert(!traits::is_always_equal::value);
    static_assert(!std::is_default_constructible_v<in_test<int>>, "no memory by accident");
    static_assert(!std::is_default_constructible_v<in_any<int>>);
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

TEST(std_allocator, sizes_that_do_not_exist_are_refused_without_asking_the_allocator) {
    test_upstream memory;
    in_test<int> a{memory};
    EXPECT_THROW((void)a.allocate(SIZE_MAX / sizeof(int) + 1), std::bad_array_new_length);
    EXPECT_THROW((void)a.allocate_at_least(SIZE_MAX), std::bad_array_new_length);
    EXPECT_EQ(memory.request_count(), 0u);
    EXPECT_THROW((void)a.allocate(SIZE_MAX / sizeof(int)), std::bad_alloc);
}

namespace {
/// Asks for more than there can be, in each way that containers have.
template <class Container>
void expect_refused_whole(Container& c) {
    const auto before = c;
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, SIZE_MAX / 16 + 1}) {
        SCOPED_TRACE(count);
        if constexpr (requires { c.rehash(count); }) {
            // Its reserve() computes in floating point, and libstdc++'s wraps to 0.
            EXPECT_ANY_THROW(c.rehash(count));
        } else if constexpr (requires { c.reserve(count); }) {
            EXPECT_ANY_THROW(c.reserve(count));
        }
        if constexpr (requires { c.resize(count); }) { EXPECT_ANY_THROW(c.resize(count)); }
        EXPECT_EQ(c, before);
    }
}
}  // namespace

TEST(std_allocator, containers_refuse_absurd_counts_and_have_taken_nothing) {
    test_upstream memory;
    memory.limit_size(std::size_t{16} << 20);
    vector_in<int> numbers{memory};
    std::deque<int, in_test<int>> queue{memory};
    std::basic_string<char, std::char_traits<char>, in_test<char>> text{memory};
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                       in_test<std::pair<const int, int>>>
        table{memory};
    fill(numbers);
    fill(queue);
    fill(text);
    fill(table);
    const std::size_t before = memory.live_size();
    expect_refused_whole(numbers);
    expect_refused_whole(queue);
    expect_refused_whole(text);
    expect_refused_whole(table);
    EXPECT_EQ(memory.live_size(), before);
    in_any<double> any{memory};
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1}) {
        EXPECT_THROW((void)any.allocate(count), std::bad_alloc) << count;
        EXPECT_THROW((void)any.allocate_at_least(count), std::bad_alloc) << count;
    }
    EXPECT_EQ(memory.live_size(), before);
}

namespace {
template <class A>
void expect_nullptr_may_be_freed(A& memory) {
    std_allocator<double, A> a{memory};
    std_allocator<double> any{memory};
    for (const std::size_t count : {0u, 1u, 100u}) {
        a.deallocate(nullptr, count);
        any.deallocate(nullptr, count);
    }
    double* const p = a.allocate(1);
    EXPECT_NE(p, nullptr);
    a.deallocate(p, 1);
    if constexpr (validatable<A>) { memory.validate(); }
}
}  // namespace

TEST(std_allocator, nullptr_may_be_freed_through_it_whatever_the_allocator) {
    system_allocator system;
    arena frame{4096};
    growing_arena level;
    double_ended_arena ends{4096};
    heap<> objects{std::size_t{64} << 10};
    pool slots{64};
    concurrent_pool shared{64};
    page_allocator pages;
    tracked<pool> counted_slots{track_options{}, std::size_t{64}};
    guarded<heap<>&> guarded_objects{objects};
    array_recycler<arena&> lists{frame};
    expect_nullptr_may_be_freed(system);
    expect_nullptr_may_be_freed(frame);
    expect_nullptr_may_be_freed(level);
    expect_nullptr_may_be_freed(ends.high());
    expect_nullptr_may_be_freed(objects);
    expect_nullptr_may_be_freed(slots);
    expect_nullptr_may_be_freed(shared);
    expect_nullptr_may_be_freed(pages);
    expect_nullptr_may_be_freed(counted_slots);
    expect_nullptr_may_be_freed(guarded_objects);
    expect_nullptr_may_be_freed(lists);
}

TEST(std_allocator, an_exhausted_allocator_throws_and_the_container_is_unchanged) {
    // Whatever request of the run is refused: bad_alloc, the old content, nothing leaked.
    for (std::size_t n = 0;; ++n) {
        test_upstream memory;
        memory.refuse_from(n, 1);
        bool refused = false;
        {
            vector_in<int> numbers{memory};
            std::map<int, int, std::less<>, in_test<std::pair<const int, int>>> squares{memory};
            for (int i = 0; i < 100; ++i) {
                try {
                    numbers.push_back(i);
                    squares.emplace(i, i * i);
                } catch (const std::bad_alloc&) {
                    EXPECT_FALSE(refused) << "only one request was refused";
                    refused = true;
                    if (numbers.size() == static_cast<std::size_t>(i)) { numbers.push_back(i); }
                    squares.emplace(i, i * i);
                }
            }
            ASSERT_EQ(numbers.size(), 100u);
            EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 4950);
            EXPECT_EQ(squares.size(), 100u);
        }
        if (!refused) { break; }
        ASSERT_LT(n, 1000u);
    }
}

TEST(std_allocator, allocate_at_least_gives_what_the_request_occupies_anyway) {
    page_allocator pages;
    std_allocator<int, page_allocator> a{pages};
    const auto [p, count] = a.allocate_at_least(10);
    EXPECT_EQ(count, page_memory::size() / sizeof(int));
    p[count - 1] = 1;
    a.deallocate(p, count);

    test_upstream plain;  // no good_size: exactly what was asked for
    in_test<int> b{plain};
    const auto result = b.allocate_at_least(10);
    EXPECT_EQ(result.count, 10u);
    b.deallocate(result.ptr, result.count);
}

TEST(std_allocator, shrink_to_fit_never_grows) {
    page_allocator pages;
    std::vector<int, std_allocator<int, page_allocator>> numbers{pages};
    numbers.resize(3000);
    numbers.resize(10);
    const std::size_t before = numbers.capacity();
    numbers.shrink_to_fit();
    EXPECT_LE(numbers.capacity(), before);
    EXPECT_EQ(numbers.size(), 10u);
}

TEST(std_allocator, over_aligned_elements_are_aligned) {
    struct alignas(64) line {
        char bytes[64];
    };
    test_upstream memory;
    vector_in<line> lines{memory};
    for (int i = 0; i < 20; ++i) {
        lines.emplace_back();
        EXPECT_TRUE(is_aligned(lines.data(), alignment{64}));
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
