// lab/families/arena_contenders.hpp - who is asked what arena_family.hpp asks: cairn's arenas, the
// shortest loops that do the work of one, and malloc. Others: lab/peers/kinds.hpp.
#pragma once

#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/alloc/frame_arena.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/virtual_arena.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/std/pmr_resource.hpp>

#include "lab/harness/experiment.hpp"

namespace lab::arenas {

inline constexpr std::size_t frame_allocations = 1000;

// ---- cairn --------------------------------------------------------------------------------------

inline cairn::byte_slice slice_of(std::span<std::byte> r) { return {r.data(), r.size()}; }

struct plain : cairn::arena {
    static constexpr bool has_fixed_region = true;
    explicit plain(std::span<std::byte> r) : arena{slice_of(r)} {}
};

/// malloc, counted: what an arena asks of its upstream.
struct counting_upstream {
    std::uint64_t calls = 0;
    void* allocate(std::size_t size, cairn::alignment align) noexcept {
        ++calls;
        return cairn::system_memory().allocate(size, align);
    }
    void deallocate(void* p, std::size_t size, cairn::alignment align) noexcept {
        cairn::system_memory().deallocate(p, size, align);
    }
};

template <cairn::reset_policy (*Policy)()>
struct growing {
    counting_upstream upstream;
    cairn::growing_arena a{64 << 10, upstream, {.on_reset = Policy()}};
    explicit growing(std::span<std::byte>) {}
    growing(const growing&) = delete;
    void* allocate(std::size_t size) { return a.allocate(size); }
    void reset() { a.reset(); }
    [[nodiscard]] std::uint64_t upstream_calls() const { return upstream.calls; }
};

struct growing_as_constructed : cairn::growing_arena {
    explicit growing_as_constructed(std::span<std::byte>) {}
};
struct frames_as_constructed : cairn::frame_arena<> {
    explicit frames_as_constructed(std::span<std::byte>) {}
    void reset() { swap(); }
};
struct reserved : cairn::virtual_arena {
    explicit reserved(std::span<std::byte> r) : virtual_arena{r.size()} {}
};

/// Memory that lasts would be at the high end.
struct low_end {
    static constexpr bool has_fixed_region = true;
    cairn::double_ended_arena a;
    explicit low_end(std::span<std::byte> r) : a{slice_of(r)} {}
    void* allocate(std::size_t size) { return a.low().allocate(size); }
    void reset() { a.low().reset(); }
};

/// What lasts for a level goes to one end, what loading it needs to the other: here by turns.
struct both_ends {
    static constexpr bool has_fixed_region = true;
    cairn::double_ended_arena a;
    bool is_high = false;
    explicit both_ends(std::span<std::byte> r) : a{slice_of(r)} {}
    void* allocate(std::size_t size) {
        is_high = !is_high;
        return is_high ? a.high().allocate(size) : a.low().allocate(size);
    }
    void reset() { a.reset(); }
};

/// As std::pmr's own is measured: through the base class.
struct through_pmr {
    static constexpr bool has_fixed_region = true;
    cairn::pmr_resource<cairn::arena> resource;
    std::pmr::memory_resource* base = &resource;
    explicit through_pmr(std::span<std::byte> r) : resource{slice_of(r)} { forget(base); }
    through_pmr(const through_pmr&) = delete;
    void* allocate(std::size_t size) { return base->allocate(size, 8); }
    void reset() { resource.inner().reset(); }
};

// ---- by hand ------------------------------------------------------------------------------------

// Cursors are std::byte*, not std::uintptr_t: an integer cursor may alias the std::uint64_t that
// the user writes, and the compiler would then store and load it around every object.

inline std::uintptr_t number(std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// A pointer through the region; the size is rounded up, so that the cursor is always aligned.
/// Blocks from 4 KiB on are 64 bytes further apart than they need to be, so that their first lines
/// fall into different sets of the cache.
struct bump_up {
    static constexpr bool has_fixed_region = true;
    std::byte *begin, *end, *cursor = begin;
    explicit bump_up(std::span<std::byte> r) : begin{r.data()}, end{begin + r.size()} {}
    void* allocate(std::size_t size) {
        std::byte* const next = cursor + ((size + 7) & ~std::size_t{7}) + (size >= 4096 ? 64 : 0);
        if (number(next) > number(end)) [[unlikely]]
            return nullptr;
        return std::exchange(cursor, next);
    }
    void reset() { cursor = begin; }
};

/// No allocator at all: where each object goes is known. What touching them costs.
struct touch_only {
    static constexpr bool has_fixed_region = true;
    std::span<std::byte> bytes;
    std::vector<std::byte*> places;
    std::byte** next = nullptr;
    explicit touch_only(std::span<std::byte> r) : bytes{r}, places(2 * frame_allocations) {}
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
    std::unique_ptr<void*[]> live{new void*[2 * frame_allocations]};
    std::size_t count = 0;
    explicit malloc_and_free(std::span<std::byte>) {}
    ~malloc_and_free() { reset(); }
    void* allocate(std::size_t size) { return live[count++] = std::malloc(size); }
    void reset() {
        for (std::size_t i = 0; i != count; ++i) std::free(live[i]);
        count = 0;
    }
};

}  // namespace lab::arenas
