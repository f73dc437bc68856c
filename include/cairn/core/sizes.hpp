// cairn/core/sizes.hpp - 64_KiB instead of 64 * 1024.
//
//      using namespace cairn::literals;
//      cairn::arena frame{16_MiB};
#pragma once

#include <cstddef>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { inline namespace literals {

/// In bytes.
[[nodiscard]] consteval std::size_t operator""_B(unsigned long long count) {
    return static_cast<std::size_t>(count);
}
/// In units of 1024 bytes.
[[nodiscard]] consteval std::size_t operator""_KiB(unsigned long long count) {
    return static_cast<std::size_t>(count << 10);
}
/// In units of 1024 * 1024 bytes.
[[nodiscard]] consteval std::size_t operator""_MiB(unsigned long long count) {
    return static_cast<std::size_t>(count << 20);
}
/// In units of 2^30 bytes.
[[nodiscard]] consteval std::size_t operator""_GiB(unsigned long long count) {
    return static_cast<std::size_t>(count << 30);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::literals
