// Sentences of cairn/movable/relocatable_heap.hpp about the option stress_relocate.
#include <cairn/core/poison.hpp>
#include <cairn/movable/relocatable_heap.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

#include "movable/relocatable_heap/holes.hpp"

using namespace relocatable_heap_tests;

namespace {

using namespace cairn::literals;
using cairn::alignment;
using cairn::pinned;
using cairn::relocatable_heap;
using handle = relocatable_heap::handle_type;

TEST(relocatable_heap_test, stress_relocate_moves_everything_at_every_safe_point) {
    relocatable_heap heap{
        64_KiB, cairn::system_memory(), {.largest_movable = 4000, .stress_relocate = true}};
    EXPECT_EQ(heap.capacity(), 64_KiB) << "the other side comes on top";
    const auto kept = make_holes(heap, 60, 100, 100);
    const handle large = heap.allocate(5000);
    const pinned<void> still = heap.pin(kept[7]);
    for (int i = 0; i < 5; ++i) {
        std::map<std::uint64_t, std::uintptr_t> before;
        for (const handle h : kept) { before[h.raw()] = address(heap, h); }
        const std::uintptr_t large_before = address(heap, large);
        heap.compact({.steps = 2});
        for (std::size_t k = 0; k < kept.size(); ++k) {
            EXPECT_EQ(address(heap, kept[k]) == before[kept[k].raw()], k == 7);
            EXPECT_EQ(*static_cast<unsigned char*>(heap.get(kept[k])), 2 * k + 1);
        }
        EXPECT_EQ(address(heap, large), large_before);
        heap.validate();
    }
}

TEST(relocatable_heap_test, stress_relocate_destroys_what_it_leaves) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle h = heap.allocate(100);
    auto* const old = static_cast<unsigned char*>(heap.get(h));
    std::memset(old, 1, 100);
    heap.compact({});
    EXPECT_EQ(static_cast<unsigned char*>(heap.get(h))[50], 1);
    if (cairn::detail::poison_is_queryable) {
        EXPECT_TRUE(cairn::is_poisoned(old + 8));
        EXPECT_TRUE(cairn::is_poisoned(old + 99));
    } else if (!cairn::detail::poison_is_seen()) {  // Valgrind reports who reads this
        EXPECT_EQ(old[50], 0xF0);
        EXPECT_EQ(old[99], 0xF0);
    }
}

TEST(relocatable_heap_test, stress_relocate_keeps_every_alignment_up_to_a_page_over_any_region) {
    for (std::size_t size = 16; size < 40'000; size += size < 3000 ? 48 : 1136) {
        relocatable_heap heap{size, cairn::system_memory(), {.stress_relocate = true}};
        EXPECT_EQ(heap.capacity(), cairn::detail::round_up(size, alignment{16}));
        for (std::size_t align = 1; align <= 4096; align *= 2) {
            const handle h = heap.allocate(16, alignment{align});
            if (!h) { continue; }
            for (int i = 0; i < 2; ++i) {
                const std::uintptr_t before = address(heap, h);
                heap.compact({.steps = 0});
                EXPECT_NE(address(heap, h), before) << align << " in " << size;
                EXPECT_TRUE(cairn::detail::is_aligned(heap.get(h), alignment{align}));
            }
            heap.deallocate(h);
        }
    }
}

TEST(relocatable_heap_test, stress_relocate_asks_at_the_gate_and_says_where_the_object_is) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle moves = heap.allocate(100);
    const handle stays = heap.allocate(100);
    struct seen {
        std::uint32_t stays;
        std::uint32_t told = 0;
        void* address = nullptr;
    } gate{stays.index()};
    heap.set_move_observer({.context = &gate,
                            .before_move =
                                [](void* context, std::uint32_t slot) noexcept {
                                    return slot != static_cast<seen*>(context)->stays;
                                },
                            .after_move =
                                [](void* context, std::uint32_t slot, void* address) noexcept {
                                    auto& g = *static_cast<seen*>(context);
                                    g.told = slot;
                                    g.address = address;
                                }});
    const std::uintptr_t before[] = {address(heap, moves), address(heap, stays)};
    heap.compact({.steps = 0});
    EXPECT_NE(address(heap, moves), before[0]);
    EXPECT_EQ(address(heap, stays), before[1]) << "the gate did not close";
    EXPECT_EQ(gate.told, moves.index());
    EXPECT_EQ(gate.address, heap.get(moves));
    heap.set_move_observer({});
}

TEST(relocatable_heap_test, stress_relocate_counts_what_it_copies) {
    relocatable_heap heap{64_KiB, cairn::system_memory(), {.stress_relocate = true}};
    const handle a = heap.allocate(100);
    const handle b = heap.allocate(50);
    EXPECT_TRUE(a && b);
    const auto report = heap.compact({.steps = 0});
    EXPECT_EQ(report.bytes, 0u) << "nothing that a budget was asked for";
    EXPECT_EQ(heap.stats().moved_size, 150u);
    EXPECT_EQ(heap.stats().move_count, 2u);
}

TEST(relocatable_heap_test, stress_relocate_uses_the_halves_of_a_region_of_the_caller) {
    alignas(64) static std::byte memory[8192];
    relocatable_heap heap{
        cairn::byte_slice{memory}, cairn::system_memory(), {.stress_relocate = true}};
    EXPECT_EQ(heap.capacity(), 4096u);
    const handle h = heap.allocate(4096);
    const std::uintptr_t before = address(heap, h);
    heap.compact({});
    EXPECT_EQ(address(heap, h), before + 4096);
    heap.compact({});
    EXPECT_EQ(address(heap, h), before);
    for (std::size_t size = 32; size <= sizeof(memory); size += 48) {
        relocatable_heap part{
            cairn::byte_slice{memory, size}, cairn::system_memory(), {.stress_relocate = true}};
        EXPECT_GE(part.capacity(), size / 4 - 8);
        EXPECT_LE(part.capacity(), size / 2);
        const handle whole = part.allocate(part.capacity());
        ASSERT_TRUE(whole);
        std::memset(part.get(whole), 1, part.capacity());
        part.compact({});
        std::memset(part.get(whole), 2, part.capacity());
    }
}
}  // namespace
