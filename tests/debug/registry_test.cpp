// Sentences of cairn/debug/registry.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/concurrent_heap.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool.hpp>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/registry.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "support/test_upstream.hpp"

using namespace cairn;
using namespace cairn::literals;

namespace {

constexpr std::size_t unknown = memory_facts::unknown;

memory_node node(const char* name) {
    registry::publish();
    memory_snapshot now;
    EXPECT_TRUE(registry::read(now));
    const memory_node* const n = now.find(name);
    EXPECT_NE(n, nullptr) << name;
    return n == nullptr ? memory_node{} : *n;
}

void append(const char* text, std::size_t size, void* to) {
    static_cast<std::string*>(to)->append(text, size);
}
template <class Write>
std::string written(Write write) {
    memory_snapshot now;
    EXPECT_TRUE(registry::read(now));
    std::string out;
    write(now, &out);
    return out;
}

}  // namespace

TEST(registry, asks_each_kind_of_memory_for_what_it_knows) {
    arena bytes{1_KiB};
    heap<> blocks;
    pool slots{64};
    budget<heap<>> limited{1_MiB};
    tracked<heap<>> counted{tracked<heap<>>::options{}};
    const registry::entry a{"arena", bytes};
    const registry::entry b{"heap", blocks};
    const registry::entry c{"pool", slots};
    const registry::entry d{"budget", limited};
    const registry::entry e{"tracked", counted};
    void* const in_arena = bytes.allocate(100);
    void* const in_heap = blocks.allocate(100);
    void* const in_pool = slots.allocate();
    void* const in_budget = limited.allocate(100);
    void* const in_tracked = counted.allocate(100);
    EXPECT_NE(in_arena, nullptr);

    EXPECT_EQ(node("arena").facts.live_size, 112u);
    EXPECT_EQ(node("arena").facts.capacity, 1_KiB);
    EXPECT_EQ(node("arena").facts.peak_size, 112u);
    EXPECT_FALSE(node("arena").is_sampled);
    EXPECT_EQ(node("heap").facts.live_size, 112u) << "headers included";
    EXPECT_TRUE(node("heap").is_sampled);
    EXPECT_EQ(node("heap").facts.allocated_count, unknown);
    EXPECT_EQ(node("pool").facts.live_size, 64u);
    EXPECT_EQ(node("pool").facts.capacity, slots.stats().upstream_size);
    EXPECT_EQ(node("budget").facts.live_size, 100u);
    EXPECT_EQ(node("budget").facts.limit_size, 1_MiB);
    EXPECT_EQ(node("budget").facts.refused_count, 0u);
    EXPECT_EQ(node("budget").facts.capacity, limited.inner().stats().capacity);
    EXPECT_EQ(node("tracked").facts.allocated_count, 1u);
    EXPECT_EQ(node("tracked").facts.peak_size, 100u);

    blocks.deallocate(in_heap, 100);
    slots.deallocate(in_pool);
    limited.deallocate(in_budget, 100);
    counted.deallocate(in_tracked, 100);
    EXPECT_EQ(node("heap").facts.live_size, 0u);
    EXPECT_EQ(node("heap").facts.peak_size, 112u) << "the largest published value";
}

TEST(registry, asks_movable_and_collected_memory) {
    relocatable_heap ranges{64_KiB};
    collected_heap objects;
    locked<heap<>> shared;
    const registry::entry a{"ranges", ranges};
    const registry::entry b{"objects", objects};
    const registry::entry c{"shared", shared, registry::entry::any_thread};
    void* const p = shared.allocate(50);
    EXPECT_EQ(node("ranges").facts.live_size, 0u);
    EXPECT_EQ(node("ranges").facts.capacity, ranges.stats().capacity);
    EXPECT_EQ(node("objects").facts.live_size, 0u);
    EXPECT_EQ(node("shared").facts.live_size, 64u);
    shared.deallocate(p, 50);
}

TEST(registry, counts_of_a_concurrent_heap_what_callers_have) {
    concurrent_heap shared;
    const registry::entry a{"shared", shared, registry::entry::any_thread};
    void* const p = shared.allocate(100);
    EXPECT_EQ(node("shared").facts.live_size, shared.good_size(100));
    EXPECT_EQ(node("shared").facts.capacity, shared.stats().segment_size);
    shared.deallocate(p, 100);
    EXPECT_EQ(node("shared").facts.live_size, 0u);
}

TEST(registry, says_where_the_blocks_of_a_wrapper_come_from) {
    heap<> all;
    budget<heap<>&> part{1_KiB, all};
    const registry::entry a{"all", all};
    const registry::entry b{"part", part};
    memory_snapshot now;
    ASSERT_TRUE(registry::read(now));
    EXPECT_STREQ(now.nodes()[now.find("part")->source].name, "all");
    EXPECT_EQ(now.find("all")->source, memory_node::no_source);
}

TEST(registry, forgets_a_name_when_its_entry_ends) {
    heap<> h;
    { const registry::entry a{"short", h}; }
    memory_snapshot now;
    ASSERT_TRUE(registry::read(now));
    EXPECT_EQ(now.find("short"), nullptr);
    EXPECT_EQ(now.nodes().size(), 0u);
}

TEST(registry, writes_text_json_and_trace_events) {
    arena meshes{1_KiB};
    budget<heap<>> scripts{4_KiB};
    const registry::entry a{"render/meshes", meshes};
    const registry::entry b{"render/\"odd\"", meshes};
    const registry::entry c{"scripts", scripts};
    void* const p = meshes.allocate(64);
    EXPECT_NE(p, nullptr);
    registry::publish();
    const std::string text =
        written([](const memory_snapshot& s, void* to) { s.write_text(&append, to); });
    EXPECT_EQ(text,
              "render/\n"
              "  \"odd\": 64 bytes live, capacity 1024, peak 64\n"
              "  meshes: 64 bytes live, capacity 1024, peak 64\n"
              "scripts: 0 bytes live, capacity 0, limit 4096, peak 0, refused 0\n");
    const std::string json =
        written([](const memory_snapshot& s, void* to) { s.write_json(&append, to); });
    EXPECT_EQ(json,
              "{\"memories\": [\n"
              "  {\"name\": \"render/\\\"odd\\\"\", \"live_size\": 64, \"capacity\": 1024, "
              "\"peak_size\": 64},\n"
              "  {\"name\": \"render/meshes\", \"live_size\": 64, \"capacity\": 1024, "
              "\"peak_size\": 64},\n"
              "  {\"name\": \"scripts\", \"live_size\": 0, \"capacity\": 0, \"limit_size\": 4096, "
              "\"peak_size\": 0, \"refused_count\": 0}\n"
              "]}\n");
    std::string events = written(
        [](const memory_snapshot& s, void* to) { s.write_trace_events(1500, &append, to); });
    EXPECT_NE(
        events.find("{\"name\": \"render/meshes\", \"ph\": \"C\", \"pid\": 1, \"ts\": 1500.000, "
                    "\"args\": {\"live_size\": 64}},\n"),
        std::string::npos);
    events.clear();
    memory_snapshot::write_frame_event(1000, 12100, &append, &events);
    EXPECT_EQ(events,
              "{\"name\": \"frame\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": 1000.000, "
              "\"dur\": 11100.000},\n");
}

TEST(registry, writes_each_part_of_a_name_as_a_level_of_the_tree) {
    arena meshes{1_KiB};
    const registry::entry a{"render/meshes/near", meshes};
    const registry::entry b{"render/meshes/far/trees", meshes};
    const registry::entry c{"render/meshes/far/rocks", meshes};
    const std::string text =
        written([](const memory_snapshot& s, void* to) { s.write_text(&append, to); });
    EXPECT_EQ(text,
              "render/\n"
              "  meshes/\n"
              "    far/\n"
              "      rocks: 0 bytes live, capacity 1024, peak 0\n"
              "      trees: 0 bytes live, capacity 1024, peak 0\n"
              "    near: 0 bytes live, capacity 1024, peak 0\n");
}

TEST(registry, samples_no_peak_of_a_memory_that_knows_no_live_bytes) {
    system_allocator knows_nothing;
    const registry::entry a{"system", knows_nothing};
    EXPECT_EQ(node("system").facts.live_size, unknown);
    EXPECT_EQ(node("system").facts.peak_size, unknown);
    EXPECT_FALSE(node("system").is_sampled);
}

TEST(registry, cuts_a_name_that_is_too_long) {
    heap<> h;
    const std::string name(200, 'x');
    const registry::entry a{name.c_str(), h};
    memory_snapshot now;
    ASSERT_TRUE(registry::read(now));
    EXPECT_EQ(std::string{now.nodes()[0].name}, name.substr(0, memory_node::name_size_max));
}

TEST(registry, allocates_in_the_first_read_of_a_snapshot_only) {
    test_upstream upstream;
    heap<> h;
    const registry::entry a{"one", h};
    const registry::entry b{"two", h};
    memory_snapshot now{upstream};
    upstream.refuse_from(0);
    EXPECT_FALSE(registry::read(now));
    EXPECT_EQ(now.nodes().size(), 0u);
    upstream.refuse_nothing();
    EXPECT_TRUE(registry::read(now));
    const std::size_t asked = upstream.request_count();
    for (int frame = 0; frame < 100; ++frame) {
        registry::publish();
        EXPECT_TRUE(registry::read(now));
    }
    EXPECT_EQ(upstream.request_count(), asked);
}

TEST(registry_threads, asks_a_memory_in_its_own_thread_while_others_read) {
    std::atomic<bool> done{false};
    std::thread reader{[&] {
        memory_snapshot now;
        while (!done) {
            registry::publish();  // of a thread that has no entries: asks nothing of the others
            if (!registry::read(now)) { break; }
            const memory_node* const n = now.find("busy");
            if (n != nullptr) { EXPECT_LE(n->facts.live_size, 200'000u); }
        }
    }};
    std::thread worker{[&] {
        heap<> busy;
        const registry::entry listed{"busy", busy};
        for (int frame = 0; frame < 300; ++frame) {
            void* blocks[20];
            for (void*& p : blocks) { p = busy.allocate(100); }
            registry::publish();
            for (void* const p : blocks) { busy.deallocate(p, 100); }
        }
    }};
    worker.join();
    done = true;
    reader.join();
}
