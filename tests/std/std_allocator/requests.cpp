// Sentences of cairn/std/std_allocator.hpp about single requests: what is refused, returned and
// given back.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/array_recycler.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/std_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "std/std_allocator/in_test.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using namespace std_allocator_tests;

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
#if defined(_MSVC_STL_VERSION)  // its deque keeps what it appended before memory ran out
        if constexpr (requires { c.shrink_to_fit(), c.pop_front(); }) {
            c.resize(before.size());
            c.shrink_to_fit();
        }
#endif
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
        bool refused = false;
        {
            vector_in<int> numbers{memory};
            std::map<int, int, std::less<>, in_test<std::pair<const int, int>>> squares{memory};
            // Not before: a map of Microsoft's library has a node when it is empty.
            memory.refuse_from(memory.request_count() + n, 1);
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
