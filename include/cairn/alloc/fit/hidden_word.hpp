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

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The eight bytes that `at` lies in may be read and written while this lives.
class uncovered_word {
public:
    explicit uncovered_word(const std::byte* at) noexcept
        : word_{at - reinterpret_cast<std::uintptr_t>(at) % 8} {
        unpoison_defined(word_, 8);
    }
    ~uncovered_word() { poison(word_, 8); }
    uncovered_word(const uncovered_word&) = delete;
    uncovered_word& operator=(const uncovered_word&) = delete;

private:
    const std::byte* word_;
};

// Out of line: Valgrind is not there, nearly always.
template <class T>
[[gnu::noinline, gnu::cold]] T load_under_valgrind(const std::byte* at) noexcept {
    const uncovered_word open{at};
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T>
[[gnu::noinline, gnu::cold]] void store_under_valgrind(std::byte* at, T value) noexcept {
    const uncovered_word open{at};
    std::memcpy(at, &value, sizeof(T));
}

/// Requires: `at` is a multiple of sizeof(T) from an address that is a multiple of 8. Watched:
///           false where the caller has asked poison_is_seen(), which said no.
template <class T, bool Watched = poison_is_watched>
[[nodiscard, gnu::always_inline]] inline T load_hidden(const std::byte* at) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    T value;
    if constexpr (poison_is_queryable) {
        const uncovered_word open{at};
        std::memcpy(&value, at, sizeof(T));
        return value;
    }
    if (Watched && poison_is_seen()) [[unlikely]] { return load_under_valgrind<T>(at); }
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <class T, bool Watched = poison_is_watched>
[[gnu::always_inline]] inline void store_hidden(std::byte* at, T value) noexcept {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    if constexpr (poison_is_queryable) {
        const uncovered_word open{at};
        std::memcpy(at, &value, sizeof(T));
        return;
    }
    if (Watched && poison_is_seen()) [[unlikely]] { return store_under_valgrind<T>(at, value); }
    std::memcpy(at, &value, sizeof(T));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
