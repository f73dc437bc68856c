// cairn/core/allocator_ref.hpp - any allocator, in two words.
//
//      allocator_ref          allocator_ops of arena (one constant table per allocator type)
//      +--------+-------+     +----------+------------+------------+-----------+------+
//      |  self  |  ops -+---->| allocate | deallocate | try_resize | good_size | owns |
//      +---+----+-------+     +----------+------------+------------+-----------+------+
//          v                      nullptr where the type does not offer the operation
//        the arena
//
// An allocator talks to its upstream once per block, and a container once per growth, so their
// upstream is type-erased here and costs nothing; the hot paths in front stay inline and concrete.
//
// Use it for: upstreams, container constructors, every function that takes "some allocator".
// Look elsewhere for: allocating small objects in a loop: take the concrete type and let it inline.
//
// In checked builds a ref has a third word: the line that made it. Allocators whose reports name
// lines (tracked, guarded) get that line for each block that is requested through the ref or
// its copies, so that the blocks of a container or an arena are named by the line of the user.
//
//      pool_of<spark> sparks{memory};       "4 blocks with 4096 bytes: from game.cpp:12"
//
// Cost:      two words, trivially copyable; a call is one indirect call.
// Lifetimes: refers, never owns: the allocator must outlive the ref. Only an lvalue converts; a
//            temporary does not compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <cairn/core/alignment.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/byte_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct allocator_ops {
    void* (*allocate)(void* self, std::size_t size, alignment align, call_site from) noexcept;
    void (*deallocate)(void* self, void* p, std::size_t size, alignment align,
                       call_site from) noexcept;
    bool (*try_resize)(void* self, void* p, std::size_t old_size, std::size_t new_size,
                       alignment align) noexcept;
    std::size_t (*good_size)(const void* self, std::size_t size, alignment align) noexcept;
    bool (*owns)(const void* self, const void* p) noexcept;
    bool (*try_charge)(void* self, std::size_t size) noexcept;
    void (*refund)(void* self, std::size_t size) noexcept;
    std::size_t (*open_scope_count)(const void* self) noexcept;
};

/// Counts bytes that do not come from it, such as the pages of a collected_heap.
template <class A>
concept counts_for_others = requires(std::remove_reference_t<A>& a, std::size_t size) {
    { a.try_charge(size) } noexcept -> std::same_as<bool>;
    { a.refund(size) } noexcept;
};

/// An arena, whose scopes take back what was allocated in them.
template <class A>
concept counts_scopes = requires(const std::remove_reference_t<A>& a) {
    { a.open_scope_count() } noexcept -> std::same_as<std::size_t>;
};

/// Tells in its reports who freed.
template <class A>
concept takes_call_site = requires(A& a, void* p, std::size_t size, alignment align,
                                   call_site from) { a.deallocate(p, size, align, from); };

/// Tells in its reports who allocated.
template <class A>
concept takes_call_site_of_allocate =
    requires(A& a, std::size_t size, alignment align, call_site from) {
        { a.allocate(size, align, from) } noexcept -> std::same_as<void*>;
    };

/// a.allocate(size, align) on behalf of the line `from`, which unchecked builds do not know: their
/// reports have line 0, and no line of cairn.
template <byte_allocator A>
[[nodiscard, CAIRN_FORCE_INLINE]] inline void* allocate_for(
    A& a, std::size_t size, alignment align, [[maybe_unused]] call_site from) noexcept {
    if constexpr (takes_call_site_of_allocate<A>) {
        return a.allocate(size, align, from);
    } else {
        return a.allocate(size, align);
    }
}

/// The same for a.deallocate(p, size, align).
template <byte_allocator A>
[[CAIRN_FORCE_INLINE]] inline void deallocate_for(A& a, void* p, std::size_t size, alignment align,
                                                  [[maybe_unused]] call_site from) noexcept {
    if constexpr (asserts_enabled && takes_call_site<A>) {
        a.deallocate(p, size, align, from);
    } else {
        a.deallocate(p, size, align);
    }
}

template <byte_allocator A>
consteval allocator_ops make_allocator_ops() {
    allocator_ops ops{};
    ops.allocate = [](void* self, std::size_t size, alignment align, call_site from) noexcept {
        return detail::allocate_for(*static_cast<A*>(self), size, align, from);
    };
    ops.deallocate = [](void* self, void* p, std::size_t size, alignment align,
                        call_site from) noexcept {
        detail::deallocate_for(*static_cast<A*>(self), p, size, align, from);
    };
    if constexpr (resizes_in_place<A>) {
        ops.try_resize = [](void* self, void* p, std::size_t old_size, std::size_t new_size,
                            alignment align) noexcept {
            return static_cast<A*>(self)->try_resize(p, old_size, new_size, align);
        };
    }
    if constexpr (has_good_size<A>) {
        ops.good_size = [](const void* self, std::size_t size, alignment align) noexcept {
            return static_cast<const A*>(self)->good_size(size, align);
        };
    }
    if constexpr (counts_for_others<A>) {
        ops.try_charge = [](void* self, std::size_t size) noexcept {
            return static_cast<A*>(self)->try_charge(size);
        };
        ops.refund = [](void* self, std::size_t size) noexcept {
            static_cast<A*>(self)->refund(size);
        };
    }
    if constexpr (counts_scopes<A>) {
        ops.open_scope_count = [](const void* self) noexcept {
            return static_cast<const A*>(self)->open_scope_count();
        };
    }
    if constexpr (has_owns<A>) {
        ops.owns = [](const void* self, const void* p) noexcept {
            return static_cast<const A*>(self)->owns(p);
        };
    }
    return ops;
}

template <byte_allocator A>
inline constexpr allocator_ops allocator_ops_of = make_allocator_ops<A>();

}  // namespace detail

class allocator_ref {
public:
    /// Refers to `allocator`, which must outlive this ref and every copy of it.
    template <byte_allocator A>
        requires(!std::same_as<std::remove_const_t<A>, allocator_ref> && !std::is_const_v<A>)
    allocator_ref(A& allocator CAIRN_LIFETIMEBOUND,
                  call_site made_at = call_site::current()) noexcept
        : self_{compiler::address_of(allocator)},
          ops_{&detail::allocator_ops_of<A>},
          made_at_{made_at} {}
    template <byte_allocator A>
        requires(!std::is_lvalue_reference_v<A> &&
                 !std::same_as<std::remove_const_t<A>, allocator_ref>)
    allocator_ref(A&&) = delete;  // a temporary allocator ends before those that refer to it

    /// As the allocator behind it. Returns: nullptr when it is exhausted; it is then unchanged.
    [[nodiscard]] void* allocate(std::size_t size,
                                 alignment align = default_alignment) const noexcept {
        return ops_->allocate(self_, size, align, made_at_);
    }
    /// On behalf of the line `from`, in place of the line that made the ref.
    [[nodiscard]] void* allocate(std::size_t size, alignment align, call_site from) const noexcept {
        return ops_->allocate(self_, size, align, from);
    }

    /// Requires: `p` came from allocate(size, align) of the same allocator and is still live, or is
    ///           nullptr, which does nothing. Checked builds tell the line that called.
    void deallocate(void* p, std::size_t size, alignment align = default_alignment,
                    call_site from = call_site::current()) const noexcept {
        ops_->deallocate(self_, p, size, align, from);
    }

    /// Changes the size of a live block in place.
    /// Returns: false when the allocator cannot (or never does); nothing has changed then.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) const noexcept {
        return ops_->try_resize != nullptr && ops_->try_resize(self_, p, old_size, new_size, align);
    }

    /// What a request of `size` bytes really occupies; `size` itself where it is not known.
    [[nodiscard]] std::size_t good_size(std::size_t size,
                                        alignment align = default_alignment) const noexcept {
        return ops_->good_size != nullptr ? ops_->good_size(self_, size, align) : size;
    }

    /// Counts `size` bytes that come from the system, where the allocator counts (budget).
    /// Returns: false when they are beyond a limit; nothing has changed then.
    [[nodiscard]] bool try_charge(std::size_t size) const noexcept {
        return ops_->try_charge == nullptr || ops_->try_charge(self_, size);
    }
    /// They have gone back to the system.
    void refund(std::size_t size) const noexcept {
        if (ops_->refund != nullptr) { ops_->refund(self_, size); }
    }

    /// Scopes that are open in the arena behind it; 0 where it is none, and in unchecked builds.
    [[nodiscard]] std::size_t open_scope_count() const noexcept {
        return ops_->open_scope_count != nullptr ? ops_->open_scope_count(self_) : 0;
    }

    /// True when the allocator can tell whether an address is its own.
    [[nodiscard]] bool can_tell_owner() const noexcept { return ops_->owns != nullptr; }

    /// Requires: can_tell_owner().
    [[nodiscard]] bool owns(const void* p) const noexcept {
        CAIRN_ASSERT(can_tell_owner(), "owns() is asked only of allocators that know");
        return ops_->owns(self_, p);
    }

    /// The same allocator object behind both.
    friend bool operator==(allocator_ref a, allocator_ref b) noexcept {
        return a.self_ == b.self_ && a.ops_ == b.ops_;
    }

private:
    void* self_;
    const detail::allocator_ops* ops_;
    [[CAIRN_NO_UNIQUE_ADDRESS]] call_site made_at_;
};

static_assert(sizeof(allocator_ref) == 2 * sizeof(void*) || asserts_enabled);
static_assert(std::is_trivially_copyable_v<allocator_ref>);
static_assert(byte_allocator<allocator_ref> && resizes_in_place<allocator_ref>);

}}  // namespace cairn::CAIRN_FLAVOUR
