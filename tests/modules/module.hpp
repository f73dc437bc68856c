// tests/modules/module.hpp - what a module (plugin or program) with a cairn of its own in it can be
// asked to do. All of it runs that module's copy of the library, on objects that may be another
// module's.
#pragma once

#include <cstddef>

struct pool_facts {
    std::size_t live_count;
    std::size_t cache_count;
};

// A table of C functions: what crosses modules is pointers, as in a plugin interface of a game.
struct module_interface {
    const char* flavour;

    void* (*make_pool)(std::size_t slot_size);
    void (*end_pool)(void* pool);
    void* (*allocate)(void* pool);
    void (*deallocate)(void* pool, void* slot);
    bool (*owns)(void* pool, void* slot);
    void* (*allocate_from_view)(void* pool);  // of a view that lives as long as the call
    void (*release_this_thread)(void* pool);
    pool_facts (*facts)(void* pool);  // validated
    void (*reset)(void* pool);

    // A concurrent_heap serves this thread; the module has 8 KiB of thread-local memory beside it.
    bool (*heap_works)();

    void* (*make_counters)();  // a per_thread<long>
    void (*count)(void* counters);
    long (*sum)(void* counters);
    void (*end_counters)(void* counters);
    unsigned (*thread_number)();

    void* (*make_mutex)();
    void (*lock)(void* mutex);
    void (*unlock)(void* mutex);
    void (*end_mutex)(void* mutex);

    // Opens a scratch scope that avoids `taken` (nullptr, or what another module's call made),
    // calls inside(scope's arena) and closes it.
    void (*with_scratch)(void* taken, void (*inside)(void* arena, void* argument), void* argument);
    // A marker of a new arena, and whether it is that of another one.
    void* (*make_marked_arena)();
    void (*end_marked_arena)(void* arena);
    bool (*stamps_are_equal)(void* arena, void* other);
};

extern "C" const module_interface* this_module_interface();
