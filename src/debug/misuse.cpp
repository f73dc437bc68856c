// Cold half of src/debug/misuse.hpp.
#include "misuse.hpp"

#include <cstdarg>
#include <cstdio>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void misuse(misuse_kind kind, const std::source_location& where, const char* invariant,
            const char* format, ...) noexcept {
    char details[256];  // on the stack: the heap may be damaged
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(details, sizeof details, format, arguments);
    va_end(arguments);
    assert_failed(details, invariant, {.kind = kind, .caller = where},
                  where.line() != 0 ? where : std::source_location::current());
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
