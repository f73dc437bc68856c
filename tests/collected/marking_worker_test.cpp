#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/os/page_allocator.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "support/sanitizers.hpp"

#if defined(__linux__)
#    include <poll.h>
#    include <pthread.h>
#    include <signal.h>
#    include <sys/mman.h>
#endif

namespace {

using cairn::collected_heap;
using cairn::collected_heap_options;
using cairn::collection_budget;
using cairn::marking_worker;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;
using cairn::weak_ref;

struct thing {
    std::uint32_t number;
    bool is_squad;
    using references = refers_to<>;
};
/// What a worker traces.
struct node : thing {
    explicit node(std::uint32_t n) noexcept : thing{n, false} {}
    ref<thing> at[3];
    using references = refers_to<&node::at>::and_base<thing>;
};
/// What it keeps for the program; the array's memory is the worker's again.
struct squad : thing {
    explicit squad(std::uint32_t n) noexcept : thing{n, true} {}
    ref_array<thing> members;
    void trace(cairn::visitor& v) { v(members); }
};
/// So that a cycle begins soon.
struct filler {
    filler() noexcept {}
    char bytes[4000];
};

/// Makes garbage until a cycle is marking, all roots looked at.
void begin_marking(collected_heap& heap) {
    while (!heap.is_marking()) {
        ASSERT_NE(heap.make<filler>(), nullptr);
        heap.step({.steps = 0});
    }
    heap.step({.steps = 1});
}
void end_cycle(collected_heap& heap) {
    while (heap.is_collecting()) { heap.step({.bytes = 1000}); }
}

/// 1 -> 2 -> .. -> count
node* make_list(collected_heap& heap, root<node>& first, std::uint32_t count) {
    for (std::uint32_t i = count; i != 0; --i) {
        node* const n = heap.make<node>(i);
        if (n == nullptr) { return nullptr; }
        n->at[0] = first.get();
        first = n;
    }
    return first;
}
std::uint32_t length_of(const thing* first) {
    std::uint32_t length = 0;
    for (; first != nullptr; first = static_cast<const node*>(first)->at[0]) { ++length; }
    return length;
}
/// So many references behind `from`.
node* behind(thing* from, int count) {
    for (; count != 0; --count) { from = static_cast<node*>(from)->at[0]; }
    return static_cast<node*>(from);
}

TEST(marking_worker_test, marks_what_the_step_then_has_not_to_mark) {
    constexpr std::uint32_t count = 5000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    EXPECT_FALSE(worker.run()) << "no cycle is marking";
    root<node> first;
    make_list(heap, first, count);
    begin_marking(heap);
    heap.step({.bytes = 2 * sizeof(node)});  // learns where a node's references are
    EXPECT_FALSE(worker.run()) << "what is left is the program's: the end";
    EXPECT_TRUE(heap.is_marking());
    const std::size_t bytes = heap.step({.steps = 10}).bytes;
    EXPECT_FALSE(heap.is_marking());
    EXPECT_LT(bytes, 10'000u);
    end_cycle(heap);
    const cairn::collection_cycle c = heap.stats().last_cycle;
    EXPECT_GE(c.work_by_worker, (count - 10) * sizeof(node));
    EXPECT_GE(c.bytes, c.work_by_worker);
    EXPECT_EQ(length_of(first), count);
}

TEST(marking_worker_test, what_it_has_marked_is_taken_off_a_budget_of_bytes) {
    collected_heap heap{1 << 20};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 5000);
    begin_marking(heap);
    heap.step({.bytes = 1000});
    EXPECT_TRUE(worker.run({.bytes = 30'000})) << "there is more to mark";
    EXPECT_LT(heap.step({.bytes = 31'000}).bytes, 1100u) << "the worker has paid most of it";
    EXPECT_GE(heap.step({.bytes = 31'000}).bytes, 31'000u) << "and nothing since then";
    EXPECT_TRUE(heap.is_marking());
}

/// Its references are paid for, not its slot of 64 bytes.
struct hub : thing {
    explicit hub(std::uint32_t n) noexcept : thing{n, false} {}
    ref<hub> at[14];
    using references = refers_to<&hub::at>::and_base<thing>;
};

TEST(marking_worker_test, pays_as_much_as_the_program_for_an_object_of_many_references) {
    constexpr std::uint32_t count = 3000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<hub> first;
    for (std::uint32_t i = 0; i < count; ++i) {
        hub* const h = heap.make<hub>(i);
        ASSERT_NE(h, nullptr);
        h->at[0] = first.get();
        first = h;
    }
    begin_marking(heap);
    heap.step({.bytes = 200});
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    const std::uint64_t price = sizeof(hub::at) / sizeof(ref<hub>) * 8;
    EXPECT_GE(heap.stats().last_cycle.work_by_worker, (count - 10) * price);
    EXPECT_LE(heap.stats().last_cycle.work_by_worker, count * price);
}

TEST(marking_worker_test, a_step_with_a_limit_of_units_leaves_marking_to_a_worker_that_marks) {
    collected_heap heap{1 << 20};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 5000);
    begin_marking(heap);
    heap.step({.bytes = 1000});
    EXPECT_TRUE(worker.run({.steps = 100}));
    EXPECT_EQ(heap.step({.steps = 50}).steps, 0u);
    EXPECT_EQ(heap.step({.steps = 50}).steps, 50u) << "but not to one that has no time";
}

TEST(marking_worker_test, a_cycle_ends_without_any_run) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 500);
    begin_marking(heap);
    end_cycle(heap);
    EXPECT_EQ(heap.stats().last_cycle.work_by_worker, 0u);
    EXPECT_EQ(length_of(first), 500u);
}

TEST(marking_worker_test, what_only_a_raw_pointer_holds_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 100);
    begin_marking(heap);
    heap.step({.steps = 1});
    node* const last = behind(first, 49);
    thing* const cut = last->at[0];
    last->at[0] = nullptr;
    static_cast<void>(worker.run());
    first->at[1] = cut;  // first has been traced
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 50u);
    EXPECT_EQ(length_of(first->at[1]), 50u);
}

TEST(marking_worker_test, every_value_that_is_overwritten_stays_however_many_there_are) {
    constexpr std::uint32_t count = 3000;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> all = heap.make<squad>(0u);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_TRUE(all->members.push_back(heap.make<node>(i)));
    }
    begin_marking(heap);
    std::vector<thing*> held;
    for (std::uint32_t i = 0; i < count; ++i) {
        held.push_back(all->members[i]);
        all->members.set(i, nullptr);
        if (i % 700 == 0) { static_cast<void>(worker.run({.steps = 30})); }
    }
    EXPECT_FALSE(worker.run());
    for (std::uint32_t i = 0; i < count; ++i) { all->members.set(i, held[i]); }
    held.clear();
    end_cycle(heap);
    for (std::uint32_t i = 0; i < count; ++i) { ASSERT_EQ(all->members[i]->number, i); }
}

struct leaf : thing {
    explicit leaf(std::uint32_t n) noexcept : thing{n, false} {}
    using references = refers_to<>;
};

TEST(marking_worker_test, marking_does_not_end_while_values_that_were_overwritten_are_left) {
    constexpr std::uint32_t count = 1500;
    collected_heap heap{1 << 20, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, count);
    for (node* n = first; n != nullptr; n = behind(n, 1)) { n->at[1] = heap.make<leaf>(n->number); }
    heap.collect();  // learns where a node's references are
    begin_marking(heap);
    const root<squad> kept = heap.make<squad>(0u);  // nothing looks into it
    for (node* n = first; n != nullptr; n = behind(n, 1)) {
        ASSERT_TRUE(kept->members.push_back(n->at[1]));
        n->at[1] = nullptr;
    }
    EXPECT_FALSE(worker.run()) << "what is left was not handed over";
    heap.step({.steps = 1});
    EXPECT_TRUE(heap.is_marking());
    end_cycle(heap);
    for (std::uint32_t i = 0; i < count; ++i) { ASSERT_EQ(kept->members[i]->number, i + 1); }
}

TEST(marking_worker_test, what_is_read_weakly_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first = heap.make<node>(1u);
    weak_ref<node> second{heap.make<node>(2u)};
    second.get()->at[0] = heap.make<node>(3u);
    begin_marking(heap);
    EXPECT_FALSE(worker.run());
    first->at[0] = second.get();
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 3u);
}

TEST(marking_worker_test, what_is_made_while_it_marks_stays) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<node> first;
    make_list(heap, first, 100);
    begin_marking(heap);
    static_cast<void>(worker.run({.steps = 10}));
    make_list(heap, first, 100);
    EXPECT_FALSE(worker.run());
    end_cycle(heap);
    EXPECT_EQ(length_of(first), 200u);
}

/// squad -> squad -> ..., each with a node.
squad* make_squads(collected_heap& heap, root<squad>& first, std::uint32_t count) {
    for (std::uint32_t i = count; i != 0; --i) {
        root<squad> s = heap.make<squad>(i);
        if (!s->members.push_back(heap.make<node>(i)) || !s->members.push_back(first)) {
            return nullptr;
        }
        first = s;
    }
    return first;
}
std::uint32_t count_squads(const squad* s) {
    std::uint32_t count = 0;
    for (; s != nullptr; s = static_cast<const squad*>(s->members[1])) {
        count += s->number == s->members[0]->number ? 1u : 0u;
    }
    return count;
}

TEST(marking_worker_test, objects_with_a_trace_of_their_own_are_the_programs) {
    collected_heap heap{1 << 18, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> first;
    make_squads(heap, first, 30);
    begin_marking(heap);
    int turns = 0;
    while (heap.is_marking()) {
        EXPECT_FALSE(worker.run()) << "it waits for the next step";
        heap.step({.bytes = 100});
        ASSERT_LT(++turns, 200);
    }
    EXPECT_GT(turns, 10);
    end_cycle(heap);
    EXPECT_EQ(count_squads(first), 30u);
}

TEST(marking_worker_test, so_they_are_with_a_mark_stack_of_two) {
    collected_heap heap{1 << 18, {.mark_stack_count = 2, .verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<squad> all = heap.make<squad>(0u);
    for (std::uint32_t i = 0; i < 30; ++i) {
        root<squad> of;
        make_squads(heap, of, 3);
        ASSERT_TRUE(all->members.push_back(of));
    }
    begin_marking(heap);
    while (heap.is_marking()) {
        EXPECT_FALSE(worker.run());
        heap.step({.bytes = 100});
    }
    end_cycle(heap);
    EXPECT_GT(heap.stats().set_aside_count, 10u);
    for (std::uint32_t i = 0; i < 30; ++i) {
        ASSERT_EQ(count_squads(static_cast<squad*>(all->members[i])), 3u);
    }
}

struct long_head {
    char bytes[20'000] = {};
};
struct tail {
    int number = 7;
};
struct large : long_head, tail {
    large() noexcept {}
    ref<large> next;
    using references = refers_to<&large::next>;
};
struct has_tail {
    ref<tail> of_large;
    using references = refers_to<&has_tail::of_large>;
};

TEST(marking_worker_test, a_large_object_is_found_by_its_end_in_each_cycle) {
    collected_heap heap{1 << 19, {.verify = true}};
    marking_worker worker;
    ASSERT_TRUE(heap.mark_on(worker));
    root<has_tail> first = heap.make<has_tail>();
    large* const l = heap.make<large>();
    first->of_large = l;
    l->next = heap.make<large>();
    for (int cycle = 0; cycle < 4; ++cycle) {
        begin_marking(heap);
        heap.step({.steps = cycle == 0 ? 4u : 1u});  // at first it learns where references are
        EXPECT_FALSE(worker.run());
        end_cycle(heap);
        EXPECT_EQ(first->of_large->number, 7);
        EXPECT_EQ(static_cast<large*>(first->of_large.get())->next->number, 7);
    }
}

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

// ------------------------------------------------------------------------------------------------
// Random graphs against a model that knows what is reachable: in the heap each object has a number,
// and its references are the numbers of others.

class model {
public:
    model(std::uint32_t seed, std::size_t size, const collected_heap_options& how)
        : random_{seed}, heap_{size, how} {
        EXPECT_TRUE(heap_.mark_on(worker_));
    }
    ~model() {
        roots_.clear();
        heap_.collect();
        EXPECT_EQ(heap_.stats().object_count, 0u) << "without roots nothing is left";
    }
    marking_worker& worker() { return worker_; }

    /// `between` is called after each operation.
    template <class Between>
    void run(int operations, Between between) {
        for (int i = 1; i <= operations && !testing::Test::HasFailure(); ++i) {
            operate();
            between(*this);
            if (i % 500 == 0) {
                heap_.validate();
                check(i % 2000 == 0);
            }
        }
    }
    std::uint32_t any(std::size_t count) { return static_cast<std::uint32_t>(random_() % count); }
    [[nodiscard]] cairn::collected_heap_stats stats() const { return heap_.stats(); }
    [[nodiscard]] std::uint64_t work_by_worker() const { return work_by_worker_; }

private:
    struct rooted {
        root<thing> in_heap;
        std::uint32_t number = 0;
    };

    void operate() {
        const std::uint32_t what = any(100);
        if (what < 50) {
            make();
        } else if (what < 70) {
            if (thing* const parent = pick()) { set(parent, any(4) == 0 ? nullptr : pick()); }
        } else if (what < 71) {
            change_roots();
        } else if (what < 80) {
            use_weak();
        } else {
            held_.clear();
            step();
        }
    }
    void step() {
        switch (any(24)) {
            case 0:
                heap_.step({.bytes = 1 + any(3000)});
                break;
            case 1:
                heap_.step({.microseconds = any(3)});
                break;
            case 2:
                if (any(20) == 0) { heap_.collect(); }
                break;
            case 3:
                if (any(20) == 0) { ASSERT_TRUE(heap_.mark_on(worker_again())); }
                break;
            default:
                heap_.step({.steps = 1 + any(3)});
                break;
        }
        const cairn::collection_cycle c = heap_.stats().last_cycle;
        if (c.number != last_cycle_) { work_by_worker_ += c.work_by_worker; }
        last_cycle_ = c.number;
    }
    marking_worker& worker_again() {
        heap_.mark_alone();
        return worker_;
    }

    /// Something that is reachable, or was since the last safe point. Nullptr: nothing is.
    thing* pick() {
        if (any(4) == 0 && !held_.empty()) { return held_[any(held_.size())]; }
        if (roots_.empty()) { return nullptr; }
        const rooted& from = roots_[any(roots_.size())];
        thing* at = from.in_heap.get();
        EXPECT_EQ(at->number, from.number);
        for (std::uint32_t steps = any(12); steps != 0; --steps) {
            const std::vector<std::uint32_t>& fields = fields_[at->number];
            if (fields.empty()) { break; }
            const std::uint32_t i = any(fields.size());
            thing* const next = read(at, i);
            EXPECT_EQ(next == nullptr ? 0 : next->number, fields[i]);
            if (next == nullptr) { break; }
            at = next;
        }
        if (held_.size() < 8) { held_.push_back(at); }
        return at;
    }
    static thing* read(thing* from, std::uint32_t i) {
        return from->is_squad ? static_cast<squad*>(from)->members[i]
                              : static_cast<node*>(from)->at[i].get();
    }

    void make() {
        const std::uint32_t n = ++last_number_;
        thing* made = nullptr;
        if (any(4) == 0) { static_cast<void>(heap_.make<filler>()); }
        if (any(6) == 0) {
            made = heap_.make<squad>(n);
        } else {
            made = heap_.make<node>(n);
        }
        if (made == nullptr) {
            if (!roots_.empty()) { drop_root(any(roots_.size())); }
            return;
        }
        fields_[n].assign(made->is_squad ? 0 : 3, 0);
        thing* const parent = pick();
        if (parent == nullptr || any(16) == 0) {
            if (roots_.size() == 64) { drop_root(any(64)); }
            roots_.push_back({root<thing>{made}, n});
        } else {
            set(parent, made);
        }
    }
    void set(thing* parent, thing* to) {
        std::vector<std::uint32_t>& fields = fields_[parent->number];
        const std::uint32_t number = to == nullptr ? 0 : to->number;
        if (parent->is_squad) {
            ref_array<thing>& members = static_cast<squad*>(parent)->members;
            ASSERT_EQ(members.size(), fields.size());
            const std::uint32_t what = any(8);
            if (what < 4 && fields.size() < 300) {
                for (std::uint32_t i = any(8) == 0 ? 40 : 1; i != 0; --i) {
                    if (!members.push_back(to)) { return; }
                    fields.push_back(number);
                }
                return;
            }
            if (fields.empty()) { return; }
            const std::uint32_t i = any(fields.size());
            if (what == 4) {
                members.erase(i);
                fields.erase(fields.begin() + i);
            } else if (what == 5 && any(8) == 0) {
                members.clear();
                fields.clear();
            } else {
                members.set(i, to);
                fields[i] = number;
            }
        } else {
            std::uint32_t i = any(3);
            if (fields[i] != 0) { i = any(3); }
            // Often enough that the log is full before the next step.
            for (std::uint32_t times = any(32) == 0 ? 150 : 1; times != 0; --times) {
                static_cast<node*>(parent)->at[i] = to;
            }
            fields[i] = number;
        }
    }
    void drop_root(std::uint32_t i) {
        roots_[i] = std::move(roots_.back());
        roots_.pop_back();
    }
    void change_roots() {
        if (roots_.empty()) { return; }
        const std::uint32_t i = any(roots_.size());
        if (any(3) == 0 && roots_.size() > 2) {
            drop_root(i);
        } else if (thing* const other = pick(); other != nullptr) {
            roots_[i] = {root<thing>{other}, other->number};
        }
    }
    void use_weak() {
        if (weak_.size() < 32) {
            if (thing* const t = pick()) { weak_.emplace_back(weak_ref{t}, t->number); }
            return;
        }
        auto& [weak, number] = weak_[any(weak_.size())];
        thing* const t = weak.get();
        if (t != nullptr) {
            EXPECT_EQ(t->number, number) << "a weak reference never leads to another object";
            if (held_.size() < 8) { held_.push_back(t); }
        }
        if (t == nullptr || any(4) == 0) {
            std::swap(weak, weak_.back().first);
            std::swap(number, weak_.back().second);
            weak_.pop_back();
        }
    }

    /// Compares all that is reachable; `exactly`: after a collection, that nothing else is there.
    void check(bool exactly) {
        if (exactly) {
            held_.clear();
            heap_.collect();
        }
        std::unordered_map<std::uint32_t, thing*> reached;
        std::vector<thing*> open;
        const auto reach = [&](thing* t, std::uint32_t number) {
            ASSERT_NE(t, nullptr);
            ASSERT_EQ(t->number, number) << "what is reachable is never freed";
            if (reached.emplace(number, t).second) { open.push_back(t); }
        };
        std::size_t buffers = 0;
        for (const rooted& r : roots_) { reach(r.in_heap, r.number); }
        while (!open.empty() && !testing::Test::HasFatalFailure()) {
            thing* const t = open.back();
            open.pop_back();
            const std::vector<std::uint32_t>& fields = fields_[t->number];
            for (std::uint32_t i = 0; i < fields.size(); ++i) {
                if (fields[i] != 0) { reach(read(t, i), fields[i]); }
            }
            const bool has_buffer = t->is_squad && static_cast<squad*>(t)->members.capacity() != 0;
            buffers += has_buffer ? 1u : 0u;
        }
        if (exactly) {
            EXPECT_EQ(heap_.stats().object_count, reached.size() + buffers)
                << "what is not reachable is gone";
            std::erase_if(fields_, [&](const auto& f) { return !reached.contains(f.first); });
        }
    }

    std::mt19937 random_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> fields_;  // 0: null
    marking_worker worker_;
    collected_heap heap_;
    std::vector<rooted> roots_;
    std::vector<std::pair<weak_ref<thing>, std::uint32_t>> weak_;
    std::vector<thing*> held_;  // raw pointers, since the last safe point
    std::uint32_t last_number_ = 0;
    std::uint64_t last_cycle_ = 0;
    std::uint64_t work_by_worker_ = 0;
};

constexpr std::uint32_t seed = 20261122;

/// On the program's thread, so that each run is the same.
constexpr auto run_in_pieces = [](model& m) {
    if (m.any(2) == 0) { static_cast<void>(m.worker().run({.steps = 1 + m.any(12)})); }
};

TEST(marking_worker_model_test, pieces_between_any_two_operations_lose_nothing) {
    model m{seed, 512 * 1024, {.verify = true}};
    m.run(20'000, run_in_pieces);
    EXPECT_GT(m.stats().cycle_count, 10u);
    EXPECT_GT(m.work_by_worker(), 100'000u);
}

TEST(marking_worker_model_test, nor_with_a_mark_stack_of_two) {
    model m{seed + 1, 384 * 1024, {.mark_stack_count = 2, .verify = true}};
    m.run(10'000, run_in_pieces);
    EXPECT_GT(m.stats().set_aside_count, 100u);
}

TEST(marking_worker_model_test, nor_where_memory_runs_out_again_and_again) {
    model m{seed + 2, 256 * 1024, {.verify = true}};
    m.run(10'000, run_in_pieces);
    EXPECT_GT(m.stats().work_in_make, 100'000u);
    EXPECT_GT(m.work_by_worker(), 1000u);
}

TEST(marking_worker_model_test, nor_does_a_thread_beside_the_program) {
    model m{seed + 3, 512 * 1024, {.verify = true}};
    std::atomic<bool> stops{false};
    std::thread thread{[&] {
        while (!stops.load(std::memory_order_relaxed)) {
            if (!m.worker().run({.bytes = 20'000})) { std::this_thread::yield(); }
        }
    }};
    m.run(20'000, [](model&) {});
    stops.store(true, std::memory_order_relaxed);
    thread.join();
    EXPECT_GT(m.stats().cycle_count, 5u);
}

TEST(marking_worker_model_test, nor_do_jobs_on_threads_that_take_turns) {
    model m{seed + 4, 384 * 1024, {.verify = true}};
    std::atomic<bool> stops{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!stops.load(std::memory_order_relaxed)) {
                static_cast<void>(m.worker().run({.steps = 10}));
                std::this_thread::yield();
            }
        });
    }
    m.run(10'000, [](model&) {});
    stops.store(true, std::memory_order_relaxed);
    for (std::thread& t : threads) { t.join(); }
    EXPECT_GT(m.stats().cycle_count, 5u);
}

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
