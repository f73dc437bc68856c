// cairn/alloc/concurrent_heap/slot_bin.hpp - the free slots of one class that no thread has: whole
// batches of them, and the chunks in which they lie.
//
//      bin of class 3 (64 bytes), one lock
//      batches   [60 slots]->[60 slots]              at most batch_max of them
//      chunks    chunk 7 <-> chunk 2                 those with free slots, a bit for each slot
//                 1101...     0001...
//
// A thread that runs out of slots takes a batch, or slots from the first chunk. One that has too
// many leaves a batch. Where batch_max of them wait, the slots go to their chunks, eight a call, so
// that no call does more. A chunk whose slots are all back leaves the bin and serves any class. The
// only chunk of a bin stays, so that pairs of calls do not take and return it.
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

#include <cairn/alloc/concurrent_heap/slot_sizes.hpp>
#include <cairn/core/inside/atoms.hpp>
#include <cairn/os/mutex.hpp>
#include <cairn/storage/inside/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Slots on their way between a thread and its bin. 512 bytes.
template <class Atoms>
struct basic_slot_batch {
    static constexpr unsigned slot_count_max = 60;

    typename Atoms::template plain<basic_slot_batch*> next{nullptr};
    typename Atoms::template plain<unsigned> count{0};
    typename Atoms::template plain<void*> slot_array[slot_count_max] = {};
};

/// What is known of the slots of one chunk. The bits are guarded by the lock of its bin.
template <class Atoms>
struct basic_slot_chunk {
    static constexpr unsigned word_count_max = unit_size / 16 / 64;

    std::byte* begin = nullptr;  // of the first slot; changed by the only owner of the chunk
    typename Atoms::template plain<basic_slot_chunk*> next{nullptr};
    typename Atoms::template plain<basic_slot_chunk*> previous{nullptr};
    typename Atoms::template plain<unsigned> free_count{0};
    typename Atoms::template plain<unsigned> first_word{0};  // all words before it are zero
    unsigned slot_class = 0;
    unsigned slot_count = 0;
    typename Atoms::template plain<std::uint64_t> free_bits[word_count_max] = {};

    /// All slots become free ones of class `c`. Requires: no other thread knows the chunk.
    void cut(unsigned c, unsigned count_of_slots) noexcept {
        slot_class = c;
        slot_count = count_of_slots;
        free_count = count_of_slots;
        first_word = 0u;
        next = nullptr;
        previous = nullptr;
        for (unsigned w = 0; w * 64 < count_of_slots; ++w) {
            CAIRN_DETAIL_STEP();
            const unsigned left = count_of_slots - w * 64;
            free_bits[w] = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
        }
    }

    /// Moves up to `count` free slots to `out`, lowest address first. Returns: how many.
    unsigned take(void** out, unsigned count) noexcept {
        const std::size_t size = slot_sizes::size_of(slot_class);
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
        const unsigned i = slot_sizes::slot_at(offset, slot_class);
        const std::uint64_t bit = std::uint64_t{1} << i % 64;
        const std::uint64_t bits = free_bits[i / 64];
        if ((bits & bit) != 0 || i * slot_sizes::size_of(slot_class) != offset) { return false; }
        free_bits[i / 64] = bits | bit;
        free_count = free_count + 1;
        if (i / 64 < first_word) { first_word = i / 64; }
        return true;
    }
};

/// What a bin asks of its heap: `place` has
///     chunk* find(void* slot)          the chunk in which a slot lies
///     chunk* take_chunk(unsigned c)    a chunk that was cut for class c; nullptr: refused
///     void release(chunk&)             all its slots are free; it serves any class
///     batch* take_batch()              room for slots; nullptr: no memory
///     void give_batch(batch&)
///     void freed_twice(void* slot)     does not return
template <class Atoms, class Lock>
class basic_slot_bin {
public:
    using batch = basic_slot_batch<Atoms>;
    using chunk = basic_slot_chunk<Atoms>;
    /// Slots that one call gives back to chunks.
    static constexpr unsigned give_max = 8;

    /// Moves up to `count` free slots to `out`. Returns: how many; 0: the heap refuses a chunk.
    /// Requires: count <= slot_count_max of a batch, and `out` has room for that many.
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
    /// Requires: 0 < count <= slot_count_max of a batch.
    template <class Place>
    unsigned give(void** slot_array, unsigned count, unsigned batch_max, Place&& place) noexcept {
        // Looked at before slots are copied: a thread that frees for long finds the bin full.
        batch* const b = count > 1 && has_room(batch_max) ? place.take_batch() : nullptr;
        if (b != nullptr) {
            for (unsigned i = 0; i < count; ++i) {
                CAIRN_DETAIL_STEP();
                b->slot_array[i] = slot_array[i];
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
        chunk* empty[give_max];
        unsigned empty_count = 0;
        lock_.lock();
        for (unsigned i = 0; i < count; ++i) {
            CAIRN_DETAIL_STEP();
            if (chunk* const c = give_one(slot_array[i], place)) { empty[empty_count++] = c; }
        }
        lock_.unlock();
        for (unsigned i = 0; i < empty_count; ++i) { place.release(*empty[i]); }
    }

    /// Gives one waiting batch back to the chunks. Returns: false when none waits.
    template <class Place>
    bool drain(Place&& place) noexcept {
        lock_.lock();
        batch* const b = pop();
        lock_.unlock();
        if (b == nullptr) { return false; }
        void* slot_array[batch::slot_count_max];
        const unsigned count = take_from(*b, slot_array, batch::slot_count_max);
        place.give_batch(*b);
        for (unsigned done = 0; done < count; done += give_max) {
            give_to_chunks(slot_array + done, count - done < give_max ? count - done : give_max,
                           place);
        }
        return true;
    }

    /// Releases the chunk that stayed although all its slots are free. Returns: false: none did.
    template <class Place>
    bool release_empty(Place&& place) noexcept {
        lock_.lock();
        chunk* c = first_;
        while (c != nullptr && c->free_count != c->slot_count) { c = c->next; }
        if (c != nullptr) { unlink(*c); }
        lock_.unlock();
        if (c != nullptr) { place.release(*c); }
        return c != nullptr;
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
        b.next = static_cast<batch*>(batches_);
        batches_ = &b;
        batch_count_ = batch_count_ + 1;
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
            out[i] = b.slot_array[all - taken + i];
        }
        b.count = all - taken;
        return taken;
    }
    unsigned take_from_chunks(void** out, unsigned count) noexcept {
        unsigned taken = 0;
        chunk* c = first_;
        while (taken != count && c != nullptr) {
            CAIRN_DETAIL_STEP();
            taken += c->take(out + taken, count - taken);
            if (c->free_count == 0) { unlink(*c); }
            c = first_;
        }
        return taken;
    }
    /// Returns: the chunk when it has left the bin.
    template <class Place>
    chunk* give_one(void* slot, Place&& place) noexcept {
        chunk& c = *place.find(slot);
        const bool was_full = c.free_count == 0;
        if (!c.give(slot)) [[unlikely]] { place.freed_twice(slot); }
        if (was_full) { append(c); }
        const bool is_alone = first_ == &c && last_ == &c;
        if (c.free_count != c.slot_count || is_alone) { return nullptr; }
        unlink(c);
        return &c;
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
    typename Atoms::template plain<chunk*> first_{nullptr};
    typename Atoms::template plain<chunk*> last_{nullptr};
};

/// Rises with each trim(). A thread that finds it new in its slow path empties its cache.
template <class Atoms>
class basic_trim_epoch {
public:
    void raise() noexcept { value_.fetch_add(1, memory_order::relaxed); }
    /// relaxed: the number alone is looked at; the slots go through the locks of the bins.
    [[nodiscard]] bool is_new(unsigned& seen) const noexcept {
        const unsigned now = value_.load(memory_order::relaxed);
        const bool differs = now != seen;
        seen = now;
        return differs;
    }

private:
    typename Atoms::template atomic<unsigned> value_{0};
};

using slot_batch = basic_slot_batch<std_atoms>;
using slot_chunk = basic_slot_chunk<std_atoms>;
using slot_bin = basic_slot_bin<std_atoms, mutex>;
using trim_epoch = basic_trim_epoch<std_atoms>;

static_assert(sizeof(slot_batch) <= 512);
static_assert(sizeof(slot_bin) <= cache_line_size);

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
