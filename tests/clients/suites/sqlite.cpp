// Linked into SQLite's test program by tools/prove-clients: SQLite works on a heap of cairn's before
// the first line of main.
#include "heap_of_choice.hpp"

#include <sqlite3.h>

namespace {

int size_of(void* p) {
    return p == nullptr ? 0 : static_cast<int>(clients::heap_of_choice().usable_size(p));
}
void* allocate(int size) {
    auto& m = clients::heap_of_choice();
    return m.allocate(m.good_size(static_cast<std::size_t>(size)));
}
void deallocate(void* p) {
    clients::heap_of_choice().deallocate(p, static_cast<std::size_t>(size_of(p)));
}
void* resize(void* p, int size) {
    auto& m = clients::heap_of_choice();
    return m.resize(p, static_cast<std::size_t>(size_of(p)),
                    m.good_size(static_cast<std::size_t>(size)));
}
int round_up(int size) {
    return static_cast<int>(clients::heap_of_choice().good_size(static_cast<std::size_t>(size)));
}

[[gnu::constructor]] void work_on_cairn() {
    sqlite3_mem_methods calls{allocate,     deallocate, resize,
                              size_of,      round_up,   [](void*) { return SQLITE_OK; },
                              [](void*) {}, nullptr};
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &calls) != SQLITE_OK) { std::abort(); }
}

}  // namespace
