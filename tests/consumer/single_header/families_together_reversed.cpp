#include "cairn_all.hpp"
//
#include "cairn_pools.hpp"
//
#include "cairn_arena.hpp"

bool reversed_agrees(cairn::arena& frame, cairn::pool& slots);

bool reversed_agrees(cairn::arena& frame, cairn::pool& slots) {
    void* const slot = slots.allocate();
    const bool agrees = frame.allocate(16) != nullptr && slot != nullptr && slots.owns(slot);
    slots.deallocate(slot);
    return agrees;
}
