// What the lab uses of snmalloc.
#include "lab/peers/snmalloc.hpp"

int main() {
    lab::peers::snmalloc::slots<64> slots{1};
    void* const slot = slots.allocate();
    slots.deallocate(slot);
    lab::peers::snmalloc::heap heap;
    void* const block = heap.allocate(100);
    heap.deallocate(block, 100);
    return slot != nullptr && block != nullptr ? 0 : 1;
}
