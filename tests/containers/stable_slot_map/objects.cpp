// Sentences of cairn/containers/stable_slot_map.hpp about its objects: where they are, how they are
// found, erased and retired.
#include <cairn/containers/stable_slot_map.hpp>
#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace cairn;

static_assert(std::ranges::forward_range<stable_slot_map<int>>);
static_assert(std::ranges::forward_range<const stable_slot_map<int>>);
static_assert(std::is_nothrow_move_constructible_v<stable_slot_map<std::mutex>>);
static_assert(
    std::is_convertible_v<stable_slot_map<int>::iterator, stable_slot_map<int>::const_iterator>);
static_assert(
    !std::is_convertible_v<stable_slot_map<int>::const_iterator, stable_slot_map<int>::iterator>);
static_assert(std::equality_comparable_with<stable_slot_map<int>::iterator,
                                            stable_slot_map<int>::const_iterator>);

TEST(stable_slot_map, finds_what_lives_and_nothing_else) {
    stable_slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    EXPECT_EQ(*map.find(a), 1);
    EXPECT_TRUE(map.erase(a));
    EXPECT_FALSE(map.erase(a));
    EXPECT_EQ(map.find(a), nullptr);
    EXPECT_EQ(map[b], 2);
    EXPECT_EQ(map.find({}), nullptr);
    map.validate();
    if (asserts_enabled) {
        EXPECT_DEATH((void)map[a], "the handle is not stale");
        EXPECT_DEATH((void)*map.end(), "an iterator is used before the end");
        EXPECT_DEATH((void)map.end().handle(), "an iterator is used before the end");
    }
}

TEST(stable_slot_map, addresses_never_change) {
    stable_slot_map<std::string> map;
    std::vector<std::pair<stable_slot_map<std::string>::handle_type, const std::string*>> model;
    for (int i = 0; i < 20000; ++i) {
        const auto h = map.emplace(std::to_string(i));
        model.emplace_back(h, map.find(h));
    }
    for (std::size_t i = 0; i < model.size(); i += 2) { map.erase(model[i].first); }
    for (int i = 0; i < 20000; ++i) { (void)map.emplace("more"); }
    for (std::size_t i = 1; i < model.size(); i += 2) {
        ASSERT_EQ(map.find(model[i].first), model[i].second);
        ASSERT_EQ(*model[i].second, std::to_string(i));
    }
    map.validate();
}

TEST(stable_slot_map, objects_need_not_move) {
    struct fixed {
        std::mutex mutex;
        int value;
        explicit fixed(int v) : value{v} {}
    };
    stable_slot_map<fixed> map;
    const auto h = map.emplace(3);
    const auto own =
        map.emplace_with([](auto self) { return fixed{static_cast<int>(self.index())}; });
    std::lock_guard lock{map[h].mutex};
    EXPECT_EQ(map[h].value, 3);
    EXPECT_EQ(map[own].value, 1);
}

TEST(stable_slot_map, insertion_takes_the_slot_that_was_freed_last) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 1000; ++i) {
        handles.push_back(map.emplace(i));
        EXPECT_EQ(handles.back().index(), static_cast<std::uint32_t>(i));
    }
    for (const std::size_t i : {700u, 70u, 75u, 650u}) { map.erase(handles[i]); }
    for (const std::uint32_t i : {650u, 75u, 70u, 700u}) { EXPECT_EQ(map.emplace(0).index(), i); }
    EXPECT_EQ(map.emplace(0).index(), 1000u) << "then the lowest free slot";
    map.validate();
}

TEST(stable_slot_map, retired_objects_stay_in_place_until_their_fence) {
    auto counter = std::make_shared<int>(0);
    stable_slot_map<std::shared_ptr<int>> map;
    const auto a = map.emplace(counter);
    const std::shared_ptr<int>* const address = map.find(a);
    EXPECT_TRUE(map.retire(a, 10));
    EXPECT_FALSE(map.retire(a, 10));
    EXPECT_FALSE(map.contains(a));
    EXPECT_TRUE(map.empty());
    EXPECT_TRUE(map.shrink_to_fit());
    EXPECT_EQ(address->get(), counter.get()) << "whoever still uses it may";
    EXPECT_NE(map.find(map.emplace(nullptr)), address);
    map.validate();
    EXPECT_EQ(map.collect(9), 0u);
    EXPECT_EQ(map.collect(10), 1u);
    EXPECT_EQ(counter.use_count(), 1);
    map.validate();
}

TEST(stable_slot_map, dead_slots_are_poisoned) {
    if (!detail::poison_is_queryable) { GTEST_SKIP(); }
    stable_slot_map<std::uint64_t> map;
    const auto h = map.emplace(1u);
    const std::uint64_t* const p = map.find(h);
    EXPECT_FALSE(is_poisoned(p));
    EXPECT_TRUE(is_poisoned(p + 1));
    map.erase(h);
    EXPECT_TRUE(is_poisoned(p));
}

namespace {
struct town;
struct country {  // town is incomplete here
    stable_slot_map<town> towns;
};
struct town {
    int houses = 0;
    country* within = nullptr;
};
struct node {
    explicit node(int v) : value{v}, kids{new stable_slot_map<node>} {}
    node(node&&) = default;
    int value;
    std::unique_ptr<stable_slot_map<node>> kids;
};
struct shy {
    int value;
    shy* operator&() { return nullptr; }              // NOLINT
    const shy* operator&() const { return nullptr; }  // NOLINT
};
}  // namespace

namespace greedy {
struct thing {
    int value = 0;
};
template <class... T>
void poison(T&&...) = delete;
template <class... T>
void unpoison(T&&...) = delete;
template <class... T>
void line_of(T&&...) = delete;
template <class... T>
void construct_at(T&&...) = delete;
template <class... T>
void not_null(T&&...) = delete;
template <class... T>
void destroy(T&&...) = delete;
}  // namespace greedy

TEST(stable_slot_map, its_element_may_be_incomplete_where_it_is_declared) {
    country c;
    const auto h = c.towns.emplace(3, &c);
    EXPECT_EQ(c.towns[h].houses, 3);
}

TEST(stable_slot_map, may_be_moved_from_a_member_of_its_own_object_and_from_itself) {
    stable_slot_map<node> root;
    node& parent = root[root.emplace(1)];
    const auto kid = parent.kids->emplace(2);
    root = std::move(*parent.kids);
    root.validate();
    ASSERT_EQ(root.size(), 1u);
    EXPECT_EQ(root[kid].value, 2);
    auto& same = root;
    root = std::move(same);
    root.validate();
    EXPECT_EQ(root[kid].value, 2);
    root.swap(same);
    EXPECT_EQ(root[kid].value, 2);
}

TEST(stable_slot_map, an_object_may_hide_its_address) {
    stable_slot_map<shy> map;
    const auto first = map.emplace(1);
    const auto h = map.emplace(2);
    EXPECT_EQ(map.handle_of(map[h]), h);
    EXPECT_EQ(map.begin()->value, 1);
    EXPECT_TRUE(map.erase(first));
    map.clear();
    map.validate();
}

TEST(stable_slot_map, calls_no_function_of_its_elements_namespace) {
    stable_slot_map<greedy::thing> map;
    const auto h = map.emplace();
    EXPECT_EQ(map[h].value, 0);
    EXPECT_EQ(map.erase_if([](const greedy::thing& t) { return t.value == 1; }), 0u);
    EXPECT_TRUE(map.take(h));
    const auto promised = map.promise_handle();
    EXPECT_NE(map.fulfil(promised), nullptr);
    EXPECT_TRUE(map.retire(promised, 1));
    EXPECT_EQ(map.collect(1), 1u);
    EXPECT_TRUE(map.clone());
    map.clear();
}

TEST(stable_slot_map, clear_destroys_each_object_once_whatever_destructors_do) {
    struct restless {
        stable_slot_map<restless>* map;
        int* ended;
        int depth;
        restless(stable_slot_map<restless>* m, int* e, int d) : map{m}, ended{e}, depth{d} {}
        ~restless() {
            ++*ended;
            if (depth == 0) { return; }
            (void)map->emplace(map, ended, depth - 1);
            map->clear();
        }
    };
    int ended = 0;
    {
        stable_slot_map<restless> map;
        for (int i = 0; i < 100; ++i) { (void)map.emplace(&map, &ended, i % 3); }
        map.clear();
        EXPECT_TRUE(map.empty());
        map.validate();
    }
    EXPECT_EQ(ended, 34 + 33 * 2 + 33 * 3);
}

namespace {

/// A map of three chunks: full words of 64 slots, words with holes, a promised and a retired slot.
template <class T, class Policy = slot_policy<>>
struct filled_map {
    using map_type = stable_slot_map<T, Policy>;
    map_type map;
    std::vector<typename map_type::handle_type> live;
    std::vector<typename map_type::handle_type> erased;
    typename map_type::handle_type promised;

    template <class Make>
    explicit filled_map(std::size_t count, Make make) {
        for (std::size_t i = 0; i < count; ++i) { live.push_back(map.emplace(make(i))); }
        for (std::size_t i = 64; i < 192; i += 3) {
            EXPECT_TRUE(map.erase(live[i]));
            erased.push_back(live[i]);
            live[i] = {};
        }
        promised = map.promise_handle();
        EXPECT_TRUE(map.retire(live[1], 1));
        erased.push_back(live[1]);
        live[1] = {};
    }
};

template <class T, class Make>
void expect_equal_clone(Make make) {
    const filled_map<T> all{10'000, make};
    auto copy = all.map.clone();
    ASSERT_TRUE(copy);
    copy->validate();
    EXPECT_TRUE(*copy == all.map);
    for (std::size_t i = 0; i < all.live.size(); ++i) {
        if (!all.live[i]) { continue; }
        const T* const found = copy->find(all.live[i]);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(*found, make(i));
        EXPECT_NE(found, all.map.find(all.live[i]));
    }
    for (const auto h : all.erased) { EXPECT_FALSE(copy->contains(h)); }
    EXPECT_NE(copy->fulfil(all.promised, make(1)), nullptr);
    for (const auto h : all.live) { EXPECT_EQ(copy->erase(h), static_cast<bool>(h)); }
    EXPECT_EQ(copy->size(), 1u);
    copy->validate();
    all.map.validate();
}

}  // namespace

TEST(stable_slot_map, a_copy_has_the_objects_of_full_words_and_of_others) {
    expect_equal_clone<std::uint64_t>([](std::size_t i) { return i * 3; });
    expect_equal_clone<std::string>([](std::size_t i) { return std::to_string(i); });
}

TEST(stable_slot_map, clear_ends_whole_words_in_every_life) {
    using policy = slot_policy<16>;
    using map_type = stable_slot_map<int, policy>;
    for (std::uint32_t first = 1; first <= map_type::handle_type::generation_max; first += 7) {
        map_type map{map_type::options{.first_generation = first}};
        std::vector<map_type::handle_type> handles;
        std::size_t rounds = 0;
        for (;; ++rounds) {
            const std::size_t before = handles.size();
            while (const auto h = map.emplace(7)) { handles.push_back(h); }
            if (handles.size() == before) { break; }
            if (rounds % 2 != 0) { map.erase(handles.back()); }
            map.clear();
            for (std::size_t i = before; i < handles.size(); ++i) {
                ASSERT_FALSE(map.contains(handles[i]));
            }
            EXPECT_TRUE(map.empty());
            map.validate();
        }
        EXPECT_EQ(map.worn_out_slot_count(), map_type::handle_type::index_max + std::size_t{1});
        EXPECT_EQ(handles.size(), (map_type::handle_type::index_max + std::size_t{1}) *
                                      map_type::handle_type::generation_max);
        for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
    }
}
