// tests/support/small_stack.hpp - work on a stack on which no deep recursion ends well.
#pragma once

#if defined(_WIN32)
#    if !defined(NOMINMAX)
#        define NOMINMAX
#    endif
#    include <windows.h>
#else
#    include <pthread.h>
#endif

#include <cstddef>

#include "support/sanitizers.hpp"

/// Long enough for any recursion to leave the small stack; a million where nothing slows it down.
inline const int long_chain = under_tsan || checker_is_faster() ? 50'000 : 1'000'000;

/// Runs `work()` in a thread with a stack of 64 KiB.
template <class Work>
void on_a_small_stack(Work work) {
    constexpr std::size_t size = 64 * 1024;
#if defined(_WIN32)
    const auto run = [](void* it) -> DWORD {
        (*static_cast<Work*>(it))();
        return 0;
    };
    // Without the last option the size would be what is committed at first, not the end.
    const HANDLE thread =
        ::CreateThread(nullptr, size, run, &work, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    if (thread == nullptr) { return; }
    ::WaitForSingleObject(thread, INFINITE);
    ::CloseHandle(thread);
#else
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, size);
    pthread_t thread;
    const auto run = [](void* it) -> void* {
        (*static_cast<Work*>(it))();
        return nullptr;
    };
    if (pthread_create(&thread, &small, run, &work) == 0) { pthread_join(thread, nullptr); }
    pthread_attr_destroy(&small);
#endif
}
