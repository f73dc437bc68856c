// cairn/os/inside/fork.hpp on POSIX.
#include <cairn/os/inside/fork.hpp>

#if !defined(_WIN32)
#    include <pthread.h>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

bool around_fork([[maybe_unused]] void (*before)(), [[maybe_unused]] void (*in_parent)(),
                 [[maybe_unused]] void (*in_child)()) noexcept {
#if defined(_WIN32)
    return true;
#else
    return ::pthread_atfork(before, in_parent, in_child) == 0;
#endif
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
