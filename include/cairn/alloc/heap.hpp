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
//            operation (heap/step_counter.hpp). Growing calls upstream; giving it an exhausted
//            upstream, or no upstream, forbids that.
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
#include <cairn/alloc/heap/deferred.hpp>
#include <cairn/alloc/heap/deferred_bins.hpp>
#include <cairn/alloc/heap/region.hpp>
#include <cairn/alloc/heap/region_set.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/process_secret.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Says that a heap takes blocks of at least `block_size` bytes from its upstream as it needs them.
/// Each is also at least a quarter of what the heap already has, so that 64 blocks reach anywhere.
/// A block that becomes empty goes back; one spare and the first stay until trim(). With good_fit a
/// block of which some part waits unmerged (heap/deferred.hpp) is not empty before that part
/// merges: trim() between two levels gives all of it back.
struct grow_by {
    std::size_t block_size;
};

enum class block_state : std::uint8_t { used, deferred, free };

/// What for_each_block shows.
struct heap_block {
    void* payload;
    std::size_t size;  // of the payload, in bytes
    block_state state;
};

struct heap_stats {
    std::size_t capacity;        // bytes that blocks and their headers can take
    std::size_t free_size;       // bytes that are free and merged, headers included
    std::size_t deferred_size;   // bytes that wait unmerged, headers included
    std::size_t deferred_count;  // blocks that wait
    std::size_t region_count;
};

template <class Fit = good_fit, class Steps = uncounted>
class heap {
    static_assert(fit<Fit>);
    static_assert(Fit::deferred_max == 0 || detail::defers<Fit>,
                  "a fit whose blocks wait has classes and a deferred_share");
    using region_type = detail::region<Fit, Steps>;
    using regions = detail::region_set<region_type>;
    using bins = detail::deferred_bins<Fit, Steps>;
    using bin = detail::deferred_bin;

public:
    static constexpr std::size_t region_count_max = regions::count_max;
    static constexpr std::size_t granule_size = detail::granule_size;
    static constexpr std::size_t header_size = detail::block_header_size;

    /// A heap that takes nothing now and grows as needed, by 64 KiB at least, from the system.
    heap() noexcept : heap{grow_by{64_KiB}} {}

    /// A heap over memory that the caller owns and keeps alive. Too little memory (see
    /// region_size_for) makes an empty heap that refuses everything.
    explicit heap(byte_slice memory) noexcept;

    /// A heap over one region of `size` bytes from `upstream`. An upstream that refuses makes an
    /// empty heap.
    explicit heap(std::size_t size, allocator_ref upstream = system_memory()) noexcept;

    /// A heap that takes nothing now and grows as needed.
    explicit heap(grow_by growth, allocator_ref upstream = system_memory()) noexcept;

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

    heap(heap&& other) noexcept;
    heap& operator=(heap&& other) noexcept;
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;

    /// Gives every region back to upstream. Blocks need not be freed before, unless
    /// expect_empty_end() was called.
    ~heap() { end(); }

    /// From now on the end of this heap (and of the one that it is moved to) with live blocks is a
    /// broken promise: for a subsystem that frees what it takes. Off at first, because leaving
    /// everything at once is a use of a heap. Checked builds count the blocks then, O(blocks);
    /// others do not look.
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

    /// `size` bytes at a multiple of `align`, uninitialized.
    ///
    /// Returns: nullptr when no free block is large enough by the fit's bound, also after merging
    ///          what was deferred, and upstream gives no more; the heap is then unchanged but for
    ///          the merging.
    /// Size 0:  allowed; the pointer may be compared but not read through.
    /// Cost:    deferred hit: one bin. Otherwise the fit's find and a cut; see the file's first
    ///          lines.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", {}};
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

    /// Requires: `p` came from allocate(size, align) of this heap, or was resized to `size`, and is
    ///           live; nullptr is allowed.
    /// Cost:     deferred: one bin, no header read. Otherwise a merge with the neighbours.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    [[maybe_unused]] call_site from = call_site::current()) noexcept {
        (void)align;  // the block is as large as its size says, wherever it had to start
        if (p == nullptr) { return; }
        [[maybe_unused]] const detail::allocator_watch::use inside{watch_, this, "heap", from};
        if constexpr (asserts_enabled) { check_freed(p, size, from); }
        if constexpr (Fit::deferred_max != 0) {
            if (bins_.covers(size)) [[likely]] {
                if (bins_.put(bins_.of(size), static_cast<std::byte*>(p))) [[likely]] { return; }
            }
        }
        free_in_core(p);
    }

    /// As above, for callers that forgot the size: the header knows it.
    void deallocate(void* p, call_site from = call_site::current()) noexcept;

    /// Makes a live block `new_size` bytes long where it stands, up or down.
    /// Returns: false when its right neighbour is in use (or deferred) or too small; nothing has
    ///          changed then. After true, the block is freed with `new_size`.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept;

    /// Forgets every block and keeps the regions. O(index of each region).
    void reset() noexcept;

    /// Merges what was deferred and gives empty regions back to upstream: all of them when nothing
    /// lives.
    void trim() noexcept;

    // -------------------------------------------------------------------- queries

    /// What a request of `size` bytes really gets; asking for this much costs no more.
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept {
        (void)align;
        if (size > size_max) { return size; }
        return detail::payload_size(
            Fit::block_size(static_cast<std::uint32_t>(detail::granules_for(size))));
    }

    /// Bytes that the live block `p` may use. One header read.
    [[nodiscard]] std::size_t usable_size(const void* p) const noexcept {
        check_freed(p, SIZE_MAX, {});
        const std::size_t size = detail::payload_size(header_of(p).size());
        // Told that they are there, the caller may use them: also what lies behind the asked size.
        if constexpr (poison_is_watched) { unpoison_defined(p, size); }
        return size;
    }

    /// True when `p` lies in a region of this heap. O(log regions).
    [[nodiscard]] bool owns(const void* p) const noexcept {
        const region_type* const r = regions_.at(p);
        return r != nullptr && r->contains(p);
    }

    /// Payload bytes of the largest free block, deferred ones not merged. O(its bin).
    [[nodiscard]] std::size_t largest_free() const noexcept;

    [[nodiscard]] heap_stats stats() const noexcept;

    /// Calls visit(const heap_block&) for each block: region by region, in address order.
    /// Requires: visit does not call the heap.
    template <class Visit>
    void for_each_block(Visit visit) const;

    /// The name that reports of checked builds and the memory checkers give it; the string is not
    /// copied. nullptr: none.
    void set_name(const char* name) noexcept;

    /// Checks every invariant; a broken one, also an overrun header, stops a checked build.
    /// O(blocks). Does nothing in unchecked builds.
    void validate() const noexcept;

    /// The largest size that is not absurd.
    static constexpr std::size_t size_max =
        detail::payload_size(Fit::block_size(detail::granule_count_max / 2) - 1);

private:
    heap(allocator_ref upstream, std::size_t block_size, bool owned) noexcept
        : upstream_{upstream}, block_size_{block_size}, owned_{owned} {}

    static constexpr std::uint64_t magic() noexcept;
    [[nodiscard]] static std::uint32_t key_for(const void* region) noexcept {
        return static_cast<std::uint32_t>(detail::secret_of(region));
    }

    [[nodiscard, gnu::always_inline]] inline std::byte* take_newest(bin& b) noexcept;
    [[nodiscard]] void* allocate_unwaited(std::size_t size, const bin& b) noexcept;
    void check_freed(const void* p, std::size_t size, call_site from) const noexcept;
    // Made only where something is wrong: cold, or it would be inlined into each operation.
    [[nodiscard]] [[gnu::cold]] evidence about(misuse_kind kind, call_site from) const noexcept;
    [[nodiscard]] [[gnu::cold]] evidence about_sizes(std::size_t block_size, std::size_t freed_size,
                                                     call_site from) const noexcept;
    void describe(typename regions::entry& entry) noexcept;
    void forget_description(typename regions::entry& entry) noexcept;
    [[nodiscard]] static detail::address_place place_of(const void* object,
                                                        const void* address) noexcept;
    void check_deferred(const void* p, std::uint32_t granules) const noexcept;

    [[nodiscard]] void* allocate_from_core(std::size_t size, alignment align) noexcept;
    [[nodiscard]] void* allocate_class_from_core(std::uint32_t c, std::uint32_t granules,
                                                 std::size_t size) noexcept;
    [[nodiscard]] void* allocate_with_effort(std::uint32_t granules, std::size_t size,
                                             alignment align) noexcept;
    [[nodiscard]] std::uint32_t region_of_best_fit(std::uint32_t granules,
                                                   alignment align) const noexcept;
    [[nodiscard]] void* allocate_in_regions(std::uint32_t granules, std::size_t size,
                                            alignment align) noexcept;
    void left_core(std::uint32_t granules) noexcept;
    void free_in_core(void* p) noexcept;
    void give_to_core(void* p) noexcept;
    void free_in(region_type* r, void* p) noexcept;
    bool merge_deferred() noexcept;
    bool merge_newest(bin& b) noexcept;
    void merge_surplus() noexcept;
    void count_surplus() noexcept;

    void make_home(std::byte* memory, std::uint32_t granules, std::size_t memory_size,
                   std::uint32_t bin_count) noexcept;
    [[nodiscard]] bool grow(std::uint32_t granules, alignment align) noexcept;
    void add_region(region_type* r, std::size_t size) noexcept;
    void remove_region(region_type* r) noexcept;
    void end() noexcept;
    void release_all() noexcept;
    void steal(heap& other) noexcept;

    [[nodiscard]] detail::block_header header_of(const void* payload) const noexcept {
        Steps::touch();
        const std::byte* const at =
            static_cast<const std::byte*>(payload) - detail::block_header_size;
        return {detail::load_hidden<std::uint32_t>(at), detail::load_hidden<std::uint32_t>(at + 4)};
    }

    region_type* home_ = nullptr;  // the first one, which holds the bins
    bins bins_;
    region_type* spare_ = nullptr;  // the one empty region that is kept
    allocator_ref upstream_;
    std::size_t block_size_;   // 0: does not grow
    bool owned_;               // regions go back to upstream
    bool ends_empty_ = false;  // live blocks at the end are a mistake
    [[no_unique_address]] detail::allocator_watch watch_;
    regions regions_;
};

/// Another type in the fit's place: the sentence, and then a heap of the default fit.
template <class Fit, class Steps>
    requires(!fit<Fit>)
class heap<Fit, Steps> : public heap<good_fit> {
    static constexpr bool is_fit = fit<Fit>;  // apart: gcc would list each requirement
    static_assert(
        is_fit,
        "a fit is good_fit, strict_good_fit, best_fit, first_fit or half_fit; what one of "
        "your own lacks static_assert(cairn::fit<yours>) says");

public:
    using heap<good_fit>::heap;
};

heap(byte_slice) -> heap<>;
heap(std::size_t) -> heap<>;
heap(std::size_t, allocator_ref) -> heap<>;
heap(grow_by) -> heap<>;
heap(grow_by, allocator_ref) -> heap<>;

static_assert(detail::block_header_size <= 8 && detail::granule_size <= 32);

// ---------------------------------------------------------------------------- hot path

/// The newest block that waits in `b`, taken out, or nullptr.
template <class Fit, class Steps>
inline std::byte* heap<Fit, Steps>::take_newest(bin& b) noexcept {
    Steps::touch();
    if (!bins_.leads_to_block(b)) { return nullptr; }
    std::byte* const p = bins_.newest(b);
    if constexpr (asserts_enabled) { check_deferred(p, b.granules()); }
    if (!bins_.take(b, p)) [[unlikely]] { return nullptr; }
    return p;
}

template <class Fit, class Steps>
evidence heap<Fit, Steps>::about(misuse_kind kind, call_site from) const noexcept {
    return {.kind = kind, .object = this, .type = "heap", .name = watch_.name(), .caller = from};
}

template <class Fit, class Steps>
evidence heap<Fit, Steps>::about_sizes(std::size_t block_size, std::size_t freed_size,
                                       call_site from) const noexcept {
    evidence sizes = about(misuse_kind::wrong_size, from);
    sizes.values[0] = {"bytes of the block", block_size};
    sizes.values[1] = {"bytes freed", freed_size};
    return sizes;
}

template <class Fit, class Steps>
inline void heap<Fit, Steps>::check_freed([[maybe_unused]] const void* p,
                                          [[maybe_unused]] std::size_t size,
                                          [[maybe_unused]] call_site from) const noexcept {
    if constexpr (asserts_enabled) {
        region_type* const r = regions_.at(p);
        CAIRN_ASSERT(r != nullptr && r->contains(p), "a block is freed to the heap it came from",
                     about(misuse_kind::foreign_pointer, from));
        CAIRN_ASSERT(is_aligned(p, alignment{detail::granule_size}),
                     "a pointer to the start of a block is freed",
                     about(misuse_kind::foreign_pointer, from));
        const std::uint32_t g = r->map().block_of(p);
        const detail::block_header h = r->map().header(g);
        CAIRN_ASSERT(!r->was_freed(r->map(), g, h), "a block is freed once",
                     about(misuse_kind::double_free, from));
        r->check_live(r->map(), g, h);
        if (size == SIZE_MAX) { return; }
        CAIRN_ASSERT(detail::payload_size(h.size()) == good_size(size),
                     "a block is freed with the size that it was asked with",
                     about_sizes(detail::payload_size(h.size()), size, from));
    }
}

/// `p` waits in the bin of blocks with `granules`.
template <class Fit, class Steps>
inline void heap<Fit, Steps>::check_deferred(
    [[maybe_unused]] const void* p, [[maybe_unused]] std::uint32_t granules) const noexcept {
    if constexpr (asserts_enabled) {
        const region_type* const r = regions_.at(p);
        CAIRN_ASSERT(
            r != nullptr && r->contains(p) && is_aligned(p, alignment{detail::granule_size}),
            "a block that waits is as the heap wrote it: nothing wrote into it after it was freed");
        const std::uint32_t g = r->map().block_of(p);
        const detail::block_header h = r->map().header(g);
        CAIRN_ASSERT(h.is_deferred() && !h.is_free() && h.size() == granules,
                     "a block that waits is as the heap wrote it: nothing overran it");
        r->check_header(r->map(), g, h);
    }
}

template <class Fit, class Steps>
template <class Visit>
void heap<Fit, Steps>::for_each_block(Visit visit) const {
    for (std::uint32_t i = 0; i < regions_.count(); ++i) {
        const region_type* const r = regions_.region(i);
        r->for_each([&](std::uint32_t g, detail::block_header h) {
            const block_state state = h.is_free()       ? block_state::free
                                      : h.is_deferred() ? block_state::deferred
                                                        : block_state::used;
            visit(heap_block{r->map().payload(g), detail::payload_size(h.size()), state});
        });
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR

#include <cairn/alloc/heap/heap_cold.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

// ---------------------------------------------------------------------------- compiled once

extern template class heap<good_fit>;
extern template class heap<strict_good_fit>;
extern template class heap<best_fit>;
extern template class heap<first_fit>;
extern template class heap<half_fit>;

}  // namespace cairn::inline CAIRN_FLAVOUR
