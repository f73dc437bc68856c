// Every interleaving of two and three threads on cairn/alloc/inside/byte_credits.hpp.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include <cairn/alloc/inside/byte_credits.hpp>

#include "support/explorer.hpp"
#include "support/explorer/scripts.hpp"

namespace {

using explorer::expect_exhausted;
using explorer::require;
using explorer::run_scripts;
using credits = cairn::detail::basic_byte_credits<explorer::atoms>;

struct world {
    credits shared;
    std::array<credits::credit, 3> held;
    explorer::atomic<std::size_t> live{0};
    std::array<std::size_t, 3> mine{};
    std::size_t limit;

    explicit world(std::size_t limit_size) : shared{limit_size, 4}, limit{limit_size} {}

    /// A digit takes as many bytes, '-' gives four bytes back.
    void step(std::size_t me, char what) {
        if (what == '-') {
            give(me, 4);
        } else {
            take(me, static_cast<std::size_t>(what - '0'));
        }
    }

    void take(std::size_t me, std::size_t size) {
        if (!credits::pay(held[me], size) && !shared.pay_shared(&held[me], size)) { return; }
        mine[me] += size;
        const std::size_t now = live.fetch_add(size, cairn::detail::memory_order::relaxed) + size;
        require(now <= limit, "live bytes never exceed the limit");
    }
    void give(std::size_t me, std::size_t size) {
        if (mine[me] < size) { return; }
        mine[me] -= size;
        live.fetch_sub(size, cairn::detail::memory_order::relaxed);
        if (!shared.put(held[me], size)) { shared.put_shared(&held[me], size); }
    }
    void at_end() {
        std::size_t sum = live.load(cairn::detail::memory_order::relaxed);
        for (auto& c : held) { sum += credits::held_by(&c); }
        require(sum == shared.granted_size(), "granted is what is live and in credits");
        require(shared.granted_size() <= limit && shared.peak_size() <= limit,
                "granted is within the limit");
    }
};

TEST(byte_credits, nothing_is_paid_also_above_a_lowered_limit) {
    cairn::detail::byte_credits shared{100, 0};
    EXPECT_TRUE(shared.pay_shared(nullptr, 80));
    shared.set_limit_size(10);
    EXPECT_TRUE(shared.pay_shared(nullptr, 0));
    EXPECT_FALSE(shared.pay_shared(nullptr, 1));
    EXPECT_EQ(shared.granted_size(), 80u);
}

TEST(byte_credits, there_is_room_up_to_the_limit_itself) {
    cairn::detail::byte_credits shared{100, 0};
    EXPECT_TRUE(shared.has_room_for(100));
    EXPECT_FALSE(shared.has_room_for(101));
    EXPECT_TRUE(shared.pay_shared(nullptr, 100));
    EXPECT_TRUE(shared.has_room_for(0));
    EXPECT_FALSE(shared.has_room_for(1));
    shared.set_limit_size(99);
    EXPECT_FALSE(shared.has_room_for(0)) << "the limit was lowered";
}

TEST(byte_credits, no_order_of_threads_exceeds_the_limit_or_loses_a_byte) {
    for (const std::size_t limit : {std::size_t{8}, std::size_t{64}}) {
        expect_exhausted("44- | 4-4", run_scripts<world>({"44-", "4-4"}, 2, limit));
        expect_exhausted("4-- | 44", run_scripts<world>({"4--", "44"}, 2, limit));
        expect_exhausted("8-8 | 84", run_scripts<world>({"8-8", "84"}, 2, limit));
    }
    expect_exhausted("4 | 4 | 4", run_scripts<world>({"4", "4", "4"}, 2, std::size_t{8}));
}

/// A count that is looked at and then added to, as if it were not shared.
TEST(byte_credits, the_explorer_finds_a_count_that_is_not_exchanged) {
    const explorer::result r = explorer::explore({.threads = 2}, [] {
        struct naive {
            explorer::atomic<std::size_t> granted{0};
            explorer::atomic<std::size_t> live{0};
        };
        auto w = std::make_shared<naive>();
        constexpr auto relaxed = cairn::detail::memory_order::relaxed;
        return explorer::program{.thread =
                                     [=](int) {
                                         if (w->granted.load(relaxed) + 4 > 4) { return; }
                                         w->granted.fetch_add(4, relaxed);
                                         require(w->live.fetch_add(4, relaxed) + 4 <= 4,
                                                 "within the limit");
                                     },
                                 .at_end = [] {}};
    });
    EXPECT_TRUE(r.failed);
}

}  // namespace
