// cairn/movable/relocation.hpp - how an object moves to another address.
//
//    from                    to
//    +--------------+        +--------------+
//    | the object   |  ===>  | the object   |        one step, not "copy, then destroy": afterwards
//    +--------------+        +--------------+        `from` holds bytes and no object
//
//   T is                                        it moves by
//   trivially copyable                          memmove; it may slide over its own bytes
//   marked: enable_trivial_relocation<T>        the same (unique_ptr, vector: no pointer to itself)
//   has  static void relocate(T* to, T* from)   that function
//   move constructible                          T(move(*from)) at `to`, then from->~T()
//   has  void on_relocated(T* from)             the call after any of these: it mends pointers into
//                                               itself, or informs code that knows its address
//
// There is no way back in the middle of a move: a move constructor that throws ends the program.
// (It need not say noexcept: that of std::list in Microsoft's library does not.) A hook that is not
// noexcept does not compile. These functions run in the middle of compact(): they may look at other
// objects (get, contains), and change nothing in the heap. The place of their own object is `to`
// and `this`; get() and pin() know it when they have returned.
//
// Cost: bytes move by memmove; others by one indirect call.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/flavour.hpp>
#include <cairn/movable/trivial_relocation.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// How the bytes of one allocation move.
struct relocation {
    /// Makes the object of `from` live at `to`; the two do not overlap. nullptr: memmove, and
    /// overlapping is fine.
    void (*relocate)(void* to, void* from, std::size_t size) noexcept = nullptr;
    /// Called when the object stands at `to`, and its old bytes are gone or overwritten: `from` is
    /// a number to compare with and to subtract. nullptr: not wanted.
    void (*on_relocated)(void* to, void* from, std::size_t size) noexcept = nullptr;
};

/// Bytes without pointers into them: memmove.
inline constexpr relocation by_bytes{};

namespace detail {

/// Asked apart from whether there is a hook: none is passed over because noexcept was forgotten.
template <class T>
inline constexpr bool hooks_are_noexcept =
    (!relocates_itself<T> || requires(T* to, T* from) {
        { T::relocate(to, from) } noexcept;
    }) && (!hears_of_relocation<T> || requires(T& t, T* from) {
        { t.on_relocated(from) } noexcept;
    });

template <class T>
void relocate_object(void* to, void* from, std::size_t) noexcept {
    T* const source = std::launder(static_cast<T*>(from));
    if constexpr (relocates_itself<T>) {
        T::relocate(static_cast<T*>(to), source);
    } else {
        ::new (to) T(static_cast<T&&>(*source));
        source->~T();
    }
}

template <class T>
void tell_relocated(void* to, void* from, std::size_t) noexcept {
    std::launder(static_cast<T*>(to))->on_relocated(static_cast<T*>(from));
}

template <class T>
consteval relocation make_relocation() {
    constexpr bool can_move = !is_concrete<T> || is_trivially_relocatable<T> ||
                              relocates_itself<T> || std::is_move_constructible_v<T>;
    static_assert(can_move, "an object that moves has a relocate() or a move constructor");
    static_assert(hooks_are_noexcept<T>, "relocate() and on_relocated() are noexcept");
    static_assert(!is_concrete<T> || std::is_nothrow_destructible_v<T>,
                  "a destructor does not throw");
    relocation how;
    if constexpr (can_move && (!is_trivially_relocatable<T> || relocates_itself<T>)) {
        how.relocate = &relocate_object<T>;
    }
    if constexpr (hears_of_relocation<T>) { how.on_relocated = &tell_relocated<T>; }
    return how;
}

/// How a T moves: see the table above.
template <class T>
inline constexpr relocation relocation_of = detail::make_relocation<T>();

}  // namespace detail

}}  // namespace cairn::CAIRN_FLAVOUR
