// What every container promises of an insertion at the moment when it grows: the new object may be
// built from those that are about to move, and when its constructor throws, or the memory is
// exhausted, nothing has changed.
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/containers/stable_slot_map.hpp>
#include <cairn/containers/table.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "containers/map_model.hpp"
#include "support/test_upstream.hpp"

using namespace cairn;
using map_model::quiet;
using map_model::tracked;

namespace {
struct pair_of_fields {
    float first;
    int second;
};
}  // namespace

// Explicit instantiations compile, and with them every member.
template class cairn::stable_slot_map<int>;
template class cairn::slot_table<pair_of_fields>;
template class cairn::table<pair_of_fields>;

namespace {

/// Rows that are moved by bytes.
struct plain {
    plain() = default;
    explicit plain(std::uint64_t v) : value_{v} { tracked::step(); }
    [[nodiscard]] std::uint64_t value() const { return value_; }
    std::uint64_t value_ = 0;
    std::uint64_t more[9]{};
};
static_assert(std::is_trivially_copyable_v<plain>);

/// A row of columns.
template <class T>
struct row_of {
    T object;
    std::uint64_t twice;
    [[nodiscard]] std::uint64_t value() const { return object.value(); }
};

template <class C>
inline constexpr bool has_columns = requires {
    typename C::value_type;
    requires requires(typename C::value_type v) { v.twice; };
};

template <class C>
struct handle_of : std::type_identity<int> {};
template <class C>
    requires requires { typename C::handle_type; }
struct handle_of<C> : std::type_identity<typename C::handle_type> {};

template <class C>
struct object_of : std::type_identity<typename C::value_type> {};
template <class C>
    requires has_columns<C>
struct object_of<C> : std::type_identity<decltype(C::value_type::object)> {};
template <class C>
using objects_of = typename object_of<C>::type;

/// A container, and its objects in the order in which they came.
template <class C>
struct in_order {
    explicit in_order(allocator_ref upstream) : all{upstream} {}

    template <class... Args>
    bool add(Args&&... args) {
        if constexpr (requires { typename C::handle_type; }) {
            const auto h = all.emplace(std::forward<Args>(args)...);
            if (h) { handles.push_back(h); }
            return static_cast<bool>(h);
        } else if constexpr (requires { all.emplace(std::forward<Args>(args)...); }) {
            return all.emplace(std::forward<Args>(args)...) != nullptr;
        } else {
            return all.emplace_back(std::forward<Args>(args)...);
        }
    }
    bool add_number(std::uint64_t v) {
        if constexpr (has_columns<C>) {
            return add(v, 2 * v);
        } else {
            return add(v);
        }
    }
    decltype(auto) operator[](std::size_t i) {
        if constexpr (requires { typename C::handle_type; }) {
            return all[handles[i]];
        } else {
            return all[i];
        }
    }
    std::uint64_t value(std::size_t i) {
        if constexpr (has_columns<C>) {
            auto&& [object, twice] = (*this)[i];
            EXPECT_EQ(twice, 2 * object.value());
            return object.value();
        } else {
            return (*this)[i].value();
        }
    }

    C all;
    std::vector<typename handle_of<C>::type> handles;
};

template <class C>
class insertion : public testing::Test {
    void SetUp() override {
        tracked::alive_count = 0;
        tracked::throw_at = -1;
    }
    void TearDown() override { EXPECT_EQ(tracked::alive_count, 0); }
};

using containers =
    testing::Types<packed_array<plain>, packed_array<quiet>, packed_array<tracked>, slot_map<plain>,
                   slot_map<quiet>, slot_map<tracked>, stable_slot_map<plain>,
                   stable_slot_map<quiet>, stable_slot_map<tracked>, table<row_of<plain>, soa>,
                   table<row_of<quiet>, soa>, table<row_of<tracked>, soa>,
                   table<row_of<plain>, aosoa<8>>, table<row_of<tracked>, aosoa<8>>,
                   slot_table<row_of<plain>, soa>, slot_table<row_of<tracked>, soa>>;
TYPED_TEST_SUITE(insertion, containers);

TYPED_TEST(insertion, an_object_may_be_built_from_another_of_the_container) {
    test_upstream upstream;
    in_order<TypeParam> c{upstream};
    ASSERT_TRUE(c.add_number(41));
    ASSERT_TRUE(c.add_number(43));
    for (std::size_t i = 2; i < 300; ++i) {
        ASSERT_TRUE(c.add(c[i % 2]));
        ASSERT_EQ(c.value(i), 41 + 2 * (i % 2)) << "copied from one that may have moved";
    }
    for (std::size_t i = 0; i < 300; ++i) { ASSERT_EQ(c.value(i), 41 + 2 * (i % 2)); }
}

/// Becomes a number when the object is built, and reads an object of the container for it.
template <class Container>
struct number_of {
    Container* all;
    std::size_t index;
    operator std::uint64_t() const { return all->value(index); }  // NOLINT: that is what it is for
};
TYPED_TEST(insertion, a_constructor_may_read_the_container_while_it_grows) {
    test_upstream upstream;
    in_order<TypeParam> c{upstream};
    ASSERT_TRUE(c.add_number(5));
    for (std::size_t i = 1; i < 300; ++i) {
        const number_of<in_order<TypeParam>> last{&c, i - 1};
        if constexpr (has_columns<TypeParam>) {
            ASSERT_TRUE(c.add(last, std::uint64_t{10}));
        } else {
            ASSERT_TRUE(c.add(last));
        }
        ASSERT_EQ(c.value(i), 5u);
    }
}

TYPED_TEST(insertion, what_is_refused_changes_nothing) {
    test_upstream upstream;
    in_order<TypeParam> c{upstream};
    for (std::uint64_t i = 0; i < 500; ++i) {
        upstream.refuse_from(upstream.request_count());
        const bool had_room = c.add_number(i);
        upstream.refuse_nothing();
        if (!had_room) {
            ASSERT_EQ(c.all.size(), i);
            for (std::size_t k = 0; k < i; ++k) { ASSERT_EQ(c.value(k), k); }
            ASSERT_TRUE(c.add_number(i));
        }
        ASSERT_EQ(c.value(i), i);
    }
}

#if defined(__cpp_exceptions)
TYPED_TEST(insertion, a_constructor_that_throws_leaves_all_as_it_was) {
    for (int fail = 0; fail < 150; ++fail) {
        test_upstream upstream;
        in_order<TypeParam> c{upstream};
        for (std::uint64_t i = 0; i < 100; ++i) {
            if (i == static_cast<std::uint64_t>(fail)) { tracked::throw_at = 0; }
            try {
                ASSERT_TRUE(c.add_number(i));
            } catch (const std::runtime_error&) {
                ASSERT_EQ(c.all.size(), i);
                for (std::size_t k = 0; k < i; ++k) { ASSERT_EQ(c.value(k), k); }
                ASSERT_TRUE(c.add_number(i)) << "and the next one is built there";
            }
            ASSERT_EQ(c.all.size(), i + 1);
        }
        tracked::throw_at = -1;
        for (std::size_t k = 0; k < 100; ++k) { ASSERT_EQ(c.value(k), k); }
        if constexpr (requires { c.all.validate(); }) { c.all.validate(); }
    }
}
#endif

TEST(insertion, what_is_refused_stays_with_the_caller) {
    test_upstream upstream;
    packed_array<std::unique_ptr<int>> array{upstream};
    slot_map<std::unique_ptr<int>> map{upstream};
    stable_slot_map<std::unique_ptr<int>> stable{upstream};
    upstream.refuse_from(0);
    auto owned = std::make_unique<int>(3);
    EXPECT_EQ(array.emplace(std::move(owned)), nullptr);
    EXPECT_FALSE(array.emplace_back(std::move(owned)));
    EXPECT_FALSE(map.emplace(std::move(owned)));
    EXPECT_FALSE(stable.emplace(std::move(owned)));
    ASSERT_NE(owned, nullptr);
    EXPECT_EQ(*owned, 3);
}

TEST(insertion, reserved_addresses_grow_where_the_rows_stand) {
    packed_array<plain> array;
    slot_map<plain> map;
    table<row_of<plain>, soa> columns;
    ASSERT_TRUE(array.reserve_address_space(40000));
    ASSERT_TRUE(map.reserve_address_space(40000));
    ASSERT_TRUE(columns.reserve_address_space(40000));
    for (std::uint64_t i = 0; i < 40000; ++i) {
        ASSERT_NE(array.emplace(i), nullptr);
        ASSERT_TRUE(map.emplace(i));
        ASSERT_TRUE(columns.emplace_back(i, 2 * i));
    }
    EXPECT_EQ(array[39999].value(), 39999u);
    EXPECT_EQ(map.values()[39999].value(), 39999u);
    auto&& [object, twice] = columns[39999];
    EXPECT_EQ(object.value(), 39999u);
    EXPECT_EQ(twice, 79998u);
}

}  // namespace
