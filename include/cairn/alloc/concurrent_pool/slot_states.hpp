// cairn/alloc/concurrent_pool/slot_states.hpp - what checked builds know of each slot: is it live?
//
//      chunk     | slot 0 | slot 1 | slot 2 | ...
//      live      |  true  |  false |  true  | ...      a byte a slot, in memory of their own
//
// Each thread remembers the chunk that it found last (chunk_lookup, in its cache), so the byte of
// an address is nearly always found without a search.
//
// A byte is looked at and then written, by two instructions: one that does both is locked, and two
// of those are several times what a pair without checks costs. Two threads that free one slot in
// the same instant may therefore both find it live. It then lies in two magazines, and is named
// when it is given out for the second time. (docs/decisions/0005-how-a-check-is-cheap.md)
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/slot_bin.hpp>
#include <cairn/core/inside/slot_numbers.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// True while its slot is live. Relaxed: the magazines order what one thread hands to another.
using slot_state = std_atoms::atomic<bool>;

/// Lies in a block of its own; the bits of the bin behind it.
struct pool_chunk : slot_chunk {
    std::size_t record_size = 0;   // bytes of this block
    std::size_t first_number = 0;  // of its slots, in reports
    // Checked builds; Valgrind's number lies behind them. nullptr: there was no memory for it.
    slot_state* live = nullptr;
};

#if CAIRN_ASSERTS

class chunk_lookup {
public:
    void remember(const pool_chunk& c) noexcept {
        first_ = reinterpret_cast<std::uintptr_t>(c.begin);
        live_ = c.live;
        size_.store(c.slot_count * c.number.stride, memory_order::relaxed);
    }
    /// Any thread, for a chunk that goes: no slot of it is live, so its owner does not look at it.
    void forget() noexcept { size_.store(0, memory_order::relaxed); }

    /// Marks the slot at `p` as live.
    /// Returns: false when all is not well, or the slot lies elsewhere; nothing has changed then.
    [[nodiscard]] bool give_out(const void* p, slot_numbers number) noexcept {
        return change(p, number, true);
    }
    /// The same for a slot that comes back.
    [[nodiscard]] bool take_back(const void* p, slot_numbers number) noexcept {
        return change(p, number, false);
    }

private:
    [[nodiscard]] [[CAIRN_FORCE_INLINE]] bool change(const void* p, slot_numbers number,
                                                     bool live) noexcept {
        const std::size_t distance = reinterpret_cast<std::uintptr_t>(p) - first_;
        if (distance >= size_.load(memory_order::relaxed)) [[unlikely]] { return false; }
        const std::size_t i = number(distance);
        slot_state& state = live_[i];
        if (i * number.stride != distance || state.load(memory_order::relaxed) == live)
            [[unlikely]] {
            return false;
        }
        state.store(live, memory_order::relaxed);
        return true;
    }

    std::uintptr_t first_ = 0;     // of its slots
    atomic<std::size_t> size_{0};  // of its slots, in bytes; 0: no chunk, or states not known
    slot_state* live_ = nullptr;
};

#else

struct chunk_lookup {
    void forget() noexcept {}
};

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
