// cairn/core/inside/named_memory.hpp - an allocator that a template argument names.
//
//      cairn::heap<> scripts;                     named_memory<scripts>()    the object
//      cairn::heap<>& fonts() noexcept;           named_memory<fonts>()      what the call returns
//
// Cost: none for an object: its address is a constant. A function costs its call.
#pragma once

#include <type_traits>

#include <cairn/core/byte_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The allocator that `Memory` is, or that the function `Memory` returns by reference.
template <auto& Memory>
[[nodiscard]] constexpr auto& named_memory() noexcept {
    if constexpr (std::is_function_v<std::remove_reference_t<decltype(Memory)>>) {
        return Memory();
    } else {
        return Memory;
    }
}

template <auto& Memory>
using named_memory_type = std::remove_reference_t<decltype(named_memory<Memory>())>;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
