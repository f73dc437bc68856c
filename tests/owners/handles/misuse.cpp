// Sentences of cairn/owners/unique_handle.hpp and cairn/owners/shared_handle.hpp about misuse: how
// it is reported.
#include <cairn/owners/shared_handle.hpp>
#include <cairn/owners/unique_handle.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "owners/handles/doors.hpp"

using namespace cairn;
using namespace handles_tests;

TYPED_TEST(owners_in, misuse_is_named_in_checked_builds) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    TypeParam map;
    unique_handle<TypeParam> unique;
    shared_handle<shared_store<TypeParam>> shared;
    EXPECT_DEATH((void)*unique, "an owner is used while it has an object");
    EXPECT_DEATH((void)unique->number, "an owner is used while it has an object");
    EXPECT_DEATH((void)*shared, "an owner is used while it has an object");
    EXPECT_DEATH((void)shared->number, "an owner is used while it has an object");
    unique = unique_handle{map, map.emplace(1)};
    map.clear();
    EXPECT_DEATH((void)*unique, "an owner is used while its object lives");
    EXPECT_DEATH((void)unique->number, "an owner is used while its object lives");
}

TYPED_TEST(owners_in, a_store_that_ends_before_its_owners_is_named) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto ends_first = []<class Store>(std::optional<Store> store) {
        return expect_broken_promise([&] {
            const unique_handle owner{*store, store->emplace(1)};
            store.reset();
        });
    };
    const caught_promise of_a_map = ends_first(std::optional<TypeParam>{std::in_place});
    EXPECT_TRUE(of_a_map.says("every unique_handle ends before its store")) << of_a_map;
    EXPECT_EQ(of_a_map.value("owners"), 1u);
    TypeParam map;
    unique_handle first{map, map.emplace(1)};
    unique_handle second{map, map.emplace(2)};
    first = std::move(second);
    second = unique_handle{map, map.emplace(3)};
    EXPECT_TRUE(map.erase(second.handle()));  // a stale owner ends, too
    EXPECT_TRUE(map.erase(first.release()));
}

TYPED_TEST(owners_in, misuse_is_reported_with_the_owner_and_its_handle) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto expect_report = [](const caught_promise& told, misuse_kind kind, const void* owner,
                                  const char* type) {
        EXPECT_EQ(told.kind(), kind) << told;
        EXPECT_EQ(told.object(), owner) << told;
        EXPECT_STREQ(told.type(), type);
    };
    TypeParam map;
    unique_handle<TypeParam> unique;
    using store_type = shared_store<TypeParam>;
    typename store_type::shared_type shared;
    expect_report(expect_broken_promise([&] { (void)*unique; }), misuse_kind::null_handle, &unique,
                  "unique_handle");
    expect_report(expect_broken_promise([&] { (void)unique->number; }), misuse_kind::null_handle,
                  &unique, "unique_handle");
    expect_report(expect_broken_promise([&] { (void)*shared; }), misuse_kind::null_handle, &shared,
                  "shared_handle");
    expect_report(expect_broken_promise([&] { (void)shared->number; }), misuse_kind::null_handle,
                  &shared, "shared_handle");

    unique = unique_handle{map, map.emplace(1)};
    map.clear();
    const auto gone = expect_broken_promise([&] { (void)unique->number; });
    expect_report(gone, misuse_kind::stale_handle, &unique, "unique_handle");
    EXPECT_EQ(gone.value("slot"), unique.handle().index());
    EXPECT_EQ(gone.value("life in the handle"), unique.handle().generation());
    expect_report(expect_broken_promise([&] { (void)*unique; }), misuse_kind::stale_handle, &unique,
                  "unique_handle");

    const auto erased_behind_it = [](bool by_arrow) {
        store_type store;
        auto owner = store.make(1);
        (void)store.objects().erase(owner.handle());
        if (by_arrow) {
            (void)owner->number;
        } else {
            (void)*owner;
        }
    };
    for (const bool by_arrow : {false, true}) {
        const auto told = expect_broken_promise([&] { erased_behind_it(by_arrow); });
        EXPECT_TRUE(told.says("an owner is used while its object lives")) << told;
        EXPECT_EQ(told.kind(), misuse_kind::stale_handle) << told;
        EXPECT_STREQ(told.type(), "shared_handle");
        EXPECT_NE(told.value("slot"), ~0ull) << told;
    }
}
