// Cold half of cairn/debug/misuse.hpp.
#include <cairn/debug/misuse.hpp>

#include <cstdarg>
#include <cstdio>

#include <cairn/core/assert.hpp>

namespace cairn::inline CAIRN_FLAVOUR::detail {

void misuse(const std::source_location& where, const char* invariant, const char* format,
            ...) noexcept {
    char details[256];  // on the stack: memory may be what is broken
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(details, sizeof details, format, arguments);
    va_end(arguments);
    assert_failed(details, invariant, where);
}

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
