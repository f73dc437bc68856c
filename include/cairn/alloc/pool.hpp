// cairn/alloc/pool.hpp - slots of one size; a free list that never waits for its own links.
//
//      chunk (from the upstream, doubling)                     side block (from the upstream)
//      +------+------+------+------+------+- - - - - -+        +--------+-----+------------------+
//      | live | free | live | free | live | untouched |        | chunks | pad | &free &free .... |
//      +------+------+------+------+------+- - - - - -+        +--------+-----+--------+---------+
//                                         ^ carve_                            ^ floor_ ^ top_
//      latest_: the slot that was freed last, which waits in front of the stack
//
// Free slots are remembered outside themselves, in a stack of pointers. An intrusive list keeps the
// link inside the free slot instead, so after scattered frees every allocation waits for a cache
// miss before it knows the next one; here the next addresses lie side by side, and the slot that
// will be given out eight allocations later is prefetched. Freed memory is not touched: a slot may
// be 1 byte, may lie in memory that is slow to read, and stays poisoned.
// (docs/decisions/0020-a-pool-keeps-free-slots-in-a-stack.md) A slot that is freed and taken again
// at once never sees the stack: it waits in the pool object (unchecked builds; decision 0020).
//
// Use it for: particles, projectiles, nodes, messages: objects of one size, freed in any order.
// Look elsewhere for: many sizes (heap.hpp); all freed at once (arena.hpp); handles that cannot
//   dangle and dense iteration (containers/); several threads (concurrent_pool.hpp, locked.hpp).
//
// Invariant: each carved slot is live, or exactly once in [floor_, top_), or latest_; the stack has
//            room for every slot of every chunk, so deallocate() cannot fail and never checks.
// Order:     ascending addresses on first use, after reset(), after trim() and for_each_live();
//            otherwise last freed, first out.
// Cost:      allocate and deallocate: a few inlined instructions, no call, no counter. Growth: one
//            or two upstream requests, never a walk over the slots: a new pool of a million slots
//            is one request and touches two pages (the side block lies behind the first chunk).
//            In checked builds a pair of 64 bytes is 59 instructions (gcc 12; decision 0005); where
//            the caller is not optimized, each is one call of the library, which is.
//            Memory: the slots, 8 bytes a slot in the side block (paged in only as far as slots
//            are free at one time), 32 bytes a chunk.
// Threads:   none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/pool/seen_chunks.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/slice.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/allocator_watch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct pool_options {
    std::size_t slots_per_chunk = 0;  // slots in the first chunk; 0: as many as fit 16 KiB
    std::size_t chunk_size_max = std::size_t{4} << 20;  // bytes up to which chunks double
    std::size_t slot_count_max = SIZE_MAX;              // of all chunks together
    /// For reports of checked builds and the memory checkers; not copied. nullptr: none.
    const char* name = nullptr;
    /// Checked builds: the pool ends with no slot live. (Dropping all slots at once is what pools
    /// are good for, so it is legal unless this is set.)
    bool all_back_at_end = false;
};

/// What a pool holds. All of it is counted on demand: the hot path counts nothing.
struct pool_stats {
    std::size_t live_count = 0;     // slots given out and not yet freed
    std::size_t slot_count = 0;     // slots in all chunks
    std::size_t chunk_count = 0;    // chunks taken from the upstream
    std::size_t upstream_size = 0;  // bytes taken from the upstream, side block included
};

}  // namespace detail

class pool : public detail::other_names_of_pools {
public:
    using options = detail::pool_options;
    using stats_type = detail::pool_stats;

    pool() = delete;  // it needs the size of a slot: pool{64}; pool_of<T> knows it
    explicit pool(allocator_ref) = delete;  // it needs the size of a slot: pool{64, upstream}

    /// A pool of slots of `slot_size` bytes at multiples of `align`; takes no memory yet.
    /// Slots lie slot_size bytes apart, rounded up to a multiple of `align`; 0 counts as 1.
    explicit pool(std::size_t slot_size, alignment align = default_alignment,
                  allocator_ref upstream = system_memory(), options how = {}) noexcept;
    pool(std::size_t slot_size, allocator_ref upstream, options how = {}) noexcept
        : pool{slot_size, default_alignment, upstream, how} {}

    /// A pool of as many slots as fit into `buffer`, which must outlive it; it never grows.
    pool(slice<std::byte> buffer, std::size_t slot_size,
         alignment align = default_alignment) noexcept;

    pool(std::size_t, std::size_t, ...) = delete;  // pool{64, cairn::alignment{16}}

    // Written out: `other` may grow again, from its first chunk on, and is looked up anew.
    pool(pool&& other) noexcept;
    pool& operator=(pool&& other) noexcept;
    ~pool();

    /// Bytes of a buffer that give exactly `count` slots, when the buffer begins at a multiple of
    /// `align` and of 8; up to that many bytes less one are lost at the beginning otherwise.
    /// Returns: SIZE_MAX, which no upstream has, when that many bytes cannot be counted.
    [[nodiscard]] static constexpr std::size_t required_size(std::size_t count,
                                                             std::size_t slot_size,
                                                             alignment align) noexcept;

    /// One slot, uninitialized.
    /// Returns: nullptr when every slot is live and the upstream (or slot_count_max) allows no
    ///          more; the pool is unchanged then.
    /// Cost:    4 instructions for the slot that was freed last, 11 for another one from the stack,
    ///          12 for an untouched one; when all are taken, a chunk from the upstream.
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] void* allocate() noexcept;

    /// Gives a slot back; nullptr does nothing. Never fails, never touches the slot.
    /// Requires: `p` came from allocate() of this pool and is live.
    /// Cost:     6 instructions, and 4 more where the slot freed before has not been taken since.
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, call_site from = call_site::current()) noexcept;

    /// As a byte_allocator: a slot, when `size` bytes at `align` fit into one.
    /// Returns: nullptr when they do not fit, or as allocate().
    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        return size <= stride_ && align <= align_ ? allocate() : nullptr;
    }
    [[CAIRN_FORCE_INLINE]] void deallocate(void* p, std::size_t size, alignment align,
                                           call_site from = call_site::current()) noexcept;

    /// Fills `out` from the front. Returns: how many slots it got: fewer than asked for only when
    /// exhausted; those it got are live.
    [[nodiscard]] std::size_t allocate_n(slice<void*> out) noexcept;

    /// Gives all slots of `slots` back. Requires: as deallocate(), each one once.
    void deallocate_n(slice<void* const> freed) noexcept;

    /// Frees every slot at once and keeps the chunks. Invalidates: every slot.
    /// Cost: O(chunks).
    void reset() noexcept;
    void deallocate_all() noexcept { reset(); }

    /// Makes sure that `count` more allocations need no upstream.
    /// Returns: false when the upstream or slot_count_max refuses; nothing has changed then.
    /// Cost:    at most two upstream requests. This function touches no pages. To prefault
    ///          them, use page_allocator as the upstream.
    [[nodiscard]] bool reserve(std::size_t count) noexcept;

    /// Gives chunks without a live slot back to the upstream; none in a call of the upstream, such
    /// as that of a budget's handler. Returns: bytes given back.
    /// Cost: O(f log f) for f free slots, which are sorted: allocation then goes by address.
    std::size_t trim() noexcept;

    /// Calls f(void*) for each live slot, in address order within and across chunks. `f` may free
    /// the slot it is given, and no other; it may not allocate.
    /// Cost: O(slots + f log f) for f free slots. A cold operation: to iterate every frame, take a
    /// container.
    template <class F>
    void for_each_live(F&& f);

    /// True when `p` lies in a slot of this pool, live or free. Cost: O(log chunks).
    [[nodiscard]] bool owns(const void* p) const noexcept { return find_chunk(p) != nullptr; }

    /// Bytes that a slot really has: slot_size, rounded up to a multiple of the alignment.
    [[nodiscard]] std::size_t slot_size() const noexcept { return stride_; }
    [[nodiscard]] alignment slot_alignment() const noexcept { return align_; }
    [[nodiscard]] std::size_t good_size(std::size_t size, alignment) const noexcept {
        return size <= stride_ ? stride_ : size;
    }

    /// Cost: O(chunks).
    [[nodiscard]] stats_type stats() const noexcept;

    /// As options::name; nullptr: none.
    void set_name(const char* name) noexcept;
    [[nodiscard]] const char* name() const noexcept { return options_.name; }

    /// Checks every invariant; O(slots).
    void validate() const noexcept;

protected:
    /// Checked builds: of a pool whose slots hold objects with destructors.
    void check_objects_end() const noexcept;
    /// Checked builds: the object in slot `p` ends. Until end_destruction(p) the slot counts as
    /// freed, so that a destructor that destroys its own object stops.
    void begin_destruction(const void* p, call_site from) noexcept;
    void end_destruction(const void* p) noexcept;
    /// Calls destroy(p) once for each live slot, by address, without freeing it. `destroy` may free
    /// other slots, which are then left out; it may not allocate. reset() must follow.
    void destroy_each(void (*destroy)(void*) noexcept) noexcept;
    /// True within destroy_each(); has_ended() then says for which slots it need not be called.
    [[nodiscard]] bool is_ending() const noexcept { return is_ending_; }
    [[nodiscard]] bool has_ended(const void* p) const noexcept;

private:
    friend struct pool_checks;

    struct chunk {
        std::byte* first;       // slot 0
        std::byte* carved_end;  // slots below have been given out at least once (see carve_)
        std::size_t slot_count;
        bool* live;  // checked builds: of each slot, whether it is live
    };

    // Allocation looks this many entries down the stack; as many null entries lie below it.
    static constexpr std::size_t lookahead = 8;
    static constexpr std::size_t none = SIZE_MAX;

    void* carve() noexcept;
    void* allocate_in_next_chunk() noexcept;
    bool add_chunk(std::size_t slot_count) noexcept;
    bool make_room_in_side(std::size_t chunk_count, std::size_t slot_count) noexcept;
    void give_chunk_back(const chunk& c) noexcept;
    void give_all_back(std::size_t count) noexcept;
    [[nodiscard]] void* outer_side() const noexcept;
    void forget() noexcept;
    void select(std::size_t index) noexcept;
    void park_selected() noexcept;
    std::size_t sort_free() noexcept;
    std::size_t number_entries(std::size_t first) noexcept;
    std::size_t free_count() const noexcept {
        return static_cast<std::size_t>(top_ - floor_) + (latest_ != nullptr ? 1 : 0);
    }
    std::size_t untouched_count() const noexcept;
    std::byte* carved_end(std::size_t index) const noexcept {
        return index == selected_ ? carve_ : chunks_[index].carved_end;
    }
    const chunk* find_chunk(const void* p) const noexcept;
    std::size_t side_size() const noexcept;
    std::size_t block_size(const chunk& c) const noexcept;
    static std::size_t side_size_for(std::size_t chunks, std::size_t slot_count) noexcept;
    void move_side_to(std::byte* side, std::size_t chunks, std::size_t slot_count) noexcept;
    bool side_is_embedded() const noexcept {
        return chunks_ != nullptr && reinterpret_cast<std::byte*>(chunks_) == embedded_side_;
    }

    // Checked builds. The first two are inlined: a short slot that passes every check. The others
    // are functions of the library: any slot, under any memory checker, with a report.
    [[nodiscard]] void* allocate_short() noexcept;
    [[nodiscard]] bool deallocate_short(void* p) noexcept;
    void* allocate_checked() noexcept;
    void deallocate_checked(void* p, call_site from) noexcept;
    void deallocate_checked(void* p, std::size_t size, alignment align, call_site from) noexcept;
    void* allocate_any() noexcept;
    void check_end() const noexcept;

    //  slot_count_ = live + free_count() + untouched             slots
    //  untouched   = sum of (end - carved_end) / stride_ over the chunks
    //  free_count() <= slot_count_ <= stack_capacity_: deallocate() always finds room
    void* latest_ = nullptr;          // freed last and not on the stack; checked builds: nullptr
    void** top_ = nullptr;            // one past the last free slot in the stack
    void** floor_ = nullptr;          // begin of the stack
    std::byte* carve_ = nullptr;      // next untouched slot of the selected chunk
    std::byte* carve_end_ = nullptr;  // end of the selected chunk
    std::size_t stride_;              // bytes from slot to slot
    chunk* chunks_ = nullptr;         // sorted by address; begin of the side block
    std::size_t chunk_count_ = 0;
    std::size_t chunk_capacity_ = 0;      // room in the side block
    std::size_t stack_capacity_ = 0;      // room in the side block, in slots
    std::byte* embedded_side_ = nullptr;  // behind the first chunk's slots, used or not
    std::size_t embedded_size_ = 0;       // of it, in bytes
    std::size_t slot_count_ = 0;          // of all chunks
    std::size_t selected_ = none;         // index of the chunk being carved
    std::size_t next_chunk_slots_;        // slots of the next chunk
    options options_;
    allocator_ref upstream_;
    alignment align_;
    bool fixed_ = false;          // over a buffer: nothing goes back
    bool is_ending_ = false;      // destroy_each() is running
    bool upstream_runs_ = false;  // in a call of this pool
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::allocator_watch watch_;
#if CAIRN_ASSERTS
    detail::seen_chunks seen_{stride_};  // most slots are found there without a search
#endif
};

static_assert(byte_allocator<pool> && has_good_size<pool> && has_owns<pool> && resettable<pool> &&
              validatable<pool>);

template <class F>
void pool::for_each_live(F&& f) {
    std::size_t free_left = sort_free();  // descending: the lowest address is on top
    [[maybe_unused]] const std::size_t sorted = free_left;
    [[maybe_unused]] const std::byte* const carved = carve_;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        std::byte* const end = carved_end(i);
        for (std::byte* p = chunks_[i].first; p != end; p += stride_) {
            if (free_left != 0 && floor_[free_left - 1] == p) {
                --free_left;
            } else {
                CAIRN_ASSERT(!has_ended(p),
                             "a loop visits live slots: a visitor frees the slot that it is given, "
                             "and no other; a destructor starts no loop",
                             {.object = this, .type = "pool", .name = options_.name});
                f(static_cast<void*>(p));  // what it frees lands above the sorted part
                CAIRN_ASSERT(free_count() >= sorted && carve_ == carved,
                             "no slot is allocated, and no pool is reset, while a loop visits the "
                             "slots",
                             {.object = this, .type = "pool", .name = options_.name});
            }
        }
    }
}

constexpr std::size_t pool::required_size(std::size_t count, std::size_t slot_size,
                                          alignment align) noexcept {
    const std::size_t stride = detail::round_up(slot_size != 0 ? slot_size : 1, align);
    // [ slots | up to 7 bytes | chunk record | pad | stack ]
    const std::size_t slot_bytes = detail::saturating_multiply(count, stride);
    const std::size_t links =
        detail::saturating_multiply(detail::saturating_add(lookahead, count), sizeof(void*));
    if (stride < slot_size || slot_bytes > SIZE_MAX - sizeof(void*)) { return SIZE_MAX; }
    return detail::saturating_add(
        detail::saturating_add(detail::round_up(slot_bytes, alignment::of<void*>()), sizeof(chunk)),
        links);
}

}}  // namespace cairn::CAIRN_FLAVOUR

#if CAIRN_ASSERTS
#    include <cairn/alloc/pool/checked.hpp>
#else
#    include <cairn/alloc/pool/hot_path.hpp>
#endif
