// collected_heap: what is made, when it ends, what a step may cost.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::collection_budget;
using cairn::collection_report;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;
using cairn::weak_ref;

struct node {
    ref<node> next, other;
    std::uint64_t value[4] = {};
    using references = refers_to<&node::next, &node::other>;
};
static_assert(sizeof(node) == 40);

node* made(collected_heap& heap) {
    node* const n = heap.make<node>();
    EXPECT_NE(n, nullptr);
    return n;
}

void begin_marking(collected_heap& heap) {
    while (!heap.is_marking()) {
        static_cast<void>(made(heap));
        heap.step({.steps = 1});
    }
}

TEST(collected_heap_test, cycles_without_a_root_are_freed) {
    collected_heap heap{1 << 20};
    const root<node> kept = made(heap);
    for (int i = 0; i < 1000; ++i) {
        node* const a = made(heap);
        node* const b = made(heap);
        a->next = b;
        b->next = a;
        a->other = kept.get();
    }
    EXPECT_EQ(heap.stats().object_count, 2001u);
    const collection_report report = heap.collect();
    EXPECT_EQ(report.freed_count, 2000u);
    EXPECT_EQ(report.freed_size, 2000u * 48);
    EXPECT_EQ(heap.stats().object_count, 1u);
    heap.validate();
}

TEST(collected_heap_test, a_heap_in_constant_use_goes_on_for_ever_with_steps_alone) {
    collected_heap heap{1 << 20};
    const root<node> first = made(heap);
    for (int i = 0; i < 60'000; ++i) {
        node* const n = heap.make<node>();
        ASSERT_NE(n, nullptr) << i;
        n->next = first->next;
        first->next = i % 1000 == 0 ? nullptr : n;
        if (i % 10 == 0) { heap.step(); }
    }
    EXPECT_GT(heap.stats().cycle_count, 3u);
}

TEST(collected_heap_test, a_full_heap_says_null_and_changes_nothing) {
    collected_heap heap{256 * 1024};
    const root<node> first = made(heap);
    std::size_t count = 1;
    while (node* const n = heap.make<node>()) {
        n->next = first->next;
        first->next = n;
        ++count;
    }
    EXPECT_GT(count, 5000u);
    EXPECT_EQ(heap.stats().object_count, count);
    first->next = nullptr;
    EXPECT_EQ(heap.make<node>(), nullptr) << "make() begins no cycle";
    heap.collect();
    EXPECT_NE(heap.make<node>(), nullptr);
    heap.validate();
}

TEST(collected_heap_test, make_finishes_the_running_cycle_when_memory_is_short) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    begin_marking(heap);
    const std::uint64_t cycles = heap.stats().cycle_count;
    node* held = made(heap);  // a raw pointer; no safe point follows
    for (int i = 0; i < 4500; ++i) { ASSERT_NE(heap.make<node>(), nullptr) << i; }
    EXPECT_FALSE(heap.is_marking());
    EXPECT_EQ(heap.stats().cycle_count, cycles);
    held->next = kept.get();
    EXPECT_EQ(held->next.get(), kept.get());
    heap.validate();
}

TEST(collected_heap_test, make_does_no_more_between_two_steps_than_it_may) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 2000}};
    const root<node> first = made(heap);
    for (int i = 0; i < 2000; ++i) {
        node* const n = made(heap);
        n->next = first->next;
        first->next = n;
    }
    begin_marking(heap);
    for (std::uint64_t i = 1; i < 4; ++i) {
        while (heap.make<node>() != nullptr) {}
        EXPECT_TRUE(heap.is_marking()) << "96 KB are to be marked";
        EXPECT_GE(heap.stats().work_in_make, 2000 * i);
        EXPECT_LE(heap.stats().work_in_make, (2000 + 48) * i);
        heap.step({.bytes = 0});
    }
    while (heap.is_collecting()) { heap.step({.bytes = 2000}); }
    heap.collect();
    EXPECT_NE(heap.make<node>(), nullptr);
    heap.validate();
}

TEST(collected_heap_test, make_helps_not_at_all_where_it_may_not) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 0}};
    const root<node> kept = made(heap);
    begin_marking(heap);
    while (heap.make<node>() != nullptr) {}
    EXPECT_TRUE(heap.is_marking());
    EXPECT_EQ(heap.stats().work_in_make, 0u);
}

int ended = 0;
struct counted {
    ~counted() { ++ended; }
    std::uint64_t value[4] = {};
    using references = refers_to<>;
};

TEST(collected_heap_test, make_runs_no_destructor_and_reuses_nothing_that_waits_for_one) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    for (int i = 0; i < 3000; ++i) { ASSERT_NE(heap.make<counted>(), nullptr); }
    for (int i = 0; i < 500; ++i) { static_cast<void>(made(heap)); }
    begin_marking(heap);
    ended = 0;
    int more = 0;
    while (heap.make<node>() != nullptr) {}
    while (heap.make<counted>() != nullptr) { ++more; }
    EXPECT_FALSE(heap.is_marking()) << "it was finished";
    EXPECT_EQ(ended, 0);
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(ended, 3000);
    heap.collect();
    EXPECT_EQ(ended, 3000 + more);
}

int told = 0;
struct tells_and_ends {
    void before_collect() noexcept { ++told; }
    ~tells_and_ends() { ++ended; }
    ref<tells_and_ends> next;
    using references = refers_to<&tells_and_ends::next>;
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

TEST(collected_heap_test, no_cycle_begins_where_nothing_was_made_since_the_last_step) {
    collected_heap heap{256 * 1024};
    const root<node> first = made(heap);
    const auto add = [&] {
        node* const n = heap.make<node>();
        if (n == nullptr) { return false; }
        n->next = first->next;
        first->next = n;
        return true;
    };
    while (heap.stats().free_size > 40 * 1024) { ASSERT_TRUE(add()); }
    while (!heap.is_collecting()) {
        ASSERT_TRUE(add());
        heap.step({.steps = 1});
    }
    while (heap.is_collecting()) {
        if (heap.stats().free_size > 12 * 1024) { static_cast<void>(made(heap)); }
        heap.step({.steps = 4});
    }
    const std::uint64_t cycles = heap.stats().cycle_count;
    for (int i = 0; i < 3; ++i) { EXPECT_TRUE(heap.step({.steps = 20}).is_idle); }
    EXPECT_EQ(heap.stats().cycle_count, cycles);
    for (int i = 0; i < 65; ++i) { static_cast<void>(made(heap)); }
    EXPECT_FALSE(heap.step({.steps = 1}).is_idle) << "memory is as short as before";
}

struct quarter_kilobyte {
    ref<quarter_kilobyte> next;
    char filling[252] = {};
    using references = refers_to<&quarter_kilobyte::next>;
};
static_assert(sizeof(quarter_kilobyte) == 256);

TEST(collected_heap_test, a_full_heap_that_was_collected_owes_nothing) {
    collected_heap heap{256 * 1024};
    const root<quarter_kilobyte> first = heap.make<quarter_kilobyte>();
    while (quarter_kilobyte* const q = heap.make<quarter_kilobyte>()) {
        q->next = first->next;
        first->next = q;
    }
    EXPECT_EQ(heap.stats().free_size, 0u);
    heap.collect();
    EXPECT_TRUE(heap.step({.steps = 1}).is_idle);
}

TEST(collected_heap_test, what_only_a_raw_pointer_holds_lives_until_the_next_cycle_begins) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<node> kept = made(heap);
    kept->next = made(heap);
    kept->next->value[0] = 7;
    begin_marking(heap);
    node* const held = kept->next;
    kept->next = nullptr;  // its only reference is gone before it is traced
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    kept->next = held;
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(kept->next->value[0], 7u);
    heap.validate();
}

TEST(collected_heap_test, a_long_list_needs_no_stack) {
    collected_heap heap{8 << 20};
    const root<node> first = made(heap);
    for (int i = 0; i < 30'000; ++i) {
        node* const n = made(heap);
        n->next = first->next;
        first->next = n;
    }
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 30'001u);
    EXPECT_EQ(heap.stats().set_aside_count, 0u);
}

TEST(collected_heap_test, a_mark_stack_of_one_is_enough_for_any_graph_in_a_large_heap) {
    collected_heap heap{64 << 20, {.mark_stack_count = 1, .verify = true}};
    constexpr std::size_t count = 15'000;
    const root<node> first = made(heap);
    for (std::size_t i = 0; i < count; ++i) {  // a comb: each tooth waits while the next is seen
        node* const tooth = made(heap);
        tooth->next = made(heap);
        tooth->other = first->other;
        first->other = tooth;
    }
    for (int cycle = 0; cycle < 2; ++cycle) {
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 2 * count + 1);
        heap.validate();
    }
    EXPECT_GT(heap.stats().set_aside_count, count / 2);
}

/// 16 KiB and less: one chunk each.
struct chunkful {
    char bytes[9000] = {};
    using references = refers_to<>;
};
struct two_chunks {
    char bytes[17'000] = {};
    using references = refers_to<>;
};

TEST(collected_heap_test, no_free_chunk_is_passed_over) {
    collected_heap heap{3 << 20};
    std::vector<root<chunkful>> all;
    while (chunkful* const c = heap.make<chunkful>()) { all.emplace_back(c); }
    ASSERT_EQ(all.size(), 192u);
    const auto number = [](const void* p) {
        return (reinterpret_cast<std::uintptr_t>(p) & 0xFFFF'FFFF) / 16384;
    };
    std::size_t word = 0;  // where the second whole word of the chunks begins
    while (number(all[word].get()) % 64 != 0 || word < 64) { ++word; }
    const auto free = [&](std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) { all[i] = nullptr; }
        heap.collect();
    };
    const auto fill = [&](std::initializer_list<std::size_t> which) {
        for (const std::size_t i : which) {
            all[i] = heap.make<chunkful>();
            ASSERT_TRUE(all[i]) << i;
        }
        EXPECT_EQ(heap.make<chunkful>(), nullptr);
    };
    free({1, word});
    fill({1, word});
    // A large object passes over what is too small for it, which is not lost.
    free({1, 3, word + 5, word + 6});
    root<two_chunks> large = heap.make<two_chunks>();
    ASSERT_TRUE(large);
    fill({1, 3});
    heap.validate();
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

TEST(collected_heap_test, what_make_sweeps_is_work_of_make_too) {
    collected_heap heap{256 * 1024, {.work_in_make_max = 2 * 256}};
    const root<node> kept = made(heap);
    begin_marking(heap);
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    ASSERT_TRUE(heap.is_collecting());
    heap.step({.bytes = 0});
    while (heap.make<node>() != nullptr) {}
    EXPECT_EQ(heap.stats().work_in_make, 2u * 256) << "two chunks";
    heap.step({.bytes = 0});
    EXPECT_NE(heap.make<node>(), nullptr) << "and after a step two more";
}

// ---------------------------------------------------------------- budgets

TEST(collected_heap_test, a_step_of_no_time_does_nothing) {
    collected_heap heap{256 * 1024};
    const root<node> kept = made(heap);
    begin_marking(heap);
    const collection_report r = heap.step({.microseconds = 0});
    EXPECT_EQ(r.steps, 0u);
    EXPECT_EQ(r.bytes, 0u);
    EXPECT_FALSE(r.is_idle);
}

TEST(collected_heap_test, a_step_without_a_budget_does_its_part_of_the_cycle) {
    collected_heap heap{4 << 20};
    const root<node> first = made(heap);
    while (!heap.is_collecting()) {
        for (int i = 0; i < 100; ++i) {
            node* const n = made(heap);
            n->next = first->next;
            first->next = n;
        }
        heap.step();
    }
    static_cast<void>(made(heap));
    const collection_report r = heap.step();
    EXPECT_FALSE(r.cycle_ended) << "two megabytes live, and as many are free";
    EXPECT_LE(r.bytes, 64u * 1024);
    EXPECT_GT(r.bytes, 0u);
}

struct hub {
    ref_array<node> all;
    using references = refers_to<&hub::all>;
};
struct ending {
    ~ending() {}
    using references = refers_to<>;
};

TEST(collected_heap_test, no_phase_exceeds_its_budget_by_more_than_one_unit) {
    collected_heap heap{16 << 20};
    std::vector<root<node>> roots;
    const root<hub> h = heap.make<hub>();
    for (int i = 0; i < 6'000; ++i) {
        node* const n = made(heap);
        ASSERT_TRUE(h->all.push_back(n));
        if (i % 4 == 0) { roots.emplace_back(n); }
        if (i % 8 == 0) { ASSERT_NE(heap.make<ending>(), nullptr); }
    }
    for (int cycle = 0; cycle < 2; ++cycle) {
        heap.step({.steps = 1});
        while (!heap.is_collecting()) {
            static_cast<void>(made(heap));
            heap.step({.steps = 1});
        }
        std::size_t calls = 0;
        while (heap.is_collecting()) {
            const collection_report r = heap.step({.bytes = 1000});
            EXPECT_LE(r.bytes, 1000u + 1024u) << "a piece of an array is the largest unit";
            EXPECT_LE(r.steps, 1000u / 32 + 1);
            ++calls;
        }
        EXPECT_GT(calls, 100u);
        h->all.clear();
    }
    heap.validate();
}

TEST(collected_heap_test, steps_are_counted_exactly_and_replay) {
    std::vector<std::size_t> work[2];
    for (auto& w : work) {
        collected_heap heap{256 * 1024};
        const root<node> first = made(heap);
        for (int i = 0; i < 8'000; ++i) {
            node* const n = heap.make<node>();
            ASSERT_NE(n, nullptr);
            n->next = first->next;
            first->next = i % 100 == 0 ? nullptr : n;
            if (i % 20 == 0) { w.push_back(heap.step({.steps = 40}).bytes); }
        }
    }
    EXPECT_EQ(work[0], work[1]);
}

// ---------------------------------------------------------------- pacing

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

// Each frame replaces 20 of 2000 quests by new ones, which refer to four others, and rewires 20. The
// old ones live on for as long as others refer to them.
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

// ---------------------------------------------------------------- types

struct text {
    std::string content;
    using references = refers_to<>;
};
struct base {
    ref<node> first;
    using references = refers_to<&base::first>;
};
struct derived : base {
    ref<node> second[2];
    using references = refers_to<&derived::second>::and_base<base>;
};
struct by_call {
    ref<node> odd[3];
    ref_array<node> rest;
    void trace(cairn::visitor& v) const { v(odd, rest); }
};
struct many {
    ref<node> all[20];
    using references = refers_to<&many::all>;
};
struct alignas(64) aligned {
    ref<node> one;
    using references = refers_to<&aligned::one>;
};
struct huge {
    char before[20'000] = {};
    ref<node> far_away;
    using references = refers_to<&huge::far_away>;
};
struct giant {
    char before[70'000] = {};
    ref<node> far_away;
    using references = refers_to<&giant::far_away>;
};

TEST(collected_heap_test, the_references_of_every_kind_of_type_are_found) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<derived> d = heap.make<derived>();
    const root<by_call> c = heap.make<by_call>();
    const root<many> m = heap.make<many>();
    const root<aligned> a = heap.make<aligned>();
    const root<huge> h = heap.make<huge>();
    const root<giant> g = heap.make<giant>();
    d->first = made(heap);
    d->second[1] = made(heap);
    c->odd[2] = made(heap);
    ASSERT_TRUE(c->rest.push_back(made(heap)));
    m->all[19] = made(heap);
    a->one = made(heap);
    h->far_away = made(heap);
    g->far_away = made(heap);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) % 64, 0u);
    for (int i = 0; i < 3; ++i) {
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 6u + 8u + 1u);
        heap.validate();
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

TEST(collected_heap_test, large_objects_come_and_go) {
    collected_heap heap{1 << 20};
    root<huge> kept = heap.make<huge>();
    for (int i = 0; i < 1000; ++i) {
        huge* const h = heap.make<huge>();
        ASSERT_NE(h, nullptr) << i;
        kept->far_away = made(heap);
        heap.step();
    }
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 2u);
    kept = nullptr;
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 0u);
    heap.validate();
}

template <std::size_t Bytes>
struct filling {
    char bytes[Bytes] = {};
};
struct far_base {
    ref<node> held;
    using references = refers_to<&far_base::held>;
};
template <std::size_t Bytes>
struct far_behind : filling<Bytes>, far_base {
    using references = refers_to<>::and_base<far_base>;
};

TEST(collected_heap_test, an_object_that_is_referred_to_far_behind_its_beginning_lives) {
    for (const std::size_t stack : {0u, 1u, 2u}) {
        collected_heap heap{1 << 20, {.mark_stack_count = stack, .verify = true}};
        root<far_base> kept;
        if (stack == 2) {
            kept = heap.make<far_behind<20'000>>();  // in the second of its chunks
        } else {
            kept = heap.make<far_behind<40'000>>();  // in the third
        }
        kept->held = made(heap);
        const weak_ref<far_base> weak{kept.get()};
        for (int i = 0; i < 3; ++i) {
            heap.collect();
            EXPECT_EQ(heap.stats().object_count, 2u);
            heap.validate();
        }
        EXPECT_EQ(weak.get(), kept.get());
        kept = nullptr;
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 0u);
        EXPECT_EQ(weak.get(), nullptr);
    }
}

template <int Number>
struct numbered {
    int value = Number;
};
template <int... N>
int make_all(collected_heap& heap, std::integer_sequence<int, N...>) {
    return ((heap.make<numbered<N>>() != nullptr ? 1 : 0) + ...);
}

TEST(collected_heap_test, more_than_128_types_are_refused) {
    collected_heap heap{4 << 20};
    EXPECT_EQ(make_all(heap, std::make_integer_sequence<int, 140>{}), 128);
    EXPECT_EQ(heap.stats().type_count, 128u);
}

// ---------------------------------------------------------------- memory

TEST(collected_heap_test, a_heap_whose_memory_is_refused_refuses_everything) {
    cairn::page_allocator pages;
    cairn::failing memory{pages};
    memory.refuse_from(0);
    collected_heap heap{1 << 20, memory};
    EXPECT_EQ(heap.make<node>(), nullptr);
    EXPECT_TRUE(heap.step().is_idle);
    EXPECT_TRUE(heap.collect().is_idle);
    EXPECT_EQ(heap.capacity(), 0u);
    EXPECT_EQ(heap.stats().capacity, 0u);
    EXPECT_FALSE(heap.is_collecting());
    EXPECT_FALSE(heap.is_marking());
    heap.validate();
    memory.refuse_nothing();
    collected_heap other{1 << 20, memory};
    EXPECT_NE(other.make<node>(), nullptr);
    EXPECT_EQ(memory.request_count(), 2u) << "a heap is one request";
    heap = std::move(other);
    EXPECT_NE(heap.make<node>(), nullptr);
}

TEST(collected_heap_test, a_heap_smaller_than_a_chunk_refuses_everything) {
    collected_heap heap{1000};
    EXPECT_EQ(heap.make<node>(), nullptr);
    EXPECT_EQ(heap.make<huge>(), nullptr);
    EXPECT_TRUE(heap.collect().is_idle);
}

TEST(collected_heap_test, it_knows_its_own) {
    collected_heap heap{1 << 20};
    int outside = 0;
    EXPECT_TRUE(heap.owns(made(heap)));
    EXPECT_FALSE(heap.owns(&outside));
    EXPECT_FALSE(heap.owns(nullptr));
    const collected_heap other{1 << 20};
    EXPECT_FALSE(other.owns(made(heap)));
    const auto first = reinterpret_cast<std::uintptr_t>(made(heap)) & ~std::uintptr_t{16383};
    EXPECT_TRUE(heap.owns(reinterpret_cast<const void*>(first)));
    EXPECT_FALSE(heap.owns(reinterpret_cast<const void*>(first - 1))) << "the mark stack";
    EXPECT_TRUE(heap.owns(reinterpret_cast<const void*>(first + heap.capacity() - 1)));
    EXPECT_FALSE(heap.owns(reinterpret_cast<const void*>(first + heap.capacity())));
}

TEST(collected_heap_test, it_counts_its_memory) {
    collected_heap heap{1 << 20};
    EXPECT_EQ(heap.capacity(), 1u << 20);
    EXPECT_EQ(heap.stats().free_chunk_count, 64u);
    EXPECT_EQ(heap.stats().free_size, heap.capacity());
    const root<node> kept = made(heap);
    const root<huge> large = heap.make<huge>();
    const auto s = heap.stats();
    EXPECT_EQ(s.free_chunk_count, 61u) << "one for the nodes, two for the large one";
    EXPECT_GE(s.used_size, 48u + 2 * 16384);
    EXPECT_LE(s.used_size, 64u * 48 + 2 * 16384) << "make() takes 64 slots at a time, or fewer";
    EXPECT_EQ(s.used_size + s.free_size, s.capacity);
    EXPECT_EQ(s.allocated_size, s.used_size);
    EXPECT_EQ(s.object_count, 2u);
    EXPECT_EQ(s.root_count, 2u);
    EXPECT_EQ(s.type_count, 2u);
    EXPECT_EQ(s.cycle_count, 0u);
}

TEST(collected_heap_test, a_heap_that_is_moved_keeps_what_it_has) {
    collected_heap heap{1 << 20};
    {
        const root<node> kept = made(heap);
        collected_heap& itself = heap;
        heap = std::move(itself);
        EXPECT_EQ(heap.stats().object_count, 1u);
        collected_heap other = std::move(heap);
        EXPECT_TRUE(other.owns(kept.get()));
        EXPECT_EQ(heap.capacity(), 0u);
        EXPECT_EQ(heap.make<node>(), nullptr) << "nothing is left to what was moved from";
        heap = std::move(other);
        EXPECT_NE(heap.make<node>(), nullptr);
        EXPECT_EQ(other.capacity(), 0u);
    }
}

TEST(collected_heap_test, heaps_end_in_any_order) {
    auto oldest = std::make_unique<collected_heap>(std::size_t{1} << 20);
    collected_heap newer{1 << 20};
    collected_heap newest{1 << 20};
    oldest = nullptr;
    const root<node> a = made(newer);
    const root<node> b = made(newest);
    EXPECT_TRUE(a && b);
}

/// Begins the lives of references in other objects, in front of it and behind it.
struct renews {
    renews(node* before, node* behind) noexcept {
        for (node* const n : {before, behind}) { ::new (static_cast<void*>(&n->next)) ref<node>; }
    }
    ref<node> own;
    using references = refers_to<&renews::own>;
};

TEST(collected_heap_test, a_constructor_may_begin_references_of_other_objects) {
    collected_heap heap{1 << 20};
    std::vector<root<node>> nodes;
    nodes.emplace_back(made(heap));
    root<renews> first = heap.make<renews>(nodes[0].get(), nodes[0].get());
    while (nodes.back().get() < static_cast<void*>(first.get())) { nodes.emplace_back(made(heap)); }
    const root<renews> r = heap.make<renews>(nodes[0].get(), nodes.back().get());
    EXPECT_TRUE(r);
}

#if CAIRN_ASSERTS

using cairn::expect_broken_promise;

collected_heap* stepped = nullptr;
struct steps_when_it_ends {
    ~steps_when_it_ends() { stepped->step(); }
    using references = refers_to<>;
};
struct steps_when_it_begins {
    steps_when_it_begins() { stepped->step(); }
    ~steps_when_it_begins() {}
    using references = refers_to<>;
};
struct steps_when_traced {
    ref<node> n;
    void trace(cairn::visitor& v) {
        v(n);
        if (stepped != nullptr) { stepped->step(); }
    }
};
struct makes_when_traced {
    ref<node> n;
    void trace(cairn::visitor& v) {
        v(n);
        if (stepped != nullptr) { static_cast<void>(stepped->make<node>()); }
    }
};
/// Something that an object tries while it ends, to live on.
struct riser {
    void (*attempt)(riser& self) = nullptr;
    bool before = false;  // any destructor
    ref<riser> own;
    explicit riser(void (*f)(riser&), bool b) noexcept : attempt{f}, before{b}, own{this} {}
    void before_collect() noexcept {
        if (before) { attempt(*this); }
    }
    ~riser() {
        if (!before) { attempt(*this); }
    }
    using references = refers_to<&riser::own>;
};
struct lair {
    ref<riser> any;
    ref_array<riser> all;
    lair() = default;
    explicit lair(riser* r) noexcept : any{r} {}
    using references = refers_to<&lair::any, &lair::all>;
};
lair* living = nullptr;
root<riser>* root_outside = nullptr;

TEST(collected_heap_test, steps_inside_of_destructors_constructors_and_traces_are_named) {
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    stepped = &heap;
                    (void)heap.make<steps_when_it_ends>();
                    heap.collect();
                }).says("begins no step of its heap"));
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    stepped = &heap;
                    (void)heap.make<steps_when_it_begins>();
                }).says("a constructor begins no step of its heap"));
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    const root<makes_when_traced> r = heap.make<makes_when_traced>();
                    stepped = &heap;
                    heap.collect();
                }).says("a trace makes no objects"));
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    const root<steps_when_traced> r = heap.make<steps_when_traced>();
                    stepped = &heap;
                    heap.collect();
                }).says("begins no step of its heap"));
    stepped = nullptr;
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20};
                    const root<steps_when_traced> r = heap.make<steps_when_traced>();
                    stepped = &heap;
                    r->n = nullptr;  // checked builds ask what the type tells
                }).says("a trace, a destructor or a before_collect begins no step"));
    stepped = nullptr;
}

/// What is said when `attempt` is made by an object that ends.
auto resurrection(void (*attempt)(riser&), bool before) {
    return expect_broken_promise([&] {
        collected_heap heap{1 << 20};
        root<riser> outside;
        root_outside = &outside;
        stepped = &heap;
        const root<lair> l = heap.make<lair>();
        living = l.get();
        static_cast<void>(heap.make<riser>(attempt, before));
        heap.collect();
    });
}

TEST(collected_heap_test, an_object_that_makes_itself_reachable_at_its_end_is_named) {
    using attempt = void (*)(riser&);
    const attempt attempts[] = {
        [](riser& r) { living->any = &r; },
        [](riser& r) { static_cast<void>(living->all.push_back(&r)); },
        [](riser& r) { *root_outside = &r; },
        [](riser& r) { static_cast<void>(weak_ref<riser>{&r}); },
        [](riser& r) { static_cast<void>(stepped->make<lair>(&r)); },
    };
    for (const attempt a : attempts) {
        for (const bool before : {true, false}) {
            EXPECT_TRUE(resurrection(a, before).says("what is garbage stays garbage"))
                << &a - attempts << before;
        }
    }
}

TEST(collected_heap_test, a_root_that_is_made_while_the_heap_ends_is_named) {
    EXPECT_TRUE(expect_broken_promise([] {
                    root<riser> outside;
                    root_outside = &outside;
                    collected_heap heap{1 << 20};
                    (void)heap.make<riser>([](riser& r) { *root_outside = &r; }, false);
                }).says("a root ends before its heap"));
}

TEST(collected_heap_test, a_store_around_the_barrier_is_found_by_the_second_walk) {
    EXPECT_TRUE(expect_broken_promise([] {
                    collected_heap heap{1 << 20, {.verify = true}};
                    const root<node> kept = made(heap);
                    kept->next = made(heap);
                    begin_marking(heap);  // the root was looked at, and nothing more
                    node* const black = made(heap);
                    black->next = kept->next;
                    std::memset(static_cast<void*>(&kept->next), 0, sizeof(kept->next));
                    kept->other = black;
                    while (heap.is_collecting()) { heap.step({.steps = 1}); }
                }).says("what is reachable when marking ends is marked"));
}

#endif

}  // namespace
