// What the lab uses of foonathan/memory.
#include "lab/peers/foonathan.hpp"

#include <foonathan/memory/memory_stack.hpp>

int main() {
    foonathan::memory::memory_stack<> stack{4096};
    const auto bottom = stack.top();
    void* const a = stack.allocate(64, 8);
    stack.unwind(bottom);
    const bool same = stack.allocate(64, 8) == a;

    lab::peers::foonathan::node_pool<64> slots{100};
    void* const b = slots.allocate();
    slots.deallocate(b);
    return same && b != nullptr ? 0 : 1;
}
