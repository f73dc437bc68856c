// ref, root, weak_ref and ref_array: what they cost, what they keep, what they refuse.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;
using cairn::weak_ref;

struct node {
    node() noexcept {}
    explicit node(node* n) noexcept : next{n} {}
    ref<node> next;
    int value = 0;
    using references = refers_to<&node::next>;
};
struct squad {
    ref_array<node> members;
    using references = refers_to<&squad::members>;
};

collected_heap small_heap() { return collected_heap{256 * 1024, {.verify = true}}; }

node* made(collected_heap& heap, int value) {
    node* const n = heap.make<node>();
    EXPECT_NE(n, nullptr);
    n->value = value;
    return n;
}

TEST(ref_test, a_ref_has_four_bytes_and_is_no_copy) {
    static_assert(sizeof(ref<node>) == 4 && sizeof(ref_array<node>) == 12);
    static_assert(!std::is_copy_constructible_v<ref<node>>, "on the stack it would be lost");
    static_assert(std::is_trivially_destructible_v<ref<node>>);
    static_assert(std::is_trivially_copyable_v<weak_ref<node>> && sizeof(weak_ref<node>) == 16);
    static_assert(!std::is_constructible_v<ref<node>, int*>);
}

TEST(ref_test, a_ref_leads_to_its_target_and_may_be_exchanged) {
    collected_heap heap = small_heap();
    const root<node> a = made(heap, 1);
    const root<node> b = made(heap, 2);
    EXPECT_EQ(a->next.get(), nullptr);
    a->next = b.get();
    b->next = a.get();
    EXPECT_EQ(a->next->value, 2);
    EXPECT_TRUE(a->next);
    EXPECT_EQ((*b->next).value, 1);
    swap(a->next, b->next);
    EXPECT_EQ(a->next.get(), a.get());
    a->next = b->next;
    EXPECT_EQ(a->next.get(), b.get());
    a->next = nullptr;
    EXPECT_FALSE(a->next);
}

TEST(ref_test, a_root_keeps_its_target_however_it_is_copied_and_moved) {
    collected_heap heap = small_heap();
    std::vector<root<node>> roots;
    for (int i = 0; i < 100; ++i) { roots.emplace_back(made(heap, i)); }
    roots.erase(roots.begin(), roots.begin() + 50);
    root<node> copy = roots.front();
    root<node> moved = std::move(roots.back());
    EXPECT_FALSE(roots.back());
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 50u);
    EXPECT_EQ(heap.stats().root_count, 51u);
    EXPECT_EQ(copy->value, 50);
    EXPECT_EQ(moved->value, 99);
    moved = std::move(copy);
    moved = roots[3];
    moved = *&moved;
    roots.clear();
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u);
    EXPECT_EQ(moved->value, 53);
    heap.validate();
}

TEST(ref_test, a_weak_reference_is_null_as_soon_as_marking_has_ended_without_its_target) {
    collected_heap heap = small_heap();
    root<node> kept = made(heap, 1);
    weak_ref<node> to_kept{kept.get()};
    weak_ref<node> to_garbage{made(heap, 2)};
    EXPECT_NE(to_garbage.get(), nullptr);
    heap.collect();
    EXPECT_EQ(to_garbage.get(), nullptr);
    EXPECT_EQ(to_kept.get(), kept.get());
    for (int i = 0; i < 10'000; ++i) {
        static_cast<void>(made(heap, i));
        heap.step();
    }
    EXPECT_EQ(to_garbage.get(), nullptr) << "also when its slot has another object";
}

TEST(ref_test, a_weak_reference_stays_null_in_all_later_cycles) {
    collected_heap heap = small_heap();
    const weak_ref<node> weak{made(heap, 1)};
    std::vector<root<node>> kept;
    for (int i = 0; i < 4000; ++i) { kept.emplace_back(made(heap, i)); }
    for (int i = 0; i < 3; ++i) {
        heap.collect();
        EXPECT_EQ(weak.get(), nullptr) << i;
    }
}

struct ending {
    ~ending() {}
    using references = refers_to<>;
};

TEST(ref_test, a_weak_reference_is_null_before_its_target_is_swept) {
    collected_heap heap = small_heap();
    const root<node> anchor = made(heap, 1);
    const weak_ref<ending> weak{heap.make<ending>()};
    while (!heap.is_marking()) {
        static_cast<void>(made(heap, 0));
        heap.step({.steps = 1});
    }
    while (heap.is_marking()) { heap.step({.steps = 1}); }
    EXPECT_TRUE(heap.is_collecting());
    EXPECT_EQ(weak.get(), nullptr);
    EXPECT_EQ(heap.stats().last_cycle.destructor_count, 0u);
}

TEST(ref_test, a_root_that_moves_while_roots_are_looked_at_is_looked_at_once) {
    for (std::size_t steps = 1; steps < 6; ++steps) {
        collected_heap heap = small_heap();
        std::vector<root<node>> roots;
        for (int i = 0; i < 4; ++i) { roots.emplace_back(made(heap, i)); }
        while (!heap.is_marking()) {
            static_cast<void>(made(heap, 0));
            heap.step({.steps = steps});
        }
        std::vector<root<node>> others;
        for (root<node>& r : roots) { others.push_back(std::move(r)); }
        roots.assign(4, root<node>{});
        roots.shrink_to_fit();
        while (heap.is_collecting()) { heap.step({.steps = 1}); }
        for (int i = 0; i < 4; ++i) { EXPECT_EQ(others[static_cast<std::size_t>(i)]->value, i); }
        heap.validate();
    }
}

TEST(ref_test, roots_that_end_while_roots_are_looked_at_are_not_looked_at) {
    for (std::size_t steps = 1; steps < 8; ++steps) {
        collected_heap heap = small_heap();
        std::vector<std::unique_ptr<root<node>>> roots;
        for (int i = 0; i < 6; ++i) {
            roots.push_back(std::make_unique<root<node>>(made(heap, i)));
        }
        while (!heap.is_marking()) {
            static_cast<void>(made(heap, 0));
            heap.step({.steps = 1});
        }
        if (steps > 1) { heap.step({.steps = steps - 1}); }
        for (std::size_t i = 1; i < 6; ++i) { roots[i].reset(); }
        while (heap.is_collecting()) { heap.step({.steps = 1}); }
        EXPECT_EQ((*roots[0])->value, 0);
        heap.validate();
    }
}

TEST(ref_test, a_weak_reference_that_is_read_while_marking_keeps_its_target_for_the_cycle) {
    collected_heap heap = small_heap();
    const root<node> anchor = made(heap, 1);
    const weak_ref<node> weak{made(heap, 2)};
    while (!heap.is_marking()) {
        static_cast<void>(made(heap, 0));
        heap.step({.steps = 1});
    }
    node* const found = weak.get();
    ASSERT_NE(found, nullptr);
    const root<node> holder = made(heap, 3);  // black: it is not looked at any more
    holder->next = found;
    while (heap.is_collecting()) { heap.step({.steps = 1}); }
    EXPECT_EQ(holder->next->value, 2);
    EXPECT_EQ(weak.get(), found);
}

TEST(ref_test, an_array_grows_and_keeps_order) {
    collected_heap heap{1 << 20, {.verify = true}};
    const root<squad> s = heap.make<squad>();
    for (int i = 0; i < 5000; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i % 100))); }
    EXPECT_EQ(s->members.size(), 5000u);
    heap.collect();
    int i = 0;
    for (const node* n : s->members) { EXPECT_EQ(n->value, i++ % 100); }
    s->members.erase(0);
    EXPECT_EQ(s->members[0]->value, 1);
    s->members.swap_erase(0);
    EXPECT_EQ(s->members[0]->value, 99);
    s->members.pop_back();
    EXPECT_EQ(s->members.size(), 4997u);
    s->members.clear();
    EXPECT_TRUE(s->members.empty());
    heap.collect();
    EXPECT_EQ(heap.stats().object_count, 1u);
    heap.validate();
}

TEST(ref_test, an_array_has_the_room_that_it_was_asked_for) {
    collected_heap heap{1 << 20};
    const root<squad> s = heap.make<squad>();
    EXPECT_EQ(s->members.capacity(), 0u);
    EXPECT_TRUE(s->members.reserve(0));
    EXPECT_EQ(heap.stats().object_count, 1u) << "nothing is taken for nothing";
    ASSERT_TRUE(s->members.reserve(100));
    const std::size_t capacity = s->members.capacity();
    EXPECT_GE(capacity, 100u);
    EXPECT_TRUE(s->members.empty());
    const std::size_t objects = heap.stats().object_count;
    EXPECT_TRUE(s->members.reserve(capacity));
    for (std::size_t i = 0; i < capacity; ++i) { ASSERT_TRUE(s->members.push_back(nullptr)); }
    EXPECT_EQ(s->members.capacity(), capacity);
    EXPECT_EQ(heap.stats().object_count, objects) << "it is the same buffer";
    EXPECT_FALSE(s->members.empty());
    EXPECT_EQ(s->members[capacity - 1], nullptr);
    ASSERT_TRUE(s->members.push_back(nullptr));
    EXPECT_EQ(s->members.capacity(), 2 * capacity);
}

std::size_t seen_in_destructor = 9;
struct ending_squad {
    ref_array<node> members;
    ~ending_squad() {
        seen_in_destructor = members.size() + members.capacity() + (members.empty() ? 0u : 1u);
    }
    using references = refers_to<&ending_squad::members>;
};

TEST(ref_test, an_array_is_empty_in_the_destructor_of_its_object) {
    collected_heap heap = small_heap();
    ending_squad* const s = heap.make<ending_squad>();
    for (int i = 0; i < 10; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i))); }
    heap.collect();
    EXPECT_EQ(seen_in_destructor, 0u);
    EXPECT_EQ(heap.stats().object_count, 0u);
}

TEST(ref_test, a_weak_reference_to_nothing_stays_null) {
    const weak_ref<node> none{static_cast<node*>(nullptr)};
    const weak_ref<node> empty;
    const weak_ref<node> null = nullptr;
    EXPECT_EQ(none.get(), nullptr);
    EXPECT_EQ(empty.get(), nullptr);
    EXPECT_EQ(null.get(), nullptr);
}

TEST(ref_test, an_array_that_cannot_grow_stays_as_it_is) {
    collected_heap heap{256 * 1024};
    const root<squad> s = heap.make<squad>();
    const root<node> n = made(heap, 7);
    while (s->members.push_back(n)) {}
    const std::size_t size = s->members.size();
    EXPECT_GT(size, 2000u);
    EXPECT_FALSE(s->members.reserve(SIZE_MAX));
    EXPECT_EQ(s->members.size(), size);
    EXPECT_EQ(s->members[size - 1], n.get());
}

/// Every place of the cursor in an array against every operation that moves elements across it.
TEST(ref_test, elements_that_move_while_the_array_is_half_traced_are_found) {
    for (int operation = 0; operation < 6; ++operation) {
        for (std::size_t steps = 0; steps < 12; ++steps) {
            collected_heap heap{512 * 1024, {.verify = true}};
            const root<squad> s = heap.make<squad>();
            constexpr int count = 600;  // five pieces
            for (int i = 0; i < count; ++i) { ASSERT_TRUE(s->members.push_back(made(heap, i))); }
            const root<node> holder = made(heap, -1);
            while (!heap.is_marking()) {
                static_cast<void>(made(heap, 0));
                heap.step({.steps = 1});
            }
            heap.step({.steps = steps + 1});
            node* const last = s->members[count - 1];
            switch (operation) {
                case 0:
                    s->members.swap_erase(0);
                    break;
                case 1:
                    s->members.erase(0);
                    break;
                case 2:
                    s->members.set(0, last);
                    s->members.set(count - 1, nullptr);
                    break;
                case 3:
                    holder->next = last;
                    s->members.pop_back();
                    break;
                case 4:
                    holder->next = last;
                    s->members.clear();
                    break;
                default:
                    ASSERT_TRUE(s->members.reserve(4000));
                    holder->next = last;
                    s->members.set(count - 1, nullptr);
                    break;
            }
            while (heap.is_collecting()) { heap.step({.steps = 1}); }
            EXPECT_EQ(last->value, count - 1);
            heap.validate();
        }
    }
}

#if CAIRN_ASSERTS

using cairn::expect_broken_promise;

struct forgetful {
    ref<node> told, forgotten;
    using references = refers_to<&forgetful::told>;
};
struct rooted {
    root<node> r;
    using references = refers_to<>;
};
struct forgets_later {
    forgets_later() noexcept {}
    ref<node> hidden[2];
    bool tells = true;
    void trace(cairn::visitor& v) {
        if (tells) { v(hidden); }
    }
};

TEST(ref_test, a_ref_outside_of_a_collected_object_is_named) {
    EXPECT_TRUE(
        expect_broken_promise([] { ref<node> lost; }).says("a member of a collected object"));
    EXPECT_TRUE(expect_broken_promise([] {
                    std::vector<squad> lost(1);
                }).says("a member of a collected object"));
}
TEST(ref_test, a_root_inside_of_a_collected_object_is_named) {
    collected_heap heap = small_heap();
    rooted* const r = heap.make<rooted>();
    node* const n = made(heap, 1);
    EXPECT_TRUE(expect_broken_promise([&] { r->r = n; }).says("outside of collected objects"));
}
TEST(ref_test, a_reference_that_its_type_does_not_tell_is_named) {
    collected_heap heap = small_heap();
    EXPECT_TRUE(expect_broken_promise([&] {
                    (void)heap.make<forgetful>();
                }).says("a type tells all of its references"));
    forgets_later* const f = heap.make<forgets_later>();
    f->tells = false;
    EXPECT_TRUE(expect_broken_promise([&] {
                    f->hidden[1] = nullptr;
                }).says("a type tells all of its references"));
}
TEST(ref_test, a_reference_into_another_heap_is_named) {
    collected_heap one = small_heap();
    collected_heap other = small_heap();
    node* const a = made(one, 1);
    node* const b = made(other, 1);
    EXPECT_TRUE(expect_broken_promise([&] { a->next = b; }).says("of the same heap"));
    EXPECT_TRUE(expect_broken_promise([&] { (void)one.make<node>(b); }).says("of the same heap"));
    squad* const s = one.make<squad>();
    EXPECT_TRUE(expect_broken_promise([&] { (void)s->members.push_back(b); }).says("same heap"));
    ASSERT_TRUE(s->members.push_back(a));
    EXPECT_TRUE(expect_broken_promise([&] { s->members.set(0, b); }).says("of the same heap"));
}
TEST(ref_test, a_reference_to_an_object_that_is_gone_is_named) {
    collected_heap heap = small_heap();
    const root<node> a = made(heap, 1);
    node* const gone = made(heap, 2);
    heap.collect();
    EXPECT_TRUE(expect_broken_promise([&] { a->next = gone; }).says("an object that lives"));
    EXPECT_TRUE(
        expect_broken_promise([&] { (void)root<node>{gone}; }).says("an object that lives"));
    EXPECT_TRUE(
        expect_broken_promise([&] { (void)weak_ref<node>{gone}; }).says("an object that lives"));
}
TEST(ref_test, following_nothing_is_named) {
    collected_heap heap = small_heap();
    const root<node> a = made(heap, 1);
    const root<node> none;
    EXPECT_TRUE(expect_broken_promise([&] { (void)a->next->value; }).says("refers to something"));
    EXPECT_TRUE(expect_broken_promise([&] { (void)none->value; }).says("refers to something"));
}
TEST(ref_test, a_root_that_outlives_its_heap_is_named) {
    EXPECT_TRUE(expect_broken_promise([] {
                    root<node> r;
                    collected_heap heap = small_heap();
                    r = made(heap, 1);
                }).says("a root ends before its heap"));
}
TEST(ref_test, an_index_beyond_the_end_of_an_array_is_named) {
    collected_heap heap = small_heap();
    const root<squad> s = heap.make<squad>();
    EXPECT_TRUE(expect_broken_promise([&] { (void)s->members[0]; }).says("below size()"));
}

#endif

}  // namespace
