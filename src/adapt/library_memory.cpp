#include <cairn/adapt/inside/library_memory.hpp>

#include <cstdio>
#include <cstdlib>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void end_for_library(const char* library, const char* name, std::size_t size,
                     std::size_t limit) noexcept {
    char of_limit[48] = "";
    if (limit != 0) { std::snprintf(of_limit, sizeof of_limit, ", which may have %zu,", limit); }
    std::fprintf(stderr,
                 "cairn: %s asked for %zu bytes, which its memory '%s'%s refused; %s does not "
                 "check for this\n",
                 library, size, name, of_limit, library);
    std::abort();
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
