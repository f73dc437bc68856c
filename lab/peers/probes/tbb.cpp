// What the lab uses of TBB: its allocator.
#include "lab/peers/tbb.hpp"

#include <list>

int main() {
    lab::peers::tbb::scalable<64> slots{1};
    void* const p = slots.allocate();
    slots.deallocate(p);
    std::list<int, tbb::scalable_allocator<int>> list{1, 2, 3};
    return p != nullptr && list.size() == 3 ? 0 : 1;
}
