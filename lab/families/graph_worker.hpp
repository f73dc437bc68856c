// lab/families/graph_worker.hpp - what a marking_worker takes off the program's thread.
//
//      a frame     the random graph of 100,000 slots changes, then step() within required_budget();
//                  then a pause, as of a game whose other work goes on
//      measured    what the program's thread spends in step(), for each cycle
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include <cairn/collected/marking_worker.hpp>

#include "lab/families/graph_memories.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

/// A thread that marks while it lives.
class marking_thread {
public:
    explicit marking_thread(cairn::marking_worker& worker)
        : thread_{[this, &worker] {
              while (!ends_) {
                  if (!worker.run()) std::this_thread::sleep_for(std::chrono::microseconds{100});
              }
          }} {}
    marking_thread(const marking_thread&) = delete;
    ~marking_thread() {
        ends_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

/// One replay.
struct steps_of_cycles {
    bool has_worker = false;
    unsigned frames = 2'000;

    void operator()(sample& s) const {
        const random_plan p{.live = 205'000, .replaced = 300, .rewired = 600};
        collected memory{p.extent_of(), {.room = 1.4}};
        cairn::collected_heap& heap = memory.heap;
        random_graph<collected> game{memory, p};
        game.build();
        const std::size_t budget =
            heap.required_budget({.live_max = 12'000'000,
                                  .array_size = 1'000'000,
                                  .allocated_per_frame = p.replaced * sizeof(collected::node),
                                  .roots = 1,
                                  .types = 3});
        cairn::marking_worker worker;
        std::optional<marking_thread> helper;
        if (has_worker && heap.mark_on(worker)) helper.emplace(worker);
        const std::uint64_t before = heap.stats().cycle_count;
        double ns = 0;
        double work = 0;
        double by_worker = 0;
        for (unsigned f = 0; f != frames; ++f) {
            game.change([](auto change) { change(); });
            const std::int64_t start = now_ns();
            const bool ended = heap.step({.bytes = budget}).cycle_ended;
            ns += static_cast<double>(now_ns() - start);
            if (ended) {
                const cairn::collection_cycle c = heap.stats().last_cycle;
                work += static_cast<double>(c.bytes);
                by_worker += static_cast<double>(c.work_by_worker);
            }
            if (heap.is_marking()) std::this_thread::sleep_for(std::chrono::microseconds{200});
        }
        helper.reset();
        heap.mark_alone();
        const double cycles = static_cast<double>(heap.stats().cycle_count - before);
        s.value(cycles == 0 ? 0 : ns / 1e3 / cycles);
        s.also("marking: work of the worker", work == 0 ? 0 : 100 * by_worker / work);
    }
};

}  // namespace lab::graphs
