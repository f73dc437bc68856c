// cairn/alloc/fit/hidden_word.hpp - headers and links that only the heap may touch.
//
//      | header | payload ........ | header | links | free .................. | header |
//        hidden   the user's         hidden   hidden  poisoned                  hidden
//
// The heap keeps its words between the blocks and inside the free ones. All of them stay poisoned,
// so that a write past the end of a block or into a freed one is an ASan report at the first byte.
// These functions lift the poison for the one access that is allowed.
//
// Cost: a plain load or store; in checked builds a branch, under a memory checker two calls more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cairn/core/poison.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

/// Requires: `at` is a multiple of sizeof(T) from an address that is a multiple of 8.
template <class T>
[[nodiscard]] inline T load_hidden(const std::byte* at) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    if (poison_is_seen()) [[unlikely]] {
        const std::byte* const word = at - reinterpret_cast<std::uintptr_t>(at) % 8;
        unpoison_defined(word, 8);
        std::memcpy(&value, at, sizeof(T));
        poison(word, 8);
    } else {
        std::memcpy(&value, at, sizeof(T));
    }
    return value;
}

template <class T>
inline void store_hidden(std::byte* at, T value) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if (poison_is_seen()) [[unlikely]] {
        std::byte* const word = at - reinterpret_cast<std::uintptr_t>(at) % 8;
        unpoison_defined(word, 8);
        std::memcpy(at, &value, sizeof(T));
        poison(word, 8);
    } else {
        std::memcpy(at, &value, sizeof(T));
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
