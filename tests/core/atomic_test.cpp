// cairn/core/inside/atomic.hpp: one word, the operations of std::atomic, and no more than its size.
#include <cairn/core/inside/atomic.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

using cairn::detail::atomic;
using cairn::detail::memory_order;

enum class color : unsigned char { red, green };
struct pair_of_halves {
    std::uint32_t low, high;
};

// What other code is built on: the word itself, as aligned as it is long.
static_assert(sizeof(atomic<char>) == 1 && sizeof(atomic<void*>) == sizeof(void*));
static_assert(sizeof(atomic<pair_of_halves>) == 8 && alignof(atomic<pair_of_halves>) == 8);
static_assert(sizeof(atomic<std::uint64_t>) == sizeof(std::atomic<std::uint64_t>));
// The orders have the numbers that std::atomic gives them.
static_assert(static_cast<int>(memory_order::acq_rel) ==
              static_cast<int>(std::memory_order::acq_rel));

constinit atomic<unsigned> of_a_module{7};

TEST(atomic, holds_a_number_an_address_an_enumerator_or_a_small_struct) {
    EXPECT_EQ(of_a_module.load(memory_order::relaxed), 7u);
    int object = 0;
    atomic<int*> address{nullptr};
    address.store(&object, memory_order::release);
    EXPECT_EQ(address.load(memory_order::acquire), &object);
    atomic<color> c{color::red};
    EXPECT_EQ(c.exchange(color::green, memory_order::acq_rel), color::red);
    EXPECT_EQ(c.load(memory_order::relaxed), color::green);
    atomic<pair_of_halves> both{{1, 2}};
    EXPECT_EQ(both.load(memory_order::seq_cst).high, 2u);
}

TEST(atomic, arithmetic_returns_what_was_there) {
    atomic<std::uint64_t> word{0b1100};
    EXPECT_EQ(word.fetch_add(1, memory_order::relaxed), 0b1100u);
    EXPECT_EQ(word.fetch_sub(1, memory_order::relaxed), 0b1101u);
    EXPECT_EQ(word.fetch_or(0b0011, memory_order::relaxed), 0b1100u);
    EXPECT_EQ(word.fetch_and(0b0110, memory_order::relaxed), 0b1111u);
    EXPECT_EQ(word.load(memory_order::relaxed), 0b0110u);
}

TEST(atomic, an_exchange_that_fails_tells_what_was_there) {
    atomic<int> word{5};
    int expected = 4;
    EXPECT_FALSE(
        word.compare_exchange_strong(expected, 9, memory_order::acq_rel, memory_order::acquire));
    EXPECT_EQ(expected, 5);
    EXPECT_TRUE(
        word.compare_exchange_strong(expected, 9, memory_order::acq_rel, memory_order::acquire));
    EXPECT_EQ(word.load(memory_order::relaxed), 9);
}

TEST(atomic, threads_lose_no_increment_whichever_way_they_count) {
    constexpr unsigned each = 20'000;
    atomic<unsigned> added{0};
    atomic<unsigned> exchanged{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (unsigned i = 0; i < each; ++i) {
                added.fetch_add(1, memory_order::relaxed);
                unsigned seen = exchanged.load(memory_order::relaxed);
                while (!exchanged.compare_exchange_weak(seen, seen + 1, memory_order::relaxed,
                                                        memory_order::relaxed)) {}
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
    EXPECT_EQ(added.load(memory_order::relaxed), 2 * each);
    EXPECT_EQ(exchanged.load(memory_order::relaxed), 2 * each);
}

}  // namespace
