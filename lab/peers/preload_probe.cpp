// Runs with a malloc library preloaded: preload PATH SYMBOL. Says why that library is not there.
#include "lab/harness/preload.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::string why = lab::preload_obstacle(argv[1], argv[2]);
    if (!why.empty()) {
        std::puts(why.c_str());
        return 1;
    }
    void* volatile p = std::malloc(1000);
    p = std::realloc(p, 100'000);
    std::free(p);
    p = ::operator new(100);
    ::operator delete(p);
    return 0;
}
