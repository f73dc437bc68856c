// What the program's thread and a worker share of marking.
//
//      mark_on.cpp  whose turn it is, and names that are handed over
//      worker.cpp   the worker's thread
#pragma once

#include <cairn/collected/marking_worker.hpp>

#include "engine.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// ---- mark.cpp
/// Looks at the overwritten names. Returns: true when none is left.
[[nodiscard]] bool see_names(collected_region& r, name_set& names, allowance& left) noexcept;

// ---- mark_on.cpp
/// Beside a region that a worker marks.
struct marking_share {
    /// What the worker knows about a type.
    struct places {
        bool is_known = false;
        std::uint8_t place_count = 0;
        std::uint16_t places[places_max] = {};
        std::uint32_t price = 0;  // bytes of work for an object
    };

    [[nodiscard]] static marking_share* create(collected_region& r, marking_worker& w) noexcept;
    void destroy() noexcept;

    /// The program's thread. Returns: false when the worker is in a piece and it does not insist.
    [[nodiscard]] bool try_take_gate(bool insists) noexcept;
    void open_gate() noexcept { worker.gate_.let_in(); }
    void give_back_gate() noexcept { worker.gate_.give_back(); }
    void close_gate() noexcept { worker.gate_.close(); }
    /// The worker ends its piece.
    [[nodiscard]] bool is_gate_wanted() const noexcept {
        return worker.is_wanted_.load(memory_order::relaxed);
    }
    /// Bytes that the worker has marked since the last call.
    [[nodiscard]] std::size_t take_work() noexcept;
    /// The side that has the gate: the set that was handed over and is not empty; nullptr: none.
    [[nodiscard]] name_set* received() noexcept {
        const std::uint32_t set = handover.received();
        return set == decltype(handover)::none ? nullptr : &sets[set];
    }

    marking_share(collected_region& r, marking_worker& w, std::size_t bytes) noexcept
        : worker{w}, region{r}, work_seen{w.work_.load(memory_order::relaxed)}, size{bytes} {}

    marking_worker& worker;
    collected_region& region;
    basic_handover<std_atoms> handover;
    name_set sets[2];
    std::uint64_t work_seen;  // of the worker's, in the cycle's count already
    std::size_t size;         // bytes, with the sets
    places types[type_record_count];
};
/// Marking begins: the worker is let in, where there is one.
void share_marking(collected_region& r) noexcept;
/// The log goes to the worker, or to a set that will.
void hand_over_log(collected_region& r) noexcept;
/// The program's part of marking, where is_shared. Returns: true when marking has ended.
[[nodiscard]] bool mark_beside_worker(collected_region& r, allowance& left) noexcept;
/// What the worker has done since the last call counts for the cycle. Returns: bytes.
std::size_t count_work_of_worker(collected_region& r) noexcept;

/// Objects of these slots will be marked when they are made.
inline void mark_births(const collected_region& r, std::uint64_t& word,
                        std::uint64_t slots) noexcept {
    if (r.is_shared) {
        compiler::atomic_ref{word}.fetch_or(slots, memory_order::relaxed);
    } else {
        word |= slots;
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
