// Cold half of cairn/collected/collected_heap.hpp: how much work is owed, and from when on.
//
//      required_budget()     before: by the proof below
//      work_of_cycle()       at a cycle's beginning: its cost at most
//      is_time_to_begin()    between two: free bytes beside the need of the last ones
//      owed_work()           in each step without a budget
//
// The proof. Let M be capacity(), L the most bytes that are live (slots: multiples of 16), R those
// of them that are references and little else (they are paid for twice: 8 for each reference), a
// the bytes allocated a frame, b the work a frame, e = 16 KiB for each type, and
//      W = L + R + 32 roots + 9 M / 512 + 128 objects with destructors
// the most work of a cycle (each object is marked once, each chunk swept once). A cycle then takes
// at most W / b + 2 frames, while which A = a (W / b + 2) bytes are allocated. These live through
// it, and the next cycle begins with L + A in use and needs A more. So with
//      L + 2 A + e <= M       that is     b >= W / ((M - L - e) / (2 a) - 2) = required_budget()
// every cycle begins with A free and ends before they are used up. (Blelloch and Cheng 1999; Bacon,
// Cheng and Rajan 2003.) When to begin asks for neither a nor b: where the last snapshot kept K, a
// cycle begins as soon as no more than half of M - K is free. K <= L, so that is A or more, at
// whatever rates memory was taken before and is taken then.
#include "engine.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

namespace {

/// Bytes of work for the references of a type's objects that its slots do not pay for.
std::uint64_t work_beyond_slots(const type_record& t) noexcept {
    const std::uint64_t size = (t.chunk_count + t.chunks_behind) * std::uint64_t{chunk_size};
    if (t.way == tracing::all_words) { return size; }
    const std::uint64_t by_references = t.place_count * reference_price;
    return by_references <= t.type->size ? 0 : size / t.type->size * (by_references - t.type->size);
}

}  // namespace

std::uint64_t work_of_cycle(const collected_region& r) noexcept {
    std::uint64_t calls = 0;
    std::uint64_t beyond_slots = r.last_work_beyond_slots;
    for (std::uint32_t i = 0; i < r.type_count; ++i) {
        const type_record& t = r.types[r.used_types[i]];
        const bool destroys = t.type->destroy != nullptr;
        const bool has_hook = t.type->before_collect != nullptr;
        const std::uint64_t slots = t.type->size > slot_size_max
                                        ? t.chunk_count
                                        : t.chunk_count * (chunk_size / t.type->size);
        calls += slots * (std::uint64_t{destroys} + std::uint64_t{has_hook});
        beyond_slots += work_beyond_slots(t);
    }
    const std::uint64_t chunks = r.end_chunk - r.first_chunk - r.free_chunk_count;
    return r.used_size + beyond_slots + r.root_count * root_price +
           chunks * (chunk_price + root_price) + calls * call_price;
}

bool is_time_to_begin(const collected_region& r) noexcept {
    const std::size_t free = capacity_of(r) - r.used_size;
    const std::size_t by_half = (r.free_at_end + r.used_by_last_cycle) / 2;
    const std::size_t by_last = 2 * r.used_by_last_cycle;
    const bool is_short = free <= by_half || free <= by_last;
    return is_short && r.allocated_size != r.paid_until;
}

std::size_t owed_work(const collected_region& r) noexcept {
    const std::size_t taken = r.allocated_size - r.paid_until;
    if (taken >= r.room) { return SIZE_MAX; }
    const double part = static_cast<double>(taken) / static_cast<double>(r.room);
    return least_work_owed + static_cast<std::size_t>(part * static_cast<double>(r.work_left_max));
}

void note_payment(collected_region& r) noexcept {
    const std::size_t taken = r.allocated_size - r.paid_until;
    r.room -= taken < r.room ? taken : r.room;
    r.paid_until = r.allocated_size;
    r.help_left = r.help_max;
}

}  // namespace detail

std::size_t collected_heap::required_budget(const load& of) const noexcept {
    constexpr std::size_t none = SIZE_MAX;
    const std::size_t size = capacity();
    const std::size_t types = of.types != 0        ? of.types
                              : region_ == nullptr ? 0
                                                   : region_->type_count;
    const std::size_t kept = of.live_max + types * detail::chunk_size;
    if (kept < of.live_max || kept >= size) { return none; }
    if (of.allocated_per_frame == 0) { return 0; }
    const std::size_t chunks = size / detail::chunk_size;
    const std::size_t work = of.live_max + of.array_size + of.roots * detail::root_price +
                             chunks * (detail::chunk_price + detail::root_price) +
                             of.with_destructors * detail::call_price;
    const std::size_t frames = (size - kept) / 2 / of.allocated_per_frame;
    return frames <= 2 ? none : work / (frames - 2) + 1;
}

}}  // namespace cairn::CAIRN_FLAVOUR
