// Every interleaving of readers, a mover and an owner at the pin word of one object, and what
// happens when one of its memory orders is weakened. Prints the number of executions seen.
#include <cairn/movable/concurrent_relocatable_heap/pin_word.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "support/explorer.hpp"
#include "support/sanitizers.hpp"

namespace {

using cairn::detail::enter_result;
using cairn::detail::pin_word_orders;
using explorer::require;

/// One object, two places where it can be. A place that holds nothing holds -1, as if poisoned.
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

    std::array<std::byte, 2> bytes{};
    std::array<explorer::plain<int>, 2> place;
    pin_word object;
};

/// What a thread does: 'r' reads, 'w' writes under the pin, 'm' moves, 'e' ends the life, 'b'
/// begins the next one, '2' reads with the next life's handle.
template <class Orders>
explorer::result run_scripts(std::initializer_list<const char*> list, int preemptions) {
    const std::vector<const char*> scripts = list;
    const explorer::options o{.threads = static_cast<int>(scripts.size()),
                              .preemptions = preemptions};
    return explorer::explore(o, [=] {
        auto w = std::make_shared<world<Orders>>();
        return explorer::program{
            .thread =
                [=](int id) {
                    for (const char* s = scripts[static_cast<std::size_t>(id)]; *s != 0; ++s) {
                        switch (*s) {
                            case 'r':
                                (void)w->read(1, false);
                                break;
                            case 'w':
                                (void)w->read(1, true);
                                break;
                            case '2':
                                (void)w->read(2, false);
                                break;
                            case 'm':
                                w->move();
                                break;
                            case 'e':
                                w->end();
                                break;
                            default:
                                if (w->object.end()) {
                                    std::byte* const address = w->object.address();
                                    w->at(address) = 9;
                                    w->object.begin(2, address);
                                }
                        }
                    }
                },
            .at_end = [] {}};
    });
}

void expect_exhausted(const char* name, const explorer::result& r) {
    EXPECT_FALSE(r.failed) << name << ": " << r.message;
    EXPECT_TRUE(r.exhausted || r.failed) << name << ": too many executions";
    std::printf("%-40s %9llu executions%s\n", name, static_cast<unsigned long long>(r.executions),
                r.exhausted ? ", exhausted" : "");
}

TEST(pin_word, a_pinned_object_never_moves_in_any_interleaving) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = pin_word_orders;
    expect_exhausted("m | r", run_scripts<o>({"m", "r"}, 8));
    expect_exhausted("mm | rr", run_scripts<o>({"mm", "rr"}, 5));
    expect_exhausted("mm | wr", run_scripts<o>({"mm", "wr"}, 5));
    expect_exhausted("mmm | www", run_scripts<o>({"mmm", "www"}, 2));
    expect_exhausted("m | r | r", run_scripts<o>({"m", "r", "r"}, 3));
    expect_exhausted("mm | r | r", run_scripts<o>({"mm", "r", "r"}, 2));
}

TEST(pin_word, an_object_ends_only_when_nobody_holds_it) {
    if (under_tsan) { GTEST_SKIP() << "fibres"; }
    using o = pin_word_orders;
    expect_exhausted("e | w", run_scripts<o>({"e", "w"}, 8));
    expect_exhausted("me | wr", run_scripts<o>({"me", "wr"}, 6));
    expect_exhausted("mbm | r2", run_scripts<o>({"mbm", "r2"}, 4));
    expect_exhausted("be | r2 | 2", run_scripts<o>({"be", "r2", "2"}, 2));
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
    return explorer::any_failed(
        {run_scripts<Orders>({"mm", "wr"}, 3), run_scripts<Orders>({"e", "w"}, 3),
         run_scripts<Orders>({"b", "2"}, 3), run_scripts<Orders>({"mbm", "r2"}, 3)});
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
