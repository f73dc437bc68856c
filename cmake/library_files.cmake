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
        src/core/flavour.cpp
        src/core/or_abort.cpp
        # os
        src/os/aside.cpp
        src/os/clock.cpp
        src/os/fork.cpp
        src/os/mutex.cpp
        src/os/page_allocator.cpp
        src/os/page_memory_${cairn_system}.cpp
        src/os/process_secret.cpp
        src/os/system_allocator.cpp
        src/os/thread_exit.cpp
        src/os/thread_identity.cpp
        # storage
        src/storage/allocator_watch.cpp
        src/storage/block_table.cpp
        src/storage/generations.cpp
        src/storage/growable_memory.cpp
        src/storage/object_slots.cpp
        src/storage/slot_directory.cpp
        src/storage/slot_directory/free_bits.cpp
        src/storage/sort_keys.cpp
        # alloc
        src/alloc/arena.cpp
        src/alloc/arena/mark_check.cpp
        src/alloc/concurrent_pool.cpp
        src/alloc/concurrent_pool/checks.cpp
        src/alloc/concurrent_pool/growth.cpp
        src/alloc/concurrent_pool/registry.cpp
        src/alloc/growing_arena.cpp
        src/alloc/heap.cpp
        src/alloc/pool.cpp
        src/alloc/pool/checks.cpp
        src/alloc/pool/growth.cpp
        src/alloc/scratch.cpp
        src/alloc/virtual_arena.cpp
        # movable
        src/movable/concurrent_relocatable_heap.cpp
        src/movable/offset_heap.cpp
        src/movable/relocatable_heap.cpp
        src/movable/relocatable_heap/compact.cpp
        src/movable/relocatable_heap/object_map.cpp
        # containers
        src/containers/shared_handle.cpp
        src/containers/table/memory.cpp
        src/containers/table/reserved.cpp
        # debug
        src/debug/expect_broken_promise.cpp
        src/debug/guarded.cpp
        src/debug/misuse.cpp
        src/debug/tracked.cpp
        # std
        src/std/bad_alloc.cpp
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES
        include/cairn/fwd.hpp
        # core
        include/cairn/core/alignment.hpp
        include/cairn/core/allocator_ref.hpp
        include/cairn/core/assert.hpp
        include/cairn/core/bits.hpp
        include/cairn/core/byte_allocator.hpp
        include/cairn/core/cache_line.hpp
        include/cairn/core/flavour.hpp
        include/cairn/core/handle.hpp
        include/cairn/core/make.hpp
        include/cairn/core/null_allocator.hpp
        include/cairn/core/or_abort.hpp
        include/cairn/core/poison.hpp
        include/cairn/core/prefetch.hpp
        include/cairn/core/sizes.hpp
        include/cairn/core/slice.hpp
        include/cairn/core/supported.hpp
        include/cairn/core/version.hpp
        # os
        include/cairn/os/aside.hpp
        include/cairn/os/clock.hpp
        include/cairn/os/fork.hpp
        include/cairn/os/mutex.hpp
        include/cairn/os/page_allocator.hpp
        include/cairn/os/page_memory.hpp
        include/cairn/os/per_thread.hpp
        include/cairn/os/process_secret.hpp
        include/cairn/os/system_allocator.hpp
        include/cairn/os/thread_exit.hpp
        include/cairn/os/thread_identity.hpp
        # storage
        include/cairn/storage/allocator_watch.hpp
        include/cairn/storage/block_table.hpp
        include/cairn/storage/dense_directory.hpp
        include/cairn/storage/generations.hpp
        include/cairn/storage/growable_memory.hpp
        include/cairn/storage/growth.hpp
        include/cairn/storage/object_slots.hpp
        include/cairn/storage/row_fields.hpp
        include/cairn/storage/slot_directory.hpp
        include/cairn/storage/slot_directory/free_bits.hpp
        include/cairn/storage/sort_indices.hpp
        include/cairn/storage/sort_keys.hpp
        include/cairn/storage/step_counter.hpp
        # alloc
        include/cairn/alloc/arena.hpp
        include/cairn/alloc/arena/bump_region.hpp
        include/cairn/alloc/arena/makes_objects.hpp
        include/cairn/alloc/arena/mark_check.hpp
        include/cairn/alloc/arena_scope.hpp
        include/cairn/alloc/best_fit.hpp
        include/cairn/alloc/best_fit/size_trie.hpp
        include/cairn/alloc/builder.hpp
        include/cairn/alloc/concurrent_pool.hpp
        include/cairn/alloc/concurrent_pool/fresh_chunks.hpp
        include/cairn/alloc/concurrent_pool/magazine_stack.hpp
        include/cairn/alloc/concurrent_pool/magazines.hpp
        include/cairn/alloc/double_ended_arena.hpp
        include/cairn/alloc/first_fit.hpp
        include/cairn/alloc/first_fit/max_tree.hpp
        include/cairn/alloc/fit/block.hpp
        include/cairn/alloc/fit/corrupt.hpp
        include/cairn/alloc/fit/free_lists.hpp
        include/cairn/alloc/fit/hidden_word.hpp
        include/cairn/alloc/fit/size_class.hpp
        include/cairn/alloc/fit/two_level_bitmap.hpp
        include/cairn/alloc/frame_arena.hpp
        include/cairn/alloc/good_fit.hpp
        include/cairn/alloc/growing_arena.hpp
        include/cairn/alloc/half_fit.hpp
        include/cairn/alloc/heap.hpp
        include/cairn/alloc/heap/deferred.hpp
        include/cairn/alloc/heap/deferred_bins.hpp
        include/cairn/alloc/heap/fit.hpp
        include/cairn/alloc/heap/heap_cold.hpp
        include/cairn/alloc/heap/region.hpp
        include/cairn/alloc/heap/region_set.hpp
        include/cairn/alloc/keeping.hpp
        include/cairn/alloc/locked.hpp
        include/cairn/alloc/pool.hpp
        include/cairn/alloc/pool_of.hpp
        include/cairn/alloc/recycling.hpp
        include/cairn/alloc/required_size.hpp
        include/cairn/alloc/scratch.hpp
        include/cairn/alloc/virtual_arena.hpp
        # movable
        include/cairn/movable/budget.hpp
        include/cairn/movable/concurrent_relocatable_heap.hpp
        include/cairn/movable/concurrent_relocatable_heap/move_gate.hpp
        include/cairn/movable/map_json.hpp
        include/cairn/movable/offset_heap.hpp
        include/cairn/movable/offset_heap/allocate.hpp
        include/cairn/movable/offset_heap/compaction.hpp
        include/cairn/movable/offset_heap/life.hpp
        include/cairn/movable/offset_heap/looking.hpp
        include/cairn/movable/planner.hpp
        include/cairn/movable/relocatable.hpp
        include/cairn/movable/relocatable_heap.hpp
        include/cairn/movable/relocatable_heap/heap_report.hpp
        include/cairn/movable/relocatable_heap/object_map.hpp
        include/cairn/movable/relocation.hpp
        # containers
        include/cairn/containers/attached_column.hpp
        include/cairn/containers/chunks.hpp
        include/cairn/containers/chunks/index_iterator.hpp
        include/cairn/containers/concurrent_object_pool.hpp
        include/cairn/containers/concurrent_object_pool/zeroed_memory.hpp
        include/cairn/containers/field.hpp
        include/cairn/containers/layout.hpp
        include/cairn/containers/lease.hpp
        include/cairn/containers/object_pool.hpp
        include/cairn/containers/packed_array.hpp
        include/cairn/containers/pool_hooks.hpp
        include/cairn/containers/shared_handle.hpp
        include/cairn/containers/slot_map.hpp
        include/cairn/containers/slot_map/found.hpp
        include/cairn/containers/slot_policy.hpp
        include/cairn/containers/slot_table.hpp
        include/cairn/containers/slot_table/found_row.hpp
        include/cairn/containers/stable_slot_map.hpp
        include/cairn/containers/stable_slot_map/hand.hpp
        include/cairn/containers/stable_slot_map/iterator.hpp
        include/cairn/containers/stable_slot_map/page.hpp
        include/cairn/containers/stable_slot_map/slots.hpp
        include/cairn/containers/stable_slot_map/slots_cold.hpp
        include/cairn/containers/table.hpp
        include/cairn/containers/table/arrangement.hpp
        include/cairn/containers/table/cells.hpp
        include/cairn/containers/table/chunks.hpp
        include/cairn/containers/table/column.hpp
        include/cairn/containers/table/components.hpp
        include/cairn/containers/table/memory.hpp
        include/cairn/containers/table/row.hpp
        include/cairn/containers/table/row_rules.hpp
        include/cairn/containers/table/shape.hpp
        include/cairn/containers/table/view.hpp
        include/cairn/containers/table/written_arguments.hpp
        include/cairn/containers/unique_handle.hpp
        # debug
        include/cairn/debug/expect_broken_promise.hpp
        include/cairn/debug/failing.hpp
        include/cairn/debug/guarded.hpp
        include/cairn/debug/tracked.hpp
        # std
        include/cairn/std/bad_alloc.hpp
        include/cairn/std/node_pool.hpp
        include/cairn/std/pmr_resource.hpp
        include/cairn/std/std_allocator.hpp
        include/cairn/std/unique_in.hpp
)
