// cairn/containers/stable_slot_map.hpp - handles that cannot lie, and addresses that never change.
//
//      handle {page 1, slot 3, life 5}
//      pages:   +--------+--------+--------+
//               |   0    |   1    |   2    |          summary: words with a free slot, with a live one
//               +---+----+---+----+---+----+            |
//                   v        v        v                 v
//                 +----+   +----+   +----+       words: 1 bit a slot       generations: 4 bytes a slot
//                 | a  |   | d  |   |    |
//                 | b  |   | -  |   +----+ empty: the block went back; only generations stay
//                 | c  |   | e  |
//                 +----+   +----+   objects, where they were built
//
// Iteration goes by words: 64 slots are one load, and the live ones are found by counting zeros. New
// objects take the lowest free slots: insertion opens the lowest word that has any, and fills it from
// the lowest on before it looks for the next. So the live ones gather at the front, and pages behind
// run empty and go back.
//
// Use it for: objects that others point into, that cannot move (mutexes, intrusive lists), or that
//             are replaced much more often than they are iterated.
// Look elsewhere for: spans and sorting (slot_map); columns (slot_map<table>); the fastest iteration
//             of a set that is mostly holes (slot_map keeps it packed).
//
// Invariant: an object lives where it was built until it is erased.
// Cost:      find: page, generation, compare, object. emplace: one bit scan and three stores beside
//            the object's own; looks for the next word when this one is full. erase: six stores.
//            Growth: one page, nothing is copied.
//            The page is as many slots as fit 64 KiB (64 to 4096).
// Reuse:     the lowest word with a free slot. Busy slots use up their generations: keep 31 bits of them
//            (the default) where the first slots are replaced thousands of times.
// Threads:   one at a time; find and iteration from many while nobody changes it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <cairn/alloc/growable_memory.hpp>
#include <cairn/containers/packed_array.hpp>
#include <cairn/containers/slot_policy.hpp>
#include <cairn/containers/stable_page.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/poison.hpp>

namespace cairn {

template <class T, class Policy = slot_policy<>>
class stable_slot_map {
    static constexpr unsigned slots_log2 = detail::stable_page_slots_log2(sizeof(T));
    using page = detail::stable_page<slots_log2>;

    struct page_entry {
        page* state;
        T* objects;  // nullptr while the page is empty and its block is with the upstream
    };

public:
    using handle_type = typename Policy::template handle_type<T>;
    using key_type = handle_type;
    using mapped_type = T;
    using value_type = T;
    using size_type = std::size_t;
    using reference = T&;
    using const_reference = const T&;

    static constexpr std::size_t slots_per_page = page::slot_count;

    explicit stable_slot_map(allocator_ref upstream = system_memory()) noexcept
        : table_{alignment::of<page_entry>(), upstream}, limbo_{upstream} {}

    stable_slot_map(stable_slot_map&& other) noexcept
        : table_{std::move(other.table_)}, limbo_{std::move(other.limbo_)} {
        take_counts(other);
    }
    stable_slot_map& operator=(stable_slot_map&& other) noexcept {
        if (this != &other) {
            release();
            table_ = std::move(other.table_);
            limbo_ = std::move(other.limbo_);
            take_counts(other);
        }
        return *this;
    }
    ~stable_slot_map() { release(); }

    // ---- finding ------------------------------------------------------------------------------

    /// The object that `h` names; nullptr when it is gone. Any handle may be asked for.
    [[nodiscard]] T* find(handle_type h) noexcept { return locate(h); }
    [[nodiscard]] const T* find(handle_type h) const noexcept { return locate(h); }
    [[nodiscard]] bool contains(handle_type h) const noexcept { return locate(h) != nullptr; }

    /// Requires: contains(h); a stale handle stops a checked build.
    [[nodiscard]] T& operator[](handle_type h) noexcept {
        T* const object = locate(h);
        CAIRN_ASSERT(object != nullptr, "the handle is not stale");
        return *object;
    }
    [[nodiscard]] const T& operator[](handle_type h) const noexcept {
        const T* const object = locate(h);
        CAIRN_ASSERT(object != nullptr, "the handle is not stale");
        return *object;
    }

    // ---- room ---------------------------------------------------------------------------------

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] allocator_ref upstream() const noexcept { return table_.upstream(); }
    /// Slots in all pages, with or without memory behind them.
    [[nodiscard]] std::size_t capacity() const noexcept { return page_count_ * slots_per_page; }
    [[nodiscard]] std::size_t page_count() const noexcept { return page_count_; }
    /// Pages whose block of objects is with us.
    [[nodiscard]] std::size_t pages_with_memory() const noexcept {
        std::size_t count = 0;
        for (std::size_t p = 0; p < page_count_; ++p) { count += pages()[p].objects ? 1u : 0u; }
        return count;
    }

    /// Room for `count` objects in all, in pages that stay when they run empty: insertions up to
    /// there never allocate. Returns: false when exhausted; what was gained until then stays.
    bool reserve(std::size_t count) noexcept {
        const std::size_t wanted = count / slots_per_page + (count % slots_per_page != 0 ? 1 : 0);
        if (wanted > page_count_max) { return false; }
        while (page_count_ < wanted) {
            if (!add_page()) { return false; }
        }
        for (std::size_t p = 0; p < wanted; ++p) {
            if (pages()[p].objects == nullptr && !bring_back(p)) { return false; }
        }
        kept_page_count_ = wanted > kept_page_count_ ? wanted : kept_page_count_;
        return true;
    }

    /// Gives back the blocks of all empty pages, reserved ones too; the generations stay.
    void return_empty_pages() noexcept {
        close_word();
        kept_page_count_ = 0;
        spare_page_ = no_page;
        for (std::size_t p = 0; p < page_count_; ++p) {
            const page& state = *pages()[p].state;
            if (pages()[p].objects != nullptr && state.used == 0 && !state.keeps_memory()) {
                send_back(p);
            }
        }
    }

    // ---- inserting ----------------------------------------------------------------------------

    /// A new object in the lowest free slot, built in place; it never moves.
    /// Returns: its handle; null when exhausted, nothing has changed then.
    /// Throws:  what T's constructor throws; nothing has changed then.
    template <class... Args>
    handle_type emplace(Args&&... args) {
        return insert_in_place([&](void* at, handle_type) {
            detail::construct_at<T>(at, std::forward<Args>(args)...);
        });
    }

    /// A new object that knows its own handle: make(h) returns it, built in place.
    template <class Make>
    handle_type emplace_with(Make&& make) {
        return insert_in_place([&](void* at, handle_type h) { ::new (at) T(make(h)); });
    }

    handle_type insert(const T& value) { return emplace(value); }
    handle_type insert(T&& value) { return emplace(std::move(value)); }

    /// A handle now, the object later: find() answers nullptr until fulfil().
    /// Returns: null when exhausted.
    [[nodiscard]] handle_type reserve_handle() noexcept {
        if (ready_ == 0 && !open_word()) [[unlikely]] { return {}; }
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(ready_));
        const std::uint32_t index = ready_index_ + bit;
        page& state = *pages()[index >> slots_log2].state;
        const std::uint32_t slot = index & slot_mask;
        ready_ &= ready_ - 1;
        state.leave(slot);
        page::set(state.blocked, slot);
        page::set(state.held, slot);
        ++state.held_count;
        return handle_type::make(index, state.generation[slot] & ~page::vacant);
    }

    /// True when `h` came from reserve_handle() and was neither fulfilled nor abandoned.
    [[nodiscard]] bool is_reserved(handle_type h) const noexcept {
        const std::size_t p = h.index() >> slots_log2;
        const std::uint32_t slot = h.index() & slot_mask;
        return p < page_count_ && page::bit(pages()[p].state->held, slot) &&
               pages()[p].state->generation[slot] == (h.generation() | page::vacant);
    }

    /// Builds the object of a reserved handle. Requires: is_reserved(h).
    template <class... Args>
    T* fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_reserved(h), "only a reserved handle can be fulfilled");
        const page_entry& entry = pages()[h.index() >> slots_log2];
        const std::uint32_t slot = h.index() & slot_mask;
        T* const object = build(entry.objects + slot, [&](void* at) {
            detail::construct_at<T>(at, std::forward<Args>(args)...);
        });
        page::reset(entry.state->blocked, slot);
        page::reset(entry.state->held, slot);
        --entry.state->held_count;
        page::set(entry.state->live, slot);
        entry.state->used |= std::uint64_t{1} << (slot / 64);
        entry.state->generation[slot] = h.generation();
        ++size_;
        return object;
    }

    /// Gives a reserved handle back unused. Requires: is_reserved(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_reserved(h), "only a reserved handle can be abandoned");
        drop_held(h.index() >> slots_log2, h.index() & slot_mask);
    }

    // ---- erasing ------------------------------------------------------------------------------

    /// Destroys the object. Returns: false when the handle was stale already (nothing happens).
    bool erase(handle_type h) noexcept {
        const std::size_t p = h.index() >> slots_log2;
        const std::uint32_t slot = h.index() & slot_mask;
        if (p >= page_count_) [[unlikely]] { return false; }
        const page_entry& entry = pages()[p];
        page& state = *entry.state;
        if (state.generation[slot] != h.generation()) [[unlikely]] { return false; }
        T* const object = entry.objects + slot;
        object->~T();
        poison(object, sizeof(T));
        --size_;
        const bool page_empty = state.leave(slot);
        end_life(p, slot, h.generation());
        if (page_empty) [[unlikely]] { page_is_empty(p); }
        return true;
    }

    /// Moves the object out and erases it. Returns: nothing when the handle is stale.
    [[nodiscard]] std::optional<T> take(handle_type h)
        requires std::is_move_constructible_v<T>
    {
        T* const object = locate(h);
        if (object == nullptr) [[unlikely]] { return std::nullopt; }
        std::optional<T> taken{std::move(*object)};
        erase(h);
        return taken;
    }

    /// Erases every object that `predicate` is true for. Returns: how many.
    template <class Predicate>
    std::size_t erase_if(Predicate&& predicate) {
        const std::size_t before = size_;
        for_each([&](handle_type h, T& object) {
            if (predicate(object)) { erase(h); }
        });
        return before - size_;
    }

    /// Every object is destroyed and every handle is stale, reserved ones too.
    /// What is retired still waits for its fence. Empty pages go back as always.
    void clear() noexcept {
        for_each([&](handle_type h, T&) { erase(h); });
        for (std::size_t p = 0; p < page_count_; ++p) {
            for (std::uint32_t w = 0; w < page::word_count; ++w) {
                for (std::uint64_t held = pages()[p].state->held[w]; held != 0; held &= held - 1) {
                    drop_held(p, w * 64 + static_cast<std::uint32_t>(std::countr_zero(held)));
                }
            }
        }
    }

    // ---- destruction that waits ---------------------------------------------------------------

    /// Look-ups fail at once; the object stays where it is and is destroyed when collect() is told
    /// that `fence` has passed: a GPU or a job may still be using it.
    /// Returns: false when the handle is stale or memory is exhausted; nothing has changed then.
    bool retire(handle_type h, std::uint64_t fence) noexcept {
        if (!contains(h)) [[unlikely]] { return false; }
        if (limbo_.emplace(fence, h.index()) == nullptr) { return false; }
        page& state = *pages()[h.index() >> slots_log2].state;
        const std::uint32_t slot = h.index() & slot_mask;
        page::set(state.blocked, slot);
        state.leave(slot);  // its page stays: page_is_empty() is asked again by collect()
        ++state.waiting_count;
        state.generation[slot] = next_life(h.generation());
        --size_;
        return true;
    }

    /// Destroys what was retired with a fence <= completed. Returns: how many. O(retired).
    std::size_t collect(std::uint64_t completed) noexcept {
        return limbo_.erase_if([&](const waiting& w) {
            if (w.fence > completed) { return false; }
            const std::size_t p = w.index >> slots_log2;
            const std::uint32_t slot = w.index & slot_mask;
            T* const object = pages()[p].objects + slot;
            object->~T();
            poison(object, sizeof(T));
            page& state = *pages()[p].state;
            --state.waiting_count;
            if (state.generation[slot] == page::vacant) {
                ++exhausted_count_;
            } else {
                page::reset(state.blocked, slot);
                slot_is_free(p, slot);
            }
            if (state.used == 0) { page_is_empty(p); }
            return true;
        });
    }

    /// Objects that wait for their fence.
    [[nodiscard]] std::size_t retired_count() const noexcept { return limbo_.size(); }

    // ---- generations --------------------------------------------------------------------------

    /// Slots whose generations are used up. They are never used again, until recycle_slots().
    [[nodiscard]] std::size_t exhausted_slot_count() const noexcept { return exhausted_count_; }

    /// Brings exhausted slots back with their first generation. O(slots).
    /// Requires: no handle of any object that ever lived in them is left, anywhere.
    /// Returns: how many came back.
    std::size_t recycle_slots(no_handles_left_t) noexcept {
        const std::size_t count = exhausted_count_;
        for (std::size_t p = 0; exhausted_count_ != 0 && p < page_count_; ++p) {
            page& state = *pages()[p].state;
            for (std::uint32_t slot = 0; slot < slots_per_page; ++slot) {
                if (state.generation[slot] == page::vacant && !waits(index_of(p, slot))) {
                    state.generation[slot] = page::vacant | 1;
                    page::reset(state.blocked, slot);
                    slot_is_free(p, slot);
                    --exhausted_count_;
                }
            }
        }
        return count;
    }

    // ---- all of them --------------------------------------------------------------------------

    /// Calls f(object) or f(handle, object) for every object, by slot. The fastest way through.
    /// `f` may erase the object it is given and insert others (which may be visited or not); to
    /// erase others while iterating, use begin()/end().
    template <class F>
    void for_each(F&& f) {
        for (std::size_t p = 0; p < page_count_; ++p) { for_each_in_page(p, f); }
    }
    template <class F>
    void for_each(F&& f) const {
        for (std::size_t p = 0; p < page_count_; ++p) { for_each_in_page(p, f); }
    }

    /// As for_each, one page only: pages are chunks for parallel loops, and no two of them share a
    /// cache line. Requires: p < page_count().
    template <class F>
    void for_each_in_page(std::size_t p, F&& f) {
        visit_page<T>(p, f);
    }
    template <class F>
    void for_each_in_page(std::size_t p, F&& f) const {
        visit_page<const T>(p, f);
    }

    /// Forward iteration in slot order. Erasing any object and inserting are allowed meanwhile.
    template <class U>
    class basic_iterator {
    public:
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using reference = U&;
        using pointer = U*;

        basic_iterator() noexcept = default;
        [[nodiscard]] U& operator*() const noexcept {
            return map_->pages()[index_ >> slots_log2].objects[index_ & slot_mask];
        }
        [[nodiscard]] U* operator->() const noexcept { return &**this; }
        /// The handle of the object here.
        [[nodiscard]] handle_type handle() const noexcept { return map_->handle_at(index_); }
        basic_iterator& operator++() noexcept {
            index_ = map_->next_live(index_ + 1);
            return *this;
        }
        basic_iterator operator++(int) noexcept {
            basic_iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(basic_iterator a, basic_iterator b) noexcept {
            return a.index_ == b.index_;
        }

    private:
        friend class stable_slot_map;
        basic_iterator(const stable_slot_map* map, std::size_t index) noexcept
            : map_{map}, index_{index} {}
        const stable_slot_map* map_ = nullptr;
        std::size_t index_ = 0;
    };
    using iterator = basic_iterator<T>;
    using const_iterator = basic_iterator<const T>;

    [[nodiscard]] iterator begin() noexcept { return {this, next_live(0)}; }
    [[nodiscard]] iterator end() noexcept { return {this, no_index}; }
    [[nodiscard]] const_iterator begin() const noexcept { return {this, next_live(0)}; }
    [[nodiscard]] const_iterator end() const noexcept { return {this, no_index}; }

    /// Erases `*where`. Returns: the next one.
    iterator erase(iterator where) noexcept {
        erase(where.handle());
        return ++where;
    }

    /// O(slots). A broken invariant stops a checked build.
    void validate() const noexcept;

private:
    static constexpr std::uint32_t slot_mask = page::slot_count - 1;
    static constexpr std::size_t no_page = SIZE_MAX;
    static constexpr std::size_t no_index = SIZE_MAX;
    static constexpr std::size_t page_count_max =
        (std::size_t{handle_type::index_max} + 1 + slot_mask) >> slots_log2;
    static constexpr alignment object_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                             : cache_line_size};
    static constexpr std::size_t block_size = slots_per_page * sizeof(T);
    static_assert((64 * sizeof(T)) % cache_line_size == 0, "words never share a cache line");

    struct waiting {
        std::uint64_t fence;
        std::uint32_t index;
    };

    page_entry* pages() const noexcept { return reinterpret_cast<page_entry*>(table_.data()); }

    static std::uint32_t index_of(std::size_t p, std::uint32_t slot) noexcept {
        return static_cast<std::uint32_t>(p << slots_log2) | slot;
    }
    static std::uint32_t next_life(std::uint32_t generation) noexcept {
        return page::vacant | (generation == handle_type::generation_max ? 0 : generation + 1);
    }

    [[nodiscard]] T* locate(handle_type h) const noexcept {
        const std::size_t p = h.index() >> slots_log2;
        if (p < page_count_) [[likely]] {
            const page_entry& entry = pages()[p];
            const std::uint32_t slot = h.index() & slot_mask;
            if (entry.state->generation[slot] == h.generation()) [[likely]] {
                return detail::not_null(entry.objects + slot);
            }
        }
        return nullptr;
    }

    /// The objects of word `w`: what is marked live, less the slots that insertion has in hand.
    [[nodiscard]] std::uint64_t live_in(const page& state, std::uint32_t w) const noexcept {
        const std::uint64_t* const word = &state.live[w];
        return *word & ~(word == ready_live_ ? ready_ : 0);
    }

    [[nodiscard]] handle_type handle_at(std::size_t index) const noexcept {
        return handle_type::make(static_cast<std::uint32_t>(index),
                                 pages()[index >> slots_log2].state->generation[index & slot_mask]);
    }

    template <class Build>
    static T* build(T* at, Build&& construct) {
        unpoison(at, sizeof(T));
        construct(static_cast<void*>(at));
        return at;
    }

    template <class Build>
    handle_type insert_in_place(Build&& construct) {
        if (ready_ == 0) [[unlikely]] {
            if (!open_word()) { return {}; }
        }
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(ready_));
        const std::uint32_t generation = ready_generations_[bit] & ~page::vacant;
        const handle_type h = handle_type::make(ready_index_ + bit, generation);
        build(ready_objects_ + bit, [&](void* at) { construct(at, h); });
        ready_ &= ready_ - 1;
        ready_generations_[bit] = generation;
        ++size_;
        return h;
    }

    /// `slot`'s life is over: it is free again, or exhausted.
    void end_life(std::size_t p, std::uint32_t slot, std::uint32_t generation) noexcept {
        page& state = *pages()[p].state;
        if (generation == handle_type::generation_max) [[unlikely]] {
            state.generation[slot] = page::vacant;
            page::set(state.blocked, slot);
            ++exhausted_count_;
            return;
        }
        state.generation[slot] = page::vacant | (generation + 1);
        slot_is_free(p, slot);
    }

    void slot_is_free(std::size_t p, std::uint32_t slot) noexcept {
        open_page_ = p < open_page_ ? p : open_page_;
        pages()[p].state->reopen(slot);
    }

    void drop_held(std::size_t p, std::uint32_t slot) noexcept {
        page& state = *pages()[p].state;
        page::reset(state.held, slot);
        --state.held_count;
        page::reset(state.blocked, slot);
        end_life(p, slot, state.generation[slot] & ~page::vacant);
        if (state.used == 0) { page_is_empty(p); }
    }

    [[nodiscard]] bool waits(std::uint32_t index) const noexcept {
        for (const waiting& w : limbo_) {
            if (w.index == index) { return true; }
        }
        return false;
    }

    /// First live slot at or after `index`, else no_index.
    [[nodiscard]] std::size_t next_live(std::size_t index) const noexcept {
        std::size_t p = index >> slots_log2;
        if (p >= page_count_) { return no_index; }
        const auto slot = static_cast<std::uint32_t>(index & slot_mask);
        const page* state = pages()[p].state;
        std::uint32_t w = slot / 64;
        std::uint64_t live = live_in(*state, w) & (~std::uint64_t{0} << (slot & 63));
        while (live == 0) {
            const std::uint64_t later = w == 63 ? 0 : state->used & (~std::uint64_t{0} << (w + 1));
            if (later != 0) {
                w = static_cast<std::uint32_t>(std::countr_zero(later));
            } else {
                do {
                    if (++p == page_count_) { return no_index; }
                    state = pages()[p].state;
                } while (state->used == 0);
                w = static_cast<std::uint32_t>(std::countr_zero(state->used));
            }
            live = live_in(*state, w);
        }
        return (p << slots_log2) + w * 64 + static_cast<std::uint32_t>(std::countr_zero(live));
    }

    template <class U, class F>
    void visit_page(std::size_t p, F& f) const {
        const page& state = *pages()[p].state;
        for (std::uint64_t used = state.used; used != 0; used &= used - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
            U* const objects = pages()[p].objects + w * 64;  // each time: `f` may insert and erase
            for (std::uint64_t live = live_in(state, w); live != 0; live &= live - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(live));
                if constexpr (std::is_invocable_v<F&, handle_type, U&>) {
                    const std::uint32_t slot = w * 64 + bit;
                    f(handle_type::make(index_of(p, slot), state.generation[slot]), objects[bit]);
                } else {
                    f(objects[bit]);
                }
            }
        }
    }

    // ---- pages come and go: cold --------------------------------------------------------------

    /// Makes the lowest word with a free slot the one that insertion fills. Returns: false when
    /// exhausted; nothing has changed then.
    [[gnu::noinline]] bool open_word() noexcept {
        for (std::size_t p = open_page_;; ++p) {
            if (p >= page_count_ && !add_page()) { return false; }
            page& state = *pages()[p].state;
            if (pages()[p].objects == nullptr && (state.count_open() == 0 || !bring_back(p))) {
                continue;
            }
            for (; state.open != 0; state.open &= state.open - 1) {
                const auto w = static_cast<std::uint32_t>(std::countr_zero(state.open));
                if (state.free(w) != 0) {
                    state.open &= state.open - 1;
                    open_page_ = p;
                    ready_ = state.free(w);
                    ready_index_ = index_of(p, w * 64);
                    ready_objects_ = pages()[p].objects + w * 64;
                    ready_generations_ = state.generation + w * 64;
                    ready_live_ = &state.live[w];
                    state.live[w] |= ready_;  // marked once for all of them, not at each insertion
                    state.used |= std::uint64_t{1} << w;
                    return true;
                }
            }
        }
    }

    /// The word that insertion fills is closed; its free slots are found again like all others.
    void close_word() noexcept {
        if (ready_ == 0) { return; }
        const std::size_t p = ready_index_ >> slots_log2;
        page& state = *pages()[p].state;
        const std::uint32_t w = (ready_index_ & slot_mask) / 64;
        state.live[w] &= ~ready_;
        if (state.live[w] == 0) { state.used &= ~(std::uint64_t{1} << w); }
        state.open |= std::uint64_t{1} << w;
        open_page_ = p < open_page_ ? p : open_page_;
        ready_ = 0;
    }

    [[gnu::noinline]] bool add_page() noexcept {
        if (page_count_ == page_count_max) { return false; }
        const std::size_t used = page_count_ * sizeof(page_entry);
        if (used + sizeof(page_entry) > table_.size() &&
            !table_.grow(grown_count(page_count_, page_count_ + 1) * sizeof(page_entry), used)) {
            return false;
        }
        void* const state = upstream().allocate(sizeof(page), alignment::of<page>());
        if (state == nullptr) { return false; }
        void* const objects = upstream().allocate(block_size, object_alignment);
        if (objects == nullptr) {
            upstream().deallocate(state, sizeof(page), alignment::of<page>());
            return false;
        }
        poison(objects, block_size);
        page_entry* const entry = ::new (static_cast<void*>(pages() + page_count_))
            page_entry{::new (state) page, static_cast<T*>(objects)};
        entry->state->start();
        block_the_unnameable(*entry->state);
        ++page_count_;
        return true;
    }

    /// A last page may have more slots than the handle has indices.
    void block_the_unnameable(page& state) noexcept {
        const std::uint64_t first = static_cast<std::uint64_t>(page_count_) << slots_log2;
        if (first + slot_mask <= handle_type::index_max) { return; }
        for (std::uint32_t slot = slot_mask; first + slot > handle_type::index_max; --slot) {
            page::set(state.blocked, slot);
        }
        state.open = state.count_open();
    }

    bool bring_back(std::size_t p) noexcept {
        void* const objects = upstream().allocate(block_size, object_alignment);
        if (objects == nullptr) { return false; }
        poison(objects, block_size);
        pages()[p].objects = static_cast<T*>(objects);
        pages()[p].state->open = pages()[p].state->count_open();
        return true;
    }

    void send_back(std::size_t p) noexcept {
        unpoison(pages()[p].objects, block_size);
        upstream().deallocate(pages()[p].objects, block_size, object_alignment);
        pages()[p].objects = nullptr;
        pages()[p].state->open = 0;
    }

    /// Keeps one empty page, the lowest, so that a map around a page boundary does not allocate
    /// and free at every second step.
    [[gnu::noinline]] void page_is_empty(std::size_t p) noexcept {
        if (p < kept_page_count_ || pages()[p].state->keeps_memory()) { return; }
        std::size_t other = spare_page_;
        if (other == p) { return; }
        if (other != no_page &&
            (pages()[other].objects == nullptr || pages()[other].state->used != 0 ||
             pages()[other].state->keeps_memory())) {
            other = no_page;
        }
        if (other == no_page) {
            spare_page_ = p;
            return;
        }
        spare_page_ = p < other ? p : other;
        send_back(p < other ? other : p);
    }

    void release() noexcept {
        clear();
        collect(~std::uint64_t{0});
        close_word();
        for (std::size_t p = 0; p < page_count_; ++p) {
            if (pages()[p].objects != nullptr) { send_back(p); }
            upstream().deallocate(pages()[p].state, sizeof(page), alignment::of<page>());
        }
        page_count_ = 0;
        kept_page_count_ = 0;
        open_page_ = 0;
        exhausted_count_ = 0;
        spare_page_ = no_page;
        table_.release();
    }

    void take_counts(stable_slot_map& other) noexcept {
        ready_ = std::exchange(other.ready_, 0);
        ready_index_ = other.ready_index_;
        ready_objects_ = other.ready_objects_;
        ready_generations_ = other.ready_generations_;
        ready_live_ = other.ready_live_;
        page_count_ = std::exchange(other.page_count_, 0);
        open_page_ = std::exchange(other.open_page_, 0);
        size_ = std::exchange(other.size_, 0);
        kept_page_count_ = std::exchange(other.kept_page_count_, 0);
        spare_page_ = std::exchange(other.spare_page_, no_page);
        exhausted_count_ = std::exchange(other.exhausted_count_, 0);
    }

    // The word that insertion fills: which of its slots are left, and where everything of it is.
    std::uint64_t ready_ = 0;
    std::uint32_t ready_index_ = 0;  // of its first slot
    T* ready_objects_ = nullptr;
    std::uint32_t* ready_generations_ = nullptr;
    const std::uint64_t* ready_live_ = nullptr;
    growable_memory table_;  // page_entry of every page
    std::size_t page_count_ = 0;
    std::size_t open_page_ = 0;  // no page below has a free slot outside the ready word
    std::size_t size_ = 0;
    std::size_t kept_page_count_ = 0;   // reserve(): these stay when empty
    std::size_t spare_page_ = no_page;  // empty and kept
    std::size_t exhausted_count_ = 0;
    packed_array<waiting> limbo_;
};

template <class T, class Policy>
void stable_slot_map<T, Policy>::validate() const noexcept {
#if CAIRN_ASSERTS
    std::size_t live_count = 0;
    std::size_t exhausted_count = 0;
    for (std::size_t p = 0; p < page_count_; ++p) {
        const page& state = *pages()[p].state;
        CAIRN_ASSERT(pages()[p].objects != nullptr || state.used == 0, "who lives has memory");
        const std::uint64_t found = pages()[p].objects != nullptr ? state.count_open() : 0;
        CAIRN_ASSERT((found & ~state.open) == 0, "the summary knows the words with free slots");
        CAIRN_ASSERT(found == 0 || p >= open_page_, "no page below the open one has a free slot");
        for (std::uint32_t w = 0; w < page::word_count; ++w) {
            CAIRN_ASSERT((state.live[w] & state.blocked[w]) == 0, "alive or blocked, not both");
            CAIRN_ASSERT((state.held[w] & ~state.blocked[w]) == 0, "held slots are blocked");
            CAIRN_ASSERT((state.live[w] != 0) == (((state.used >> w) & 1) != 0),
                         "the summary knows the words with live slots");
            CAIRN_ASSERT(&state.live[w] != ready_live_ || (ready_ & ~state.live[w]) == 0,
                         "slots in hand are marked");
            live_count += static_cast<std::size_t>(std::popcount(live_in(state, w)));
        }
        for (std::uint32_t slot = 0; slot < slots_per_page; ++slot) {
            const bool live = ((live_in(state, slot / 64) >> (slot & 63)) & 1) != 0;
            CAIRN_ASSERT(live == ((state.generation[slot] & page::vacant) == 0),
                         "exactly the live slots can be found");
            exhausted_count +=
                state.generation[slot] == page::vacant && !waits(index_of(p, slot)) ? 1u : 0u;
        }
    }
    CAIRN_ASSERT(live_count == size_, "live objects are counted");
    CAIRN_ASSERT(exhausted_count == exhausted_count_, "exhausted slots are counted");
#endif
}

}  // namespace cairn
