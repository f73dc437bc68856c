// tests/support/small_stack.hpp - work on a stack on which no deep recursion ends well.
#pragma once

#include <pthread.h>

#include "support/sanitizers.hpp"

/// Long enough for any recursion to leave the small stack; a million where nothing slows it down.
inline const int long_chain = under_tsan || checker_is_faster() ? 50'000 : 1'000'000;

/// Runs `work()` in a thread with a stack of 64 KiB.
template <class Work>
void on_a_small_stack(Work work) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    pthread_t thread;
    const auto run = [](void* it) -> void* {
        (*static_cast<Work*>(it))();
        return nullptr;
    };
    if (pthread_create(&thread, &small, run, &work) == 0) { pthread_join(thread, nullptr); }
    pthread_attr_destroy(&small);
}
