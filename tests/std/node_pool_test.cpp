// What cairn/std/node_pool.hpp promises.
#include <cairn/std/node_pool.hpp>
#include <gtest/gtest.h>

#include <array>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "support/test_upstream.hpp"

namespace {

using cairn::node_allocator;
using cairn::node_pool;

template <class K, class V>
using map = std::map<K, V, std::less<>, node_allocator<std::pair<const K, V>>>;
template <class K, class V>
using unordered_map =
    std::unordered_map<K, V, std::hash<K>, std::equal_to<>, node_allocator<std::pair<const K, V>>>;

struct alignas(64) wide {
    int value = 0;
    friend auto operator<=>(const wide&, const wide&) = default;
};
struct huge {
    char bytes[1000] = {};
};

TEST(node_pool, serves_every_node_based_container) {
    test_upstream upstream;
    {
        node_pool nodes{upstream};
        std::list<int, node_allocator<int>> list{nodes};
        std::forward_list<int, node_allocator<int>> forward{nodes};
        std::set<int, std::less<>, node_allocator<int>> set{nodes};
        std::multiset<wide, std::less<>, node_allocator<wide>> aligned{nodes};
        map<int, std::string> names{nodes};
        unordered_map<int, int> squares{nodes};
        std::unordered_multiset<int, std::hash<int>, std::equal_to<>, node_allocator<int>> bag{
            nodes};
        std::list<huge, node_allocator<huge>> far{nodes};
        for (int i = 0; i < 1000; ++i) {
            list.push_back(i);
            forward.push_front(i);
            set.insert(i);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*aligned.insert(wide{i})) % 64, 0u);
            names.emplace(i, "the name of number " + std::to_string(i));
            squares[i] = i * i;
            bag.insert(i % 10);
            if (i < 20) { far.emplace_back(); }
        }
        EXPECT_EQ(squares.at(31), 961);
        EXPECT_EQ(names.at(7), "the name of number 7");
        EXPECT_GE(nodes.stats().live_count, 7000u) << "all nodes but the huge ones come from pools";
        for (int i = 0; i < 1000; i += 2) {
            names.erase(i);
            squares.erase(i);
        }
        EXPECT_EQ(names.size() + squares.size(), 1000u);
    }
}

TEST(node_pool, containers_that_die_leave_nothing_behind) {
    test_upstream upstream;
    node_pool nodes{upstream};
    {
        map<int, int> m{nodes};
        for (int i = 0; i < 5000; ++i) { m[i] = i; }
    }
    EXPECT_EQ(nodes.stats().live_count, 0u);
    EXPECT_EQ(nodes.stats().upstream_size, upstream.live_size());
    nodes.trim();
    EXPECT_EQ(upstream.live_size(), 0u);
}

TEST(node_pool, containers_on_one_pool_exchange_nodes) {
    node_pool nodes;
    node_pool others;
    std::list<int, node_allocator<int>> a{{1, 2, 3}, nodes};
    std::list<int, node_allocator<int>> b{{4, 5}, nodes};
    a.splice(a.end(), b);
    EXPECT_EQ(a.size(), 5u);
    map<int, int> m{nodes};
    m[1] = 1;
    map<int, int> elsewhere{others};
    elsewhere[2] = 2;
    EXPECT_NE(m.get_allocator(), elsewhere.get_allocator());
    EXPECT_EQ(m.get_allocator(), a.get_allocator());
    m.swap(elsewhere);
    EXPECT_EQ(m.at(2), 2);
    elsewhere = std::move(m);
    EXPECT_EQ(elsewhere.at(2), 2);
    const map<int, int> copy = elsewhere;
    EXPECT_EQ(copy, elsewhere);
}

TEST(node_pool, arrays_come_from_the_upstream) {
    test_upstream upstream;
    node_pool nodes{upstream};
    {
        std::vector<int, node_allocator<int>> v(100, 7, nodes);
        EXPECT_EQ(v[99], 7);
        EXPECT_EQ(nodes.stats().slot_count, 0u);
    }
    EXPECT_EQ(upstream.live_count(), 0u);
}

#if defined(__cpp_exceptions)
TEST(node_pool, exhaustion_throws_bad_alloc_and_the_container_is_unchanged) {
    test_upstream upstream;
    node_pool nodes{upstream, {.slots_per_chunk = 4, .slot_count_max = 10}};
    map<int, int> m{nodes};
    // Microsoft's library takes a node for the empty map.
    const int room = 10 - static_cast<int>(nodes.stats().live_count);
    for (int i = 0; i < room; ++i) { m[i] = i; }
    EXPECT_THROW(m[room] = room, std::bad_alloc);
    EXPECT_EQ(m.size(), static_cast<std::size_t>(room));
    m.erase(3);
    m[room] = room;
    EXPECT_EQ(m.size(), static_cast<std::size_t>(room));
    node_allocator<int> a{nodes};
    EXPECT_THROW((void)a.allocate(SIZE_MAX / 2), std::bad_array_new_length);
}
#endif

TEST(node_pool, nullptr_may_be_freed_as_one_node_and_as_many) {
    node_pool nodes;
    node_allocator<int> small{nodes};
    node_allocator<std::array<int, 500>> large{nodes};
    for (const std::size_t count : {0u, 1u, 2u, 1000u}) {
        small.deallocate(nullptr, count);
        large.deallocate(nullptr, count);
    }
    small.deallocate(small.allocate(1), 1);
    EXPECT_EQ(nodes.stats().live_count, 0u);
}

TEST(node_pool, random_operations_agree_with_the_standard_allocator) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        node_pool nodes{upstream};
        {
            unordered_map<unsigned long, int> ours{nodes};
            std::unordered_map<unsigned long, int> theirs;
            for (int i = 0; i < 20'000; ++i) {
                const auto key = random() % 2000;
                if (random() % 2 == 0) {
                    ours[key] = theirs[key] = i;
                } else {
                    ASSERT_EQ(ours.erase(key), theirs.erase(key));
                }
            }
            ASSERT_EQ(ours.size(), theirs.size());
            for (const auto& [key, value] : theirs) { ASSERT_EQ(ours.at(key), value); }
        }
        EXPECT_EQ(nodes.stats().live_count, 0u);
        nodes.release();
        EXPECT_EQ(nodes.stats().live_count, 0u);
    }
}

}  // namespace
