// In which order slots are used again (cairn/storage/inside/slot_directory.hpp, `Reuse`), and which order
// is the usual one of a map.
#include <cairn/containers/slot_map.hpp>
#include <cairn/containers/slot_table.hpp>
#include <cairn/storage/inside/slot_directory.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace cairn;
using namespace cairn::detail;

namespace {

constexpr std::uint32_t none = slot_directory<>::none;

/// Random lives; the slots that were given out, in order.
template <reuse Order>
std::vector<std::uint32_t> some_lives(slot_directory<Order>& slots, std::uint32_t seed) {
    std::mt19937 random{seed};
    std::vector<std::uint32_t> live;
    std::vector<std::uint32_t> given;
    for (int i = 0; i < 20000; ++i) {
        if (live.empty() || random() % 100 < 51) {
            const std::uint32_t s = slots.next();
            slots.occupy(s, 0);
            live.push_back(s);
            given.push_back(s);
        } else {
            std::swap(live[random() % live.size()], live.back());
            slots.vacate(live.back());
            live.pop_back();
        }
    }
    slots.validate();
    for (const std::uint32_t s : live) { slots.vacate(s); }
    return given;
}

template <reuse Order>
void does_as_its_twin() {
    slot_directory<Order> one{{100000, 0x7fff'ffff, 64, 1000}};
    slot_directory<Order> other{{100000, 0x7fff'ffff, 64, 1000}};
    EXPECT_EQ(some_lives(one, 1), some_lives(other, 1)) << "on two machines";
    slot_directory<Order> copy{{100000, 0x7fff'ffff, 64, 1000}};
    ASSERT_TRUE(copy.copy_from(one));
    EXPECT_EQ(some_lives(one, 2), some_lives(copy, 2)) << "and in a copy";
}

/// The lives that one busy object used up in each slot until the first slot was worn out.
std::vector<std::uint32_t> lives_of_one_busy_object(std::uint32_t first, std::uint32_t others) {
    slot_directory<reuse::lifo> slots{{100, 4095, 64, first}};
    for (std::uint32_t i = 0; i < others; ++i) { slots.occupy(slots.next(), 0); }
    std::vector<std::uint32_t> lives(100);
    while (slots.worn_out_count() == 0) {
        const std::uint32_t s = slots.next();
        slots.occupy(s, 0);
        slots.vacate(s);
        ++lives[s];
    }
    slots.validate();
    return lives;
}

/// True when the slot that was freed last is used first.
template <class Map>
bool takes_the_newest() {
    Map map{system_memory(), {.first_generation = 1}};
    std::vector<typename Map::handle_type> all;
    for (int i = 0; i < 10; ++i) { all.push_back(map.emplace(i)); }
    map.erase(all[3]);
    map.erase(all[7]);
    map.erase(all[5]);
    return map.emplace(0).index() == all[5].index() && map.emplace(0).index() == all[7].index();
}

template <class K = cairn::value>
struct number {
    cairn::field<K, int> value = 0;
};

}  // namespace

TEST(slot_reuse, the_usual_order_is_the_newest_first_where_generations_are_wide) {
    EXPECT_TRUE((takes_the_newest<slot_map<int>>()));
    EXPECT_TRUE((takes_the_newest<slot_map<int, slot_policy<64, 24, reuse::usual, 64, 9>>>()));
    EXPECT_TRUE((takes_the_newest<slot_table<number<>, soa>>()));
    EXPECT_FALSE((takes_the_newest<slot_map<int, slot_policy<32>>>()));
    EXPECT_FALSE((takes_the_newest<slot_map<int, slot_policy<16>>>()));
    EXPECT_FALSE((takes_the_newest<slot_map<int, slot_policy<64, 32, reuse::fifo>>>()));
    EXPECT_TRUE((takes_the_newest<slot_map<int, slot_policy<32, 20, reuse::lifo>>>()));
}

TEST(slot_reuse, equal_first_lives_make_equal_choices) {
    does_as_its_twin<reuse::fifo>();
    does_as_its_twin<reuse::lifo>();
}

TEST(slot_reuse, lifo_takes_the_newest_but_once_in_some_hundred_lives) {
    slot_directory<reuse::lifo> slots{{100000, 0x7fff'ffff, 64, 1}};
    std::vector<std::uint32_t> live(100);
    for (std::uint32_t& s : live) { slots.occupy(s = slots.next(), 0); }
    std::mt19937 random{3};
    int newest = 0;
    for (int i = 0; i < 500000; ++i) {
        std::uint32_t& s = live[random() % live.size()];
        slots.vacate(s);
        newest += slots.next() == s ? 1 : 0;
        slots.occupy(s = slots.next(), 0);
    }
    EXPECT_GT(500000 - newest, 500000 / 1024);
    EXPECT_LT(500000 - newest, 500000 / 256) << "who comes up may have few lives of its turn left";
    slots.validate();
}

TEST(slot_reuse, lifo_wears_no_slot_out_before_all_free_ones_are_nearly) {
    for (const std::uint32_t first : {1u, 2u, 64u, 1000u, 4095u}) {
        for (const std::uint32_t others : {0u, 10u, 36u}) {
            const auto lives = lives_of_one_busy_object(first, others);
            const auto used = static_cast<std::size_t>(
                std::count_if(lives.begin(), lives.end(), [](auto n) { return n != 0; }));
            EXPECT_GE(used, 64u) << "at least free_min slots share the lives of one";
            for (const std::uint32_t n : lives) {
                EXPECT_TRUE(n == 0 || n >= 4095 - 128) << n << " lives from " << first;
            }
        }
    }
}

TEST(slot_reuse, lifo_spreads_even_63_lives_in_turns_of_16) {
    slot_directory<reuse::lifo> slots{{8, 63, 0, 1}};
    ASSERT_TRUE(slots.reserve(8));
    std::vector<std::uint32_t> lives(8);
    while (slots.worn_out_count() == 0) {
        const std::uint32_t s = slots.next();
        slots.occupy(s, 0);
        slots.vacate(s);
        ++lives[s];
    }
    for (const std::uint32_t n : lives) { EXPECT_GE(n, 63u - 32u); }
}

TEST(slot_reuse, lifo_goes_on_with_one_slot_where_no_other_is_free) {
    slot_directory<reuse::lifo> slots{{2, 4095, 64, 1}};
    slots.occupy(slots.next(), 0);
    std::uint32_t lives = 0;
    for (std::uint32_t s = slots.next(); s != none; s = slots.next(), ++lives) {
        slots.occupy(s, 0);
        slots.vacate(s);
        slots.validate();
    }
    EXPECT_EQ(lives, 4095u) << "all that the other slot has";
}

TEST(slot_reuse, lifo_slots_that_live_and_die_together_make_way_a_few_at_a_time) {
    // Otherwise each 1024th frame would change all of its slots for cold ones.
    slot_directory<reuse::lifo> slots{{100000, 0x7fff'ffff, 64, 1}};
    std::vector<std::uint32_t> live(1000);
    for (int frame = 0; frame < 1100; ++frame) {
        std::vector<std::uint32_t> before;
        for (std::uint32_t& s : live) {
            before.push_back(s);
            slots.occupy(s = slots.next(), 0);
        }
        std::sort(before.begin(), before.end());
        const auto again = std::count_if(live.begin(), live.end(), [&](std::uint32_t s) {
            return std::binary_search(before.begin(), before.end(), s);
        });
        if (frame > 0) { EXPECT_GE(again, 1000 - 3) << "frame " << frame; }
        for (std::size_t i = live.size(); i != 0; --i) { slots.vacate(live[i - 1]); }
    }
    slots.validate();
}
