// Cold half of cairn/std/inside/bad_alloc.hpp. The only file of the library that throws.
#include <cairn/std/inside/bad_alloc.hpp>

#include <cstdlib>
#include <new>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void throw_bad_alloc() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc{};
#else
    std::abort();  // a library built without exceptions, used by a program built with them
#endif
}

void throw_bad_array_length() {
#if defined(__cpp_exceptions)
    throw std::bad_array_new_length{};
#else
    std::abort();
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
