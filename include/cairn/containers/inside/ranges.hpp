// cairn/containers/inside/ranges.hpp - objects side by side that change their places, without
// losing one.
//
//      construct_range     a b c        ->   other memory: a b c         moved, or copied where a
//                                                                        move may throw halfway
//      permute_range       a b c d      ->   c a d b                     along the cycles, in place
//      order               2 0 3 1
//
// What packed_array and the columns of a table have in common.
//
// Cost: one move an object, and one more a cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/core/inside/rollback.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// `hole` gets the value of `from`, in the cheapest way that cannot leave a dead object behind.
template <class T>
void replace(T& hole, T& from) {
    if constexpr (!std::is_nothrow_move_assignable_v<T> &&
                  std::is_nothrow_move_constructible_v<T>) {
        hole.~T();
        ::new (static_cast<void*>(__builtin_addressof(hole))) T(std::move(from));
    } else {
        static_assert(std::is_move_assignable_v<T>,
                      "a type whose move constructor throws needs a move assignment");
        hole = std::move(from);
    }
}

/// Builds to[0 ... count) from from[0 ... count), whose objects stay to be destroyed.
/// Throws: what copying a T throws; what was built is gone then.
template <class T>
void construct_range(T* to, T* from, std::size_t count) {
    std::size_t built = 0;
    rollback undo{[&]() noexcept {
        while (built != 0) { to[--built].~T(); }
    }};
    for (; built < count; ++built) {
        ::new (static_cast<void*>(to + built)) T(std::move_if_noexcept(from[built]));
    }
    undo.cancel();
}

/// element(r) becomes what element(order[r]) was; `order` is the identity afterwards.
/// Requires: `order` is a permutation of 0 ... count - 1.
template <class Element>
void permute_range(std::uint32_t* order, std::size_t count, Element element) {
    for (std::uint32_t start = 0; start < count; ++start) {
        if (order[start] == start) { continue; }
        auto held(std::move(element(start)));
        std::uint32_t hole = start;
        while (order[hole] != start) {
            const std::uint32_t from = order[hole];
            replace(element(hole), element(from));
            order[hole] = hole;
            hole = from;
        }
        replace(element(hole), held);
        order[hole] = hole;
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
