// A library that malloc_traps opens, and closes while a thread in it runs.
#include <cstdlib>
#include <string>

namespace {
struct owner {
    std::string text = std::string(500, 'x');
    ~owner() { std::free(std::malloc(text.size())); }
};
thread_local owner mine;
}  // namespace

extern "C" void* plugin_make(void*) { return std::malloc(mine.text.size()); }
