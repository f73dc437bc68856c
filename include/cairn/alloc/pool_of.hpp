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
// Lifetimes: reset() gives memory back without running destructors, and so does the end of the
//            pool. Where T has a destructor, checked builds name a pool that ends with live
//            objects: call destroy_all(), or reset() where dropping them is meant. Without one,
//            dropping is fine.
// Threads:   none.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <cairn/alloc/pool.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/callback_mark.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/make.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <detail::element T>
class pool_of : public pool {
public:
    pool_of() noexcept : pool_of{system_memory()} {}
    explicit pool_of(allocator_ref upstream, options how = {}) noexcept
        : pool{sizeof(T), alignment::of<T>(), upstream, how} {}
    explicit pool_of(options how) noexcept : pool_of{system_memory(), how} {}
    explicit pool_of(std::size_t, ...) = delete;  // room for objects: sparks.reserve(1000)

    /// As many T as fit into `buffer`, which must outlive the pool; it never grows.
    explicit pool_of(slice<std::byte> buffer) noexcept
        : pool{buffer, sizeof(T), alignment::of<T>()} {}

    /// Bytes of a buffer that give exactly `count` slots; see pool::required_size().
    [[nodiscard]] static constexpr std::size_t required_size(std::size_t count) noexcept {
        return pool::required_size(count, sizeof(T), alignment::of<T>());
    }

    ~pool_of() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        if constexpr (asserts_enabled && !std::is_trivially_destructible_v<T>) {
            check_objects_end();
        }
    }
    pool_of(pool_of&&) noexcept = default;
    pool_of& operator=(pool_of&& from) noexcept {
        mark_.expect_free(this, "pool_of");
        return detail::begin_anew(*this, from);
    }

    /// A new T built from `args`. Returns: nullptr when exhausted. Throws: what the constructor
    /// throws.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        [[maybe_unused]] const auto building = begin_building<Args...>();
        slots_of_t slot_source{*this};
        return cairn::make<T>(slot_source, std::forward<Args>(args)...);
    }

    /// Destroys `object` and frees its slot; nullptr does nothing. Its destructor may make and
    /// destroy other objects here.
    void destroy(T* object, call_site from = call_site::current()) noexcept {
        if (object == nullptr) { return; }
        if constexpr (!std::is_trivially_destructible_v<T>) {
            if (is_ending() && has_ended(object)) [[unlikely]] { return; }
        }
        if constexpr (asserts_enabled && !std::is_trivially_destructible_v<T>) {
            begin_destruction(object, from);
            {
                [[maybe_unused]] const auto ending = mark_.begin_object();
                object->~T();
            }
            end_destruction(object);
        } else {
            object->~T();
        }
        deallocate(object, from);
    }

    /// Calls f(T&) for each live object, by address. Requires: every live slot holds a T; `f` may
    /// destroy the object it is given, and no other; it may not make new ones.
    /// Cost: sorts the free slots first, so it is for a level's end, not for every frame. Objects
    ///       that a loop visits each frame belong into a slot_map.
    template <class F>
    void for_each(F&& f) {
        mark_.expect_free(this, "pool_of");
        [[maybe_unused]] const auto loop = mark_.visit(this, "pool_of");
        for_each_live([&f](void* p) { f(*static_cast<T*>(p)); });
    }

    /// Runs every live object's destructor, by address, and frees all slots. A destructor may
    /// destroy() other objects of this pool, such as its children: each destructor runs once,
    /// whichever comes first (in unchecked builds for T of 8 bytes and more).
    /// Requires: every live slot holds a T; no destructor makes a new object here.
    void destroy_all() noexcept {
        [[maybe_unused]] const auto change = mark_.begin(this, "pool_of");
        if constexpr (!std::is_trivially_destructible_v<T>) {
            destroy_each([](void* p) noexcept { static_cast<T*>(p)->~T(); });
        }
        pool::reset();
    }

    /// As pool::trim() and pool::reset(). Requires: no function of an object here runs, and no
    /// for_each.
    std::size_t trim() noexcept {
        mark_.expect_free(this, "pool_of");
        return pool::trim();
    }
    void reset() noexcept {
        mark_.expect_free(this, "pool_of");
        pool::reset();
    }

private:
    /// No function of the user runs where a constructor is trivial.
    template <class... Args>
    [[nodiscard, CAIRN_FORCE_INLINE]] auto begin_building() noexcept {
        if constexpr (std::is_trivially_constructible_v<T, Args...>) {
            return 0;
        } else {
            return mark_.begin_object();
        }
    }
    /// The pool, which need not be asked whether a T fits into a slot.
    struct slots_of_t {
        pool& all;
        void* allocate(std::size_t, alignment) noexcept { return all.allocate(); }
        void deallocate(void* p, std::size_t, alignment) noexcept { all.deallocate(p); }
    };

    [[CAIRN_NO_UNIQUE_ADDRESS]] detail::callback_mark mark_;
};

static_assert(byte_allocator<pool_of<int>>);

}}  // namespace cairn::CAIRN_FLAVOUR
