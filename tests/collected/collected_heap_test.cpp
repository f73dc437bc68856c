// collected_heap: what is made, when it ends, what a step may cost.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// ---------------------------------------------------------------- budgets

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
            EXPECT_LE(r.bytes, 1000u + 512u) << "a piece of an array is the largest unit";
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
    const std::size_t budget = heap.required_budget(
        {.live_max = live_max, .allocated_per_frame = a_frame * 48, .roots = 1, .types = 3});
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

TEST(collected_heap_test, the_references_of_every_kind_of_type_are_found) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<derived> d = heap.make<derived>();
    const root<by_call> c = heap.make<by_call>();
    const root<many> m = heap.make<many>();
    const root<aligned> a = heap.make<aligned>();
    const root<huge> h = heap.make<huge>();
    d->first = made(heap);
    d->second[1] = made(heap);
    c->odd[2] = made(heap);
    ASSERT_TRUE(c->rest.push_back(made(heap)));
    m->all[19] = made(heap);
    a->one = made(heap);
    h->far_away = made(heap);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) % 64, 0u);
    for (int i = 0; i < 3; ++i) {
        heap.collect();
        EXPECT_EQ(heap.stats().object_count, 5u + 7u + 1u);
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

struct filling {
    char bytes[40'000] = {};
};
struct far_base {
    ref<node> held;
    using references = refers_to<&far_base::held>;
};
struct far_behind : filling, far_base {
    using references = refers_to<>::and_base<far_base>;
};

TEST(collected_heap_test, an_object_that_is_referred_to_far_behind_its_beginning_lives) {
    for (const std::size_t stack : {0u, 1u}) {
        collected_heap heap{1 << 20, {.mark_stack_count = stack, .verify = true}};
        root<far_base> kept = heap.make<far_behind>();
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
