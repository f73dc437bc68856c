// cairn/alloc/concurrent_pool/magazines.hpp - what a thread holds of a pool: two magazines.
//
//   thread A's cache               depot: a bin, one lock              thread B's cache
//   +---------------+     full:  [####]->[####]                         +---------------+
//   | loaded  [##..]|     empty: [....]->[....]                         | loaded  [#...]|
//   | spare   [####]|     chunks with free slots, a bit for each slot   | spare   [....]|
//   +---------------+                                                   +---------------+
//
// A magazine is a batch of slot_bin.hpp: an array of pointers to free slots. A thread allocates
// from and frees into its loaded magazine without any atomic. When that runs out it takes its
// spare; when that does not help either, one whole magazine goes to the depot and one comes back: a
// lock for magazine_size slots, and a loop that frees one more than it allocates cannot bounce
// between them, because a full and an empty magazine are both at hand after an exchange (Bonwick
// and Adams 2001). No slot is copied then. Where no full magazine waits, an empty one is filled
// from a chunk.
//
// Invariants (proved by tests/alloc/magazines_test.cpp for two and three threads of a few
// operations each, over all interleavings with at most two to four preemptions):
//   - a slot is live, in exactly one magazine, or free by its bit;
//   - each cache has two magazines; its spare is entirely full or entirely empty;
//   - the depot has a magazine of its own for every magazine_size slots: a thread that returns
//     slots finds an empty one.
#pragma once

#include <cstddef>

#include <cairn/alloc/concurrent_pool/slot_states.hpp>
#include <cairn/alloc/inside/slot_bin.hpp>
#include <cairn/alloc/inside/thread_caches.hpp>
#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

struct magazine_orders {
    // A spare is given and taken at once: release the old content, acquire the new one's. (All else
    // goes through the lock of the depot.) magazines_test.cpp shows that both are needed.
    static constexpr auto swap_spare = memory_order::acq_rel;
};

/// Only its owner touches anything but `spare`.
template <class Atoms>
struct basic_magazines {
    using magazine = basic_slot_batch<Atoms>;
    using slot = typename magazine::slot;

    slot* top = nullptr;      // one past the last free slot of the loaded magazine
    slot* floor = nullptr;    // its begin
    slot* ceiling = nullptr;  // its end
    magazine* loaded = nullptr;
    std::size_t depot_operations = 0;
    alignas(cache_line_size) typename Atoms::template atomic<magazine*> spare{nullptr};

    void load(magazine* m, unsigned magazine_size) noexcept {
        loaded = m;
        floor = m->first_slot;
        top = floor + static_cast<unsigned>(m->count);
        ceiling = floor + magazine_size;
    }
    void unload() noexcept { loaded->count = static_cast<unsigned>(top - floor); }
};

/// Moves magazines between threads and the depot of their pool.
template <class Atoms, class Lock, class Orders = magazine_orders>
class basic_magazine_depot : public basic_slot_bin<Atoms, Lock> {
public:
    using magazine = basic_slot_batch<Atoms>;
    using cache = basic_magazines<Atoms>;

    explicit basic_magazine_depot(unsigned magazine_size) noexcept
        : magazine_size_{magazine_size} {}
    /// Slots.
    [[nodiscard]] unsigned magazine_size() const noexcept { return magazine_size_; }

    /// Fills `c`, whose loaded magazine is empty, from its spare, the depot or a chunk.
    /// Returns: false, with both magazines empty, when none has a slot.
    bool refill(cache& c) noexcept {
        c.unload();
        magazine* m = c.spare.exchange(c.loaded, Orders::swap_spare);
        if (m->count == 0) {
            ++c.depot_operations;
            m = &this->exchange_for_full(*m, magazine_size_);
        }
        c.load(m, magazine_size_);
        return c.top != c.floor;
    }

    /// Empties `c`, whose loaded magazine is full, into its spare or the depot. Never fails.
    template <class Place>
    void drain_cache(cache& c, Place&& place) noexcept {
        c.unload();
        magazine* m = c.spare.exchange(c.loaded, Orders::swap_spare);
        if (m->count != 0) {
            ++c.depot_operations;
            m = &leave(*m, place);
        }
        c.load(m, magazine_size_);
    }

    /// Both magazines of `c` are empty then. Their slots are in the depot, or all in chunks.
    template <class Place>
    void pour_out(cache& c, bool into_chunks, Place&& place) noexcept {
        // First the loaded magazine, then the spare, which changes places with it.
        for (int magazine_number = 0; magazine_number < 2; ++magazine_number) {
            c.unload();
            magazine* m = c.loaded;
            if (m->count == magazine_size_ && !into_chunks) {
                m = &leave(*m, place);
            } else {
                this->give_all(*m, place);
            }
            // By exchange: another thread may be stealing this spare, and leaves an empty one.
            c.load(c.spare.exchange(m, Orders::swap_spare), magazine_size_);
        }
    }

    /// Takes the spare of `victim` for `mine`, which is empty. Returns: true when it has slots.
    static bool steal(magazine*& mine, cache& victim) noexcept {
        mine = victim.spare.exchange(mine, Orders::swap_spare);
        return mine->count != 0;
    }

private:
    /// Leaves `m` in the depot. Returns: an empty one.
    template <class Place>
    magazine& leave(magazine& m, Place&& place) noexcept {
        if (magazine* const empty = this->exchange_for_empty(m)) { return *empty; }
        this->give_all(m, place);
        return m;
    }

    unsigned magazine_size_;
};

using magazine_depot = basic_magazine_depot<std_atoms, mutex>;

/// What one thread or view holds of one pool.
struct pool_cache : thread_cache, basic_magazines<std_atoms> {
    [[CAIRN_NO_UNIQUE_ADDRESS]] chunk_lookup seen{};
};

using pool_caches = cache_table<32>;
#if CAIRN_SHARED
extern constinit thread_local pool_caches my_pool_caches;
#else  // defined where it is used: the compiler then knows its offset from the thread pointer
CAIRN_DETAIL_MODULE_LOCAL inline constinit thread_local pool_caches my_pool_caches{};
#endif

/// Stand for "no cache": empty and full at once, so that every operation takes the cold path. Known
/// by their content: their addresses differ from module to module.
// of a thread: it looks for its own there
CAIRN_DETAIL_MODULE_LOCAL inline constinit pool_cache no_cache{};
// of a view: it works through the lock, and stays so
CAIRN_DETAIL_MODULE_LOCAL inline constinit pool_cache no_view{{.is_view = true}, {}, {}};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
