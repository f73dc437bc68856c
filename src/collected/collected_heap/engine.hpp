// What the parts of the collector call in each other.
//
//      chunks.cpp   memory: chunks, open words
//                   objects with chunks of their own, buffers of arrays
//      mark.cpp     from the roots to everything that is reachable; what stores do meanwhile
//      sweep.cpp    before_collect, destructors, memory that comes back
//      compact.cpp  objects of sparsely used chunks move together
//      step.cpp     the phases in turn, within a budget
//      pacing.cpp   how much work is owed
//      checks.cpp   what checked builds know: regions, misuse
//      validate.cpp the invariants
//      graph.cpp    the objects of the heap, and their keepers; the walk of options::verify
#pragma once

#include <bit>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/inside/collected_region.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// Work, in bytes: see collected_heap::step().
inline constexpr std::size_t root_price = 32;
inline constexpr std::size_t reference_price = 8;  // where an object's slot is not worth that much
inline constexpr std::size_t chunk_price = 256;
inline constexpr std::size_t call_price = 128;
inline constexpr std::size_t piece_size = 512;  // bytes of an array that are traced at a time

[[nodiscard]] inline std::byte* base_of(collected_region& r) noexcept {
    return reinterpret_cast<std::byte*>(&r);
}
[[nodiscard]] inline std::byte* chunk_begin(collected_region& r, std::uint32_t chunk) noexcept {
    return base_of(r) + std::size_t{chunk} * chunk_size;
}
[[nodiscard]] inline std::size_t capacity_of(const collected_region& r) noexcept {
    return std::size_t{r.end_chunk - r.first_chunk} * chunk_size;
}
[[nodiscard]] inline std::size_t object_size(const chunk_record& c) noexcept {
    return c.slot_size != 0 ? c.slot_size : std::size_t{c.run} * chunk_size;
}
/// The object that begins at bit `bit` of the chunk's word `word`.
[[nodiscard]] inline object_name name_at(std::uint32_t chunk, std::uint32_t word,
                                         std::uint32_t bit) noexcept {
    return static_cast<object_name>(chunk * chunk_size + word * word_span + bit * slot_size_min);
}
[[nodiscard]] inline std::uint64_t& mark_word(collected_region& r, std::uint32_t chunk,
                                              std::uint32_t word) noexcept {
    return r.marks[chunk * words_per_chunk + word];
}
/// Objects, and slots that make() may take.
[[nodiscard]] inline std::uint64_t& live_bits(collected_region& r, std::uint32_t chunk,
                                              std::uint32_t word) noexcept {
    return r.live[chunk * words_per_chunk + word];
}
/// Objects alone.
[[nodiscard]] inline std::uint64_t objects_of_word(const collected_region& r, std::uint32_t chunk,
                                                   std::uint32_t word) noexcept {
    const type_record& t = *r.chunks[chunk].type;
    const bool is_open = t.free_bits != 0 && name_of(t.word_begin) == name_at(chunk, word, 0);
    return r.live[chunk * words_per_chunk + word] & ~(is_open ? t.free_bits : 0);
}
/// Garbage, once marking has ended, of a chunk that is not swept yet.
[[nodiscard]] inline std::uint64_t condemned_of_word(const collected_region& r, std::uint32_t chunk,
                                                     std::uint32_t word) noexcept {
    const std::size_t i = chunk * words_per_chunk + word;
    return r.live[i] & ~r.marks[i];
}
[[nodiscard]] inline bool is_free_chunk(const collected_region& r, std::uint32_t chunk) noexcept {
    return ((r.free_chunks[chunk / 64] >> (chunk % 64)) & 1) != 0;
}

/// Calls visit(number, record) for each chunk with objects, beginning at `from`, while it says
/// true.
template <class Visit>
void visit_chunks(const collected_region& r, std::uint32_t from, Visit visit) noexcept {
    for (std::uint32_t i = from; i < r.highest_chunk;) {
        if (is_free_chunk(r, i)) {
            ++i;
        } else {
            const std::uint32_t run = r.chunks[i].run;  // visit may give it back
            if (!visit(i, r.chunks[i])) { return; }
            i += run;
        }
    }
}

/// Calls visit(bit) for each bit of `bits`, from the lowest.
template <class Visit>
void for_each_bit(std::uint64_t bits, Visit visit) noexcept {
    for (; bits != 0; bits &= bits - 1) {
        visit(static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
}

/// While it lives, code of the program runs, which must not begin, take or finish steps.
class user_code {
public:
    explicit user_code(collected_region& r) noexcept : region_{r}, outer_{r.is_in_user_code} {
        r.is_in_user_code = true;
    }
    ~user_code() { region_.is_in_user_code = outer_; }
    user_code(const user_code&) = delete;
    user_code& operator=(const user_code&) = delete;

private:
    collected_region& region_;
    bool outer_;
};

/// Bytes of work for an object of `size` bytes.
[[nodiscard]] inline std::size_t price_of(std::size_t size, std::size_t reference_count) noexcept {
    const std::size_t by_references = reference_count * reference_price;
    return by_references > size ? by_references : size;
}

// ---- chunks.cpp
inline void count_as_used(collected_region& r, std::size_t size) noexcept {
    r.used_size += size;
    r.allocated_size += size;
    if (r.now != phase::idle) { r.cycle.allocated_size += size; }
}
/// `count` free chunks in a row, taken. Returns: the first; no_chunk: there are none.
[[nodiscard]] std::uint32_t take_chunks(collected_region& r, std::uint32_t count) noexcept;
/// Chunks that were taken become the type's: slots, or one object in `run` of them.
void prepare_chunk(collected_region& r, std::uint32_t number, type_record& type,
                   std::uint32_t run) noexcept;
/// What is known about the type, in the chunk.
void set_way(chunk_record& c) noexcept;
/// True when an object that is made in `c` now has to be marked to survive the running cycle.
[[nodiscard]] bool births_are_marked(const collected_region& r, const chunk_record& c) noexcept;
/// A free chunk becomes one of the type. Returns: its number; no_chunk: none is free.
[[nodiscard]] std::uint32_t take_chunk(collected_region& r, type_record& type) noexcept;
void give_back_chunks(collected_region& r, std::uint32_t first) noexcept;
void list_chunk_with_room(collected_region& r, std::uint32_t chunk) noexcept;
/// What make() has not taken of its open word goes back: each live bit is an object's.
void close_open_word(collected_region& r, type_record& t) noexcept;

// ---- mark.cpp
/// What the program's thread does where a worker marks, too.
enum class beside_worker : unsigned char {
    leaves,   // what only it can do
    marks,    // the rest as well, unless the worker is in a piece
    insists,  // and then it waits for the end of the worker's unit
};
/// The work that step.cpp allows a phase, and the rest of it.
struct allowance {
    std::size_t work;   // bytes that are left
    std::size_t steps;  // units that are left
    std::size_t done;   // bytes
    beside_worker way = beside_worker::insists;
    bool waits = false;  // for the worker: this thread can do nothing now

    void pay(std::size_t price) noexcept {
        done += price;
        work = price < work ? work - price : 0;
        --steps;
    }
    [[nodiscard]] bool is_used_up() const noexcept { return work == 0 || steps == 0; }
};
void scan_roots(collected_region& r, allowance& left) noexcept;
/// Returns: true when nothing is left to be traced.
[[nodiscard]] bool trace_marked(collected_region& r, allowance& left) noexcept;
/// What the worker has kept for this thread. Returns: true when nothing is left of it.
[[nodiscard]] bool trace_deferred(collected_region& r, allowance& left) noexcept;

// ---- sweep.cpp
/// Returns: true when all have been called.
[[nodiscard]] bool call_before_collect(collected_region& r, allowance& left) noexcept;
/// Returns: true when all chunks are swept.
[[nodiscard]] bool sweep(collected_region& r, allowance& left) noexcept;
/// Sweeps a chunk that asks for no user code. Returns: false when there is none.
[[nodiscard]] bool sweep_one_for_make(collected_region& r) noexcept;

/// What lies in a slot that belongs to nothing: checkers know.
void destroy_bytes(collected_region& r, void* object, std::size_t size) noexcept;

// ---- compact.cpp
/// Each object that may move goes to a chunk that was free, as far as there are any. Requires: no
/// cycle runs, and nothing is live that is not reachable. Returns: how many have moved.
std::size_t move_all(collected_region& r) noexcept;

// ---- pacing.cpp
inline constexpr std::size_t least_work_owed = 4096;  // a step, while a cycle runs
/// A cycle that begins now takes no more work: but for traced containers, which are taken to have
/// as many references as in the last cycle.
[[nodiscard]] std::uint64_t work_of_cycle(const collected_region& r) noexcept;
/// Memory is getting short: half of the last snapshot's rest is free, the least that a
/// cycle may need at any rate (the proof in collected_heap.hpp), or too little for one like the
/// last.
[[nodiscard]] bool is_time_to_begin(const collected_region& r) noexcept;
/// Of the work that is left, the part that the memory taken since the last step is of the room that
/// was left. So the quotient of both never grows, and they end together.
[[nodiscard]] std::size_t owed_work(const collected_region& r) noexcept;
/// A step has been made: allocations until now are paid for.
void note_payment(collected_region& r) noexcept;

// ---- step.cpp
/// `work` bytes less are left of the running cycle.
void count_work(collected_region& r, std::size_t work) noexcept;
/// What make() may do when memory is short. Returns: false when there is nothing.
[[nodiscard]] bool help_make(collected_region& r) noexcept;

/// True when `name` is, or lies in, an object that is live.
[[nodiscard]] inline bool is_live(const collected_region& r, object_name name) noexcept {
    const auto chunk = static_cast<std::uint32_t>(name / chunk_size);
    if (name < r.begin || name >= r.end) { return false; }
    if ((r.free_chunks[chunk / 64] >> chunk % 64 & 1) != 0) { return false; }
    const object_name object = start_of(r, name);
    const std::uint64_t bit = std::uint64_t{1} << object / slot_size_min % 64;
    if ((r.live[object / word_span] & bit) == 0) { return false; }
    // A slot that make() may still take has its bit in `live`, too.
    const type_record& t = *r.chunks[object / chunk_size].type;
    return (t.free_bits & bit) == 0 || name_of(t.word_begin) / word_span != object / word_span;
}

/// Calls visit(first, count) for each row of references that the type's trace() shows.
template <class Visit>
void call_trace(collected_region& r, const collected_type& type, void* object,
                Visit visit) noexcept {
    struct shows : visitor {
        explicit shows(Visit& f) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  static_cast<shows&>(v).visit(first, count);
              }},
              visit{f} {}
        Visit& visit;
    };
    shows v{visit};
    const user_code runs{r};
    r.is_in_trace = true;
    type.trace(object, v);
    r.is_in_trace = false;
}

/// Calls visit(place) for each reference of the object, null ones too.
template <class Visit>
void for_each_reference(collected_region& r, object_name object, Visit visit) noexcept {
    const auto visit_all = [&visit](object_name* first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) { visit(first + i); }
    };
    const chunk_record& c = r.chunks[object / chunk_size];
    std::byte* const memory = base_of(r) + object;
    if (c.way == tracing::all_words) {
        visit_all(reinterpret_cast<object_name*>(memory), object_size(c) / sizeof(object_name));
    } else if (c.type->type->trace != nullptr) {
        call_trace(r, *c.type->type, memory, visit_all);
    }
}

// ---- checks.cpp, validate.cpp
void add_to_known_regions(collected_region& r) noexcept;
void remove_from_known_regions(collected_region& r) noexcept;
/// options::verify: a second, simple walk from the roots finds only marked objects. It needs memory
/// as who_keeps() does, and is left out where the system refuses it.
void verify_marks(collected_region& r) noexcept;
/// The type of a marked object lists each of its references.
void verify_listed(collected_region& r) noexcept;
void validate_region(const collected_region& r) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
