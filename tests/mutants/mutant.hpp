// Included into every unit of a mutated build (tools/mutate): all mutants of the library are compiled
// into one set of test programs, and the environment variable CAIRN_MUTANT chooses the one that is
// alive. So a mutant costs the run of the tests that reach it, and no compilation.
//
//      a < b               becomes   a <mutant::less(17)< b        same precedence, same operands
//      if (c)              becomes   if (mutant::yes(18, c))
//      f(x);               becomes   if (mutant::kept(19)) { f(x); }
//
// While the compiler evaluates a constant no mutant is alive.
#pragma once

#include <type_traits>
#include <utility>

namespace mutant {

extern int alive;            // its number; 0: the library as it is
extern unsigned char* seen;  // by number: 1 = a test came here, 2 = the types have no such mutant

[[gnu::always_inline]] inline constexpr bool on(int number) noexcept {
    if (std::is_constant_evaluated()) { return false; }
    __atomic_store_n(&seen[number], 1, __ATOMIC_RELAXED);  // several threads may come here
    return alive == number;
}
[[gnu::always_inline]] inline constexpr bool impossible(int number) noexcept {
    if (!std::is_constant_evaluated()) { __atomic_store_n(&seen[number], 2, __ATOMIC_RELAXED); }
    return false;
}

[[gnu::always_inline]] inline constexpr bool kept(int number) noexcept { return !on(number); }
template <class T>
[[gnu::always_inline]] inline constexpr bool yes(int number, const T& value) noexcept {
    const bool was = static_cast<bool>(value);
    return on(number) || was;
}
template <class T>
[[gnu::always_inline]] inline constexpr bool no(int number, const T& value) noexcept {
    const bool was = static_cast<bool>(value);
    return !on(number) && was;
}
template <class T>
[[gnu::always_inline]] inline constexpr bool flipped(int number, const T& value) noexcept {
    return on(number) != static_cast<bool>(value);
}
template <class T>
[[gnu::always_inline]] inline constexpr T number(int number, T value) noexcept {
    return on(number) ? static_cast<T>(value + 1) : value;
}
template <class T>
[[gnu::always_inline]] inline constexpr T other(int number, T value, T changed) noexcept {
    return on(number) ? changed : value;
}
template <class Order>  // of std::atomic, or of the library's own
[[gnu::always_inline]] inline constexpr Order order(int number, Order value) noexcept {
    return on(number) ? Order::relaxed : value;
}

// A binary operator stands on both sides of a place; (a OP place) holds a, and (held OP b) decides.
template <class Kind>
struct place {
    int number;
};
template <class Kind, class A>
struct held {
    const A& a;
    int number;
};

#define MUTANT_OPERATOR(name, op, other)                                                           \
    struct name##_kind {};                                                                         \
    [[gnu::always_inline]] inline constexpr place<name##_kind> name(int number) noexcept {         \
        return {number};                                                                           \
    }                                                                                              \
    template <class A>                                                                             \
    [[gnu::always_inline]] inline constexpr held<name##_kind, A> operator op(                      \
        const A & a, place<name##_kind> p) noexcept {                                              \
        return {a, p.number};                                                                      \
    }                                                                                              \
    template <class A, class B>                                                                    \
    [[gnu::always_inline]] inline constexpr auto operator op(held<name##_kind, A> h, const B& b) { \
        using result = std::remove_cvref_t<decltype(h.a op b)>;                                    \
        if constexpr (requires { static_cast<result>(h.a other b); }) {                            \
            if (on(h.number)) { return static_cast<result>(h.a other b); }                         \
        } else {                                                                                   \
            impossible(h.number);                                                                  \
        }                                                                                          \
        return static_cast<result>(h.a op b);                                                      \
    }

MUTANT_OPERATOR(less, <, <=)
MUTANT_OPERATOR(less_equal, <=, <)
MUTANT_OPERATOR(greater, >, >=)
MUTANT_OPERATOR(greater_equal, >=, >)
MUTANT_OPERATOR(equal, ==, !=)
MUTANT_OPERATOR(unequal, !=, ==)
MUTANT_OPERATOR(plus, +, -)
MUTANT_OPERATOR(minus, -, +)
MUTANT_OPERATOR(times, *, +)
MUTANT_OPERATOR(divided, /, *)
MUTANT_OPERATOR(remainder, %, +)
MUTANT_OPERATOR(bit_and, &, |)
MUTANT_OPERATOR(bit_or, |, &)
MUTANT_OPERATOR(bit_xor, ^, &)
MUTANT_OPERATOR(shift_left, <<, >>)
MUTANT_OPERATOR(shift_right, >>, <<)

#undef MUTANT_OPERATOR

}  // namespace mutant
