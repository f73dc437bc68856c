// tests/support/step_bound.hpp - a heap that checks the documented maximum of steps at each operation.
//
// The maxima stand in the fits, for one region. A heap of n regions asks each of them at most once, and
// keeps the books of n regions when one comes or goes; what the last resort may merge is counted by
// deferred_blocks_max. Checked builds look at a few more headers for each block that they touch.
#pragma once

#include <cairn/alloc/heap.hpp>
#include <cairn/storage/inside/step_counter.hpp>

#include <cstddef>
#include <cstdint>

namespace cairn::test {

// Zero in a program that is not built to count (tests/CMakeLists.txt, COUNTS).
#if defined(CAIRN_COUNTS_STEPS)
inline void start_counting() { detail::steps_taken = 0; }
[[nodiscard]] inline std::uint64_t steps_counted() { return detail::steps_taken; }
#else
inline void start_counting() {}
[[nodiscard]] inline std::uint64_t steps_counted() { return 0; }
#endif

inline constexpr std::uint64_t check_steps = asserts_enabled ? 24 : 0;

/// What one operation may take in a heap of `region_count` regions.
template <class Fit>
[[nodiscard]] constexpr std::uint64_t steps_allowed(std::size_t region_count) {
    const std::uint64_t worst = Fit::allocate_steps_max > Fit::deallocate_steps_max
                                    ? Fit::allocate_steps_max
                                    : Fit::deallocate_steps_max;
    if (region_count <= 1 && Fit::deferred_max == 0) { return worst + 2 * check_steps; }
    const std::uint64_t regions = region_count + 1;  // one may have come or gone
    std::uint64_t bins = 0;
    std::uint64_t merging = 0;
    if constexpr (Fit::deferred_max != 0) {
        bins = Fit::class_of_free(Fit::small_max) + 1;
        merging = detail::deferred_blocks_max<Fit>(region_count > 1) *
                  (Fit::deallocate_steps_max + 2 * check_steps + 8);  // 8: whose region is it?
    }
    return 2 * regions * (worst + 2 * check_steps) + regions * (3 * regions + 2 * bins) + bins +
           merging;
}

/// heap<Fit> as the user has it, but each operation is held against the documented maximum.
template <class Fit>
class bounded_heap : public heap<Fit> {
    using base = heap<Fit>;

public:
    using base::base;
    explicit bounded_heap(base&& b) noexcept : base{static_cast<base&&>(b)} {}

    std::uint64_t worst = 0;     // steps of one operation so far
    std::uint64_t exceeded = 0;  // operations that took more than is documented

    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        start_counting();
        void* const p = base::allocate(size, align);
        look();
        return p;
    }
    template <class... Rest>
    void deallocate(void* p, Rest... rest) noexcept {
        start_counting();
        base::deallocate(p, rest...);
        look();
    }
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        start_counting();
        const bool done = base::try_resize(p, old_size, new_size, align);
        look();
        return done;
    }

private:
    void look() noexcept {
        const std::uint64_t taken = steps_counted();
        worst = taken > worst ? taken : worst;
        exceeded += taken > steps_allowed<Fit>(base::stats().region_count) ? 1u : 0u;
    }
};

}  // namespace cairn::test
