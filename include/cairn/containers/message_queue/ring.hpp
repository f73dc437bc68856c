// cairn/containers/message_queue/ring.hpp - the cells of a message_queue, and the proof of their
// turns.
//
//      position      p = tail                      the next one to be pushed
//                    p = head                      the next one to be popped
//      cells[p % n]  turn == p                     free, for the push of position p
//                    turn == p + 1                 holds the message of position p
//                    turn == p + n                 free again: for the push of position p + n
//
// A thread claims a position by moving head or tail past it, then works in the cell alone, then
// hands the cell on by its turn. The turn is stored after the message (release) and loaded before
// it (acquire), so messages need no atomics. Positions only say who works where: relaxed.
//
// Proved by: tests/containers/message_queue_orders_test.cpp, for every interleaving and every value
//            that the memory model lets a load return, within its bounds; and each order is needed.
// Source:    D. Vyukov, "Bounded MPMC queue", 1024cores.net, 2010.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/atoms.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The reason for each memory order.
struct message_orders {
    // Acquire: the message that the pusher wrote is there; the popper has left the cell.
    static constexpr auto look = memory_order::acquire;
    // Release, the other end: the message is written, or read, before the cell is handed on.
    static constexpr auto publish = memory_order::release;
    static constexpr auto vacate = memory_order::release;
    // Relaxed: a position is a number. The exchange makes sure that one thread has it.
    static constexpr auto position = memory_order::relaxed;
    // A position is claimed by comparing: two threads never work in one cell.
    static constexpr bool claims_at_once = true;
};

template <class T, class Atoms = std_atoms, class Orders = message_orders>
class message_ring {
public:
    using word = typename Atoms::template atomic<std::size_t>;
    struct cell {
        word turn{std::size_t{0}};
        typename Atoms::template plain<T> message{};
    };

    /// Goes on in `cells`, `count` of them. Requires: count is a power of two, 2 at least; no
    /// thread uses the ring.
    void start(cell* cells, std::size_t count) noexcept {
        cells_ = cells;
        mask_ = count - 1;
        for (std::size_t i = 0; i != count; ++i) { cells[i].turn.store(i, Orders::position); }
    }

    [[nodiscard]] bool try_push(T message) noexcept {
        std::size_t position = tail_.load(Orders::position);
        for (;;) {
            cell& c = cells_[position & mask_];
            const std::size_t turn = c.turn.load(Orders::look);
            if (turn == position) {
                if (claim(tail_, position)) {
                    c.message = message;
                    c.turn.store(position + 1, Orders::publish);
                    return true;
                }
            } else if (is_before(turn, position)) {
                return false;  // the message of one round earlier is still in it
            } else {
                position = tail_.load(Orders::position);
            }
        }
    }

    [[nodiscard]] bool try_pop(T& message) noexcept {
        std::size_t position = head_.load(Orders::position);
        for (;;) {
            cell& c = cells_[position & mask_];
            const std::size_t turn = c.turn.load(Orders::look);
            if (turn == position + 1) {
                if (claim(head_, position)) {
                    message = c.message;
                    c.turn.store(position + mask_ + 1, Orders::vacate);
                    return true;
                }
            } else if (is_before(turn, position + 1)) {
                return false;  // its message is not there yet
            } else {
                position = head_.load(Orders::position);
            }
        }
    }

    /// Messages, as of some moment while it looks; exact while no thread pushes or pops.
    [[nodiscard]] std::size_t count() const noexcept {
        const std::size_t head = head_.load(Orders::position);
        const std::size_t tail = tail_.load(Orders::position);
        return is_before(tail, head) ? 0 : tail - head;
    }

private:
    /// Positions wrap around; a difference above half of the range is negative.
    [[nodiscard]] static bool is_before(std::size_t a, std::size_t b) noexcept {
        return static_cast<std::ptrdiff_t>(a - b) < 0;
    }
    /// Moves `end` past `position`. Returns: false when another thread did, `position` is new then.
    [[nodiscard]] static bool claim(word& end, std::size_t& position) noexcept {
        if constexpr (Orders::claims_at_once) {
            return end.compare_exchange_weak(position, position + 1, Orders::position,
                                             Orders::position);
        } else {
            end.store(position + 1, Orders::position);
            return true;
        }
    }

    // One line each: producers write tail_, consumers head_, and all read the first two.
    alignas(cache_line_size) cell* cells_ = nullptr;
    std::size_t mask_ = 0;                                // cells - 1
    alignas(cache_line_size) word tail_{std::size_t{0}};  // position of the next push
    alignas(cache_line_size) word head_{std::size_t{0}};  // position of the next pop
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
