// tests/support/ending_thread.hpp - code that runs when a thread has ended already but for the
// destructors of its pthread keys, where C libraries free what they kept for it.
//
//      in_ending_thread(2, [&] { pool.deallocate(p); });        // in the second round of four
//
// POSIX only: where there are no pthread keys, nothing is defined.
#pragma once

#if !defined(_WIN32)
#    define HAS_ENDING_THREADS 1
#    include <pthread.h>

#    include <functional>

#    include "support/sanitizers.hpp"

/// As many rounds as POSIX promises and glibc makes; fewer under the thread sanitizer, which
/// forgets a thread in the last one and crashes on what it does then.
inline constexpr int key_round_count = under_tsan ? 2 : 4;

/// Runs `before` in a new thread, and `late` in round `round` (1 to key_round_count) of that
/// thread's key destructors. Its stack is so large that the C library unmaps it, with the
/// thread-local memory in it: what still points there faults. Returns when the thread is gone.
inline void in_ending_thread(int round, std::function<void()> late,
                             std::function<void()> before = {}) {
    struct plan {
        pthread_key_t key;
        int rounds_left;
        std::function<void()> before, late;
    };
    plan p{{}, round, std::move(before), std::move(late)};
    pthread_key_create(&p.key, [](void* argument) {
        auto& mine = *static_cast<plan*>(argument);
        if (--mine.rounds_left == 0) {
            mine.late();
        } else {
            pthread_setspecific(mine.key, argument);
        }
    });
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{64} << 20);
    pthread_t thread;
    pthread_create(
        &thread, &attributes,
        [](void* argument) -> void* {
            auto& mine = *static_cast<plan*>(argument);
            if (mine.before) { mine.before(); }
            pthread_setspecific(mine.key, argument);
            return nullptr;
        },
        &p);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    pthread_key_delete(p.key);
}
#endif
