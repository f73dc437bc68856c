// Every order of a few threads on cairn/alloc/tagged_arenas/open_blocks.hpp, and what happens without
// its memory orders.
#include <cairn/alloc/tagged_arenas/open_blocks.hpp>
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "support/explorer.hpp"

namespace {

struct block {
    explorer::plain<int> top{0};  // what the giver writes and the taker reads
    explorer::plain<int> holders{0};
};

/// Threads take a block, or one of their own where none waits, fill it by one and give it back.
template <class Orders>
explorer::result run_views(int threads, int views, int preemptions) {
    struct state {
        std::array<block, 4> blocks;
        cairn::detail::open_blocks<block, explorer::atoms, Orders> open;
        std::array<int, 4> filled{};  // by each thread
        std::array<int, 4> kept{};    // blocks that found no word
    };
    return explorer::explore({.threads = threads, .preemptions = preemptions}, [=] {
        auto s = std::make_shared<state>();
        return explorer::program{
            .thread =
                [=](int id) {
                    bool has_own = true;
                    for (int i = 0; i < views; ++i) {
                        block* b = s->open.take();
                        if (b == nullptr) {
                            if (!has_own) { continue; }
                            b = &s->blocks[static_cast<std::size_t>(id)];
                            has_own = false;
                        }
                        b->holders = b->holders + 1;
                        explorer::require(b->holders == 1, "a block is in one hand");
                        b->top = b->top + 1;
                        ++s->filled[static_cast<std::size_t>(id)];
                        b->holders = b->holders - 1;
                        if (!s->open.give(b)) { ++s->kept[static_cast<std::size_t>(id)]; }
                    }
                },
            .at_end =
                [=] {
                    int filled = 0;
                    int tops = 0;
                    for (const int f : s->filled) { filled += f; }
                    for (block& b : s->blocks) { tops += b.top; }
                    explorer::require(filled == tops, "what each view filled is there");
                    std::array<const block*, 4> seen{};
                    std::size_t count = 0;
                    while (const block* const b = s->open.take()) {
                        for (const block* const other : seen) {
                            explorer::require(other != b, "a block waits once");
                        }
                        seen[count++] = b;
                    }
                    for (const int k : s->kept) {
                        explorer::require(k == 0, "eight words are enough for four blocks");
                    }
                }};
    });
}

struct relaxed_give : cairn::detail::open_block_orders {
    static constexpr auto give = cairn::detail::memory_order::relaxed;
};
struct relaxed_take : cairn::detail::open_block_orders {
    static constexpr auto take = cairn::detail::memory_order::relaxed;
};

}  // namespace

TEST(open_blocks, are_in_one_hand_in_every_order_of_two_threads) {
    const auto r = run_views<cairn::detail::open_block_orders>(2, 2, 3);
    EXPECT_FALSE(r.failed) << r.message;
    EXPECT_TRUE(r.exhausted) << r.executions;
}

TEST(open_blocks, are_in_one_hand_in_every_order_of_three_threads) {
    const auto r = run_views<cairn::detail::open_block_orders>(3, 1, 1);
    EXPECT_FALSE(r.failed) << r.message;
    EXPECT_TRUE(r.exhausted) << r.executions;
}

TEST(open_blocks, race_without_the_release_of_the_giver) {
    EXPECT_TRUE(run_views<relaxed_give>(2, 2, 2).failed);
}

TEST(open_blocks, race_without_the_acquire_of_the_taker) {
    EXPECT_TRUE(run_views<relaxed_take>(2, 2, 2).failed);
}
