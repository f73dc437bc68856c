// What the lab uses of Boost.
#include "lab/peers/boost.hpp"

#include <list>

int main() {
    using lab::peers::boost;
    boost::pool<64> slots{100};
    void* const a = slots.allocate();
    slots.deallocate(a);
    boost::ordered_pool<64> ordered{100};
    void* const b = ordered.allocate();
    ordered.deallocate(b);

    boost::objects<int> objects;
    const bool constructed = objects.construct() != nullptr;

    std::list<int, boost::node_allocator<int>> list{1, 2, 3};

    boost::rbtree_best_fit<1 << 16> heap;
    void* const c = heap.allocate(100);
    heap.deallocate(c, 100);

    boost::lockfree_stack<64> stack{16};
    boost::lockfree_queue<16> queue;
    void* d = nullptr;
    const bool popped = stack.allocate() != nullptr && queue.push(a) && queue.pop(d) && d == a;
    return a != nullptr && b != nullptr && c != nullptr && constructed && popped && list.size() == 3
               ? 0
               : 1;
}
