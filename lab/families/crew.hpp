// lab/families/crew.hpp - threads that wait for work and start together, for `threads` and `false-sharing`.
//
//      lab::crew people{2};
//      people.run(sample, [&](unsigned t) { ... });      // thread 0 is the caller
//
// Each thread is pinned to a processor of its own. Whoever waits looks for a moment and then yields, so
// that a machine with fewer free processors than threads is slow, and not stuck.
//
// A crew of one has a second thread, asleep: glibc leaves locks and atomics out of malloc and of
// std::mutex while a process has one thread, and a program that needs an allocator for several
// threads is not in that state.
#pragma once

#include <atomic>
#include <thread>

#include "lab/harness/experiment.hpp"
#include "lab/harness/processor.hpp"
#include "lab/system/word.hpp"

namespace lab {

/// Waits until `done()`.
template <class Done>
void wait_until(Done&& done) {
    for (unsigned look = 0; !done(); ++look) {
        if (look % 4096 == 4095) {
            std::this_thread::yield();
        } else {
            pause();
        }
    }
}

/// What the experiments have room for.
inline constexpr unsigned crew_max = 256;

/// How many threads to try on a machine that has `hardware` of them: 1, 2, 4, .. and at last all.
[[nodiscard]] inline std::vector<unsigned> crew_sizes(unsigned hardware) {
    const unsigned all = std::clamp(hardware, 1u, crew_max);
    std::vector<unsigned> sizes;
    for (unsigned n = 1; n < all; n *= 2) sizes.push_back(n);
    sizes.push_back(all);
    return sizes;
}

class crew {
public:
    explicit crew(unsigned count) : count_{count} {
        // Before the others are made: they must not find their processor taken by us, spinning.
        pin_this_thread(0);
        for (unsigned t = 1; t < count; ++t) helpers_.emplace_back([this, t] { help(t); });
        if (count == 1) helpers_.emplace_back([this] { sleep(); });
    }
    ~crew() {
        work_ = nullptr;
        wake();
        for (auto& h : helpers_) h.join();
    }
    crew(const crew&) = delete;

    /// Runs work(t) in every thread; times from the common start to the last one's end.
    template <class Work>
    void run(sample& s, Work&& work) {
        if (count_ == 1) {
            s.start();
            work(0u);
            s.stop();
            return;
        }
        work_ = std::ref(work);
        ready_ = 0;
        finished_ = 0;
        wake();
        wait_until([&] { return ready_.load(std::memory_order_acquire) == count_ - 1; });
        s.start();
        go_.store(round_, std::memory_order_release);
        work(0u);
        wait_until([&] { return finished_.load(std::memory_order_acquire) == count_ - 1; });
        s.stop();
    }

private:
    void wake() {
        ++round_;
        wanted_.store(round_, std::memory_order_release);
        wake_all(wanted_);
    }
    void sleep() {
        while (wanted_.load(std::memory_order_acquire) == 0) sleep_while(wanted_, 0);
    }
    void help(unsigned t) {
        pin_this_thread(t);
        for (unsigned round = 1;; ++round) {
            for (unsigned seen; (seen = wanted_.load(std::memory_order_acquire)) < round;) {
                sleep_while(wanted_, seen);
            }
            if (!work_) return;
            ready_.fetch_add(1, std::memory_order_release);
            wait_until([&] { return go_.load(std::memory_order_acquire) >= round; });
            work_(t);
            finished_.fetch_add(1, std::memory_order_release);
        }
    }

    unsigned count_;
    unsigned round_ = 0;
    std::function<void(unsigned)> work_;
    alignas(64) std::atomic<std::uint32_t> wanted_{0};
    alignas(64) std::atomic<unsigned> go_{0};
    alignas(64) std::atomic<unsigned> ready_{0};
    alignas(64) std::atomic<unsigned> finished_{0};
    std::vector<std::thread> helpers_;
};

}  // namespace lab
