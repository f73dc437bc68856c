// A malloc that can be preloaded, for tests/lab/lab_test.py: that of the C library, under its own
// names.
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* p, std::size_t size);
void __libc_free(void* p);

void* malloc(std::size_t size) { return __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return __libc_calloc(count, size); }
void* realloc(void* p, std::size_t size) { return __libc_realloc(p, size); }
void free(void* p) { __libc_free(p); }

int small_malloc_of_the_lab_tests() { return 7; }
}
