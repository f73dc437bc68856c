// Sentences of cairn/containers/table.hpp and its parts, each for every layout: the same text.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <string>
#include <vector>

#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using test_layouts::table_of;

namespace {

struct vec3 {
    float x = 0, y = 0, z = 0;
    friend bool operator==(const vec3&, const vec3&) = default;
    friend vec3 operator*(const vec3& a, float s) { return {a.x * s, a.y * s, a.z * s}; }
    friend vec3 operator+(const vec3& a, const vec3& b) {
        return {a.x + b.x, a.y + b.y, a.z + b.z};
    }
    vec3& operator+=(const vec3& b) { return *this = *this + b; }
};

template <class K = value>
struct particle {
    field<K, vec3> position;
    field<K, vec3> velocity;
    field<K, float> life = 1.0f;
    field<K, int> id = -1;
    field<K, bool> seen = false;
    auto speed2() const { return part<&vec3::x>(velocity) * part<&vec3::x>(velocity); }
    bool is_dead() const { return life <= 0; }
};

template <class K = value>
struct named {
    field<K, std::string> name;
    field<K, int> id = 0;
};

struct plain {
    vec3 position;
    float life = 1.0f;
    std::array<short, 4> tags{};
};

struct dated {
    int day = 0;
    std::string note;
    friend bool operator==(const dated&, const dated&) = default;
};

particle<> sample(int i) {
    const auto f = static_cast<float>(i);
    return {{f, f + 1, f + 2}, {f * 2, 1, -f}, f / 4, i, i % 2 == 0};
}

bool equal(const particle<>& a, const particle<>& b) {
    return a.position == b.position && a.velocity == b.velocity && a.life == b.life &&
           a.id == b.id && a.seen == b.seen;
}

}  // namespace

template <>
struct test_layouts::groups_of<particle<>> {
    using type = grouped_soa<group<&particle<>::velocity, &particle<>::seen, &particle<>::life>>;
};
template <>
struct test_layouts::groups_of<plain> {
    using type = grouped_soa<group<&plain::position, &plain::tags>>;
};

namespace {

template <class Layout>
class table_in : public testing::Test {};
TYPED_TEST_SUITE(table_in, test_layouts::all);

template <class T>
void fill(T& t, int count) {
    for (int i = 0; i < count; ++i) { ASSERT_TRUE(t.push_back(sample(i))); }
}

}  // namespace

TYPED_TEST(table_in, the_same_text_reads_and_writes_every_layout) {
    table_of<particle<>, TypeParam> t;
    fill(t, 100);
    const float dt = 0.5f;
    for (std::size_t i = 0; i < t.size(); ++i) { t[i].position += t[i].velocity * dt; }
    for (auto&& p : t) {
        p.velocity = p.velocity * 2.0f;
        p.life -= 1.0f;
        p.seen = p.is_dead();
    }
    for (int i = 0; i < 100; ++i) {
        particle<> expected = sample(i);
        expected.position += expected.velocity * dt;
        expected.velocity = expected.velocity * 2.0f;
        expected.life -= 1.0f;
        expected.seen = expected.is_dead();
        const particle<> row = t[static_cast<std::size_t>(i)];
        EXPECT_TRUE(equal(row, expected)) << i;
        EXPECT_EQ(t[static_cast<std::size_t>(i)].speed2(), expected.speed2());
    }
    t.validate();
}

TYPED_TEST(table_in, for_each_and_each_and_columns_do_what_rows_do) {
    table_of<particle<>, TypeParam> rows;
    table_of<particle<>, TypeParam> loops;
    table_of<particle<>, TypeParam> fields;
    table_of<particle<>, TypeParam> columns;
    for (auto* t : {&rows, &loops, &fields, &columns}) { fill(*t, 777); }
    const float dt = 0.25f;
    for (std::size_t i = 0; i < rows.size(); ++i) { rows[i].position += rows[i].velocity * dt; }
    loops.for_each([dt](auto&& p) { p.position += p.velocity * dt; });
    fields.template each<&particle<>::position, &particle<>::velocity>(
        [dt](vec3& p, const vec3& v) { p += v * dt; });
    auto position = columns.template column<&particle<>::position>();
    const auto velocity = std::as_const(columns).template column<&particle<>::velocity>();
    for (std::size_t i = 0; i < position.size(); ++i) { position[i] += velocity[i] * dt; }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_TRUE(equal(rows[i], loops[i]));
        EXPECT_TRUE(equal(rows[i], fields[i]));
        EXPECT_TRUE(equal(rows[i], columns[i]));
    }
}

TYPED_TEST(table_in, batches_cover_every_row_once_and_begin_at_multiples_of_64) {
    table_of<particle<>, TypeParam> t;
    fill(t, 1000);
    std::size_t seen = 0;
    t.for_each_batch(100, [&](auto batch) {
        EXPECT_TRUE(batch.size() == 128 || seen + batch.size() == 1000);
        batch.template each<&particle<>::id>(
            [&](int& id) { EXPECT_EQ(id, static_cast<int>(seen++)); });
    });
    EXPECT_EQ(seen, 1000u);
    EXPECT_EQ(t.batches(100).size(), 8u);
    EXPECT_EQ(t.batches(100)[7].size(), 1000u - 7 * 128);
    const int last = t.batches(100)[7][0].id;
    EXPECT_EQ(last, 7 * 128);
}

TYPED_TEST(table_in, rows_are_references_with_the_rules_of_the_header) {
    table_of<particle<>, TypeParam> t;
    fill(t, 10);
    auto&& row = t[3];
    row = t[4];
    EXPECT_EQ(t[3].id, 4);
    t[5] = sample(99);
    EXPECT_EQ(t[5].id, 99);
    using std::swap;
    swap(t[0], t[1]);
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t[1].id, 0);
    const auto& constant = t;
    EXPECT_EQ(constant[1].id, 0);
    EXPECT_EQ(get<&particle<>::id>(t[1]), 0);
    const vec3 position = get<&particle<>::position>(t[2]);
    EXPECT_EQ(position, sample(2).position);
    auto&& [p, v, life, id, was_seen] = t[2];
    id = 77;
    p = vec3{1, 2, 3};
    EXPECT_EQ(t[2].id, 77);
    EXPECT_EQ(t[2].position, (vec3{1, 2, 3}));
    (void)v, (void)life, (void)was_seen;
    EXPECT_EQ((*t.begin()).id, 1);
    EXPECT_EQ(t.begin()->id, 1);
    auto [q, number] = t.template row<&particle<>::position, &particle<>::id>(2);
    number = 78;
    EXPECT_EQ(t[2].id, 78);
    EXPECT_TRUE(q == (vec3{1, 2, 3}));
}

TYPED_TEST(table_in, is_a_random_access_range_that_algorithms_can_sort) {
    using t_type = table_of<particle<>, TypeParam>;
    static_assert(std::ranges::random_access_range<t_type>);
    static_assert(std::ranges::random_access_range<const t_type>);
    static_assert(std::ranges::sized_range<t_type>);
    static_assert(std::random_access_iterator<typename t_type::iterator>);
    static_assert(std::permutable<typename t_type::iterator>);
    static_assert(
        std::sortable<typename t_type::iterator, std::ranges::less, key_of<&particle<>::id>>);
    t_type t;
    for (int i = 0; i < 200; ++i) { ASSERT_TRUE(t.push_back(sample(i * 37 % 200))); }
    std::ranges::sort(t, {}, key<&particle<>::id>);
    for (int i = 0; i < 200; ++i) { EXPECT_TRUE(equal(t[static_cast<std::size_t>(i)], sample(i))); }
    std::ranges::reverse(t);
    EXPECT_EQ(t.front().id, 199);
    const auto found = std::ranges::find(t, 5, key<&particle<>::id>);
    EXPECT_EQ(found - t.begin(), 194);
    EXPECT_EQ(std::ranges::count_if(t, [](auto&& p) { return p.id < 50; }), 50);
    for (auto&& p : t | std::views::reverse | std::views::take(1)) { EXPECT_EQ(p.id, 0); }
}

TYPED_TEST(table_in, sort_by_orders_rows_by_one_column_and_keeps_equal_keys_in_order) {
    table_of<particle<>, TypeParam> t;
    for (int i = 0; i < 500; ++i) {
        particle<> p = sample(i);
        p.life = static_cast<float>((i * 7919) % 10) - 5.0f;
        ASSERT_TRUE(t.push_back(p));
    }
    ASSERT_TRUE((t.template sort_by<&particle<>::life>()));
    for (std::size_t i = 1; i < t.size(); ++i) {
        const particle<> a = t[i - 1];
        const particle<> b = t[i];
        EXPECT_LE(a.life, b.life);
        EXPECT_TRUE(a.life < b.life || a.id < b.id);
        EXPECT_EQ(b.position, sample(b.id).position) << "rows stay together";
    }
    ASSERT_TRUE(t.sort([](auto&& a, auto&& b) { return a.id > b.id; }));
    for (int i = 0; i < 500; ++i) { EXPECT_EQ(t[static_cast<std::size_t>(i)].id, 499 - i); }
    ASSERT_TRUE((t.template sort_by<&particle<>::seen>()));
    EXPECT_EQ(t[0].id, 499);
    EXPECT_EQ(t[499].id, 0);
}

TYPED_TEST(table_in, erasing_in_its_four_ways) {
    table_of<particle<>, TypeParam> t;
    fill(t, 20);
    t.swap_erase(3);
    EXPECT_EQ(t[3].id, 19);
    t.swap_erase(t.size() - 1);
    EXPECT_EQ(t.back().id, 17);
    t.erase(0);
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t.erase_if([](auto&& p) { return p.id % 2 == 0; }), 8u);
    for (auto&& p : t) { EXPECT_EQ(p.id % 2, 1); }
    t.pop_back();
    ASSERT_TRUE(t.insert(1, sample(1000)));
    EXPECT_EQ(t[0].id, 1);
    EXPECT_EQ(t[1].id, 1000);
    EXPECT_EQ(t[2].id, 19);
    t.clear();
    EXPECT_TRUE(t.empty());
}

TYPED_TEST(table_in, emplace_back_takes_fields_or_rows_and_fills_in_the_defaults) {
    table_of<particle<>, TypeParam> t;
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{4, 5, 6}, 7.0f, 8, true));
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{}));
    ASSERT_TRUE(t.emplace_back());
    ASSERT_TRUE(t.emplace_back(t[0]));
    EXPECT_EQ(t[0].id, 8);
    EXPECT_EQ(t[1].id, -1);
    EXPECT_EQ(t[1].life, 1.0f);
    EXPECT_EQ(t[2].position, vec3{});
    EXPECT_EQ(t[3].id, 8);
}

TYPED_TEST(table_in, a_row_of_the_table_itself_may_be_appended_while_it_grows) {
    table_of<named<>, TypeParam> t;
    ASSERT_TRUE(t.emplace_back(std::string(50, 'a'), 1));
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(t.push_back(t[0]));
        ASSERT_TRUE(t.emplace_back(t[0].name, i));
    }
    for (auto&& row : t) { EXPECT_EQ(row.name, std::string(50, 'a')); }
}

TYPED_TEST(table_in, one_allocation_that_goes_back) {
    test_upstream upstream;
    {
        table_of<particle<>, TypeParam> t{upstream};
        ASSERT_TRUE(t.reserve(1000));
        EXPECT_EQ(upstream.live_count(), 1u);
        EXPECT_EQ(upstream.live_size(), t.memory_size());
        fill(t, 1000);
        EXPECT_EQ(upstream.request_count(), 1u);
        ASSERT_TRUE(t.reserve(100));
        EXPECT_EQ(upstream.request_count(), 1u);
        table_of<particle<>, TypeParam> moved{std::move(t)};
        EXPECT_EQ(moved.size(), 1000u);
        EXPECT_EQ(t.size(), 0u);
        moved.clear();
        ASSERT_TRUE(moved.shrink_to_fit());
        EXPECT_EQ(upstream.live_count(), 0u);
    }
}

TYPED_TEST(table_in, without_memory_it_grows_to_nothing_and_says_so) {
    test_upstream upstream;
    table<particle<>, soa> source;
    fill(source, 1000);
    table<particle<>, TypeParam> t{upstream};
    fill(t, 10);
    upstream.refuse_from(upstream.request_count());
    EXPECT_FALSE(t.resize(1000));
    EXPECT_FALSE(t.resize_for_overwrite(1000));
    EXPECT_FALSE(t.copy_from(source));
    EXPECT_EQ(t.size(), 10u);
    EXPECT_FALSE((t.template sort_by<&particle<>::id>()));
    t.validate();
    EXPECT_TRUE(t.resize(1));
    EXPECT_TRUE((t.template sort_by<&particle<>::id>())) << "one row is in order";
    t.clear();
    EXPECT_TRUE((t.template sort_by<&particle<>::id>())) << "and so is none";
}

TYPED_TEST(table_in, a_row_becomes_what_is_assigned_to_it) {
    table<particle<>, TypeParam> t;
    fill(t, 3);
    const particle<> other = sample(77);
    t[1] = other;
    EXPECT_TRUE(equal(t[1], other));
    t[2] = sample(78);
    EXPECT_TRUE(equal(t[2], sample(78)));
    EXPECT_TRUE(equal(t[0], sample(0)));
}

TYPED_TEST(table_in, reserving_what_there_is_asks_for_nothing) {
    test_upstream upstream;
    table<particle<>, TypeParam> t{upstream};
    ASSERT_TRUE(t.reserve(100));
    const std::size_t requests = upstream.request_count();
    EXPECT_TRUE(t.reserve(t.capacity()));
    EXPECT_EQ(upstream.request_count(), requests);
}

TYPED_TEST(table_in, a_part_that_begins_and_ends_anywhere_is_visited_in_order) {
    table<particle<>, TypeParam> t;
    fill(t, 40);
    for (std::size_t first = 0; first <= 17; ++first) {
        for (std::size_t count = 0; count <= 20; ++count) {
            const auto part = t.view().subview(first, count);
            int next = static_cast<int>(first);
            part.for_each([&](auto&& row) { EXPECT_EQ(row.id, next++); });
            EXPECT_EQ(next, static_cast<int>(first + count));
            next = static_cast<int>(first);
            part.template each<&particle<>::id, &particle<>::life>([&](int id, float life) {
                EXPECT_EQ(id, next);
                EXPECT_EQ(life, sample(next++).life);
            });
            EXPECT_EQ(next, static_cast<int>(first + count));
        }
    }
}

TYPED_TEST(table_in, the_tail_may_be_read_by_kernels_and_holds_no_garbage) {
    if (std::is_same_v<TypeParam, aos>) { GTEST_SKIP() << "rows of aos have no tail"; }
    test_upstream upstream;  // fills fresh memory with 0xA5
    table_of<particle<>, TypeParam> t{upstream};
    for (int count = 0; count < 200; ++count) {
        EXPECT_GE(t.padded_size(), t.size());
        EXPECT_LE(t.padded_size(), t.capacity());
        const auto view = std::as_const(t).view();
        const typename table_of<particle<>, TypeParam>::const_view_type whole{view};
        if (count != 0) {
            const int* const ids = &get<&particle<>::id>(whole[0]);
            if constexpr (TypeParam::lanes == 0) {
                for (std::size_t i = t.size(); i < t.padded_size(); ++i) { EXPECT_EQ(ids[i], 0); }
            }
        }
        ASSERT_TRUE(t.push_back(sample(count)));
    }
}

TYPED_TEST(table_in, tables_with_equal_rows_are_equal_whatever_their_layouts) {
    table_of<dated, TypeParam> t;
    table<dated, soa> other;
    EXPECT_TRUE(t == other) << "no rows";
    for (int i = 0; i < 40; ++i) {
        ASSERT_TRUE(t.push_back({i, "of " + std::to_string(i)}));
        ASSERT_TRUE(other.push_back({i, "of " + std::to_string(i)}));
    }
    EXPECT_TRUE(t == other);
    other.swap_rows(3, 4);
    EXPECT_FALSE(t == other) << "in another order";
    other.swap_rows(3, 4);
    other.pop_back();
    EXPECT_TRUE(t != other) << "one row less";
    EXPECT_TRUE(other != t);
}

TYPED_TEST(table_in, a_clone_has_equal_rows_in_the_memory_that_is_named) {
    test_upstream upstream;
    {
        table_of<dated, TypeParam> t;
        for (int i = 0; i < 40; ++i) { ASSERT_TRUE(t.push_back({i, std::to_string(i)})); }
        auto copy = t.clone(upstream);
        ASSERT_TRUE(copy.has_value());
        EXPECT_TRUE(*copy == t);
        EXPECT_NE(upstream.request_count(), 0u);
        t.pop_back();
        EXPECT_EQ(copy->size(), 40u);
        auto again = copy->clone();
        ASSERT_TRUE(again.has_value());
        EXPECT_TRUE(*again == *copy) << "from the upstream of what it copies";
        upstream.refuse_from(upstream.request_count());
        EXPECT_FALSE(copy->clone().has_value());
        EXPECT_EQ(copy->size(), 40u);
    }
}

TYPED_TEST(table_in, copies_come_from_any_layout) {
    table<particle<>, soa> source;
    fill(source, 70);
    table_of<particle<>, TypeParam> t;
    ASSERT_TRUE(t.copy_from(source));
    ASSERT_EQ(t.size(), 70u);
    for (int i = 0; i < 70; ++i) { EXPECT_TRUE(equal(t[static_cast<std::size_t>(i)], sample(i))); }
    ASSERT_TRUE(t.resize(75));
    EXPECT_EQ(t[74].life, 1.0f);
    ASSERT_TRUE(t.resize(3));
    EXPECT_EQ(t.size(), 3u);
    table_of<particle<>, TypeParam> other;
    swap(t, other);
    EXPECT_EQ(other.size(), 3u);
    ASSERT_TRUE(other.resize_for_overwrite(400));
    EXPECT_EQ(other.size(), 400u);
    EXPECT_EQ(other[2].id, 2);
}

TYPED_TEST(table_in, plain_structs_are_named_by_member_pointers) {
    table_of<plain, TypeParam> t;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(t.push_back({{static_cast<float>(i), 0, 0}, 2.0f, {static_cast<short>(i)}}));
    }
    t.template each<&plain::position, &plain::life>([](vec3& p, float& life) {
        p.x += life;
        life = 0;
    });
    auto life = t.template column<&plain::life>();
    life[7] = 7.0f;
    for (std::size_t i = 0; i < t.size(); ++i) {
        auto&& [position, remaining, tags] = t[i];
        EXPECT_EQ(part<&vec3::x>(position), static_cast<float>(i) + 2);
        EXPECT_EQ(remaining, i == 7 ? 7.0f : 0.0f);
        EXPECT_EQ(tags[0], static_cast<short>(i));
        const plain copy = t[i];
        EXPECT_EQ(copy.position.x, static_cast<float>(i) + 2);
    }
    t[3] = plain{{9, 9, 9}, 9, {}};
    EXPECT_EQ((get<&plain::life>(t[3])), 9.0f);
    using std::swap;
    swap(t[3], t[4]);
    EXPECT_EQ((get<&plain::life>(t[4])), 9.0f);
    std::ranges::sort(t, std::ranges::greater{}, key<&plain::life>);
    EXPECT_EQ((get<&plain::life>(t[0])), 9.0f);
}

TEST(table, rows_of_aos_are_true_references) {
    static_assert(std::is_same_v<table<particle<>, aos>::reference, particle<>&>);
    static_assert(std::is_same_v<table<plain, aos>::const_reference, const plain&>);
}

TEST(table, columns_of_soa_are_aligned_spans_and_no_two_share_a_cache_set) {
    table<particle<>, soa> t;
    ASSERT_TRUE(t.reserve(4096));
    fill(t, 100);
    const std::span<vec3> positions = t.column<&particle<>::position>();
    const std::span<float> life = t.column<&particle<>::life>();
    EXPECT_EQ(positions.size(), 100u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(positions.data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(life.data()) % 64, 0u);
    const auto* const ids = t.column<&particle<>::id>().data();
    const auto distance =
        reinterpret_cast<std::uintptr_t>(ids) - reinterpret_cast<std::uintptr_t>(life.data());
    EXPECT_NE(distance % 4096, 0u) << "power-of-two columns do not collide";
    EXPECT_EQ(distance / 64 % 2, 1u) << "an odd number of cache lines";
}

TEST(table, split_columns_hand_out_components) {
    table<particle<>, split_soa> t;
    fill(t, 100);
    auto velocity = t.column<&particle<>::velocity>();
    const std::span<float> x = velocity.part<&vec3::x>();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0u);
    x[5] = 55;
    const vec3 v = velocity[5];
    EXPECT_EQ(v.x, 55.0f);
    EXPECT_EQ(t[5].velocity, v);
    std::size_t row = 0;
    for (const vec3 each : velocity) { EXPECT_EQ(t[row++].velocity, each); }
    EXPECT_EQ(row, 100u);
}

namespace {
template <class K = value>
struct marked {
    field<K, split<vec3>> fast;
    field<K, vec3> whole;
};
}  // namespace

TEST(table, a_marked_field_is_split_and_the_others_are_not) {
    static_assert(std::is_same_v<decltype(marked<>::fast), vec3>);
    table<marked<>, soa> t;
    ASSERT_TRUE(t.emplace_back(vec3{1, 2, 3}, vec3{4, 5, 6}));
    static_assert(std::is_same_v<decltype(t.column<&marked<>::fast>()), split_span<vec3>>);
    static_assert(std::is_same_v<decltype(t.column<&marked<>::whole>()), std::span<vec3>>);
    t[0].fast += t[0].whole;
    EXPECT_EQ(t[0].fast, (vec3{5, 7, 9}));
    EXPECT_EQ(2.0f * part<&vec3::y>(t[0].fast), 14.0f);
}

TEST(table, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    table<particle<>, soa> t;
    fill(t, 2);
    EXPECT_DEATH((void)t[2], "a row is read inside the table");
    const auto beyond = expect_broken_promise([&] { (void)t[2]; });
    EXPECT_EQ(beyond.kind(), misuse_kind::out_of_range) << beyond;
    EXPECT_EQ(beyond.value("index"), 2u);
    EXPECT_DEATH(t.swap_erase(2), "the erased row is inside the table");
    EXPECT_DEATH((table<particle<>, soa>{}.pop_back()),
                 "a row is removed from a table that has one");
    EXPECT_DEATH((void)t.insert(3, sample(0)), "a row is inserted inside the table");
    std::uint32_t twice[] = {1, 1};
    std::uint32_t outside[] = {0, 2};
    EXPECT_DEATH((void)t.permute(twice), "a permutation names every row once");
    EXPECT_DEATH((void)t.permute(outside), "a permutation names every row once");
    EXPECT_DEATH((void)t.view().batches(0), "a batch has rows");
    std::uint32_t swapped[] = {1, 0};
    EXPECT_TRUE(t.permute(swapped));
    EXPECT_EQ(t[0].id, 1);
}

TEST(table, rows_beyond_the_tail_are_poisoned) {
    if constexpr (poison_is_queryable) {
        table<particle<>, soa> t;
        ASSERT_TRUE(t.reserve(128));
        fill(t, 17);
        const int* const ids = t.column<&particle<>::id>().data();
        EXPECT_FALSE(is_poisoned(ids + 31));
        EXPECT_TRUE(is_poisoned(ids + 32));
        t.swap_erase(0);
        EXPECT_TRUE(is_poisoned(ids + 16));
    }
}

TEST(table, a_batch_may_be_larger_than_any_table) {
    table<particle<>, soa> t;
    fill(t, 100);
    for (const std::size_t huge : {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 63, SIZE_MAX / 2 + 2}) {
        std::size_t rows = 0;
        t.for_each_batch(huge, [&](auto part) { rows += part.size(); });
        EXPECT_EQ(rows, 100u) << huge;
    }
}

namespace {
/// Made from a reference, which it keeps: it writes, and its type does not say so.
struct keeps_reference {
    vec3* to;
    keeps_reference(vec3& v) : to{&v} {}
};
struct copies {
    float x;
    copies(const vec3& v) : x{v.x} {}
};
}  // namespace

TEST(table, each_stores_what_was_written_through_any_type_of_argument) {
    table<particle<>, split_soa> t;
    fill(t, 100);
    using P = particle<>;
    t.each<&P::velocity>([](std::reference_wrapper<vec3> v) { v.get() = {1, 2, 3}; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 2, 3}));
    t.each<&P::velocity>([](keeps_reference v) { v.to->y = 9; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 3}));
    t.each<&P::velocity>([](const keeps_reference& v) { v.to->z = 8; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 8}));
    float sum = 0;
    t.each<&P::velocity>([&](vec3 v) {
        v.x = 100;
        sum += v.y;
    });  // a copy of its own
    t.each<&P::velocity>([&](const vec3 v) { sum += v.y; });
    t.each<&P::velocity>([&](const vec3& v) { sum += v.y; });
    t.each<&P::velocity>([&](copies v) { sum += v.x; });
    EXPECT_EQ(t[7].velocity, (vec3{1, 9, 8}));
    EXPECT_EQ(sum, 100 * (3 * 9 + 1));
}

TEST(table, an_address_space_of_nothing_is_refused_and_the_table_grows_as_before) {
    table<particle<>, soa> t;
    EXPECT_FALSE(t.reserve_address_space(0));
    fill(t, 100);
    EXPECT_EQ(t.size(), 100u);
    t.validate();
}

TEST(table, reserved_rows_are_touched_ahead_of_need_and_take_huge_pages_where_that_is_asked_for) {
    for (const bool huge : {false, true}) {
        table<particle<>, soa> t;
        ASSERT_TRUE(t.reserve_address_space(100000, {.huge_pages = huge, .prefault = true}));
        ASSERT_TRUE(t.reserve(10000));
        fill(t, 10000);
        for (const std::size_t row : {0u, 5000u, 9999u}) {
            const void* const place = &t.column<&particle<>::id>()[row];
            const auto page = reinterpret_cast<std::uintptr_t>(place) / page_memory::size();
            const void* const first = reinterpret_cast<void*>(page * page_memory::size());
            EXPECT_NE(page_memory::resident_bytes(first, page_memory::size()), 0u);
        }
        ASSERT_TRUE(t.reserve(100000));
        t.validate();
        table<particle<>, soa> moved{std::move(t)};
        EXPECT_EQ(moved.size(), 10000u);
        moved.validate();
    }
}

TEST(table, in_reserved_addresses_it_does_not_shrink) {
    table<particle<>, soa> t;
    ASSERT_TRUE(t.reserve_address_space(100000));
    fill(t, 10);
    const auto* const first = t.column<&particle<>::id>().data();
    const std::size_t capacity = t.capacity();
    EXPECT_TRUE(t.shrink_to_fit());
    EXPECT_EQ(t.column<&particle<>::id>().data(), first);
    EXPECT_EQ(t.capacity(), capacity);
    fill(t, 1000);
    EXPECT_EQ(t.column<&particle<>::id>().data(), first);
    t.validate();
}

#if defined(__cpp_exceptions)
namespace {
/// Its copies and assignments throw in turn; an assignment that throws has changed nothing.
struct touchy {
    static inline int until = -1;  // the copy or assignment that throws, counted from now; -1: none
    static void step() {
        if (until >= 0 && until-- == 0) { throw 1; }
    }
    explicit touchy(int v) : value{v} {}
    touchy(const touchy& other) : value{other.value} { step(); }
    touchy(touchy&& other) : value{other.value} {
        step();
        other.value = -777;
    }
    touchy& operator=(const touchy& other) {
        step();
        value = other.value;
        return *this;
    }
    touchy& operator=(touchy&& other) {
        step();
        value = other.value;
        other.value = -777;
        return *this;
    }
    ~touchy() = default;
    int value;
};
struct torn_row {
    int number;
    touchy first;
    std::string name;
    touchy second;
};

/// change(table) with every copy and move made to throw in turn: no row is lost or mixed.
template <class Layout, class Change>
void with_every_move_thrown(bool order_is_kept, Change change) {
    bool thrown = true;
    int at = 0;
    for (; thrown; ++at) {
        ASSERT_LT(at, 200);
        table<torn_row, Layout> rows;
        ASSERT_TRUE(rows.reserve(20));
        for (int i = 0; i < 10; ++i) {
            ASSERT_TRUE(rows.emplace_back(i, touchy{i}, std::to_string(i), touchy{i}));
        }
        attached_column<int> column{rows, -1};
        for (std::size_t i = 0; i < 10; ++i) { column[i] = static_cast<int>(i); }
        touchy::until = at;
        thrown = false;
        try {
            change(rows);
        } catch (int) { thrown = true; }
        touchy::until = -1;
        if (!thrown) { break; }
        std::vector<int> numbers;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto&& row = rows[i];
            EXPECT_EQ(get<&torn_row::first>(row).value, get<&torn_row::number>(row)) << at;
            EXPECT_EQ(get<&torn_row::second>(row).value, get<&torn_row::number>(row)) << at;
            EXPECT_EQ(get<&torn_row::name>(row), std::to_string(get<&torn_row::number>(row))) << at;
            EXPECT_TRUE(column[i] == get<&torn_row::number>(row) ||
                        get<&torn_row::number>(row) == 100)
                << at;
            if (get<&torn_row::number>(row) < 10) {
                numbers.push_back(get<&torn_row::number>(row));
            }
        }
        if (!order_is_kept) { std::sort(numbers.begin(), numbers.end()); }
        EXPECT_EQ(numbers, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << at;
        rows.validate();
    }
    EXPECT_GT(at, 3) << "something was thrown";
}

template <class Layout>
void check_throwing_moves() {
    with_every_move_thrown<Layout>(true, [](auto& rows) {
        rows.swap_erase(4);
        EXPECT_EQ(rows.size(), 9u);
        EXPECT_EQ(get<&torn_row::number>(rows[4]), 9);
        EXPECT_EQ(get<&torn_row::second>(rows[4]).value, 9);
    });
    with_every_move_thrown<Layout>(true, [](auto& rows) {
        rows.swap_rows(2, 7);
        EXPECT_EQ(get<&torn_row::first>(rows[2]).value, 7);
        EXPECT_EQ(get<&torn_row::second>(rows[7]).value, 2);
    });
    with_every_move_thrown<Layout>(true, [](auto& rows) {
        ASSERT_TRUE(rows.insert(3, 100, touchy{100}, "100", touchy{100}));
        EXPECT_EQ(get<&torn_row::second>(rows[3]).value, 100);
        EXPECT_EQ(get<&torn_row::first>(rows[4]).value, 3);
        EXPECT_EQ(get<&torn_row::second>(rows[10]).value, 9);
    });
    with_every_move_thrown<Layout>(false, [](auto& rows) {
        rows.erase(3);
        EXPECT_EQ(get<&torn_row::second>(rows[3]).value, 4);
        EXPECT_EQ(get<&torn_row::first>(rows[8]).value, 9);
    });
    with_every_move_thrown<Layout>(false, [](auto& rows) {
        EXPECT_EQ(
            rows.erase_if([](const auto& row) { return get<&torn_row::number>(row) % 3 == 0; }),
            4u);
        EXPECT_EQ(get<&torn_row::first>(rows[0]).value, 1);
        EXPECT_EQ(get<&torn_row::second>(rows[5]).value, 8);
    });
}
}  // namespace

TEST(table, rows_are_neither_lost_nor_mixed_when_moving_a_field_throws) {
    check_throwing_moves<aos>();
    check_throwing_moves<soa>();
    check_throwing_moves<aosoa<8>>();
}

namespace {
struct counted_touchy : touchy {
    static inline int alive = 0;
    explicit counted_touchy(int v) : touchy{v} { ++alive; }
    counted_touchy(const counted_touchy& other) : touchy{other} { ++alive; }
    counted_touchy& operator=(const counted_touchy&) = default;
    ~counted_touchy() { --alive; }
};
struct counted_row {
    counted_touchy first;
    int number;
    counted_touchy second;
};

template <class Layout>
void check_throwing_growth() {
    bool thrown = true;
    int at = 0;
    for (; thrown; ++at) {
        ASSERT_LT(at, 1000);
        {
            table<counted_row, Layout> rows;
            for (int i = 0; i < 20; ++i) {
                ASSERT_TRUE(rows.emplace_back(counted_touchy{i}, i, counted_touchy{i}));
            }
            touchy::until = at;
            thrown = false;
            try {
                (void)rows.reserve(rows.capacity() + 1);
            } catch (int) { thrown = true; }
            touchy::until = -1;
            EXPECT_EQ(counted_touchy::alive, 40) << at;
            rows.validate();
        }
        EXPECT_EQ(counted_touchy::alive, 0) << at;
    }
    EXPECT_GT(at, 40) << "each copy has thrown";
}
}  // namespace

TEST(table, growth_that_throws_leaves_no_copy_behind) {
    check_throwing_growth<aos>();
    check_throwing_growth<soa>();
    check_throwing_growth<aosoa<8>>();
}
#endif
