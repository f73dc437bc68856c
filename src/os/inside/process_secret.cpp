// The only place that asks the system for random bytes: cairn/os/inside/process_secret.hpp.
#if defined(_WIN32)
#    define _CRT_RAND_S  // before <stdlib.h>: rand_s
#endif
#include <stdlib.h>  // arc4random_buf, rand_s

#include <cairn/os/inside/process_secret.hpp>

#include <atomic>
#include <cstring>
#if defined(__linux__)
#    include <sys/auxv.h>
#endif

#include <cairn/os/inside/clock.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

/// The finalizer of SplitMix64: each bit of the result depends on each bit of `x`.
std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9u;
    x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EBu;
    return x ^ x >> 31;
}

std::uint64_t drawn() noexcept {
    std::uint64_t words[2] = {};
#if defined(__linux__)
    const auto* const bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
    if (bytes != nullptr) { std::memcpy(words, bytes, sizeof words); }
#elif defined(__APPLE__)
    arc4random_buf(words, sizeof words);
#elif defined(_WIN32)
    for (std::uint64_t& word : words) {
        unsigned int half = 0;
        if (rand_s(&half) == 0) { word = half; }
        if (rand_s(&half) == 0) { word = word << 32 | half; }
    }
#endif
    // Both words, so that neither follows from the sum: the C library guards stacks with them.
    // Where a system gave nothing, the time and the place of the stack are better than a constant.
    return mixed(words[0]) + mixed(words[1] ^ reinterpret_cast<std::uintptr_t>(&words)) +
           mixed(monotonic_nanoseconds());
}

constinit std::atomic<std::uint64_t> secret{0};  // 0: not drawn yet

}  // namespace

std::uint64_t process_secret() noexcept {
    std::uint64_t known = secret.load(std::memory_order_relaxed);
    if (known != 0) { return known; }
    // Never 0, which says that none was drawn.
    const std::uint64_t mine = drawn() | 1;
    // relaxed: the number is all there is to see. The first thread to draw wins.
    return secret.compare_exchange_strong(known, mine, std::memory_order_relaxed) ? mine : known;
}

std::uint64_t secret_of(const void* address) noexcept {
    // Mixed before and after: neighbouring addresses have secrets that say nothing of each other.
    return mixed(process_secret() ^ mixed(reinterpret_cast<std::uintptr_t>(address)));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
