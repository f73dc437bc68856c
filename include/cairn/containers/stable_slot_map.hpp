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
// A new object takes the slot that was freed last: its lines are in the cache. The newest 64 to 192
// freed slots are reused in this order; after them, new objects take the free slots of one chunk,
// from the lowest slot up. It is the lowest chunk with 64 free slots (1/32 of its slots, where it
// has less than 2048), and slots that are freed behind such a chunk are not reused first. So live
// objects come together at the front, and chunks behind run empty and go back.
//
// Use it for: objects that others point into, that cannot move (mutexes, intrusive lists), or that
//             are replaced much more often than they are iterated.
// Look elsewhere for: spans and sorting (slot_map); columns (slot_table); the fastest iteration
//             of a set that is mostly holes (slot_map keeps it packed).
//
// Invariant: an object lives where it was built until it is erased.
// Cost:      find: chunk, generation, compare, object. emplace: the slot's number, and four stores
//            beside the object's own; every 64th or so gathers slots, at most step_count_max words
//            of any number of chunks. erase: five stores, three of them in three cache lines of the
//            chunk. ++: eight or nine instructions, and a call for each 64 slots and after an
//            erasure. Growth: one chunk (as many slots as fit 64 KiB, 64 to 4096), and no copy.
//            The memory of empty chunks goes back, but for that of one.
// Reuse:     a policy that names an order does not compile. A slot that is reused at once uses up
//            its lives soonest: keep 31 bits of them (the default).
// While iterating: with begin() and end(), any object may be erased and others inserted; in
//            for_each, only the object that is visited may be erased. A new one is visited or not.
// Callbacks: constructors and destructors of objects may look up, insert, erase and retire others
//            here: the object that begins or ends cannot be found meanwhile (take() moves it out
//            before). They must not iterate, which would meet that object, nor move the map: a
//            checked build stops. size() counts what erase() destroys, not what clear() does.
// Threads:   one at a time; find and iteration from many while no thread changes the map.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_slot_map/slots.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/clone.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// The rules of a map of `T` with handles of type `Handle`.
template <class T, class Handle>
inline constexpr stable_rules stable_rules_of =
    detail::stable_rules_for(sizeof(T), alignof(T), Handle::index_max, Handle::generation_max);

/// A position in a map: a slot, and the live slots behind it in the same word.
///
///      first_     index of the word's first slot                 left_    0 0 1 1 0 1 0 0
///      objects_   address of that slot                                              |
///                                                                          the object here
///
/// ++ goes to the next bit of left_, or at the end of the word to the next live bit in the chunk's
/// words and in the chunks behind. What an iterator keeps of its word is right while no object has
/// ended: ++ compares the map's count of ended objects, and looks the word up anew when that has
/// changed.
template <class Other, class Handle>
class stable_iterator {
public:
    using value_type = std::remove_const_t<Other>;
    using difference_type = std::ptrdiff_t;
    using reference = Other&;
    using pointer = Other*;

    stable_iterator() noexcept = default;
    /// The first object at or after `index`, or the end.
    stable_iterator(const stable_slots* all, std::size_t index) noexcept : slots_{all} {
        seek(index);
    }
    /// The end.
    explicit stable_iterator(const stable_slots* all) noexcept : slots_{all} {}

    /// To const.
    operator stable_iterator<const Other, Handle>() const noexcept
        requires(!std::is_const_v<Other>)
    {
        stable_iterator<const Other, Handle> same;
        same.slots_ = slots_;
        same.first_ = first_;
        same.left_ = left_;
        same.objects_ = objects_;
        same.ended_count_ = ended_count_;
        return same;
    }

    /// Requires: not end().
    [[nodiscard]] Other& operator*() const noexcept { return objects_[bit()]; }
    /// Requires: not end().
    [[nodiscard]] Other* operator->() const noexcept { return objects_ + bit(); }
    /// The handle of the object here. Requires: not end().
    [[nodiscard]] Handle handle() const noexcept {
        const auto at = static_cast<std::uint32_t>(first_ + bit());
        return Handle::make(at, slots_->life(at));
    }
    stable_iterator& operator++() noexcept {
        const std::uint64_t left = left_ & (left_ - 1);
        if (left != 0 && ended_count_ == slots_->ended_count()) [[likely]] {
            left_ = left;
        } else {
            seek(left == 0 ? first_ + 64 : index() + 1);
        }
        return *this;
    }
    stable_iterator operator++(int) noexcept {
        stable_iterator old = *this;
        ++*this;
        return old;
    }
    friend bool operator==(stable_iterator a, stable_iterator b) noexcept {
        // At the end alone is left_ 0, and in a loop the compiler knows that ++ found it not 0.
        if (a.left_ == 0 || b.left_ == 0) { return a.left_ == b.left_; }
        return a.index() == b.index();
    }
    /// std::sort and its like would call these.
    friend void operator-(stable_iterator, stable_iterator) = delete;  // a map's objects stay
    friend void operator+(stable_iterator, std::ptrdiff_t) = delete;   // a map's objects stay
    /// std::ranges::partition, rotate and their like exchange objects by this name. The return type
    /// is deduced, so that a concept that asks for it (std::permutable) says the sentence, too.
    template <std::same_as<stable_iterator> Position>
        requires(!std::is_const_v<Other>)
    friend auto iter_swap(const stable_iterator&, const Position&) noexcept {
        static_assert(!std::is_same_v<Position, stable_iterator>,
                      "objects of a stable_slot_map stay: handles would find each other's objects");
    }

private:
    friend class stable_iterator<std::remove_const_t<Other>, Handle>;

    [[nodiscard]] std::size_t bit() const noexcept {
        CAIRN_ASSERT(left_ != 0, "an iterator is used before the end");
        if (left_ == 0) { compiler::unreachable(); }  // so that a scan of 0 needs no code
        return static_cast<std::size_t>(std::countr_zero(left_));
    }
    [[nodiscard]] std::size_t index() const noexcept {
        return first_ + static_cast<std::size_t>(std::countr_zero(left_));
    }
    void seek(std::size_t index) noexcept {
        constexpr const stable_rules& rules = stable_rules_of<value_type, Handle>;
        const live_word word = slots_->next_live(index);
        first_ = word.first;
        left_ = word.live;
        if (left_ == 0) { return; }
        std::byte* const objects = slots_->table()[first_ >> rules.slots_log2].objects;
        objects_ = reinterpret_cast<Other*>(objects) + (first_ & rules.slot_mask());
        ended_count_ = slots_->ended_count();
    }

    const stable_slots* slots_ = nullptr;
    std::size_t first_ = stable_slots::no_index;
    std::uint64_t left_ = 0;  // the lowest bit: the object here
    Other* objects_ = nullptr;
    std::size_t ended_count_ = 0;  // of the map, when left_ was loaded
};

/// Handle and object of each, by slot.
template <class Iterator, class Item>
class stable_items {
public:
    class iterator {
    public:
        using value_type = Item;
        using difference_type = std::ptrdiff_t;

        iterator() noexcept = default;
        explicit iterator(Iterator where) noexcept : where_{where} {}
        // Constant, so that `auto& [h, object]` binds it, too.
        [[nodiscard]] const Item operator*() const noexcept { return {where_.handle(), *where_}; }
        iterator& operator++() noexcept {
            ++where_;
            return *this;
        }
        iterator operator++(int) noexcept { return iterator{where_++}; }
        friend bool operator==(const iterator&, const iterator&) noexcept = default;

    private:
        Iterator where_{};
    };

    stable_items(Iterator first, Iterator last) noexcept : first_{first}, last_{last} {}
    [[nodiscard]] iterator begin() const noexcept { return first_; }
    [[nodiscard]] iterator end() const noexcept { return last_; }

private:
    iterator first_;
    iterator last_;
};

}  // namespace detail

/// `T` may be incomplete where the map is declared, and need not be movable.
template <detail::element T, class Policy = slot_policy<>>
    requires detail::names_handles<Policy>  // a slot_policy<...>
class stable_slot_map : public detail::other_names_of_maps<stable_slot_map<T, Policy>> {
    static_assert(!detail::is_table<T>,
                  "handles over the rows of a table<Row, Layout> are a slot_table<Row, Layout>");
    static_assert(Policy::order == reuse::usual,
                  "a stable_slot_map chooses the order in which slots are reused: leave "
                  "reuse::usual in its policy, which is the default");
    using slot_set = detail::stable_slots;
    using chunk = detail::stable_chunk;

public:
    using handle_type = typename Policy::template handle_type<T>;
    using mapped_type = T;
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = detail::stable_iterator<T, handle_type>;
    using const_iterator = detail::stable_iterator<const T, handle_type>;
    using options = detail::slot_map_options;

private:
    static constexpr const detail::stable_rules& rules = detail::stable_rules_of<T, handle_type>;

public:
    /// Objects that lie in one piece.
    static constexpr std::size_t slots_per_chunk = rules.slot_count();
    /// Steps (step_counter.hpp) of one insertion or one erasure, whatever the size of the map. A
    /// new chunk is on top, when an insertion needs one.
    static constexpr std::uint64_t step_count_max = slot_set::step_count_max(rules);

    stable_slot_map() noexcept : stable_slot_map{system_memory()} {}
    explicit stable_slot_map(allocator_ref upstream, const options& how = {}) noexcept
        : slots_{rules, upstream, how.first_generation} {
        static_assert(cache_line_size > 64 || (64 * sizeof(T)) % cache_line_size == 0,
                      "words never share a cache line of 64 bytes");
    }
    explicit stable_slot_map(const options& how) noexcept : stable_slot_map{system_memory(), how} {}
    explicit stable_slot_map(std::size_t, ...) = delete;          // room for objects: reserve(1000)
    stable_slot_map(const stable_slot_map&) = delete;             // clone()
    stable_slot_map& operator=(const stable_slot_map&) = delete;  // clone()
    /// `other` is empty afterwards.
    stable_slot_map(stable_slot_map&& other) noexcept = default;
    /// `other` may be part of an object of this map: the old objects are destroyed last.
    stable_slot_map& operator=(stable_slot_map&& other) noexcept {
        stable_slot_map source{std::move(other)};
        swap(source);
        return *this;
    }
    /// Destroys all objects, and again those that destructors insert meanwhile, until none is left.
    ~stable_slot_map() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        mark_.expect_free(this, type_name);
        owners_.expect_none(this, type_name);
        do {
            clear();
            collect(~std::uint64_t{0});
        } while (size() != 0 || pending_count() != 0);
        slots_.release();
    }

    // ---- room ---------------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return slots_.upstream(); }
    /// Slots in all chunks, with or without memory behind them.
    [[nodiscard]] std::size_t capacity() const noexcept { return chunk_count() * slots_per_chunk; }
    /// Chunks, with or without memory behind them.
    [[nodiscard]] std::size_t chunk_count() const noexcept { return slots_.count(); }
    /// Chunks whose block of objects is here and not with the upstream. Cost: O(chunks).
    [[nodiscard]] std::size_t chunks_with_memory() const noexcept {
        return slots_.count_with_memory();
    }
    /// Slots for `count` objects in all, in chunks that stay when they run empty: insertions up to
    /// there never allocate. A slot that is promised, pending or worn out counts as one.
    /// Returns: false when exhausted, or when the handle has too few index bits; nothing has
    ///          changed then.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        if (count > std::size_t{handle_type::index_max} + 1) { return false; }
        return slots_.reserve_chunks(count / slots_per_chunk + (count % slots_per_chunk != 0));
    }
    /// Gives back the blocks of all empty chunks, reserved ones too, and the chunks behind the last
    /// one with an object. Before it the generations stay, 4 bytes a slot: a handle that found
    /// nothing never finds another object. Objects do not move. Cost: O(slots of empty chunks).
    /// Loops and clear() take time for each chunk that is there.
    /// Returns: false when the upstream has no smaller block for the table of chunks.
    /// Requires: no for_each runs.
    [[nodiscard]] bool shrink_to_fit() noexcept {
        [[maybe_unused]] const auto change = mark_.begin(this, type_name);
        return slots_.shrink_to_fit();
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new object, built in place; it never moves.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] handle_type emplace(Args&&... args) {
        return insert_in_place<std::is_nothrow_constructible_v<T, Args...>>(
            [&](void* at, handle_type)
                CAIRN_INLINE_LAMBDA { detail::construct_at<T>(at, std::forward<Args>(args)...); });
    }
    /// A new object that knows its own handle: make(h) returns it, built in place.
    template <class Make>
    [[nodiscard]] handle_type emplace_with(Make&& make) {
        return insert_in_place<noexcept(T(make(handle_type{})))>(
            [&](void* at, handle_type h) { ::new (at) T(make(h)); });
    }
    [[nodiscard]] handle_type insert(const T& value) { return emplace(value); }
    [[nodiscard]] handle_type insert(T&& value) { return emplace(std::move(value)); }

    /// A handle now, the object later: find() answers nullptr until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type promise_handle() noexcept {
        if (!slots_.ready()) [[unlikely]] { return {}; }
        const slot_set::place at = slots_.take(rules);
        slots_.promise(at);
        return handle_type::make(at.index, slots_.life(at.index) & ~chunk::vacant);
    }
    /// True when `h` came from promise_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_promised(handle_type h) const noexcept {
        return slots_.is_promised(h.index(), h.generation());
    }
    /// Builds the object of a promised handle. Requires: is_promised(h).
    /// Throws: what T's constructor throws; the handle stays promised then.
    template <class... Args>
    [[nodiscard]] T* fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        T* const object = slot_of(h.index());
        cairn::unpoison(object, sizeof(T));
        {
            [[maybe_unused]] const auto built = mark_.begin_object();
            detail::construct_at<T>(static_cast<void*>(object), std::forward<Args>(args)...);
        }
        CAIRN_ASSERT(is_promised(h),
                     "a promised handle is not given up by the constructor of its object",
                     {.object = this, .type = type_name});
        slots_.fulfil(h.index(), h.generation());
        return object;
    }
    /// Gives a promised handle back unused. Requires: is_promised(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be abandoned");
        slots_.drop_promised(h.index());
    }

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; null when it is gone. Any handle may be asked for.
    [[nodiscard]] T* find(handle_type h) noexcept { return locate(h); }
    [[nodiscard]] const T* find(handle_type h) const noexcept { return locate(h); }
    [[nodiscard]] bool contains(handle_type h) const noexcept { return locate(h) != nullptr; }

    /// Requires: contains(h). Any other handle stops a checked build, with what is wrong with it
    /// (null, of another map, not fulfilled yet, stale) and the line that asked.
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
        const auto address = reinterpret_cast<std::uintptr_t>(compiler::address_of(object));
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            const auto first = reinterpret_cast<std::uintptr_t>(slots_.table()[p].objects);
            if (first != 0 && address - first < slots_per_chunk * sizeof(T)) {
                const auto index =
                    static_cast<std::uint32_t>(p * slots_per_chunk + (address - first) / sizeof(T));
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

    // ---- all of them --------------------------------------------------------------------------

    /// Calls f(object) or f(handle, object) for every object, by slot. The fastest way through.
    /// `f` may erase the object it is given and insert others (which may be visited or not); to
    /// erase others while iterating, use begin() and end().
    template <class F>
    void for_each(F&& f) {
        [[maybe_unused]] const auto loop = begin_loop();
        for (std::size_t p = 0; p < chunk_count(); ++p) { visit_chunk<T>(p, f); }
    }
    template <class F>
    void for_each(F&& f) const {
        [[maybe_unused]] const auto loop = begin_loop();
        for (std::size_t p = 0; p < chunk_count(); ++p) { visit_chunk<const T>(p, f); }
    }
    /// As for_each, one chunk only: chunks are for parallel loops, and no two of them share
    /// a cache line. Requires: p < chunk_count().
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) {
        [[maybe_unused]] const auto loop = begin_loop();
        visit_chunk<T>(p, f);
    }
    template <class F>
    void for_each_in_chunk(std::size_t p, F&& f) const {
        [[maybe_unused]] const auto loop = begin_loop();
        visit_chunk<const T>(p, f);
    }

    /// Forward iteration in slot order. Erasing any object and inserting are allowed meanwhile.
    [[nodiscard]] iterator begin() noexcept {
        mark_.expect_whole(this, type_name);
        return {&slots_, 0};
    }
    [[nodiscard]] iterator end() noexcept { return iterator{&slots_}; }
    [[nodiscard]] const_iterator begin() const noexcept {
        mark_.expect_whole(this, type_name);
        return {&slots_, 0};
    }
    [[nodiscard]] const_iterator end() const noexcept { return const_iterator{&slots_}; }
    [[nodiscard]] const_iterator cbegin() const noexcept { return begin(); }
    [[nodiscard]] const_iterator cend() const noexcept { return end(); }
    /// Handle and object of each, by slot: for (auto [h, object] : map.items()).
    [[nodiscard]] auto items() noexcept {
        return detail::stable_items<iterator, detail::slot_item<handle_type, T&>>{begin(), end()};
    }
    [[nodiscard]] auto items() const noexcept {
        return detail::stable_items<const_iterator, detail::slot_item<handle_type, const T&>>{
            begin(), end()};
    }
    /// True when the same handles find equal objects in both.
    friend bool operator==(const stable_slot_map& a, const stable_slot_map& b)
        requires std::equality_comparable<T>
    {
        [[maybe_unused]] const auto loop_a = a.begin_loop();
        [[maybe_unused]] const auto loop_b = b.begin_loop();
        bool are_equal = a.size() == b.size();
        for (auto it = a.begin(); are_equal && it != a.end(); ++it) {
            const T* const other = b.locate(it.handle());
            are_equal = other != nullptr && *it == *other;
        }
        return are_equal;
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the object. Returns: false when the handle was stale already (nothing happens).
    [[CAIRN_FORCE_INLINE]] bool erase(handle_type h) noexcept {
        const std::size_t p = h.index() >> rules.slots_log2;
        if (p >= chunk_count()) [[unlikely]] { return false; }
        const slot_set::entry at = slots_.table()[p];
        const std::uint32_t slot = h.index() & rules.slot_mask();
        const std::uint32_t generation = h.generation();
        std::uint32_t& life = at.state->lives(rules)[slot];
        if (life != generation) [[unlikely]] { return false; }
        life = slot_set::hidden(generation);  // first: ~T() may come back here
        destroy(reinterpret_cast<T*>(at.objects) + slot);
        slots_.leave(rules, h.index(), at.state, generation);
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
    /// Erases every object that `predicate` is true for; each is asked once, by slot. The others
    /// stay where they are, and the predicate may change the map. Returns: how many were erased.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        [[maybe_unused]] const auto loop = begin_loop();
        std::size_t count = 0;
        for (std::size_t p = 0; p < chunk_count(); ++p) {
            chunk* const state = slots_.table()[p].state;
            for (std::uint64_t used = state->used; used != 0; used &= used - 1) {
                const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
                for (std::uint64_t live = state->objects_in(rules, w); live != 0;) {
                    const std::uint32_t slot =
                        w * 64 + static_cast<std::uint32_t>(std::countr_zero(live));
                    const auto index = static_cast<std::uint32_t>(p * slots_per_chunk + slot);
                    // Before the question, in which the slot may get another object.
                    const auto h = handle_type::make(index, slots_.life(index));
                    if (predicate(*slot_of(index))) { count += erase(h) ? 1u : 0u; }
                    // Destructors may have erased others of this word.
                    live = (live & (live - 1)) & state->objects_in(rules, w);
                }
            }
        }
        return count;
    }
    /// Every object is destroyed and every handle is stale, promised ones too.
    /// What is retired still waits for its fence. Empty chunks go back as always. The objects of 64
    /// neighbouring slots are out of sight before the first of them is destroyed.
    void clear() noexcept {
        for (bool has_ended = true; has_ended && size() != 0;) {
            has_ended = false;  // again, if destructors have inserted others
            for (std::size_t p = 0; p < chunk_count(); ++p) { has_ended |= clear_chunk(p); }
        }
        slots_.drop_all_promised();
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the object stays where it is and is destroyed by the collect() that
    /// is given `fence` or more: a GPU or a job may still be using it.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    [[nodiscard]] bool retire(handle_type h, std::uint64_t fence) noexcept {
        return contains(h) && slots_.set_aside(h.index(), fence);
    }
    /// Destroys what was retired with a fence <= completed. Returns: how many. O(pending).
    std::size_t collect(std::uint64_t completed) noexcept {
        std::size_t count = 0;
        for (std::size_t at = 0;; ++count) {
            const std::uint32_t index = slots_.next_due(completed, at);
            if (index == slot_set::no_slot) { return count; }
            destroy(slot_of(index));  // out of the list before: ~T() may come back here
            slots_.finish(index);
        }
    }
    /// Objects that wait for their fence.
    [[nodiscard]] std::size_t pending_count() const noexcept { return slots_.waiting_count(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t worn_out_slot_count() const noexcept {
        return slots_.worn_out_count();
    }
    /// Brings worn-out slots back with their first generation. O(slots).
    /// Requires: no handle of any object that ever lived in them is left, anywhere.
    /// Returns: how many came back.
    std::size_t recycle_slots(detail::no_handles_left_t) noexcept { return slots_.recycle(); }

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
        [[maybe_unused]] const auto loop = other.begin_loop();
        [[maybe_unused]] const std::size_t begun = other.begun_count();
        if (!slots_.copy_chunks(other.slots_)) { return false; }
        if constexpr (std::is_trivially_copy_constructible_v<T>) {
            for (detail::live_word word = other.slots_.next_live(0); word.live != 0;
                 word = other.slots_.next_live(word.first + 64)) {
                copy_objects(other, word);
                slots_.enter_copies(word);
            }
        } else {
            for (auto it = other.begin(); it != other.end(); ++it) {
                const handle_type h = it.handle();
                CAIRN_ASSERT(other.begun_count() == begun,
                             "a copy constructor inserts nothing into the map that is copied",
                             {.object = compiler::address_of(other), .type = type_name});
                T* const object = slot_of(h.index());
                cairn::unpoison(object, sizeof(T));
                ::new (static_cast<void*>(object)) T(*it);
                slots_.enter_copies(
                    {h.index() & ~std::size_t{63}, std::uint64_t{1} << (h.index() & 63)});
            }
        }
        slots_.finish_waiting_of(other.slots_);
        return true;
    }
    void swap(stable_slot_map& other) noexcept {
        mark_.expect_free(this, type_name);
        other.mark_.expect_free(compiler::address_of(other), type_name);
        slot_set between{std::move(slots_)};
        detail::begin_anew(slots_, other.slots_);
        detail::begin_anew(other.slots_, between);
    }
    friend void swap(stable_slot_map& a, stable_slot_map& b) noexcept { a.swap(b); }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept { slots_.validate(); }

private:
    static constexpr const char* type_name = "stable_slot_map";
    [[nodiscard]] auto begin_loop() const noexcept { return mark_.visit(this, type_name); }
    /// Objects that ever lived here.
    [[nodiscard]] std::size_t begun_count() const noexcept {
        return slots_.size() + slots_.ended_count();
    }
    /// Where the object of slot `index` lies, or will. Requires: its chunk has memory.
    [[nodiscard]] T* slot_of(std::uint32_t index) const noexcept {
        return reinterpret_cast<T*>(slots_.table()[index >> rules.slots_log2].objects) +
               (index & rules.slot_mask());
    }
    /// The objects of a word of `other`: whole words at once.
    void copy_objects(const stable_slot_map& other, detail::live_word word) noexcept {
        const auto first = static_cast<std::uint32_t>(word.first);
        T* const to = slot_of(first);
        const T* const from = other.slot_of(first);
        if (word.live == ~std::uint64_t{0}) {
            cairn::unpoison(to, 64 * sizeof(T));
            compiler::copy_bytes<64 * sizeof(T)>(to, from);
            return;
        }
        for (; word.live != 0; word.live &= word.live - 1) {
            const auto bit = static_cast<std::uint32_t>(std::countr_zero(word.live));
            cairn::unpoison(to + bit, sizeof(T));
            ::new (static_cast<void*>(to + bit)) T(from[bit]);
        }
    }
    void destroy(T* object) noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            [[maybe_unused]] const auto ending = mark_.begin_object();
            object->~T();
        }
        cairn::poison(object, sizeof(T));
    }

    [[nodiscard]] T* locate(handle_type h) const noexcept {
        const std::size_t p = h.index() >> rules.slots_log2;
        if (p < chunk_count()) [[likely]] {
            const slot_set::entry& at = slots_.table()[p];
            const std::uint32_t slot = h.index() & rules.slot_mask();
            if (at.state->lives(rules)[slot] == h.generation()) [[likely]] {
                return detail::not_null(reinterpret_cast<T*>(at.objects) + slot);
            }
        }
        return nullptr;
    }
    [[nodiscard]] T* live(handle_type h, [[maybe_unused]] call_site from) const noexcept {
        return asserts_enabled ? found_or_stop(h, from) : locate(h);
    }
    [[nodiscard]] T* found_or_stop(handle_type h, call_site from) const noexcept {
        T* const object = locate(h);
        if (object == nullptr) [[unlikely]] {
            slots_.refuse(h.index(), h.generation(), this, from);
        }
        return object;
    }

    /// The slot is taken before the object is built, so that its constructor may use this map; its
    /// generation is written afterwards, so that no handle finds the object before it is there.
    template <bool IsNothrow, class Build>
    [[CAIRN_FORCE_INLINE]] handle_type insert_in_place(Build build) {
        if (!slots_.ready()) [[unlikely]] { return {}; }
        const slot_set::place at = slots_.take(rules);
        std::uint32_t& life = at.state->lives(rules)[at.slot];
        const std::uint32_t generation = life & ~chunk::vacant;
        const handle_type h = handle_type::make(at.index, generation);
        T* const object = reinterpret_cast<T*>(at.objects) + at.slot;
        cairn::unpoison(object, sizeof(T));
        [[maybe_unused]] const auto building = mark_.begin_object();
        if constexpr (IsNothrow) {
            build(static_cast<void*>(object), h);
        } else {
            detail::rollback undo{[&]() noexcept {
                cairn::poison(object, sizeof(T));
                slots_.untake(at);
            }};
            build(static_cast<void*>(object), h);
            undo.cancel();
        }
        life = generation;
        return h;
    }

    template <class Other, class F>
    void visit_chunk(std::size_t p, F& f) const {
        chunk* const state = slots_.table()[p].state;
        for (std::uint64_t used = state->used; used != 0; used &= used - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
            // Asked again for each word: `f` may insert and erase.
            Other* const objects =
                as_it_is(reinterpret_cast<Other*>(slots_.table()[p].objects) + w * 64);
            for (std::uint64_t live = state->objects_in(rules, w); live != 0; live &= live - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(live));
                CAIRN_ASSERT((state->lives(rules)[w * 64 + bit] & chunk::vacant) == 0,
                             "for_each erases the object that it visits, and no other: to erase "
                             "others, loop from begin() to end()",
                             {.object = this, .type = type_name});
                if constexpr (std::is_invocable_v<F&, handle_type, Other&>) {
                    const std::uint32_t slot = w * 64 + bit;
                    f(handle_type::make(static_cast<std::uint32_t>(p * slots_per_chunk + slot),
                                        state->lives(rules)[slot]),
                      objects[bit]);
                } else {
                    f(objects[bit]);
                }
            }
        }
    }
    /// Returns: whether an object was destroyed.
    bool clear_chunk(std::size_t p) noexcept {
        bool has_ended = false;
        for (std::uint64_t used = slots_.table()[p].state->used; used != 0; used &= used - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
            const std::uint64_t hidden = slots_.hide_word(p, w);
            if (hidden == 0) { continue; }
            T* const objects = reinterpret_cast<T*>(slots_.table()[p].objects) + w * 64;
            for (std::uint64_t bits = hidden; bits != 0; bits &= bits - 1) {
                destroy(objects + std::countr_zero(bits));
            }
            slots_.free_word(p, w, hidden);
            has_ended = true;
        }
        return has_ended;
    }
    /// A pointer that the compiler keeps in a register as it is. gcc would compute
    /// base + first * 64 + bit anew at each bit.
    template <class Other>
    [[nodiscard]] static Other* as_it_is(Other* p) noexcept {
        compiler::hide(p);
        return p;
    }

    template <class>
    friend class cairn::unique_handle;

    slot_set slots_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::owner_count owners_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;
};

template <class T, class Policy>
struct detail::store_traits<stable_slot_map<T, Policy>> : detail::map_traits<T, Policy> {
    static constexpr bool keeps_addresses = true;
};

}}  // namespace cairn::CAIRN_FLAVOUR
