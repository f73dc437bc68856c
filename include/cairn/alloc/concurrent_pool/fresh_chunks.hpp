// cairn/alloc/concurrent_pool/fresh_chunks.hpp - untouched slots, claimed a magazine at a time,
// without a lock.
//
//      first_ --> chunk --------> chunk --------> chunk          hint_ --> where to begin looking
//                 claimed: all    claimed: 128    claimed: 0
//
// A counter in each chunk says how far it has been handed out. One thread at a time appends chunks;
// any number claims.
//
// Used by: magazines.hpp; the orders are in magazine_stack.hpp.
#pragma once

#include <cstddef>

#include <cairn/alloc/concurrent_pool/magazine_stack.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Atoms>
struct basic_fresh_chunk {
    typename Atoms::template plain<std::byte*> first{nullptr};
    typename Atoms::template plain<std::size_t> slot_count{std::size_t{0}};
    typename Atoms::template atomic<std::size_t> claimed{0};  // may overshoot slot_count
    typename Atoms::template atomic<basic_fresh_chunk*> next{nullptr};
};

template <class Atoms, class Orders>
class fresh_chunks {
public:
    using chunk = basic_fresh_chunk<Atoms>;

    /// Slots of some chunk: `count` from slot `begin`; none when count is 0.
    struct claim {
        std::byte* first;  // of the chunk
        std::size_t begin;
        std::size_t count;
    };

    [[nodiscard]] chunk* first() const noexcept { return first_.load(Orders::follow_chunk); }

    /// Slots in all chunks, claimed or not.
    [[nodiscard]] std::size_t slot_count() const noexcept {
        return slot_count_.load(Orders::follow_count);
    }

    /// One thread at a time. A chunk is there when the pointer to it is: one store, so a fork in
    /// the middle finds all of it or nothing.
    void append(chunk& f) noexcept {
        chunk* last = first();
        if (last == nullptr) {
            first_.store(&f, Orders::publish_chunk);
        } else {
            while (chunk* const next = last->next.load(Orders::follow_chunk)) { last = next; }
            last->next.store(&f, Orders::publish_chunk);
        }
        slot_count_.store(slot_count_.load(Orders::value_only) + f.slot_count,
                          Orders::publish_count);
    }

    /// Up to `count_max` slots that lie side by side and were never handed out.
    claim take(std::size_t count_max) noexcept {
        chunk* hint = hint_.load(Orders::follow_chunk);  // nullptr: begin at the first
        bool hint_is_current = true;
        for (chunk* f = hint != nullptr ? hint : first(); f != nullptr;) {
            const std::size_t begin = advance(*f, count_max);
            const std::size_t slot_count = f->slot_count;
            if (begin < slot_count) {
                const std::size_t left = slot_count - begin;
                return {f->first, begin, left < count_max ? left : count_max};
            }
            chunk* const next = f->next.load(Orders::follow_chunk);
            if (next != nullptr && hint_is_current) {
                // A hint: a thread that begins earlier finds used-up chunks and walks on. Release,
                // because those that begin here have not followed f->next themselves. It only ever
                // goes from a chunk to its next, so it never goes back.
                hint_is_current = hint_.compare_exchange_strong(hint, next, Orders::publish_chunk,
                                                                Orders::value_only);
                hint = next;
            }
            f = next;
        }
        return {nullptr, 0, 0};
    }

    /// Everything is untouched again. Requires: no other thread uses it.
    void restart() noexcept {
        for (chunk* f = first(); f != nullptr; f = f->next.load(Orders::value_only)) {
            f->claimed.store(0, Orders::value_only);
        }
        hint_.store(nullptr, Orders::value_only);
    }

    /// Counts again what append() counted, which may have been cut short. Requires: as restart().
    void recount() noexcept {
        std::size_t count = 0;
        for (chunk* f = first(); f != nullptr; f = f->next.load(Orders::value_only)) {
            count += f->slot_count;
        }
        slot_count_.store(count, Orders::value_only);
    }

private:
    std::size_t advance(chunk& f, std::size_t count) noexcept {
        // claimed   0 ........ slot_count ........ at most slot_count + threads * count
        // It never falls while others claim, and each addition names a range of its own.
        const std::size_t seen = f.claimed.load(Orders::value_only);
        if (seen >= f.slot_count) {
            return seen;  // keeps the counter from running on when many ask in vain
        }
        if constexpr (Orders::claims_at_once) {
            return f.claimed.fetch_add(count, Orders::value_only);
        } else {
            f.claimed.store(seen + count, Orders::value_only);
            return seen;
        }
    }

    typename Atoms::template atomic<chunk*> hint_{nullptr};
    typename Atoms::template atomic<chunk*> first_{nullptr};
    typename Atoms::template atomic<std::size_t> slot_count_{std::size_t{0}};
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
