// cairn/alloc/concurrent_pool_of.hpp - a concurrent_pool whose slots are objects of one type.
//
//      cairn::concurrent_pool_of<message> messages;
//      message* m = messages.make(sender, text);         // in this thread; nullptr: exhausted
//      messages.destroy(m);                              // in that one
//
// Use it for: naming the type once. It is a concurrent_pool with T's size and alignment; a local()
//             view makes and destroys through cairn::make<T>(view) and cairn::destroy(view,
//             object).
// Look elsewhere for: one thread (pool_of); objects that stay constructed (concurrent_object_pool);
//             a way for them from thread to thread (message_queue).
//
// Cost:      that of concurrent_pool and of T's constructor and destructor.
// Lifetimes: reset() and the end of the pool give memory back without running destructors. Where T
//            has a destructor, checked builds name a pool that ends with live objects.
// Threads:   as concurrent_pool: make and destroy from any.
#pragma once

#include <type_traits>
#include <utility>

#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/core/assert.hpp>
#include <cairn/core/inside/construct.hpp>
#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

template <detail::element T>
class concurrent_pool_of : public concurrent_pool {
public:
    concurrent_pool_of() noexcept : concurrent_pool_of{system_memory()} {}
    explicit concurrent_pool_of(allocator_ref upstream, options how = {}) noexcept
        : concurrent_pool{sizeof(T), alignment::of<T>(), upstream, how} {}
    explicit concurrent_pool_of(options how) noexcept : concurrent_pool_of{system_memory(), how} {}
    explicit concurrent_pool_of(std::size_t, ...) = delete;  // room: sparks.reserve(1000)

    ~concurrent_pool_of() {
        static_assert(sizeof(detail::concrete_rules<T>) != 0);
        if constexpr (asserts_enabled && !std::is_trivially_destructible_v<T>) {
            // After a fork the objects of lost threads cannot be destroyed by anyone here.
            const concurrent_pool::stats_type now = stats();
            CAIRN_ASSERT(now.live_count == 0 || now.has_lost_threads,
                         "objects with a destructor are destroyed before their pool ends",
                         {.kind = misuse_kind::leak,
                          .object = this,
                          .type = "concurrent_pool_of",
                          .values = {{"live", now.live_count}}});
        }
    }

    /// A new T built from `args`. Returns: nullptr when exhausted. Throws: what the constructor
    /// throws.
    template <class... Args>
    [[nodiscard]] T* make(Args&&... args) {
        void* const memory = allocate();
        if (memory == nullptr) [[unlikely]] { return nullptr; }
        detail::rollback undo{[&]() noexcept { deallocate(memory); }};
        T* const object = detail::construct_at<T>(memory, std::forward<Args>(args)...);
        undo.cancel();
        return object;
    }

    /// Destroys `object`, which any thread may have made, and frees its slot; nullptr does nothing.
    void destroy(T* object, call_site from = call_site::current()) noexcept {
        if (object == nullptr) { return; }
        object->~T();
        deallocate(object, from);
    }
};

static_assert(byte_allocator<concurrent_pool_of<int>>);

}}  // namespace cairn::CAIRN_FLAVOUR
