// The sizes and alignments of cairn's main classes, one a line: tools/prove-msvc-abi compares what this
// prints on both ABIs.
#include <cairn/cairn.hpp>

#include <cstdint>
#include <cstdio>

const char CAIRN_DETAIL_FLAVOUR_MARK = 0;  // the program is not linked with cairn

namespace {

struct thing {
    float x;
    int y;
};
template <class T>
void print(const char* name) {
    std::printf("%-32s %6zu %4zu\n", name, sizeof(T), alignof(T));
}

}  // namespace

#define PRINT(...) print<cairn::__VA_ARGS__>(#__VA_ARGS__)

int main() {
    PRINT(alignment);
    PRINT(allocator_ref);
    PRINT(handle<thing>);
    PRINT(slice<thing>);
    PRINT(arena);
    PRINT(arena::marker);
    PRINT(growing_arena);
    PRINT(virtual_arena);
    PRINT(double_ended_arena);
    PRINT(frame_arena<2>);
    PRINT(builder<thing>);
    PRINT(pool);
    PRINT(pool_of<thing>);
    PRINT(concurrent_pool);
    PRINT(concurrent_pool_of<thing>);
    PRINT(heap<>);
    PRINT(heap<cairn::quick_fit>);
    PRINT(budget<cairn::heap<>>);
    PRINT(locked<cairn::pool>);
    PRINT(tracked<cairn::heap<>>);
    PRINT(guarded<cairn::heap<>>);
    PRINT(detail::growable_memory);
    PRINT(offset_heap);
    PRINT(relocatable_heap);
    PRINT(packed_array<thing>);
    PRINT(slot_map<thing>);
    PRINT(stable_slot_map<thing>);
    PRINT(polymorphic_store<thing, thing>);
    PRINT(object_pool<thing>);
    PRINT(concurrent_object_pool<thing>);
    PRINT(message_queue<thing>);
    PRINT(string_pool);
    PRINT(unique_handle<cairn::slot_map<thing>>);
    PRINT(deferred_store<cairn::slot_map<thing>>);
    PRINT(collected_heap);
    PRINT(root<thing>);
    PRINT(weak_ref<thing>);
    PRINT(mutex);
}
