// cairn/containers/stable_slot_map.hpp - handles as of slot_map, and addresses that never change.
//
//   handle {chunk 1, slot 3, life 5}
//   chunks:  +--------+--------+--------+
//            |   0    |   1    |   2    |          summary: words with a free slot, with a live one
//            +---+----+---+----+---+----+            |
//                v        v        v                 v
//              +----+   +----+   +----+       words: 1 bit a slot       generations: 4 bytes a slot
//              | a  |   | d  |   |    |
//              | b  |   | -  |   +----+ empty: the block went back; only generations stay
//              | c  |   | e  |
//              +----+   +----+   objects, where they were built
//
// New objects take the lowest free slots of one chunk, about sixty at a time: of the lowest chunk
// with 64 (1/32 of its slots, where it has less than 2048). So the live ones come together at the
// front, where up to 1/32 of the slots stay free, and chunks behind run empty and go back. Where no
// chunk has so many, the slot that was freed last in a full one comes first.
//
// Use it for: objects that others point into, that cannot move (mutexes, intrusive lists), or that
//             are replaced much more often than they are iterated.
// Look elsewhere for: spans and sorting (slot_map); columns (slot_table); the fastest iteration
//             of a set that is mostly holes (slot_map keeps it packed).
//
// Invariant: an object lives where it was built until it is erased.
// Cost:      find: chunk, generation, compare, object. emplace: the slot's number, and two stores
//            beside the object's own; every 64th or so gathers slots (each, in a map that is full
//            but for a few), at most step_count_max words of any number of chunks. erase: seven
//            stores, five of them in three cache lines of the chunk. ++: eight or nine
//            instructions, and a call for each 64 slots and after an erasure. Growth: one chunk (as
//            many slots as fit 64 KiB, 64 to 4096), nothing is copied.
//            One of n objects of 32 bytes erased at random and another inserted, instructions, -O2:
//            n = 10,000: 164 (gcc), 134 (clang); 10,240, which fill five chunks: 274, 264.
// Reuse:     a policy that names an order does not compile. Busy slots use up
//            their lives: keep 31 bits of them (the default).
// While iterating: any object may be erased and others inserted; a new one is visited or not.
// Re-entrancy: constructors and destructors of objects may look up, insert, erase and retire others
//            here: the object that begins or ends cannot be found meanwhile. They must not iterate:
//            for_each would meet that object. Handles of other maps: as slot_map.
// Threads:   one at a time; find and iteration from many while no thread changes the map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_slot_map/look_ups.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/storage/clone.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// What is below, and in stable_slot_map/look_ups.hpp and objects.hpp:
///     finding      find  contains  []  at  fault_of  handle_of
///     all of them  begin ... cend  for_each  for_each_in_chunk  items  ==
///     room         size  empty  capacity  chunk_count  chunks_with_memory  reserve
///                  return_empty_chunks  upstream
///     one object   promise_handle  is_promised  fulfil  abandon  erase(handle)
/// `Steps` counts what insertions and erasures touch, for tests: counted_steps (step_counter.hpp).
template <class T, class Policy = slot_policy<>, class Steps = uncounted>
class stable_slot_map : public detail::stable_look_ups<T, Policy, Steps> {
    static_assert(!detail::is_table<T>,
                  "handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>");
    static_assert(Policy::order == reuse::usual,
                  "a stable_slot_map takes the lowest free slots of a chunk: leave reuse::usual in "
                  "its policy, which is the default");
    using base = detail::stable_look_ups<T, Policy, Steps>;
    using base::destroy, base::for_each_now, base::slot_of, base::slots_;
    using typename base::chunk;

public:
    using base::capacity, base::chunk_count, base::contains, base::erase, base::size;
    using typename base::handle_type, typename base::iterator, typename base::const_iterator;

    using options = slot_map_options;

    explicit stable_slot_map(allocator_ref upstream = system_memory(),
                             const options& how = {}) noexcept
        : base{upstream, how}, limbo_{upstream} {}
    stable_slot_map(stable_slot_map&& other) noexcept = default;
    stable_slot_map& operator=(stable_slot_map&& other) noexcept {
        if (this != &other) {
            release();
            slots_ = std::move(other.slots_);
            limbo_ = std::move(other.limbo_);
        }
        return *this;
    }
    /// Ends when no destructor of an object inserts any more.
    ~stable_slot_map() { release(); }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new object, built in place; it never moves. Its slot is the lowest of those that were
    /// gathered last.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard]] handle_type emplace(Args&&... args) {
        return base::template insert_in_place<std::is_nothrow_constructible_v<T, Args...>>(
            [&](void* at, handle_type) {
                detail::construct_at<T>(at, std::forward<Args>(args)...);
            });
    }
    /// A new object that knows its own handle: make(h) returns it, built in place.
    template <class Make>
    [[nodiscard]] handle_type emplace_with(Make&& make) {
        return base::template insert_in_place<noexcept(T(make(handle_type{})))>(
            [&](void* at, handle_type h) { ::new (at) T(make(h)); });
    }
    [[nodiscard]] handle_type insert(const T& value) { return emplace(value); }
    [[nodiscard]] handle_type insert(T&& value) { return emplace(std::move(value)); }

    // ---- erasing ------------------------------------------------------------------------------

    /// Erases `*where`. Returns: the next one:
    ///     for (auto it = m.begin(); it != m.end();) { it = dead(*it) ? m.erase(it) :
    ///     std::next(it); }
    iterator erase(const_iterator where) noexcept {
        const auto index = where.handle().index();
        erase(where.handle());
        return {&slots_, std::size_t{index} + 1};
    }
    /// Moves the object out (copies it, where its move may throw) and erases it.
    /// Returns: nothing when the handle is stale.
    [[nodiscard]] std::optional<T> take(handle_type h)
        requires std::is_move_constructible_v<T>
    {
        std::optional<T> taken;  // one for every return: built where the caller wants it
        if (T* const object = base::locate(h); object != nullptr) [[likely]] {
            taken.emplace(std::move_if_noexcept(*object));
            erase(h);
        }
        return taken;
    }
    /// Erases every object that `predicate` is true for. Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        std::size_t count = 0;
        for_each_now([&](handle_type h, T& object) {
            if (predicate(object)) { count += erase(h) ? 1u : 0u; }
        });
        return count;
    }
    /// Every object is destroyed and every handle is stale, promised ones too.
    /// What is retired still waits for its fence. Empty chunks go back as always.
    void clear() noexcept {
        while (size() != 0) {  // again, if destructors have inserted others
            for_each_now([&](handle_type h, T&) { erase(h); });
        }
        slots_.drop_all_promised();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the object stays where it is and is destroyed when collect() is told
    /// that `fence` has passed: a GPU or a job may still be using it.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) noexcept {
        if (!contains(h)) [[unlikely]] { return false; }
        if (limbo_.emplace(fence, h.index()) == nullptr) { return false; }
        slots_.set_aside(h.index(), h.generation());
        return true;
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(pending).
    std::size_t collect(std::uint64_t completed) noexcept {
        std::size_t count = 0;
        for (std::size_t i = 0; i < limbo_.size();) {
            const waiting w = limbo_[i];
            if (w.fence > completed) {
                ++i;
                continue;
            }
            limbo_.swap_erase(i);  // first: ~T() may come back here
            destroy(slot_of(w.index));
            slots_.finish(w.index);
            ++count;
        }
        return count;
    }
    /// Objects that wait for their fence.
    [[nodiscard]] std::size_t pending_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t worn_out_slot_count() const noexcept {
        return slots_.worn_out_count();
    }
    /// Brings worn-out slots back with their first generation. O(slots).
    /// Requires: no handle of any object that ever lived in them is left, anywhere.
    /// Returns: how many came back.
    std::size_t recycle_slots(no_handles_left_t) noexcept {
        const std::size_t count = worn_out_slot_count();
        for (std::size_t i = 0; worn_out_slot_count() != 0 && i < capacity(); ++i) {
            if (is_worn_out(i)) { slots_.recycle(static_cast<std::uint32_t>(i)); }
        }
        return count;
    }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<stable_slot_map> clone() const { return clone(base::upstream()); }
    [[nodiscard]] std::optional<stable_slot_map> clone(allocator_ref upstream) const {
        return cairn::clone(*this, upstream);
    }

    /// The same objects, handles and slots as in `other`: see clone(). What is retired stays there.
    /// Requires: nothing was inserted or reserved yet.
    /// Returns: false when exhausted; the map can only be destroyed then.
    [[nodiscard]] bool copy_from(const stable_slot_map& other) {
        CAIRN_ASSERT(chunk_count() == 0, "slots are copied into a map without any");
        if (!slots_.copy_chunks(other.slots_)) { return false; }
        for (auto it = other.begin(); it != other.end(); ++it) {
            const handle_type h = it.handle();
            T* const object = slot_of(h.index());
            unpoison(object, sizeof(T));
            ::new (static_cast<void*>(object)) T(*it);
            slots_.enter_copy(h.index(), h.generation());
        }
        for (const waiting& w : other.limbo_) { slots_.finish(w.index); }
        return true;
    }
    void swap(stable_slot_map& other) noexcept { std::swap(*this, other); }
    friend void swap(stable_slot_map& a, stable_slot_map& b) noexcept { a.swap(b); }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept {
        slots_.validate();
        if constexpr (asserts_enabled) {
            std::size_t worn_out = 0;
            for (std::size_t i = 0; i < capacity(); ++i) { worn_out += is_worn_out(i); }
            CAIRN_ASSERT(worn_out == worn_out_slot_count(), "worn-out slots are counted");
        }
    }

private:
    struct waiting {
        std::uint64_t fence;
        std::uint32_t index;
    };

    /// True when slot `index` has used up its lives, and holds no object that waits for its fence.
    [[nodiscard]] bool is_worn_out(std::size_t index) const noexcept {
        bool is = slots_.life(static_cast<std::uint32_t>(index)) == chunk::vacant;
        for (std::size_t i = 0; is && i < limbo_.size(); ++i) { is = limbo_[i].index != index; }
        return is;
    }

    void release() noexcept {
        do {  // again, if destructors have inserted or retired others
            clear();
            collect(~std::uint64_t{0});
        } while (size() != 0 || pending_count() != 0);
        slots_.release();
    }

    packed_array<waiting> limbo_;
};

template <class T, class Policy, class Steps>
struct detail::store_traits<stable_slot_map<T, Policy, Steps>> : detail::map_traits<T, Policy> {
    static constexpr bool keeps_addresses = true;
};

/// Another type in the policy's place: the sentence, and then a map with the default policy.
template <class T, class Policy, class Steps>
    requires(!detail::names_handles<Policy>)
class stable_slot_map<T, Policy, Steps> : public stable_slot_map<T> {
    static_assert(detail::names_handles<Policy>, "a policy of a slot map is a slot_policy<...>");

public:
    using stable_slot_map<T>::stable_slot_map;
};

}}  // namespace cairn::CAIRN_FLAVOUR
