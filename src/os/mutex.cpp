// Cold half of cairn/os/mutex.hpp: waiting.
#include <cairn/os/mutex.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

namespace {

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

void mutex::wait_and_lock() noexcept {
    // A critical section of cairn is tens of nanoseconds: look before paying for a sleep. Ever more
    // rarely, because each look takes the line from the holder, who is quick while he has it: 50 ns
    // for a turn instead of 205 with a look after every pause (docs/dead-ends.md). In all about ten
    // microseconds.
    for (int pauses = 4; pauses <= 128; pauses *= 2) {
        for (int i = 0; i < pauses; ++i) { pause(); }
        if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) { return; }
    }
    // 2 from here on: perhaps somebody else sleeps too, and whoever unlocks must look.
    while (state_.exchange(2, std::memory_order_acquire) != 0) {
        state_.wait(2, std::memory_order_relaxed);
    }
}

void mutex::wake_one() noexcept { state_.notify_one(); }

}  // namespace cairn::inline CAIRN_FLAVOUR
