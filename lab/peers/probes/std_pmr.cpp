// What the lab uses of the standard library's memory resources.
#include <memory_resource>

int main() {
    std::pmr::monotonic_buffer_resource arena{1000};
    std::pmr::unsynchronized_pool_resource pool{&arena};
    return pool.allocate(64, 8) != nullptr ? 0 : 1;
}
