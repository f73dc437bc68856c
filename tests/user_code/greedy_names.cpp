// A program whose namespace has greedy functions of each name that cairn calls, with and without template
// arguments, and a greedy comma and operator&. A call without a scope in front of it would find these by
// its arguments, and the program would not compile.
#include "cairn_headers.inc"

namespace game {
#define GREEDY(name)                \
    template <class... A>           \
    void name(A&&...) = delete;     \
    template <class T, class... A>  \
        requires(sizeof...(A) != 0) \
    void name(A&&...) = delete;     \
    template <auto V, class... A>   \
    void name(A&&...) = delete;
#include "greedy_names.inc"
#undef GREEDY
template <class A, class B>
void operator,(A&&, B&&) = delete;
template <class A>
void operator&(A&) = delete;
#include "game.hpp"
}  // namespace game

#include "uses.hpp"

int main() { return user_code::use_all(); }
