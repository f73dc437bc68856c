// tests/support/stopping_upstream.hpp - memory that stops the thread which asks for it, until it may go on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <thread>

#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/bits.hpp>

/// Memory from a buffer, never given back. Stops in its n-th request until it may go on.
struct stopping_upstream {
    alignas(64) std::byte memory[64 << 10];
    std::size_t used = 0;
    int requests_left = -1;
    std::atomic<bool> stopped{false};
    std::atomic<bool> may_go_on{false};

    stopping_upstream() { std::memset(memory, 0xAA, sizeof memory); }

    void* allocate(std::size_t size, cairn::alignment align) noexcept {
        if (requests_left-- == 0) {
            stopped = true;
            while (!may_go_on) { std::this_thread::yield(); }
        }
        const std::size_t begin = cairn::detail::round_up(used, align);
        if (size > sizeof memory || begin > sizeof memory - size) { return nullptr; }
        used = begin + size;
        return memory + begin;
    }
    void deallocate(void*, std::size_t, cairn::alignment) noexcept {}
};
