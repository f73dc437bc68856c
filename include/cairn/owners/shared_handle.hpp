// cairn/owners/shared_handle.hpp - many owners of one object, counted in a column of its store.
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
// plain_count: the last owner erases at once, or puts the object on a list (destroys::in_collect).
//      One thread.
// atomic_count: owners may be copied and dropped, and handles locked, by any thread; the last owner
//      puts the object on the list. In a stable_slot_map owners reach their object from any thread
//      whatever the store's thread does; in the other maps while it does not change them, for rows
//      move. Making, finding and collecting belong to the thread of the store.
//
// collect() erases the objects of the list, within a limit; an object that owned others puts them
// there, so a chain of any length ends without recursion. An object holds owners of others of its
// store as shared_handle<shared_store<map>>, which compiles where the object is incomplete.
//
// Use it for: assets, sounds, meshes: shared things that live in a store anyway.
// Look elsewhere for: one owner (unique_handle.hpp); objects without a store (make_shared_in).
//
// Cost:      two words; a copy is an increment (a locked one: atomic_count). 16 bytes per slot of
//            the store. Cells never move: they come in blocks that double. A peak keeps its memory
//            until shrink_to_fit().
// Errors:    exhausted: an empty shared_handle; nothing has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/handle.hpp>
#include <cairn/os/system_allocator.hpp>
#include <cairn/owners/destruction_report.hpp>
#include <cairn/owners/inside/owned_map.hpp>
#include <cairn/owners/shared_handle/counts.hpp>
#include <cairn/storage/inside/store_traits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Store>
class shared_handle;

/// A map of handles, plus a count for each object.
template <class Map, class Count = plain_count>
class shared_store
    : public detail::owned_map<
          shared_store<Map, Count>, Map,
          typename Count::template cell<typename detail::store_traits<Map>::handle_type>> {
    using cell = typename Count::template cell<typename detail::store_traits<Map>::handle_type>;
    using base = detail::owned_map<shared_store, Map, cell>;
    using base::map_;

public:
    using base::collect;
    using typename base::handle_type;
    using typename base::options;
    using shared_type = shared_handle<shared_store>;

    /// `when` says what the last owner does; with atomic_count it is destroys::in_collect always.
    shared_store() noexcept : shared_store{system_memory()} {}
    explicit shared_store(allocator_ref upstream, destroys when = destroys::at_once,
                          const options& how = {}) noexcept
        : base{upstream, Count::is_atomic ? destroys::in_collect : when, how} {}
    shared_store(allocator_ref upstream, const options& how) noexcept
        : shared_store{upstream, destroys::at_once, how} {}
    explicit shared_store(destroys when, const options& how = {}) noexcept
        : shared_store{system_memory(), when, how} {}
    ~shared_store() {
        collect();
        CAIRN_ASSERT(map_.size() == 0, "every owner ends before its store");
    }

    /// A new object with one owner. Returns: empty when exhausted.
    template <class... Args>
    [[nodiscard]] shared_type make(Args&&... args) {
        const auto [h, c] = base::emplace_with_cell(std::forward<Args>(args)...);
        if (!h) { return {}; }
        if constexpr (reaches_by_address) {
            typename Map::mapped_type* const object = map_.find(h);
            c->begin(h, object);
        } else {
            c->begin(h, nullptr);
        }
        return shared_type{*this, h};
    }

    /// A further owner of what `weak` names; with atomic_count in any thread, while others copy,
    /// drop, make and collect. Any handle may be asked for.
    /// Returns: empty when it is gone, or about to be.
    /// Cost: atomic_count: a cell, and one locked instruction; the map is not touched.
    [[nodiscard]] shared_type lock(handle_type weak) noexcept {
        if constexpr (Count::is_atomic) {
            cell* const c = base::find_cell(weak.index());
            if (c == nullptr || !c->try_lock(weak)) { return {}; }
        } else {
            if (!map_.contains(weak) || !cell_of(weak).try_lock(weak)) { return {}; }
        }
        return shared_type{*this, weak};
    }

    void emplace(...) const = delete;   // make(args...), which returns an owner
    void insert(...) const = delete;    // make(args...), which returns an owner
    void find(...) const = delete;      // objects().find(h), or lock(h)
    void contains(...) const = delete;  // objects().contains(h)
    void size(...) const = delete;      // objects().size()

    /// Erases the objects without owners, and objects that only they owned. Returns: how many.
    std::size_t collect() noexcept { return collect(work_limit{}).objects; }
    template <class Number>
        requires std::is_integral_v<Number>
    void collect(Number) = delete;  // the limit has a unit: {.steps = 64}
    /// How many owners there are; with atomic_count in any thread, and a moment ago.
    [[nodiscard]] std::uint32_t use_count(handle_type h) const noexcept {
        if constexpr (Count::is_atomic) {
            const cell* const c = base::find_cell(h.index());
            return c != nullptr ? c->owners(h) : 0;
        } else {
            return map_.contains(h) ? cell_of(h).owners(h) : 0;
        }
    }

private:
    friend shared_type;
    friend base;

    /// Owners in other threads do not look into the map, which the store's thread may change.
    static constexpr bool reaches_by_address =
        Count::is_atomic && detail::store_traits<Map>::keeps_addresses;

    [[nodiscard]] cell& cell_of(handle_type h) const noexcept { return base::cell_at(h.index()); }
    [[nodiscard]] bool has_ended() noexcept {
        if constexpr (Count::is_atomic) {
            if (ended_ == 0) { ended_ = ended_elsewhere_.take(); }
        }
        return ended_ != 0;
    }
    /// Off the list, before the erasure: a destructor may use the slot again.
    [[nodiscard]] handle_type take_ended() noexcept {
        const std::uint32_t index = ended_ - 1;
        cell& c = base::cell_at(index);
        ended_ = static_cast<std::uint32_t>(c.next());
        return c.handle(index);
    }
    void add_owner(handle_type h) noexcept { cell_of(h).add(); }
    void drop_owner(handle_type h) noexcept {
        cell& c = cell_of(h);
        if (!c.drop()) { return; }
        const std::uint32_t number = static_cast<std::uint32_t>(h.index()) + 1;
        if constexpr (Count::is_atomic) {
            ended_elsewhere_.push(number, c.next());
        } else {
            // An object may own others of this store: they wait until the map has erased it.
            c.next() = ended_;
            ended_ = number;
            base::collect_if_at_once();
        }
    }

    // For owners: their objects.
    [[nodiscard]] bool lives(handle_type h) const noexcept {
        return reaches_by_address ? use_count(h) != 0 : map_.contains(h);
    }
    [[nodiscard]] decltype(auto) object_of(handle_type h) noexcept {
        if constexpr (reaches_by_address) {
            return *pointer_to(h);
        } else {
            return map_[h];
        }
    }
    [[nodiscard]] auto pointer_to(handle_type h) noexcept {
        if constexpr (reaches_by_address) {
            return static_cast<typename Map::mapped_type*>(cell_of(h).object());
        } else {
            return map_.find(h);
        }
    }

    struct no_list {};

    std::uint32_t ended_ = 0;  // first object without an owner, by index + 1; this thread's list
    [[CAIRN_NO_UNIQUE_ADDRESS]] std::conditional_t<
        Count::is_atomic, detail::basic_ended_list<detail::std_atoms>, no_list> ended_elsewhere_;
};

template <class Map, class Count>
struct detail::store_traits<shared_store<Map, Count>> {
    using handle_type = typename store_traits<Map>::handle_type;
    static constexpr bool may_own_its_kind = true;
    static constexpr bool keeps_addresses = store_traits<Map>::keeps_addresses;
};

template <class Store>
class [[nodiscard]] shared_handle {
public:
    using handle_type = typename detail::store_traits<Store>::handle_type;

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
    /// The object; null where it owns none.
    /// Requires: the object was not erased from the map directly.
    [[nodiscard]] auto get() const noexcept {
        using pointer = decltype(store_->pointer_to(handle_));
        return handle_ ? store_->pointer_to(handle_) : pointer{};
    }
    /// Requires: it owns an object, which was not erased from the map directly.
    [[nodiscard]] decltype(auto) operator*() const noexcept {
        expect_object();
        return store_->object_of(handle_);
    }
    [[nodiscard]] auto operator->() const noexcept {
        expect_object();
        return store_->pointer_to(handle_);
    }
    /// Do both own the same object, or nothing? (Handles of two stores may be alike:
    /// slot_map::options.)
    friend bool operator==(const shared_handle& a, const shared_handle& b) noexcept {
        return a.handle_ == b.handle_ && (a.store_ == b.store_ || !a.handle_);
    }

private:
    /// As unique_handle's.
    void expect_object() const noexcept {
        CAIRN_ASSERT(handle_, "an owner is used while it has an object",
                     {.kind = misuse_kind::null_handle, .object = this, .type = "shared_handle"});
        CAIRN_ASSERT(
            store_->lives(handle_), "an owner is used while its object lives",
            {.kind = misuse_kind::stale_handle,
             .object = this,
             .type = "shared_handle",
             .values = {{"slot", handle_.index()}, {"life in the handle", handle_.generation()}}});
        if (store_ == nullptr) { compiler::unreachable(); }  // for gcc's -Wnull-dereference
    }

    friend Store;
    shared_handle(Store& store, handle_type h) noexcept
        : store_{compiler::address_of(store)}, handle_{h} {}

    Store* store_ = nullptr;
    handle_type handle_{};
};

}}  // namespace cairn::CAIRN_FLAVOUR

/// That of its handle: owners of one object hash alike.
template <class Store>
struct std::hash<cairn::shared_handle<Store>> {
    [[nodiscard]] std::size_t operator()(const cairn::shared_handle<Store>& owner) const noexcept {
        return cairn::hash_value(owner.handle());
    }
};
