// Cold half of cairn/os/mutex.hpp: waiting.
#include <cairn/os/mutex.hpp>

namespace cairn {

void mutex::wait_and_lock() noexcept {
    // A critical section of cairn is tens of nanoseconds: look a little before paying for a sleep.
    for (int i = 0; i < 64; ++i) {
        if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) { return; }
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    // 2 from here on: perhaps somebody else sleeps too, and whoever unlocks must look.
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
        state_.wait(2, std::memory_order_relaxed);
    }
}

void mutex::wake_one() noexcept { state_.notify_one(); }

}  // namespace cairn
