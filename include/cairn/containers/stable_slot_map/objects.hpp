// cairn/containers/stable_slot_map/objects.hpp - objects in the slots of a stable_slot_map.
//
//      handle  ->  chunk index / slots_per_chunk, slot index % slots_per_chunk
//                  generation[slot] == that of the handle:     objects + slot      else null
//
//      a new one:   1. the slot is taken, and no handle finds it
//                   2. the constructor runs: it may use the map
//                   3. its generation is written: handles find it
//
// Cost: locate: chunk, generation, compare, object. A loop: a word for 64 slots, and a count of
//       zeros for each object.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/containers/stable_slot_map/iterator.hpp>
#include <cairn/containers/stable_slot_map/slots.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/make.hpp>
#include <cairn/core/poison.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// A pointer that the compiler keeps in a register as it is. gcc would rather take base + first *
/// 64 + bit apart again, and add the middle at each bit.
template <class T>
[[nodiscard]] inline T* as_it_is(T* p) noexcept {
#if defined(__GNUC__)
    __asm__("" : "+r"(p));
#endif
    return p;
}

template <class T, class Policy, class Steps>
class stable_objects {
public:
    using handle_type = typename Policy::template handle_type<T>;

protected:
    using slots = stable_slots<stable_chunk_slots_log2(sizeof(T)), handle_type::index_max,
                               handle_type::generation_max, Steps>;
    using chunk = typename slots::chunk;
    static constexpr unsigned slots_log2 = slots::slots_log2;
    static constexpr std::uint32_t slot_mask = slots::slot_mask;
    static constexpr alignment object_alignment{alignof(T) > cache_line_size ? alignof(T)
                                                                             : cache_line_size};
    static_assert(cache_line_size > 64 || (64 * sizeof(T)) % cache_line_size == 0,
                  "words never share a cache line of 64 bytes");

public:
    /// Objects that lie in one piece.
    static constexpr std::size_t slots_per_chunk = chunk::slot_count;
    /// Steps (step_counter.hpp) of one insertion or one erasure, whatever the size of the map. A
    /// new chunk is on top, when an insertion needs one.
    static constexpr std::uint64_t step_count_max = slots::step_count_max;

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

    // ---- one object begins and ends -----------------------------------------------------------

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
    [[nodiscard]] T* fulfil(handle_type h, Args&&... args) {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be fulfilled");
        T* const object = slot_of(h.index());
        unpoison(object, sizeof(T));
        construct_at<T>(static_cast<void*>(object), std::forward<Args>(args)...);
        slots_.fulfil(h.index(), h.generation());
        return object;
    }
    /// Gives a promised handle back unused. Requires: is_promised(h).
    void abandon(handle_type h) noexcept {
        CAIRN_ASSERT(is_promised(h), "only a promised handle can be abandoned");
        slots_.drop_promised(h.index());
    }

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

protected:
    stable_objects(allocator_ref upstream, const slot_map_options& options) noexcept
        : slots_{sizeof(T), object_alignment, upstream, options.first_generation} {}

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
                return not_null(reinterpret_cast<T*>(entry.objects) + slot);
            }
        }
        return nullptr;
    }

    /// Where `object` is, which `h` has found; the end when that is null.
    template <class U>
    [[nodiscard]] stable_iterator<slots, handle_type, U> iterator_at(U* object,
                                                                     handle_type h) const noexcept {
        using at = stable_iterator<slots, handle_type, U>;
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
            rollback undo{[&]() noexcept {
                poison(object, sizeof(T));
                slots_.untake(at);
            }};
            build(static_cast<void*>(object), h);
            undo.cancel();
        }
        at.state->generation[at.slot] = at.generation;
        return h;
    }

    template <class U, class F>
    void visit_chunk(std::size_t p, F& f) const {
        const chunk& state = *slots_.chunks()[p].state;
        for (std::uint64_t used = state.used; used != 0; used &= used - 1) {
            const auto w = static_cast<std::uint32_t>(std::countr_zero(used));
            // Each time: `f` may insert and erase.
            U* const objects = as_it_is(reinterpret_cast<U*>(slots_.chunks()[p].objects) + w * 64);
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

    slots slots_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
