// Sentences of cairn/containers/table.hpp about fields whose copies and moves throw.
#include <cairn/containers/attached_column.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace cairn;

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

namespace {
/// It cannot be copied, and says of its moves that they may throw.
struct only_moved {
    explicit only_moved(int v) : value{v} {}
    only_moved(only_moved&& from) noexcept(false) : value{from.value} { from.value = -777; }
    only_moved& operator=(only_moved&& from) noexcept(false) {
        value = from.value;
        from.value = -777;
        return *this;
    }
    ~only_moved() = default;
    int value;
};
struct moved_row {
    int number;
    only_moved one;
    only_moved other;
};

template <class Layout>
void check_moves_without_copies() {
    table<moved_row, Layout> rows;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(rows.emplace_back(i, only_moved{i}, only_moved{i}));
    }
    rows.swap_rows(2, 7);
    rows.swap_rows(4, 4);
    for (int i = 0; i < 10; ++i) {
        const int expected = i == 2 ? 7 : i == 7 ? 2 : i;
        auto&& row = rows[static_cast<std::size_t>(i)];
        EXPECT_EQ(get<&moved_row::number>(row), expected) << i;
        EXPECT_EQ(get<&moved_row::one>(row).value, expected) << i;
        EXPECT_EQ(get<&moved_row::other>(row).value, expected) << i;
    }
    rows.validate();
}
}  // namespace

TEST(table, rows_whose_fields_can_only_be_moved_change_places) {
    check_moves_without_copies<aos>();
    check_moves_without_copies<soa>();
    check_moves_without_copies<aosoa<8>>();
}
#endif
