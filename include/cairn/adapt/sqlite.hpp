// cairn/adapt/sqlite.hpp - SQLite in a memory of its own.
//
//      cairn::set_sqlite_memory();                  // the first call of SQLite in the program
//      sqlite3_open(":memory:", &database);
//
//      cairn::set_sqlite_memory<database_memory>(); // a memory that the program names
//
// When the memory refuses, SQLite returns SQLITE_NOMEM and rolls the statement back.
//
// Memory:  one for the process: SQLite's functions have no context. The default is for any thread.
//          A heap<> of one thread is right only for sqlite3_config(SQLITE_CONFIG_SINGLETHREAD).
// Threads: any of SQLite's, from all of its connections.
#pragma once

#include <cairn/adapt/hooks.hpp>
#include <cairn/adapt/inside/library_memory.hpp>
#include <cairn/alloc/concurrent_heap.hpp>

#include <sqlite3.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// SQLite asks `Memory` for every block from now on. As hooks<>: an object or a function.
/// Requires: SQLite is not initialized: nothing of it but sqlite3_config() was called before.
/// Returns:  SQLITE_OK, or what sqlite3_config() returns: SQLITE_MISUSE when it is initialized.
template <auto& Memory>
int set_sqlite_memory() noexcept {
    using in = hooks<Memory>;
    static constexpr sqlite3_mem_methods methods{
        [](int size) { return (in::malloc)(static_cast<std::size_t>(size)); },
        [](void* p) { (in::free)(p); },
        [](void* p, int size) { return (in::realloc)(p, static_cast<std::size_t>(size)); },
        [](void* p) { return static_cast<int>(in::malloc_usable_size(p)); },
        [](int size) { return (size + 7) & ~7; },
        [](void*) { return SQLITE_OK; },
        [](void*) {},
        nullptr};
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}
/// The same with a concurrent_heap that never ends.
// No default template argument: gcc 12 does not emit its function where a template calls.
inline int set_sqlite_memory() noexcept {
    return set_sqlite_memory<detail::never_ended<concurrent_heap, sqlite3>>();
}

}}  // namespace cairn::CAIRN_FLAVOUR
