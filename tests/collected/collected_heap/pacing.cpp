// Sentences of cairn/collected/collected_heap.hpp about required_budget(): with it memory is never
// exhausted.
#include <cairn/collected/collected_heap.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "collected/collected_heap/nodes.hpp"

namespace {

using namespace nodes;

/// How many objects a frame makes.
using rate = std::size_t (*)(const collected_heap& heap, std::size_t most);

std::size_t constant(const collected_heap&, std::size_t most) { return most; }
/// Slow in every second cycle, so that the last one says nothing about the next.
std::size_t by_turns(const collected_heap& heap, std::size_t most) {
    static bool was_collecting = false;
    static std::size_t cycles = 0;
    cycles += was_collecting && !heap.is_collecting() ? 1u : 0u;
    was_collecting = heap.is_collecting();
    return cycles % 2 == 0 ? most : most / 2;
}
/// Little between cycles, all while one runs.
std::size_t while_collecting(const collected_heap& heap, std::size_t most) {
    return heap.is_collecting() ? most : 1 + most / 3;
}

/// Keeps `live` objects, replaces some each frame.
/// Returns: true when memory never ran out, and make() never had to help.
bool survives(collected_heap& heap, std::size_t live, std::size_t most, rate how,
              std::size_t budget, int frames) {
    const root<hub> t = heap.make<hub>();
    if (!t || !t->all.reserve(live)) { return false; }
    for (std::size_t i = 0; i < live; ++i) {
        node* const n = heap.make<node>();
        if (n == nullptr || !t->all.push_back(n)) { return false; }
    }
    heap.collect();
    std::size_t next = 0;
    for (int frame = 0; frame < frames; ++frame) {
        const std::size_t count = how(heap, most);
        for (std::size_t i = 0; i < count; ++i) {
            node* const n = heap.make<node>();
            if (n == nullptr) { return false; }
            t->all.set(next, n);
            next = (next + 7919) % live;
        }
        heap.step({.bytes = budget});
    }
    return heap.stats().work_in_make == 0;
}

constexpr std::size_t live_count = 10'000;
constexpr std::size_t paced_size = live_count * 48 * 3 / 2 + 4 * cairn::detail::chunk_size;

std::size_t budget_for(std::size_t most) {
    const collected_heap heap{paced_size};
    return heap.required_budget({.live_max = live_count * 48 + live_count * 4 + 48,
                                 .array_size = live_count * 4,
                                 .allocated_per_frame = most * 48,
                                 .roots = 1,
                                 .types = 3});
}
bool survives(std::size_t most, rate how, std::size_t budget) {
    collected_heap heap{paced_size};
    const int frames = static_cast<int>(20'000 / most);
    return survives(heap, live_count, most, how, budget, frames);
}

TEST(collected_heap_test, the_required_budget_is_enough_and_not_much_too_much) {
    for (const std::size_t most : {4u, 20u, 60u}) {
        const std::size_t needed = budget_for(most);
        ASSERT_NE(needed, SIZE_MAX);
        EXPECT_TRUE(survives(most, constant, needed)) << most;
        EXPECT_FALSE(survives(most, constant, needed / 3)) << most;
    }
}

TEST(collected_heap_test, the_required_budget_is_enough_when_the_rate_of_allocation_changes) {
    for (const std::size_t most : {20u, 60u, 100u}) {
        for (const rate how : {by_turns, while_collecting}) {
            EXPECT_TRUE(survives(most, how, budget_for(most))) << most;
        }
    }
}

TEST(collected_heap_test, the_required_budget_is_enough_where_most_is_arrays) {
    constexpr std::size_t places = 40'000;
    constexpr std::size_t count = 500;
    // 40,000 references and 500, rounded up; two hubs
    constexpr std::size_t arrays = 10 * cairn::detail::chunk_size + 2048;
    constexpr std::size_t live = arrays + count * 48 + 2 * 16;
    constexpr std::size_t size = live * 3 / 2 + 4 * cairn::detail::chunk_size;
    const auto is_enough = [](std::size_t budget) {
        collected_heap heap{size};
        const root<hub> h = heap.make<hub>();
        return h->all.reserve(places) && survives(heap, count, 20, constant, budget, 2000);
    };
    const collected_heap heap{size};
    const auto budget_with = [&heap](std::size_t array_size) {
        return heap.required_budget({.live_max = live,
                                     .array_size = array_size,
                                     .allocated_per_frame = 20 * 48,
                                     .roots = 2,
                                     .types = 4});
    };
    EXPECT_TRUE(is_enough(budget_with(arrays)));
    EXPECT_FALSE(is_enough(budget_with(0))) << "a reference costs twice its bytes";
}

struct references_only {
    ref<references_only> all[4];
    using references = refers_to<&references_only::all>;
};
static_assert(sizeof(references_only) == 16);

TEST(collected_heap_test, a_reference_costs_no_less_in_an_array_than_in_an_object) {
    collected_heap heap{1 << 20};
    const auto work_of_cycle = [&heap] { return heap.collect().bytes; };
    const std::size_t work = work_of_cycle();
    const root<node> one = made(heap);
    const std::size_t with_node = work_of_cycle();
    EXPECT_EQ(with_node - work, 48u + 32u + 256u) << "an object, a root, a chunk";
    const root<references_only> other = heap.make<references_only>();
    const std::size_t with_references = work_of_cycle();
    EXPECT_EQ(with_references - with_node, 4 * 8u + 32u + 256u);
    const root<hub> h = heap.make<hub>();
    ASSERT_TRUE(h->all.reserve(512));
    EXPECT_EQ(work_of_cycle() - with_references, 16u + 512 * 8u + 32u + 2 * 256u);
}

struct plain {
    std::uint64_t data[32] = {};
};

TEST(collected_heap_test, a_cycle_begins_when_half_of_what_the_last_one_left_is_taken) {
    collected_heap heap{1 << 20};
    std::vector<root<plain>> live;  // two thirds of it
    while (heap.stats().free_size > heap.capacity() / 3) {
        live.emplace_back(heap.make<plain>());
        ASSERT_NE(live.back(), nullptr);
    }
    heap.collect();
    const std::size_t left = heap.stats().free_size;
    std::size_t taken = 0;
    while (!heap.is_collecting()) {
        ASSERT_NE(heap.make<plain>(), nullptr);
        taken += sizeof(plain);
        heap.step({.steps = 0});
    }
    EXPECT_GE(taken, left / 2 - cairn::detail::chunk_size);
    EXPECT_LE(taken, left / 2 + cairn::detail::chunk_size);
}

TEST(collected_heap_test, what_refers_to_nothing_is_marked_and_not_looked_at) {
    collected_heap heap{1 << 20};
    const root<plain> one = heap.make<plain>();
    const std::size_t work = heap.collect().bytes;
    std::vector<root<plain>> more;
    for (int i = 0; i < 40; ++i) { more.emplace_back(heap.make<plain>()); }
    EXPECT_EQ(heap.collect().bytes - work, 40 * 32u) << "the roots alone, in the same chunk";
}

struct quest {
    ref<quest> others[4];
    std::uint64_t data[4] = {};
    using references = refers_to<&quest::others>;
};
static_assert(sizeof(quest) == 48);
struct log_book {
    ref_array<quest> quests;
    using references = refers_to<&log_book::quests>;
};

/// 3000 frames. A million, a minute or two of an optimized build:
///     CAIRN_FRAMES=1000000 collected_collected_heap_test --gtest_filter=*soak*
int frame_count() {
    const char* const wish = std::getenv("CAIRN_FRAMES");
    return wish != nullptr ? std::atoi(wish) : 3000;
}

// Each frame replaces 20 of 2000 quests by new ones, which refer to four others, and rewires 20.
// The old ones live on for as long as others refer to them.
TEST(collected_heap_test,
     a_soak_at_the_required_budget_never_exhausts_a_heap_of_half_more_than_lives) {
    constexpr std::size_t count = 2000;
    constexpr std::size_t a_frame = 20;
    constexpr std::size_t live_max = (count * 5 / 2 + 1) * 48 + count * 4 + 64;
    collected_heap heap{live_max * 3 / 2 + 3 * cairn::detail::chunk_size, {.work_in_make_max = 0}};
    const std::size_t budget = heap.required_budget({.live_max = live_max,
                                                     .array_size = count * 4,
                                                     .allocated_per_frame = a_frame * 48,
                                                     .roots = 1,
                                                     .types = 3});
    ASSERT_NE(budget, SIZE_MAX);
    const root<log_book> book = heap.make<log_book>();
    ASSERT_TRUE(book->quests.reserve(count));
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(book->quests.push_back(heap.make<quest>()));
    }
    std::uint32_t seed = 20261122;
    const auto any = [&seed](std::size_t below) {
        seed = seed * 1664525 + 1013904223;
        return static_cast<std::size_t>(seed >> 8) % below;
    };
    std::size_t least_free = SIZE_MAX;
    const int frames = frame_count();
    for (int frame = 0; frame < frames; ++frame) {
        for (std::size_t i = 0; i < a_frame; ++i) {
            const std::size_t place = any(count);
            for (ref<quest>& r : book->quests[place]->others) { r = nullptr; }
            quest* const q = heap.make<quest>();
            ASSERT_NE(q, nullptr) << "frame " << frame;
            for (ref<quest>& r : q->others) { r = book->quests[any(count)]; }
            book->quests.set(place, q);
            book->quests[any(count)]->others[any(4)] = book->quests[any(count)];
        }
        heap.step({.bytes = budget});
        if (frame % 16 == 0) {
            const std::size_t free = heap.stats().free_size;
            least_free = free < least_free ? free : least_free;
        }
    }
    const auto stats = heap.stats();
    std::printf("%d frames of %zu bytes of work, %llu cycles, at least %zu of %zu bytes free\n",
                frames, budget, static_cast<unsigned long long>(stats.cycle_count), least_free,
                stats.capacity);
    EXPECT_GT(stats.cycle_count, 3u);
    EXPECT_LE(stats.last_cycle.kept_size, live_max + stats.last_cycle.allocated_size);
    heap.validate();
}

TEST(collected_heap_test, each_part_of_the_load_is_a_part_of_the_budget) {
    const collected_heap heap{4 << 20};
    const collected_heap::load some{.live_max = 1 << 20, .allocated_per_frame = 4096, .types = 2};
    const std::size_t frames = (heap.capacity() - some.live_max - 2 * 16384) / 2 / 4096 - 2;
    const std::size_t budget = heap.required_budget(some);
    const auto more = [&](collected_heap::load of, std::size_t work) {
        const std::size_t needed = heap.required_budget(of);
        EXPECT_GE(needed, budget + work / frames);
        EXPECT_LE(needed, budget + work / frames + 1);
    };
    EXPECT_GE(budget * frames, some.live_max) << "all that lives is traced";
    EXPECT_LE(budget * frames, some.live_max + 256 * 288 + frames) << "and all chunks are swept";
    collected_heap::load of = some;
    of.roots = 100'000;
    more(of, 100'000 * 32);
    of = some;
    of.with_destructors = 100'000;
    more(of, 100'000 * 128);
    of = some;
    of.types = 20;
    EXPECT_GT(heap.required_budget(of), budget) << "a chunk of each type is not for the others";
    EXPECT_EQ(heap.required_budget({.live_max = SIZE_MAX, .allocated_per_frame = 1, .types = 2}),
              SIZE_MAX);
}

TEST(collected_heap_test, no_budget_is_enough_where_the_live_objects_leave_no_room) {
    const collected_heap heap{1 << 20};
    EXPECT_EQ(heap.required_budget({.live_max = 1 << 20, .allocated_per_frame = 1}), SIZE_MAX);
    EXPECT_EQ(heap.required_budget({.live_max = 1 << 19, .allocated_per_frame = 1 << 18}),
              SIZE_MAX);
    EXPECT_EQ(heap.required_budget({.live_max = 1 << 19}), 0u);
    EXPECT_GT(heap.required_budget({.live_max = 1 << 19, .allocated_per_frame = 4096}),
              heap.required_budget({.live_max = 1 << 19, .allocated_per_frame = 1024}));
}

}  // namespace
