// What the lab uses of TBB: its allocator.
#include <tbb/scalable_allocator.h>

#include <list>

int main() {
    void* const p = scalable_malloc(64);
    scalable_free(p);
    std::list<int, tbb::scalable_allocator<int>> list{1, 2, 3};
    return p != nullptr && list.size() == 3 ? 0 : 1;
}
