// One program without a test framework, so that it can be cross-compiled and run where there is none
// (tools/prove-windows: mingw and wine). Exit status: how many of its sentences are false.
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/debug/guarded.hpp>
#include <cairn/os/page_allocator.hpp>
#include <cairn/os/per_thread.hpp>
#include <cairn/os/system_allocator.hpp>

#include <cstdio>
#include <cstring>
#include <thread>

using namespace cairn;

namespace {

int wrong_count = 0;

void check(bool condition, const char* sentence) {
    if (!condition) {
        std::printf("not true: %s\n", sentence);
        ++wrong_count;
    }
}

void pages() {
    constexpr std::size_t reserved = std::size_t{1} << 30;
    const std::size_t page = page_memory::size();
    auto* const r = static_cast<std::byte*>(page_memory::reserve(reserved));
    check(r != nullptr && page_memory::commit(r, 16 * page), "a gigabyte can be reserved");
    if (r == nullptr) { return; }
    check(r[5] == std::byte{0}, "committed pages read zero");
    std::memset(r, 0x5A, 16 * page);
    check(page_memory::resident_bytes(r, 16 * page) == 16 * page, "touched pages are resident");
    check(page_memory::commit(r, 16 * page) && r[5] == std::byte{0x5A}, "a commit keeps content");
    page_memory::discard(r, page);
    check(r[5] == std::byte{0} && r[page] == std::byte{0x5A}, "discarded pages read zero");
    page_memory::decommit(r + 4 * page, 4 * page);
    check(page_memory::commit(r + 4 * page, 4 * page) && r[4 * page] == std::byte{0},
          "decommitted pages come back as zeros");
    check(page_memory::protect(r, page, page_memory::access::none) &&
              page_memory::protect(r, page, page_memory::access::read_write) &&
              page_memory::protect(r, page, page_memory::access::read_only),
          "pages can be protected");
    page_memory::release(r, reserved);

    for (std::size_t align = 1; align <= std::size_t{64} << 20; align *= 2) {
        void* const p = page_memory::reserve(3 * page, alignment{align});
        check(p != nullptr && detail::is_aligned(p, alignment{align}),
              "alignments above a page are honoured");
        if (p != nullptr) { page_memory::release(p, 3 * page); }
    }
    check(page_memory::reserve(SIZE_MAX) == nullptr, "the absurd is refused");
}

void allocators() {
    const std::size_t page = page_memory::size();
    page_allocator from_system{{.prefault = true}};
    auto* const p = static_cast<std::byte*>(from_system.allocate(10 * page));
    check(p != nullptr, "pages are given");
    if (p == nullptr) { return; }
    std::memset(p, 1, 10 * page);
    check(from_system.try_resize(p, 10 * page, 3 * page), "shrinking always works");
    std::size_t size = 3 * page;
    if (from_system.try_resize(p, size, 6 * page)) {
        size = 6 * page;
        check(p[3 * page] == std::byte{0}, "grown pages are fresh");
    }
    check(p[0] == std::byte{1}, "resizing keeps the content");
    from_system.deallocate(p, size);

    guarded memory{from_system, {.quarantine_count = 3, .page_guard_every = 1}};
    for (std::size_t bytes = 1; bytes < 50; ++bytes) {
        void* const q = memory.allocate(bytes);
        check(q != nullptr, "guarded blocks are given");
        if (q == nullptr) { return; }
        std::memset(q, 1, bytes);
        memory.deallocate(q, bytes);
    }
    system_allocator heap;
    void* const s = heap.allocate(100, alignment{256});
    check(s != nullptr && detail::is_aligned(s, alignment{256}), "malloc's memory is aligned");
    heap.deallocate(s, 100, alignment{256});
    growing_arena arena;
    for (int i = 0; i < 10000; ++i) { check(arena.allocate(100) != nullptr, "an arena grows"); }
}

void threads() {
    const unsigned own = thread_number();
    per_thread<std::size_t> hits{8};
    std::thread workers[4];
    for (std::thread& worker : workers) {
        worker = std::thread{[&] {
            for (int i = 0; i < 1000; ++i) {
                hits.update([](std::size_t& n) { ++n; });
            }
        }};
    }
    for (std::thread& worker : workers) { worker.join(); }
    std::size_t sum = 0;
    hits.for_each([&](std::size_t n) { sum += n; });
    check(sum == 4000, "counts of threads add up");
    unsigned first = 0;
    unsigned second = 0;
    std::thread{[&] { first = thread_number(); }}.join();
    std::thread{[&] { second = thread_number(); }}.join();
    check(first == second && first != own, "thread numbers are recycled");

    // What a thread held goes back when it ends: gcc's emulated thread-local memory on Windows is
    // gone too early for that.
    concurrent_pool pool{64, alignment{16}, system_memory(), {.slot_count_max = 100}};
    for (int i = 0; i < 100; ++i) {
        std::thread{[&] {
            void* const slot = pool.allocate();
            check(slot != nullptr, "slots come back from threads that have ended");
            check(thread_number() == first, "numbers come back from threads that have ended");
            pool.deallocate(slot);
        }}.join();
    }
    check(pool.stats().cache_count == 0 && pool.stats().live_count == 0,
          "a thread that has ended holds nothing");
}

}  // namespace

int main() {
    pages();
    allocators();
    threads();
    std::puts(wrong_count == 0 ? "all of it is true here" : "some of it is not true here");
    return wrong_count;
}
