// Cold half of cairn/core/poison.hpp: requests to Valgrind.
#include <cairn/core/poison.hpp>

#if CAIRN_DETAIL_VALGRIND

#    if defined(__has_include)
#        if __has_include(<valgrind/memcheck.h>)
#            include <valgrind/memcheck.h>
#            define CAIRN_DETAIL_HAS_REQUESTS 1
#        endif
#    endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

constinit bool on_valgrind = false;

#    if defined(CAIRN_DETAIL_HAS_REQUESTS)

namespace {

// Earlier than any static object of the program: their constructors may make arenas.
[[gnu::constructor(101)]] void ask_for_valgrind() noexcept {
    on_valgrind = RUNNING_ON_VALGRIND != 0;
}

}  // namespace

void tell_no_access(const void* address, std::size_t size) noexcept {
    (void)VALGRIND_MAKE_MEM_NOACCESS(address, size);
}

void tell_undefined(const void* address, std::size_t size) noexcept {
    (void)VALGRIND_MAKE_MEM_UNDEFINED(address, size);
}

void tell_defined(const void* address, std::size_t size) noexcept {
    (void)VALGRIND_MAKE_MEM_DEFINED(address, size);
}

unsigned tell_description(const void* address, std::size_t size, const char* text) noexcept {
    // Numbers of cairn begin at 1: 0 says that nothing was described.
    return static_cast<unsigned>(VALGRIND_CREATE_BLOCK(address, size, text)) + 1;
}

void tell_forget(unsigned number) noexcept { (void)VALGRIND_DISCARD(number - 1); }

#    else  // the library was compiled where Valgrind is not installed: never called

void tell_no_access(const void*, std::size_t) noexcept {}
void tell_undefined(const void*, std::size_t) noexcept {}
void tell_defined(const void*, std::size_t) noexcept {}
unsigned tell_description(const void*, std::size_t, const char*) noexcept { return 0; }
void tell_forget(unsigned) noexcept {}

#    endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail

#endif
