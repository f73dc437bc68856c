// cairn/owners/unique_handle.hpp - one owner of one object in a store that gives handles.
//
//      +-------+--------+
//      | store | handle |      moves, does not copy; its end erases the object
//      +-------+--------+
//
//      cairn::unique_handle door{doors, doors.emplace(position)};
//      door->open();
//      auto watcher = door.handle();          the handle alone is the weak reference
//
// Use it for: objects of a slot map whose life belongs to another object.
// Look elsewhere for: many owners (shared_handle.hpp); objects without a store (std/unique_in.hpp);
//   objects that own others of their own store (deferred_store.hpp: in a map itself such a member
//   does not compile).
//
// Cost:      two words; no allocation of its own. The end is the store's erase().
// Lifetimes: the store outlives it, and stays where it is: a checked build stops where a store ends
//            first. Erasing the object through the store meanwhile is allowed: the handle is stale
//            then, and the end does nothing.
#pragma once

#include <cstddef>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/storage/inside/store_traits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Store>
class [[nodiscard]] unique_handle {
    static_assert(detail::store_traits<Store>::may_own_its_kind,
                  "an object that owns others of its own map lives in a deferred_store<map>, where "
                  "the owner is a unique_handle<deferred_store<map>>");

public:
    using handle_type = typename detail::store_traits<Store>::handle_type;

    constexpr unique_handle() noexcept = default;
    constexpr unique_handle(std::nullptr_t) noexcept {}
    /// Owns what `h` names in `store` from now on; nothing when h is null.
    constexpr unique_handle(Store& store, handle_type h) noexcept
        : store_{compiler::address_of(store)}, handle_{h} {
        if (h) { count(1); }
    }
    constexpr unique_handle(unique_handle&& other) noexcept
        : store_{other.store_}, handle_{std::exchange(other.handle_, handle_type{})} {}
    /// What it owned ends last: `other` may be a member of that.
    constexpr unique_handle& operator=(unique_handle&& other) noexcept {
        unique_handle taken{std::move(other)};
        std::swap(store_, taken.store_);
        std::swap(handle_, taken.handle_);
        return *this;
    }
    constexpr ~unique_handle() { reset(); }

    /// Erases the object now; allowed when there is none.
    constexpr void reset() noexcept {
        if (!handle_) { return; }
        count(-1);
        (void)store_->erase(std::exchange(handle_, handle_type{}));
    }
    /// The object lives on, without an owner.
    [[nodiscard]] constexpr handle_type release() noexcept {
        if (handle_) { count(-1); }
        return std::exchange(handle_, handle_type{});
    }

    /// True while the object lives.
    [[nodiscard]] constexpr explicit operator bool() const noexcept {
        return handle_ && store_->contains(handle_);
    }
    /// The weak reference: find() answers null once the object is gone.
    [[nodiscard]] constexpr handle_type handle() const noexcept { return handle_; }
    /// The object; null where it owns none, or the object is gone.
    [[nodiscard]] constexpr auto get() const noexcept {
        using pointer = decltype(store_->find(handle_));
        return handle_ ? store_->find(handle_) : pointer{};
    }
    /// Requires: the object lives. In a table: a row.
    [[nodiscard]] constexpr decltype(auto) operator*() const noexcept {
        expect_object();
        return (*store_)[handle_];
    }
    [[nodiscard]] constexpr auto operator->() const noexcept {
        expect_object();
        return store_->find(handle_);
    }

private:
    /// A store of this library counts its owners.
    constexpr void count([[maybe_unused]] int change) noexcept {
        if constexpr (asserts_enabled && requires { store_->owners_.add(); }) {
            change > 0 ? store_->owners_.add() : store_->owners_.remove();
        }
    }
    /// Reports lack the line that used the owner: these operators have no parameter at all.
    constexpr void expect_object() const noexcept {
        CAIRN_ASSERT(handle_, "an owner is used while it has an object",
                     {.kind = misuse_kind::null_handle, .object = this, .type = "unique_handle"});
        CAIRN_ASSERT(
            store_->contains(handle_), "an owner is used while its object lives",
            {.kind = misuse_kind::stale_handle,
             .object = this,
             .type = "unique_handle",
             .values = {{"slot", handle_.index()}, {"life in the handle", handle_.generation()}}});
        if (store_ == nullptr) { compiler::unreachable(); }  // for gcc's -Wnull-dereference
    }

    Store* store_ = nullptr;
    handle_type handle_{};
};

}}  // namespace cairn::CAIRN_FLAVOUR
