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
//   index of chunks, a bit each:   64 free slots or more   0 1 0      insertion goes to the lowest;
//                                  fewer                   1 0 0      then here
//                                  free, without memory    0 0 1      then here; then a new chunk
//
// Iteration goes by words: 64 slots are one load, and the live ones are found by counting zeros.
// New objects take the lowest free slots of one chunk, which are gathered about sixty at a time:
// of the lowest chunk that has 64 (or 1/32 of its slots, where a chunk has less than 2048). Where
// none has, they are gathered from the chunk where a slot became free last. So the live ones come
// together at the front, where up to 1/32 of the slots stay free, and chunks behind run empty and
// go back.
//
// Use it for: objects that others point into, that cannot move (mutexes, intrusive lists), or that
//             are replaced much more often than they are iterated.
// Look elsewhere for: spans and sorting (slot_map); columns (slot_table); the fastest iteration
//             of a set that is mostly holes (slot_map keeps it packed).
//
// Invariant: an object lives where it was built until it is erased.
// Cost:      find: chunk, generation, compare, object. emplace: the slot's number, and two stores
//            beside the object's own; every 64th or so gathers slots, at most step_count_max words
//            of any number of chunks. erase: seven stores, five of them in three cache lines of the
//            chunk. Erasing one of 10,000 objects of 32 bytes at random and inserting another: 158
//            instructions in all with gcc -O2, 135 with clang. ++: eight or nine instructions, and
//            a call for each 64 slots and after an erasure. Growth: one chunk, nothing is copied. A
//            chunk is as many slots as fit 64 KiB (64 to 4096).
// Foreign:   handles of other maps, or of what this one held before it was replaced: as slot_map.
// Reuse:     low free slots, whatever order the policy names. Busy slots use up their lives: keep
//            31 bits of them (the default) where the first slots are replaced thousands of times.
// While iterating: any object may be erased and others inserted; a new one is visited or not.
// Re-entrancy: constructors and destructors of objects may look up, insert, erase and retire others
//            here: the object that begins or ends cannot be found meanwhile, and its slot is not
//            given out. They must not iterate: for_each would meet that object. The map's
//            destructor ends when no destructor of an object inserts any more.
// Threads:   one at a time; find and iteration from many while no thread changes the map.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_slot_map/iterator.hpp>
#include <cairn/containers/stable_slot_map/slots.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/core/rollback.hpp>
#include <cairn/storage/clone.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace detail {

/// A pointer that the compiler keeps in a register as it is. gcc would rather take base + first *
/// 64 + bit apart again, and add the middle at each bit.
template <class T>
[[nodiscard]] inline T* as_it_is(T* p) noexcept {
#if defined(__GNUC__)
    __asm__("" : "+r"(p));
#endif
    return p;
}

}  // namespace detail

/// `Steps` counts what insertions and erasures touch, for tests: counted_steps (step_counter.hpp).
template <class T, class Policy = slot_policy<>, class Steps = uncounted>
class stable_slot_map {
    static_assert(!detail::is_table<T>,
                  "handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>");

public:
    using handle_type = typename Policy::template handle_type<T>;

private:
    using slots = detail::stable_slots<detail::stable_chunk_slots_log2(sizeof(T)),
                                       handle_type::index_max, handle_type::generation_max, Steps>;
    using chunk = typename slots::chunk;
    static constexpr unsigned slots_log2 = slots::slots_log2;
    static constexpr std::uint32_t slot_mask = slots::slot_mask;
    static constexpr alignment object_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                             : cache_line_size};
    static_assert(cache_line_size > 64 || (64 * sizeof(T)) % cache_line_size == 0,
                  "words never share a cache line of 64 bytes");
    static_assert(Policy::order != reuse::lifo,
                  "a stable_slot_map takes the lowest free slots, whatever the policy: leave fifo "
                  "there, which is the default, or say reuse::lowest");

public:
    using key_type = handle_type;
    using mapped_type = T;
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = detail::stable_iterator<slots, handle_type, T>;
    using const_iterator = detail::stable_iterator<slots, handle_type, const T>;

    /// Objects that lie in one piece.
    static constexpr std::size_t slots_per_chunk = chunk::slot_count;
    /// Steps (step_counter.hpp) of one insertion or one erasure, whatever the size of the map. A
    /// new chunk is on top, when an insertion needs one.
    static constexpr std::uint64_t step_count_max = slots::step_count_max;

    explicit stable_slot_map(allocator_ref upstream = system_memory(),
                             const slot_map_options& options = {}) noexcept
        : slots_{sizeof(T), object_alignment, upstream, options.first_generation},
          limbo_{upstream} {}
    stable_slot_map(stable_slot_map&& other) noexcept = default;
    stable_slot_map& operator=(stable_slot_map&& other) noexcept {
        if (this != &other) {
            release();
            slots_ = std::move(other.slots_);
            limbo_ = std::move(other.limbo_);
        }
        return *this;
    }
    ~stable_slot_map() { release(); }

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; null (and == end()) when it is gone. Any handle may be asked for.
    /// What it returns is a pointer, or an iterator.
    [[nodiscard]] detail::stable_found<iterator> find(handle_type h) noexcept {
        T* const object = locate(h);
        return {object, iterator_at(object, h)};
    }
    [[nodiscard]] detail::stable_found<const_iterator> find(handle_type h) const noexcept {
        const T* const object = locate(h);
        return {object, iterator_at(object, h)};
    }
    [[nodiscard]] bool contains(handle_type h) const noexcept { return locate(h) != nullptr; }

    /// Requires: contains(h). Any other handle stops a checked build, which says what is wrong with
    /// it: null, of another map, not fulfilled yet, stale, and where it was asked for.
    [[nodiscard]] T& operator[](detail::asked<handle_type> h) noexcept {
        return *live(h, detail::line_of(h));
    }
    [[nodiscard]] const T& operator[](detail::asked<handle_type> h) const noexcept {
        return *live(h, detail::line_of(h));
    }
    /// As operator[], and a handle that finds nothing stops every build.
    [[nodiscard]] T& at(handle_type h, call_site from = call_site::current()) noexcept {
        return *found_or_stop(h, from);
    }
    [[nodiscard]] const T& at(handle_type h, call_site from = call_site::current()) const noexcept {
        return *found_or_stop(h, from);
    }
    /// The handle of an object that lives here. Requires: `object` is in this map. Cost: O(chunks).
    [[nodiscard]] handle_type handle_of(const T& object) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(&object);
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            const auto first = reinterpret_cast<std::uintptr_t>(slots_.chunks()[p].objects);
            if (first != 0 && address - first < slots_per_chunk * sizeof(T)) {
                const auto slot = static_cast<std::uint32_t>((address - first) / sizeof(T));
                const std::uint32_t index = slots::index_of(p, slot);
                return handle_type::make(index, slots_.life(index));
            }
        }
        CAIRN_ASSERT(false, "the object lives in this map");
        return {};
    }
    /// The handle of the object here. Requires: `where` is in this map, and not end().
    [[nodiscard]] handle_type handle_of(const_iterator where) const noexcept {
        return where.handle();
    }
    /// Why find(h) finds nothing. Any handle may be asked for. For messages: it costs a call.
    [[nodiscard]] handle_fault fault_of(handle_type h) const noexcept {
        return slots_.fault_of(h.index(), h.generation());
    }

    // ---- room ---------------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return slots_.upstream(); }
    /// Slots in all chunks, with or without memory behind them.
    [[nodiscard]] std::size_t capacity() const noexcept { return chunk_count() * slots_per_chunk; }
    [[nodiscard]] std::size_t chunk_count() const noexcept { return slots_.chunk_count(); }
    /// Chunks whose block of objects is with us.
    [[nodiscard]] std::size_t chunks_with_memory() const noexcept {
        std::size_t count = 0;
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            count += slots_.chunks()[p].objects != nullptr ? 1u : 0u;
        }
        return count;
    }

    /// Slots for `count` objects in all, in chunks that stay when they run empty: insertions up to
    /// there never allocate. A slot that is promised, pending or worn out counts as one.
    /// Returns: false when exhausted, or when the handle has too few index bits; nothing has
    ///          changed then.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        if (count > std::size_t{handle_type::index_max} + 1) { return false; }
        return slots_.reserve_chunks(count / slots_per_chunk +
                                     (count % slots_per_chunk != 0 ? 1 : 0));
    }
    /// Gives back the blocks of all empty chunks, promised ones too; the generations stay.
    void return_empty_chunks() noexcept { slots_.return_empty_chunks(); }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new object, built in place; it never moves. Its slot is the lowest of those that were
    /// gathered last.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    handle_type emplace(Args&&... args) {
        return insert_in_place<std::is_nothrow_constructible_v<T, Args...>>(
            [&](void* at, handle_type) {
                detail::construct_at<T>(at, std::forward<Args>(args)...);
            });
    }
    /// A new object that knows its own handle: make(h) returns it, built in place.
    template <class Make>
    handle_type emplace_with(Make&& make) {
        return insert_in_place<noexcept(T(make(handle_type{})))>(
            [&](void* at, handle_type h) { ::new (at) T(make(h)); });
    }
    handle_type insert(const T& value) { return emplace(value); }
    handle_type insert(T&& value) { return emplace(std::move(value)); }

    /// A handle now, the object later: find() answers nullptr until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type promise_handle() noexcept {
        if (!slots_.ready()) [[unlikely]] { return {}; }
        const auto at = slots_.next();
        slots_.promise(at);
        return handle_type::make(at.index, at.generation);
    }
    /// True when `h` came from promise_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_promised(handle_type h) const noexcept {
        return slots_.is_promised(h.index(), h.generation());
    }
    /// Builds the object of a promised handle. Requires: is_promised(h).
    /// Throws: what T's constructor throws; the handle stays promised then.
    template <class... Args>
    T* fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        T* const object = slot_of(h.index());
        unpoison(object, sizeof(T));
        detail::construct_at<T>(static_cast<void*>(object), std::forward<Args>(args)...);
        slots_.fulfil(h.index(), h.generation());
        return object;
    }
    /// Gives a promised handle back unused. Requires: is_promised(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be abandoned");
        slots_.drop_promised(h.index());
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the object. Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) noexcept {
        const std::size_t p = h.index() >> slots_log2;
        if (p >= chunk_count()) [[unlikely]] { return false; }
        const auto entry = slots_.chunks()[p];
        chunk& state = *entry.state;
        const std::uint32_t slot = h.index() & slot_mask;
        const std::uint32_t generation = h.generation();
        if (state.generation[slot] != generation) [[unlikely]] { return false; }
        state.generation[slot] = slots::after(generation);  // first: ~T() may come back here
        destroy(reinterpret_cast<T*>(entry.objects) + slot);
        slots_.leave(p, state, slot, generation);
        return true;
    }
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
        if (T* const object = locate(h); object != nullptr) [[likely]] {
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
    bool retire(handle_type h, std::uint64_t fence) noexcept {
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

    // ---- all of them --------------------------------------------------------------------------

    /// Calls f(object) or f(handle, object) for every object, by slot. The fastest way through.
    /// `f` may erase the object it is given and insert others (which may be visited or not); to
    /// erase others while iterating, use begin()/end().
    template <class F>
    void for_each(F&& f) {
        for (std::size_t p = 0; p < chunk_count(); ++p) { visit_chunk<T>(p, f); }
    }
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t p = 0; p < chunk_count(); ++p) { visit_chunk<const T>(p, f); }
    }
    /// As for_each, one chunk only: chunks are for parallel loops, and no two of them share
    /// a cache line. Requires: p < chunk_count().
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) {
        visit_chunk<T>(p, f);
    }
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) const {
        visit_chunk<const T>(p, f);
    }

    /// Forward iteration in slot order. Erasing any object and inserting are allowed meanwhile.
    [[nodiscard]] iterator begin() noexcept { return {&slots_, 0}; }
    [[nodiscard]] iterator end() noexcept { return iterator{&slots_}; }
    [[nodiscard]] const_iterator begin() const noexcept { return {&slots_, 0}; }
    [[nodiscard]] const_iterator end() const noexcept { return const_iterator{&slots_}; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    /// Handle and object of each, by slot: for (auto [h, object] : map.items()).
    [[nodiscard]] auto items() noexcept {
        return detail::stable_items<iterator, slot_item<handle_type, T&>>{begin(), end()};
    }
    [[nodiscard]] auto items() const noexcept {
        return detail::stable_items<const_iterator, slot_item<handle_type, const T&>>{begin(),
                                                                                      end()};
    }
    /// True when the same handles find equal objects in both.
    friend bool operator==(const stable_slot_map& a, const stable_slot_map& b)
        requires std::equality_comparable<T>
    {
        bool are_equal = a.size() == b.size();
        for (auto it = a.begin(); are_equal && it != a.end(); ++it) {
            const T* const other = b.locate(it.handle());
            are_equal = other != nullptr && *it == *other;
        }
        return are_equal;
    }

    /// A copy in which every handle finds what it finds here; a promised one can be fulfilled in
    /// both. What is retired stays here. Handles that either map gives out later may find another
    /// object in the other, and no build notices.
    /// Returns: nothing when `upstream` (here: that of this map) is exhausted.
    [[nodiscard]] std::optional<stable_slot_map> clone() const { return clone(upstream()); }
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
    void swap(stable_slot_map& other) noexcept {
        stable_slot_map mine{std::move(*this)};
        *this = std::move(other);
        other = std::move(mine);
    }
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

    /// Where the object of slot `index` lies, or will. Requires: its chunk has memory.
    [[nodiscard]] T* slot_of(std::uint32_t index) const noexcept {
        return reinterpret_cast<T*>(slots_.chunks()[index >> slots_log2].objects) +
               (index & slot_mask);
    }
    static void destroy(T* object) noexcept {
        object->~T();
        poison(object, sizeof(T));
    }

    [[nodiscard]] T* locate(handle_type h) const noexcept {
        const std::size_t p = h.index() >> slots_log2;
        if (p < chunk_count()) [[likely]] {
            const auto& entry = slots_.chunks()[p];
            const std::uint32_t slot = h.index() & slot_mask;
            if (entry.state->generation[slot] == h.generation()) [[likely]] {
                return detail::not_null(reinterpret_cast<T*>(entry.objects) + slot);
            }
        }
        return nullptr;
    }

    /// Where `object` is, which `h` has found; the end when that is null.
    template <class U>
    [[nodiscard]] detail::stable_iterator<slots, handle_type, U> iterator_at(
        U* object, handle_type h) const noexcept {
        using at = detail::stable_iterator<slots, handle_type, U>;
        return object != nullptr ? at{&slots_, h.index(), object} : at{&slots_};
    }

    /// The object of `h`. Requires: contains(h).
    [[nodiscard]] T* live(handle_type h, [[maybe_unused]] call_site from) const noexcept {
#if CAIRN_ASSERTS
        return found_or_stop(h, from);
#else
        return locate(h);
#endif
    }
    [[nodiscard]] T* found_or_stop(handle_type h, call_site from) const noexcept {
        T* const object = locate(h);
        if (object == nullptr) [[unlikely]] {
            slots_.refuse(h.index(), h.generation(), this, from);
        }
        return object;
    }

    /// The slot is taken before the object is built, so that its constructor may use this map.
    template <bool IsNothrow, class Build>
    handle_type insert_in_place(Build&& build) {
        if (!slots_.ready()) [[unlikely]] { return {}; }
        const auto at = slots_.next();
        const handle_type h = handle_type::make(at.index, at.generation);
        T* const object = reinterpret_cast<T*>(at.objects) + at.slot;
        __builtin_prefetch(at.objects + slots_.ahead() * sizeof(T), 1);
        unpoison(object, sizeof(T));
        slots_.take(at);
        if constexpr (IsNothrow) {
            build(static_cast<void*>(object), h);
        } else {
            detail::rollback undo{[&]() noexcept {
                poison(object, sizeof(T));
                slots_.untake(at);
            }};
            build(static_cast<void*>(object), h);
            undo.cancel();
        }
        at.state->generation[at.slot] = at.generation;
        return h;
    }

    /// True when slot `index` has used up its lives, and holds no object that waits for its fence.
    [[nodiscard]] bool is_worn_out(std::size_t index) const noexcept {
        bool is = slots_.life(static_cast<std::uint32_t>(index)) == chunk::vacant;
        for (std::size_t i = 0; is && i < limbo_.size(); ++i) { is = limbo_[i].index != index; }
        return is;
    }

    template <class U, class F>
    void visit_chunk(std::size_t p, F& f) const {
        const chunk& state = *slots_.chunks()[p].state;
        for (std::uint64_t used = state.used; used != 0; used &= used - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
            // Each time: `f` may insert and erase.
            U* const objects =
                detail::as_it_is(reinterpret_cast<U*>(slots_.chunks()[p].objects) + w * 64);
            for (std::uint64_t live = slots_.live_in(state, w); live != 0; live &= live - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(live));
                if constexpr (std::is_invocable_v<F&, handle_type, U&>) {
                    const std::uint32_t slot = w * 64 + bit;
                    f(handle_type::make(slots::index_of(p, slot), state.generation[slot]),
                      objects[bit]);
                } else {
                    f(objects[bit]);
                }
            }
        }
    }

    /// As for_each, but objects erased meanwhile are not visited any more: destructors may do
    /// that.
    template <class F>
    void for_each_now(F f) {
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            const chunk& state = *slots_.chunks()[p].state;
            for (std::uint64_t used = state.used; used != 0; used &= used - 1) {
                const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
                for (std::uint64_t live = slots_.live_in(state, w); live != 0;) {
                    const std::uint32_t slot =
                        w * 64 + static_cast<std::uint32_t>(std::countr_zero(live));
                    f(handle_type::make(slots::index_of(p, slot), state.generation[slot]),
                      reinterpret_cast<T*>(slots_.chunks()[p].objects)[slot]);
                    live = (live & (live - 1)) & slots_.live_in(state, w);
                }
            }
        }
    }

    void release() noexcept {
        do {  // again, if destructors have inserted or retired others
            clear();
            collect(~std::uint64_t{0});
        } while (size() != 0 || pending_count() != 0);
        slots_.release();
    }

    slots slots_;
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

}  // namespace cairn::inline CAIRN_FLAVOUR
