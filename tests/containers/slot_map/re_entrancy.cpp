// Sentences of cairn/containers/slot_map.hpp about functions that the map calls and that come back.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

#include <utility>

using namespace cairn;

#if defined(GTEST_HAS_DEATH_TEST)

namespace {

struct turret;
slot_map<turret>* turrets = nullptr;

/// Its destructor ends its child.
struct turret {
    explicit turret(int i) : id{i} {}
    turret(turret&& o) noexcept : id{std::exchange(o.id, 0)}, child{std::exchange(o.child, {})} {}
    turret& operator=(turret&& o) noexcept {
        std::swap(id, o.id);
        std::swap(child, o.child);
        return *this;
    }
    ~turret() {
        if (child) { turrets->erase(std::exchange(child, {})); }
    }
    int id;
    handle<turret> child;
};

constexpr const char* stays_unchanged = "a container is not changed by";

}  // namespace

TEST(re_entrancy, a_destructor_that_erases_from_its_map_stops_a_checked_build) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    slot_map<turret> map;
    turrets = &map;
    handle<turret> all[6];
    for (int i = 0; i < 6; ++i) { all[i] = map.emplace(i); }
    map[all[1]].child = all[3];
    EXPECT_DEATH(map.erase(all[1]), stays_unchanged);
    EXPECT_TRUE(map.take(all[1])) << "the object ends outside of the map, and its child with it";
    EXPECT_FALSE(map.contains(all[3]));
    EXPECT_EQ(map.size(), 4u);
    map.validate();
    map[all[0]].child = all[2];
    map.clear();  // every handle is stale before the first destructor runs
    EXPECT_EQ(map.size(), 0u);
    map.validate();
}

TEST(re_entrancy, a_predicate_constructor_or_order_that_changes_its_map_stops_a_checked_build) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    slot_map<int> map;
    const auto h = map.emplace(1);
    (void)map.emplace(2);
    const auto erases = [&](const auto&...) {
        map.erase(h);
        return false;
    };
    EXPECT_DEATH(map.erase_if(erases), stays_unchanged);
    EXPECT_DEATH((void)map.sort(erases), stays_unchanged);
    EXPECT_DEATH((void)map.emplace_with([&](auto) { return map.erase(h) ? 1 : 0; }),
                 stays_unchanged);
    EXPECT_EQ(map.size(), 2u);
    map.for_each(
        [&](int& value) { EXPECT_NE(map.find(h), &value + 2) << "looking up is allowed"; });
}

#    if defined(__cpp_exceptions)
TEST(re_entrancy, an_exception_from_a_callback_leaves_a_map_that_can_be_changed) {
    slot_map<int> map;
    const auto h = map.emplace(1);
    EXPECT_THROW(map.erase_if([](int) -> bool { throw 1; }), int);
    EXPECT_THROW((void)map.emplace_with([](auto) -> int { throw 1; }), int);
    EXPECT_TRUE(map.erase(h));
    map.validate();
}
#    endif

#endif
