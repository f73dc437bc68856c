// erase_if keeps the order in every container that has one, swap_erase_if fills holes with the last
// elements; handles follow, also when a predicate throws.
#include <cairn/containers/polymorphic_store.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "containers/surface/every_container.hpp"

using namespace cairn;
using namespace surface_tests;

namespace {

/// The ids of a container, in its order.
template <class Container>
numbers ids_in_order(const Container& all) {
    numbers found;
    all.for_each([&](const auto& row) { found.push_back(row.id); });
    return found;
}
template <class Container>
constexpr bool has_handles = requires { typename Container::handle_type; };
template <class Container>
constexpr bool has_swap_erase_if =
    requires(Container& all) { all.swap_erase_if([](const auto&) { return true; }); };

/// The handle of each row finds that row.
template <class Map>
void expect_handles_lead_to_their_rows(const Map& map) {
    map.for_each([&](auto h, const auto& row) {
        const auto found = map.find(h);
        ASSERT_TRUE(found != nullptr);
        ASSERT_EQ((*found).id, row.id);
    });
    map.validate();
}

/// Erases from containers of many sizes, each element with a chance, and compares with a vector.
template <class Container, class Erase>
void compare_with_a_vector(bool keeps_order, Erase erase) {
    std::mt19937 random{11};
    for (const int size : {0, 1, 2, 255, 256, 257, 513, 1500}) {
        for (const unsigned percent : {0u, 1u, 10u, 50u, 90u, 100u}) {
            Container all;
            numbers model;
            std::vector<bool> goes;
            for (int i = 0; i < size; ++i) {
                ASSERT_TRUE(add(all, i));
                goes.push_back(random() % 100 < percent);
                if (!goes.back()) { model.push_back(i); }
            }
            std::vector<int> asked(static_cast<std::size_t>(size));
            const auto is_gone = [&](const auto& row) -> bool {
                const auto id = static_cast<std::size_t>(row.id);
                ++asked[id];
                return goes[id];
            };
            ASSERT_EQ(erase(all, is_gone), static_cast<std::size_t>(size) - model.size());
            ASSERT_EQ(std::count(asked.begin(), asked.end(), 1), size) << "each is asked once";
            numbers left = ids_in_order(all);
            if (!keeps_order) { std::sort(left.begin(), left.end()); }
            ASSERT_EQ(left, model) << size << " elements, " << percent << " %";
            if constexpr (has_handles<Container>) { expect_handles_lead_to_their_rows(all); }
            ASSERT_TRUE(add(all, 1));
            all.validate();
        }
    }
}

constexpr auto in_order = [](auto& all, auto& pred) { return all.erase_if(pred); };
constexpr auto in_any_order = [](auto& all, auto& pred) { return all.swap_erase_if(pred); };

}  // namespace

TYPED_TEST(every_container, erase_if_keeps_the_order_of_the_others) {
    compare_with_a_vector<TypeParam>(true, in_order);
}

TYPED_TEST(every_container, swap_erase_if_removes_the_same_elements_in_any_order) {
    if constexpr (has_swap_erase_if<TypeParam>) {
        compare_with_a_vector<TypeParam>(false, in_any_order);
        TypeParam all;
        for (int i = 0; i < 10; ++i) { ASSERT_TRUE(add(all, i)); }
        (void)all.swap_erase_if([](const auto& row) { return row.id == 2; });
        EXPECT_EQ(ids_in_order(all), (numbers{0, 1, 9, 3, 4, 5, 6, 7, 8}));
    } else {
        EXPECT_TRUE((std::is_same_v<TypeParam, stable_slot_map<unit<>>>))
            << "its objects do not move: erase_if leaves holes that new objects fill";
    }
}

TYPED_TEST(every_map, a_predicate_of_erase_if_may_look_handles_up) {
    TypeParam map;
    std::vector<typename TypeParam::handle_type> handles;
    for (int i = 0; i < 1000; ++i) { handles.push_back(map.emplace(i, 0)); }
    (void)map.erase_if([&](const auto& row) {
        for (const int other : {0, 300, 999}) {
            if (auto found = map.find(handles[static_cast<std::size_t>(other)])) {
                EXPECT_EQ((*found).id, other);
            }
        }
        return row.id % 2 == 0;
    });
    EXPECT_EQ(map.size(), 500u);
    expect_handles_lead_to_their_rows(map);
}

#if defined(__cpp_exceptions)
TYPED_TEST(every_container, a_predicate_that_throws_loses_no_element_that_it_wanted_to_keep) {
    for (const int at : {0, 1, 100, 255, 256, 300, 699}) {
        for (const bool keeps_order : {true, false}) {
            TypeParam all;
            for (int i = 0; i < 700; ++i) { ASSERT_TRUE(add(all, i)); }
            int asked = 0;
            const auto throws = [&](const auto& row) {
                if (asked++ == at) { throw at; }
                return row.id % 3 == 0;
            };
            if constexpr (has_swap_erase_if<TypeParam>) {
                if (keeps_order) {
                    EXPECT_THROW(all.erase_if(throws), int);
                } else {
                    EXPECT_THROW(all.swap_erase_if(throws), int);
                }
            } else {
                EXPECT_THROW(all.erase_if(throws), int);
            }
            const numbers left = ids(all);
            int kept = 0;
            for (int i = 0; i < 700; ++i) {
                const bool is_there = std::binary_search(left.begin(), left.end(), i);
                EXPECT_TRUE(is_there || i % 3 == 0) << i;
                kept += is_there;
            }
            EXPECT_EQ(static_cast<std::size_t>(kept), all.size());
            if (keeps_order) {
                const numbers order = ids_in_order(all);
                EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
            }
            if constexpr (has_handles<TypeParam>) { expect_handles_lead_to_their_rows(all); }
            EXPECT_EQ(all.erase_if([](const auto&) { return true; }),
                      static_cast<std::size_t>(kept));
            all.validate();
        }
    }
}
#endif

namespace {

struct animal {
    explicit animal(int i) : id{i}, name{"a name that is not short " + std::to_string(i)} {}
    int id;
    std::string name;
};
struct cat : animal {
    using animal::animal;
};
struct dog : animal {
    using animal::animal;
};

template <class Store, class Erase>
void erase_from_a_store(bool keeps_order, Erase erase) {
    Store store;
    for (int i = 0; i < 600; ++i) {
        ASSERT_TRUE(store.template emplace<cat>(i));
        ASSERT_TRUE(store.template emplace<dog>(1000 + i));
    }
    const auto is_third = [](const animal& a) { return a.id % 3 == 0; };
    EXPECT_EQ(erase(store, is_third), 400u);
    numbers left;
    store.for_each([&](const animal& a) {
        EXPECT_EQ(a.name, "a name that is not short " + std::to_string(a.id));
        left.push_back(a.id);
    });
    numbers expected;
    for (int i = 0; i < 1600; ++i) {
        if (i % 3 != 0 && (i < 600 || i >= 1000)) { expected.push_back(i); }
    }
    if (!keeps_order) { std::sort(left.begin(), left.end()); }
    EXPECT_EQ(left, expected);
    store.for_each([&](auto h, const animal& a) { EXPECT_EQ(store.find(h), &a); });
    store.validate();
    const auto always = [](const cat&) { return true; };
    EXPECT_EQ(store.template swap_erase_if<cat>(always), 400u);
    EXPECT_EQ(store.template size<cat>(), 0u);
}

}  // namespace

TEST(erasing, a_polymorphic_store_keeps_the_order_of_each_type) {
    erase_from_a_store<polymorphic_store<animal, cat, dog>>(true, in_order);
    erase_from_a_store<polymorphic_store<animal>>(true, in_order);
    erase_from_a_store<polymorphic_store<animal, cat, dog>>(false, in_any_order);
    erase_from_a_store<polymorphic_store<animal>>(false, in_any_order);
}
