// collected_heap: its reports about objects and cycles.
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/traced.hpp>
#include <cairn/containers/packed_array.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using cairn::collected_heap;
using cairn::collected_keeper;
using cairn::collection_cycle;
using cairn::ref;
using cairn::ref_array;
using cairn::refers_to;
using cairn::root;

struct town;
struct person {
    ref<person> friend_of;
    ref<town> home;
    using references = refers_to<&person::friend_of, &person::home>;
};
struct town {
    int number = 0;
    ref_array<person> people;
    using references = refers_to<&town::people>;
};

struct step {
    const void* object;
    std::string type;
    std::size_t offset;
    unsigned line;
};
std::vector<step> way_to(const collected_heap& heap, const void* object) {
    std::vector<step> way;
    const bool found = heap.who_keeps(object, [&](const collected_keeper& k) {
        way.push_back(
            {k.object, std::string(k.type_name, k.type_name_length), k.offset, k.root_line.line()});
    });
    EXPECT_EQ(found, !way.empty());
    return way;
}
bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}
std::string json_of(const collected_heap& heap, const void* object = nullptr) {
    std::string text;
    heap.write_json([&](const char* s, std::size_t length) { text.append(s, length); }, object);
    return text;
}
bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(collected_heap_graph_test, who_keeps_an_object_is_told_from_a_root_on) {
    collected_heap heap{1 << 20};
    const root<town> t = heap.make<town>();
    const root<person> alone = heap.make<person>();
    const unsigned line = __LINE__ - 2;
    person* const a = heap.make<person>();
    person* const b = heap.make<person>();
    person* const c = heap.make<person>();
    ASSERT_TRUE(t->people.push_back(a));
    a->friend_of = b;
    b->friend_of = c;
    c->friend_of = a;  // a cycle
    c->home = t.get();
    const std::vector<step> way = way_to(heap, c);
    ASSERT_EQ(way.size(), 5u);
    EXPECT_EQ(way[0].object, t.get());
    EXPECT_TRUE(ends_with(way[0].type, "town")) << way[0].type;
    EXPECT_EQ(way[0].offset, offsetof(town, people));
    EXPECT_EQ(way[0].line, CAIRN_ASSERTS ? line : 0);
    EXPECT_EQ(way[1].type, "ref_array");
    EXPECT_EQ(way[1].offset, 0u);
    EXPECT_EQ(way[2].object, a);
    EXPECT_EQ(way[2].line, 0u);
    EXPECT_EQ(way[3].object, b);
    EXPECT_EQ(way[3].offset, 0u);
    EXPECT_EQ(way[4].object, c);
    EXPECT_EQ(way[4].offset, SIZE_MAX);
    EXPECT_EQ(way_to(heap, alone.get())[0].line, CAIRN_ASSERTS ? line + 1 : 0);
    heap.validate();
}

struct crowd {
    cairn::traced<cairn::packed_array<cairn::outer_ref<person>>> people;
    using references = refers_to<&crowd::people>;
};

TEST(collected_heap_graph_test, a_reference_beside_its_object_is_at_no_place_in_it) {
    collected_heap heap{1 << 20};
    const root<crowd> c = heap.make<crowd>();
    person* const p = heap.make<person>();
    ASSERT_NE(c->people.edit().emplace(p), nullptr);
    const std::vector<step> way = way_to(heap, p);
    ASSERT_EQ(way.size(), 2u);
    EXPECT_EQ(way[0].object, c.get());
    EXPECT_EQ(way[0].offset, SIZE_MAX);
    EXPECT_EQ(way[1].object, p);
}

TEST(collected_heap_graph_test, the_way_is_one_of_the_shortest) {
    collected_heap heap{1 << 20};
    root<person> first = heap.make<person>();
    person* at = first;
    for (int i = 0; i < 1000; ++i) {
        at->friend_of = heap.make<person>();
        at = at->friend_of;
    }
    EXPECT_EQ(way_to(heap, at).size(), 1001u);
    root<person> near = heap.make<person>();
    near->friend_of = at;
    EXPECT_EQ(way_to(heap, at).size(), 2u);
    near = at;
    EXPECT_EQ(way_to(heap, at).size(), 1u);
}

TEST(collected_heap_graph_test, what_was_reached_keeps_its_way_when_a_longer_one_leads_there) {
    collected_heap heap{1 << 20};
    const root<town> t = heap.make<town>();
    person* const near = heap.make<person>();
    person* const other = heap.make<person>();
    ASSERT_TRUE(t->people.push_back(near));
    ASSERT_TRUE(t->people.push_back(other));
    other->friend_of = heap.make<person>();
    other->friend_of->friend_of = near;  // from the town over two others
    person* at = near;
    for (int i = 0; i < 5; ++i) {
        at->friend_of = heap.make<person>();
        at = at->friend_of;
    }
    EXPECT_EQ(way_to(heap, at).size(), 2u + 6u);
}

TEST(collected_heap_graph_test, nothing_keeps_garbage_or_what_is_none_of_its_objects) {
    collected_heap heap{1 << 20};
    const root<person> kept = heap.make<person>();
    person* const a = heap.make<person>();
    a->friend_of = a;
    EXPECT_TRUE(way_to(heap, a).empty());
    EXPECT_TRUE(way_to(heap, &heap).empty());
    EXPECT_TRUE(way_to(heap, nullptr).empty());
    collected_heap other{1 << 20};
    const root<person> there = other.make<person>();  // by the name of `kept`
    EXPECT_TRUE(way_to(heap, there.get()).empty());
    EXPECT_TRUE(way_to(collected_heap{1000}, a).empty());
}

TEST(collected_heap_graph_test, a_way_is_found_while_a_cycle_runs_and_changes_nothing) {
    collected_heap heap{256 * 1024, {.verify = true}};
    const root<person> first = heap.make<person>();
    first->friend_of = heap.make<person>();
    first->friend_of->friend_of = heap.make<person>();
    while (!heap.is_marking()) {
        ASSERT_NE(heap.make<person>(), nullptr);
        heap.step({.steps = 1});
    }
    while (heap.is_collecting()) {
        EXPECT_EQ(way_to(heap, first->friend_of->friend_of).size(), 3u);
        EXPECT_TRUE(has(json_of(heap), "\"roots\":1"));
        heap.step({.steps = 1});
    }
    heap.validate();
}

TEST(collected_heap_graph_test, the_graph_is_written_as_json) {
    collected_heap heap{1 << 20};
    const root<town> t = heap.make<town>();
    for (int i = 0; i < 10; ++i) {
        person* const p = heap.make<person>();
        ASSERT_TRUE(t->people.push_back(p));
        p->home = t.get();
    }
    heap.collect();
    const std::string text = json_of(heap, t->people[9]);
    const std::string used = std::to_string(heap.stats().used_size);
    EXPECT_TRUE(has(text, "{\"capacity\":1048576,\"used\":" + used + ",\"roots\":1,")) << text;
    EXPECT_TRUE(has(text,
                    "town\",\"count\":1,\"size\":16,\"chunks\":1,\"roots\":1,\"refers_to\":["
                    "{\"type\":\"ref_array\",\"count\":1}]}"))
        << text;
    EXPECT_TRUE(has(text,
                    "person\",\"count\":10,\"size\":160,\"chunks\":1,\"roots\":0,"
                    "\"refers_to\":[{\"type\":"))
        << text;
    EXPECT_TRUE(has(text, "{\"type\":\"ref_array\",\"count\":1,\"size\":64,")) << text;
    EXPECT_TRUE(has(text, ",\"types\":[{\"type\":")) << text;
    EXPECT_TRUE(has(text, "]},{\"type\":")) << text;
    char address[40];
    std::snprintf(address, sizeof(address), "\"address\":\"0x%llx\"",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(t.get())));
    EXPECT_TRUE(has(text, address)) << text;
    EXPECT_TRUE(has(text, "\"kept_by\":[{\"type\":")) << text;
    EXPECT_TRUE(has(text, ",\"offset\":36},{\"type\":")) << text;
    EXPECT_EQ(text.substr(text.size() - 4), "\"}]}") << text;
    EXPECT_EQ(json_of(collected_heap{1 << 20}),
              "{\"capacity\":1048576,\"used\":0,\"roots\":0,\"cycles\":0,\"types\":[]}");
}

TEST(collected_heap_graph_test, each_cycle_is_told_once_with_its_number) {
    std::vector<collection_cycle> cycles;
    collected_heap heap{256 * 1024,
                        {.cycle_ended =
                             [](void* list, const collection_cycle& c) {
                                 static_cast<std::vector<collection_cycle>*>(list)->push_back(c);
                             },
                         .cycle_ended_context = &cycles}};
    const root<person> kept = heap.make<person>();
    std::uint64_t ended = 0;
    for (int i = 0; i < 50'000; ++i) {
        ASSERT_NE(heap.make<person>(), nullptr);
        if (i % 10 == 0) { ended += heap.step({.microseconds = 100}).cycle_ended ? 1u : 0u; }
    }
    ASSERT_GT(cycles.size(), 1u);
    EXPECT_EQ(cycles.size(), ended);
    std::uint64_t number = 0;
    for (const collection_cycle& c : cycles) {
        EXPECT_EQ(c.number, ++number);
        EXPECT_EQ(c.root_count, 1u);
        EXPECT_EQ(c.kept_size, 16 * c.kept_count);
        EXPECT_EQ(c.freed_size, 16 * c.freed_count);
        EXPECT_LE(c.work_in_make, c.bytes);
        EXPECT_LE(c.longest_step, c.nanoseconds);
        EXPECT_GT(c.longest_step, 0u);
    }
    EXPECT_EQ(heap.stats().last_cycle.number, number);
    while (!heap.is_collecting()) {
        ASSERT_NE(heap.make<person>(), nullptr);
        heap.step({.steps = 1});
    }
    const std::size_t before = cycles.size();
    heap.collect();
    EXPECT_EQ(cycles.size(), before + 2) << "that which ran, and a whole one";
}

struct mortal {
    ~mortal() {}
    ref<person> held;
    using references = cairn::refers_to<&mortal::held>;
};

TEST(collected_heap_graph_test, a_cycle_is_told_with_all_that_was_done_in_it) {
    collected_heap heap{256 * 1024};
    std::vector<root<person>> roots;
    for (int i = 0; i < 5; ++i) { roots.emplace_back(heap.make<person>()); }
    for (int i = 0; i < 70; ++i) { ASSERT_NE(heap.make<mortal>(), nullptr); }
    std::size_t made = 5;
    std::uint64_t steps = 0;
    while (!heap.is_collecting()) {
        ASSERT_NE(heap.make<person>(), nullptr);
        ++made;
        heap.step({.steps = 0});
        steps = 1;
    }
    const auto before = heap.stats();
    while (heap.stats().allocated_size == before.allocated_size) {
        ASSERT_NE(heap.make<person>(), nullptr);
        ++made;
    }
    roots.pop_back();
    std::size_t freed_count = 0;
    std::size_t freed_size = 0;
    while (heap.is_collecting()) {
        const cairn::collection_report r = heap.step({.bytes = 100});
        freed_count += r.freed_count;
        freed_size += r.freed_size;
        EXPECT_EQ(r.cycle_ended, r.is_idle);
        ++steps;
    }
    const collection_cycle c = heap.stats().last_cycle;
    EXPECT_EQ(c.number, 1u);
    EXPECT_EQ(c.step_count, steps);
    EXPECT_EQ(c.root_count, 5u) << "when it began";
    EXPECT_EQ(c.destructor_count, 70u);
    EXPECT_EQ(c.freed_count, freed_count);
    EXPECT_EQ(c.freed_size, freed_size);
    EXPECT_EQ(c.allocated_size, heap.stats().allocated_size - before.allocated_size);
    EXPECT_EQ(c.kept_count, heap.stats().object_count);
    EXPECT_EQ(c.kept_count + c.freed_count, made + 70);
    EXPECT_EQ(c.work_in_make, 0u);
    EXPECT_GE(c.bytes, 70 * 128 + 7 * 256 + 4 * 32) << "destructors, chunks and roots";
    EXPECT_EQ(c.nanoseconds, 0u) << "no step had a limit of time";
    EXPECT_EQ(c.longest_step, 0u);
    EXPECT_EQ(heap.stats().slowest_speed, 0.0);
}

}  // namespace
