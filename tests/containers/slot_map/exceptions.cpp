// Sentences of cairn/containers/slot_map.hpp about objects whose copies and moves throw.
#include <cairn/containers/slot_map.hpp>
#include <gtest/gtest.h>

#include <vector>

using namespace cairn;

#if defined(__cpp_exceptions)
namespace {
/// Its copies and moves throw in turn; what was moved from has no value any more.
struct fragile {
    static inline int until = -1;  // the copy or move that throws, counted from now; -1: none
    static void step() {
        if (until >= 0 && until-- == 0) { throw 1; }
    }
    explicit fragile(int v) : value{v} {}
    fragile(const fragile& other) : value{other.value} { step(); }
    fragile(fragile&& other) : value{other.value} {
        step();
        other.value = -1;
    }
    fragile& operator=(fragile&& other) {
        step();
        value = other.value;
        other.value = -1;
        return *this;
    }
    int value;
};

/// f(map, handle) for an object in the middle, with every copy and move made to throw in turn.
template <class F>
void with_every_step_thrown(F f) {
    bool thrown = true;
    for (int at = 0; thrown; ++at) {
        ASSERT_LT(at, 100);
        slot_map<fragile> map;
        std::vector<slot_map<fragile>::handle_type> all;
        for (int i = 0; i < 40; ++i) { all.push_back(map.emplace(i)); }
        for (int i = 0; i < 16; ++i) {
            ASSERT_TRUE(map.retire(all[static_cast<std::size_t>(i)], 1));
        }
        fragile::until = at;
        thrown = false;
        try {
            f(map, all[20]);
        } catch (int) { thrown = true; }
        fragile::until = -1;
        map.validate();
        EXPECT_EQ(map.contains(all[20]), thrown);
        if (thrown) {
            EXPECT_EQ(map[all[20]].value, 20) << at;
            EXPECT_EQ(map.pending_count(), 16u) << at;
        }
        EXPECT_EQ(map[all[39]].value, 39) << at;
        EXPECT_EQ(map.collect(1), 16u) << "those, and no others, waited for this fence: " << at;
    }
}
}  // namespace

TEST(slot_map, an_object_keeps_its_fence_when_the_move_of_another_throws) {
    const auto check = [](auto map) {
        const auto early = map.emplace(1);
        const auto late = map.emplace(2);
        ASSERT_TRUE(map.retire(early, 1));
        ASSERT_TRUE(map.retire(late, 9));
        fragile::until = 0;
        EXPECT_THROW((void)map.collect(1), int);
        fragile::until = -1;
        EXPECT_EQ(map.pending_count(), 2u);
        EXPECT_EQ(map.collect(1), 1u) << "neither later than its fence";
        EXPECT_EQ(map.collect(8), 0u) << "nor earlier";
        EXPECT_EQ(map.collect(9), 1u);
    };
    struct fragile_row {
        fragile object;
        fragile_row(int v) : object{v} {}
    };
    check(slot_map<fragile>{});
    check(slot_map<fragile_row>{});
}

TEST(slot_map, an_object_whose_move_throws_keeps_its_value_and_is_not_retired) {
    with_every_step_thrown([](auto& map, auto h) { EXPECT_TRUE(map.retire(h, 5)); });
    with_every_step_thrown([](auto& map, auto h) { EXPECT_TRUE(map.take(h)); });
}
#endif
