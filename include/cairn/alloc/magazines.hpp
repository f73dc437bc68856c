// cairn/alloc/magazines.hpp - the lock-free half of concurrent_pool: magazines and who holds them.
//
//   thread A's cache               depot                                thread B's cache
//   +---------------+     full:  (tag|7)->[m7 ####]->[m2 ####]          +---------------+
//   | loaded  [##..]|            (tag|0)                                | loaded  [#...]|
//   | spare   [####]|     empty: (tag|9)->[m9 ....]->[m4 ....]          | spare   [....]|
//   +---------------+     fresh: chunk -> chunk, a counter in each      +---------------+
//
// A magazine is an array of pointers to free slots. A thread allocates from and frees into its
// loaded magazine without any atomic. When that runs out it takes its spare; when that does not
// help either, one whole magazine goes to the depot and one comes back: two atomic operations for
// magazine_size slots, and a loop that frees one more than it allocates cannot bounce between them,
// because a full and an empty magazine are both at hand after an exchange (Bonwick and Adams 2001).
//
// Invariants (proved over all interleavings by tests/alloc/magazines_test.cpp):
//   - a slot is live, fresh, or in exactly one magazine, and a magazine is in exactly one place;
//   - each cache has two magazines; its spare is entirely full or entirely empty;
//   - the depot has a magazine of its own for every magazine_size slots: whoever returns slots
//     finds an empty one. (With k threads in the middle of returning, each holds two full ones and
//     an empty one: of n/M magazines at most n/M - 2k - 2 can be full in the depot.)
//
// The memory orders stand in magazine_orders, each with its reason; weakening any of them makes the
// explorer find an execution that loses a slot, hands one out twice or races.
//
// Atoms: where atomics and plain data come from: std_atoms here, the explorer's in the test.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>

namespace cairn::detail {

/// The real ones.
struct std_atoms {
    template <class T>
    using atomic = std::atomic<T>;
    template <class T>
    using plain = T;
};

/// Why each order is what it is. "The pusher" gives a magazine to the depot, "the popper" takes it.
struct magazine_orders {
    // Release: the slots and the count that the pusher wrote, and its `next` link, are visible to
    // whoever pops this magazine.
    static constexpr auto push = std::memory_order_release;
    // Acquire, the other end of it. Every write to a head is a read-modify-write, so the head's
    // value belongs to the release sequence of all earlier pushes: a pop sees those below too.
    static constexpr auto pop_look = std::memory_order_acquire;
    // Acquire for the same reason: when the exchange fails, its value is the next one looked at. (A
    // success has acquired when it looked; compilers want it no weaker than the failure.)
    static constexpr auto pop_exchange = std::memory_order_acquire;
    // A spare is given and taken at once: release what is in the old one, acquire the new one's.
    static constexpr auto swap_spare = std::memory_order_acq_rel;
    // Release: the fields of a new cache or chunk come before the pointer to it...
    static constexpr auto publish = std::memory_order_release;
    // ...and acquire: whoever follows the pointer sees them.
    static constexpr auto follow = std::memory_order_acquire;

    // Relaxed where only the value counts: `next` is validated by the exchange of the head (a stale
    // one comes with a stale tag), a push needs nothing from below, a successful pop has acquired
    // when it looked, and fresh slots carry no data.
    static constexpr auto value_only = std::memory_order_relaxed;

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
    slot* slots = nullptr;
};

/// What one thread (or one explicit view) holds. Only its owner touches anything but `spare`.
template <class Atoms>
struct basic_cache {
    using magazine = basic_magazine<Atoms>;
    using slot = typename magazine::slot;

    slot* top = nullptr;      // one past the last free slot of the loaded magazine
    slot* floor = nullptr;    // its begin
    slot* ceiling = nullptr;  // its end
    magazine* loaded = nullptr;
    std::size_t depot_operations = 0;
    typename Atoms::template plain<basic_cache*> next{nullptr};  // in the list of all caches
    alignas(cache_line_size) typename Atoms::template atomic<magazine*> spare{nullptr};

    void load(magazine* m, std::size_t magazine_size) noexcept {
        loaded = m;
        floor = m->slots;
        top = floor + static_cast<std::size_t>(m->count);
        ceiling = floor + magazine_size;
    }
    void unload() noexcept { loaded->count = static_cast<std::size_t>(top - floor); }
};

/// A stack of magazines: one word, an index and a tag that changes with every operation.
template <class Atoms, class Orders>
class magazine_stack {
public:
    using magazine = basic_magazine<Atoms>;

    void push(magazine& m) noexcept {
        std::uint64_t seen = head_.load(Orders::value_only);
        do {
            m.next.store(index_in(seen), Orders::value_only);
            // The tag is derived from the observed word, never from one remembered.
        } while (!head_.compare_exchange_weak(seen, changed(seen, m.index + 1), Orders::push,
                                              Orders::value_only));
    }

    /// `at(index)` finds a magazine. Returns: nullptr when there is none.
    template <class At>
    magazine* pop(const At& at) noexcept {
        std::uint64_t seen = head_.load(Orders::pop_look);
        while (index_in(seen) != 0) {
            magazine* const m = at(index_in(seen) - 1);
            const std::uint32_t below =
                m->next.load(Orders::value_only);  // perhaps stale: see above
            if (head_.compare_exchange_weak(seen, changed(seen, below), Orders::pop_exchange,
                                            Orders::pop_exchange)) {
                return m;
            }
        }
        return nullptr;
    }

    /// Requires: nobody else uses the stack.
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

/// Untouched slots of one chunk, claimed a magazine at a time.
template <class Atoms>
struct basic_fresh_chunk {
    typename Atoms::template plain<std::byte*> first{nullptr};
    typename Atoms::template plain<std::size_t> slot_count{std::size_t{0}};
    typename Atoms::template atomic<std::size_t> claimed{0};  // may overshoot slot_count
    typename Atoms::template atomic<basic_fresh_chunk*> next{nullptr};
};

/// Moves magazines between caches and the depot. `At` finds a magazine by its index.
template <class Atoms, class At, class Orders = magazine_orders>
class basic_depot {
public:
    using magazine = basic_magazine<Atoms>;
    using cache = basic_cache<Atoms>;
    using fresh_chunk = basic_fresh_chunk<Atoms>;
    static constexpr std::size_t magazine_count_max =
        (std::size_t{1} << magazine_stack<Atoms, Orders>::index_bits) - 1;

    basic_depot(std::size_t magazine_size, At at) noexcept
        : magazine_size_{magazine_size}, at_{at} {}

    /// An empty magazine more. Requires: nobody else has it.
    void add(magazine& m) noexcept { empty_.push(m); }

    /// Makes `c` visible to those who steal. Requires: two empty magazines in it. Calls are made by
    /// one thread at a time.
    void enlist(cache& c) noexcept {
        c.next = caches_.load(Orders::value_only);
        caches_.store(&c, Orders::publish);
    }
    [[nodiscard]] cache* first_cache() const noexcept { return caches_.load(Orders::follow); }

    /// A chunk of untouched slots more. Calls are made by one thread at a time.
    void add_fresh(fresh_chunk& f) noexcept {
        fresh_chunk* last = carving_.load(Orders::follow);
        if (last == nullptr) {
            carving_.store(&f, Orders::publish);
            return;
        }
        while (fresh_chunk* const next = last->next.load(Orders::follow)) { last = next; }
        last->next.store(&f, Orders::publish);
    }

    /// Fills `c`, whose loaded magazine is empty, from its spare or the depot.
    /// Returns: false, with both magazines empty, when neither has a slot.
    bool refill(cache& c) noexcept {
        c.unload();
        magazine* const m = c.spare.exchange(c.loaded, Orders::swap_spare);
        if (m->count != 0) {
            c.load(m, magazine_size_);
            return true;
        }
        ++c.depot_operations;
        magazine* const full = full_.pop(at_);
        if (full == nullptr) {
            c.load(m, magazine_size_);
            return false;
        }
        ++c.depot_operations;
        empty_.push(*m);
        c.load(full, magazine_size_);
        return true;
    }

    /// Empties `c`, whose loaded magazine is full, into its spare or the depot. Never fails.
    void drain(cache& c) noexcept {
        c.unload();
        magazine* const m = c.spare.exchange(c.loaded, Orders::swap_spare);
        if (m->count == 0) {
            c.load(m, magazine_size_);
            return;
        }
        c.depot_operations += 2;
        magazine* const empty = empty_.pop(at_);  // there is one: see the invariants
        full_.push(*m);
        c.load(empty, magazine_size_);
    }

    /// Fills `c`, whose loaded magazine is empty, with untouched slots, lowest address on top.
    /// Returns: false when there are none.
    bool carve(cache& c, std::size_t stride) noexcept {
        for (fresh_chunk* f = carving_.load(Orders::follow); f != nullptr;) {
            const std::size_t begin = claim(*f);
            const std::size_t slot_count = f->slot_count;
            if (begin < slot_count) {
                std::byte* const first = f->first;
                const std::size_t left = slot_count - begin;
                const std::size_t count = left < magazine_size_ ? left : magazine_size_;
                for (std::size_t i = count; i-- != 0;) { *c.top++ = first + (begin + i) * stride; }
                return true;
            }
            fresh_chunk* const next = f->next.load(Orders::follow);
            if (next != nullptr) {
                // A hint: whoever still starts at f finds it used up and walks on. Release, because
                // those who start here did not follow f->next themselves.
                fresh_chunk* expected = f;
                carving_.compare_exchange_strong(expected, next, Orders::publish,
                                                 Orders::value_only);
            }
            f = next;
        }
        return false;
    }

    /// Takes the spare of another cache for `c`, whose loaded magazine is empty; the victim gets
    /// that one in exchange. Returns: false when no other cache had a full spare.
    bool steal(cache& c) noexcept {
        for (cache* victim = first_cache(); victim != nullptr; victim = victim->next) {
            if (victim != &c) {
                c.unload();
                magazine* const m = victim->spare.exchange(c.loaded, Orders::swap_spare);
                c.load(m, magazine_size_);
                if (c.top != c.floor) { return true; }
            }
        }
        return false;
    }

    /// Requires: nobody else uses the depot. The magazines are the caller's then.
    void forget_magazines() noexcept {
        full_.forget();
        empty_.forget();
    }
    void restart_fresh(fresh_chunk* first) noexcept {
        for (fresh_chunk* f = first; f != nullptr; f = f->next.load(Orders::value_only)) {
            f->claimed.store(0, Orders::value_only);
        }
        carving_.store(first, Orders::value_only);
    }

    [[nodiscard]] std::size_t magazine_size() const noexcept { return magazine_size_; }

private:
    std::size_t claim(fresh_chunk& f) noexcept {
        const std::size_t seen = f.claimed.load(Orders::value_only);
        if (seen >= f.slot_count) {
            return seen;  // keeps the counter from running on when many ask in vain
        }
        if constexpr (Orders::claims_at_once) {
            return f.claimed.fetch_add(magazine_size_, Orders::value_only);
        } else {
            f.claimed.store(seen + magazine_size_, Orders::value_only);
            return seen;
        }
    }

    // Written by all threads, each on a line of its own.
    alignas(cache_line_size) magazine_stack<Atoms, Orders> full_;
    alignas(cache_line_size) magazine_stack<Atoms, Orders> empty_;
    alignas(cache_line_size) typename Atoms::template atomic<fresh_chunk*> carving_{nullptr};
    typename Atoms::template atomic<cache*> caches_{nullptr};
    std::size_t magazine_size_;
    At at_;
};

}  // namespace cairn::detail
