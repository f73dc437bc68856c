// Cold half of cairn/os/mutex.hpp: waiting.
#include <cairn/os/mutex.hpp>

#include "windows_api.hpp"

#if defined(__linux__)
#    include <linux/futex.h>
#    include <sys/syscall.h>
#    include <unistd.h>

#    include <cerrno>
#elif !defined(_WIN32)
#    include <atomic>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace {

#if defined(_WIN32)
// Not std::atomic::wait here either: libstdc++ looks at the word before it takes the lock under
// which it sleeps, and what wakes it in between is lost. From kernelbase (Windows 8), by hand: no
// library more to link.
struct words {
    using waiting = BOOL(WINAPI*)(volatile void*, void*, SIZE_T, DWORD);
    using waking = void(WINAPI*)(void*);
    waiting wait;
    waking wake;
};
const words& system_words() noexcept {
    static const words found = [] {
        const HMODULE kernel = ::GetModuleHandleW(L"kernelbase.dll");
        const auto function = [&](const char* name) {
            return reinterpret_cast<void (*)()>(::GetProcAddress(kernel, name));
        };
        return words{reinterpret_cast<words::waiting>(function("WaitOnAddress")),
                     reinterpret_cast<words::waking>(function("WakeByAddressSingle"))};
    }();
    return found;
}
#elif !defined(__linux__)
/// The same word, for what only the standard library knows: how its system waits for a word.
std::atomic<std::uint32_t>& standard(detail::atomic<std::uint32_t>& word) noexcept {
    using other = std::atomic<std::uint32_t>;
    static_assert(sizeof(other) == sizeof word && alignof(other) == sizeof word &&
                  other::is_always_lock_free);
    return reinterpret_cast<other&>(word);
}
#endif

// Not std::atomic::wait on Linux: whether a thread sleeps is in the word itself here (it is 2), and
// the standard library keeps a second count in a table of its own, of which two modules of one
// process that were compiled differently have one each. A mutex that both use would not wake the
// other's sleepers.
void sleep_while(detail::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
#if defined(__linux__)
    static_assert(sizeof(word) == 4);
    const int saved = errno;
    (void)::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
    errno = saved;
#elif defined(_WIN32)
    (void)system_words().wait(&word, &value, sizeof value, INFINITE);
#else
    standard(word).wait(value, std::memory_order_relaxed);
#endif
}

void wake_sleeper(detail::atomic<std::uint32_t>& word) noexcept {
#if defined(__linux__)
    const int saved = errno;
    (void)::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    errno = saved;
#elif defined(_WIN32)
    system_words().wake(&word);
#else
    standard(word).notify_one();
#endif
}

}  // namespace

void mutex::wait_and_lock() noexcept {
    // A critical section of cairn is tens of nanoseconds: look before paying for a sleep. Ever more
    // rarely, because each look takes the cache line from the holder: 50 ns
    // for a turn instead of 205 with a look after every pause (docs/dead-ends.md). In all about ten
    // microseconds.
    for (int pauses = 4; pauses <= 128; pauses *= 2) {
        for (int i = 0; i < pauses; ++i) { compiler::pause(); }
        if (state_.load(detail::memory_order::relaxed) == 0 && try_lock()) { return; }
    }
    // 2 from here on: another thread may sleep too, and unlock() must look.
    while (state_.exchange(2, detail::memory_order::acquire) != 0) { sleep_while(state_, 2); }
}

void mutex::wake_one() noexcept { wake_sleeper(state_); }

}}  // namespace cairn::CAIRN_FLAVOUR
