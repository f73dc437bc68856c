// Sentences of cairn/containers/polymorphic_store.hpp about bases: without virtual functions,
// behind others, virtual.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <type_traits>

using namespace cairn;

namespace {
/// No virtual function at all: the base of a closed set that is visited directly.
struct plain {
    int x = 0;
};
struct left : plain {};
struct right : plain {
    double y = 0;
};
struct only_moves : plain {
    explicit only_moves(int v) { x = v; }
    only_moves(only_moves&&) noexcept = default;
    only_moves& operator=(only_moves&&) noexcept = default;
};
struct through_virtual : virtual plain {};

template <class Store>
concept clones = requires(const Store& s) { s.clone(); };
}  // namespace

TEST(polymorphic_store, needs_no_virtual_function_in_its_base) {
    polymorphic_store<plain, left, right> store;
    const auto l = store.emplace<left>();
    const auto r = store.emplace<right>();
    store.for_each([](auto& object) {
        using type = std::remove_reference_t<decltype(object)>;
        object.x = std::is_same_v<type, left> ? 1 : 2;
    });
    EXPECT_EQ(store[l].x, 1);
    EXPECT_EQ(store[r].x, 2);
    EXPECT_EQ(l.user(), 0u) << "a closed set numbers its types as it names them";
    EXPECT_EQ(r.user(), 1u);
}

TEST(polymorphic_store, finds_a_base_that_is_virtual) {
    polymorphic_store<plain> store;
    for (int i = 0; i < 100; ++i) { (void)store.emplace<through_virtual>(); }
    store.for_each([](plain& p) { p.x = 7; });
    int sum = 0;
    for (auto [h, p] : store.items()) { sum += store[h].x + p.x; }
    EXPECT_EQ(sum, 1400);
}

TEST(polymorphic_store, is_cloned_where_its_types_can_be_copied) {
    static_assert(clones<polymorphic_store<plain, left, right>>);
    static_assert(!clones<polymorphic_store<plain, left, only_moves>>);
    polymorphic_store<plain> open;
    (void)open.emplace<left>();
    const auto h = open.emplace<only_moves>(3);
    EXPECT_FALSE(open.clone()) << "an open set learns of its types as it runs";
    EXPECT_TRUE(open.erase(h));
    EXPECT_TRUE(open.clone()) << "no object that cannot be copied is left";
}
