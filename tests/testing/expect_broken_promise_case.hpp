// The same test for every framework that has TEST_CASE, CHECK and REQUIRE: the files that include
// it name the framework first.
#pragma once

#include <cairn/alloc/pool.hpp>
#include <cairn/testing/expect_broken_promise.hpp>

// [test]
TEST_CASE("a double free is reported in checked builds") {
    if (!cairn::asserts_enabled) { return; }
    cairn::pool slots{64};
    void* const p = slots.allocate();
    slots.deallocate(p);
    const auto broken = cairn::expect_broken_promise([&] { slots.deallocate(p); });
    REQUIRE(broken);
    CHECK(broken.says("a slot is freed once"));
    CHECK(broken.kind() == cairn::misuse_kind::double_free);
    CHECK(broken.value("slot") == 0);
    CHECK_FALSE(cairn::expect_broken_promise([] {}));
    CHECK(slots.allocate() == p);
}
// [/test]
