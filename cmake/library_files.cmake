# Every file of the library, one a line. The headers are checked one by one in the dev preset.
if(WIN32)
    set(cairn_system windows)
elseif(APPLE)
    set(cairn_system macos)
else()
    set(cairn_system linux)
endif()

target_sources(cairn
    PRIVATE
        # core
        src/core/assert.cpp
        src/core/or_abort.cpp
        # os
        src/os/page_allocator.cpp
        src/os/page_memory_${cairn_system}.cpp
        src/os/clock.cpp
        src/os/fork.cpp
        src/os/mutex.cpp
        src/os/system_allocator.cpp
        src/os/thread_identity.cpp
        # alloc
        src/alloc/free_bits.cpp
        src/alloc/growable_memory.cpp
        src/alloc/slot_directory.cpp
        src/alloc/concurrent_pool.cpp
        src/alloc/concurrent_pool_checks.cpp
        src/alloc/concurrent_pool_growth.cpp
        src/alloc/concurrent_pool_registry.cpp
        src/alloc/pool.cpp
        src/alloc/pool_checks.cpp
        src/alloc/pool_growth.cpp
        src/alloc/arena.cpp
        src/alloc/growing_arena.cpp
        src/alloc/mark_check.cpp
        src/alloc/scratch.cpp
        src/alloc/virtual_arena.cpp
        src/alloc/heap.cpp
        src/alloc/offset_heap.cpp
        src/alloc/concurrent_relocatable_heap.cpp
        src/alloc/relocatable_heap.cpp
        src/alloc/relocation/compact.cpp
        src/alloc/relocation/object_map.cpp
        # containers
        src/containers/object_slots.cpp
        src/containers/shared_handle.cpp
        src/containers/sort_keys.cpp
        src/containers/table_memory.cpp
        # debug
        src/debug/block_table.cpp
        src/debug/guarded.cpp
        src/debug/misuse.cpp
        src/debug/tracked.cpp
        # std
        src/std/bad_alloc.cpp
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES
        # core
        include/cairn/core/alignment.hpp
        include/cairn/core/allocator_ref.hpp
        include/cairn/core/assert.hpp
        include/cairn/core/bits.hpp
        include/cairn/core/byte_allocator.hpp
        include/cairn/core/cache_line.hpp
        include/cairn/core/handle.hpp
        include/cairn/core/make.hpp
        include/cairn/core/null_allocator.hpp
        include/cairn/core/or_abort.hpp
        include/cairn/core/poison.hpp
        include/cairn/core/sizes.hpp
        include/cairn/core/slice.hpp
        # os
        include/cairn/os/clock.hpp
        include/cairn/os/fork.hpp
        include/cairn/os/mutex.hpp
        include/cairn/os/page_allocator.hpp
        include/cairn/os/page_memory.hpp
        include/cairn/os/per_thread.hpp
        include/cairn/os/system_allocator.hpp
        include/cairn/os/thread_identity.hpp
        # alloc
        include/cairn/alloc/free_bits.hpp
        include/cairn/alloc/growable_memory.hpp
        include/cairn/alloc/slot_directory.hpp
        include/cairn/alloc/concurrent_pool.hpp
        include/cairn/alloc/keeping.hpp
        include/cairn/alloc/locked.hpp
        include/cairn/alloc/magazines.hpp
        include/cairn/alloc/pool.hpp
        include/cairn/alloc/pool_of.hpp
        include/cairn/alloc/arena.hpp
        include/cairn/alloc/arena_scope.hpp
        include/cairn/alloc/builder.hpp
        include/cairn/alloc/detail/bump_region.hpp
        include/cairn/alloc/detail/fresh_chunks.hpp
        include/cairn/alloc/detail/magazine_stack.hpp
        include/cairn/alloc/detail/makes_objects.hpp
        include/cairn/alloc/detail/mark_check.hpp
        include/cairn/alloc/double_ended_arena.hpp
        include/cairn/alloc/frame_arena.hpp
        include/cairn/alloc/growing_arena.hpp
        include/cairn/alloc/recycling.hpp
        include/cairn/alloc/scratch.hpp
        include/cairn/alloc/virtual_arena.hpp
        include/cairn/alloc/heap.hpp
        include/cairn/alloc/heap/best_fit.hpp
        include/cairn/alloc/heap/block.hpp
        include/cairn/alloc/heap/deferred.hpp
        include/cairn/alloc/heap/first_fit.hpp
        include/cairn/alloc/heap/free_lists.hpp
        include/cairn/alloc/heap/good_fit.hpp
        include/cairn/alloc/heap/half_fit.hpp
        include/cairn/alloc/heap/heap_cold.hpp
        include/cairn/alloc/heap/hidden_word.hpp
        include/cairn/alloc/heap/max_tree.hpp
        include/cairn/alloc/heap/region.hpp
        include/cairn/alloc/heap/size_class.hpp
        include/cairn/alloc/heap/size_trie.hpp
        include/cairn/alloc/heap/step_counter.hpp
        include/cairn/alloc/heap/two_level_bitmap.hpp
        include/cairn/alloc/offset_heap.hpp
        include/cairn/alloc/offset_heap/allocate.hpp
        include/cairn/alloc/offset_heap/compaction.hpp
        include/cairn/alloc/offset_heap/life.hpp
        include/cairn/alloc/offset_heap/looking.hpp
        include/cairn/alloc/concurrent_relocatable_heap.hpp
        include/cairn/alloc/relocatable_heap.hpp
        include/cairn/alloc/relocation/budget.hpp
        include/cairn/alloc/relocation/heap_report.hpp
        include/cairn/alloc/relocation/map_json.hpp
        include/cairn/alloc/relocation/move_gate.hpp
        include/cairn/alloc/relocation/object_map.hpp
        include/cairn/alloc/relocation/planner.hpp
        include/cairn/alloc/relocation/relocatable.hpp
        include/cairn/alloc/relocation/relocation.hpp
        include/cairn/alloc/required_size.hpp
        # containers
        include/cairn/containers/attached_column.hpp
        include/cairn/containers/chunks.hpp
        include/cairn/containers/concurrent_object_pool.hpp
        include/cairn/containers/dense_directory.hpp
        include/cairn/containers/packed_array.hpp
        include/cairn/containers/row_iterator.hpp
        include/cairn/containers/shared_handle.hpp
        include/cairn/containers/slot_map.hpp
        include/cairn/containers/slot_map_table.hpp
        include/cairn/containers/slot_policy.hpp
        include/cairn/containers/sort_indices.hpp
        include/cairn/containers/stable_hand.hpp
        include/cairn/containers/stable_iterator.hpp
        include/cairn/containers/stable_page.hpp
        include/cairn/containers/stable_slot_map.hpp
        include/cairn/containers/stable_slots.hpp
        include/cairn/containers/stable_slots_cold.hpp
        include/cairn/containers/components.hpp
        include/cairn/containers/field.hpp
        include/cairn/containers/found_row.hpp
        include/cairn/containers/index_iterator.hpp
        include/cairn/containers/layout.hpp
        include/cairn/containers/row_fields.hpp
        include/cairn/containers/lease.hpp
        include/cairn/containers/object_pool.hpp
        include/cairn/containers/object_slots.hpp
        include/cairn/containers/pool_hooks.hpp
        include/cairn/containers/sort_keys.hpp
        include/cairn/containers/table.hpp
        include/cairn/containers/table_column.hpp
        include/cairn/containers/table_memory.hpp
        include/cairn/containers/table_row.hpp
        include/cairn/containers/table_view.hpp
        include/cairn/containers/unique_handle.hpp
        include/cairn/containers/zeroed_memory.hpp
        # debug
        include/cairn/debug/block_table.hpp
        include/cairn/debug/failing.hpp
        include/cairn/debug/guarded.hpp
        include/cairn/debug/misuse.hpp
        include/cairn/debug/tracked.hpp
        # std
        include/cairn/std/node_pool.hpp
        include/cairn/std/bad_alloc.hpp
        include/cairn/std/pmr_resource.hpp
        include/cairn/std/std_allocator.hpp
        include/cairn/std/unique_in.hpp
)
