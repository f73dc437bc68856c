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
//        one region, or up to 64 that come from upstream as needed
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
// Invariant: see heap/regions.hpp: blocks without gaps, never two free neighbours, the index exact.
// Cost:      each fit's header says. Bounds are step counts, asserted by the tests after every
//            operation (step_counter.hpp). Growing calls upstream; giving it an exhausted
//            upstream, or no upstream, forbids that. A pair of good_fit that waits is 30
//            instructions, in checked builds 104 (gcc 12, -O2).
// Overhead:  8 bytes a block; the smallest block is 16 bytes (8 of payload).
// Misuse:    every build notices most writes into freed blocks, overruns and second frees before
//            they do harm, and ends the program with a sentence: docs/hardening.md. Checked builds
//            notice more.
// Position:  a heap over one region keeps all it knows inside the region, without addresses: copy
//            the bytes anywhere with the same alignment and adopt() them.
// Threads:   one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit.hpp>
#include <cairn/alloc/good_fit.hpp>
#include <cairn/alloc/heap/regions.hpp>
#include <cairn/alloc/heap/waiting_blocks.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A heap takes regions of at least `block_size` bytes from its upstream as it needs them.
/// Each is also at least an eighth of what the heap has, from the 32nd on a quarter and from the
/// 48th on a half: 64 of them hold 200 GiB. A region that becomes empty goes back after 4,000
/// to about 5,000 operations of the core in which no request used it, so that a burst that repeats
/// keeps its memory; the first one stays until trim(). With good_fit a block that waits unmerged
/// (heap/waiting_blocks.hpp) holds its region until it merges: trim() gives all of it back at once.
struct grow_by {
    std::size_t block_size;
};

namespace detail {

struct heap_options {
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
    /// Checked builds stop when this heap, or the heap that it was moved to, ends with live blocks:
    /// for a subsystem that frees every block. False by default, because ending a heap with all its
    /// blocks is a common use. The count costs O(blocks).
    bool all_back_at_end = false;
};

}  // namespace detail

/// What a block is: given out, freed and waiting unmerged, free.
enum class block_state : std::uint8_t { used, deferred, free };

/// What for_each_block and for_some_blocks show.
struct heap_block {
    void* payload;
    std::size_t size;  // of the payload, in bytes
    block_state state;
};

namespace detail {

struct heap_stats {
    std::size_t capacity;        // bytes that blocks and their headers can take
    std::size_t free_size;       // bytes that are free and merged, headers included
    std::size_t deferred_size;   // bytes that wait unmerged, headers included
    std::size_t deferred_count;  // blocks that wait
    std::size_t region_count;
};

}  // namespace detail

#if CAIRN_ASSERTS
#    define CAIRN_DETAIL_HOT  // a call of the library, which is optimized in every build
#else
#    define CAIRN_DETAIL_HOT inline
#endif

template <class Fit = good_fit>
class heap : private detail::heap_memory {
    static_assert(fit<Fit>);
    static_assert(Fit::deferred_max == 0 || detail::defers<Fit>,
                  "a fit whose blocks wait has classes, a deferred_share and a deferred_size_max");
    using region_type = detail::region<Fit>;
    using bins = detail::waiting_blocks<Fit>;
    using bin = detail::deferred_bin;

public:
    using options = detail::heap_options;
    using stats_type = detail::heap_stats;

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

    /// A heap that takes nothing now and grows as needed from `upstream`, as the default does from
    /// the system.
    explicit heap(allocator_ref upstream, const options& how = {}) noexcept;

    /// The heap whose region these bytes are: mapped shared memory, a saved region read back.
    /// Its blocks are where they were, counted from the start of the bytes: keep the offset of a
    /// first block beside the bytes, and offsets instead of pointers in blocks.
    ///
    /// Requires: the bytes start at the same address modulo the largest alignment in use, at least
    ///           16, and no other heap object works on them meanwhile.
    /// Returns:  an empty heap, stats().capacity == 0, when the bytes are not a region of a heap of
    ///           this type.
    ///           The bytes are trusted: they are what a heap left there.
    [[nodiscard]] static heap adopt(byte_slice memory) noexcept;

    explicit heap(const options& how) noexcept : heap{system_memory(), how} {}
    heap(const heap&) = delete;  // a child: heap<>{allocator_ref{parent}}
    heap(heap&& other) noexcept
        : detail::heap_memory{static_cast<detail::heap_memory&&>(other)}, bins_{other.bins_} {
        other.bins_ = {};
    }
    heap& operator=(heap&& other) noexcept { return detail::begin_anew(*this, other); }

    /// Gives every region back to upstream. Blocks need not be freed before, unless
    /// expect_empty_end() was called.
    ~heap() { bins_ = {}; }  // a request that comes back finds no bin, and asks grow()

    /// As options::all_back_at_end, from now on.
    void expect_empty_end(bool expected = true) noexcept { ends_empty_ = expected; }

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

    /// `size` bytes at a multiple of 16, uninitialized.
    ///
    /// Returns: nullptr when no free block is large enough by the fit's bound, also after merging
    ///          what was deferred, and upstream gives no more; the heap is then unchanged but for
    ///          the merging.
    /// Size 0:  allowed; the pointer may be compared but not read through.
    /// Cost:    deferred hit: one bin. Otherwise the fit's find and a cut; see the file's first
    ///          lines.
    [[nodiscard]] CAIRN_DETAIL_HOT void* allocate(std::size_t size) noexcept;
    /// The same at a multiple of `align`.
    [[nodiscard]] CAIRN_DETAIL_HOT void* allocate(std::size_t size, alignment align) noexcept;

    /// Requires: `p` came from allocate(size, align) of this heap, or was resized to `size`, and is
    ///           live; nullptr is allowed.
    /// Cost:     deferred: one bin, no header read. Otherwise a merge with the neighbours.
    CAIRN_DETAIL_HOT void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                                     call_site from = call_site::current()) noexcept;

    /// As above, for callers that do not know the size: the header has it.
    void deallocate(void* p, call_site from = call_site::current()) noexcept;

    /// Makes a live block `new_size` bytes long where it stands, up or down.
    /// Returns: false when its right neighbour is in use (or deferred) or too small; nothing has
    ///          changed then. After true, the block is freed with `new_size`.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept;

    void(free)(...) const = delete;       // deallocate(p, size), or deallocate(p)
    void reallocate(...) const = delete;  // try_resize(p, old, new), or a new block
    void(realloc)(...) const = delete;    // try_resize(p, old, new), or a new block
    void live_size(...) const = delete;   // of budget<heap<>> or tracked<heap<>>; or stats()
    void used_size(...) const = delete;   // of budget<heap<>> or tracked<heap<>>; or stats()
    template <class T>
    void make(...) const = delete;  // cairn::make<T>(heap, args...)

    /// Forgets every block and keeps the regions. O(index of each region).
    void reset() noexcept;

    /// Merges waiting blocks and gives empty regions back: all of them when nothing lives.
    void trim() noexcept;

    // -------------------------------------------------------------------- queries

    /// What a request of `size` bytes really gets; asking for this much costs no more.
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept {
        (void)align;
        return size > size_max ? size : detail::payload_size(granules_of(size));
    }

    /// Bytes that the live block `p` may use. One header read.
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
        if constexpr (asserts_enabled) { check_freed(p, SIZE_MAX, 0, {}); }
        const std::size_t size = detail::payload_size(header_of(p).size());
        // Told that they are there, the caller may use them: also what lies behind the asked size.
        detail::unpoison_defined(p, size);
        return size;
    }

    /// True when `p` lies in a region of this heap. O(log regions).
    [[nodiscard]] bool owns(const void* p) const noexcept { return detail::heap_memory::owns(p); }

    /// Payload bytes of the largest free block, deferred ones not merged. O(its bin).
    [[nodiscard]] std::size_t largest_free() const noexcept;

    [[nodiscard]] stats_type stats() const noexcept;

    /// Calls visit(const heap_block&) for each block: region by region, in address order.
    /// Requires: visit does not call the heap.
    template <class Visit>
    void for_each_block(Visit visit) const;

    /// A part of a walk: calls visit(const heap_block&, std::size_t offset) for `count` blocks, and
    /// for the free ones right behind them: one, and one for each region that begins with one or is
    /// empty. The next call goes on behind them; a heap has one walk at a time. `offset`: bytes of
    /// blocks and their headers before this one.
    ///
    /// The heap may change between two parts. Each block that is live during the whole walk is
    /// shown once; others may be left out.
    /// Requires: visit does not call the heap.
    /// Returns:  false when the walk is at its end: the next call begins with the first block.
    /// Cost:     a header for each block that is shown.
    template <class Visit>
    bool for_some_blocks(std::size_t count, Visit visit);

    /// As options::name, from now on.
    void set_name(const char* name) noexcept { detail::heap_memory::set_name(name); }

    /// Checks every invariant; a broken one, also an overrun header, stops a checked build.
    /// O(blocks). Does nothing in unchecked builds.
    void validate() const noexcept;

    /// The largest size that is not absurd.
    static constexpr std::size_t size_max =
        detail::payload_size(Fit::block_size(detail::granule_count_max / 2) - 1);

private:
    heap(allocator_ref upstream, std::size_t block_size, bool owned, const options& how) noexcept;

    /// Granules of the block for a request of `size` bytes; 0: the size is absurd.
    [[nodiscard]] static constexpr std::uint32_t granules_of(std::size_t size) noexcept {
        return size > size_max
                   ? 0
                   : Fit::block_size(static_cast<std::uint32_t>(detail::granules_for(size)));
    }
    /// Granules of a request of `size` bytes, for region::free_at(); 0: the size is absurd.
    [[nodiscard]] static constexpr std::uint32_t asked_granules(std::size_t size) noexcept {
        if (size > size_max) [[unlikely]] { return 0; }
        return static_cast<std::uint32_t>(detail::granules_for(size));
    }
    [[nodiscard]] region_type* region(std::uint32_t i) const noexcept {
        return static_cast<region_type*>(regions_.region(i));
    }
    [[nodiscard]] static heap_block shown_block(const region_type& r, std::uint32_t g,
                                                detail::block_header h) noexcept {
        const block_state state = h.is_free()       ? block_state::free
                                  : h.is_deferred() ? block_state::deferred
                                                    : block_state::used;
        return {r.map().payload(g), detail::payload_size(h.size()), state};
    }
    [[nodiscard]] region_type* home() const noexcept { return static_cast<region_type*>(home_); }
    [[nodiscard]] detail::block_header header_of(const void* payload) const noexcept {
        CAIRN_DETAIL_STEP();
        const std::byte* const at =
            static_cast<const std::byte*>(payload) - detail::block_header_size;
        return {detail::load_hidden<std::uint32_t>(at), detail::load_hidden<std::uint32_t>(at + 4)};
    }

    // -------------------------------------------------------------------- regions
    [[nodiscard]] static region_type* make_home(void* memory, std::size_t size,
                                                std::uint32_t bin_count) noexcept;
    [[nodiscard]] static region_type* find_home(byte_slice memory) noexcept;
    void start(region_type* home, std::size_t size) noexcept;
    [[nodiscard]] bool grow(std::uint32_t granules, alignment align) noexcept;
    void remove_region(region_type* r) noexcept;
    void regions_changed() noexcept;
    void rank(std::uint32_t i) noexcept;
    void count_operation() noexcept;

    // -------------------------------------------------------------------- the core
    [[nodiscard]] void* allocate_from_core(std::size_t size, alignment align) noexcept;
    [[nodiscard]] void* allocate_unwaited(std::size_t size, const bin& b) noexcept;
    [[nodiscard]] void* allocate_granules(std::uint32_t granules, std::size_t size) noexcept;
    [[nodiscard]] void* allocate_with_effort(std::uint32_t granules, std::size_t size,
                                             alignment align) noexcept;
    [[nodiscard]] std::uint32_t region_of_best_fit(std::uint32_t granules,
                                                   alignment align) const noexcept;
    [[nodiscard]] std::uint32_t region_for_aligned(std::uint32_t granules,
                                                   alignment align) const noexcept
        requires detail::has_size_classes<Fit>;
    [[nodiscard]] void* allocate_in_regions(std::uint32_t granules, std::size_t size,
                                            alignment align, bool asks_each = false) noexcept;
    [[nodiscard]] void* given_out(void* p, std::uint32_t granules, std::size_t size) noexcept;
    void wait_or_free(void* p, bin& b) noexcept;
    void wait_after_a_look(void* p, bin& b) noexcept;
    void free_in_core(void* p, std::uint32_t asked) noexcept;
    void free_in_several(void* p, std::uint32_t asked) noexcept;
    void give_to_core(void* p, std::uint32_t asked) noexcept;
    void free_in(region_type* r, void* p, std::uint32_t asked) noexcept;
    void walk_past_freed() noexcept;

    // -------------------------------------------------------------------- waiting blocks
    bool merge_deferred() noexcept;
    bool merge_newest(bin& b) noexcept;
    bool merge_one(bool any) noexcept;
    void count_anew() noexcept;

    // -------------------------------------------------------------------- checked builds
    [[nodiscard]] void* allocate_and_report(std::size_t size) noexcept;
    void deallocate_and_report(void* p, std::size_t size, call_site from) noexcept;
    void expect_live(const void* p, std::uint32_t granules, std::size_t size,
                     call_site from) noexcept;

    bins bins_;
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

heap(byte_slice, detail::heap_options = {}) -> heap<>;
heap(std::size_t, allocator_ref = system_memory(), detail::heap_options = {}) -> heap<>;
heap(grow_by, allocator_ref = system_memory(), detail::heap_options = {}) -> heap<>;
heap(allocator_ref, detail::heap_options = {}) -> heap<>;

static_assert(detail::block_header_size <= 8 && detail::granule_size <= 32);

}}  // namespace cairn::CAIRN_FLAVOUR

// allocate() and deallocate() of a size: the first file has them where CAIRN_ASSERTS is 1, the
// second where it is 0.
#include <cairn/alloc/heap/heap_checked.hpp>
#include <cairn/alloc/heap/heap_cold.hpp>
#include <cairn/alloc/heap/heap_hot_path.hpp>
#undef CAIRN_DETAIL_HOT

// Compiled once, in src/alloc/heap.cpp. The other fits say the same of theirs.
extern template class cairn::heap<cairn::good_fit>;
extern template class cairn::heap<cairn::quick_fit>;
extern template class cairn::heap<cairn::strict_good_fit>;
