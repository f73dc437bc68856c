// cairn/alloc/concurrent_pool/magazines.hpp - the lock-free half of concurrent_pool: magazines and
// their holders.
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
// Invariants (proved by tests/alloc/magazines_test.cpp and its neighbours for two and three threads
// of a few operations each, over all interleavings with at most one to four preemptions):
//   - a slot is live, fresh, or in exactly one magazine, and a magazine is in exactly one place;
//   - each cache has two magazines; its spare is entirely full or entirely empty;
//   - the depot has a magazine of its own for every magazine_size slots: a thread that returns
//     slots finds an empty one. (With k threads in the middle of returning, each holds two full
//     ones and an empty one: of n/M magazines at most n/M - 2k - 2 can be full in the depot.)
//
// The memory orders stand in magazine_orders, each with its reason; weakening any of them makes the
// explorer find an execution that loses a slot, hands one out twice, refuses one or races.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cairn/alloc/concurrent_pool/fresh_chunks.hpp>
#include <cairn/alloc/concurrent_pool/magazine_stack.hpp>
#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

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
        floor = m->first_slot;
        top = floor + static_cast<std::size_t>(m->count);
        ceiling = floor + magazine_size;
    }
    void unload() noexcept { loaded->count = static_cast<std::size_t>(top - floor); }
};

/// Moves magazines between caches and the depot.
template <class Atoms, class Orders = magazine_orders>
class basic_depot {
public:
    using magazine = basic_magazine<Atoms>;
    using cache = basic_cache<Atoms>;
    using table = magazine_table<Atoms, Orders>;
    using fresh = fresh_chunks<Atoms, Orders>;
    static constexpr std::size_t magazine_count_max =
        (std::size_t{1} << magazine_stack<Atoms, Orders>::index_bits) - 1;

    explicit basic_depot(std::size_t magazine_size) noexcept : magazine_size_{magazine_size} {}

    /// All magazines there are, in caches or in the depot.
    [[nodiscard]] table& magazines() noexcept { return table_; }
    [[nodiscard]] const table& magazines() const noexcept { return table_; }
    /// Chunks of slots that were never handed out.
    [[nodiscard]] fresh& untouched() noexcept { return fresh_; }
    [[nodiscard]] const fresh& untouched() const noexcept { return fresh_; }

    /// An empty magazine more. Requires: it is in the table and in no cache or stack.
    void add(magazine& m) noexcept { empty_.push(m); }

    /// Makes `c` visible to those who steal. Requires: two empty magazines in it. Calls are made by
    /// one thread at a time.
    void enlist(cache& c) noexcept {
        c.next = caches_.load(Orders::value_only);
        caches_.store(&c, Orders::publish_cache);
    }
    [[nodiscard]] cache* first_cache() const noexcept { return caches_.load(Orders::follow_cache); }

    /// Gets slots into `c`, whose loaded magazine is empty: its own spare, the depot's, untouched
    /// ones, new ones (`grow(seen)` adds a chunk unless the slot count is no longer `seen`, and
    /// says false when it may not), and at last the spare of another cache.
    /// Returns: false, with both magazines empty, when there is nothing in reach.
    template <class Grow>
    bool fill(cache& c, std::size_t stride, Grow&& grow) noexcept {
        // Looked at before the search: grow() notices a thread that grows after this look.
        std::size_t seen = fresh_.slot_count();
        while (!refill(c) && !carve(c, stride)) {
            if (!grow(seen)) { return steal(c); }
            seen = fresh_.slot_count();
        }
        return true;
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
        magazine* const full = full_.pop(table_);
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
        magazine* const empty = empty_.pop(table_);  // there is one: see the invariants
        full_.push(*m);
        c.load(empty, magazine_size_);
    }

    /// Fills `c`, whose loaded magazine is empty, with untouched slots, lowest address on top.
    /// Returns: false when there are none.
    bool carve(cache& c, std::size_t stride) noexcept {
        const typename fresh::claim got = fresh_.take(magazine_size_);
        for (std::size_t i = got.count; i-- != 0;) {
            *c.top++ = got.first + (got.begin + i) * stride;
        }
        return got.count != 0;
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

    /// Requires: no other thread uses the depot. The magazines are the caller's then.
    void forget_magazines() noexcept {
        full_.forget();
        empty_.forget();
    }
    /// Calls f(magazine&) for each one in the depot. Requires: no other thread uses it.
    template <class F>
    void for_each_magazine(F&& f) const noexcept {
        full_.for_each(table_, f);
        empty_.for_each(table_, f);
    }

    [[nodiscard]] std::size_t magazine_size() const noexcept { return magazine_size_; }

private:
    // Written by all threads, each on a line of its own.
    alignas(cache_line_size) magazine_stack<Atoms, Orders> full_;
    alignas(cache_line_size) magazine_stack<Atoms, Orders> empty_;
    alignas(cache_line_size) fresh fresh_;
    // A list that only grows: caches are never taken out, so a thread may walk it at any time.
    typename Atoms::template atomic<cache*> caches_{nullptr};
    table table_;
    std::size_t magazine_size_;  // slots
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
