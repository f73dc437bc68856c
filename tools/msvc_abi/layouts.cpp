// The sizes and alignments of cairn's classes, one a line in the assembly that this compiles to:
//
//      # layout: arena 72 8
//
// tools/prove-msvc-abi compares the lines of both ABIs, and says which class is missing here.
#if defined(CAIRN_TEST_SMALL_LOCATION)
// Microsoft's std::source_location has 24 bytes and those of the others one pointer. With this one
// all other differences would show.
#    include <cstdint>
#    define _SOURCE_LOCATION_
namespace std {
struct source_location {
    static consteval source_location current(const char* file = __builtin_FILE(),
                                             const char* function = __builtin_FUNCTION()) noexcept {
        return {file != nullptr ? function : nullptr};
    }
    constexpr uint_least32_t line() const noexcept { return 0; }
    constexpr uint_least32_t column() const noexcept { return 0; }
    constexpr const char* file_name() const noexcept { return function; }
    constexpr const char* function_name() const noexcept { return function; }
    const char* function;
};
}  // namespace std
#endif

#include "headers.cpp"  // every header: tools/prove-msvc-abi writes it

namespace {

struct thing {
    float x;
    int y;
};
struct row {
    int id;
    double weight;
    char mark;
};
struct node {
    cairn::ref<node> next;
    cairn::ref_array<node> others;
};
struct wake {
    void operator()(thing&) const noexcept {}
};
cairn::system_allocator static_memory;
using references = cairn::packed_array<cairn::outer_ref<node>>;
using heap = cairn::heap<>;
using map = cairn::slot_map<thing>;
using shared = cairn::shared_store<map>;
using table = cairn::table<row>;

}  // namespace

#define PRINT(...)                                 \
    __asm__("\n# layout: " #__VA_ARGS__ " %c0 %c1" \
            :                                      \
            : "i"(sizeof(__VA_ARGS__)), "i"(alignof(__VA_ARGS__)))

void print_layouts() {
    using namespace cairn;
    using namespace cairn::detail;
    // core
    PRINT(alignment);
    PRINT(allocator_ref);
    PRINT(cache_line_padded<thing>);
    PRINT(handle<thing>);
    PRINT(handle<thing, 32>);
    PRINT(null_allocator);
    PRINT(or_abort<::heap>);
    PRINT(slice<thing>);
    // os
    PRINT(mutex);
    PRINT(page_allocator);
    PRINT(page_options);
    PRINT(per_thread<thing>);
    PRINT(system_allocator);
    PRINT(thread_identity);
    // alloc
    PRINT(arena);
    PRINT(arena::marker);
    PRINT(arena_scope<arena>);
    PRINT(array_recycler<arena>);
    PRINT(budget<::heap>);
    PRINT(builder<thing>);
    PRINT(concurrent_budget<concurrent_heap>);
    PRINT(concurrent_heap);
    PRINT(concurrent_heap::local_view);
    PRINT(concurrent_pool);
    PRINT(concurrent_pool::local_view);
    PRINT(concurrent_pool_of<thing>);
    PRINT(double_ended_arena);
    PRINT(frame_arena<2>);
    PRINT(frame_arena<3, arena>);
    PRINT(frame_arena<2, virtual_arena>);
    PRINT(growing_arena);
    PRINT(growing_arena::marker);
    PRINT(::heap);
    PRINT(cairn::heap<best_fit>);
    PRINT(cairn::heap<first_fit>);
    PRINT(cairn::heap<good_fit>);
    PRINT(cairn::heap<half_fit>);
    PRINT(cairn::heap<quick_fit>);
    PRINT(cairn::heap<strict_good_fit>);
    PRINT(heap_options);
    PRINT(heap_stats);
    PRINT(locked<pool>);
    PRINT(monotonic<growing_arena>);
    PRINT(pool);
    PRINT(pool_of<thing>);
    PRINT(reclaim_order);
    PRINT(tagged_arenas);
    PRINT(tagged_arenas::view);
    PRINT(virtual_arena);
    // debug
    PRINT(failing<::heap>);
    PRINT(guarded<::heap>);
    PRINT(hardened<::heap>);
    PRINT(memory_page);
    PRINT(memory_snapshot);
    PRINT(registry::entry);
    PRINT(tracked<::heap>);
    // storage
    PRINT(allocator_watch);
    PRINT(growable_memory);
    PRINT(slot_directory<reuse::lifo>);
    PRINT(generations);
    PRINT(work_limit);
    // containers
    PRINT(attached_column<thing>);
    PRINT(concurrent_object_pool<thing>);
    PRINT(message_queue<thing>);
    PRINT(object_pool<thing>);
    PRINT(object_pool<thing, pool_hooks<wake>>);
    PRINT(concurrent_object_pool<thing, pool_hooks<wake>>);
    PRINT(packed_array<thing>);
    PRINT(polymorphic_store<thing>);
    PRINT(polymorphic_store<thing, thing>);
    PRINT(map);
    PRINT(slot_item<map::handle_type, thing&>);
    PRINT(slot_map<thing, slot_policy<32>>);
    PRINT(slot_table<row>);
    PRINT(stable_slot_map<thing>);
    PRINT(stable_chunk);
    PRINT(string_pool);
    PRINT(::table);
    PRINT(cairn::table<row, aos>);
    // movable
    PRINT(basic_offset_heap<unsigned>);
    PRINT(offset_heap);
    PRINT(concurrent_relocatable_heap);
    PRINT(frame_ptr<thing>);
    PRINT(pinned<thing>);
    PRINT(relocatable<thing>);
    PRINT(relocatable_heap);
    PRINT(relocatable_heap_stats);
    PRINT(relocation);
    // owners
    PRINT(deferred_store<map>);
    PRINT(destruction_queue<thing>);
    PRINT(destruction_report);
    PRINT(lease<object_pool<thing>>);
    PRINT(shared);
    PRINT(shared_store<map, atomic_count>);
    PRINT(shared_handle<shared>);
    PRINT(unique_handle<map>);
    // std
    PRINT(allocator_for<static_memory>::type<thing>);
    PRINT(deferred_in<thing>);
    PRINT(from_pmr);
    PRINT(node_allocator<thing>);
    PRINT(node_pool);
    PRINT(pmr_resource<::heap>);
    PRINT(short_text);
    PRINT(std_allocator<thing>);
    PRINT(unique_in<thing>);
    PRINT(unique_in<thing[]>);
    // collected
    PRINT(collected_heap);
    PRINT(collection_report);
    PRINT(marking_worker);
    PRINT(ref<node>);
    PRINT(ref_array<node>);
    PRINT(root<node>);
    PRINT(traced<references>);
    PRINT(weak_ref<node>);
    PRINT(collected_region);
    // adapt
    PRINT(context_hooks<::heap>);
    PRINT(hooks<static_memory>);
}
