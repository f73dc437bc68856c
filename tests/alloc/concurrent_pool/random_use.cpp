// Sentences of cairn/alloc/concurrent_pool.hpp about any history of calls: a random one against a
// set.
#include <cairn/alloc/concurrent_pool.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_upstream.hpp"

namespace {

using cairn::alignment;
using cairn::concurrent_pool;

// Against a naive model, through several views at once, from a printed seed.
TEST(concurrent_pool, random_operations_agree_with_a_set) {
    for (unsigned seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        test_upstream upstream;
        concurrent_pool p{8 + random() % 60,
                          alignment{std::size_t{1} << random() % 5},
                          upstream,
                          {.slots_per_chunk = 1 + random() % 20,
                           .chunk_size_max = std::size_t{256} << random() % 8,
                           .slot_count_max = 300,
                           .magazine_size = 1 + random() % 9,
                           .whole_cache_lines = random() % 2 == 0}};
        std::map<void*, std::uint64_t> model;
        std::vector<void*> order;
        std::uint64_t next = 0;
        std::vector<std::optional<concurrent_pool::local_view>> views(4);
        unsigned long bias = 50;
        const int operation_count =
            cairn::detail::poison_is_queryable || under_tsan ? 8'000 : 25'000;
        for (int op = 0; op < operation_count; ++op) {
            if (op % 1000 == 0) {
                bias = 20 + random() % 60;
                p.validate();
                ASSERT_EQ(p.stats().live_count, model.size());
            }
            auto& view = views[random() % views.size()];
            const unsigned long dice = random() % 10'000;
            if (dice < 10) {
                if (view) {
                    view.reset();
                } else {
                    view.emplace(p.local());
                }
            } else if (dice < 20) {
                p.release_this_thread();
            } else if (dice < 30) {
                upstream.refuse_from(upstream.request_count(), random() % 3);
            } else if (random() % 100 < bias) {
                void* const s = view ? view->allocate() : p.allocate();
                if (s != nullptr) {
                    std::memcpy(s, &next, sizeof next);
                    ASSERT_TRUE(model.emplace(s, next++).second) << "given out twice";
                    order.push_back(s);
                }
            } else if (!order.empty()) {
                const std::size_t i = random() % order.size();
                void* const s = order[i];
                std::uint64_t value = 0;
                std::memcpy(&value, s, sizeof value);
                ASSERT_EQ(value, model.at(s)) << "somebody else wrote here";
                model.erase(s);
                order[i] = order.back();
                order.pop_back();
                if (view) {
                    view->deallocate(s);
                } else {
                    p.deallocate(s);
                }
            }
        }
        for (void* s : order) { p.deallocate(s); }
        p.validate();
        ASSERT_EQ(p.stats().live_count, 0u);
    }
}
}  // namespace
