// demo/crew.hpp - two threads that share the parts of a job: the caller and one worker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace demo {

class crew {
public:
    crew() : worker_{[this] { work(); }} {}
    ~crew() {
        {
            const std::lock_guard held{mutex_};
            ends_ = true;
        }
        changed_.notify_one();
        worker_.join();
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    /// Calls f(part) for each part below `count`, on both threads. Returns when all are done.
    template <class F>
    void run(unsigned count, F& f) {
        {
            const std::lock_guard held{mutex_};
            call_ = [](void* context, unsigned part) { (*static_cast<F*>(context))(part); };
            context_ = &f;
            count_ = count;
            next_ = 0;
            ++round_;
        }
        changed_.notify_one();
        do_parts();
        std::unique_lock held{mutex_};
        done_.wait(held, [this] { return !worker_is_busy_; });
        call_ = nullptr;  // a worker that wakes only now has nothing to do
    }

private:
    void do_parts() {
        for (unsigned part = next_++; part < count_; part = next_++) { call_(context_, part); }
    }
    void work() {
        std::unique_lock held{mutex_};
        for (unsigned seen = 0;; seen = round_) {  // the caller waits, so no round is missed
            changed_.wait(held, [&] { return ends_ || (round_ != seen && call_ != nullptr); });
            if (ends_) { return; }
            worker_is_busy_ = true;
            held.unlock();
            do_parts();
            held.lock();
            worker_is_busy_ = false;
            done_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_, done_;
    void (*call_)(void*, unsigned) = nullptr;
    void* context_ = nullptr;
    unsigned count_ = 0;
    std::atomic<unsigned> next_{0};
    unsigned round_ = 0;
    bool worker_is_busy_ = false;
    bool ends_ = false;
    std::thread worker_;
};

}  // namespace demo
