// cairn/containers/object_pool.hpp - objects that are built once and used many times.
//
//      acquire()                      release()
//         |   +------+------+------+      ^
//         +-> | live | idle | idle | -----+       idle objects stay constructed; hooks run when
//             +------+------+------+              they leave and when they come back
//               objects, side by side in blocks that double in size
//
//      cairn::object_pool<enemy> enemies;
//      enemies.prewarm(1000);                     builds now, not in the frame
//      {
//          auto e = enemies.acquire();            a lease: comes back by itself
//          e->attack();
//      }
//
// Use it for: objects whose constructor or destructor costs more than a cache miss: they register
//             themselves, open something, allocate.
// Look elsewhere for: cheap objects (pool_of, slot_map: a constructor of a few stores is not worth
//             keeping state for); objects that loops go over (slot_map, table); objects that
//             threads hand to each other (concurrent_object_pool).
//
// Invariant: an object is destroyed only by the pool's destructor, trim(), or as surplus.
// Cost:      acquire_raw and release are O(1): a stack of pointers; only release touches the
//            object's state; the hooks. Overhead: 8 bytes of state (rounded) and 8 bytes of stack
//            per object. Growth: one block and one stack from upstream; objects are built one by
//            one as they are needed for the first time, or ahead by prewarm(). Memory of a peak
//            goes back by trim().
// Callbacks: hooks, constructors, destructors and visitors may acquire and release other objects.
//            acquire() gives an empty lease to a destructor while the pool ends, and to a
//            constructor that a thread of prewarm() runs.
// Threads:   one at a time. prewarm() brings its own and ends them before it returns.
// Errors:    exhausted or full: an empty lease, nullptr. An object that is released twice, to the
//            wrong pool, or by its own hook or destructor, stops the program in every build. A
//            second release after another caller has acquired the object again is a release of
//            theirs: the pool cannot tell (a lease cannot do it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/containers/inside/object_slots.hpp>
#include <cairn/containers/pool_hooks.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/other_names.hpp>
#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/lease.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct object_pool_options {
    /// Objects of the first block; later blocks double the pool. No block exceeds object_count_max.
    std::size_t first_block = 64;
    /// A pool of this many objects refuses to grow: acquire() gives an empty lease.
    std::size_t object_count_max = SIZE_MAX;
    /// Objects that come back while this many are idle already are destroyed: the surplus.
    std::size_t idle_count_max = SIZE_MAX;
};

struct object_pool_stats {
    std::size_t live;    // acquired now
    std::size_t idle;    // built and waiting
    std::size_t peak;    // most that were live at once
    std::size_t misses;  // acquires that found no idle object: built one, or were refused
};

}  // namespace detail

template <detail::element T, class Hooks = pool_hooks<>, hook_rules Rules = hook_rules::all>
class object_pool : public detail::other_names_of_object_pools {
    // The state follows the object; both start at a multiple of 8, which poisoning wants.
    static constexpr std::size_t slot_alignment = alignof(T) < 8 ? 8 : alignof(T);
    // Blocks begin at a cache line, so that the threads of prewarm() can have lines of their own.
    static constexpr std::size_t block_alignment =
        slot_alignment < cache_line_size ? cache_line_size : slot_alignment;
    static constexpr std::size_t state_offset = (sizeof(T) + 3) / 4 * 4;
    static constexpr std::size_t slot_size =
        (state_offset + sizeof(detail::object_slots::state) + slot_alignment - 1) / slot_alignment *
        slot_alignment;

public:
    using value_type = T;
    using lease_type = lease<object_pool>;

    using options = detail::object_pool_options;
    using stats_type = detail::object_pool_stats;

    object_pool() noexcept : object_pool{system_memory()} {}
    explicit object_pool(allocator_ref upstream, const options& how = {}) noexcept
        : object_pool{Hooks{}, upstream, how} {}
    explicit object_pool(const options& how) noexcept
        : object_pool{Hooks{}, system_memory(), how} {}
    explicit object_pool(Hooks hooks, allocator_ref upstream = system_memory(),
                         const options& how = {}) noexcept
        : slots_{slot_size, state_offset, alignment{block_alignment}, upstream},
          hooks_{std::move(hooks)},
          options_{how} {}
    explicit object_pool(std::size_t, ...) = delete;  // objects: reserve(32), prewarm(32)
    object_pool(const object_pool&) = delete;
    object_pool& operator=(const object_pool&) = delete;

    /// Requires: every lease has ended. Destroys all objects.
    ~object_pool() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        CAIRN_ASSERT(live_count() == 0, "every object comes back before the pool ends");
        mark_.expect_free(this, "object_pool");
        while (slots_.idle_count_ != 0) {
            idle_count_min_ = none_to_acquire;
            destroy(slots_.stack_[--slots_.idle_count_]);
        }
        idle_count_min_ = none_to_acquire;
        slots_.for_each_built([this](void* slot) { destroy(slot); });
    }

    /// An object, built if none is idle; its hook for leaving the pool runs.
    /// Returns: an empty lease when the pool is full or the allocator exhausted.
    /// Throws:  what T's constructor throws; the pool is unchanged then. What the hooks throw; the
    ///          object is idle again then.
    [[nodiscard]] lease_type acquire() { return lease_type{*this, acquire_raw()}; }

    /// As acquire(), for callers who call release(). Returns: nullptr as above.
    [[nodiscard]] T* acquire_raw() {
        // One question for two: is one idle, and are the fewest ever more than that?
        if (slots_.idle_count_ <= idle_count_min_) [[unlikely]] { return acquire_lowest(); }
        return take_idle();
    }

    /// Gives an object back. Its hook runs, and it stays built. O(1).
    /// Requires: `object` is live in this pool; anything else stops the program in every build.
    void release(T* object, call_site from = call_site::current()) noexcept {
        CAIRN_ASSERT(object != nullptr, "an object is released once, to the pool it came from");
        void* const slot = object;
        const detail::object_slots::state last = state_of(slot);
        if (last.tag != tag() || slots_.is_idle(slot, last)) [[unlikely]] {
            detail::refuse_release(this, "object_pool", from);
        }
        in_hook(slot, true);
        detail::tell_released<Rules>(hooks_, *object);
        in_hook(slot, false);
        if (slots_.idle_count_ >= options_.idle_count_max) [[unlikely]] {
            destroy(slot);
            return;
        }
        push(slot);
    }
    /// As release() of its address.
    void release(T& object, call_site from = call_site::current()) noexcept {
        release(compiler::address_of(object), from);
    }

    /// Makes room for `count` objects in all; builds none. Returns: false when they would be more
    /// than the pool's maximum, or the allocator is exhausted; nothing has changed then.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        return count <= capacity() || slots_.reserve(count, options_.object_count_max);
    }

    /// Builds until `count` objects are idle, on `thread_count` threads. Each thread builds its own
    /// range of slots; the ranges share no cache line. Needs a T that may be built on any thread.
    /// Returns: false when the pool would exceed its maximum or the allocator is exhausted.
    /// Throws:  what the first constructor that threw has thrown, after all threads have ended; the
    ///          objects that were built stay, idle, and the pool works on.
    [[nodiscard]] bool prewarm(std::size_t count, std::size_t thread_count = 1);

    /// Calls f(object) for each live object, by address within its block. f may release the object
    /// that it is given; objects acquired meanwhile are visited or not. Cost: O(capacity).
    template <class F>
    void for_each(F f) {
        [[maybe_unused]] const auto loop = mark_.visit(this, "object_pool");
        slots_.for_each_live([&](void* slot) { f(*static_cast<T*>(slot)); });
    }
    template <class F>
    void for_each(F f) const {
        [[maybe_unused]] const auto loop = mark_.visit(this, "object_pool");
        slots_.for_each_live([&](void* slot) { f(*static_cast<const T*>(slot)); });
    }

    /// Destroys idle objects until `count` are left, those that came back last first. Then gives
    /// each block in which no object is left back to upstream; one live or idle object keeps its
    /// block, and a call by a constructor or destructor of an object keeps all.
    /// Requires: no for_each runs.
    /// Returns: the bytes that went back.
    /// Cost:    the destructors, and O(capacity) compares: for a loading screen, not for a frame.
    std::size_t trim(std::size_t count) noexcept {
        mark_.expect_free(this, "object_pool");
        while (slots_.idle_count_ > count) { destroy(slots_.stack_[--slots_.idle_count_]); }
        note_fewer_idle();
        return slots_.give_back_blocks();
    }

    [[nodiscard]] stats_type stats() const noexcept {
        const std::size_t now = built_count_ - idle_count_min_;
        return {live_count(), slots_.idle_count_, now > peak_count_ ? now : peak_count_,
                miss_count_};
    }
    [[nodiscard]] std::size_t live_count() const noexcept {
        return built_count_ - slots_.idle_count_;
    }
    /// Objects that are built and wait.
    [[nodiscard]] std::size_t idle_count() const noexcept { return slots_.idle_count_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.slot_count_; }

    /// O(objects). A broken invariant stops a checked build.
    void validate() const noexcept { slots_.validate(); }

private:
    [[nodiscard]] static detail::object_slots::state& state_of(void* slot) noexcept {
        return *reinterpret_cast<detail::object_slots::state*>(static_cast<std::byte*>(slot) +
                                                               state_offset);
    }
    /// What the objects of this pool carry: from the pool's address, so that a foreign object does
    /// not match; odd, so that it is never 0.
    [[nodiscard]] std::uint32_t tag() const noexcept {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this) >> 3) | 1u;
    }

    /// While a hook of the object runs, its tag is not that of this pool: a hook that releases its
    /// own object stops the program.
    void in_hook(void* slot, bool is) noexcept {
        if constexpr (detail::has_hooks<Rules, Hooks, T>) {
            state_of(slot).tag = is ? tag() ^ 0x8000'0000u : tag();
        }
    }

    [[nodiscard]] T* take_idle() {
        void* const slot = slots_.stack_[--slots_.idle_count_];
        detail::rollback undo{[&]() noexcept {
            in_hook(slot, false);
            push(slot);
        }};
        detail::unpoison_defined(slot, sizeof(T));
        T* const object = static_cast<T*>(slot);
        in_hook(slot, true);
        detail::tell_acquired<Rules>(hooks_, *object);  // may acquire others, or throw
        in_hook(slot, false);
        undo.cancel();
        return object;
    }
    /// None is idle, or one fewer than ever since `built` changed.
    [[nodiscard]] T* acquire_lowest();

    /// The peak is most live objects = built - fewest idle; when `built` changes, it is kept.
    void note_peak() noexcept {
        const std::size_t now = built_count_ - idle_count_min_;
        if (now > peak_count_) { peak_count_ = now; }
    }
    void note_fewer_idle() noexcept {
        if (slots_.idle_count_ < idle_count_min_) { idle_count_min_ = slots_.idle_count_; }
    }

    /// Makes one idle object. False: full or exhausted.
    [[nodiscard]] bool build_one() {
        if (built_count_ >= options_.object_count_max) { return false; }
        void* slot = slots_.take_vacant();
        if (slot == nullptr) {
            if (!slots_.grow(first_growth(1), 1, options_.object_count_max)) { return false; }
            slot = slots_.take_vacant();
        }
        detail::rollback undo{[&]() noexcept { slots_.give_vacant(slot); }};
        detail::construct_pooled<T>(hooks_, slot);
        undo.cancel();
        add_idle(slot);
        return true;
    }
    void add_idle(void* slot) noexcept {
        note_peak();
        state_of(slot).tag = tag();
        push(slot);
        ++built_count_;
        idle_count_min_ = slots_.idle_count_;  // from now on; the peak so far is noted
    }
    void push(void* slot) noexcept {
        state_of(slot).position = static_cast<std::uint32_t>(slots_.idle_count_);
        slots_.stack_[slots_.idle_count_++] = slot;
        cairn::poison(slot, sizeof(T));
    }
    void destroy(void* slot) noexcept {
        note_peak();
        detail::unpoison_defined(slot, sizeof(T));
        state_of(slot).tag = 0;  // first: a destructor that releases its own object stops
        static_cast<T*>(slot)->~T();
        slots_.give_vacant(slot);
        --built_count_;
        idle_count_min_ = slots_.idle_count_;
    }
    [[nodiscard]] std::size_t first_growth(std::size_t count) const noexcept {
        return slots_.slot_count_ == 0 && count < options_.first_block ? options_.first_block
                                                                       : count;
    }

    static constexpr std::size_t none_to_acquire = SIZE_MAX;

    detail::object_slots slots_;
    // Since built_count_ changed last; none_to_acquire: acquire() gives no object.
    std::size_t idle_count_min_ = 0;
    std::size_t built_count_ = 0;
    std::size_t peak_count_ = 0;
    std::size_t miss_count_ = 0;
    [[CAIRN_NO_UNIQUE_ADDRESS]] Hooks hooks_;
    options options_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;
};

// ------- cold

template <detail::element T, class Hooks, hook_rules Rules>
[[CAIRN_NOINLINE]] T* object_pool<T, Hooks, Rules>::acquire_lowest() {
    if (idle_count_min_ == none_to_acquire) { return nullptr; }
    if (slots_.idle_count_ == 0) {
        ++miss_count_;
        if (!build_one()) { return nullptr; }
    }
    T* const object = take_idle();
    note_fewer_idle();
    return object;
}

}}  // namespace cairn::CAIRN_FLAVOUR

#include <cairn/containers/object_pool/prewarm.hpp>
