// cairn/owners/lease.hpp - an object of a pool, for as long as the lease lives.
//
//      +--------+------+
//      | object | pool |      moves, does not copy; its end gives the object back
//      +--------+------+
//
// Use it for: objects of an object_pool that belong to one owner at a time.
// Look elsewhere for: many owners (shared_handle.hpp); objects named by handles (slot_map.hpp).
//
// Cost:      two words; the destructor is the pool's release(). At -O0 each -> is a call: an inner
//            loop takes `enemy& e = *lease;` once.
// Lifetimes: the pool outlives it.
#pragma once

#include <cstddef>
#include <utility>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/compiler.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <class Pool>
class [[nodiscard]] lease {
public:
    using element_type = typename Pool::value_type;

    constexpr lease() noexcept = default;
    constexpr lease(std::nullptr_t) noexcept {}
    /// Takes over an object from acquire_raw(). Requires: `object` is live in `pool`, or null.
    constexpr lease(Pool& pool, element_type* object) noexcept
        : object_{object}, pool_{compiler::address_of(pool)} {}
    constexpr lease(lease&& other) noexcept
        : object_{std::exchange(other.object_, nullptr)}, pool_{other.pool_} {}
    constexpr lease& operator=(lease&& other) noexcept {
        // In this order it is right for itself too, and compilers see that `other` ends empty.
        element_type* const object = std::exchange(other.object_, nullptr);
        element_type* const old = std::exchange(object_, object);
        Pool* const old_pool = std::exchange(pool_, other.pool_);
        if (old != nullptr) { old_pool->release(old); }
        return *this;
    }
    constexpr ~lease() {
        if (object_ != nullptr) { pool_->release(object_); }
    }

    /// Ends the lease early; allowed when it is empty.
    constexpr void give_back() noexcept {
        if (object_ != nullptr) { pool_->release(std::exchange(object_, nullptr)); }
    }
    /// Hands the object over to the caller, who calls release().
    [[nodiscard]] constexpr element_type* detach() noexcept {
        return std::exchange(object_, nullptr);
    }

    [[nodiscard, CAIRN_FORCE_INLINE]] constexpr explicit operator bool() const noexcept {
        return object_ != nullptr;
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] constexpr element_type* get() const noexcept {
        return object_;
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] constexpr element_type& operator*() const noexcept {
        CAIRN_ASSERT(object_ != nullptr, "a lease is used while it holds an object",
                     {.kind = misuse_kind::null_handle, .object = this, .type = "lease"});
        return *object_;
    }
    [[nodiscard, CAIRN_FORCE_INLINE]] constexpr element_type* operator->() const noexcept {
        CAIRN_ASSERT(object_ != nullptr, "a lease is used while it holds an object",
                     {.kind = misuse_kind::null_handle, .object = this, .type = "lease"});
        return object_;
    }
    friend constexpr bool operator==(const lease& l, std::nullptr_t) noexcept {
        return l.object_ == nullptr;
    }

private:
    element_type* object_ = nullptr;
    Pool* pool_ = nullptr;
};

/// Of an object in the pool's place: the sentence.
template <class T>
    requires(!requires { typename T::value_type; })
class lease<T> {
    static_assert(sizeof(T) == 0, "a lease names its pool: object_pool<T>::lease_type");
};

}}  // namespace cairn::CAIRN_FLAVOUR
