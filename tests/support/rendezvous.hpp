// tests/support/rendezvous.hpp - threads that wait until all of them are here, once.
//
// Not std::barrier: on Windows libstdc++ before 13 loses what wakes a thread between its look at the
// word and its sleep (PR 106183), and a test hangs once in many runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

namespace cairn::test {

class rendezvous {
public:
    explicit rendezvous(std::size_t count) : missing_{count} {}
    void arrive_and_wait() {
        missing_.fetch_sub(1);
        while (missing_.load() != 0) { std::this_thread::yield(); }
    }

private:
    std::atomic<std::size_t> missing_;
};

}  // namespace cairn::test
