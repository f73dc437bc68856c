// Sentences of cairn/collected/collected_heap.hpp about the end of objects: each is reported, and
// destroyed, once.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <string>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

struct text {
    std::string content;
    using references = refers_to<>;
};

TEST(collected_heap_test, a_heap_that_ends_within_a_cycle_ends_each_object_once) {
    for (std::size_t steps = 0; steps < 300; steps += 13) {
        told = ended = 0;
        int count = 0;
        {
            collected_heap heap{256 * 1024};
            root<tells_and_ends> kept = heap.make<tells_and_ends>();
            kept->next = heap.make<tells_and_ends>();
            for (count = 2; !heap.is_marking(); ++count) {
                ASSERT_NE(heap.make<tells_and_ends>(), nullptr);
                heap.step({.steps = 1});
            }
            for (std::size_t i = 0; i < steps; ++i) { heap.step({.steps = 60}); }
            kept = nullptr;
        }
        EXPECT_EQ(told, count) << steps;
        EXPECT_EQ(ended, count) << steps;
    }
}

TEST(collected_heap_test, what_ends_in_later_cycles_is_told_too) {
    collected_heap heap{1 << 20};
    told = ended = 0;
    for (int cycle = 1; cycle <= 3; ++cycle) {
        for (int i = 0; i < 300; ++i) { ASSERT_NE(heap.make<tells_and_ends>(), nullptr); }
        heap.collect();
        EXPECT_EQ(told, 300 * cycle);
        EXPECT_EQ(ended, 300 * cycle);
    }
}

TEST(collected_heap_test, an_object_with_a_destructor_ends_once) {
    const std::string long_text(100, 'x');
    collected_heap heap{256 * 1024};
    root<text> kept = heap.make<text>(long_text);
    for (int i = 0; i < 10'000; ++i) {
        ASSERT_NE(heap.make<text>(long_text), nullptr);  // a leak is what the sanitizer finds
        heap.step();
    }
    EXPECT_GT(heap.stats().cycle_count, 0u);
    EXPECT_EQ(kept->content, long_text);
    kept = nullptr;
}

}  // namespace
