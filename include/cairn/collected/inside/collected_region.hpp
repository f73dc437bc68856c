// cairn/collected/inside/collected_region.hpp - the beginning of a collected heap's memory.
//
//      a multiple of 4 GiB
//      |
//      v
//      +--------+---------------+------------+---------+---------+- - - - +---------------------+
//      | region | chunk_records | mark stack | chunk 0 | chunk 1 |        | set aside, lives    |
//      |        | marks, live   |            |         |         |        |                     |
//      +--------+---------------+------------+---------+---------+- - - - +---------------------+
//      ^ first line: is it marking?            16 KiB, slots of one type    touched when needed
//
// marks and live have a bit for each 16 bytes, at which a slot begins or does not: so the bit of an
// object is found by its name alone, without its type.
//
// A region never exceeds 4 GiB, so the upper half of an object's address is that of its region, and
// the lower half names the object. So a reference has 4 bytes, its barrier finds the heap by a mask
// of its own address, and nothing is written in front of objects.
// (docs/decisions/0080-references-have-four-bytes-and-a-cycle-keeps-its-snapshot.md)
//
// Inside: what ref, root, weak_ref and the heap share. The rest is in src/collected/.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/collected/collection_report.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class visitor;

namespace detail {

/// The lower half of an object's address; 0: of nothing.
using object_name = std::uint32_t;

inline constexpr std::size_t region_alignment = std::size_t{1} << 32;
inline constexpr std::size_t chunk_size = 16384;  // bytes
inline constexpr std::size_t slot_size_min = 16;
inline constexpr std::size_t slot_size_max =
    chunk_size / 2;  // larger ones have chunks of their own
inline constexpr std::size_t word_span =
    64 * slot_size_min;  // bytes that a word of bits stands for
inline constexpr std::size_t words_per_chunk = chunk_size / word_span;

/// How the references of a type's objects are found.
enum class tracing : unsigned char {
    nothing,    // it has none
    unlearned,  // at fixed places; the first object that is traced shows them
    places,     // at `places` of the record
    by_call,    // its trace() says
    all_words,  // an array of references
};

/// What is known about a type while compiling.
struct collected_type {
    std::uint32_t size = 0;  // of a slot in bytes: a multiple of 16 and of the alignment
    tracing way = tracing::nothing;
    bool is_movable = false;  // by its bytes
    void (*trace)(void* object, visitor& v) = nullptr;
    void (*destroy)(void* object) noexcept = nullptr;         // nullptr: nothing to do
    void (*before_collect)(void* object) noexcept = nullptr;  // nullptr: the type has none
    const char* name = "";
    std::uint32_t name_length = 0;
};

inline constexpr std::uint32_t no_chunk = 0xFFFF'FFFF;
inline constexpr std::size_t places_max = 14;

/// What a heap knows about a type. The first line is all that make() needs.
struct alignas(64) type_record {
    const collected_type* type = nullptr;      // nullptr: no type yet
    std::uint64_t free_bits = 0;               // slots of the open word that make() may take
    std::byte* word_begin = nullptr;           // address of the open word's bit 0
    std::uint64_t starts = 0;                  // where slots begin, from one of them on
    std::uint32_t current = no_chunk;          // the chunk of the open word
    std::uint32_t next_word = 0;               // the word of `current` to be opened next
    std::uint32_t first_with_room = no_chunk;  // other chunks of the type with free slots, a list
    std::uint32_t last_with_room = no_chunk;
    tracing way = tracing::nothing;
    std::uint8_t place_count = 0;
    std::uint16_t places[places_max] = {};  // of references, in bytes from the object
    std::uint32_t chunk_count = 0;          // of large objects the first one each
    std::uint32_t chunks_behind = 0;        // the others
};
static_assert(sizeof(type_record) == 128);

/// Beside each chunk, with its words of `marks` and `live`.
struct alignas(64) chunk_record {
    type_record* type;
    std::uint32_t reciprocal;  // offset * reciprocal >> 32 is a slot's number; 0: one large object
    std::uint16_t slot_size;   // in bytes; 0: one large object
    tracing way;
    bool has_weak;        // something in it was referred to weakly: lives count
    std::uint32_t price;  // bytes of work for an object whose references are at `places`
    std::uint32_t slot_count;
    std::uint32_t taken_count;   // slots whose bit of `live` is set
    std::uint32_t run;           // chunks of the object: 1 but for large ones
    std::uint32_t behind_first;  // its number; above 0 no other member is valid
    std::uint32_t next_with_room, previous_with_room;
    bool is_listed;         // in the list of chunks with room
    bool has_moved;         // while objects move only: some of it stand elsewhere
    bool receives;          // while objects move only: it was free before
    std::uint8_t swept_in;  // the sweep_stamp of the sweep that it has been through
};
static_assert(sizeof(chunk_record) == 64);

// ---- a region

enum class phase : unsigned char { idle, roots, mark, before_collect, sweep };

/// Names of objects, or into them: a bit for each granule of 16 bytes. Of one thread at a time.
class name_set {
public:
    /// The names that bits of a word stand for: first, first + 16, ...
    struct word {
        object_name first;
        std::uint64_t bits;
    };
    name_set() noexcept = default;
    /// `chunk_bits`: a bit for each chunk from `first_chunk` on, cleared. `bits`: a bit for each
    /// granule of these, which the set clears when it needs them.
    name_set(std::uint64_t* chunk_bits, std::uint64_t* bits, std::uint32_t first_chunk) noexcept
        : bits_{bits}, chunks_{chunk_bits}, first_chunk_{first_chunk} {}

    void add(object_name name) noexcept;
    /// Takes some of them out. Returns: no bit when it is empty.
    [[nodiscard]] word take() noexcept;
    [[nodiscard]] bool is_empty() const noexcept { return chunk_count_ == 0; }

private:
    std::uint64_t* bits_ = nullptr;    // of a chunk, once that has its bit in:
    std::uint64_t* chunks_ = nullptr;  // chunks with names
    std::uint32_t first_chunk_ = 0;
    std::uint32_t chunk_count_ = 0;  // of those
    std::uint32_t next_word_ = 0;    // of chunks_: those before it are 0
};

/// One in the list of roots; `object` is not null.
struct root_link {
    root_link* next;
    root_link* previous;
    void* object;
#if CAIRN_ASSERTS
    std::source_location made_at{};
#endif
    /// The line that made it; line() is 0 in unchecked builds.
    [[nodiscard]] std::source_location line() const noexcept {
#if CAIRN_ASSERTS
        return made_at;
#else
        return {};
#endif
    }
};

inline constexpr std::size_t log_size = 128;
inline constexpr std::size_t queue_size = 16;
inline constexpr std::size_t type_record_count = 256;  // of which half are used at most

#if CAIRN_ASSERTS
/// Where the references of an object lie, in bytes from its beginning: some in a row, others.
struct reference_rows {
    struct row {
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    std::uint32_t count = 0;  // of rows
    std::uint32_t total = 0;  // of references
    bool is_whole = true;     // all references of the object are in here
    row rows[32];
};
#endif

struct marking_share;  // src/collected/collected_heap/engine.hpp

struct collected_region {
    // ---- what barriers read
    bool is_marking = false;  // overwritten references are logged
    phase now = phase::idle;
    bool is_in_user_code = false;  // a trace, a destructor, a before_collect
    bool is_in_trace = false;      // of these the first
    std::uint32_t log_count = 0;
    chunk_record* chunks = nullptr;  // by the upper bits of an object's name
    std::uint64_t* marks = nullptr;  // a bit for 16 bytes, from the region's beginning
    std::uint64_t* live = nullptr;   // as `marks`; what make() may take of an open word counts, too
    std::uint32_t* lives = nullptr;  // by granules of 16 bytes from `begin`
    object_name begin = 0;           // of chunk first_chunk
    object_name end = 0;

    root_link roots{};
    root_link* next_root = nullptr;  // to be looked at; &roots: all were
    std::size_t root_count = 0;

    object_name log[log_size];  // values that were overwritten while marking

    // ---- marking
    object_name* stack = nullptr;
    std::uint32_t stack_count = 0;
    std::uint32_t stack_capacity = 0;
    std::uint32_t queue_first = 0;
    std::uint32_t queue_count = 0;
    object_name queue[queue_size] = {};  // popped and prefetched, to be traced in this order
    object_name piece = 0;               // of a large array: the next word to be looked at
    object_name piece_end = 0;
    name_set set_aside;  // objects that were marked while the stack was full

    // ---- chunks; numbers are object names >> 14
    std::uint32_t first_chunk = 0;
    std::uint32_t end_chunk = 0;      // of all
    std::uint32_t highest_chunk = 0;  // that was ever taken, + 1
    std::uint32_t free_chunk_count = 0;
    std::uint32_t search_from = 0;         // word of free_chunks below which none is free
    std::uint64_t* free_chunks = nullptr;  // a bit a chunk

    // ---- before_collect and sweeping
    std::uint32_t next_chunk = 0;  // of the phase: chunks below are done
    std::uint32_t next_word = 0;   // of that chunk
    std::uint32_t next_bit = 0;    // of that word, before_collect only
    std::uint32_t make_chunk = 0;  // where make() goes on to sweep by itself
    std::uint8_t sweep_stamp = 0;  // changes with each sweep

    // ---- counts
    std::size_t used_size = 0;           // bytes of slots that are live or in an open word
    std::size_t free_at_end = 0;         // bytes that were free when the last cycle ended
    std::size_t used_by_last_cycle = 0;  // bytes that were allocated while it ran
    std::size_t allocated_size = 0;      // bytes since the heap was made
    std::size_t paid_until = 0;          // allocated_size at the last step
    std::uint64_t work_left_max = 0;     // bytes of work: the running cycle takes no more
    std::size_t room = 0;                // bytes that may be allocated before the cycle ends
    std::uint32_t type_count = 0;
    std::uint64_t cycle_count = 0;  // that have ended
    std::uint64_t set_aside_count = 0;
    std::uint64_t work_in_make = 0;
    collection_cycle cycle;  // the running one
    collection_cycle last_cycle;
    std::uint64_t work_beyond_slots = 0;  // of cycle.bytes: for references that trace() shows
    std::uint64_t last_work_beyond_slots = 0;
    double slowest_speed = 0;  // bytes of work a microsecond, of the slowest cycle with a clock

    bool is_ending = false;        // nothing is made any more
    bool collects_always = false;  // options::stress
    bool verifies = false;         // options::verify
    std::size_t help_max = 0;      // options::work_in_make_max
    std::size_t help_left = 0;     // of it, until the next step
    void (*cycle_ended)(void* context, const collection_cycle& cycle) = nullptr;  // of the options
    void* cycle_ended_context = nullptr;

    // ---- a second thread (marking_worker.hpp)
    marking_share* share = nullptr;    // with the worker; nullptr: there is none
    bool is_shared = false;            // the worker may be marking
    std::uint32_t deferred_count = 0;  // at the stack's upper end: objects the worker cannot trace

    std::size_t block_size = 0;  // bytes from the upstream, all of it
    allocator_ref upstream;

#if CAIRN_ASSERTS
    struct construction {
        const std::byte* begin = nullptr;  // of the object that a constructor is at work on
        const std::byte* end = nullptr;
        reference_rows begun;  // references that began their lives in it
    } under_construction;
    collected_region* next_region = nullptr;  // of all in the program
    reference_rows rows[type_record_count];   // of each type, from its first object
#endif

    std::uint8_t used_types[type_record_count / 2] = {};  // their numbers, in order of arrival
    type_record types[type_record_count];

    explicit collected_region(allocator_ref memory) noexcept : upstream{memory} {
        roots.next = roots.previous = next_root = &roots;
    }
};

[[nodiscard]] inline std::uintptr_t region_bits(const void* inside) noexcept {
    return reinterpret_cast<std::uintptr_t>(inside) & ~(std::uintptr_t{region_alignment} - 1);
}
/// The region that `inside` lies in.
[[nodiscard]] inline collected_region& region_of(const void* inside) noexcept {
    return *reinterpret_cast<collected_region*>(region_bits(inside));
}
[[nodiscard]] inline object_name name_of(const void* object) noexcept {
    return static_cast<object_name>(reinterpret_cast<std::uintptr_t>(object));
}
[[nodiscard]] inline void* object_at(const void* inside, object_name name) noexcept {
    return reinterpret_cast<void*>(region_bits(inside) | name);
}

/// The bit of an object in its word of `marks` and `live`.
[[nodiscard]] inline std::uint64_t bit_of(object_name name) noexcept {
    return std::uint64_t{1} << (name / slot_size_min % 64);
}
/// True when the running cycle has reached the object that begins at `name`; `name` may be 0.
[[nodiscard]] inline bool is_marked(const collected_region& r, object_name name) noexcept {
    // Relaxed: a worker may be setting bits. One that is not seen yet costs a second look at the
    // object; a mark that is seen means that the worker traces it.
    const std::uint64_t marks =
        compiler::load(r.marks[name / word_span], compiler::memory_order::relaxed);
    return (marks >> (name / slot_size_min % 64) & 1) != 0;
}

/// The object that `name` is, or lies in.
[[nodiscard]] inline object_name start_of(const collected_region& r, object_name name) noexcept {
    const chunk_record& c = r.chunks[name / chunk_size];
    const object_name first = name & ~static_cast<object_name>(chunk_size - 1);
    if (c.reciprocal == 0) { return first - c.behind_first * static_cast<object_name>(chunk_size); }
    const std::uint64_t offset = name & (chunk_size - 1);
    const auto slot = static_cast<std::uint32_t>(offset * c.reciprocal >> 32);
    return first + slot * c.slot_size;
}

/// Marks the objects in the log; they are traced later.
void empty_log(collected_region& r) noexcept;

/// `old` was reachable when the cycle began: it stays for this cycle. Requires: is_marking.
inline void keep_for_this_cycle(collected_region& r, object_name old) noexcept {
    if (is_marked(r, old)) { return; }  // as 0 is, always
    r.log[r.log_count] = old;
    if (++r.log_count == log_size) { empty_log(r); }
}

/// The store with its log, out of line: no value has to survive the call, so the other way saves
/// no registers.
void overwrite_while_marking(object_name& place, object_name name) noexcept;

/// A store of a reference, with the barrier. `place` lies in the heap.
[[CAIRN_FORCE_INLINE]] inline void overwrite(object_name& place, object_name name) noexcept {
    if (region_of(&place).is_marking) [[unlikely]] {
        overwrite_while_marking(place, name);
    } else {
        place = name;
    }
}

/// True when marking has ended without reaching `object`, and it waits for its end.
[[nodiscard]] bool is_condemned(const collected_region& r, object_name object) noexcept;

void forget_root_while_marking(collected_region& r, root_link& root) noexcept;

// Checked builds: each names the mistake at its line.
void check_new_ref(const void* where, const void* target) noexcept;
void check_load(const void* where) noexcept;
void check_store(const void* where, const void* target) noexcept;
void check_root(const void* where, const void* target) noexcept;
void check_weak(const void* target) noexcept;

/// An array of `count` null references, or of more: `count` is rounded up.
[[nodiscard]] void* take_array(collected_region& r, std::uint32_t& count) noexcept;

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
