// cairn/os/inside/process_secret.hpp - a number that another process, or a stray write, does not
// know.
//
//      process_secret()   x   address of a heap's region   ->   the key of its links
//
// Use it for: keys of what lies in memory that programs write to by mistake.
// Look elsewhere for: cryptography.
//
// Linux:    from AT_RANDOM, the 16 bytes that the kernel gives each program: no system call, no
//           file.
// Others:   the system's random numbers (macOS: arc4random, Windows: rand_s).
// Cost:     once a process the above, then one load.
// Threads:  any.
#pragma once

#include <cstdint>

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// The same number at each call, another one in each run of the program. A child of a fork has its
/// parent's. Nothing that a program can observe through the interfaces of cairn depends on it.
[[nodiscard]] std::uint64_t process_secret() noexcept;

/// Another number for each `address`: it says nothing about the secret, nor about other addresses.
[[nodiscard]] std::uint64_t secret_of(const void* address) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
