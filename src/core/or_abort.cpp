// Cold half of cairn/core/or_abort.hpp.
#include <cairn/core/or_abort.hpp>

#include <cstdio>
#include <cstdlib>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

void out_of_memory(std::size_t size, alignment align) noexcept {
    std::fprintf(stderr, "cairn: out of memory: %zu bytes, aligned to %zu, were asked for\n", size,
                 align.bytes());
    std::fflush(stderr);
    std::abort();
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
