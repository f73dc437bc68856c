// How do the jobs of a frame share memory that one call ends, whatever thread they ran on?
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/core/slice.hpp>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// Two workers that run jobs, and wait() until all are done: no more than a job system needs.
class job_system {
public:
    job_system() {
        for (int i = 0; i < 2; ++i) {
            workers_.emplace_back([this] { work(); });
        }
    }
    ~job_system() {
        submit({});
        submit({});
        for (std::thread& t : workers_) { t.join(); }
    }
    void submit(std::function<void()> job) {
        const std::lock_guard held{mutex_};
        jobs_.push_back(std::move(job));
        ++unfinished_;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock held{mutex_};
        changed_.wait(held, [this] { return unfinished_ == 0; });
    }

private:
    void work() {
        for (std::unique_lock held{mutex_};;) {
            changed_.wait(held, [this] { return !jobs_.empty(); });
            const std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            if (!job) { return; }
            held.unlock();
            job();
            held.lock();
            --unfinished_;
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> jobs_;
    int unfinished_ = 0;
    std::vector<std::thread> workers_;
};

int main() {
    job_system jobs;
    long drawn = 0;
    // [frame]
    cairn::tagged_arenas memory;
    for (int frame = 0; frame < 3; ++frame) {
        const auto t = memory.begin("frame");

        cairn::slice<int> visible[8];  // stage 1: what each part of the world shows
        for (int part = 0; part < 8; ++part) {
            jobs.submit([&, part] {
                auto mine = memory.local(t);  // a block of this job's own: no lock, no thread
                visible[part] = mine.make_array<int>(100);
                for (int& mesh : visible[part]) { mesh = part; }
            });
        }
        jobs.wait();
        cairn::slice<float> depths[8];  // stage 2 reads what stage 1 made, on whatever thread
        for (int part = 0; part < 8; ++part) {
            jobs.submit([&, part] {
                auto mine = memory.local(t);
                depths[part] = mine.make_array<float>(visible[part].size());
                for (std::size_t i = 0; i < 100; ++i) {
                    depths[part][i] = 0.5F * float(visible[part][i]);
                }
            });
        }
        jobs.wait();
        for (const auto& list : depths) { drawn += static_cast<long>(list.size()); }  // stage 3
        memory.end(t);  // all of it, and the blocks serve the next frame
    }
    // [/frame]
    std::printf("%ld draws, %zu bytes taken\n", drawn, memory.stats().taken_size);
    return drawn == 2400 ? 0 : 1;
}
