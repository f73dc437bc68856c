// cairn/alloc/concurrent_heap/units.hpp - segments of address space, cut into runs of 64 KiB units.
//
//      segment   | header, records | chunk | free run     | large block  | chunk | free |
//                | unit 0 ..       |   1   |      3       |      3       |   1   |  1   |
//      record      [head] r0 r1 r2 ...     one for each unit, at the begin of the segment
//
// The record of a run's first unit says what the run is; a free run has its length in its last
// record, too, so that a freed run finds both neighbours. Free runs stand in lists by length, four
// to a doubling, as in a TLSF heap (Masmano, Ripoll, Crespo and Real 2004): O(1).
//
// Segments double from 1 MiB to 64 MiB, each about as large as all before it; smaller ones where
// the upstream refuses. A block above 4 MiB has a segment of its own, which goes back at once.
//
// Threads: one lock, never held while the upstream or the system works.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_heap/unit_map.hpp>
#include <cairn/alloc/inside/slot_bin.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/inside/upstream_mutex.hpp>
#include <cairn/storage/allocator_watch.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct unit_segment;

enum class unit_state : std::uint8_t { inside, free_run, chunk, large };

/// What is known of a unit, and of the run that begins there.
struct unit_record : slot_chunk {
    static constexpr unsigned word_count_max = unit_size / 16 / 64;

    unit_segment* segment = nullptr;
    std::uint32_t unit_count = 0;  // of the run; also in the last unit of a free one
    atomic<unit_state> state_{unit_state::inside};  // last, when the run is ready for it
    bool is_used = false;                           // this unit may hold other bytes than zeros
    word words[word_count_max] = {};                // free_bits
#if CAIRN_ASSERTS
    atomic<std::uint64_t> live_bits[word_count_max];  // slots that the user has
#endif

    [[nodiscard]] unit_state state() const noexcept { return state_.load(memory_order::acquire); }
    void set_state(unit_state s) noexcept { state_.store(s, memory_order::release); }
};

/// The begin of what came from the upstream in one piece. The records lie behind it.
struct unit_segment {
    const void* heap;
    void* memory;              // as it came from the upstream
    std::size_t size;          // bytes of it
    alignment align;           // of the request
    unit_record* outer;        // of the block that `memory` is, where the upstream is such a heap
    std::uint32_t unit_count;  // those of the records included
    std::uint32_t first_unit = 0;  // behind the records
    std::uint32_t free_units = 0;
    bool is_block = false;      // of one large block, with one record
    bool is_scattered = false;  // trim() returned a part: huge pages would bring it back
    unsigned description = 0;   // of a named heap's segment, for forget_description()
    unit_segment* next = nullptr;
    unit_segment* previous = nullptr;

    [[nodiscard]] unit_record& record(std::size_t i) noexcept {
        return reinterpret_cast<unit_record*>(this + 1)[i];
    }
    [[nodiscard]] std::size_t index_of(const unit_record& r) noexcept {
        return static_cast<std::size_t>(&r - &record(0));
    }
    [[nodiscard]] std::byte* unit(std::size_t i) noexcept {
        return reinterpret_cast<std::byte*>(this) + i * unit_size;
    }
    /// Where the run of `r` begins.
    [[nodiscard]] std::byte* begin_of(const unit_record& r) noexcept {
        return unit(is_block ? first_unit : index_of(r));
    }
};

class unit_store {
public:
    static constexpr std::size_t segment_size_min = std::size_t{1} << 20;
    static constexpr std::size_t segment_size_max = std::size_t{64} << 20;
    /// Larger blocks have a segment of their own.
    static constexpr std::size_t shared_max = std::size_t{4} << 20;

    /// `watch` has the name of the heap, and may begin to live later.
    unit_store(const void* heap, unit_map& map, allocator_ref upstream,
               const allocator_watch& watch) noexcept;
    unit_store(const unit_store&) = delete;
    unit_store& operator=(const unit_store&) = delete;
    /// Gives every segment back.
    ~unit_store();

    /// A run of `count` units; the map does not know it yet. Returns: nullptr when refused.
    [[nodiscard]] unit_record* take(std::size_t count) noexcept;
    /// The run that was taken is ready to be a chunk or a block. Under the lock, so that the child
    /// of a fork sees all of its record or does not see it.
    void publish(unit_record& r, unit_state state) noexcept;
    /// The run is free. Requires: the map does not know it any more. O(count).
    void give(unit_record& r) noexcept;

    /// A block of `size` bytes in a segment of its own, at a multiple of `align`.
    [[nodiscard]] unit_record* take_block(std::size_t size, alignment align) noexcept;
    void give_block(unit_record& r) noexcept;
    /// Makes a block of its own segment `size` bytes long, at other addresses if need be.
    /// Requires: the map does not know it any more. Returns: its record; nullptr: it is as it was.
    [[nodiscard]] unit_record* move_block(unit_record& r, std::size_t size) noexcept;

    /// Grows or shrinks the run of a large block in place. Returns: false: a neighbour is in use.
    [[nodiscard]] bool resize(unit_record& r, std::size_t count) noexcept;

    /// Makes sure that `count` units are free, in one run where the upstream has one.
    [[nodiscard]] bool reserve(std::size_t count) noexcept;
    /// Gives free memory back: whole segments, and pages of free runs where the upstream is the
    /// system. Of units that may hold other bytes than zeros, `used_max` at most. Returns: bytes.
    std::size_t trim(work_meter& work, std::size_t used_max = SIZE_MAX) noexcept;

    /// Returns: used units that were free at every moment since the last call: their least number.
    [[nodiscard]] std::size_t take_idle_units() noexcept;

    /// Valgrind calls every segment by the name of the heap.
    /// Requires: no other thread uses the heap.
    void describe() noexcept;
    void allow_growth(bool allowed) noexcept { may_grow_.store(allowed, memory_order::relaxed); }
    [[nodiscard]] std::size_t segment_size() noexcept;
    [[nodiscard]] std::size_t free_size() noexcept;
    [[nodiscard]] mutex& lock() noexcept { return lock_; }
    [[nodiscard]] upstream_mutex& upstream_lock() noexcept { return upstream_lock_; }
    /// Requires, both: the lock is held.
    [[nodiscard]] std::size_t segment_size_held() const noexcept { return segment_size_; }
    [[nodiscard]] unit_segment* first_segment() const noexcept { return segments_; }
    void validate() noexcept;

private:
    static constexpr unsigned bin_count = 48;

    [[nodiscard]] static unsigned bin_of(std::size_t count) noexcept;
    [[nodiscard]] unit_record* find(std::size_t count) noexcept;
    [[nodiscard]] unit_record* take_free(std::size_t count) noexcept;
    void cut(unit_record& r, std::size_t count) noexcept;
    void insert(unit_record& r, std::size_t count) noexcept;
    void remove(unit_record& r) noexcept;
    void free_run(unit_record& r, std::size_t count) noexcept;
    void note_taken() noexcept;
    void describe(unit_segment& s) noexcept;
    void link(unit_segment& s) noexcept;
    void unlink(unit_segment& s) noexcept;
    [[nodiscard]] bool grow(std::size_t count) noexcept;
    [[nodiscard]] unit_segment* make_segment(std::size_t size, alignment align) noexcept;
    [[nodiscard]] bool add_segment(std::size_t size) noexcept;
    [[nodiscard]] void* ask(std::size_t size, alignment align) noexcept;
    void give_back(unit_segment& s) noexcept;
    template <class Call>
    decltype(auto) in_turn(Call call) noexcept;
    [[nodiscard]] unit_segment* move_pages(unit_segment& s, std::size_t size) noexcept;
    std::size_t discard(unit_record& r) noexcept;
    [[nodiscard]] unit_segment* take_empty_segment(std::size_t& used_left) noexcept;
    void cut_behind_used(unit_record& r, std::size_t used) noexcept;
    [[nodiscard]] unit_record* take_used_run(std::size_t& used_left) noexcept;

    unit_map& map_;
    allocator_ref upstream_;
    const void* heap_;
    const allocator_watch& watch_;
    mutex lock_;
    upstream_mutex upstream_lock_;  // one thread at a time asks an upstream that is not the system
    bool has_pages_;                // the upstream is the system
    bool needs_lock_;
    atomic<bool> may_grow_{true};
    std::uint64_t bins_with_runs_ = 0;
    unit_record* runs_[bin_count] = {};
    unit_segment* segments_ = nullptr;
    std::size_t segment_size_ = 0;  // bytes in all
    std::size_t free_units_ = 0;
    std::size_t used_free_units_ = 0;  // of them, those that trim() can give back
    std::size_t idle_units_ = 0;       // their least number since the last take_idle_units()
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
