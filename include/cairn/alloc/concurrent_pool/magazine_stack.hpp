// cairn/alloc/concurrent_pool/magazine_stack.hpp - stacks of magazines that need no lock.
//
//      head: [ tag : 40 | index+1 : 24 ] --> m7 --> m2 --> none        links are indices, too
//
//      table: [ m0 | m1 | m2 | ... | m7 | ... ]       replaced by a larger copy when it is full
//
// One word holds the top and a tag that changes with every operation, so that a compare-exchange
// notices that the stack has changed even when the same magazine is on top again. Indices instead
// of pointers leave room for a tag that does not come round again during one nap.
//
// Used by: magazines.hpp, which has the proof. Atoms: see core/inside/atoms.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/core/inside/atomic.hpp>
#include <cairn/core/inside/atoms.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The reason for each order. "The pusher" gives a magazine to the depot, "the popper" takes it.
/// For each of them tests/alloc/magazine_orders_test.cpp has an execution that goes wrong without.
struct magazine_orders {
    // Release: the slots and the count that the pusher wrote, and its `next` link, are visible to
    // the thread that pops this magazine.
    static constexpr auto push = memory_order::release;
    // Acquire, the other end of it. Every write to a head is a read-modify-write, so the head's
    // value belongs to the release sequence of all earlier pushes: a pop sees those below too.
    static constexpr auto pop_look = memory_order::acquire;
    // Acquire for the same reason: when the exchange fails, its value is the next one looked at. (A
    // success has acquired when it looked; compilers want it no weaker than the failure.)
    static constexpr auto pop_exchange = memory_order::acquire;
    // A spare is given and taken at once: release the old content, acquire the new one's.
    static constexpr auto swap_spare = memory_order::acq_rel;
    // Release: the fields of a new cache come before the pointer to it...
    static constexpr auto publish_cache = memory_order::release;
    // ...and acquire: a thread that follows the pointer sees them.
    static constexpr auto follow_cache = memory_order::acquire;
    // Likewise for a new chunk of untouched slots, in whichever pointer it is met first.
    static constexpr auto publish_chunk = memory_order::release;
    static constexpr auto follow_chunk = memory_order::acquire;
    // Likewise for the entries of a larger table. (A thread that knows an index has acquired it
    // from a push, but the table may have been replaced since, by a thread it has not heard of.)
    static constexpr auto publish_table = memory_order::release;
    static constexpr auto follow_table = memory_order::acquire;
    // Release and acquire: a thread that has seen the pool grow finds the chunk. Otherwise it
    // would look for it in vain, believe that no other thread is growing, and be refused.
    static constexpr auto publish_count = memory_order::release;
    static constexpr auto follow_count = memory_order::acquire;

    // Relaxed where only the value counts: `next` is validated by the exchange of the head (a stale
    // one comes with a stale tag), a push needs nothing from below, a successful pop has acquired
    // when it looked, and fresh slots carry no data.
    static constexpr auto value_only = memory_order::relaxed;

    // Bits of a head word that count its changes: without them a popper that slept through pop A,
    // pop B, push A would install B, which is no longer there. 2^40 changes during one nap: a day.
    static constexpr unsigned tag_bits = 40;
    // Fresh slots are claimed by one indivisible addition.
    static constexpr bool claims_at_once = true;
};

template <class Atoms>
struct basic_magazine {
    using slot = typename Atoms::template plain<void*>;

    typename Atoms::template atomic<std::uint32_t> next{0};  // index + 1 of the one below; 0: none
    std::uint32_t index = 0;                                 // its place in the table
    typename Atoms::template plain<std::size_t> count{std::size_t{0}};  // slots, while not loaded
    slot* first_slot = nullptr;
    bool found = false;  // only in the child of a fork, which looks for magazines in their places
};

/// Magazines by index. It grows by being replaced; the thread that replaces it keeps the old one.
template <class Atoms, class Orders>
class magazine_table {
public:
    using magazine = basic_magazine<Atoms>;
    using entry = typename Atoms::template plain<magazine*>;

    [[nodiscard]] magazine& operator[](std::size_t index) const noexcept {
        return *static_cast<magazine*>(entries_.load(Orders::follow_table)[index]);
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Goes on in `larger`, which has room for more than size() entries. One thread at a time.
    void move_to(entry* larger) noexcept {
        const entry* const old = entries_.load(Orders::value_only);
        for (std::size_t i = 0; i != size_; ++i) { larger[i] = static_cast<magazine*>(old[i]); }
        entries_.store(larger, Orders::publish_table);
    }

    /// Gives `m` the next index. Requires: room. One thread at a time.
    void append(magazine& m) noexcept {
        m.index = static_cast<std::uint32_t>(size_);
        entries_.load(Orders::value_only)[size_] = &m;
        // A fork may come between any two instructions: counted entries exist. (No code.)
        signal_fence(memory_order::release);
        ++size_;
    }

private:
    typename Atoms::template atomic<entry*> entries_{nullptr};
    std::size_t size_ = 0;  // of the thread that appends
};

/// A stack of magazines: one word, an index and a tag that changes with every operation.
template <class Atoms, class Orders>
class magazine_stack {
public:
    using magazine = basic_magazine<Atoms>;
    using table = magazine_table<Atoms, Orders>;

    void push(magazine& m) noexcept {
        std::uint64_t seen = head_.load(Orders::value_only);
        do {
            m.next.store(index_in(seen), Orders::value_only);
            // The tag is derived from the observed word, never from one remembered.
        } while (!head_.compare_exchange_weak(seen, changed(seen, m.index + 1), Orders::push,
                                              Orders::value_only));
    }

    /// Returns: nullptr when there is none.
    magazine* pop(const table& all) noexcept {
        std::uint64_t seen = head_.load(Orders::pop_look);
        while (index_in(seen) != 0) {
            magazine& m = all[index_in(seen) - 1];
            const std::uint32_t below =
                m.next.load(Orders::value_only);  // perhaps stale: see above
            if (head_.compare_exchange_weak(seen, changed(seen, below), Orders::pop_exchange,
                                            Orders::pop_exchange)) {
                return &m;
            }
        }
        return nullptr;
    }

    /// Calls f(magazine&) from the top down. Requires: no other thread uses the stack.
    template <class F>
    void for_each(const table& all, F&& f) const noexcept {
        std::uint32_t next = index_in(head_.load(Orders::pop_look));
        while (next != 0) {
            magazine& m = all[next - 1];
            next = m.next.load(Orders::value_only);
            f(m);
        }
    }

    /// Requires: no other thread uses the stack.
    void forget() noexcept {
        head_.store(changed(head_.load(Orders::value_only), 0), Orders::value_only);
    }

    static constexpr unsigned index_bits = 24;
    static_assert(Orders::tag_bits + index_bits <= 64);

private:
    static std::uint32_t index_in(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << index_bits) - 1));
    }
    static std::uint64_t changed(std::uint64_t from, std::uint32_t to) noexcept {
        constexpr std::uint64_t tag_mask = ((std::uint64_t{1} << Orders::tag_bits) - 1)
                                           << index_bits;
        return ((from + (std::uint64_t{1} << index_bits)) & tag_mask) | to;
    }

    typename Atoms::template atomic<std::uint64_t> head_{0};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
