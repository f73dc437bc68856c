// cairn/alloc/inside/slot_bin.hpp - the free slots of one size that no thread has: whole batches of
// them, and the chunks in which they lie. A concurrent_heap has one for each class, a
// concurrent_pool one.
//
//      bin of 64-byte slots, one lock
//      batches   [60 slots]->[60 slots]              full ones; those of a pool have no bound
//      empty     [        ]->[        ]              of a pool: for slots that come back
//      chunks    chunk 7 <-> chunk 2                 those with free slots, a bit for each slot
//                 1101...     0001...
//
// A thread that runs out of slots takes a batch, or slots from the first chunk. One that has too
// many leaves a batch: it copies slots into one (heap), or leaves its own for an empty one (pool).
// Where batch_max of them wait, the slots go to their chunks, eight a call, so that no call does
// more. A chunk whose slots are all back leaves the bin of a heap and serves any class; a pool
// keeps it until trim(). The only chunk of a bin stays, so that pairs of calls do not take and
// return it.
//
// Free slots are not touched, here or in a thread: the bits stand in the record of the chunk, and
// batches are arrays of pointers. So a write into freed memory cannot lead the heap outside, and a
// slot that comes back while its bit is set was freed twice, which ends every build.
//
// Invariants (exhausted by tests/alloc/slot_bin_test.cpp for two and three threads of a few
// operations each, over all interleavings with a bounded number of preemptions):
//   - a slot is live, in one thread's stack, in one batch, or free by its bit: in one of these;
//   - a chunk is in the list of its bin exactly while some of its bits are set;
//   - no lock is held while a chunk is taken from, or given to, the units of the heap.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <cairn/core/alignment.hpp>
#include <cairn/core/inside/atoms.hpp>
#include <cairn/core/inside/compiler.hpp>
#include <cairn/core/inside/slot_numbers.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Slots on their way between a thread and its bin: room for them, and how many it has.
template <class Atoms>
struct basic_slot_batch {
    using slot = typename Atoms::template plain<void*>;

    typename Atoms::template plain<basic_slot_batch*> next{nullptr};
    typename Atoms::template plain<unsigned> count{0};
    slot* first_slot = nullptr;
};

/// What is known of the slots of one chunk. The bits are guarded by the lock of its bin.
template <class Atoms>
struct basic_slot_chunk {
    using word = typename Atoms::template plain<std::uint64_t>;

    std::byte* begin = nullptr;  // of the first slot; changed by the only owner of the chunk
    word* free_bits = nullptr;   // a bit for each slot
    slot_numbers number{1};      // of a slot, by its distance from the begin
    typename Atoms::template plain<basic_slot_chunk*> next{nullptr};
    typename Atoms::template plain<basic_slot_chunk*> previous{nullptr};
    typename Atoms::template plain<unsigned> free_count{0};
    typename Atoms::template plain<unsigned> first_word{0};  // all words before it are zero
    unsigned slot_class = 0;                                 // of a heap
    unsigned slot_count = 0;

    [[nodiscard]] static constexpr std::size_t word_count(std::size_t slot_count) noexcept {
        return (slot_count + 63) / 64;
    }

    /// All slots become free ones of `slot_size` bytes.
    /// Requires: no other thread knows the chunk; `bits` has a bit for each slot.
    void cut(std::size_t slot_size, unsigned count_of_slots, word* bits) noexcept {
        number = slot_numbers{slot_size};
        free_bits = bits;
        slot_count = count_of_slots;
        free_count = count_of_slots;
        first_word = 0u;
        next = nullptr;
        previous = nullptr;
        for (unsigned w = 0; w < word_count(count_of_slots); ++w) {
            CAIRN_DETAIL_STEP();
            const unsigned left = count_of_slots - w * 64;
            free_bits[w] = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
        }
    }

    /// Moves up to `count` free slots to `out`, lowest address first. Returns: how many.
    template <class Slot>
    unsigned take(Slot* out, unsigned count) noexcept {
        const std::size_t size = number.stride;
        unsigned taken = 0;
        unsigned w = first_word;
        for (; taken != count && w * 64 < slot_count; ++w) {
            std::uint64_t bits = free_bits[w];
            for (; bits != 0 && taken != count; bits &= bits - 1) {
                CAIRN_DETAIL_STEP();
                out[taken++] =
                    begin + (w * 64 + static_cast<unsigned>(std::countr_zero(bits))) * size;
            }
            free_bits[w] = bits;
            if (bits != 0) { break; }
        }
        first_word = w;
        free_count = free_count - taken;
        return taken;
    }

    /// The slot becomes free. Returns: false when it is free already, or no slot begins there.
    [[nodiscard]] bool give(const void* slot) noexcept {
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(slot) - begin);
        const auto i = static_cast<unsigned>(number.stride == 1 ? offset : number(offset));
        if (i >= slot_count || i * number.stride != offset) { return false; }
        const std::uint64_t bit = std::uint64_t{1} << i % 64;
        const std::uint64_t bits = free_bits[i / 64];
        if ((bits & bit) != 0) { return false; }
        free_bits[i / 64] = bits | bit;
        free_count = free_count + 1;
        if (i / 64 < first_word) { first_word = i / 64; }
        return true;
    }
};

/// What a bin asks of its heap: `place` has
///     chunk* find(void* slot)          the chunk in which a slot lies; nullptr: it has gone
///     chunk* take_chunk(unsigned c)    a chunk that was cut for class c; nullptr: refused
///     void release(chunk&)             all its slots are free; it serves any class
///     keeps_chunks                     true: chunks leave by take_empty() alone
///     batch* take_batch()              room for slots; nullptr: no memory
///     void give_batch(batch&)
///     void freed_twice(void* slot)     does not return; the bin is not locked
template <class Atoms, class Lock>
class basic_slot_bin {
public:
    using batch = basic_slot_batch<Atoms>;
    using chunk = basic_slot_chunk<Atoms>;
    /// Slots that one call gives back to chunks.
    static constexpr unsigned give_max = 8;

    /// Moves up to `count` free slots to `out`. Returns: how many; 0: the heap refuses a chunk.
    template <class Place>
    unsigned take(unsigned c, void** out, unsigned count, Place&& place) noexcept {
        unsigned taken = take_held(out, count, place);
        if (taken != 0) { return taken; }
        // Two threads may come here at once: then the bin has two chunks.
        if (chunk* const fresh = place.take_chunk(c)) {
            const lock_scope held{lock_};
            append(*fresh);
            return take_from_chunks(out, count);
        }
        return take_held(out, count, place);  // what came back meanwhile
    }

    /// Takes over slots from the end of `slots`. Returns: how many it took, at least one.
    /// Requires: count != 0, and a batch of `place` has room for that many.
    template <class Place>
    unsigned give(void** slot_array, unsigned count, unsigned batch_max, Place&& place) noexcept {
        // Looked at before slots are copied: a thread that frees for long finds the bin full.
        batch* const b = count > 1 && has_room(batch_max) ? place.take_batch() : nullptr;
        if (b != nullptr) {
            for (unsigned i = 0; i < count; ++i) {
                CAIRN_DETAIL_STEP();
                b->first_slot[i] = slot_array[i];
            }
            b->count = count;
            if (push(*b, batch_max)) { return count; }
            place.give_batch(*b);
        }
        const unsigned given = count < give_max ? count : give_max;
        give_to_chunks(slot_array + (count - given), given, place);
        return given;
    }

    /// Gives up to eight slots back to their chunks; `slots` are all of this bin's class.
    template <class Place>
    void give_to_chunks(void** slot_array, unsigned count, Place&& place) noexcept {
        chunk* of[give_max];
        chunk* empty[give_max];
        unsigned empty_count = 0;
        lock_.lock();
        for (unsigned i = 0; i < count; ++i) {
            of[i] = place.find(slot_array[i]);
            // The records of all slots arrive together, and the first words of their bits.
            compiler::prefetch_for_writing(of[i]);
            compiler::prefetch_for_writing(of[i] + 1);
        }
        for (unsigned i = 0; i < count; ++i) {
            CAIRN_DETAIL_STEP();
            if (give_one(of[i], slot_array[i], place)) { empty[empty_count++] = of[i]; }
        }
        lock_.unlock();
        for (unsigned i = 0; i < empty_count; ++i) { place.release(*empty[i]); }
    }

    /// Gives the slots of one waiting batch back to the chunks. Returns: false when none waits.
    template <class Place>
    bool drain(Place&& place) noexcept {
        lock_.lock();
        batch* const b = pop();
        lock_.unlock();
        if (b == nullptr) { return false; }
        give_all(*b, place);
        place.give_batch(*b);
        return true;
    }

    /// Gives the slots of a batch that the caller has back to the chunks.
    template <class Place>
    void give_all(batch& b, Place&& place) noexcept {
        while (b.count != 0) {
            void* slot_array[give_max];
            give_to_chunks(slot_array, take_from(b, slot_array, give_max), place);
        }
    }

    /// Releases the chunk that stayed although all its slots are free. Returns: false: none did.
    template <class Place>
    bool release_empty(Place&& place) noexcept {
        lock_.lock();
        chunk* const c = take_empty();
        lock_.unlock();
        if (c != nullptr) { place.release(*c); }
        return c != nullptr;
    }
    /// Returns: a chunk whose slots are all free, out of the list. Requires: the lock is held.
    chunk* take_empty() noexcept {
        chunk* c = first_;
        while (c != nullptr && c->free_count != c->slot_count) { c = c->next; }
        if (c != nullptr) { unlink(*c); }
        return c;
    }

    // ---------------------------------------------------------------- one batch for another: pools

    /// Fills `b`, which is empty, from a chunk, or gives a full one for it.
    /// Returns: the batch that the caller has now, empty when there are no slots.
    [[nodiscard]] batch& exchange_for_full(batch& b, unsigned room) noexcept {
        const lock_scope held{lock_};
        if (batch* const full = pop()) {
            push_empty(b);
            return *full;
        }
        const unsigned taken = take_from_chunks(b.first_slot, room);
        // The lowest address on top: given out first.
        for (unsigned i = 0; i < taken / 2; ++i) {
            CAIRN_DETAIL_STEP();
            void* const lower = b.first_slot[i];
            b.first_slot[i] = static_cast<void*>(b.first_slot[taken - 1 - i]);
            b.first_slot[taken - 1 - i] = lower;
        }
        b.count = taken;
        return b;
    }
    /// Takes `b` with its slots, and gives an empty one for it.
    /// Returns: nullptr when there is no empty one; `b` is the caller's still.
    [[nodiscard]] batch* exchange_for_empty(batch& b) noexcept {
        const lock_scope held{lock_};
        batch* const empty = empty_;
        if (empty == nullptr) { return nullptr; }
        empty_ = empty->next;
        push_full(b);
        return empty;
    }
    /// Requires, all: the lock is held.
    void push_full(batch& b) noexcept {
        b.next = static_cast<batch*>(batches_);
        batches_ = &b;
        batch_count_ = batch_count_ + 1;
    }
    void push_empty(batch& b) noexcept {
        b.next = static_cast<batch*>(empty_);
        empty_ = &b;
    }
    [[nodiscard]] batch* pop_empty() noexcept {
        batch* const b = empty_;
        if (b != nullptr) { empty_ = b->next; }
        return b;
    }
    void add_chunk(chunk& c) noexcept { append(c); }
    /// Waiting batches are empty ones, and no chunk is known.
    void forget_slots() noexcept {
        while (batch* const b = pop()) {
            b->count = 0u;
            push_empty(*b);
        }
        first_ = last_ = nullptr;
    }

    /// The lock, for those who look at several bins at once, and around fork().
    [[nodiscard]] Lock& lock() noexcept { return lock_; }
    /// Requires, both: the lock is held.
    [[nodiscard]] const chunk* first_chunk() const noexcept { return first_; }
    [[nodiscard]] const batch* first_batch() const noexcept { return batches_; }
    [[nodiscard]] unsigned batch_count() const noexcept { return batch_count_; }

private:
    batch* pop() noexcept {
        batch* const b = batches_;
        if (b != nullptr) {
            batches_ = b->next;
            batch_count_ = batch_count_ - 1;
        }
        return b;
    }
    bool has_room(unsigned batch_max) noexcept {
        const lock_scope held{lock_};
        return batch_count_ < batch_max;
    }
    bool push(batch& b, unsigned batch_max) noexcept {
        const lock_scope held{lock_};
        if (batch_count_ >= batch_max) { return false; }
        push_full(b);
        return true;
    }
    /// From the newest batch, or else from the chunks.
    template <class Place>
    unsigned take_held(void** out, unsigned count, Place&& place) noexcept {
        lock_.lock();
        batch* const b = batches_;
        const unsigned taken =
            b != nullptr ? take_from(*b, out, count) : take_from_chunks(out, count);
        batch* const emptied = b != nullptr && b->count == 0 ? pop() : nullptr;
        lock_.unlock();
        if (emptied != nullptr) { place.give_batch(*emptied); }
        return taken;
    }
    unsigned take_from(batch& b, void** out, unsigned count) noexcept {
        const unsigned all = b.count;
        const unsigned taken = count < all ? count : all;
        for (unsigned i = 0; i < taken; ++i) {
            CAIRN_DETAIL_STEP();
            out[i] = b.first_slot[all - taken + i];
        }
        b.count = all - taken;
        return taken;
    }
    // An untouched chunk is begun by a call of its own: then whole cache lines go to each thread.
    template <class Slot>
    unsigned take_from_chunks(Slot* out, unsigned count) noexcept {
        unsigned taken = 0;
        chunk* c = first_;
        while (taken != count && c != nullptr && (taken == 0 || c->free_count != c->slot_count)) {
            CAIRN_DETAIL_STEP();
            taken += c->take(out + taken, count - taken);
            if (c->free_count == 0) { unlink(*c); }
            c = first_;
        }
        return taken;
    }
    /// `of`: nullptr: the chunk of the slot has gone. Returns: true when it has left the bin.
    template <class Place>
    bool give_one(chunk* of, void* slot, Place&& place) noexcept {
        const bool was_full = of != nullptr && of->free_count == 0;
        if (of == nullptr || !of->give(slot)) [[unlikely]] {
            lock_.unlock();  // an assert handler may allocate from this bin
            place.freed_twice(slot);
        }
        chunk& c = *of;
        if (was_full) { append(c); }
        const bool is_alone = first_ == &c && last_ == &c;
        if (c.free_count != c.slot_count || is_alone || place.keeps_chunks) { return false; }
        unlink(c);
        return true;
    }

    // A chunk that has its first free slot goes to the end: it has time to become empty.
    void append(chunk& c) noexcept {
        chunk* const last = last_;
        c.next = nullptr;
        c.previous = last;
        if (last != nullptr) {
            last->next = &c;
        } else {
            first_ = &c;
        }
        last_ = &c;
    }
    void unlink(chunk& c) noexcept {
        chunk* const next = c.next;
        chunk* const previous = c.previous;
        c.previous = nullptr;
        if (previous != nullptr) {
            previous->next = next;
        } else {
            first_ = next;
        }
        if (next != nullptr) {
            next->previous = previous;
        } else {
            last_ = previous;
        }
    }

    Lock lock_;
    typename Atoms::template plain<unsigned> batch_count_{0};
    typename Atoms::template plain<batch*> batches_{nullptr};
    typename Atoms::template plain<batch*> empty_{nullptr};
    typename Atoms::template plain<chunk*> first_{nullptr};
    typename Atoms::template plain<chunk*> last_{nullptr};
};

using slot_batch = basic_slot_batch<std_atoms>;
using slot_chunk = basic_slot_chunk<std_atoms>;
using slot_bin = basic_slot_bin<std_atoms, mutex>;

static_assert(sizeof(slot_bin) <= cache_line_size);

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
