// Uses each thing that a peer offers, once. The peer is present where this compiles, links, and ends
// with 0. LAB_PEER is its name.
#define LAB_TEXT_OF(text) #text
// clang-format off: the name of a file has no spaces
#define LAB_HEADER_OF(name) LAB_TEXT_OF(lab/peers/name.hpp)
// clang-format on
#include LAB_HEADER_OF(LAB_PEER)

#include <list>
#include <vector>

#include "lab/peers/kinds.hpp"

namespace {

using peer = lab::peers::LAB_PEER;
bool is_well = true;

void expect(bool holds) { is_well = is_well && holds; }

struct base {
    virtual ~base() = default;
    virtual int number() const = 0;
};
struct one final : base {
    int number() const override { return 1; }
};

/// Calls use<type>(name) for each thing of this kind.
template <class Kind, class Use>
void each(Use use) {
    if constexpr (requires { peer::offer(Kind{}, use); }) { peer::offer(Kind{}, use); }
}

constexpr auto use_arena = []<class A>(const char*) {
    std::vector<std::byte> region(1 << 20);
    A arena{region};
    expect(arena.allocate(64) != nullptr && arena.allocate(10'000) != nullptr);
    arena.reset();
};
constexpr auto use_pool = []<class P>(const char*) {
    P slots{100};
    void* const slot = slots.allocate();
    expect(slot != nullptr);
    slots.deallocate(slot);
};
constexpr auto use_queue = []<class Q>(const char*) {
    Q queue;
    int value = 0;
    void* got = nullptr;
    expect(queue.push(&value) && queue.pop(got) && got == &value);
};
constexpr auto use_heap = []<class H>(const char*) {
    H heap;
    void* const block = heap.allocate(100);
    expect(block != nullptr);
    heap.deallocate(block, 100);
};
constexpr auto use_object_pool = []<class P>(const char*) {
    P objects;
    int* const object = objects.construct();
    expect(object != nullptr);
    objects.destroy(object);
};
constexpr auto use_store = []<class S>(const char*) {
    S all{10};
    const auto first = all.insert(1);
    const auto second = all.insert(2);
    all.erase(first);
    unsigned sum = 0;
    all.each([&](unsigned& one_of_them) { sum += one_of_them; });
    expect(all.size() == 1 && sum == 2);
    if constexpr (requires { all.find(second); }) {
        expect(all.find(first) == nullptr && *all.find(second) == 2);
    }
};
constexpr auto use_node_allocator = []<template <class> class A>(const char*) {
    expect(std::list<int, A<int>>{1, 2, 3}.size() == 3);
};
constexpr auto use_small_vector = []<class V>(const char*) {
    V all;
    all.push_back(1);
    expect(all.size() == 1 && *all.begin() == 1);
};
constexpr auto use_graph = []<class G>(const char*) {
    G all{{100, 10}};
    all.make(0);
    all.make(1);
    all.link(0, 2, 1);
    all.store(3, 0);
    all.safe_point();
    all.load(4, 3);
    all.unlink(0, 2);
};
constexpr auto use_polymorphic_store = []<class S>(const char*) {
    S all;
    all.template emplace<one>();
    int sum = 0;
    all.each([&](const base& b) { sum += b.number(); });
    all.template each_named<one>([&](const auto& b) { sum += b.number(); });
    expect(sum == 2);
};

}  // namespace

int main() {
    namespace kinds = lab::kinds;
    each<kinds::arenas>(use_arena);
    each<kinds::pools<64>>(use_pool);
    each<kinds::thread_pools<64>>(use_pool);
    each<kinds::queues<16>>(use_queue);
    each<kinds::heaps<(1 << 16)>>(use_heap);
    each<kinds::object_pools<int>>(use_object_pool);
    each<kinds::stores<unsigned>>(use_store);
    each<kinds::small_vectors<int>>(use_small_vector);
    each<kinds::node_allocators>(use_node_allocator);
    each<kinds::graphs>(use_graph);
    each<kinds::polymorphic_stores<base>>(use_polymorphic_store);
    return is_well ? 0 : 1;
}
