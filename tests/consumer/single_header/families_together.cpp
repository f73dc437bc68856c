// Families and the whole, in one order here and in the other beside it: one program.
#include "cairn_arena.hpp"
//
#include "cairn_pools.hpp"
//
#include "cairn_all.hpp"

bool reversed_agrees(cairn::arena& frame, cairn::pool& slots);

int main() {
    cairn::heap<> memory;
    alignas(64) std::byte bytes[1024];
    cairn::arena frame{bytes};
    cairn::pool slots{32, cairn::default_alignment, memory};
    return reversed_agrees(frame, slots) ? 0 : 1;
}
