// Sentences of cairn/containers/table.hpp about memory: growth, reservations and refusals.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "containers/table/rows.hpp"
#include "support/layouts.hpp"
#include "support/test_upstream.hpp"

#if defined(__linux__)
#    include <sys/resource.h>
#endif

using namespace cairn;
using namespace table_tests;

namespace {
template <class K = value>
struct named {
    field<K, std::string> name;
    field<K, int> id = 0;
};
}  // namespace

TYPED_TEST(table_in, a_row_of_the_table_itself_may_be_appended_while_it_grows) {
    table<named<>, TypeParam> t;
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
        table<particle<>, TypeParam> t{upstream};
        ASSERT_TRUE(t.reserve(1000));
        EXPECT_EQ(upstream.live_count(), 1u);
        EXPECT_EQ(upstream.live_size(), t.memory_size());
        fill(t, 1000);
        EXPECT_EQ(upstream.request_count(), 1u);
        ASSERT_TRUE(t.reserve(100));
        EXPECT_EQ(upstream.request_count(), 1u);
        table<particle<>, TypeParam> moved{std::move(t)};
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

TYPED_TEST(table_in, reserving_what_there_is_asks_for_nothing) {
    test_upstream upstream;
    table<particle<>, TypeParam> t{upstream};
    ASSERT_TRUE(t.reserve(100));
    const std::size_t requests = upstream.request_count();
    EXPECT_TRUE(t.reserve(t.capacity()));
    EXPECT_EQ(upstream.request_count(), requests);
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

TEST(table, in_reserved_addresses_it_shrinks_and_no_row_moves) {
    for (const bool huge : {false, true}) {
        table<particle<>, soa> t;
        ASSERT_TRUE(t.reserve_address_space(1'000'000, {.huge_pages = huge}));
        EXPECT_TRUE(t.shrink_to_fit()) << "there is nothing to give back";
        fill(t, 10);
        const auto* const first = t.column<&particle<>::id>().data();
        for (int round = 0; round < 3; ++round) {
            fill(t, 500'000);
            while (t.size() > 10) { t.pop_back(); }
            EXPECT_TRUE(t.shrink_to_fit());
            EXPECT_LT(t.capacity(), 1000u);
            EXPECT_EQ(t.column<&particle<>::id>().data(), first);
            for (int i = 0; i < 10; ++i) {
                EXPECT_EQ(t.column<&particle<>::id>()[static_cast<std::size_t>(i)], sample(i).id);
            }
            t.validate();
        }
        fill(t, 1000);
        t.clear();
        EXPECT_TRUE(t.shrink_to_fit());
        EXPECT_EQ(t.capacity(), 0u);
        fill(t, 1000);
        EXPECT_EQ(t.column<&particle<>::id>().data(), first);
        t.validate();
    }
}

#if defined(__linux__)

namespace {
/// What the system says of the memory at `place`: a paragraph of /proc/self/smaps.
std::string told_of(const void* place) {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    std::ifstream maps{"/proc/self/smaps"};
    std::string told;
    bool is_inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words{line};
        std::uintptr_t first = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        if (words >> std::hex >> first >> dash >> end && dash == '-') {
            is_inside = first <= address && address < end;
        }
        if (is_inside) { told += line + '\n'; }
    }
    return told;
}
bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// The system gives this process no memory while it lives.
class no_more_memory {
    rlimit before_;

public:
    no_more_memory() {
        getrlimit(RLIMIT_DATA, &before_);
        rlimit none = before_;
        none.rlim_cur = 4096;  // 0 is taken for none by Linux
        setrlimit(RLIMIT_DATA, &none);
    }
    ~no_more_memory() { setrlimit(RLIMIT_DATA, &before_); }
    no_more_memory(const no_more_memory&) = delete;
    no_more_memory& operator=(const no_more_memory&) = delete;
};
}  // namespace

TEST(table, reserved_addresses_bear_the_name_and_the_wish_for_huge_pages_that_were_given) {
    table<particle<>, soa> plain;
    table<particle<>, soa> wishes;
    ASSERT_TRUE(plain.reserve_address_space(100000));
    ASSERT_TRUE(wishes.reserve_address_space(100000, {.huge_pages = true, .name = "cairn rows"}));
    fill(plain, 1);
    fill(wishes, 1);
    const std::string of_plain = told_of(plain.column<&particle<>::id>().data());
    const std::string of_wishes = told_of(wishes.column<&particle<>::id>().data());
    if (!contains(of_plain, "VmFlags:")) { GTEST_SKIP() << "this system says nothing of it"; }
    EXPECT_FALSE(contains(of_plain, " hg")) << of_plain;

    const std::size_t bytes = page_memory::huge_size();
    void* const probe = page_memory::reserve_committed(bytes, alignment{bytes});
    ASSERT_NE(probe, nullptr);
    page_memory::advise_huge(probe, bytes);
    page_memory::set_name(probe, bytes, "cairn probe");
    const std::string of_probe = told_of(probe);
    page_memory::release(probe, bytes);
    // Not every kernel can do both.
    EXPECT_EQ(contains(of_wishes, " hg"), contains(of_probe, " hg")) << of_wishes;
    EXPECT_EQ(contains(of_wishes, "[anon:cairn rows]"), contains(of_probe, "[anon:cairn probe]"));
}

TYPED_TEST(table_in, in_reserved_addresses_a_refusal_of_the_system_changes_nothing) {
    void* const probe = page_memory::reserve(page_memory::size());
    bool refuses = false;
    {
        const no_more_memory limit;
        refuses = !page_memory::commit(probe, page_memory::size());
    }
    page_memory::release(probe, page_memory::size());
    if (!refuses) { GTEST_SKIP() << "this system knows no such limit"; }

    table<particle<>, TypeParam> t;
    ASSERT_TRUE(t.reserve_address_space(1'000'000));
    fill(t, 10);
    const std::size_t capacity = t.capacity();
    ASSERT_LT(capacity, 500'000u);
    fill(t, static_cast<int>(capacity) - 10);
    bool pushed = true;
    bool reserved = true;
    {
        const no_more_memory limit;
        pushed = t.push_back(sample(1));
        reserved = t.reserve(500'000);
    }
    EXPECT_FALSE(pushed);
    EXPECT_FALSE(reserved);
    EXPECT_EQ(t.size(), capacity);
    EXPECT_EQ(t.capacity(), capacity);
    ASSERT_TRUE(t.push_back(sample(7))) << "it grows where there is memory again";
    EXPECT_TRUE(equal(t[capacity], sample(7)));
    t.validate();
}

#endif
