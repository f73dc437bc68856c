// Sentences of cairn/collected/marking_worker.hpp about who waits, and how the heap goes on alone.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "collected/marking_worker/lists.hpp"
#include "support/sanitizers.hpp"

#if defined(__linux__)
#    include <poll.h>
#    include <pthread.h>
#    include <signal.h>
#    include <sys/mman.h>
#endif

namespace {

using namespace lists;

TEST(marking_worker_test, the_heap_goes_on_alone_wherever_the_worker_is) {
    for (std::size_t units = 0; units < 60; ++units) {
        collected_heap heap{1 << 18, {.verify = true}};
        marking_worker worker;
        ASSERT_TRUE(heap.mark_on(worker));
        root<squad> first;
        make_squads(heap, first, 3);
        root<node> list;
        make_list(heap, list, 20);
        begin_marking(heap);
        heap.step({.steps = 3});  // the other root, and what a node and a squad refer to
        for (std::size_t i = 0; i < units; ++i) { static_cast<void>(worker.run({.steps = 1})); }
        node* const last = behind(list, 10);
        const root<thing> cut{last->at[0]};
        last->at[0] = nullptr;
        if (units % 4 < 2) {
            heap.step({.steps = 1});  // leaves to the worker what was overwritten
        } else {
            heap.step({.bytes = units % 7});
        }
        if (units % 2 == 0) {
            heap.mark_alone();
        } else {
            marking_worker other;
            ASSERT_TRUE(heap.mark_on(other));
            static_cast<void>(other.run({.steps = 5}));
        }  // and so ends a worker
        EXPECT_FALSE(worker.run());
        list->at[1] = cut.get();
        end_cycle(heap);
        ASSERT_EQ(count_squads(first), 3u);
        ASSERT_EQ(length_of(list), 11u);
        ASSERT_EQ(length_of(list->at[1]), 9u);
        heap.validate();
    }
}

TEST(marking_worker_test, make_and_collect_finish_what_it_has_begun) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 1000);
    begin_marking(heap);
    heap.step({.bytes = 200});
    EXPECT_TRUE(worker.run({.steps = 10}));
    const std::uint64_t cycles = heap.stats().cycle_count;
    int made = 0;
    while (heap.is_marking() && heap.make<filler>() != nullptr) { ++made; }
    EXPECT_FALSE(heap.is_marking()) << "make() has ended it when memory was short";
    EXPECT_FALSE(worker.run());
    heap.collect();
    EXPECT_EQ(heap.stats().cycle_count, cycles + 2);
    EXPECT_EQ(length_of(first), 1000u);
    EXPECT_GT(made, 0);
}

TEST(marking_worker_test, a_heap_ends_with_its_worker_at_work_and_the_worker_marks_for_another) {
    marking_worker worker;
    for (int i = 0; i < 3; ++i) {
        collected_heap heap{1 << 18};
        ASSERT_TRUE(heap.mark_on(worker));
        root<node> first;
        make_list(heap, first, 1000);
        begin_marking(heap);
        heap.step({.bytes = 200});
        EXPECT_TRUE(worker.run({.steps = 10}));
    }
    EXPECT_FALSE(worker.run());
}

TEST(marking_worker_test, without_memory_for_it_the_heap_marks_by_itself) {
    cairn::page_allocator pages;
    cairn::failing<cairn::page_allocator&> upstream{pages};
    marking_worker worker;
    collected_heap heap{1 << 18, upstream};
    upstream.refuse_from(1);
    EXPECT_FALSE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 100);
    begin_marking(heap);
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 100u);
    collected_heap none{std::size_t{1} << 18, upstream};
    EXPECT_FALSE(none.mark_on(worker));
    none.mark_alone();
}

#if defined(__linux__)

void* closed_page = nullptr;
std::atomic<bool> is_stopped{false};
std::atomic<bool> may_go_on{false};

std::atomic<bool> was_touched_by_program{false};
pthread_t program_thread;

/// Where the worker touches the page, it waits.
void stop_here(int) {
    if (pthread_equal(pthread_self(), program_thread) != 0) {
        was_touched_by_program.store(true);
    } else {
        is_stopped.store(true);
        while (!may_go_on.load()) { poll(nullptr, 0, 1); }
    }
    mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
}

TEST(marking_worker_test, a_step_does_not_wait_for_a_worker_that_is_stopped_in_the_middle) {
    if (under_tsan) { GTEST_SKIP() << "it holds signals back"; }
    collected_heap heap{4 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 20'000);
    const node* const middle = behind(first, 10'000);
    node* const last = behind(first, 15'000);
    begin_marking(heap);
    heap.step({.bytes = 1000});  // learns where a node's references are
    closed_page =
        reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(middle) & ~std::uintptr_t{4095});
    struct sigaction stopping = {};
    struct sigaction before = {};
    stopping.sa_handler = stop_here;
    program_thread = pthread_self();
    sigaction(SIGSEGV, &stopping, &before);
    ASSERT_EQ(mprotect(closed_page, 4096, PROT_NONE), 0);
    std::thread thread{[&] { static_cast<void>(worker.run()); }};
    while (!is_stopped.load()) { std::this_thread::yield(); }

    thing* const cut = last->at[0];
    last->at[0] = nullptr;
    std::vector<thing*> unmarked{cut};
    while (unmarked.size() < 2000) { unmarked.push_back(behind(unmarked.back(), 1)); }
    for (int i = 0; i < 2000; ++i) {
        node* const n = heap.make<node>(0u);
        ASSERT_NE(n, nullptr);
        n->at[0] = first->at[1].get();
        first->at[1] = unmarked.back();
        first->at[1] = n;  // the log overflows again and again
        unmarked.pop_back();
        if (i % 400 == 199) { EXPECT_EQ(heap.step({.microseconds = 50}).bytes, 0u); }
        if (i % 400 == 399) { EXPECT_EQ(heap.step().bytes, 0u); }
    }
    EXPECT_TRUE(heap.is_marking());
    EXPECT_FALSE(was_touched_by_program.load());
    first->at[2] = cut;
    may_go_on.store(true);
    thread.join();
    sigaction(SIGSEGV, &before, nullptr);
    heap.collect();
    EXPECT_EQ(length_of(first), 15'001u);
    EXPECT_EQ(length_of(first->at[2]), 4'999u);
    EXPECT_EQ(length_of(first->at[1]), 2000u);
}

#endif

#if defined(__cpp_exceptions)
/// Of chunks of its own. It shows itself before it fails.
struct bulky : thing {
    explicit bulky(node& seen_in) : thing{7, false} {
        seen_in.at[1] = this;
        seen_in.at[1] = nullptr;
        throw 7;
    }
    char bytes[20'000];
    using references = refers_to<>;
};

TEST(marking_worker_test, a_large_object_that_was_never_built_goes_when_the_worker_has_let_go) {
    constexpr std::uint32_t count = 3000;
    collected_heap heap{4 << 20};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, count);
    std::atomic<bool> is_over{false};
    std::thread thread{[&] {
        while (!is_over.load()) {
            if (!worker.run()) { std::this_thread::yield(); }
        }
    }};
    int thrown = 0;
    for (int cycle = 0; cycle < 20; ++cycle) {
        begin_marking(heap);
        node* n = first.get();
        for (int i = 0; i < 200 && heap.is_marking(); ++i, n = behind(n, 10)) {
            try {
                (void)heap.make<bulky>(*n);
            } catch (int) { ++thrown; }
            heap.step({.bytes = 64});
        }
        end_cycle(heap);
    }
    is_over.store(true);
    thread.join();
    EXPECT_GE(thrown, 20);
    EXPECT_EQ(length_of(first), count);
    heap.validate();
}
#endif

}  // namespace
