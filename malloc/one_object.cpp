// The one object file of libcairn-malloc: malloc, and the copy of cairn's concurrent_heap below it.
//
// One object, so that a static link takes all of malloc or nothing of it. The copy has a flavour of
// its own (CAIRN_DETAIL_BELOW_MALLOC, cairn/core/inside/flavour.hpp): a program may link cairn, too,
// and neither sees the other. Nothing here needs the C++ library: a C program loads none for it.
#if !defined(CAIRN_DETAIL_BELOW_MALLOC) || CAIRN_ASSERTS
#    error "libcairn-malloc is compiled with the definitions of malloc/CMakeLists.txt"
#endif

#include "../src/alloc/concurrent_heap.cpp"
#include "../src/alloc/concurrent_heap/heap_checks.cpp"
#include "../src/alloc/concurrent_heap/heap_registry.cpp"
#include "../src/alloc/concurrent_heap/large.cpp"
#include "../src/alloc/concurrent_heap/units.cpp"
#include "../src/alloc/inside/cache_registry.cpp"
#include "../src/core/assert.cpp"
#include "../src/core/inside/flavour.cpp"
#include "../src/os/inside/fork.cpp"
#include "../src/os/inside/thread_exit.cpp"
#include "../src/os/mutex.cpp"
#include "../src/os/page_allocator.cpp"
#include "../src/os/page_memory_linux.cpp"
#include "../src/os/system_allocator.cpp"

// In place of src/os/inside/clock.cpp, which asks the C++ library.
#include <time.h>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

std::uint64_t monotonic_nanoseconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail

#include "malloc.cpp"
#include "operators.cpp"
#include "process_heap.cpp"
#include "statistics.cpp"
