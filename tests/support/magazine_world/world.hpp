// tests/support/magazine_world/world.hpp - a depot small enough to see all of it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <cairn/alloc/concurrent_pool/magazines.hpp>

#include "support/explorer.hpp"

namespace magazine_world {

using explorer::require;

inline constexpr std::size_t slots_max = 8;
inline constexpr std::size_t magazines_max = 16;

using magazine = cairn::detail::basic_magazine<explorer::atoms>;
using cache = cairn::detail::basic_cache<explorer::atoms>;
using fresh_chunk = cairn::detail::basic_fresh_chunk<explorer::atoms>;

/// A pool of at most 8 one-byte slots, two magazines for each of 3 caches, and an owner for each
/// slot.
template <class Orders>
struct world {
    using depot_type = cairn::detail::basic_depot<explorer::atoms, Orders>;

    world(std::size_t magazine_size, std::size_t slot_count, int cache_count)
        : depot{magazine_size} {
        depot.magazines().move_to(entries.data());
        for (std::size_t i = 0; i < slot_count / magazine_size + 1; ++i) {
            depot.add(fresh_magazine());
        }
        for (int i = 0; i < cache_count; ++i) { equip(caches[static_cast<std::size_t>(i)]); }
        if (slot_count != 0) { add_chunk(slot_count); }
    }
    magazine& fresh_magazine() {
        const std::size_t i = depot.magazines().size();
        all[i].first_slot = pointers.data() + 2 * i;
        depot.magazines().append(all[i]);
        return all[i];
    }
    void add_chunk(std::size_t slot_count) {
        fresh_chunk& f = chunks[chunk_count++];
        f.first = memory.data() + total;
        f.slot_count = slot_count;
        total += slot_count;
        depot.untouched().append(f);
    }
    /// As concurrent_pool::grow(), a slot at a time.
    bool grow(std::size_t seen) {
        grow_lock.lock();
        const bool somebody_did = depot.untouched().slot_count() != seen;
        const bool may = somebody_did || total < slots_limit;
        if (may && !somebody_did) {
            depot.add(fresh_magazine());
            add_chunk(1);
        }
        grow_lock.unlock();
        return may;
    }
    void equip(cache& c) {
        c.load(&fresh_magazine(), depot.magazine_size());
        c.spare.store(&fresh_magazine(), cairn::detail::memory_order::relaxed);
        depot.enlist(c);
    }

    std::byte* allocate(cache& c) {
        if (c.top == c.floor && !depot.fill(c, 1, [this](std::size_t seen) {
                return slots_limit != 0 && grow(seen);
            })) {
            return nullptr;
        }
        auto* const p = static_cast<std::byte*>(static_cast<void*>(*--c.top));
        require(p >= memory.data() && p < memory.data() + slots_max, "a slot is a slot");
        // Plain: two owners at once are a data race, and so is an owner who did not see the last
        // one leave.
        owned[static_cast<std::size_t>(p - memory.data())] = 1;
        return p;
    }
    void deallocate(cache& c, std::byte* p) {
        owned[static_cast<std::size_t>(p - memory.data())] = 0;
        if (c.top == c.ceiling) { depot.drain(c); }
        *c.top++ = p;
    }
    /// Each magazine is in the depot or one of a cache's two. (Run at the end.)
    void expect_magazines_in_place(std::size_t cache_count) {
        std::size_t count = 2 * cache_count;
        depot.for_each_magazine([&](magazine& m) {
            require(!m.found, "a magazine is in one place");
            m.found = true;
            ++count;
        });
        require(count == depot.magazines().size(), "no magazine is lost");
    }
    /// Everything can be allocated again, once, by one cache. (Run at the end.)
    void expect_all_there(cache& c, std::size_t live, std::size_t hoarded_max) {
        std::array<bool, slots_max> seen{};
        std::size_t count = 0;
        while (std::byte* const p = allocate(c)) {
            bool& s = seen[static_cast<std::size_t>(p - memory.data())];
            require(!s, "a slot is given out once");
            if (s) { return; }  // it goes round in circles
            s = true;
            ++count;
        }
        require(count + live + hoarded_max >= total, "no slot is lost");
        require(count + live <= total, "no slot appears");
    }

    std::array<magazine, magazines_max> all;
    std::array<typename depot_type::table::entry, magazines_max> entries;
    std::array<typename depot_type::table::entry, magazines_max> more_entries;
    std::array<magazine::slot, 2 * magazines_max> pointers;
    std::array<std::byte, slots_max> memory;
    std::array<explorer::plain<int>, slots_max> owned;
    std::array<cache, 3> caches;
    std::array<fresh_chunk, 4> chunks;
    std::size_t chunk_count = 0;
    std::size_t total = 0;        // slots in all chunks
    std::size_t slots_limit = 0;  // how far it may grow; 0: not at all
    explorer::mutex grow_lock;
    depot_type depot;
};

}  // namespace magazine_world
