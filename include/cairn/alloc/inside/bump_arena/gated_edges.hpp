// cairn/alloc/inside/bump_arena/gated_edges.hpp - the edges of a region, and the gate of checked
// builds.
//
// Edges are integers: an empty region needs no null test, and no pointer leaves its object. They
// are stored as a type of their own (edge), so that no integer the user writes may alias one.
//
// Checked builds see two threads in one region at the price of one store, one load and one branch
// in the hot path. It compares with the gate, where the unchecked one compares with the end, and
// shows the gate in the top while it moves it: an odd address, which nothing fits behind.
//
//      hot path:    top_ = gate_    is it there still?    top_ = new top
//      all others:  gate_ = 0    is the top even?    ...    gate_ = end_ + 1
//
// What does not pass takes the guarded way, which says who met whom. On Valgrind the gate stays
// shut: the guarded way reports which bytes are free. (docs/decisions/0005-how-a-check-is-cheap.md)
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

inline constexpr alignment bump_granule = default_alignment;
inline constexpr std::size_t colour_page = 4096;  // a cache way: 64 sets of 64 bytes

/// An address, kept as a pointer to no object. As a std::uintptr_t the compiler would have to
/// load it again after every std::uint64_t that the user writes into a new block: a chain through
/// memory that made a loop of allocations up to three times slower (lab: linear, 8 b).
class edge {
public:
    edge(std::uintptr_t address) noexcept : address_{reinterpret_cast<nothing*>(address)} {}
    operator std::uintptr_t() const noexcept { return reinterpret_cast<std::uintptr_t>(address_); }
    [[nodiscard]] void* pointer() const noexcept { return address_; }

    /// For what another thread may be seen at: read and written here and now, without an order.
    [[nodiscard]] std::uintptr_t now() const noexcept {
        return reinterpret_cast<std::uintptr_t>(__atomic_load_n(&address_, __ATOMIC_RELAXED));
    }
    void set_now(edge to) noexcept { __atomic_store_n(&address_, to.address_, __ATOMIC_RELAXED); }

private:
    struct nothing;
    nothing* address_;
};

/// What a bump_region moves: all its edges, and the hot paths of checked builds.
class gated_edges {
public:
#if CAIRN_ASSERTS
    /// Hot path of checked builds: a small block, while no other thread is inside.
    /// Returns: false in all other cases; nothing has changed then, and the caller allocates
    ///   between shut() and open(), which name the thread that is inside.
    [[nodiscard]] [[gnu::always_inline]] bool allocate_alone(std::size_t size, alignment align,
                                                             void*& block) noexcept {
        const std::uintptr_t p = top_;
        const std::uintptr_t gate = gate_;
        const std::uintptr_t top = p + round_up(size, bump_granule);
        const bool fits = size < colour_page && align <= bump_granule && top <= gate;
        if (!fits || !take(gate)) [[unlikely]] { return false; }
        top_ = top;
#    if CAIRN_DETAIL_ASAN
        unpoison(reinterpret_cast<void*>(p), size);
#    endif
        block = reinterpret_cast<void*>(p);
        return true;
    }

    /// The same for freeing the last block.
    [[nodiscard]] [[gnu::always_inline]] bool deallocate_alone(void* p, std::size_t size) noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        const std::uintptr_t top = address + round_up(size, bump_granule);
        const std::uintptr_t gate = gate_;  // nothing lies below it when it is shut
        const bool is_last_block = top == top_ && address >= begin_ && address < top;
        if (!is_last_block || top > gate || !take(gate)) [[unlikely]] { return false; }
        if (top > peak_) [[unlikely]] { peak_ = top; }
        top_ = address;
#    if CAIRN_DETAIL_ASAN
        poison(p, top - address);
#    endif
        return true;
    }

    /// The same for a rewind.
    [[nodiscard]] [[gnu::always_inline]] bool rewind_alone(std::uintptr_t to) noexcept {
        const std::uintptr_t top = top_;
        const std::uintptr_t gate = gate_;
        const bool is_live = to >= begin_ && to <= top;
        if (!is_live || top >= gate || !take(gate)) [[unlikely]] { return false; }
        if (top > peak_) { peak_ = top; }
        top_ = to;
#    if CAIRN_DETAIL_ASAN
        poison(reinterpret_cast<void*>(to), top - to);
#    endif
        return true;
    }

    /// From here to open() the hot paths above turn every thread away.
    /// Returns: false when another thread is in one of them.
    [[nodiscard]] bool shut() noexcept {
        gate_.set_now(0);
        return top_.now() % 2 == 0;
    }
    void open() noexcept {
#    if CAIRN_DETAIL_VALGRIND
        if (poison_is_seen()) { return; }
#    endif
        gate_.set_now(end_ + 1);
    }
#endif

protected:
#if CAIRN_ASSERTS
    /// Returns: false when another thread took it, too; shut() sees that.
    [[nodiscard]] bool take(std::uintptr_t gate) noexcept {
        top_.set_now(gate);
        if (top_.now() == gate) [[likely]] { return true; }
        top_.set_now(gate);
        return false;
    }
#endif

    void raise_peak() noexcept { peak_ = top_ > peak_ ? top_ : peak_; }

    // An empty region sits at an address that no memory has: size 0 has a non-null answer, at every
    // alignment, and no block of a size that anything could have ends there when it begins at 0.
    static constexpr std::uintptr_t nowhere = std::uintptr_t{1} << (sizeof(void*) * 8 - 1);
    edge top_ = nowhere;
    edge end_ = nowhere;
    edge begin_ = nowhere;
    edge peak_ = nowhere;  // highest top_ at any retreat
#if CAIRN_ASSERTS
    edge gate_ = 0;  // end_ + 1, or 0: shut
#endif
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
