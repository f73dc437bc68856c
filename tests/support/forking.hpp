// tests/support/forking.hpp - children of fork(), at awkward moments of another thread.
//
//   child_finds(check)       forks; the child runs `check` and ends
//   forks_at_each_change()   a thread runs an instruction at a time; whenever one of them has changed
//                            the object under test or its memory, the first thread forks
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "support/stopping_upstream.hpp"

/// Forks. Returns: whether the child found `check` true.
template <class Check>
bool child_finds(Check check) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);  // a lock that stays held ends here
        _exit(check() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#if defined(__linux__) && defined(__x86_64__)

namespace stepping {

struct state {
    const void* object = nullptr;
    std::size_t object_size = 0;
    const stopping_upstream* upstream = nullptr;
    std::vector<unsigned char> last_seen;
    std::atomic<int> wanted{0};  // forks
    std::atomic<int> done{0};
    std::atomic<bool> ended{false};
};
inline state now;

extern "C" inline void after_an_instruction(int) {
    unsigned char* const seen = now.last_seen.data();
    const std::size_t used = now.upstream->used;
    if (std::memcmp(seen, now.object, now.object_size) == 0 &&
        std::memcmp(seen + now.object_size, now.upstream->memory, used) == 0) {
        return;
    }
    std::memcpy(seen, now.object, now.object_size);
    std::memcpy(seen + now.object_size, now.upstream->memory, used);
    if (now.wanted != now.done) { return; }  // it is waiting for a lock that the first thread holds
    const int number = ++now.wanted;
    const auto begin = std::chrono::steady_clock::now();
    while (now.done != number &&
           std::chrono::steady_clock::now() - begin < std::chrono::milliseconds{200}) {
        std::this_thread::yield();
    }
}

inline void trap_flag(bool on) {
    if (on) {
        asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
    } else {
        asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
    }
}

}  // namespace stepping

struct forks {
    int count = 0;
    bool all_good = true;
};

/// Another thread runs `work`, one instruction at a time. Whenever one has changed the `object` or what
/// it had from its upstream, this thread forks, until a child has not found `check` true.
template <class Object, class Work, class Check>
forks forks_at_each_change(const Object& object, const stopping_upstream& upstream, Work work,
                           Check check) {
    auto& now = stepping::now;
    now.object = &object;
    now.object_size = sizeof object;
    now.upstream = &upstream;
    now.last_seen.assign(sizeof object + sizeof upstream.memory, 0);
    now.wanted = now.done = 0;
    now.ended = false;
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = &stepping::after_an_instruction;
    sigaction(SIGTRAP, &action, &before);
    std::thread other{[&] {
        stepping::trap_flag(true);
        work();
        stepping::trap_flag(false);
        now.ended = true;
    }};
    forks result;
    while (!now.ended && result.all_good) {
        if (now.wanted == now.done) {
            std::this_thread::yield();
            continue;
        }
        result.all_good = child_finds(check);
        ++result.count;
        now.done = now.wanted.load();
    }
    while (!now.ended) { now.done = now.wanted.load(); }
    other.join();
    sigaction(SIGTRAP, &before, nullptr);
    return result;
}

#endif
