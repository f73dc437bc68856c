// cairn/containers/shared_handle.hpp - many owners of one object, counted in a column of its store.
//
//      shared_handle           shared_store
//      +-------+--------+      slots:   |  obj 0 |  obj 1 |  obj 2 |        the map, as ever
//      | store | handle |      counts:  |   1    |   3    |   0    |        one cell per slot
//      +-------+--------+
//
// No control block and no second allocation: the count lies in an array indexed by the slot. The
// weak reference is the handle itself: four or eight bytes that keep nothing alive and cannot lie.
//
//      cairn::shared_store<cairn::slot_map<texture>> textures;
//      auto a = textures.make("stone.png");     count 1
//      auto b = a;                              count 2
//      weak = a.handle();                       still 2
//      if (auto c = textures.lock(weak)) ...    count 3, or empty when the object is gone
//
// plain_count: the last owner erases at once. One thread.
// atomic_count: owners may be copied and dropped by any thread; the last one puts the object on a
//      list, and collect(), called by the thread that owns the store, erases what is on it.
//      Finding, making and locking belong to that thread: they read the map.
//
// Use it for: assets, sounds, meshes: shared things that live in a store anyway.
// Look elsewhere for: one owner (unique_handle.hpp); objects without a store (make_shared_in).
//
// Cost:      two words; a copy is an increment (a locked one: atomic_count). 16 bytes per slot of
//            the store. Cells never move: they come in blocks that double.
// Errors:    exhausted: an empty shared_handle; nothing has changed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cairn/storage/cell_blocks.hpp>
#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/handle.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/storage/generations.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Counts of owners in one thread.
struct plain_count {
    using type = std::uint32_t;
    /// Whether owners may be copied and dropped in several threads.
    static constexpr bool is_atomic = false;
    /// One owner more.
    static void add(type& count) noexcept { ++count; }
    /// True when the last owner has gone.
    [[nodiscard]] static bool drop(type& count) noexcept { return --count == 0; }
    [[nodiscard]] static std::uint32_t read(const type& count) noexcept { return count; }
    static void set(type& count, std::uint32_t n) noexcept { count = n; }
    [[nodiscard]] static bool add_unless_zero(type& count) noexcept {
        return count != 0 && ++count != 0;
    }
};

/// Counts of owners in any threads.
struct atomic_count {
    using type = std::atomic<std::uint32_t>;
    /// Whether owners may be copied and dropped in several threads.
    static constexpr bool is_atomic = true;
    // Relaxed: a copy is made from an owner, which keeps the object. Release and acquire at the
    // end: all uses of the object happen before it is erased.
    static void add(type& count) noexcept { count.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] static bool drop(type& count) noexcept {
        return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    /// How many owners there are.
    [[nodiscard]] static std::uint32_t read(const type& count) noexcept {
        return count.load(std::memory_order_relaxed);
    }
    /// For an object that has no other owner yet.
    static void set(type& count, std::uint32_t n) noexcept {
        count.store(n, std::memory_order_relaxed);
    }
    /// One owner more, unless the last has gone: then false.
    [[nodiscard]] static bool add_unless_zero(type& count) noexcept {
        std::uint32_t seen = count.load(std::memory_order_relaxed);
        while (seen != 0 &&
               !count.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) {}
        return seen != 0;
    }
};

template <class Store>
class shared_handle;

/// A map of handles, plus a count for each object.
template <class Map, class Count = plain_count>
class shared_store {
public:
    using map_type = Map;
    using handle_type = typename Map::handle_type;
    using shared_type = shared_handle<shared_store>;

    explicit shared_store(allocator_ref upstream = system_memory()) noexcept
        : cells_{sizeof(cell), upstream}, map_{upstream} {}
    explicit shared_store(allocator_ref upstream, const slot_map_options& options) noexcept
        : cells_{sizeof(cell), upstream}, map_{upstream, options} {}
    shared_store(const shared_store&) = delete;
    shared_store& operator=(const shared_store&) = delete;
    ~shared_store() {
        collect();
        CAIRN_ASSERT(map_.size() == 0, "every owner ends before its store");
    }

    /// A new object with one owner. Returns: empty when exhausted.
    template <class... Args>
    [[nodiscard]] shared_type make(Args&&... args) {
        const handle_type h = map_.emplace(std::forward<Args>(args)...);
        if (!h) { return {}; }
        auto* const c = static_cast<cell*>(cells_.ensure(h.index()));
        if (c == nullptr) [[unlikely]] {
            (void)map_.erase(h);
            return {};
        }
        Count::set(c->count, 1);
        c->handle = h;
        return shared_type{*this, h};
    }

    /// A further owner of what `weak` names. Returns: empty when it is gone, or about to be.
    [[nodiscard]] shared_type lock(handle_type weak) noexcept {
        if (!map_.contains(weak) || !Count::add_unless_zero(cell_of(weak).count)) { return {}; }
        return shared_type{*this, weak};
    }

    /// Erases what has lost its last owner (atomic_count), and what that owned, and so on.
    /// Returns: how many.
    std::size_t collect() noexcept {
        if (is_erasing_) { return 0; }  // from a destructor: the outer erase goes on with the list
        is_erasing_ = true;
        std::size_t erased_count = 0;
        while (std::uint32_t next = take_dead()) {
            while (next != 0) {
                cell& c = *static_cast<cell*>(cells_.at(next - 1));
                next = c.next;  // read before erase: the slot may be used again in the destructor
                (void)map_.erase(c.handle);
                ++erased_count;
            }
        }
        is_erasing_ = false;
        return erased_count;
    }

    /// The objects, to find and to loop over. Erasing is the owners' business.
    [[nodiscard]] Map& objects() noexcept { return map_; }
    [[nodiscard]] const Map& objects() const noexcept { return map_; }
    [[nodiscard]] std::uint32_t use_count(handle_type h) const noexcept {
        return map_.contains(h) ? Count::read(cell_of(h).count) : 0;
    }

private:
    friend shared_type;

    struct cell {
        typename Count::type count;
        std::uint32_t next;  // index + 1 of the next dead one
        handle_type handle;
    };

    [[nodiscard]] cell& cell_of(handle_type h) const noexcept {
        return *static_cast<cell*>(cells_.at(h.index()));
    }
    /// The list, which is empty from now on. Where counts are plain no other thread adds: an
    /// exchange is a locked instruction, and there are two of them in each end of an object.
    [[nodiscard]] std::uint32_t take_dead() noexcept {
        if constexpr (Count::is_atomic) {
            return dead_.exchange(0, std::memory_order_acquire);
        } else {
            const std::uint32_t first = dead_.load(std::memory_order_relaxed);
            dead_.store(0, std::memory_order_relaxed);
            return first;
        }
    }
    void add_owner(handle_type h) noexcept { Count::add(cell_of(h).count); }
    void drop_owner(handle_type h) noexcept {
        cell& c = cell_of(h);
        if (!Count::drop(c.count)) { return; }
        if constexpr (Count::is_atomic) {
            std::uint32_t head = dead_.load(std::memory_order_relaxed);
            do {
                c.next = head;
            } while (!dead_.compare_exchange_weak(head, static_cast<std::uint32_t>(h.index()) + 1,
                                                  std::memory_order_release,
                                                  std::memory_order_relaxed));
        } else {
            // An object may own others of this store: they wait until the map has erased it.
            c.next = dead_.load(std::memory_order_relaxed);
            dead_.store(static_cast<std::uint32_t>(h.index()) + 1, std::memory_order_relaxed);
            (void)collect();
        }
    }

    detail::cell_blocks cells_;
    Map map_;  // dies first: its objects may own others that live here, and count down their cells
    std::atomic<std::uint32_t> dead_ = 0;
    bool is_erasing_ = false;
};

template <class Store>
class [[nodiscard]] shared_handle {
public:
    using handle_type = typename Store::handle_type;

    constexpr shared_handle() noexcept = default;
    constexpr shared_handle(std::nullptr_t) noexcept {}
    shared_handle(const shared_handle& other) noexcept
        : store_{other.store_}, handle_{other.handle_} {
        if (handle_) { store_->add_owner(handle_); }
    }
    shared_handle(shared_handle&& other) noexcept
        : store_{other.store_}, handle_{std::exchange(other.handle_, handle_type{})} {}
    shared_handle& operator=(shared_handle other) noexcept {
        std::swap(store_, other.store_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~shared_handle() { reset(); }

    void reset() noexcept {
        if (handle_) { store_->drop_owner(std::exchange(handle_, handle_type{})); }
    }

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
    /// The weak reference.
    [[nodiscard]] handle_type handle() const noexcept { return handle_; }
    [[nodiscard]] std::uint32_t use_count() const noexcept {
        return handle_ ? store_->use_count(handle_) : 0;
    }
    /// Requires: it owns an object, which was not erased behind its owners' backs.
    [[nodiscard]] decltype(auto) operator*() const noexcept {
        expect_object();
        return store_->objects()[handle_];
    }
    [[nodiscard]] auto operator->() const noexcept {
        expect_object();
        return store_->objects().find(handle_);
    }
    /// Do both own the same object, or nothing? (Handles of two stores may be alike:
    /// slot_map_options.)
    friend bool operator==(const shared_handle& a, const shared_handle& b) noexcept {
        return a.handle_ == b.handle_ && (a.store_ == b.store_ || !a.handle_);
    }

private:
    /// As unique_handle's.
    void expect_object() const noexcept {
        CAIRN_ASSERT(handle_, "an owner is used while it has an object",
                     {.kind = misuse_kind::null_handle, .object = this, .type = "shared_handle"});
        CAIRN_ASSERT(
            store_->objects().contains(handle_), "an owner is used while its object lives",
            {.kind = misuse_kind::stale_handle,
             .object = this,
             .type = "shared_handle",
             .values = {{"slot", handle_.index()}, {"life in the handle", handle_.generation()}}});
    }

    friend Store;
    shared_handle(Store& store, handle_type h) noexcept : store_{&store}, handle_{h} {}

    Store* store_ = nullptr;
    handle_type handle_{};
};

}  // namespace cairn::inline CAIRN_FLAVOUR

/// That of its handle: owners of one object hash alike.
template <class Store>
struct std::hash<cairn::shared_handle<Store>> {
    [[nodiscard]] std::size_t operator()(const cairn::shared_handle<Store>& owner) const noexcept {
        return cairn::hash_value(owner.handle());
    }
};
