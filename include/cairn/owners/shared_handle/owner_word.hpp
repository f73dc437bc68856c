// cairn/owners/shared_handle/owner_word.hpp - owners and handles in any thread.
//
//      63                    32 31                     0
//      +-----------------------+-----------------------+
//      |  generation           |  owners               |      one word an object, in its store
//      +-----------------------+-----------------------+
//
//      lock   owners + 1, if the generation is the handle's and there is an owner
//      drop   owners - 1; the last one puts the object on the list of the ended
//      begin  the store's thread: a new life of the slot, with one owner
//
// One word answers both questions at once (the same life? is it owned?), so no thread becomes an
// owner of another life of the slot, and none of an object whose last owner has gone.
//
// Every order stands in owner_orders with its reason; tests/owners/owner_word_test.cpp runs the
// interleavings, and finds a failing one when any of them is weakened.
#pragma once

#include <cstdint>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/atoms.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct owner_orders {
    // Release: the object was built before. Who got its handle by relaxed means finds it built.
    static constexpr auto begin = memory_order::release;
    // Acquire: the other end of begin. Changes by owners in between are read-modify-writes, so they
    // belong to that release sequence.
    static constexpr auto lock = memory_order::acquire;
    // Relaxed: a copy is made from an owner, which keeps the object.
    static constexpr auto add = memory_order::relaxed;
    // Release: all uses by this owner come before the end. Acquire: the last one hands the others'
    // uses on, to the thread that collects.
    static constexpr auto drop = memory_order::acq_rel;
    // Release and acquire: the link, and all uses, come before the object is erased.
    static constexpr auto push = memory_order::release;
    static constexpr auto take = memory_order::acquire;
    // Relaxed where a look decides only whether to try: the exchange decides again.
    static constexpr auto look = memory_order::relaxed;

    // The owner is added by the exchange that found the generation, not after it.
    static constexpr bool locks_at_once = true;
};

template <class Atoms, class Orders = owner_orders>
class basic_owner_word {
public:
    /// A new life, with one owner. Requires: no owner is left. `generation` is not 0.
    void begin(std::uint32_t generation) noexcept {
        word_.store(std::uint64_t{generation} << 32 | 1, Orders::begin);
    }
    /// Any thread that has an owner.
    void add() noexcept { word_.fetch_add(1, Orders::add); }
    /// The same. Returns: true when it was the last one.
    [[nodiscard]] bool drop() noexcept { return owners_in(word_.fetch_sub(1, Orders::drop)) == 1; }
    /// Any thread. Returns: true when it is an owner now.
    [[nodiscard]] bool try_lock(std::uint32_t generation) noexcept {
        std::uint64_t seen = word_.load(Orders::look);
        while (generation_in(seen) == generation && owners_in(seen) != 0) {
            if constexpr (Orders::locks_at_once) {
                if (word_.compare_exchange_weak(seen, seen + 1, Orders::lock, Orders::look)) {
                    return true;
                }
            } else {  // what must not be done, for the test
                word_.fetch_add(1, Orders::lock);
                return true;
            }
        }
        return false;
    }
    /// Any thread: how many owners that life has, or had a moment ago.
    [[nodiscard]] std::uint32_t owners(std::uint32_t generation) const noexcept {
        const std::uint64_t seen = word_.load(Orders::look);
        return generation_in(seen) == generation ? owners_in(seen) : 0;
    }
    /// Of the life that began last. The store's thread.
    [[nodiscard]] std::uint32_t generation() const noexcept {
        return generation_in(word_.load(Orders::look));
    }

private:
    [[nodiscard]] static std::uint32_t generation_in(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word >> 32);
    }
    [[nodiscard]] static std::uint32_t owners_in(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word);
    }

    typename Atoms::template atomic<std::uint64_t> word_{0};
};

/// Objects that have lost their last owner, by number from 1 on; 0 is none.
template <class Atoms, class Orders = owner_orders>
class basic_ended_list {
public:
    /// Any thread. `next` is the link of object `number`.
    template <class Next>
    void push(std::uint32_t number, Next& next) noexcept {
        std::uint32_t head = head_.load(Orders::look);
        do {
            next = head;
        } while (!head_.compare_exchange_weak(head, number, Orders::push, Orders::look));
    }
    /// The thread that collects: all of them, linked; the list is empty from now on.
    [[nodiscard]] std::uint32_t take() noexcept { return head_.exchange(0, Orders::take); }

private:
    typename Atoms::template atomic<std::uint32_t> head_{0};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
