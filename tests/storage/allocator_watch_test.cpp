// What checked builds know about an allocator (alloc/arena/allocator_watch.hpp): names, two
// threads at once, moves.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/locked.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/debug/expect_broken_promise.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/forking.hpp"
#include "support/heap_model.hpp"
#include "support/sanitizers.hpp"

using namespace cairn;

namespace {

std::string where(const void* address) {
    char text[512];
    return describe_address(address, text, sizeof text) ? text : "";
}

unsigned line_of(std::source_location at = std::source_location::current()) { return at.line(); }

bool says(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// ------------------------------------------------------------------------------------------------
// names

TEST(a_named_pool, tells_slot_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "enemies"}};
    std::vector<char*> all;
    for (int i = 0; i < 5; ++i) { all.push_back(static_cast<char*>(slots.allocate())); }
    char* const p = all[2];
    slots.deallocate(p);
    EXPECT_TRUE(says(where(p + 5), " lies 5 bytes into slot ")) << where(p + 5);
    EXPECT_TRUE(says(where(p + 5), " of pool 'enemies' (48 bytes, freed)")) << where(p + 5);
    EXPECT_TRUE(says(where(all[1]), "(48 bytes, live)")) << where(all[1]);
    EXPECT_TRUE(says(where(all[4] + 48), "(48 bytes, not given out since the last reset)"));
    EXPECT_EQ(where(&slots), "") << "the object is not its memory";
    slots.reset();
    EXPECT_TRUE(says(where(p), "not given out since the last reset"));
}

/// The number in "into slot 7 of".
std::size_t slot_in(const std::string& text) {
    const std::size_t at = text.find("into slot ");
    return at == std::string::npos ? SIZE_MAX : std::stoul(text.substr(at + 10));
}

TEST(a_named_pool, gives_each_slot_a_number_of_its_own_from_0_on) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    pool slots{48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "slots"}};
    concurrent_pool jobs{
        48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "jobs"}};
    std::array<void*, 200> taken;
    std::array<void*, 200> taken_jobs;
    for (void*& p : taken) { p = slots.allocate(); }
    for (void*& p : taken_jobs) { p = jobs.allocate(); }
    // Once all chunks are there: slots are numbered by address.
    std::set<std::size_t> numbers;
    std::set<std::size_t> job_numbers;
    for (void* const p : taken) { numbers.insert(slot_in(where(p))); }
    for (void* const p : taken_jobs) { job_numbers.insert(slot_in(where(p))); }
    EXPECT_EQ(numbers.size(), 200u);
    EXPECT_LT(*numbers.rbegin(), slots.stats().slot_count);
    EXPECT_EQ(job_numbers.size(), 200u);
    EXPECT_EQ(*job_numbers.begin(), 0u);
    EXPECT_LT(*job_numbers.rbegin(), jobs.stats().slot_count);
}

TEST(a_named_arena, tells_the_side_of_its_top) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{1024, system_memory(), {.name = "level"}};
    auto* const p = static_cast<char*>(level.allocate(100));
    EXPECT_TRUE(says(where(p + 8), " lies 8 bytes into arena 'level' (1024 bytes, below the top"));
    EXPECT_TRUE(says(where(p + 112), "arena 'level' (1024 bytes, above the top"));
    EXPECT_EQ(where(p + 1024), "");

    std::array<std::byte, 256> buffer;
    arena over_buffer{buffer, {.name = "buffer"}};
    EXPECT_TRUE(says(where(&buffer[100]), "arena 'buffer'"));

    growing_arena frames{
        256, system_memory(), {.on_reset = reset_policy::keep_all(), .name = "frames"}};
    std::vector<char*> blocks;
    for (int i = 0; i < 20; ++i) { blocks.push_back(static_cast<char*>(frames.allocate(100))); }
    for (const char* block : blocks) {
        EXPECT_TRUE(says(where(block + 1), " of growing_arena 'frames' (")) << where(block + 1);
        EXPECT_TRUE(says(where(block + 1), "below the top"));
    }
    frames.reset();
    for (const char* block : blocks) { EXPECT_TRUE(says(where(block + 1), "above the top")); }

    virtual_arena log{std::size_t{1} << 20, {.name = "log"}};
    auto* const q = static_cast<char*>(log.allocate(100));
    EXPECT_TRUE(says(where(q + 16), " lies 16 bytes into virtual_arena 'log' ("));
    EXPECT_TRUE(says(where(q + 500000), "above the top")) << "reserved addresses are its own";
}

TEST(a_named_double_ended_arena, tells_both_ends) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    double_ended_arena level{1024};
    level.set_name("level");
    auto* const low = static_cast<char*>(level.low().allocate(100));
    auto* const high = static_cast<char*>(level.high().allocate(100));
    EXPECT_TRUE(says(where(low + 1), "double_ended_arena 'level' (1024 bytes, at the low end"));
    EXPECT_TRUE(says(where(high + 1), "double_ended_arena 'level' (1024 bytes, at the high end"));
    EXPECT_TRUE(says(where(low + 500), "double_ended_arena 'level' (1024 bytes, between the ends"));
}

template <class Heap>
void expect_blocks_told() {
    Heap level{std::size_t{16} << 10};
    level.set_name("level");
    auto* const first = static_cast<char*>(level.allocate(100));
    auto* const second = static_cast<char*>(level.allocate(1000));
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(says(where(first + 5), " lies 5 bytes into block ")) << where(first + 5);
    EXPECT_TRUE(says(where(first + 5), " of heap 'level' (")) << where(first + 5);
    EXPECT_TRUE(says(where(first + 5), " bytes, live)")) << where(first + 5);
    EXPECT_TRUE(says(where(second - 3), " lies 3 bytes in front of block ")) << where(second - 3);
    EXPECT_NE(where(first), where(second));
    level.deallocate(first, 100);
    level.deallocate(second, 1000);
    EXPECT_TRUE(says(where(first + 8), "freed)")) << where(first + 8);
    EXPECT_EQ(where(&level), "") << "the object is not its memory";
    Heap other{std::move(level)};
    EXPECT_TRUE(says(where(first + 8), "heap 'level'"));
    other.set_name("other");
    EXPECT_TRUE(says(where(first + 8), "heap 'other'"));
    other = Heap{std::size_t{16} << 10};
    EXPECT_EQ(where(first + 8), "");
}

TEST(a_named_heap, tells_block_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    expect_blocks_told<heap<>>();
    expect_blocks_told<heap<best_fit>>();
    expect_blocks_told<heap<half_fit>>();

    heap<> grown{grow_by{4096}};
    grown.set_name("grown");
    std::vector<char*> blocks;
    for (int i = 0; i < 20; ++i) { blocks.push_back(static_cast<char*>(grown.allocate(3000))); }
    ASSERT_GT(grown.stats().region_count, 1u);
    for (const char* block : blocks) {
        EXPECT_TRUE(says(where(block + 1), " lies 1 bytes into block ")) << where(block + 1);
        EXPECT_TRUE(says(where(block + 1), "of heap 'grown' (")) << where(block + 1);
    }
    for (char* block : blocks) { grown.deallocate(block, 3000); }
    grown.trim();
    EXPECT_EQ(where(blocks.front()), "");
}

TEST(a_named_heap, numbers_its_blocks_by_address_and_believes_no_header_that_was_overrun) {
    if (!asserts_enabled || checker_is_faster()) { GTEST_SKIP(); }
    test_region memory{4096};
    heap<best_fit> level{memory.span()};
    level.set_name("level");
    char* blocks[4];
    for (char*& block : blocks) { block = static_cast<char*>(level.allocate(104)); }
    for (int i = 0; i < 4; ++i) {
        const std::string number = " block " + std::to_string(i) + " of heap 'level'";
        EXPECT_TRUE(says(where(blocks[i]), number.c_str())) << where(blocks[i]);
    }
    std::memset(blocks[1] + level.usable_size(blocks[1]), 0x3F, 4);  // a size beyond the region
    EXPECT_TRUE(says(where(blocks[1]), " block 1 of heap")) << where(blocks[1]);
    EXPECT_TRUE(says(where(blocks[2]), "or was overrun")) << where(blocks[2]);
    EXPECT_TRUE(says(where(blocks[3]), "or was overrun")) << where(blocks[3]);
}

TEST(a_named_heap, is_told_when_a_block_comes_back_wrongly_with_the_line_that_freed) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    heap<> level{std::size_t{16} << 10};
    level.set_name("level");
    void* const p = level.allocate(100);
    unsigned line = line_of() + 1;
    const auto size = expect_broken_promise([&] { level.deallocate(p, 500); });
    EXPECT_EQ(size.kind(), misuse_kind::wrong_size) << size;
    EXPECT_EQ(size.line(), line);
    EXPECT_EQ(size.object(), &level);
    EXPECT_EQ(size.value("bytes freed"), 500u);
    EXPECT_EQ(size.value("bytes of the block"), level.good_size(100));
    EXPECT_TRUE(size.says("heap 'level' at")) << size;
    line = line_of() + 3;
    const auto twice = expect_broken_promise([&] {
        level.deallocate(p, 100);
        level.deallocate(p, 100);
    });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_TRUE(twice.says("a block is freed once"));
    EXPECT_EQ(twice.line(), line);
    int elsewhere = 0;
    line = line_of() + 1;
    const auto foreign = expect_broken_promise([&] { level.deallocate(&elsewhere); });
    EXPECT_EQ(foreign.kind(), misuse_kind::foreign_pointer) << foreign;
    EXPECT_EQ(foreign.line(), line);
    const auto leak = expect_broken_promise([] {
        heap<> mine{std::size_t{16} << 10};
        mine.set_name("mine");
        mine.expect_empty_end();
        (void)mine.allocate(8);
    });
    EXPECT_EQ(leak.kind(), misuse_kind::leak) << leak;
    EXPECT_EQ(leak.value("live blocks"), 1u);
    EXPECT_TRUE(leak.says("heap 'mine' at")) << leak;
}

TEST(a_named_concurrent_pool, tells_slot_and_state_of_an_address) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const void* address = nullptr;
    {
        concurrent_pool jobs{
            48, alignment{16}, system_memory(), {.slots_per_chunk = 4, .name = "jobs"}};
        std::vector<char*> all;
        for (int i = 0; i < 200; ++i) { all.push_back(static_cast<char*>(jobs.allocate())); }
        address = all[1];
        jobs.deallocate(all[2]);
        EXPECT_TRUE(says(where(all[2] + 5), " lies 5 bytes into slot ")) << where(all[2] + 5);
        EXPECT_TRUE(says(where(all[2] + 5), " of concurrent_pool 'jobs' (48 bytes, free)"));
        for (std::size_t i = 3; i < all.size(); ++i) {
            EXPECT_TRUE(says(where(all[i]), "(48 bytes, live)")) << where(all[i]);
        }
        EXPECT_NE(where(all[0]), where(all[1]));
        EXPECT_EQ(where(&jobs), "");
        jobs.set_name("later");
        EXPECT_TRUE(says(where(address), "concurrent_pool 'later'"));
        jobs.set_name(nullptr);
        EXPECT_EQ(where(address), "");
        jobs.set_name("again");
        jobs.reset();
        EXPECT_TRUE(says(where(address), "(48 bytes, not given out since the last reset)"));
    }
    EXPECT_EQ(where(address), "");
}

TEST(a_named_concurrent_pool, is_told_when_a_slot_comes_back_wrongly_with_the_line_that_freed) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    concurrent_pool jobs{64};
    jobs.set_name("jobs");
    void* const p = jobs.allocate();
    unsigned line = line_of() + 1;
    const auto size = expect_broken_promise([&] { jobs.deallocate(p, 65, default_alignment); });
    EXPECT_EQ(size.kind(), misuse_kind::wrong_size) << size;
    EXPECT_EQ(size.line(), line);
    EXPECT_EQ(size.value("bytes freed"), 65u);
    EXPECT_TRUE(size.says("concurrent_pool 'jobs' at")) << size;
    jobs.deallocate(p);
    line = line_of() + 1;
    const auto twice = expect_broken_promise([&] { jobs.deallocate(p); });
    EXPECT_EQ(twice.kind(), misuse_kind::double_free) << twice;
    EXPECT_EQ(twice.line(), line);
    EXPECT_NE(twice.value("slot"), ~0ull);
    line = line_of() + 1;
    const auto of_view = expect_broken_promise([&] { jobs.local().deallocate(p); });
    EXPECT_EQ(of_view.line(), line);
    int elsewhere = 0;
    EXPECT_EQ(expect_broken_promise([&] { jobs.deallocate(&elsewhere); }).kind(),
              misuse_kind::foreign_pointer);
}

TEST(a_name, goes_with_a_move_and_ends_with_the_allocator) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const void* address = nullptr;
    {
        arena a{1024, system_memory(), {.name = "first"}};
        address = a.allocate(16);
        arena b{std::move(a)};
        EXPECT_TRUE(says(where(address), "'first'"));
        arena c{64};
        c = std::move(b);
        EXPECT_TRUE(says(where(address), "'first'"));
        c.set_name("second");
        EXPECT_TRUE(says(where(address), "'second'"));
        c.set_name(nullptr);
        EXPECT_EQ(where(address), "");
        c.set_name("third");
    }
    EXPECT_EQ(where(address), "");
    pool p{64};
    p.set_name("pool");
    address = p.allocate();
    pool q{std::move(p)};
    EXPECT_TRUE(says(where(address), "pool 'pool'"));
    q = pool{32};
    EXPECT_EQ(where(address), "");
}

TEST(a_name, ends_without_the_others_that_were_given_before_and_after) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    std::vector<std::unique_ptr<arena>> all;
    std::vector<const void*> addresses;
    for (int i = 0; i < 5; ++i) {
        all.push_back(std::make_unique<arena>(256, system_memory(), arena_options{.name = "one"}));
        addresses.push_back(all.back()->allocate(16));
    }
    for (const std::size_t gone : {2u, 0u, 4u, 1u, 3u}) {
        all[gone].reset();
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_EQ(says(where(addresses[i]), "'one'"), all[i] != nullptr) << i;
        }
    }
}

TEST(a_name, of_the_innermost_allocator_is_told) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{64 << 10, system_memory(), {.name = "level"}};
    pool enemies{64, default_alignment, level, {.name = "enemies"}};
    pool later{64, default_alignment, level};
    later.set_name("later");
    EXPECT_TRUE(says(where(enemies.allocate()), "pool 'enemies'"));
    EXPECT_TRUE(says(where(later.allocate()), "pool 'later'"));
    EXPECT_TRUE(says(where(level.allocate(8)), "arena 'level'"));
}

TEST(describe_address, stays_inside_its_buffer) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena level{1024, system_memory(), {.name = "level"}};
    const void* const p = level.allocate(16);
    const std::string all = where(p);
    for (std::size_t size = 1; size < all.size() + 2; ++size) {
        std::string text(size + 1, '?');
        EXPECT_TRUE(describe_address(p, text.data(), size));
        EXPECT_EQ(text[size], '?');
        EXPECT_EQ(std::string(text.c_str()), all.substr(0, size - 1));
    }
}

TEST(names, are_taken_from_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 200; ++i) {
                arena a{256, system_memory(), {.name = "a"}};
                arena b{std::move(a)};
                b.set_name("b");
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
}

// ------------------------------------------------------------------------------------------------
// threads

void enter_pool_twice() {
    static stopping_upstream upstream;
    upstream.requests_left = 0;
    pool slots{64, default_alignment, upstream, {.name = "shared"}};
    std::thread other{[&] { (void)slots.allocate(); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    (void)slots.allocate();
}

// Slots of which all is well go a short way, which has no word of its own.
void enter_pool_on_its_short_way() {
    static stopping_upstream upstream;
    upstream.requests_left = 1;
    pool slots{64, default_alignment, upstream, {.slots_per_chunk = 2, .name = "shared"}};
    void* const one = slots.allocate();
    slots.deallocate(slots.allocate());
    (void)slots.allocate();
    std::thread other{[&] { (void)slots.allocate(); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    slots.deallocate(one);
}

void enter_arena_twice() {
    static stopping_upstream upstream;
    upstream.requests_left = 0;
    growing_arena frames{1024, upstream};
    std::thread other{[&] { (void)frames.allocate(64); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    frames.reset();
}

// What fits into the current block takes the hot path, which has no word of its own.
void enter_arena_in_its_hot_path(bool frees) {
    static stopping_upstream upstream;
    upstream.requests_left = 1;
    growing_arena frames{1024, upstream};
    void* const last = frames.allocate(16);
    std::thread other{[&] { (void)frames.allocate(4000); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    if (frees) {
        frames.deallocate(last, 16);
    } else {
        (void)frames.allocate(16);
    }
}

void enter_heap_twice() {
    static stopping_upstream upstream;
    upstream.requests_left = 0;
    heap<> level{grow_by{4096}, upstream};
    level.set_name("shared");
    std::thread other{[&] { (void)level.allocate(64); }};
    while (!upstream.stopped) { std::this_thread::yield(); }
    (void)level.allocate(64);
}

void race_for_an_arena() {
    arena memory{1024};
    const auto work = [&] {
        for (;;) { memory.deallocate(memory.allocate(16), 16); }
    };
    std::thread other{work};
    work();
}

TEST(two_threads_at_once, are_named_while_one_waits_for_the_upstream) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(enter_pool_twice(),
                 "one thread at a time uses an allocator(.|\n)*pool 'shared' at");
    EXPECT_DEATH(enter_pool_on_its_short_way(),
                 "one thread at a time uses an allocator(.|\n)*pool 'shared' at");
    EXPECT_DEATH(enter_arena_twice(),
                 "one thread at a time uses an allocator(.|\n)*growing_arena at");
    for (const bool frees : {false, true}) {
        EXPECT_DEATH(enter_arena_in_its_hot_path(frees),
                     "one thread at a time uses an allocator(.|\n)*growing_arena at");
    }
    EXPECT_DEATH(enter_heap_twice(),
                 "one thread at a time uses an allocator(.|\n)*heap 'shared' at");
}

TEST(two_threads_at_once, are_named_when_they_collide_on_an_arena) {
    if (!asserts_enabled || under_tsan) { GTEST_SKIP(); }  // ThreadSanitizer names it first
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // Whatever the race breaks first: in most runs it is the overlap itself.
    EXPECT_DEATH(race_for_an_arena(), "broken promise");
}

#if CAIRN_ASSERTS
TEST(two_threads_at_once, are_named_by_the_one_that_leaves_when_both_came_in_unseen) {
    if (under_tsan) { GTEST_SKIP() << "death tests fork"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto both_inside = [] {
        using detail::allocator_watch;
        alignas(allocator_watch) std::byte memory[sizeof(allocator_watch)];
        auto* const watch = ::new (memory) allocator_watch;
        const allocator_watch::use mine{*watch, memory, "arena", {}};
        ::new (memory) allocator_watch;  // as the other thread saw it when it came in
        std::thread{[&] { new allocator_watch::use{*watch, memory, "arena", {}}; }}.join();
    };
    EXPECT_DEATH(both_inside(), "one thread at a time uses an allocator");
}
#endif

TEST(threads_that_take_turns, are_legal_under_a_lock) {
    locked<pool> slots{std::size_t{64}};
    locked<growing_arena> memory{std::size_t{1024}};
    locked<heap<>> level{std::size_t{64} << 10};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) {
                void* const p = slots.allocate(64, alignment{16});
                void* const q = memory.allocate(16, alignment{16});
                memory.deallocate(q, 16, alignment{16});
                slots.deallocate(p, 64, alignment{16});
                void* const r = level.allocate(100, alignment{16});
                level.deallocate(r, 100, alignment{16});
            }
        });
    }
    for (std::thread& t : threads) { t.join(); }
    slots.validate();
    level.validate();
    memory.validate();
}

TEST(threads_that_take_turns, are_legal_by_handing_over) {
    pool slots{64};
    arena memory{1024};
    heap<> level{std::size_t{16} << 10};
    std::atomic<int> turn{0};
    const auto work = [&](int mine) {
        for (int i = 0; i < 200; ++i) {
            while (turn.load(std::memory_order_acquire) != mine) { std::this_thread::yield(); }
            slots.deallocate(slots.allocate());
            memory.deallocate(memory.allocate(16), 16);
            level.deallocate(level.allocate(16), 16);
            turn.store(1 - mine, std::memory_order_release);
        }
    };
    std::thread other{work, 1};
    work(0);
    other.join();
}

TEST(one_thread, may_come_back_through_an_upstream_and_from_its_own_slots) {
    arena memory{64 << 10};
    pool slots{64, default_alignment, memory, {.slots_per_chunk = 2}};
    for (int i = 0; i < 20; ++i) { ASSERT_NE(slots.allocate(), nullptr); }
    slots.for_each_live([&](void* p) { slots.deallocate(p); });
    EXPECT_EQ(slots.stats().live_count, 0u);
}

// ------------------------------------------------------------------------------------------------
// moves and ends

TEST(an_arena_that_was_moved_from, is_named_when_it_is_used_and_may_be_assigned_to) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    arena a{1024, system_memory(), {.name = "level"}};
    arena b{std::move(a)};
    const auto broken = expect_broken_promise([&] { (void)a.allocate(1); });  // NOLINT
    EXPECT_TRUE(broken.says("an arena that was moved from is assigned to before it is used"));
    EXPECT_EQ(broken.kind(), misuse_kind::moved_from);
    EXPECT_EQ(broken.object(), &a);
    EXPECT_FALSE(expect_broken_promise([&] { (void)b.allocate(5000); })) << "that is out of memory";
    EXPECT_FALSE(expect_broken_promise([] { (void)arena{}.allocate(1); })) << "and that, too";
    a.reset();
    a.validate();
    a = std::move(b);
    EXPECT_NE(a.allocate(1), nullptr);
    EXPECT_TRUE(expect_broken_promise([&] { (void)b.allocate(1); }));  // NOLINT

    virtual_arena v{std::size_t{1} << 20};
    virtual_arena w{std::move(v)};
    EXPECT_EQ(expect_broken_promise([&] { (void)v.allocate(1); }).kind(),  // NOLINT
              misuse_kind::moved_from);
    v = std::move(w);
    EXPECT_NE(v.allocate(1), nullptr);
}

TEST(a_pool_of_objects_with_destructors, is_named_when_it_ends_with_live_ones) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    using names = pool_of<std::string>;
    const auto broken = expect_broken_promise([] {
        names n{system_memory(), {.name = "names"}};
        (void)n.make("a");
        (void)n.make("b");
    });
    EXPECT_TRUE(broken.says("every object is destroyed before its pool ends")) << broken;
    EXPECT_TRUE(broken.says("pool_of 'names' at"));
    EXPECT_EQ(broken.kind(), misuse_kind::leak);
    EXPECT_EQ(broken.value("live objects"), 2u);
    EXPECT_TRUE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n = names{};
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n.destroy_all();
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        (void)n.make("a");
        n.reset();
    })) << "dropped by intent";
    EXPECT_FALSE(expect_broken_promise([] {
        names n;
        std::string* const s = n.make("a");
        names other{std::move(n)};
        other.destroy(s);
    }));
    EXPECT_FALSE(expect_broken_promise([] { (void)pool_of<int>{}.make(1); }))
        << "dropping what has no destructor is what pools are good for";
}

TEST(an_object_of_a_pool, is_not_destroyed_twice_before_the_sentence_is_said) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    struct counted {
        int* destroyed;
        ~counted() { std::abort(); }
    };
    pool_of<counted> objects;
    int count = 0;
    counted* const c = objects.make(&count);
    void* const memory = c;
    static_cast<pool&>(objects).deallocate(memory);
    const unsigned line = std::source_location::current().line() + 1;
    const auto broken = expect_broken_promise([&] { objects.destroy(c); });
    EXPECT_EQ(broken.kind(), misuse_kind::double_free) << broken;
    EXPECT_EQ(broken.line(), line);
}

TEST(a_pool_that_wants_all_slots_back, is_named_when_it_ends_with_a_live_one) {
    if (!asserts_enabled) { GTEST_SKIP(); }
    const auto broken = expect_broken_promise([] {
        pool p{64, default_alignment, system_memory(), {.all_back_at_end = true}};
        (void)p.allocate();
    });
    EXPECT_TRUE(broken.says("every slot comes back before the pool ends")) << broken;
    EXPECT_EQ(broken.value("live slots"), 1u);
    EXPECT_FALSE(expect_broken_promise([] {
        pool p{64, default_alignment, system_memory(), {.all_back_at_end = true}};
        p.deallocate(p.allocate());
    }));
    EXPECT_FALSE(expect_broken_promise([] {
        pool p{64};
        (void)p.allocate();
    }));
}

}  // namespace
