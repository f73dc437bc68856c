// tests/support/mutated_region.hpp - the bytes of a heap, changed at random, and what may come of them.
//
// heap::adopt_untrusted() promises an empty heap or one that works, whatever the bytes are. Used by
// alloc/heap_adopt_test.cpp with some thousand regions and by the fuzz target heap_adopt with more.
#pragma once

#include <cairn/alloc/heap.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace cairn::test {

/// The bytes of a region with live, free and waiting blocks.
template <class Fit>
std::vector<std::byte> used_region(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size + 4096);
    std::byte* const begin =
        bytes.data() + padding_to(reinterpret_cast<std::uintptr_t>(bytes.data()), alignment{4096});
    std::mt19937 random{seed};
    {
        heap<Fit> h{byte_slice{begin, size}};
        std::vector<std::pair<void*, std::size_t>> live;
        for (int i = 0; i < 80; ++i) {
            const std::size_t block = random() % (i % 7 == 0 ? 600 : 80);
            if (void* const p = h.allocate(block)) { live.push_back({p, block}); }
            if (random() % 5 < 2 && !live.empty()) {
                std::swap(live[random() % live.size()], live.back());
                h.deallocate(live.back().first, live.back().second);
                live.pop_back();
            }
        }
    }
    return {begin, begin + size};
}

/// Changes some bytes: single ones, small numbers, or a copy of others. More often at the front.
template <class Random>
void mutate(std::byte* bytes, std::size_t size, Random& random) {
    for (auto left = 1 + random() % 4; left != 0; --left) {
        const std::size_t range = random() % 2 == 0 ? (size < 512 ? size : 512) : size;
        const std::size_t at = random() % range;
        switch (random() % 4) {
            case 0:
                bytes[at] = static_cast<std::byte>(random());
                break;
            case 1:
                bytes[at] ^= std::byte{1} << random() % 8;
                break;
            case 2: {
                const auto word = static_cast<std::uint32_t>(random()) >> random() % 32;
                if (at / 4 * 4 + 4 <= size) { std::memcpy(bytes + at / 4 * 4, &word, 4); }
                break;
            }
            default: {
                const std::size_t from = random() % size / 8 * 8;
                if (at / 8 * 8 + 8 <= size && from + 8 <= size) {
                    std::memmove(bytes + at / 8 * 8, bytes + from, 8);
                }
            }
        }
    }
}

/// Adopts `memory` and uses what came of it. Returns: true when it was not an empty heap.
template <class Fit>
bool adopt_and_use(byte_slice memory, unsigned seed) {
    heap<Fit> h = heap<Fit>::adopt_untrusted(memory);
    if (h.stats().region_count == 0) { return false; }
    h.validate();
    std::vector<void*> used;  // by what the bytes say, they are somebody's
    h.for_each_block([&](const heap_block& b) {
        if (b.state == block_state::used) { used.push_back(b.payload); }
    });
    std::mt19937 random{seed};
    std::vector<std::pair<void*, std::size_t>> live;
    for (int i = 0; i < 100; ++i) {
        const unsigned dice = static_cast<unsigned>(random() % 100);
        if (dice < 55) {
            const std::size_t size = random() % 300;
            const alignment align{random() % 8 == 0 ? std::size_t{128} : std::size_t{16}};
            if (void* const p = h.allocate(size, align)) {
                if (!h.owns(p) || !is_aligned(p, align)) { std::abort(); }
                std::memset(p, 0x5A, size);
                live.push_back({p, size});
            }
        } else if (dice < 75 && !live.empty()) {
            h.deallocate(live.back().first, live.back().second);
            live.pop_back();
        } else if (dice < 90 && !used.empty()) {
            h.deallocate(used.back());
            used.pop_back();
        } else if (dice < 95) {
            h.trim();
        } else if (!live.empty() && h.try_resize(live.back().first, live.back().second, dice)) {
            live.back().second = dice;
        }
    }
    h.validate();
    h.trim();
    return true;
}

/// `count` regions of the fit, each changed once. Returns: how many were heaps all the same.
template <class Fit>
std::size_t adopt_mutated(std::size_t count, unsigned seed) {
    constexpr std::size_t size = 6000;
    const std::vector<std::byte> original = used_region<Fit>(size, seed);
    std::vector<std::byte> memory(size + 4096);
    std::byte* const begin =
        memory.data() +
        padding_to(reinterpret_cast<std::uintptr_t>(memory.data()), alignment{4096});
    std::mt19937 random{seed};
    std::size_t heaps = 0;
    for (std::size_t i = 0; i < count; ++i) {
        unpoison(begin, size);  // the heap before it left its own marks
        std::memcpy(begin, original.data(), size);
        mutate(begin, size, random);
        heaps += adopt_and_use<Fit>(byte_slice{begin, size}, static_cast<unsigned>(i)) ? 1u : 0u;
    }
    return heaps;
}

}  // namespace cairn::test
