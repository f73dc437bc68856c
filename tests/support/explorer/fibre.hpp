// tests/support/explorer/fibre.hpp - the stacks of the threads that explorer.hpp runs, and what the
// address sanitizer wants to be told when one is left for another.
#pragma once

#include <ucontext.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#    define EXPLORER_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define EXPLORER_ASAN 1
#    endif
#endif
#if defined(EXPLORER_ASAN)
extern "C" {
void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* save, const void** bottom, std::size_t* size);
}
#endif

namespace explorer {

/// A stack and a place to go on. The last one is the system thread that explores.
struct fibre {
    ucontext_t context;
    const void* bottom = nullptr;
    std::size_t size = 0;
    void* fake_stack = nullptr;
};

/// Goes on at `to`; returns when a switch leads back to `from`. `ends`: none will.
inline void switch_fibres(fibre& from, fibre& to, [[maybe_unused]] bool ends) {
#if defined(EXPLORER_ASAN)
    // without a place to save it, the fake stack is freed
    __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
    swapcontext(&from.context, &to.context);
#if defined(EXPLORER_ASAN)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

/// What a new stack calls first. `home`: the system thread's, whose bounds are told here, once.
inline void arrive([[maybe_unused]] fibre& home) {
#if defined(EXPLORER_ASAN)
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
    if (home.bottom == nullptr) { home.bottom = bottom, home.size = size; }
#endif
}

}  // namespace explorer
