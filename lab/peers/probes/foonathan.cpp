// What the lab uses of foonathan/memory.
#include <foonathan/memory/memory_pool.hpp>
#include <foonathan/memory/memory_stack.hpp>

int main() {
    foonathan::memory::memory_stack<> stack{4096};
    const auto bottom = stack.top();
    void* const a = stack.allocate(64, 8);
    stack.unwind(bottom);
    const bool same = stack.allocate(64, 8) == a;

    using pool = foonathan::memory::memory_pool<>;
    pool slots{64, pool::min_block_size(64, 100)};
    void* const b = slots.allocate_node();
    slots.deallocate_node(b);
    return same && b != nullptr ? 0 : 1;
}
