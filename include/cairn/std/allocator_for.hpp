// cairn/std/allocator_for.hpp - a standard allocator without state, over one named object.
//
//      cairn::heap<>& json_memory() noexcept {            // made at its first use, and never ended
//          static auto* const memory = new cairn::heap<>;
//          return *memory;
//      }
//      template <class T>
//      using json_allocator = cairn::allocator_for<json_memory>::type<T>;
//
//      using json = nlohmann::basic_json<std::map, std::vector, json_string, bool, std::int64_t,
//                                        std::uint64_t, double, json_allocator>;
//      entt::basic_registry<entt::entity, json_allocator<entt::entity>> registry;
//
// Use it for: libraries that construct their allocators themselves, from nothing.
// Look elsewhere for: an allocator that is chosen at run time (std/std_allocator.hpp).
//
// Cost:      that of the allocator and one predictable branch. The object is empty, so a container
//            is as small as with std::allocator.
// Lifetimes: the memory must exist before the first container and after the last one. Containers
//            in static objects end late, so the form above never ends its memory.
// Threads:   those of the memory.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/inside/named_memory.hpp>
#include <cairn/std/inside/bad_alloc.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// `Memory`: an object with static storage, or a function that returns a reference to it.
template <auto& Memory>
struct allocator_for {
    /// An Allocator, as [allocator.requirements] says. All objects of it are equal.
    template <class T>
    class type {
    public:
        using value_type = T;
        using is_always_equal = std::true_type;
        using propagate_on_container_move_assignment = std::true_type;
        template <class Other>
        struct rebind {
            using other = type<Other>;
        };

        constexpr type() noexcept = default;
        template <class Other>
        constexpr type(const type<Other>&) noexcept {}

        /// Uninitialized memory for `count` objects of type T.
        /// Throws: std::bad_alloc when the memory refuses, std::bad_array_new_length when their
        ///         size does not exist. Without exceptions: prints the size and aborts.
        [[nodiscard]] T* allocate(std::size_t count) {
            if (count > static_cast<std::size_t>(-1) / sizeof(T)) [[unlikely]] {
                detail::refuse_length(count, alignment::of<T>());
            }
            const std::size_t size = count * sizeof(T);
            void* const p = detail::named_memory<Memory>().allocate(size, alignment::of<T>());
            if (p == nullptr) [[unlikely]] { detail::refuse(size, alignment::of<T>()); }
            return static_cast<T*>(p);
        }
        /// Requires: `p` came from allocate(count).
        void deallocate(T* p, std::size_t count) noexcept {
            detail::named_memory<Memory>().deallocate(p, count * sizeof(T), alignment::of<T>());
        }

        template <class Other>
        friend constexpr bool operator==(type, type<Other>) noexcept {
            return true;
        }
    };
};

}}  // namespace cairn::CAIRN_FLAVOUR
