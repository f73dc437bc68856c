// cairn/alloc/heap.hpp - any size, any order, bounded time: the general heap.
//
//      heap<good_fit>                       the same heap with another word between < >
//      +-----------------------------+
//      | deferred  [o] [ ] [o] ...   |      1. a block of this size that was just freed
//      +-----------------------------+
//      | index of the fit            |      2. find a free block, cut it to size
//      +-----------------------------+
//      | h|used |h|free |h|used |h|..|      8 bytes of header a block, granules of 16
//      +-----------------------------+
//        one region, or up to 64 that come from upstream as needed and go back when empty
//
//      good_fit         default; constant time; freed blocks wait a little before they merge
//      quick_fit        the same, more of them and longer: faster churn, more memory
//      strict_good_fit  the same, merging at once: one small bound for every operation
//      best_fit         the smallest block that fits, exactly: least waste on ordinary programs
//      first_fit        the lowest address that fits, exactly: compaction, trimming
//      half_fit         powers of two: a proved region size for hard real time
//
// Use it for: a level, a subsystem, a console's fixed memory: many sizes with many lifetimes.
// Look elsewhere for: one size (pool.hpp), one lifetime (arena.hpp), many threads (locked.hpp
//             around this), memory the CPU does not touch (offset_heap.hpp).
//
// Invariant: see heap/region.hpp: blocks without gaps, never two free neighbours, the index exact.
// Cost:      each fit's header says. Bounds are step counts, asserted by the tests after every
//            operation (storage/step_counter.hpp). Growing calls upstream; giving it an exhausted
//            upstream, or no upstream, forbids that. A pair of good_fit that waits is 43
//            instructions, in checked builds 136 (gcc 12; decision 0005).
// Overhead:  8 bytes a block; the smallest block is 16 bytes (8 of payload).
// Misuse:    every build notices most writes into freed blocks, overruns and second frees before
//            they do harm, and ends the program with a sentence: docs/hardening.md. Checked builds
//            notice more.
// Position:  a heap over one region keeps all it knows inside the region, without addresses: copy
//            the bytes anywhere with the same alignment and adopt() them.
// Threads:   one at a time; checked builds name two that are inside at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/best_fit.hpp>
#include <cairn/alloc/first_fit.hpp>
#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/good_fit.hpp>
#include <cairn/alloc/half_fit.hpp>
#include <cairn/alloc/heap/heap_core.hpp>
#include <cairn/alloc/heap/home_region.hpp>
#include <cairn/alloc/heap/stats.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Fit = good_fit>
class heap {
    static_assert(fit<Fit>);
    static_assert(Fit::deferred_max == 0 || detail::defers<Fit>,
                  "a fit whose blocks wait has classes, a deferred_share and a deferred_size_max");
    using core = detail::heap_core<Fit>;
    using region_type = typename core::region_type;
    using bins = typename core::bins;
    using home_region = detail::home_region<Fit>;

public:
    using options = heap_options;

    /// Regions that one heap can have; bytes that blocks are multiples of; bytes in front of each.
    static constexpr std::size_t region_count_max = detail::region_set::count_max;
    static constexpr std::size_t granule_size = detail::granule_size;
    static constexpr std::size_t header_size = detail::block_header_size;

    /// A heap that takes nothing now and grows as needed, by 64 KiB at least, from the system.
    heap() noexcept : heap{grow_by{64_KiB}} {}

    /// A heap over memory that the caller owns and keeps alive. Too little memory (see
    /// region_size_for) makes an empty heap that refuses everything.
    explicit heap(byte_slice memory, const options& how = {}) noexcept;

    /// A heap over one region of `size` bytes from `upstream`. An upstream that refuses makes an
    /// empty heap.
    explicit heap(std::size_t size, allocator_ref upstream = system_memory(),
                  const options& how = {}) noexcept;

    /// A heap that takes nothing now and grows as needed.
    explicit heap(grow_by growth, allocator_ref upstream = system_memory(),
                  const options& how = {}) noexcept;

    /// The heap whose region these bytes are: mapped shared memory, a saved region read back.
    /// Its blocks are where they were, counted from the start of the bytes.
    ///
    /// Requires: the bytes start at the same address modulo the largest alignment in use, at least
    ///           16, and no other heap object works on them meanwhile.
    /// Returns:  an empty heap when the bytes are not a region of a heap of this type.
    ///           The bytes are trusted: they are what a heap left there.
    [[nodiscard]] static heap adopt(byte_slice memory) noexcept;

    /// As adopt(), for bytes that others could write: a file, a mapping of another process. Checks
    /// the header of each block and makes everything else anew: lists, bins, counts and the key of
    /// the links. Blocks that waited are free then, so later requests may get other addresses than
    /// after adopt().
    ///
    /// Requires: as adopt(); nothing writes to the bytes meanwhile, and but for what is in blocks
    ///           that are in use, nothing does later.
    /// Returns:  an empty heap when the headers are not those of a heap of this type. What they say
    ///           is in use, in use it is: which blocks those are is not known to be true.
    /// Cost:     O(blocks + index).
    [[nodiscard]] static heap adopt_untrusted(byte_slice memory) noexcept;

    heap(heap&& other) noexcept = default;
    heap& operator=(heap&& other) noexcept { return detail::begin_anew(*this, other); }

    /// Gives every region back to upstream. Blocks need not be freed before, unless
    /// expect_empty_end() was called.
    ~heap() = default;

    /// As options::all_back_at_end, from now on.
    void expect_empty_end(bool expected = true) noexcept { core_.expect_empty_end(expected); }

    /// Bytes of region in which a heap has room for `payload_size` bytes in one block.
    /// Returns: SIZE_MAX above size_max: no region has a block of that size.
    [[nodiscard]] static constexpr std::size_t region_size_for(std::size_t payload_size) noexcept {
        if (payload_size > size_max) { return SIZE_MAX; }
        return region_size_for_granules(
            Fit::block_size(static_cast<std::uint32_t>(detail::granules_for(payload_size))));
    }

    /// As region_size_for, for blocks of `granules` granules of 16 bytes in all.
    /// Returns: SIZE_MAX for more than a region can have.
    [[nodiscard]] static constexpr std::size_t region_size_for_granules(
        std::size_t granules) noexcept {
        if (granules > detail::granule_count_max) { return SIZE_MAX; }
        std::size_t size = region_type::size_for(granules, bins::size_for(granules));
        // The bins are cut for the whole region, which is a little more than its blocks.
        while (region_type::granules_in(size, bins::size_for(size / granule_size)) < granules) {
            size = region_type::size_for(granules, bins::size_for(size / granule_size + 1));
        }
        return size + granule_size - 1;  // the memory may start anywhere
    }

    // -------------------------------------------------------------------- allocate, deallocate

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when no free block is large enough by the fit's bound, also after merging
    ///          what was deferred, and upstream gives no more; the heap is then unchanged but for
    ///          the merging.
    /// Size 0:  allowed; the pointer may be compared but not read through.
    /// Cost:    deferred hit: one bin. Otherwise the fit's find and a cut; see the file's first
    ///          lines.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        return core_.allocate(size, align);
    }

    /// Requires: `p` came from allocate(size, align) of this heap, or was resized to `size`, and is
    ///           live; nullptr is allowed.
    /// Cost:     deferred: one bin, no header read. Otherwise a merge with the neighbours.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    [[maybe_unused]] call_site from = call_site::current()) noexcept {
        (void)align;  // the block is as large as its size says, wherever it had to start
        if (p != nullptr) { core_.deallocate(p, size, from); }
    }

    /// As above, for callers that forgot the size: the header knows it.
    void deallocate(void* p, call_site from = call_site::current()) noexcept {
        if (p != nullptr) { core_.deallocate(p, from); }
    }

    /// Makes a live block `new_size` bytes long where it stands, up or down.
    /// Returns: false when its right neighbour is in use (or deferred) or too small; nothing has
    ///          changed then. After true, the block is freed with `new_size`.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        (void)align;
        return core_.resize(p, old_size, new_size);
    }

    /// Forgets every block and keeps the regions. O(index of each region).
    void reset() noexcept { core_.reset(); }

    /// Merges what was deferred and gives empty regions back to upstream: all of them when nothing
    /// lives.
    void trim() noexcept { core_.trim(); }

    // -------------------------------------------------------------------- queries

    /// What a request of `size` bytes really gets; asking for this much costs no more.
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept {
        (void)align;
        return size > size_max ? size : detail::payload_size(core::granules_of(size));
    }

    /// Bytes that the live block `p` may use. One header read.
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
        if constexpr (asserts_enabled) { core_.check_freed(p, SIZE_MAX, 0, {}); }
        const std::size_t size = detail::payload_size(core_.header_of(p).size());
        // Told that they are there, the caller may use them: also what lies behind the asked size.
        unpoison_defined(p, size);
        return size;
    }

    /// True when `p` lies in a region of this heap. O(log regions).
    [[nodiscard]] bool owns(const void* p) const noexcept { return core_.owns(p); }

    /// Payload bytes of the largest free block, deferred ones not merged. O(its bin).
    [[nodiscard]] std::size_t largest_free() const noexcept;

    [[nodiscard]] heap_stats stats() const noexcept;

    /// Calls visit(const heap_block&) for each block: region by region, in address order.
    /// Requires: visit does not call the heap.
    template <class Visit>
    void for_each_block(Visit visit) const;

    /// As options::name, from now on.
    void set_name(const char* name) noexcept { core_.set_name(name); }

    /// Checks every invariant; a broken one, also an overrun header, stops a checked build.
    /// O(blocks). Does nothing in unchecked builds.
    void validate() const noexcept;

    /// The largest size that is not absurd.
    static constexpr std::size_t size_max = core::size_max;

private:
    heap(allocator_ref upstream, std::size_t block_size, bool owned, const options& how) noexcept;

    core core_;
};

/// Another type in the fit's place: the sentence, and then a heap of the default fit.
template <class Fit>
    requires(!fit<Fit>)
class heap<Fit> : public heap<good_fit> {
    static constexpr bool is_fit = fit<Fit>;  // apart: gcc would list each requirement
    static_assert(is_fit,
                  "a fit is good_fit, quick_fit, strict_good_fit, best_fit, first_fit or half_fit; "
                  "what one of your own lacks static_assert(cairn::fit<yours>) says");

public:
    using heap<good_fit>::heap;
};

heap(byte_slice, heap_options = {}) -> heap<>;
heap(std::size_t, allocator_ref = system_memory(), heap_options = {}) -> heap<>;
heap(grow_by, allocator_ref = system_memory(), heap_options = {}) -> heap<>;

static_assert(detail::block_header_size <= 8 && detail::granule_size <= 32);

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/alloc/heap/heap_cold.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- compiled once

extern template class detail::heap_core<good_fit>;
extern template class detail::heap_core<quick_fit>;
extern template class detail::heap_core<strict_good_fit>;
extern template class detail::heap_core<best_fit>;
extern template class detail::heap_core<first_fit>;
extern template class detail::heap_core<half_fit>;
extern template class heap<good_fit>;
extern template class heap<quick_fit>;
extern template class heap<strict_good_fit>;
extern template class heap<best_fit>;
extern template class heap<first_fit>;
extern template class heap<half_fit>;

}}  // namespace cairn::CAIRN_FLAVOUR
