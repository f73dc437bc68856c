// Every order of a few threads on cairn/alloc/tagged_arenas/open_blocks.hpp, and what happens without
// its memory orders.
#include <cairn/alloc/tagged_arenas/open_blocks.hpp>
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "support/explorer/scripts.hpp"

namespace {

using cairn::detail::open_block_orders;
using explorer::expect_exhausted;
using explorer::require;
using explorer::run_scripts;

struct block {
    explorer::plain<int> top{0};  // what the giver writes and the taker reads
    explorer::plain<int> holders{0};
};

/// The blocks of one tag, and one more for each thread. A thread's script: 'v' is a view, which takes a
/// block, or its thread's own where none waits, fills it by one and gives it back.
template <class Orders>
struct world {
    void step(std::size_t me, char) {
        block* b = open.take();
        if (b == nullptr) { b = std::exchange(own[me], nullptr); }
        if (b == nullptr) { return; }
        b->holders = b->holders + 1;
        require(b->holders == 1, "a block is in one hand");
        b->top = b->top + 1;
        ++filled;
        b->holders = b->holders - 1;
        require(open.give(b), "eight words are enough for four blocks");
    }
    void at_end() {
        int tops = 0;
        for (block& b : blocks) { tops += b.top; }
        require(filled == tops, "what each view filled is there");
        std::vector<const block*> seen;
        while (const block* const b = open.take()) {
            for (const block* const other : seen) { require(other != b, "a block waits once"); }
            seen.push_back(b);
        }
    }

    std::array<block, 3> blocks;
    std::array<block*, 3> own = {&blocks[0], &blocks[1], &blocks[2]};
    cairn::detail::open_blocks<block, explorer::atoms, Orders> open;
    int filled = 0;  // by all threads; the explorer runs one at a time
};

struct relaxed_give : open_block_orders {
    static constexpr auto give = cairn::detail::memory_order::relaxed;
};
struct relaxed_take : open_block_orders {
    static constexpr auto take = cairn::detail::memory_order::relaxed;
};

}  // namespace

TEST(open_blocks, are_in_one_hand_in_every_order_of_two_threads) {
    expect_exhausted("vv | vv", run_scripts<world<open_block_orders>>({"vv", "vv"}, 3));
}

TEST(open_blocks, are_in_one_hand_in_every_order_of_three_threads) {
    expect_exhausted("v | v | v", run_scripts<world<open_block_orders>>({"v", "v", "v"}, 1));
}

TEST(open_blocks, race_without_the_release_of_the_giver) {
    EXPECT_TRUE(run_scripts<world<relaxed_give>>({"vv", "vv"}, 2).failed);
}

TEST(open_blocks, race_without_the_acquire_of_the_taker) {
    EXPECT_TRUE(run_scripts<world<relaxed_take>>({"vv", "vv"}, 2).failed);
}
