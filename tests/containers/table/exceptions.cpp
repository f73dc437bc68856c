// Sentences of cairn/containers/table.hpp about constructors and moves that may throw.
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <string>

using namespace cairn;

namespace {
/// It cannot be copied, and its moves are not marked noexcept, as those of some standard
/// containers.
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

#if defined(__cpp_exceptions)
namespace {
/// Its moves throw when `throws` is true.
struct touchy {
    static inline bool throws = false;
    explicit touchy(int v) : value{v} {}
    touchy(touchy&& from) : value{from.value} { maybe_throw(); }
    touchy& operator=(touchy&& from) {
        maybe_throw();
        value = from.value;
        return *this;
    }
    ~touchy() = default;
    static void maybe_throw() {
        if (throws) { throw 1; }
    }
    int value;
};
struct torn_row {
    std::string name;
    touchy one;
};

/// change(table) with moves that throw: the program ends, although the exception would be caught.
template <class Change>
void expect_end(Change change) {
    EXPECT_DEATH(
        {
            table<torn_row> rows;
            for (int i = 0; i < 5; ++i) { (void)rows.emplace_back("row", touchy{i}); }
            touchy::throws = true;
            try {
                change(rows);
            } catch (int) {}
        },
        "");
}
}  // namespace

TEST(table, a_move_that_throws_ends_the_program) {
    expect_end([](auto& rows) { rows.swap_erase(1); });
    expect_end([](auto& rows) { rows.erase(1); });
    expect_end([](auto& rows) { rows.swap_rows(0, 1); });
    expect_end([](auto& rows) { (void)rows.reserve(1000); });
}
#endif
