// A program whose namespace has a greedy function of each name that cairn calls. A call without a scope
// in front of it would find these by its arguments, and the program would not compile.
#include "cairn_headers.inc"

namespace game {
#define GREEDY(name)      \
    template <class... A> \
    void name(A&&...) = delete;
#include "greedy_names.inc"
#undef GREEDY
#include "game.hpp"
}  // namespace game

#include "uses.hpp"

int main() { return user_code::use_all(); }
