// Behaviours of cairn/debug/tracked.hpp.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/budget.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/or_abort.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/debug/failing.hpp>
#include <cairn/debug/tracked.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/std/std_allocator.hpp>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/allocator_contract.hpp"
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

TEST(tracked, keeps_the_shared_contract_with_and_without_the_list) {
    test_upstream heap;
    tracked plain{heap};
    check_allocator_contract(plain, 1);
    tracked listed{heap, {.list = true}};
    check_allocator_contract(listed, 2);
    EXPECT_EQ(plain.stats().live_size + listed.stats().live_size, 0u);
}

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

TEST(tracked, counts_what_is_live_the_most_there_was_and_what_was_refused) {
    test_upstream heap;
    tracked memory{heap};
    void* const a = memory.allocate(100);
    void* const b = memory.allocate(50);
    memory.deallocate(a, 100);
    void* const c = memory.allocate(20);
    EXPECT_EQ(memory.allocate(SIZE_MAX), nullptr);
    const track_stats& s = memory.stats();
    EXPECT_EQ(s.live_count, 2u);
    EXPECT_EQ(s.live_size, 70u);
    EXPECT_EQ(s.peak_size, 150u);
    EXPECT_EQ(s.peak_count, 2u);
    EXPECT_EQ(s.allocated_count, 3u);
    EXPECT_EQ(s.allocated_size, 170u);
    EXPECT_EQ(s.refused_count, 1u);
    EXPECT_EQ(s.refused_size, SIZE_MAX);
    memory.deallocate(b, 50);
    memory.deallocate(c, 20);
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
        EXPECT_TRUE(contains(seen.lines[1], "tracked_test.cpp:" + std::to_string(line + 2)));
        EXPECT_TRUE(contains(seen.lines[2], "3 blocks with 30 bytes: from")) << seen.lines[2];
        EXPECT_TRUE(contains(seen.lines[2], "tracked_test.cpp:" + std::to_string(line)));
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

TEST(tracked, the_list_names_a_wrong_size_a_wrong_alignment_and_a_stranger_in_any_build) {
    test_upstream heap;
    tracked memory{heap, {.name = "textures", .list = true}};
    void* const p = memory.allocate(100, alignment{32});
    EXPECT_DEATH(memory.deallocate(p, 96, alignment{32}), "freed with the size and alignment");
    EXPECT_DEATH(memory.deallocate(p, 100, alignment{16}), "freed with the size and alignment");
    int stranger = 0;
    EXPECT_DEATH(memory.deallocate(&stranger, 4), "is no live block of 'textures'");
    memory.deallocate(p, 100, alignment{32});
    EXPECT_DEATH(memory.deallocate(p, 100, alignment{32}), "a block that comes back is live");
}

TEST(tracked, even_without_the_list_more_cannot_come_back_than_was_given) {
    test_upstream heap;
    tracked memory{heap};
    void* const p = memory.allocate(100);
    EXPECT_DEATH(memory.deallocate(p, 101), "no more comes back than was given out");
    memory.deallocate(p, 100);
}

TEST(tracked, resizing_is_counted) {
    page_allocator pages;
    tracked memory{pages, {.list = true}};
    void* const p = memory.allocate(100);
    ASSERT_TRUE(memory.try_resize(p, 100, 3000));
    EXPECT_EQ(memory.stats().live_size, 3000u);
    EXPECT_EQ(memory.stats().peak_size, 3000u);
    ASSERT_TRUE(memory.try_resize(p, 3000, 10));
    EXPECT_EQ(memory.stats().live_size, 10u);
    memory.deallocate(p, 10);  // and the list knows the new size
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

TEST(tracked, wrappers_compose_in_any_order) {
    test_upstream heap;
    failing limited{heap};
    limited.limit_size(100);
    tracked outer{limited};
    tracked<failing<test_upstream&>> owning{track_options{}, heap};
    void* const p = outer.allocate(100);
    EXPECT_EQ(outer.allocate(1), nullptr);
    EXPECT_EQ(outer.stats().refused_count, 1u);
    outer.deallocate(p, 100);
    owning.inner().refuse_every(1);
    EXPECT_EQ(owning.allocate(1), nullptr);
    int* const n = make<int>(outer, 5);
    destroy(outer, n);
}

TEST(tracked, the_list_agrees_with_a_model_over_random_operations) {
    const unsigned seed = 7;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    test_upstream heap;
    tracked memory{heap, {.list = true}};
    std::map<void*, std::size_t> model;
    std::size_t bytes = 0;
    for (int step = 0; step < 20000; ++step) {
        if (model.empty() || random() % 100 < 52) {
            const std::size_t size = 1 + random() % 64;
            void* const p = memory.allocate(size);
            ASSERT_TRUE(model.emplace(p, size).second);
            bytes += size;
        } else {
            auto it = model.lower_bound(reinterpret_cast<void*>(random() * std::uintptr_t{4096}));
            if (it == model.end()) { it = model.begin(); }
            memory.deallocate(it->first, it->second);  // names any disagreement
            bytes -= it->second;
            model.erase(it);
        }
        ASSERT_EQ(memory.stats().live_size, bytes);
        ASSERT_EQ(memory.stats().live_count, model.size());
    }
    for (const auto& [p, size] : model) { memory.deallocate(p, size); }
    EXPECT_EQ(memory.stats().live_count, 0u);
}

TEST(block_table, finds_exactly_what_was_put_in_whatever_was_erased_in_between) {
    const unsigned seed = 11;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random{seed};
    static std::byte addresses[512];
    detail::block_table table;
    std::map<std::byte*, std::uint64_t> model;
    for (std::uint64_t step = 0; step < 30000; ++step) {
        std::byte* const at = &addresses[random() % 512];
        const auto found = model.find(at);
        detail::block_record* const known = table.find(at);
        ASSERT_EQ(known != nullptr, found != model.end());
        if (known == nullptr) {
            ASSERT_TRUE(table.insert({.data = at, .serial = step}));
            model[at] = step;
        } else {
            ASSERT_EQ(known->serial, found->second);
            table.erase(known);
            model.erase(found);
        }
        if (step % 5000 == 4999) {
            const std::uint64_t since = step - random() % 1000;
            std::size_t erased = 0;
            table.erase_since(since, [&](const detail::block_record&) { ++erased; });
            EXPECT_EQ(erased, std::erase_if(model, [&](auto& m) { return m.second >= since; }));
        }
        ASSERT_EQ(table.count(), model.size());
    }
    std::size_t seen = 0;
    table.for_each([&](const detail::block_record& r) { seen += model.count(r.data); });
    EXPECT_EQ(seen, model.size());
}

TEST(block_table, without_memory_it_says_no_and_is_unchanged) {
    test_upstream heap;
    heap.refuse_from(1);
    detail::block_table table{heap};
    static std::byte addresses[64];
    std::size_t inserted = 0;
    while (inserted < 64 && table.insert({.data = &addresses[inserted]})) { ++inserted; }
    EXPECT_EQ(inserted, 32u) << "half of the 64 slots of the only block it got";
    EXPECT_EQ(table.count(), 32u);
    for (std::size_t i = 0; i < 64; ++i) {
        EXPECT_EQ(table.find(&addresses[i]) != nullptr, i < 32);
    }
}

TEST(block_table, gives_each_table_that_it_grew_out_of_back_as_it_was_taken) {
    test_upstream heap;  // which looks at the sizes
    static std::byte addresses[300];
    detail::block_table table{heap};
    for (std::byte& at : addresses) { ASSERT_TRUE(table.insert({.data = &at})); }
    EXPECT_EQ(heap.live_count(), 1u);
    EXPECT_GT(heap.request_count(), 2u);
    for (std::byte& at : addresses) { EXPECT_NE(table.find(&at), nullptr); }
}
