// tests/support/arena_model.hpp - random operations on an arena against a list of live blocks.
//
// allocate, free (last and others), resize, mark, rewind, reset, in random order from a printed seed.
// Every live block holds its own byte pattern; every operation that could disturb one is followed by
// a look at the block it touched, and every rewind and reset by a look at all survivors.
#pragma once

#include <cairn/core/alignment.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

struct arena_model_options {
    std::size_t operation_count = 20000;
    std::size_t size_min = 0;
    std::size_t size_max = 300;
    unsigned align_log2_max = 7;
    std::size_t large_every = 500;  // one request in so many is up to large_max
    std::size_t large_max = 20000;
    std::size_t reset_every = 2000;
    unsigned older_percent = 5;    // of the steps free a block that is not the newest
    unsigned resize_percent = 15;  // marks and rewinds share what these two leave of 30
    bool shrinking_fails = false;  // at times: a block stays what it is then
};

template <class Arena>
void check_arena_against_model(Arena& a, unsigned seed, arena_model_options o = {}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    struct block {
        unsigned char* data;
        std::size_t size;
        cairn::alignment align;
        unsigned char fill;
    };
    struct mark {
        typename Arena::marker at;
        std::size_t live_count;
    };
    std::mt19937 random{seed};
    std::vector<block> live;  // in order of allocation
    std::vector<mark> marks;  // live ones, oldest first
    unsigned char next_fill = 1;

    const auto intact = [](const block& b) {
        for (std::size_t i = 0; i < b.size; ++i) {
            if (b.data[i] != b.fill) { return false; }
        }
        return true;
    };
    const auto fill = [](block& b) {
        if (b.size != 0) { std::memset(b.data, b.fill, b.size); }
    };

    for (std::size_t step = 0; step < o.operation_count; ++step) {
        const auto dice = static_cast<unsigned>(random() % 100);
        if (dice < 55 || live.empty()) {
            const bool large = random() % o.large_every == 0;
            const std::size_t span = (large ? o.large_max : o.size_max) - o.size_min;
            const std::size_t size = o.size_min + random() % (span + 1);
            const cairn::alignment align{std::size_t{1} << (random() % (o.align_log2_max + 1))};
            auto* const p = static_cast<unsigned char*>(a.allocate(size, align));
            if (p == nullptr) {
                a.validate();
                continue;
            }
            ASSERT_TRUE(cairn::detail::is_aligned(p, align)) << "step " << step;
            live.push_back({p, size, align, next_fill++});
            fill(live.back());
        } else if (dice < 70) {  // free the newest: its bytes come back
            block b = live.back();
            if (!marks.empty() && marks.back().live_count >= live.size()) { continue; }
            ASSERT_TRUE(intact(b)) << "step " << step;
            live.pop_back();
            a.deallocate(b.data, b.size, b.align);
        } else if (dice < 70 + o.older_percent) {  // free an older one: nobody else notices
            const std::size_t i = random() % live.size();
            if (!marks.empty() && i < marks.back().live_count) { continue; }
            ASSERT_TRUE(intact(live[i])) << "step " << step;
            a.deallocate(live[i].data, live[i].size, live[i].align);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        } else if (dice < 70 + o.older_percent +
                              o.resize_percent) {  // resize the newest, sometimes another one
            const std::size_t i = random() % 4 != 0 ? live.size() - 1 : random() % live.size();
            if (!marks.empty() && i < marks.back().live_count) { continue; }
            block& b = live[i];
            const std::size_t size = o.size_min + random() % (o.size_max - o.size_min + 1);
            const bool done = a.try_resize(b.data, b.size, size, b.align);
            if (done) {
                const std::size_t kept = size < b.size ? size : b.size;
                for (std::size_t k = 0; k < kept; ++k) { ASSERT_EQ(b.data[k], b.fill); }
                b.size = size;
                fill(b);
            } else {
                ASSERT_TRUE(intact(b)) << "a refused resize changes nothing, step " << step;
                if (!o.shrinking_fails) { ASSERT_GT(size, b.size) << "shrinking never fails"; }
            }
        } else if (dice < 85 + (o.older_percent + o.resize_percent) / 2) {
            marks.push_back({a.mark(), live.size()});
        } else if (!marks.empty()) {
            const std::size_t depth = random() % marks.size();
            const mark to = marks[depth];
            marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(depth) + 1, marks.end());
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(to.live_count), live.end());
            a.rewind(to.at);
            for (const block& b : live) { ASSERT_TRUE(intact(b)) << "step " << step; }
            if (random() % 2 == 0) { marks.pop_back(); }
        }
        if (random() % o.reset_every == 0) {
            for (const block& b : live) { ASSERT_TRUE(intact(b)) << "step " << step; }
            a.reset();
            live.clear();
            marks.clear();
        }
        if (step % 64 == 0) { a.validate(); }
    }
    for (const block& b : live) { ASSERT_TRUE(intact(b)); }
    a.validate();
    a.reset();
}
