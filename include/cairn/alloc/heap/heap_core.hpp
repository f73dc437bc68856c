// cairn/alloc/heap/heap_core.hpp - what serves the requests of a heap: its regions, and in front of
// them the blocks that wait.
//
//      allocate    a block of this size that waits      deallocate    it waits, if it may
//         |  none: the core                                |  it may not: the core
//         v                                                v
//      the region that has a free block                 its region, which merges it
//         |  none: merge all that waits, ask again         |  empty: a spare, or back to upstream
//         v
//      one region more
//
// What gives way to what is said in deferred.hpp. A template, so it cannot live in src/ alone; for
// the five heaps that people use it is compiled once there (src/alloc/heap.cpp).
//
// Threads: one at a time; checked builds name two that are inside at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/heap/deferred_bins.hpp>
#include <cairn/alloc/heap/heap_memory.hpp>
#include <cairn/alloc/heap/home_region.hpp>
#include <cairn/alloc/heap/region.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Fit>
class heap_core : public heap_memory {
    using home_region = detail::home_region<Fit>;
    using bin = deferred_bin;

public:
    using region_type = detail::region<Fit>;
    using bins = deferred_bins<Fit>;

    using heap_memory::heap_memory;
    heap_core(heap_core&& other) noexcept
        : heap_memory{static_cast<heap_memory&&>(other)}, bins_{other.bins_} {
        other.bins_ = {};
    }

    /// `home`, in `size` bytes, is the first region.
    void start(region_type* home, std::size_t size) noexcept;

    // In checked builds a call of the library, which is optimized.
    [[nodiscard, gnu::always_inline]] inline void* allocate(std::size_t size,
                                                            alignment align) noexcept {
        if constexpr (asserts_enabled) { return checked_allocate(size, align); }
        return allocate_any(size, align);
    }
    /// Requires: `p` is not null.
    [[gnu::always_inline]] inline void deallocate(void* p, std::size_t size,
                                                  call_site from) noexcept {
        if constexpr (asserts_enabled) { return checked_deallocate(p, size, from); }
        deallocate_any(p, size, from);
    }
    void deallocate(void* p, call_site from) noexcept;
    [[nodiscard]] bool resize(void* p, std::size_t old_size, std::size_t new_size) noexcept;
    void reset() noexcept;
    void trim() noexcept;

    /// Of the block for a request of `size` bytes; 0: absurd.
    [[nodiscard]] static constexpr std::uint32_t granules_of(std::size_t size) noexcept {
        return size > size_max ? 0
                               : Fit::block_size(static_cast<std::uint32_t>(granules_for(size)));
    }
    static constexpr std::size_t size_max =
        payload_size(Fit::block_size(granule_count_max / 2) - 1);

    [[nodiscard]] region_type* region(std::uint32_t i) const noexcept {
        return static_cast<region_type*>(regions_.region(i));
    }
    [[nodiscard]] const bins& waiting() const noexcept { return bins_; }
    [[nodiscard]] block_header header_of(const void* payload) const noexcept {
        CAIRN_DETAIL_STEP();
        const std::byte* const at = static_cast<const std::byte*>(payload) - block_header_size;
        return {load_hidden<std::uint32_t>(at), load_hidden<std::uint32_t>(at + 4)};
    }

private:
    [[nodiscard, gnu::always_inline]] inline void* allocate_any(std::size_t size,
                                                                alignment align) noexcept {
        // One compare of the size finds out whether there is a bin; its number comes from a table.
        [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", {}};
        if constexpr (Fit::deferred_max != 0) {
            if (bins_.covers(size) && align <= default_alignment) [[likely]] {
                bin& b = bins_.of(size);
                if (std::byte* const p = take_newest(b)) [[likely]] {
                    unpoison(p, size);
                    return p;
                }
                return allocate_unwaited(size, b);
            }
        }
        return allocate_from_core(size, align);
    }

    [[gnu::always_inline]] inline void deallocate_any(void* p, std::size_t size,
                                                      [[maybe_unused]] call_site from) noexcept {
        [[maybe_unused]] const allocator_watch::use inside{watch_, this, "heap", from};
        if constexpr (Fit::deferred_max != 0) {
            if (bins_.covers(size)) [[likely]] {
                bin& b = bins_.of(size);
                expect_live(p, b.granules(), size, from);
                // Full, or more may not wait: nothing has been written, the block is still in use
                // for the core.
                if (bins_.put(b, static_cast<std::byte*>(p))) [[likely]] { return; }
                return free_in_core(p);
            }
        }
        expect_live(p, granules_of(size), size, from);
        free_in_core(p);
    }

    [[nodiscard]] region_type* home() const noexcept { return static_cast<region_type*>(home_); }

    /// Checked builds: `p` is a live block of `granules`, as a request of `size` gets.
    [[gnu::always_inline]] inline void expect_live([[maybe_unused]] const void* p,
                                                   [[maybe_unused]] std::uint32_t granules,
                                                   [[maybe_unused]] std::size_t size,
                                                   [[maybe_unused]] call_site from) noexcept {
        if constexpr (asserts_enabled) {
            if (poison_is_seen() || !(is_recent(p) || turn_to(p)) || !stands(p, granules, 0))
                [[unlikely]] {
                check_freed(p, size, payload_size(granules), from);
            }
        }
    }
    /// The newest block that waits in `b`, taken out, or nullptr.
    [[nodiscard, gnu::always_inline]] inline std::byte* take_newest(bin& b) noexcept {
        CAIRN_DETAIL_STEP();
        // nullptr means none, or a link that leads nowhere: expect_none() tells them apart, in the
        // cold path.
        if (!bins_.leads_to_block(b)) { return nullptr; }
        std::byte* const p = bins_.newest(b);
        if constexpr (asserts_enabled) {
            if (poison_is_seen() || !(is_recent(p) || turn_to(p)) ||
                !stands(p, b.granules(), block_header::deferred_bit)) [[unlikely]] {
                check_waiting(p, b.granules());
            }
        }
        if (!bins_.take(b, p)) [[unlikely]] { return nullptr; }
        return p;
    }

    [[nodiscard]] void* checked_allocate(std::size_t size, alignment align) noexcept;
    void checked_deallocate(void* p, std::size_t size, call_site from) noexcept;
    [[nodiscard]] void* allocate_other(std::size_t size, alignment align) noexcept;
    void deallocate_other(void* p, std::size_t size, call_site from) noexcept;
    [[nodiscard]] void* allocate_unwaited(std::size_t size, const bin& b) noexcept;
    [[nodiscard]] void* allocate_from_core(std::size_t size, alignment align) noexcept;
    [[nodiscard]] void* allocate_class_from_core(std::uint32_t c, std::uint32_t granules,
                                                 std::size_t size) noexcept;
    [[nodiscard]] void* allocate_with_effort(std::uint32_t granules, std::size_t size,
                                             alignment align) noexcept;
    [[nodiscard]] std::uint32_t region_of_best_fit(std::uint32_t granules,
                                                   alignment align) const noexcept;
    [[nodiscard]] void* allocate_in_regions(std::uint32_t granules, std::size_t size,
                                            alignment align) noexcept;
    [[nodiscard]] void* given_out(void* p, std::uint32_t granules, std::size_t size) noexcept;
    void free_in_core(void* p) noexcept;
    void give_to_core(void* p) noexcept;
    void free_in(region_type* r, void* p) noexcept;
    bool merge_deferred() noexcept;
    bool merge_newest(bin& b) noexcept;
    void merge_surplus() noexcept;
    void count_surplus() noexcept;
    [[nodiscard]] bool grow(std::uint32_t granules, alignment align) noexcept;
    void remove_region(region_type* r) noexcept;

    bins bins_;
};

// ---------------------------------------------------------------------------- checked builds

#if CAIRN_ASSERTS

// Two ways each: one for a block about which all is well, in few instructions and without a call;
// and one for any block, under any checker, with a sentence for what is wrong. The first changes
// nothing before it knows, so the second begins anew.

template <class Fit>
void* heap_core<Fit>::checked_allocate(std::size_t size, alignment align) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (bins_.covers(size) && align <= default_alignment && watch_.inside() == nullptr &&
            !poison_is_seen()) [[likely]] {
            // What allocator_watch::use does, without its frame.
            const void* const thread = this_thread_word();
            watch_.set_inside(thread);
            bin& b = bins_.of(size);
            std::byte* p = nullptr;
            bool is_taken = false;
            if (bins_.leads_to_block(b)) [[likely]] {
                p = bins_.newest(b);
                // What lies around it was asked when it was freed, and will be at the next free.
                is_taken = is_recent(p) && bins_.template take<false>(b, p);
            }
            if (watch_.inside() != thread) [[unlikely]] {
                allocator_watch::use::two_threads(watch_, this, "heap", {});
            }
            watch_.set_inside(nullptr);
            if (is_taken) [[likely]] { return p; }
        }
        return allocate_other(size, align);
    }
    return allocate_any(size, align);
}

template <class Fit>
void heap_core<Fit>::checked_deallocate(void* p, std::size_t size, call_site from) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (bins_.covers(size) && watch_.inside() == nullptr && !poison_is_seen()) [[likely]] {
            const void* const thread = this_thread_word();
            watch_.set_inside(thread);
            bin& b = bins_.of(size);
            // From left to right: `p` may be read only when it lies in a region, and put() is the
            // first to write.
            const bool waits = is_recent(p) && stands(p, b.granules(), 0) &&
                               bins_.template put<false>(b, static_cast<std::byte*>(p));
            if (watch_.inside() != thread) [[unlikely]] {
                allocator_watch::use::two_threads(watch_, this, "heap", from);
            }
            watch_.set_inside(nullptr);
            if (waits) [[likely]] { return; }
        }
        return deallocate_other(p, size, from);
    }
    deallocate_any(p, size, from);
}

// Apart, or their calls would cost the others a frame.
template <class Fit>
[[gnu::noinline]] void* heap_core<Fit>::allocate_other(std::size_t size,
                                                              alignment align) noexcept {
    if constexpr (Fit::deferred_max != 0) {
        if (bins_.covers(size) && align <= default_alignment && watch_.inside() == nullptr) {
            // The newest block lies in another region than the last one that was looked at: that
            // region becomes the recent one, and the short way is tried once more. It cannot come
            // back here for the same reason.
            const bin& b = bins_.of(size);
            if (bins_.leads_to_block(b) && !is_recent(bins_.newest(b)) &&
                turn_to(bins_.newest(b))) {
                return checked_allocate(size, align);
            }
        }
    }
    return allocate_any(size, align);
}
template <class Fit>
[[gnu::noinline]] void heap_core<Fit>::deallocate_other(void* p, std::size_t size,
                                                               call_site from) noexcept {
    if (watch_.inside() == nullptr && !is_recent(p) && turn_to(p)) {
        return checked_deallocate(p, size, from);
    }
    deallocate_any(p, size, from);
}

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail

#include <cairn/alloc/heap/heap_core_cold.hpp>
