// Sentences of cairn/containers/stable_slot_map.hpp.
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <ranges>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

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
    for (int i = 0; i < 20000; ++i) { map.emplace("more"); }
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

TEST(stable_slot_map, insertion_takes_the_lowest_word_with_a_free_slot) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 1000; ++i) {
        handles.push_back(map.emplace(i));
        EXPECT_EQ(handles.back().index(), static_cast<std::uint32_t>(i));
    }
    for (std::size_t i = 990; i < 1000; ++i) { map.erase(handles[i]); }
    while (map.emplace(0).index() != 1023) {}  // the word in hand is used up first
    for (const std::size_t i : {700u, 70u, 75u, 650u}) { map.erase(handles[i]); }
    for (const std::uint32_t i : {70u, 75u, 650u, 700u}) { EXPECT_EQ(map.emplace(0).index(), i); }
    map.validate();
}

TEST(stable_slot_map, empty_chunks_go_back_and_their_handles_stay_stale) {
    test_upstream upstream;
    stable_slot_map<std::uint64_t> map{upstream};
    const std::size_t per_chunk = map.slots_per_chunk;
    std::vector<stable_slot_map<std::uint64_t>::handle_type> handles;
    for (std::size_t i = 0; i < 10 * per_chunk; ++i) { handles.push_back(map.emplace(i)); }
    EXPECT_EQ(map.chunks_with_memory(), 10u);
    const std::size_t before = upstream.live_size();
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u) << "one is kept for what comes next";
    EXPECT_LT(upstream.live_size(), before / 2);
    for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
    map.validate();
    map.return_empty_chunks();
    EXPECT_EQ(map.chunks_with_memory(), 0u);
    for (std::size_t i = 0; i < 10 * per_chunk; ++i) { ASSERT_TRUE(map.emplace(i)); }
    for (const auto h : handles) { ASSERT_FALSE(map.contains(h)); }
    EXPECT_EQ(map.chunk_count(), 10u) << "chunks are reused, not added";
    map.validate();
}

TEST(stable_slot_map, reserved_chunks_stay_and_insertions_never_allocate) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    ASSERT_TRUE(map.reserve(10000));
    const std::size_t requests = upstream.request_count();
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10000; ++i) { ASSERT_TRUE(map.emplace(i)); }
        map.clear();
    }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, a_map_around_a_chunk_boundary_does_not_allocate_at_each_step) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { map.emplace(0); }
    map.erase(map.emplace(0));
    const std::size_t requests = upstream.request_count();
    for (int i = 0; i < 100; ++i) { map.erase(map.emplace(0)); }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, the_page_that_is_kept_empty_stays_however_often_it_empties) {
    test_upstream upstream;
    stable_slot_map<int> map{upstream};
    std::vector<stable_slot_map<int>::handle_type> handles;
    std::size_t requests = 0;
    for (int round = 0; round < 4; ++round) {
        for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { handles.push_back(map.emplace(0)); }
        for (const auto h : handles) { map.erase(h); }
        handles.clear();
        EXPECT_EQ(map.chunks_with_memory(), 1u);
        if (round == 0) { requests = upstream.request_count(); }
    }
    EXPECT_EQ(upstream.request_count(), requests);
}

TEST(stable_slot_map, empty_pages_go_back_with_the_slots_that_wait_in_hand) {
    stable_slot_map<int> map;
    map.erase(map.emplace(1));
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    map.return_empty_chunks();
    EXPECT_EQ(map.chunks_with_memory(), 0u);
    EXPECT_TRUE(map.emplace(2));
    map.validate();
}

TEST(stable_slot_map, a_moved_from_map_keeps_no_more_empty_pages_than_a_new_one) {
    stable_slot_map<int> map;
    ASSERT_TRUE(map.reserve(10));
    const stable_slot_map<int> other{std::move(map)};
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (std::size_t i = 0; i < 2 * map.slots_per_chunk; ++i) { handles.push_back(map.emplace(0)); }
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    EXPECT_EQ(other.chunks_with_memory(), 1u);
}

TEST(stable_slot_map, iterates_in_slot_order_by_loop_and_by_for_each) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 20000; ++i) { handles.push_back(map.emplace(i)); }
    for (std::size_t i = 0; i < handles.size(); ++i) {
        if (i % 7 != 0 || (i > 5000 && i < 15000)) { map.erase(handles[i]); }
    }
    std::vector<int> by_loop;
    for (const int value : map) { by_loop.push_back(value); }
    std::vector<int> by_each;
    map.for_each([&](int& value) { by_each.push_back(value); });
    std::vector<int> by_chunk;
    for (std::size_t p = 0; p < map.chunk_count(); ++p) {
        std::as_const(map).for_each_in_chunk(p,
                                             [&](const int& value) { by_chunk.push_back(value); });
    }
    EXPECT_EQ(by_loop, by_each);
    EXPECT_EQ(by_loop, by_chunk);
    EXPECT_EQ(by_loop.size(), map.size());
    EXPECT_TRUE(std::ranges::is_sorted(by_loop));
    map.for_each([&](auto h, int& value) { EXPECT_EQ(map.find(h), &value); });
    for (auto it = map.begin(); it != map.end(); ++it) { EXPECT_EQ(map.find(it.handle()), &*it); }
}

TEST(stable_slot_map, a_map_that_is_only_read_visits_all_pages) {
    stable_slot_map<int> map;
    const int count = static_cast<int>(2 * map.slots_per_chunk + 1);
    for (int i = 0; i < count; ++i) { map.emplace(i); }
    const auto& read_only = map;
    int next = 0;
    read_only.for_each([&](const int& value) { EXPECT_EQ(value, next++); });
    EXPECT_EQ(next, count);
}

TEST(stable_slot_map, erasing_anything_while_iterating_is_defined) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 5000; ++i) { handles.push_back(map.emplace(i)); }
    int visited = 0;
    for (auto it = map.begin(); it != map.end(); ++visited) {
        const auto self = static_cast<std::size_t>(*it);
        if (self + 1 < handles.size()) { map.erase(handles[self + 1]); }  // the next one
        it = map.erase(it);
    }
    EXPECT_EQ(visited, 2500);
    EXPECT_TRUE(map.empty());
    for (int i = 0; i < 5000; ++i) { map.emplace(i); }
    map.for_each([&](auto h, int& value) {
        if (value % 2 == 0) { map.erase(h); }
    });
    EXPECT_EQ(map.size(), 2500u);
    EXPECT_EQ(map.erase_if([](int) { return true; }), 2500u);
    map.validate();
}

TEST(stable_slot_map, a_slot_that_waits_in_the_batch_is_not_visited) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 64; ++i) { handles.push_back(map.emplace(i)); }
    auto it = map.begin();
    map.erase(handles[5]);
    map.erase(handles[6]);
    const auto fresh = map.emplace(100);  // slot 5; slot 6 is in the batch
    EXPECT_EQ(fresh.index(), 5u);
    for (; it != map.end(); ++it) { EXPECT_EQ(map.find(it.handle()), &*it); }
}

TEST(stable_slot_map, an_object_that_is_retired_while_iterating_is_not_visited) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> handles;
    for (int i = 0; i < 100; ++i) { handles.push_back(map.emplace(i)); }
    int visited = 0;
    for (const int value : map) {
        ++visited;
        if (value % 2 == 0) {
            ASSERT_TRUE(map.retire(handles[static_cast<std::size_t>(value) + 1], 1));
        }
    }
    EXPECT_EQ(visited, 50);
    EXPECT_EQ(map.collect(1), 50u);
}

TEST(stable_slot_map, a_loop_goes_on_when_its_chunk_goes_back_and_gets_another_block) {
    struct large {
        std::byte bytes[1024];
    };
    test_upstream upstream;
    stable_slot_map<large> map{upstream};
    const std::size_t per_chunk = map.slots_per_chunk;
    std::vector<stable_slot_map<large>::handle_type> handles;
    for (std::size_t i = 0; i < 2 * per_chunk; ++i) { handles.push_back(map.emplace()); }
    for (std::size_t i = 0; i < per_chunk; ++i) { map.erase(handles[i]); }
    auto it = map.begin();  // in chunk 1
    for (std::size_t i = per_chunk; i < 2 * per_chunk; ++i) { map.erase(handles[i]); }
    EXPECT_EQ(map.chunks_with_memory(), 1u);
    const std::size_t block_size = per_chunk * sizeof(large);
    void* const taken = upstream.allocate(block_size, cache_line_alignment);
    for (std::size_t i = 0; i < 2 * per_chunk; ++i) { ASSERT_TRUE(map.emplace()); }
    std::size_t visited = 0;
    while (++it != map.end()) {
        ++visited;
        EXPECT_EQ(map.find(it.handle()), &*it);
    }
    EXPECT_EQ(visited, per_chunk - 1);
    upstream.deallocate(taken, block_size, cache_line_alignment);
}

TEST(stable_slot_map, a_loop_visits_each_object_that_lives_through_it_once_and_no_dead_one) {
    std::mt19937 random{9};
    for (int round = 0; round < 30; ++round) {
        stable_slot_map<int> map;
        std::set<stable_slot_map<int>::handle_type> steady;
        std::vector<stable_slot_map<int>::handle_type> others;
        for (int i = 0; i < 10000; ++i) {
            const auto h = map.emplace(i);
            if (random() % 4 == 0) {
                steady.insert(h);
            } else {
                others.push_back(h);
            }
        }
        for (auto it = map.begin(); it != map.end(); ++it) {
            ASSERT_EQ(map.find(it.handle()), &*it) << "what is visited lives";
            steady.erase(it.handle());
            const auto die = random() % 16;
            for (auto n = die < 3 ? die : 0; n != 0 && !others.empty(); --n) {
                auto& victim = others[random() % others.size()];
                map.erase(victim);
                victim = others.back();
                others.pop_back();
            }
            if (die == 4 && others.size() < 12000) { others.push_back(map.emplace(-1)); }
        }
        EXPECT_TRUE(steady.empty()) << "each that stayed was visited";
        map.validate();
    }
}

TEST(stable_slot_map, iterators_of_one_object_are_equal_whatever_was_erased_between_them) {
    stable_slot_map<int> map;
    const auto a = map.emplace(1);
    const auto b = map.emplace(2);
    const auto c = map.emplace(3);
    const auto before = map.begin();
    map.erase(b);
    EXPECT_EQ(before, map.begin());
    EXPECT_EQ(before, stable_slot_map<int>::iterator{map.find(a)});
    EXPECT_EQ(std::next(before), stable_slot_map<int>::iterator{map.find(c)});
    EXPECT_NE(before, std::next(before));
    EXPECT_NE(before, map.end());
    EXPECT_EQ(std::next(before, 2), map.end());
    const stable_slot_map<int>::const_iterator converted = before;
    EXPECT_EQ(converted, std::as_const(map).begin());
    EXPECT_EQ(*converted, 1);
}

TEST(stable_slot_map, retired_objects_keep_their_chunks) {
    struct large {
        std::byte bytes[1024];
    };
    stable_slot_map<large> map;
    std::vector<stable_slot_map<large>::handle_type> all;
    for (std::size_t i = 0; i < 4 * map.slots_per_chunk; ++i) { all.push_back(map.emplace()); }
    for (std::size_t p = 0; p < 4; ++p) {
        ASSERT_TRUE(map.retire(all[p * map.slots_per_chunk], 1));
    }
    for (const auto h : all) { map.erase(h); }
    EXPECT_EQ(map.size(), 0u);
    EXPECT_EQ(map.chunks_with_memory(), 4u) << "each has an object that waits";
    EXPECT_EQ(map.collect(1), 4u);
    EXPECT_LE(map.chunks_with_memory(), 2u)
        << "one is kept, and perhaps the one that is filled next";
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
    map.return_empty_chunks();
    EXPECT_EQ(address->get(), counter.get()) << "whoever still uses it may";
    EXPECT_NE(map.find(map.emplace(nullptr)), address);
    map.validate();
    EXPECT_EQ(map.collect(9), 0u);
    EXPECT_EQ(map.collect(10), 1u);
    EXPECT_EQ(counter.use_count(), 1);
    map.validate();
}

TEST(stable_slot_map, a_handle_can_be_promised_now_and_filled_later) {
    stable_slot_map<int> map;
    const auto h = map.promise_handle();
    EXPECT_TRUE(map.is_promised(h));
    EXPECT_EQ(map.find(h), nullptr);
    map.return_empty_chunks();
    ASSERT_NE(map.fulfil(h, 5), nullptr);
    EXPECT_EQ(map[h], 5);
    const auto other = map.promise_handle();
    map.abandon(other);
    EXPECT_FALSE(map.is_promised(other));
    EXPECT_FALSE(stable_slot_map<int>{}.is_promised(other)) << "there is no chunk of this index";
    map.validate();
    if (asserts_enabled) {
        EXPECT_DEATH(map.abandon(other), "only a promised handle");
        EXPECT_DEATH((void)map.fulfil(h, 6), "only a promised handle");
    }
}

TEST(stable_slot_map, out_of_memory_is_a_null_handle_and_nothing_has_changed) {
    stable_slot_map<int> none{no_memory()};
    EXPECT_FALSE(none.emplace(1));
    EXPECT_FALSE(none.promise_handle());
    EXPECT_FALSE(none.reserve(1));
    none.validate();
    for (std::size_t refused = 0; refused < 20; ++refused) {
        test_upstream upstream;
        stable_slot_map<std::uint64_t> map{upstream};
        upstream.refuse_from(refused, 6);
        std::vector<stable_slot_map<std::uint64_t>::handle_type> live;
        for (std::uint64_t i = 0; i < 30000; ++i) {
            const auto h = map.emplace(i);
            if (h) {
                live.push_back(h);
            } else {
                map.validate();
            }
            ASSERT_EQ(map.size(), live.size());
        }
        for (const auto h : live) { ASSERT_TRUE(map.contains(h)); }
    }
}

TEST(stable_slot_map, no_chunk_is_added_that_the_table_of_pages_has_no_room_for) {
    test_upstream upstream;
    stable_slot_map<std::uint64_t> map{upstream};
    upstream.refuse_from(0, 4);  // tables of 16, 8, 4 and 2 chunks: it has room for one
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { ASSERT_TRUE(map.emplace(0u)); }
    upstream.refuse_from(upstream.request_count(), 4);  // once more, and one is not enough
    EXPECT_FALSE(map.emplace(1u));
    EXPECT_EQ(map.chunk_count(), 1u);
    map.validate();
    EXPECT_TRUE(map.emplace(1u));
    map.validate();
}

TEST(stable_slot_map, a_small_handle_ends_where_its_indices_end) {
    stable_slot_map<char, slot_policy<16, 7>> map;  // 128 slots of a chunk of 4096
    std::size_t count = 0;
    while (map.emplace('x')) { ++count; }
    EXPECT_EQ(count, 128u);
    map.validate();
}

TEST(stable_slot_map, dead_slots_are_poisoned) {
    if (!poison_is_queryable) { GTEST_SKIP(); }
    stable_slot_map<std::uint64_t> map;
    const auto h = map.emplace(1u);
    const std::uint64_t* const p = map.find(h);
    EXPECT_FALSE(is_poisoned(p));
    EXPECT_TRUE(is_poisoned(p + 1));
    map.erase(h);
    EXPECT_TRUE(is_poisoned(p));
}

TEST(stable_slot_map, a_word_of_promised_handles_only_is_no_word_with_objects) {
    stable_slot_map<int> map;
    std::vector<stable_slot_map<int>::handle_type> held;
    for (int i = 0; i < 64; ++i) { held.push_back(map.promise_handle()); }
    map.validate();
    EXPECT_EQ(map.begin(), map.end());
    for (const auto h : held) { map.abandon(h); }
    map.validate();
    map.return_empty_chunks();
    EXPECT_EQ(map.chunks_with_memory(), 0u);
}

TEST(stable_slot_map, refuses_an_absurd_reservation_before_it_takes_anything) {
    stable_slot_map<int> map;
    for (const std::size_t count : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2}) {
        EXPECT_FALSE(map.reserve(count));
        EXPECT_EQ(map.chunk_count(), 0u);
    }
}

namespace {

/// Brings a child into the map that it is in, and takes it away again; may leave another one there.
struct family {
    using map_type = stable_slot_map<family>;
    static inline int ended = 0;
    static inline bool leave_one = false;
    map_type* map;
    handle<family> self;
    handle<family> child{};
    family(map_type& m, handle<family> own, int descendants, bool throws = false)
        : map{&m}, self{own} {
        EXPECT_FALSE(m.contains(own)) << "nobody finds what is not there yet";
        if (descendants != 0) { child = start(m, descendants - 1); }
#if defined(__cpp_exceptions)
        if (throws) { throw 13; }
#else
        (void)throws;
#endif
    }
    family(const family&) = delete;
    ~family() {
        ++ended;
        EXPECT_FALSE(map->contains(self)) << "nobody finds what is no more";
        EXPECT_FALSE(map->erase(self));
        map->erase(child);
        if (leave_one) { start(*map, 0); }
    }
    static handle<family> start(map_type& m, int descendants, bool throws = false) {
        return m.emplace_with([&](auto h) { return family{m, h, descendants, throws}; });
    }
};

}  // namespace

TEST(stable_slot_map, constructors_and_destructors_may_re_enter) {
    family::ended = 0;
    stable_slot_map<family> map;
    const auto eve = family::start(map, 10);
    EXPECT_EQ(map.size(), 11u);
    map.validate();
    for (int i = 0; i < 200; ++i) { EXPECT_TRUE(family::start(map, 0)); }  // the hand runs out
    EXPECT_TRUE(family::start(map, 100)) << "and in the middle of a constructor too";
    map.validate();
    const std::size_t before = map.size();
    family::leave_one = true;
    EXPECT_TRUE(map.erase(eve));
    family::leave_one = false;
    EXPECT_EQ(family::ended, 11);
    EXPECT_EQ(map.size(), before) << "eleven went, and each left one";
    map.validate();
#if defined(__cpp_exceptions)
    EXPECT_THROW(family::start(map, 3, true), int);
    EXPECT_EQ(map.size(), before + 3) << "the parent is not there, its children are";
    map.validate();
#endif
    map.return_empty_chunks();  // lets go of the slots in hand
    map.validate();
    EXPECT_TRUE(family::start(map, 0));
    map.validate();
    map.clear();
    EXPECT_EQ(map.size(), 0u);
    map.validate();
}

TEST(stable_slot_map, reserves_as_many_as_the_handle_can_name_and_no_more) {
    stable_slot_map<char, slot_policy<16, 7>> map;
    EXPECT_FALSE(map.reserve(129));
    EXPECT_EQ(map.chunk_count(), 0u);
    EXPECT_TRUE(map.reserve(128));
}

namespace {

/// Its destructor does something to the map that it was in.
struct last_wish {
    using map_type = stable_slot_map<last_wish>;
    static inline map_type* map = nullptr;
    static inline int alive = 0;
    static inline int wishes = 0;
    enum kind { insert, retire, collect };
    kind wish;
    explicit last_wish(kind k) : wish{k} { ++alive; }
    last_wish(const last_wish&) = delete;
    ~last_wish() {
        --alive;
        if (wishes == 0) { return; }
        --wishes;
        if (wish == insert) { map->emplace(insert); }
        if (wish == retire) { EXPECT_TRUE(map->retire(map->emplace(retire), 3)); }
        if (wish == collect) { map->collect(9); }
    }
};

}  // namespace

TEST(stable_slot_map, ends_with_everybody_whom_destructors_have_left_behind) {
    for (const auto wish : {last_wish::insert, last_wish::retire}) {
        for (const bool retired : {false, true}) {
            auto map = std::make_unique<last_wish::map_type>();
            last_wish::map = map.get();
            last_wish::wishes = 0;
            const auto h = map->emplace(wish);
            if (retired) { ASSERT_TRUE(map->retire(h, 1)); }
            last_wish::wishes = 5;
            map.reset();
            EXPECT_EQ(last_wish::wishes, 0);
            EXPECT_EQ(last_wish::alive, 0);
        }
    }
}

TEST(stable_slot_map, collect_destroys_each_once_when_destructors_collect) {
    last_wish::map_type map;
    last_wish::map = &map;
    last_wish::wishes = 0;
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(map.retire(map.emplace(last_wish::collect), 1)); }
    last_wish::wishes = 10;
    map.collect(1);
    EXPECT_EQ(last_wish::alive, 0);
    EXPECT_EQ(map.pending_count(), 0u);
    EXPECT_EQ(last_wish::wishes, 0);
    last_wish::wishes = 0;
    map.validate();
}

TEST(stable_slot_map, what_is_wrong_with_a_handle_is_named) {
    stable_slot_map<int> map;
    stable_slot_map<int> other;
    const auto stale = map.emplace(1);
    const auto waiting = map.emplace(2);
    const auto reserved = map.promise_handle();
    const auto foreign = other.emplace(1);
    map.erase(stale);
    ASSERT_TRUE(map.retire(waiting, 5));
    EXPECT_EQ(map.fault_of(map.emplace(3)), handle_fault::none);
    EXPECT_EQ(map.fault_of({}), handle_fault::null);
    EXPECT_EQ(map.fault_of(stable_slot_map<int>::handle_type::from_raw(1)), handle_fault::foreign)
        << "an index without a life";
    EXPECT_EQ(map.fault_of(stale), handle_fault::stale);
    EXPECT_EQ(map.fault_of(waiting), handle_fault::stale);
    EXPECT_EQ(map.fault_of(reserved), handle_fault::promised);
    EXPECT_EQ(map.fault_of(foreign), handle_fault::foreign);
    EXPECT_EQ(map.fault_of(stable_slot_map<int>::handle_type::make(1'000'000, 1)),
              handle_fault::foreign);
    if (asserts_enabled) {
        EXPECT_DEATH((void)map[{}], "the handle is not null");
        EXPECT_DEATH((void)map[foreign], "the handle is of this map");
        EXPECT_DEATH((void)map[reserved], "the handle has its object");
        EXPECT_DEATH((void)std::as_const(map)[waiting], "the handle is not stale");
    }
    map.collect(5);
}

TEST(stable_slot_map, a_refused_handle_is_reported_with_both_lives) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    stable_slot_map<int> map{system_memory(), {.first_generation = 3}};
    stable_slot_map<int> other{system_memory(), {.first_generation = 1000}};
    const auto stale = map.emplace(1);
    map.erase(stale);
    const auto refused = expect_broken_promise([&] { (void)map[stale]; });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &map);
    EXPECT_STREQ(refused.type(), "stable_slot_map");
    EXPECT_EQ(refused.value("slot"), stale.index());
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);

    EXPECT_EQ(expect_broken_promise([&] { (void)map[{}]; }).kind(), misuse_kind::null_handle);
    const auto foreign = expect_broken_promise([&] { (void)map[other.emplace(1)]; });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_handle) << foreign;
    EXPECT_EQ(foreign.value("life in the handle"), 1000u);
    const auto reserved = map.promise_handle();
    EXPECT_EQ(expect_broken_promise([&] { (void)map[reserved]; }).kind(),
              misuse_kind::reserved_handle);
    const auto beyond = expect_broken_promise(
        [&] { (void)map[stable_slot_map<int>::handle_type::make(1'000'000, 5)]; });
    EXPECT_EQ(beyond.kind(), misuse_kind::foreign_handle) << beyond;
    EXPECT_EQ(beyond.value("slot"), 1'000'000u);
    EXPECT_EQ(beyond.value("slots of the map"), map.capacity());
    EXPECT_EQ(beyond.value("life in the handle"), 5u);
}

TEST(stable_slot_map, at_finds_the_object_or_ends_every_build_with_the_line_that_asked) {
    stable_slot_map<int> map{system_memory(), {.first_generation = 3}};
    const auto h = map.emplace(7);
    const auto stale = map.emplace(8);
    map.erase(stale);
    map.at(h) = 9;
    EXPECT_EQ(std::as_const(map).at(h), 9);
    EXPECT_EQ(&map.at(h), map.find(h));
    const unsigned line = std::source_location::current().line() + 1;
    const auto refused = expect_broken_promise([&] { (void)map.at(stale); });
    EXPECT_EQ(refused.kind(), misuse_kind::stale_handle) << refused;
    EXPECT_EQ(refused.object(), &map);
    EXPECT_STREQ(refused.type(), "stable_slot_map");
    EXPECT_EQ(refused.value("slot"), stale.index());
    EXPECT_EQ(refused.value("life of the slot"), 4u);
    EXPECT_EQ(refused.value("life in the handle"), 3u);
    const auto null = expect_broken_promise([&] { (void)std::as_const(map).at({}); });
    EXPECT_EQ(null.kind(), misuse_kind::null_handle) << null;
    const auto reserved = map.promise_handle();
    EXPECT_EQ(expect_broken_promise([&] { (void)map.at(reserved); }).kind(),
              misuse_kind::reserved_handle);
    if (asserts_enabled) {
        EXPECT_EQ(refused.line(), line);
        EXPECT_TRUE(null.says("stable_slot_map_test.cpp:")) << null;
        const unsigned operator_line = std::source_location::current().line() + 1;
        const auto by_operator = expect_broken_promise([&] { (void)map[stale]; });
        EXPECT_EQ(by_operator.line(), operator_line) << by_operator;
    }
}

TEST(stable_slot_map, lives_that_begin_in_the_middle_are_as_many) {
    using map_type = stable_slot_map<int, slot_policy<16, 12>>;  // 15 lives
    for (const std::uint32_t first : {1u, 2u, 9u, 15u}) {
        map_type map{system_memory(), {.first_generation = first}};
        std::map<std::uint32_t, std::vector<map_type::handle_type>> lives;
        while (const auto h = map.emplace(1)) {
            lives[h.index()].push_back(h);
            if (lives[h.index()].size() % 4 == 3) {  // every way for a life to end
                const auto held = map.promise_handle();
                if (held) {
                    lives[held.index()].push_back(held);
                    map.abandon(held);
                }
                ASSERT_TRUE(map.retire(h, 1));
                EXPECT_EQ(map.collect(1), 1u);
            } else {
                ASSERT_TRUE(map.erase(h));
            }
        }
        EXPECT_EQ(lives.size(), 4096u);
        EXPECT_EQ(map.worn_out_slot_count(), 4096u);
        for (const auto& [index, all] : lives) {
            ASSERT_EQ(all.size(), 15u);
            EXPECT_EQ(all.front().generation(), first);
            EXPECT_EQ(std::set<map_type::handle_type>(all.begin(), all.end()).size(), 15u);
            EXPECT_EQ(map.fault_of(all.front()), handle_fault::stale);
        }
        map.validate();
        EXPECT_EQ(map.recycle_slots(no_handles_left), 4096u);
        EXPECT_EQ(map.emplace(1).generation(), first);
    }
}

#if defined(__cpp_exceptions)
TEST(stable_slot_map, a_page_whose_only_object_was_not_made_is_an_empty_page) {
    struct refuses {
        explicit refuses(bool now) {
            if (now) { throw 1; }
        }
        int value = 0;
    };
    stable_slot_map<refuses> map;
    std::vector<stable_slot_map<refuses>::handle_type> handles;
    for (std::size_t i = 0; i < map.slots_per_chunk; ++i) { handles.push_back(map.emplace(false)); }
    for (int i = 0; i < 64; ++i) {  // until none of the page's first word waits in hand
        EXPECT_THROW(map.emplace(true), int);
    }
    EXPECT_EQ(map.chunks_with_memory(), 2u);
    for (const auto h : handles) { map.erase(h); }
    EXPECT_EQ(map.chunks_with_memory(), 1u) << "one of two empty pages goes back";
    map.validate();
}
#endif

TEST(stable_chunk, a_word_without_a_free_slot_is_not_open) {
    detail::stable_chunk<7> chunk;
    chunk.start(1);
    EXPECT_EQ(chunk.open, 0b11u);
    chunk.live[0] = ~std::uint64_t{0};
    chunk.note_free();
    EXPECT_EQ(chunk.open, 0b10u);
    chunk.blocked[1] = ~std::uint64_t{0};
    chunk.note_free();
    EXPECT_EQ(chunk.open, 0u);
}

TEST(free_slot_batch, what_is_gathered_anew_is_given_out_from_its_first_slot) {
    detail::stable_chunk<7> chunk;
    chunk.start(1);
    detail::free_slot_batch<detail::stable_chunk<7>> batch;
    for (const std::uint32_t first : {0u, 64u}) {
        ASSERT_TRUE(batch.gather(chunk));
        EXPECT_EQ(batch.taken_count(), 0u);
        for (std::uint32_t slot = first; slot < first + 64; ++slot) {
            ASSERT_FALSE(batch.empty());
            EXPECT_EQ(batch.peek(), slot);
            batch.pop();
        }
        EXPECT_TRUE(batch.empty());
    }
    EXPECT_FALSE(batch.gather(chunk));
}
