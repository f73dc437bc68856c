// What the parts of the collector call in each other.
//
//      chunks.cpp   memory: chunks, open words, large objects, arrays
//      mark.cpp     from the roots to everything that is reachable
//      sweep.cpp    before_collect, destructors, memory that comes back
//      step.cpp     the phases in turn, within a budget; how much is owed
//      checks.cpp   what checked builds know: regions, misuse
//      validate.cpp the invariants; the second walk
//      graph.cpp    what is in the heap, and what keeps it there
#pragma once

#include <bit>
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/region.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

// Work, in bytes: see budget.hpp.
inline constexpr std::size_t root_price = 32;
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
[[nodiscard]] inline std::uint32_t word_count(const chunk_record& c) noexcept {
    return (c.slot_count + 63) / 64;
}
/// The bits of word `word` that stand for a slot.
[[nodiscard]] inline std::uint64_t slots_of_word(const chunk_record& c,
                                                 std::uint32_t word) noexcept {
    const std::uint32_t count = c.slot_count - word * 64;
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}
[[nodiscard]] inline object_name slot_name(const chunk_record& c, std::uint32_t chunk,
                                           std::uint32_t word, std::uint32_t bit) noexcept {
    return chunk * static_cast<object_name>(chunk_size) + (word * 64 + bit) * c.slot_size;
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

/// User code runs: it must not begin, take or finish steps.
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

// ---- chunks.cpp
/// True when an object that is made in `c` now has to be marked to survive the running cycle.
[[nodiscard]] bool births_are_marked(const collected_region& r, const chunk_record& c) noexcept;
void give_back_chunks(collected_region& r, std::uint32_t first) noexcept;
void list_chunk_with_room(collected_region& r, std::uint32_t chunk) noexcept;

// ---- mark.cpp
/// What step.cpp gives to a phase, and what has become of it.
struct allowance {
    std::size_t work;   // bytes that are left
    std::size_t steps;  // units that are left
    std::size_t done;   // bytes

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

// ---- sweep.cpp
/// Returns: true when all have been called.
[[nodiscard]] bool call_before_collect(collected_region& r, allowance& left) noexcept;
/// Returns: true when all chunks are swept.
[[nodiscard]] bool sweep(collected_region& r, allowance& left) noexcept;
/// Sweeps a chunk that asks for no user code. Returns: false when there is none.
[[nodiscard]] bool sweep_one_for_make(collected_region& r) noexcept;

// ---- collected_heap.cpp
[[nodiscard]] collection_cycle cycle_of(const collected_region& r) noexcept;

// ---- step.cpp
/// What make() may do when memory is short. Returns: false when there is nothing.
[[nodiscard]] bool help_make(collected_region& r) noexcept;

/// True when `name` is, or lies in, an object that is live.
[[nodiscard]] inline bool is_live(const collected_region& r, object_name name) noexcept {
    if (name < r.begin || name >= r.end || is_free_chunk(r, name / chunk_size)) { return false; }
    const object_name object = start_of(r, name);
    const chunk_record& c = r.chunks[object / chunk_size];
    const std::uint32_t slot = slot_of(c, object);
    return slot < c.slot_count && ((c.live[slot / 64] >> (slot % 64)) & 1) != 0;
}

/// Calls visit(name) for each reference of the object, null ones too.
template <class Visit>
void for_each_reference(collected_region& r, object_name object, Visit visit) noexcept {
    struct shows : visitor {
        explicit shows(Visit& f) noexcept
            : visitor{[](visitor& v, object_name* first, std::size_t count) {
                  for (std::size_t i = 0; i < count; ++i) {
                      static_cast<shows&>(v).visit(first + i);
                  }
              }},
              visit{f} {}
        Visit& visit;
    };
    const chunk_record& c = r.chunks[object / chunk_size];
    std::byte* const memory = base_of(r) + object;
    const user_code runs{r};
    if (c.way == tracing::all_words) {
        for (std::size_t i = 0; i < object_size(c); i += sizeof(object_name)) {
            visit(reinterpret_cast<object_name*>(memory + i));
        }
    } else if (c.type->type->trace != nullptr) {
        shows v{visit};
        c.type->type->trace(memory, v);
    }
}

// ---- checks.cpp, validate.cpp
void add_to_known_regions(collected_region& r) noexcept;
void remove_from_known_regions(collected_region& r) noexcept;
void verify_marks(collected_region& r) noexcept;
void validate_region(const collected_region& r) noexcept;

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
