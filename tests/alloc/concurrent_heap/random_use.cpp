// Any history of calls of cairn/alloc/concurrent_heap.hpp: a random one against a map.
#include <cairn/alloc/concurrent_heap.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_heap;

struct marked_block {
    std::byte* p;
    std::size_t size;
    alignment align;
    std::uint64_t word;
};

std::size_t random_size(std::mt19937& random) {
    const unsigned long dice = random() % 100;
    if (dice < 70) { return random() % 300; }
    if (dice < 95) { return random() % 40'000; }
    return random() % (dice == 99 ? 6'000'000 : 500'000);
}

/// Both ends carry the number of the block.
void mark(const marked_block& b) {
    if (b.size < 16) { return; }
    std::memcpy(b.p, &b.word, 8);
    std::memcpy(b.p + b.size - 8, &b.word, 8);
}
bool is_marked(const marked_block& b) {
    return b.size < 16 ||
           (std::memcmp(b.p, &b.word, 8) == 0 && std::memcmp(b.p + b.size - 8, &b.word, 8) == 0);
}

void run(unsigned seed, concurrent_heap& h, test_upstream* upstream, int operation_count) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    std::vector<marked_block> live;
    std::vector<std::optional<concurrent_heap::local_view>> views(3);
    std::uint64_t next = 0;
    unsigned long bias = 50;
    for (int op = 0; op < operation_count; ++op) {
        if (op % 1000 == 0) {
            bias = 30 + random() % 40;
            h.validate();
        }
        auto& view = views[random() % views.size()];
        const unsigned long dice = random() % 10'000;
        if (dice < 10) {
            if (view) {
                view.reset();
            } else {
                view.emplace(h.local());
            }
        } else if (dice < 20) {
            h.release_this_thread();
        } else if (dice < 30) {
            h.trim({.steps = random() % 5});
        } else if (dice < 32) {
            h.trim();
        } else if (dice < 40 && upstream != nullptr) {
            upstream->refuse_from(upstream->request_count(), random() % 3);
        } else if (dice < 300 && !live.empty()) {
            marked_block& b = live[random() % live.size()];
            const std::size_t size = random() % 2 == 0 ? b.size + b.size / 8 : random_size(random);
            if (h.try_resize(b.p, b.size, size, b.align)) {
                ASSERT_TRUE(b.size < 16 || size < 8 || std::memcmp(b.p, &b.word, 8) == 0);
                b.size = size;
                mark(b);
            }
        } else if (random() % 100 < bias && live.size() < 4000) {
            const std::size_t size = random_size(random);
            const alignment align{std::size_t{1} << (random() % 8 == 0 ? random() % 18 : 4)};
            auto* const p = static_cast<std::byte*>(view ? view->allocate(size, align)
                                                         : h.allocate(size, align));
            if (p == nullptr) { continue; }
            ASSERT_TRUE(cairn::detail::is_aligned(p, align));
            ASSERT_TRUE(h.owns(p));
            live.push_back({p, size, align, next++});
            mark(live.back());
        } else if (!live.empty()) {
            const std::size_t i = random() % live.size();
            const marked_block b = live[i];
            ASSERT_TRUE(is_marked(b)) << "somebody else wrote here";
            live[i] = live.back();
            live.pop_back();
            if (random() % 3 == 0) {
                view ? view->deallocate(b.p) : h.deallocate(b.p);
            } else {
                view ? view->deallocate(b.p, b.size, b.align) : h.deallocate(b.p, b.size, b.align);
            }
        }
    }
    for (const marked_block& b : live) {
        ASSERT_TRUE(is_marked(b));
        h.deallocate(b.p, b.size, b.align);
    }
    for (auto& view : views) { view.reset(); }
    h.validate();
    EXPECT_EQ(h.stats().live_size, 0u);
}

TEST(concurrent_heap, random_operations_agree_with_a_map) {
    const int count = cairn::detail::poison_is_queryable || under_tsan ? 6000 : 20'000;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        test_upstream upstream;
        {
            concurrent_heap h{upstream, {.cache_size_max = std::size_t{1} << (seed * 2)}};
            run(seed, h, &upstream, count);
        }
        EXPECT_EQ(upstream.live_count(), 0u);
        concurrent_heap pages{cairn::system_pages(),
                              {.cache_size_max = std::size_t{1} << (seed * 2)}};
        run(seed + 100, pages, nullptr, count);
    }
}

}  // namespace
