// Misuse of collected_heap that checked builds name.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/testing/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <cstring>
#include <new>

#include "collected/collected_heap/nodes.hpp"

#if CAIRN_ASSERTS

namespace {

using namespace nodes;

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
                    r->n = nullptr;  // checked builds ask the type for its references
                }).says("a trace, a destructor, a before_collect or a visitor begins no step"));
    stepped = nullptr;
}

TEST(collected_heap_test, steps_inside_of_visitors_are_named) {
    collected_heap heap{1 << 20};
    const root<node> kept = heap.make<node>();
    kept->next = heap.make<node>();
    EXPECT_TRUE(expect_broken_promise([&] {
                    (void)heap.who_keeps(kept->next,
                                         [&](const collected_keeper&) { heap.collect(); });
                }).says("or a visitor begins no step"));
    collected_heap other{1 << 20};  // on Windows the first is left as it broke
    const root<node> one = other.make<node>();
    EXPECT_TRUE(expect_broken_promise([&] {
                    other.write_json([&](const char*, std::size_t) { other.step(); });
                }).says("or a visitor begins no step"));
}

/// Begins the lives of references in other objects, in front of it and behind it.
struct renews {
    explicit renews(node* other) noexcept {
        if (other != nullptr) { ::new (static_cast<void*>(&other->next)) ref<node>; }
    }
    ref<node> own;
    using references = refers_to<&renews::own>;
};

TEST(collected_heap_test, a_constructor_that_begins_references_of_other_objects_is_named) {
    collected_heap heap{1 << 20};
    node* const before = made(heap);
    static_cast<void>(heap.make<renews>(nullptr));
    node* behind = made(heap);
    while (behind < before + 1000) { behind = made(heap); }
    for (node* const other : {before, behind}) {
        EXPECT_TRUE(expect_broken_promise([&] {
                        static_cast<void>(heap.make<renews>(other));
                    }).says("a ref lives as long as its object"));
    }
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

}  // namespace

#endif
