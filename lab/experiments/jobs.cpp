// lab/experiments/jobs.cpp - memory that the jobs of a frame fill, on one thread or on several.
//
//      frame:   job   job   job   job  ...      each thread has every second job
//               <- 20 to 200 requests of 16 to 256 bytes ->
//      end:     one call, or each block is freed, by another thread than its maker where there is one
//
// Figures are per request and thread, the end of the frame included.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/tagged_arenas.hpp>
#include <cairn/core/sizes.hpp>
#include <cairn/os/per_thread.hpp>

#include "lab/families/crew.hpp"
#include "lab/families/heap_family.hpp"

namespace {

using namespace lab::heaps;
using namespace cairn::literals;

constexpr unsigned thread_count_max = 2;

/// What a contender does: job(t) is the memory of a job on thread t; leave(t, threads) is called by
/// each thread when all jobs of a frame have ended, end() by one of them.
struct tagged {
    cairn::tagged_arenas arenas;
    cairn::tagged_arenas::tag frame = arenas.begin("frame");
    ~tagged() { arenas.end(frame); }
    auto job(unsigned) { return arenas.local(frame); }
    void leave(unsigned, unsigned) {}
    void end() {
        arenas.end(frame);
        frame = arenas.begin("frame");
    }
};

struct arena_of_each_thread {
    cairn::per_thread<cairn::arena> arenas{thread_count_max, cairn::system_memory(),
                                           [](std::size_t) { return cairn::arena{4_MiB}; }};
    struct job_memory {
        cairn::arena* arena;
        void* allocate(std::size_t size) { return arena->allocate(size); }
    };
    job_memory job(unsigned t) { return {&arenas.at(t)}; }
    void leave(unsigned t, unsigned) { arenas.at(t).reset(); }
    void end() {}
};

/// Each block is freed alone.
template <class A>
struct freed_alone {
    A memory;
    struct alignas(64) list {
        std::vector<object> blocks;
    };
    list made[thread_count_max];
    struct job_memory {
        A* memory;
        std::vector<object>* made;
        void* allocate(std::size_t size) {
            made->push_back({memory->allocate(size), size});
            return made->back().p;
        }
    };
    /// The lists of `count` blocks, whose pages are in place before memory is measured.
    void make_room(std::size_t count) {
        for (list& l : made) {
            l.blocks.resize(count);
            l.blocks.clear();
        }
    }
    job_memory job(unsigned t) { return {&memory, &made[t].blocks}; }
    void leave(unsigned t, unsigned threads) {
        std::vector<object>& others = made[(t + 1) % threads].blocks;
        for (const object& o : others) memory.deallocate(o.p, o.size);
        others.clear();
    }
    void end() {}
};

/// Threads that wait for each other.
struct meeting {
    alignas(64) std::atomic<unsigned> arrived{0};
    void wait(unsigned& round, unsigned threads) {
        ++round;
        arrived.fetch_add(1, std::memory_order_acq_rel);
        lab::wait_until([&] { return arrived.load(std::memory_order_acquire) >= round * threads; });
    }
};

template <class M>
class frames_of_jobs {
public:
    frames_of_jobs(unsigned threads, std::size_t jobs, std::size_t requests)
        : people_{threads}, threads_{threads}, jobs_{jobs}, requests_{requests} {}

    void play(lab::sample& s) {
        meeting all;
        people_.run(s, [&](unsigned t) {
            unsigned round = 0;
            for (std::uint64_t f = 0; f != s.repetitions(); ++f) {
                work(t);
                all.wait(round, threads_);
                memory_.leave(t, threads_);
                if (t == 0) memory_.end();
                all.wait(round, threads_);
            }
        });
        s.did(s.repetitions() * jobs_ * requests_ / threads_);
    }
    /// One frame, of which nothing is freed. Memory in place over bytes that were asked for.
    void fill(lab::sample& s, const std::string& blocks_case, const std::string& taken_case) {
        if constexpr (requires { memory_.make_room(0); }) memory_.make_room(jobs_ * requests_);
        const lab::resident_since_here taken;
        people_.run(s, [&](unsigned t) { work(t); });
        double asked = 0;
        for (std::size_t i = 0; i != jobs_ * requests_; ++i) asked += sizes_[i % sizes_.size()];
        s.value(static_cast<double>(taken.bytes()) / asked);
        if constexpr (requires { memory_.arenas.stats(); }) {
            s.also(blocks_case, static_cast<double>(memory_.arenas.stats().block_count));
            s.also(taken_case, static_cast<double>(memory_.arenas.stats().taken_size) / asked);
        }
        for (unsigned t = 0; t != threads_; ++t) memory_.leave(t, threads_);
    }

private:
    void work(unsigned t) {
        for (std::size_t j = t; j < jobs_; j += threads_) {
            auto memory = memory_.job(t);
            for (std::size_t i = j * requests_; i != (j + 1) * requests_; ++i) {
                const std::size_t size = sizes_[i % sizes_.size()];
                void* const p = memory.allocate(size);
                touch(p, size);
                lab::keep(p);
            }
        }
    }

    lab::crew people_;
    M memory_;
    unsigned threads_;
    std::size_t jobs_;
    std::size_t requests_;
    std::vector<std::uint32_t> sizes_ = log_uniform(4096, 7, 16, 256);
};

/// make.operator()<M>() returns the factory of a row.
template <class Make>
void add_everybody(lab::comparison& c, Make make) {
    c.cairn("cairn::tagged_arenas", make.template operator()<tagged>());
    c.cairn("cairn::per_thread<arena>", make.template operator()<arena_of_each_thread>());
    c.cairn("cairn::concurrent_heap", make.template operator()<freed_alone<thread_heap>>());
    c.mallocs(make.template operator()<freed_alone<sized_malloc>>());
}

void add_jobs(lab::experiment& e, unsigned threads, std::size_t requests) {
    lab::comparison& c =
        e.compare("jobs of " + std::to_string(requests) + " requests, " + std::to_string(threads) +
                      (threads == 1 ? " thread" : " threads"),
                  {.unit = "ns/request", .unpinned = true});
    const auto plays = [=]<class M> {
        return [=] {
            return [f = std::make_unique<frames_of_jobs<M>>(threads, 2560 / requests, requests)](
                       lab::sample& s) { f->play(s); };
        };
    };
    add_everybody(c, plays);
}

void add_memory(lab::experiment& e, unsigned threads) {
    const std::string name = "1,000 jobs of 20 requests, ";
    lab::comparison& c = e.compare(name + "memory", {.unit = "bytes/byte asked for",
                                                     .measure = lab::measure::value,
                                                     .weight = 0.2,
                                                     .one_sample = true,
                                                     .unpinned = true});
    add_everybody(c, [=]<class M> {
        return [=] {
            return [=](lab::sample& s) {
                frames_of_jobs<M>{threads, 1000, 20}.fill(s, name + "blocks", name + "taken");
            };
        };
    });
    e.also(c, name + "blocks", {.unit = "blocks of 64 KiB"});
    e.also(c, name + "taken", {.unit = "bytes/byte asked for"});
}

const lab::registration jobs{
    "jobs", "What does memory cost that the jobs of a frame fill?", [](lab::experiment& e) {
        e.quick_seconds = 4;
        const unsigned most = std::min(thread_count_max, e.options().hardware_threads());
        for (const std::size_t requests : {20u, 200u}) {
            for (unsigned threads = 1; threads <= most; ++threads) {
                add_jobs(e, threads, requests);
            }
        }
        add_memory(e, most);
    }};

}  // namespace
