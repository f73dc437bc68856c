// lab/families/arena_limits.cpp - the shortest loops that do the work of an arena, and malloc.
#include <cstdlib>
#include <memory>
#include <vector>

#include "lab/families/arena_family.hpp"

namespace {

// Cursors are std::byte*, not std::uintptr_t: an integer cursor may alias the std::uint64_t that
// the user writes, and the compiler would then store and load it around every object.

std::uintptr_t number(std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// The pointer is rounded up for each request; one compare.
struct bump_up {
    std::byte *cursor, *end, *begin;
    explicit bump_up(std::span<std::byte> r)
        : cursor{r.data()}, end{cursor + r.size()}, begin{cursor} {}
    void* allocate(std::size_t size) {
        std::byte* const p =
            reinterpret_cast<std::byte*>((number(cursor) + 7) & ~std::uintptr_t{7});
        if (number(p) + size > number(end)) [[unlikely]]
            return nullptr;
        cursor = p + size;
        return p;
    }
    void reset() { cursor = begin; }
};

/// The size is rounded up instead, so that the cursor is always aligned.
struct bump_rounded {
    std::byte *cursor, *end, *begin;
    explicit bump_rounded(std::span<std::byte> r)
        : cursor{r.data()}, end{cursor + r.size()}, begin{cursor} {}
    void* allocate(std::size_t size) {
        std::byte* const p = cursor;
        std::byte* const next = p + ((size + 7) & ~std::size_t{7});
        if (number(next) > number(end)) [[unlikely]]
            return nullptr;
        cursor = next;
        return p;
    }
    void reset() { cursor = begin; }
};

struct bump_down {
    std::byte *cursor, *begin, *end;
    explicit bump_down(std::span<std::byte> r)
        : cursor{r.data() + r.size()}, begin{r.data()}, end{cursor} {}
    void* allocate(std::size_t size) {
        std::byte* const p =
            reinterpret_cast<std::byte*>((number(cursor) - size) & ~std::uintptr_t{7});
        if (number(p) < number(begin)) [[unlikely]]
            return nullptr;
        cursor = p;
        return p;
    }
    void reset() { cursor = end; }
};

/// As bump_rounded, but blocks from 4 KiB on are 64 bytes further apart than they need to be, so
/// that their first lines fall into different sets of the cache.
struct bump_coloured {
    std::byte *cursor, *end, *begin;
    explicit bump_coloured(std::span<std::byte> r)
        : cursor{r.data()}, end{cursor + r.size()}, begin{cursor} {}
    void* allocate(std::size_t size) {
        std::byte* const p = cursor;
        std::byte* const next = p + ((size + 7) & ~std::size_t{7}) + (size >= 4096 ? 64 : 0);
        if (number(next) > number(end)) [[unlikely]]
            return nullptr;
        cursor = next;
        return p;
    }
    void reset() { cursor = begin; }
};

/// No allocator at all: where each object goes is known. What touching them costs.
struct touch_only {
    std::span<std::byte> bytes;
    std::vector<std::byte*> places;
    std::byte** next = nullptr;
    explicit touch_only(std::span<std::byte> r) : bytes{r}, places(2 * lab::frame_allocations) {}
    void* allocate(std::size_t size) {
        if (next == nullptr) [[unlikely]]
            return first_frame(size);
        return *next++;
    }
    void reset() {
        if (filled != 0) next = places.data();
    }

private:
    std::size_t filled = 0;
    std::size_t at = 0;
    [[gnu::noinline]] void* first_frame(std::size_t size) {
        std::byte* const p = bytes.data() + at;
        at += (size + 7) & ~std::size_t{7};
        places[filled++] = p;
        return p;
    }
};

/// malloc and free: what an arena replaces. Pointers are kept in an array that is not counted.
struct malloc_and_free {
    std::unique_ptr<void*[]> live{new void*[2 * lab::frame_allocations]};
    std::size_t count = 0;
    explicit malloc_and_free(std::span<std::byte>) {}
    ~malloc_and_free() { reset(); }
    void* allocate(std::size_t size) { return live[count++] = std::malloc(size); }
    void reset() {
        for (std::size_t i = 0; i != count; ++i) std::free(live[i]);
        count = 0;
    }
};

using lab::kind;
const bool offered =
    lab::offer_arena<touch_only>("no allocator, touches only", kind::limit,
                                 {.fixed_region = true}) &&
    lab::offer_arena<bump_up>("bump up", kind::limit, {.fixed_region = true}) &&
    lab::offer_arena<bump_rounded>("bump up, sizes rounded", kind::limit, {.fixed_region = true}) &&
    lab::offer_arena<bump_down>("bump down", kind::limit, {.fixed_region = true}) &&
    lab::offer_arena<bump_coloured>("bump up, coloured", kind::limit, {.fixed_region = true}) &&
    lab::offer_arena<malloc_and_free>("malloc", kind::peer, {.every_malloc = true});

}  // namespace
