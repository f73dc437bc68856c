// Sentences of cairn/containers/slot_map.hpp about memory: what is reserved, how it grows, and what
// a refusal changes.
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

#if defined(__linux__)
#    include <sys/resource.h>
#endif

using namespace cairn;

TEST(slot_map, reserved_addresses_keep_references_through_growth) {
    test_upstream upstream;
    slot_map<std::uint64_t> map{upstream};
    ASSERT_TRUE(map.reserve_address_space(100000));
    const auto first = map.emplace(42u);
    const std::uint64_t* const address = map.find(first);
    for (std::uint64_t i = 1; i < 100000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    EXPECT_EQ(map.find(first), address);
    EXPECT_EQ(upstream.request_count(), 0u);
    map.validate();
}

TEST(slot_map, over_the_systems_pages_every_handle_finds_its_row_through_growth) {
    slot_map<std::uint64_t> map{system_pages()};
    std::vector<slot_map<std::uint64_t>::handle_type> handles;
    for (std::uint64_t i = 0; i < 70000; ++i) { handles.push_back(map.emplace(i)); }
    for (std::uint64_t i = 0; i < 70000; ++i) { ASSERT_EQ(map.at(handles[i]), i); }
    map.validate();
}

TEST(slot_map, an_address_space_of_nothing_is_refused_and_the_map_grows_as_before) {
    slot_map<int> map;
    EXPECT_FALSE(map.reserve_address_space(0));
    for (int i = 0; i < 1000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    map.validate();
    slot_map<int, slot_policy<16>> small;
    EXPECT_FALSE(small.reserve_address_space(100000));
    EXPECT_TRUE(small.emplace(1));
}

#if defined(__linux__)
TEST(slot_map, addresses_for_some_of_its_parts_alone_are_not_enough) {
    if (under_tsan || checker_is_faster()) { GTEST_SKIP() << "they need addresses themselves"; }
    constexpr std::size_t count = std::size_t{1} << 24;
    std::size_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    ASSERT_NE(pages, 0u);
    rlimit before;
    getrlimit(RLIMIT_AS, &before);
    std::size_t refused_count = 0;
    std::size_t reserved_count = 0;
    for (std::size_t bytes_a_row = 1; bytes_a_row < 60; ++bytes_a_row) {
        test_upstream upstream;
        slot_map<std::uint64_t> map{upstream};
        rlimit few = before;
        few.rlim_cur = pages * page_memory::size() + bytes_a_row * count;
        setrlimit(RLIMIT_AS, &few);
        const bool is_reserved = map.reserve_address_space(count);
        setrlimit(RLIMIT_AS, &before);
        ++(is_reserved ? reserved_count : refused_count);
        for (int i = 0; i < 100; ++i) { ASSERT_TRUE(map.emplace(1u)); }
        if (is_reserved) { EXPECT_EQ(upstream.request_count(), 0u) << bytes_a_row; }
        map.validate();
    }
    EXPECT_GT(refused_count, 0u);
    EXPECT_GT(reserved_count, 0u);
}
#endif

TEST(slot_map, after_reserve_insertions_never_allocate) {
    test_upstream upstream;
    slot_map<int> map{upstream};
    ASSERT_TRUE(map.reserve(500));
    upstream.refuse_from(upstream.request_count());
    std::vector<slot_map<int>::handle_type> handles;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 500; ++i) { ASSERT_TRUE(handles.emplace_back(map.emplace(i))); }
        for (const auto h : handles) { map.erase(h); }
        handles.clear();
    }
}

TEST(slot_map, out_of_memory_is_a_null_handle_and_nothing_has_changed) {
    slot_map<int> none{no_memory()};
    EXPECT_FALSE(none.emplace(1));
    EXPECT_FALSE(none.promise_handle());
    EXPECT_FALSE(none.reserve(1));

    std::size_t failures = 0;
    for (std::size_t round = 0; round < 60; ++round) {
        test_upstream upstream;
        slot_map<std::string> map{upstream};
        std::vector<slot_map<std::string>::handle_type> handles;
        upstream.refuse_from(round / 2, 6);  // growth asks five times at most
        const auto emplaced = [&](int i) {
            return round % 2 == 0 ? map.emplace(std::to_string(i))
                                  : map.emplace_with([&](auto) { return std::to_string(i); });
        };
        for (int i = 0; i < 200; ++i) {
            auto h = emplaced(i);
            for (int attempts = 1; !h; ++attempts) {  // until nothing is refused any more
                ASSERT_LE(attempts, 6);
                ++failures;
                EXPECT_EQ(map.size(), handles.size());
                map.validate();
                h = emplaced(i);
            }
            handles.push_back(h);
        }
        for (std::size_t i = 0; i < 200; ++i) { EXPECT_EQ(map[handles[i]], std::to_string(i)); }
    }
    EXPECT_GT(failures, 5u);
}

TEST(slot_map, emplace_with_makes_nothing_when_no_index_is_left) {
    slot_map<char, slot_policy<16, 7>> map;
    std::size_t count = 0;
    while (map.emplace_with([](auto) { return 'x'; })) { ++count; }
    EXPECT_EQ(map.size(), count);
    map.validate();
}

TEST(slot_map, reserving_less_than_there_is_changes_nothing) {
    test_upstream upstream;
    slot_map<std::uint64_t> map{upstream};
    ASSERT_TRUE(map.reserve(1000));
    for (std::uint64_t i = 0; i < 1000; ++i) { ASSERT_TRUE(map.emplace(i)); }
    const std::size_t capacity = map.capacity();
    const std::size_t requests = upstream.request_count();
    for (const std::size_t count : {0u, 10u, 999u, 1000u}) {
        EXPECT_TRUE(map.reserve(count));
        EXPECT_EQ(map.capacity(), capacity);
        EXPECT_EQ(upstream.request_count(), requests) << count;
    }
    map.validate();
}

TEST(slot_map, slots_that_are_reserved_in_a_moved_from_map_are_no_room_for_objects) {
    slot_map<std::string> a;
    ASSERT_TRUE(a.reserve(100));
    slot_map<std::string> b{std::move(a)};
    a.abandon(a.promise_handle());  // grows the slots alone
    std::vector<slot_map<std::string>::handle_type> all;
    for (int i = 0; i < 100; ++i) { all.push_back(a.emplace(std::to_string(i))); }
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(a[all[static_cast<std::size_t>(i)]], std::to_string(i));
    }
    b = std::move(a);
    a.abandon(a.promise_handle());  // grows the slots alone
    EXPECT_TRUE(a.emplace("again"));
    a.validate();
    b.validate();
}

TEST(slot_map, an_insertion_beyond_what_was_reserved_grows) {
    slot_map<std::uint64_t> map;
    map.abandon(map.promise_handle());  // more slots than rows
    ASSERT_TRUE(map.reserve(100));
    const std::size_t capacity = map.capacity();
    for (std::uint64_t i = 0; i < capacity; ++i) { ASSERT_TRUE(map.emplace(i)); }
    EXPECT_EQ(map.capacity(), capacity);
    ASSERT_TRUE(map.emplace(0u));
    EXPECT_GT(map.capacity(), capacity);
    map.validate();
}

TEST(slot_map, emplace_with_grows_as_seldom_as_emplace) {
    slot_map<int> map;
    std::size_t growths = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::size_t before = map.capacity();
        const auto h = map.emplace_with([&](auto) { return i == 0 ? 0 : *map.begin() + i; });
        growths += map.capacity() != before ? 1u : 0u;
        ASSERT_EQ(map[h], i);  // what make reads of the map is there, also while it grows
    }
    EXPECT_LE(growths, 10u);
    map.validate();
}
