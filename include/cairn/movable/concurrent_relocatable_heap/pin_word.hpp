// cairn/movable/concurrent_relocatable_heap/pin_word.hpp - readers and one mover of one object.
//
//      63          33  32        31            0
//      +-------------+---------+---------------+
//      | generation  | moving  |     pins      |    one word an object, beside its address
//      +-------------+---------+---------------+
//
//      reader   enter   pins + 1, if the generation is the handle's and it is not being moved
//               leave   pins - 1
//      mover    close   moving, if there are no pins;  copy;  open: a new address, moving off
//      owner    begin   a generation: the object lives;  end: none, if there are no pins
//
// One word answers all three questions at once (the same life? moving? held?), so a reader never
// touches the word of an object that is not the one it has a handle for, and mover and reader
// cannot both succeed: each changes the word only from a value in which the other is not there.
//
// Waiting: a reader that comes during a move waits until that object is copied. The mover and the
// owner never wait: they skip pinned objects.
//
// Every order stands in pin_word_orders with its reason; tests/movable/pin_word_test.cpp runs the
// interleavings with a few preemptions, and finds a failing one when any of them is weakened.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct pin_word_orders {
    // Acquire: the reader sees the address and the bytes that begin() or open() released. Changes
    // by other readers in between are read-modify-writes, so they belong to that release sequence.
    static constexpr auto enter = memory_order::acquire;
    // Release: the reader's accesses come before the move (or the end) that follows.
    static constexpr auto leave = memory_order::release;
    // Acquire, the other end of leave: several readers' leaves are one release sequence.
    static constexpr auto close = memory_order::acquire;
    // Release: the copy and the new address come before the word that lets readers in again.
    static constexpr auto open = memory_order::release;
    // Release: a new object's bytes and address.
    static constexpr auto begin = memory_order::release;
    // Acquire, as close: readers are done before the memory is used for something else.
    static constexpr auto end = memory_order::acquire;
    // Relaxed where a look decides only whether to try: the exchange decides again.
    static constexpr auto look = memory_order::relaxed;

    // The moving bit is set by the exchange that finds no pins, not after it.
    static constexpr bool closes_at_once = true;
};

enum class enter_result : std::uint8_t { entered, stale, busy };

template <class Atoms, class Orders = pin_word_orders>
class basic_pin_word {
public:
    /// Any thread. busy: it is being moved; try again.
    [[nodiscard]] enter_result try_enter(std::uint32_t generation) noexcept {
        std::uint64_t seen = word_.load(Orders::look);
        while (true) {
            if (generation_in(seen) != generation) { return enter_result::stale; }
            if ((seen & moving) != 0) { return enter_result::busy; }
            if (word_.compare_exchange_weak(seen, seen + 1, Orders::enter, Orders::look)) {
                return enter_result::entered;
            }
        }
    }
    /// Where the object is. Requires: entered, and not left.
    [[nodiscard]] std::byte* address() const noexcept { return address_; }
    void leave() noexcept { word_.fetch_sub(1, Orders::leave); }

    /// The mover, and owner of the heap: one thread at a time.
    [[nodiscard]] bool close() noexcept {
        std::uint64_t seen = word_.load(Orders::look);
        if ((seen & pins) != 0) { return false; }
        if constexpr (Orders::closes_at_once) {
            return word_.compare_exchange_strong(seen, seen | moving, Orders::close, Orders::look);
        } else {  // what must not be done, for the test
            word_.store(seen | moving, Orders::begin);
            return true;
        }
    }
    void open(std::byte* address) noexcept {
        address_ = address;
        // A plain store is enough: while the bit is set no other thread writes the word.
        word_.store(word_.load(Orders::look) & ~moving, Orders::open);
    }

    /// The object lives. Requires: none did. `generation` is not 0.
    void begin(std::uint32_t generation, std::byte* address) noexcept {
        address_ = address;
        word_.store(std::uint64_t{generation} << 33, Orders::begin);
    }
    /// Its life ends, unless a reader holds it.
    [[nodiscard]] bool end() noexcept {
        std::uint64_t seen = word_.load(Orders::look);
        if ((seen & pins) != 0) { return false; }
        return word_.compare_exchange_strong(seen, 0, Orders::end, Orders::look);
    }

    [[nodiscard]] bool is_pinned() const noexcept { return (word_.load(Orders::look) & pins) != 0; }

private:
    static constexpr std::uint64_t pins = 0xFFFF'FFFF;
    static constexpr std::uint64_t moving = std::uint64_t{1} << 32;

    [[nodiscard]] static std::uint32_t generation_in(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word >> 33);
    }

    typename Atoms::template atomic<std::uint64_t> word_{0};
    typename Atoms::template plain<std::byte*> address_{nullptr};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
