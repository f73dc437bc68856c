// Sentences of cairn/debug/tracked.hpp about what it says: reports, leaks, and the lines that they
// name.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/or_abort.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/std/std_allocator.hpp>
#include <gtest/gtest.h>

#include <source_location>
#include <string>
#include <vector>

#include "support/test_upstream.hpp"

using namespace cairn;

namespace {
/// Collects what would go to stderr.
struct collected {
    std::vector<std::string> lines;
    static void sink(const char* sentence, void* context) {
        static_cast<collected*>(context)->lines.emplace_back(sentence);
    }
    track_options options(bool list = true) {
        return {.name = "textures", .list = list, .sink = &sink, .sink_context = this};
    }
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Blocks are live, and the report names `line` of this file for each.
template <class Tracked>
void expect_live_blocks_of(Tracked& memory, collected& seen, unsigned line) {
    seen.lines.clear();
    memory.report();
    ASSERT_GE(seen.lines.size(), 2u);
    const std::string place = asserts_enabled ? "from " __FILE__ ":" + std::to_string(line) + " in "
                                              : "from a line that only checked builds name";
    for (std::size_t i = 1; i < seen.lines.size(); ++i) {
        EXPECT_TRUE(contains(seen.lines[i], place)) << seen.lines[i] << "\nnot " << place;
    }
}
}  // namespace

TEST(tracked, with_the_list_tells_who_allocated_what_lies_at_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    test_upstream heap;
    tracked memory{heap, {.name = "textures", .list = true}};
    auto* const p = static_cast<char*>(memory.allocate(100));
    const std::string line = std::to_string(std::source_location::current().line() - 1);
    char text[512];
    ASSERT_TRUE(describe_address(p + 4, text, sizeof text));
    EXPECT_TRUE(contains(text,
                         " lies 4 bytes into block 0 of tracked 'textures' (100 bytes, live), "
                         "allocated by " __FILE__ ":" +
                             line))
        << text;
    memory.deallocate(p, 100);
    EXPECT_FALSE(describe_address(p + 4, text, sizeof text));
}

TEST(tracked, the_report_names_the_lines_that_asked_largest_first) {
    test_upstream heap;
    collected seen;
    {
        tracked memory{heap, seen.options()};
        void* small[3];
        for (void*& p : small) { p = memory.allocate(10); }
        const unsigned line = __LINE__ - 1;
        auto mips = memory.at("mips");
        void* const big = mips.allocate(1000);
        memory.report();
        ASSERT_EQ(seen.lines.size(), 3u);
        EXPECT_EQ(seen.lines[0],
                  "textures: 4 blocks with 1030 bytes are live (at most 1030 bytes were live)");
        EXPECT_TRUE(contains(seen.lines[1], "1 block with 1000 bytes: mips, from"))
            << seen.lines[1];
        EXPECT_TRUE(contains(seen.lines[1], "reports.cpp:" + std::to_string(line + 2)));
        EXPECT_TRUE(contains(seen.lines[2], "3 blocks with 30 bytes: from")) << seen.lines[2];
        EXPECT_TRUE(contains(seen.lines[2], "reports.cpp:" + std::to_string(line)));
        for (void* p : small) { memory.deallocate(p, 10); }
        mips.deallocate(big, 1000);
        seen.lines.clear();
    }
    EXPECT_TRUE(seen.lines.empty()) << "nothing leaked, nothing said";
}

TEST(tracked, a_report_says_are_live_while_the_program_runs_and_never_freed_at_the_end) {
    test_upstream heap;
    collected seen;
    void* one = nullptr;
    {
        tracked memory{heap, seen.options(false)};
        one = memory.allocate(64);
        memory.report();
        memory.deallocate(memory.allocate(36), 36);
    }
    ASSERT_EQ(seen.lines.size(), 2u);
    EXPECT_EQ(seen.lines[0],
              "textures: 1 block with 64 bytes is live (at most 64 bytes were live)");
    EXPECT_EQ(seen.lines[1],
              "textures: 1 block with 64 bytes was never freed (at most 100 bytes were live)");
    heap.deallocate(one, 64, default_alignment);
}

TEST(tracked, names_the_line_that_made_an_allocator_ref_for_what_is_asked_through_it) {
    test_upstream heap;
    collected seen;
    tracked memory{heap, seen.options()};
    const auto expect_line = [&](unsigned line) { expect_live_blocks_of(memory, seen, line); };
    {
        pool_of<std::string> names{memory};
        const unsigned line = __LINE__ - 1;
        names.destroy(names.make("a name"));
        expect_line(line);
    }
    {
        slot_map<int> map{memory};
        const unsigned line = __LINE__ - 1;
        for (int i = 0; i < 100; ++i) { EXPECT_TRUE(map.emplace(i)); }
        expect_line(line);
        auto copy = map.clone();
        ASSERT_TRUE(copy);
        expect_line(line);  // the copy uses the ref of the original
    }
    {
        arena level{1_KiB, memory};
        expect_line(__LINE__ - 1);
    }
    {
        std::vector<int, std_allocator<int>> numbers{memory};
        const unsigned line = __LINE__ - 1;
        numbers.push_back(1);
        expect_line(line);
    }
    {
        const allocator_ref ref{memory};
        const unsigned line = __LINE__ - 1;
        const allocator_ref copy = ref;
        void* const p = copy.allocate(10);
        expect_line(line);
        ref.deallocate(p, 10);
    }
    EXPECT_EQ(memory.stats().live_count, 0u);
}

TEST(tracked, names_that_line_through_the_wrappers_around_it_too) {
    test_upstream heap;
    collected seen;
    tracked memory{heap, seen.options()};
    const auto expect_line = [&](unsigned line) {
        expect_live_blocks_of(memory, seen, line);
        EXPECT_EQ(seen.lines.size(), 2u) << "one block is live";
    };
    locked shared{memory};
    budget limited{1_MiB, shared};
    failing doubtful{limited};
    or_abort certain{doubtful};
    {
        arena level{1_KiB, certain};
        expect_line(__LINE__ - 1);
    }
    {
        arena level{1_KiB, limited};
        expect_line(__LINE__ - 1);
    }
    void* const p = certain.allocate(10);  // a wrapper that is called knows its caller, too
    if (asserts_enabled) { expect_line(__LINE__ - 1); }
    certain.deallocate(p, 10);
}

TEST(tracked, leaks_are_reported_at_the_end_unless_that_is_unwanted) {
    test_upstream heap;
    collected seen;
    void* leaked[2];
    {
        tracked memory{heap, seen.options(false)};
        leaked[0] = memory.allocate(64);
    }
    ASSERT_EQ(seen.lines.size(), 1u) << "without the list: the sum only";
    EXPECT_TRUE(contains(seen.lines[0], "textures: 1 block with 64 bytes was never freed"));
    {
        track_options silent = seen.options();
        silent.report_leaks = false;
        tracked memory{heap, silent};
        leaked[1] = memory.allocate(64);
    }
    EXPECT_EQ(seen.lines.size(), 1u);
    for (void* p : leaked) { heap.deallocate(p, 64, default_alignment); }
}

TEST(tracked, without_a_sink_it_speaks_to_stderr) {
    test_upstream heap;
    void* leaked = nullptr;
    testing::internal::CaptureStderr();
    {
        tracked memory{heap, track_options{.name = "textures"}};
        leaked = memory.allocate(64);
    }
    EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(), "1 block with 64 bytes"));
    heap.deallocate(leaked, 64, default_alignment);
}

TEST(tracked, a_sink_may_use_the_memory_that_is_reported) {
    using memory_type = tracked<test_upstream&>;
    struct keeper {
        memory_type* all = nullptr;
        std::vector<void*> lines;
        static void sink(const char*, void* context) {
            auto& self = *static_cast<keeper*>(context);
            for (int i = 0; i < 3; ++i) { self.lines.push_back(self.all->allocate(100)); }
        }
    };
    test_upstream heap;
    keeper log;
    memory_type memory{heap,
                       {.name = "all", .list = true, .sink = &keeper::sink, .sink_context = &log}};
    log.all = &memory;
    std::vector<void*> blocks;
    for (int i = 0; i < 60; ++i) { blocks.push_back(memory.at("mesh").allocate(100)); }
    memory.report();
    EXPECT_GE(log.lines.size(), 6u);
    for (void* p : log.lines) { memory.deallocate(p, 100); }
    for (void* p : blocks) { memory.deallocate(p, 100); }
    EXPECT_EQ(memory.stats().live_count, 0u);
}

TEST(tracked, many_lines_are_summed_up) {
    test_upstream heap;
    collected seen;
    tracked memory{heap, seen.options()};
    std::vector<tracked<test_upstream&>::call_site_allocator> places;
    static const char* const labels[] = {
        "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12", "13",
        "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27",
        "28", "29", "30", "31", "32", "33", "34", "35", "36", "37", "38", "39"};
    std::vector<void*> blocks;
    for (const char* label : labels) { blocks.push_back(memory.at(label).allocate(8)); }
    memory.report();
    ASSERT_EQ(seen.lines.size(), 34u);
    EXPECT_EQ(seen.lines.back(), "    8 blocks with 64 bytes: from other places");
    for (void* p : blocks) { memory.deallocate(p, 8); }
}

TEST(tracked, what_asks_from_deep_inside_signs_with_the_place_it_was_given) {
    test_upstream heap;
    collected seen;
    {
        tracked memory{heap, seen.options()};
        auto level = memory.at("level one");
        arena inside{1_KiB, level};
        EXPECT_EQ(memory.stats().live_count, 1u);
        memory.report();
        ASSERT_EQ(seen.lines.size(), 2u);
        EXPECT_TRUE(contains(seen.lines[1], "level one, from")) << seen.lines[1];
        seen.lines.clear();
    }
    EXPECT_TRUE(seen.lines.empty());
}

TEST(tracked, markers_and_reset_forget_what_the_arena_forgets) {
    collected seen;
    tracked<arena> memory{seen.options(), 64_KiB};
    (void)memory.allocate(100);
    const auto here = memory.mark();
    for (int i = 0; i < 50; ++i) { (void)memory.allocate(24); }
    EXPECT_EQ(memory.stats().live_count, 51u);
    memory.rewind(here);
    EXPECT_EQ(memory.stats().live_count, 1u);
    EXPECT_EQ(memory.stats().live_size, 100u);
    memory.report();
    EXPECT_EQ(seen.lines.size(), 2u) << "one line is left in the list";
    memory.reset();
    EXPECT_EQ(memory.stats().live_size, 0u);
    EXPECT_EQ(memory.stats().peak_size, 1300u);
}

TEST(tracked, lists_the_sites_in_parts_as_in_one_part) {
    tracked<test_upstream> memory{{.name = "textures", .list = true, .report_leaks = false}};
    auto mips = memory.at("mips");
    auto icons = memory.at("icons");
    std::vector<void*> blocks;
    for (int i = 0; i < 300; ++i) {
        blocks.push_back(i % 3 == 0 ? icons.allocate(500) : mips.allocate(100));
    }
    track_site parts[4];
    track_sites_walk walk;
    int part_count = 1;
    while (memory.some_sites(parts, walk, 100)) { ++part_count; }
    EXPECT_EQ(part_count, 11) << "of 1,024 slots";
    ASSERT_EQ(walk.site_count, 2u);
    EXPECT_TRUE(std::string{parts[0].label} == "icons" && parts[0].count == 100);
    EXPECT_TRUE(std::string{parts[1].label} == "mips" && parts[1].size == 20'000);

    walk = {};
    EXPECT_TRUE(memory.some_sites(parts, walk, 100));
    for (int i = 0; i < 300; ++i) { blocks.push_back(mips.allocate(1)); }  // the list grows
    while (memory.some_sites(parts, walk, 100)) {}
    EXPECT_EQ(parts[0].count + parts[1].count, 600u);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        memory.deallocate(blocks[i], i >= 300 ? 1 : i % 3 == 0 ? 500 : 100);
    }
    walk = {};
    while (memory.some_sites(parts, walk, 100)) {}
    EXPECT_EQ(walk.site_count, 0u);
}
