// What each package is tried with: a program that uses headers and sources of cairn.
// EXPECTED_ASSERTS: the value of CAIRN_ASSERTS that the package says it was built with.
#include <cairn/alloc/concurrent_pool.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/containers/slot_map.hpp>
#include <cairn/core/version.hpp>

#include <cstdio>

#if defined(EXPECTED_ASSERTS)
static_assert(CAIRN_ASSERTS == EXPECTED_ASSERTS, "the package says how it was built");
#endif

int main() {
    cairn::heap<> memory;
    cairn::growing_arena frame{4096, memory};
    cairn::concurrent_pool messages{32};
    cairn::slot_map<int> numbers{memory};
    const auto seven = numbers.emplace(7);
    void* const message = messages.allocate();
    const bool good = frame.allocate(100) != nullptr && message != nullptr && numbers[seven] == 7;
    messages.deallocate(message);
    std::printf("cairn %d.%d.%d, promises %s\n", CAIRN_VERSION_MAJOR, CAIRN_VERSION_MINOR,
                CAIRN_VERSION_PATCH, cairn::asserts_enabled ? "checked" : "not checked");
    return good ? 0 : 1;
}
