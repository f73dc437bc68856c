// Every interleaving of readers, a mover and an owner at the pin word of one object, and what
// happens when one of its memory orders is weakened. Prints the number of executions seen.
#include <cairn/movable/concurrent_relocatable_heap/pin_word.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "support/explorer/scripts.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::enter_result;
using cairn::detail::pin_word_orders;
using explorer::expect_exhausted;
using explorer::require;

/// One object, two places where it can be. A place that holds nothing holds -1, as if poisoned.
/// A thread's script: 'r' reads, 'w' writes under the pin, 'm' moves, 'e' ends the life, 'b' begins the
/// next one, '2' reads with the next life's handle.
template <class Orders>
struct world {
    using pin_word = cairn::detail::basic_pin_word<explorer::atoms, Orders>;

    world() {
        place[0] = 7;
        place[1] = -1;
        object.begin(1, bytes.data());
    }
    explorer::plain<int>& at(std::byte* address) {
        return place[static_cast<std::size_t>(address - bytes.data())];
    }

    /// Enters, looks, writes, leaves. Returns: false when the handle was stale.
    bool read(std::uint32_t generation, bool writes) {
        // A reader that finds the object moving would wait; here it gives up, and the explorer
        // starts it later in another execution.
        const enter_result e = object.try_enter(generation);
        if (e == enter_result::stale) { return false; }
        if (e == enter_result::busy) { return true; }
        std::byte* const address = object.address();
        explorer::plain<int>& o = at(address);
        require(static_cast<int>(o) >= 7, "a reader finds the object, not what it left");
        if (writes) { o = static_cast<int>(o) + 1; }
        require(object.address() == address, "a held object does not move");
        require(static_cast<int>(o) >= 7, "a held object does not move");
        object.leave();
        return true;
    }
    void move() {
        if (!object.close()) { return; }
        std::byte* const from = object.address();
        std::byte* const to = from == bytes.data() ? bytes.data() + 1 : bytes.data();
        at(to) = static_cast<int>(at(from));
        at(from) = -1;
        object.open(to);
    }
    void end() {
        if (!object.end()) { return; }
        at(object.address()) = -1;  // somebody else's now
    }

    void begin_next() {
        if (!object.end()) { return; }
        std::byte* const address = object.address();
        at(address) = 9;
        object.begin(2, address);
    }
    void step(std::size_t, char what) {
        switch (what) {
            case 'r':
            case 'w':
                return static_cast<void>(read(1, what == 'w'));
            case '2':
                return static_cast<void>(read(2, false));
            case 'm':
                return move();
            case 'e':
                return end();
            default:
                return begin_next();
        }
    }
    void at_end() {}

    std::array<std::byte, 2> bytes{};
    std::array<explorer::plain<int>, 2> place;
    pin_word object;
};

template <class Orders>
explorer::result run(std::vector<const char*> scripts, int preemptions) {
    return explorer::run_scripts<world<Orders>>(scripts, preemptions);
}

TEST(pin_word, a_pinned_object_never_moves_in_any_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = pin_word_orders;
    expect_exhausted("m | r", run<o>({"m", "r"}, 8));
    expect_exhausted("mm | rr", run<o>({"mm", "rr"}, 5));
    expect_exhausted("mm | wr", run<o>({"mm", "wr"}, 5));
    expect_exhausted("mmm | www", run<o>({"mmm", "www"}, 2));
    expect_exhausted("m | r | r", run<o>({"m", "r", "r"}, 3));
    expect_exhausted("mm | r | r", run<o>({"mm", "r", "r"}, 2));
}

TEST(pin_word, an_object_ends_only_when_nobody_holds_it) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = pin_word_orders;
    expect_exhausted("e | w", run<o>({"e", "w"}, 8));
    expect_exhausted("me | wr", run<o>({"me", "wr"}, 6));
    expect_exhausted("mbm | r2", run<o>({"mbm", "r2"}, 4));
    expect_exhausted("be | r2 | 2", run<o>({"be", "r2", "2"}, 2));
}

// ------------------------------------------------------------------------------------------------
// Every order is needed: one weakened at a time, and some execution fails.

constexpr auto relaxed = cairn::detail::memory_order::relaxed;

struct weak_enter : pin_word_orders {
    static constexpr auto enter = relaxed;
};
struct weak_leave : pin_word_orders {
    static constexpr auto leave = relaxed;
};
struct weak_close : pin_word_orders {
    static constexpr auto close = relaxed;
};
struct weak_open : pin_word_orders {
    static constexpr auto open = relaxed;
};
struct weak_begin : pin_word_orders {
    static constexpr auto begin = relaxed;
};
struct weak_end : pin_word_orders {
    static constexpr auto end = relaxed;
};
struct closes_in_two_steps : pin_word_orders {
    static constexpr bool closes_at_once = false;
};

template <class Orders>
bool is_caught() {
    return explorer::any_failed({run<Orders>({"mm", "wr"}, 3), run<Orders>({"e", "w"}, 3),
                                 run<Orders>({"b", "2"}, 3), run<Orders>({"mbm", "r2"}, 3)});
}

TEST(pin_word, every_memory_order_is_needed) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    EXPECT_FALSE(is_caught<pin_word_orders>());
    EXPECT_TRUE(is_caught<weak_enter>());
    EXPECT_TRUE(is_caught<weak_leave>());
    EXPECT_TRUE(is_caught<weak_close>());
    EXPECT_TRUE(is_caught<weak_open>());
    EXPECT_TRUE(is_caught<weak_begin>());
    EXPECT_TRUE(is_caught<weak_end>());
    EXPECT_TRUE(is_caught<closes_in_two_steps>());
}

}  // namespace
