// Sentences of cairn/containers/packed_array.hpp about growth: what moves, what does not, what a
// refusal and an exception change.
#include <cairn/containers/packed_array.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using map_model::tracked;

TEST(packed_array, exhausted_memory_changes_nothing) {
    packed_array<int> none{no_memory()};
    EXPECT_EQ(none.emplace(1), nullptr);
    EXPECT_FALSE(none.reserve(1));
    test_upstream upstream;
    packed_array<std::string> a{upstream};
    ASSERT_TRUE(a.reserve(4));
    for (int i = 0; i < 4; ++i) { (void)a.emplace(std::to_string(i)); }
    upstream.refuse_from(upstream.request_count());
    EXPECT_EQ(a.emplace("more"), nullptr);
    EXPECT_FALSE(a.reserve(5));
    EXPECT_FALSE(a.reserve(SIZE_MAX));
    ASSERT_EQ(a.size(), 4u);
    EXPECT_EQ(a[3], "3");
    upstream.refuse_from(upstream.request_count(), 1);
    EXPECT_NE(a.emplace("less is enough"), nullptr)
        << "twice as much was refused, one more was not";
}

#if defined(__cpp_exceptions)
TEST(packed_array, every_construction_may_throw) {
    for (int fail = 0; fail < 200; ++fail) {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
        {
            test_upstream upstream;
            packed_array<tracked> a{upstream};
            std::vector<std::uint64_t> model;
            tracked::throw_at = fail;
            for (std::uint64_t i = 0; i < 40; ++i) {
                try {
                    (void)a.emplace(i);
                    model.push_back(i);
                    if (i % 3 == 2) {
                        a.swap_erase(0);
                        model[0] = model.back();
                        model.pop_back();
                    }
                    ASSERT_TRUE(a.reserve(a.size() + 7));
                } catch (const std::runtime_error&) {}
                ASSERT_EQ(a.size(), model.size());
                for (std::size_t k = 0; k < model.size(); ++k) {
                    ASSERT_EQ(a[k].value(), model[k]);
                }
            }
            tracked::throw_at = -1;
        }
        ASSERT_EQ(tracked::alive_count, 0);
    }
}
#endif

TEST(packed_array, reserved_addresses_never_move) {
    test_upstream upstream;
    packed_array<int> a{upstream};
    ASSERT_TRUE(a.reserve_address_space(1000000));
    const int* const first = a.emplace(1);
    for (int i = 1; i < 1000000; ++i) { ASSERT_NE(a.emplace(i), nullptr); }
    EXPECT_EQ(a.data(), first);
    EXPECT_EQ(upstream.request_count(), 0u);
}

namespace {
/// Keeps its own address, which is that of its row until the rows move.
template <std::size_t Size>
struct self_knowing {
    explicit self_knowing(int v) : self{this}, value{v} {}
    self_knowing* self;
    int value;
    char rest[Size - 2 * sizeof(void*)] = {};
};

template <std::size_t RowSize>
void rows_move_by_pages() {
    using row = self_knowing<RowSize>;
    packed_array<row> a{system_pages()};
    for (int i = 0; i < 3000; ++i) {
        const row* const made = a.emplace(i == 0 ? 0 : a[a.size() / 2].value + 1);
        ASSERT_NE(made, nullptr);
        ASSERT_EQ(made->self, made) << "built where it stays";
        ASSERT_EQ(made, &a[a.size() - 1]);
        a[a.size() - 1].value = i;
        ASSERT_EQ(a.emplace(a[static_cast<std::size_t>(i)])->value, i);
        a.swap_erase(a.size() - 1);
    }
    ASSERT_TRUE(a.reserve(20000));
    for (std::size_t i = 0; i < a.size(); ++i) { ASSERT_EQ(a[i].value, static_cast<int>(i)); }
    a.validate();
}
}  // namespace

TEST(packed_array, rows_over_pages_move_and_new_ones_are_built_from_old_ones) {
    rows_move_by_pages<120>();
    rows_move_by_pages<600>();  // too large to be put aside: copied
}

TEST(packed_array, reserved_rows_are_touched_ahead_of_need_where_that_is_asked_for) {
    packed_array<std::uint64_t> a;
    ASSERT_TRUE(a.reserve_address_space(1000000, {.prefault = true}));
    ASSERT_TRUE(a.reserve(100000));
    const std::size_t size = 100000 * sizeof(std::uint64_t);
    EXPECT_GE(page_memory::resident_bytes(a.data(), size), size);
}

TEST(packed_array, a_move_that_throws_ends_the_program) {
#if defined(__cpp_exceptions) && defined(GTEST_HAS_DEATH_TEST)
    struct only_moved {
        only_moved() = default;
        only_moved(only_moved&&) { throw 1; }
        only_moved& operator=(only_moved&&) { return *this; }
    };
    const auto grows = [] {
        packed_array<only_moved> a;
        try {
            for (int i = 0; i < 17; ++i) { (void)a.emplace(); }
        } catch (int) {}
    };
    EXPECT_DEATH(grows(), "");
#endif
}
