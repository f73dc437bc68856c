// cairn/alloc/pool_of.hpp - a pool whose slots are objects of one type.
//
//      cairn::pool_of<particle> particles;
//      particle* p = particles.make(position, velocity);    // nullptr: exhausted
//      particles.destroy(p);
//
// Use it for: naming the type once. It is a pool whose slot size and alignment come from T.
// Look elsewhere for: objects that stay constructed (object_pool), handles (slot_map).
//
// Cost:      that of pool and of T's constructor and destructor.
// Lifetimes: reset() and the destructor give memory back without running destructors; where T has
//            one that matters, call destroy_all() first.
// Threads:   none.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/alloc/pool.hpp>
#include <cairn/core/make.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

template <class T>
class pool_of : public pool {
public:
    explicit pool_of(allocator_ref upstream = system_memory(), pool_options options = {}) noexcept
        : pool{sizeof(T), alignment::of<T>(), upstream, options} {}

    /// As many T as fit into `buffer`, which must outlive the pool; it never grows.
    explicit pool_of(slice<std::byte> buffer) noexcept
        : pool{buffer, sizeof(T), alignment::of<T>()} {}

    /// Bytes of a buffer that give exactly `count` slots; see pool::required_size().
    [[nodiscard]] static constexpr std::size_t required_size(std::size_t count) noexcept {
        return pool::required_size(count, sizeof(T), alignment::of<T>());
    }

    /// A new T built from `args`. Returns: nullptr when exhausted. Throws: what the constructor
    /// throws.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        return cairn::make<T>(static_cast<pool&>(*this), std::forward<Args>(args)...);
    }

    /// Destroys `object` and frees its slot; nullptr does nothing.
    void destroy(T* object) noexcept { cairn::destroy(static_cast<pool&>(*this), object); }

    /// Calls f(T&) for each live object, by address. Requires: every live slot holds a T; `f` may
    /// destroy the object it is given, and no other; it may not make new ones.
    template <class F>
    void for_each(F&& f) {
        for_each_live([&f](void* p) { f(*static_cast<T*>(p)); });
    }

    /// Runs every live object's destructor and frees all slots. Requires: every live slot holds a
    /// T.
    void destroy_all() noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            for_each([](T& object) { object.~T(); });
        }
        reset();
    }
};

static_assert(byte_allocator<pool_of<int>>);

}  // namespace cairn::inline CAIRN_FLAVOUR
