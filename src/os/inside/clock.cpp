// Cold half of cairn/os/inside/clock.hpp.
#include <cairn/os/inside/clock.hpp>

#include <chrono>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

std::uint64_t monotonic_nanoseconds() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
