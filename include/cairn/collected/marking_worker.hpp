// cairn/collected/marking_worker.hpp - a second thread marks while the program runs.
//
//      program's thread                          any other thread, or a job, one at a time
//      heap.mark_on(worker);
//      frame: ... make, store, drop ...          worker.run({.microseconds = 200})
//             heap.step(budget)                    marks: most of a cycle's work
//               roots; what only this thread
//               can trace; the end of marking;
//               destructors, the sweep
//      heap.mark_alone();
//
//      std::jthread thread{[&](std::stop_token stop) {           a thread of its own
//          while (!stop.stop_requested()) {
//              if (!worker.run()) { std::this_thread::sleep_for(100us); }
//          }
//      }};
//      if (heap.is_marking()) { jobs.add([&] { worker.run({.microseconds = 200}); }); }   a job
//
// The library makes no thread: run() is called by the program's, whenever it has time for it.
//
// The worker follows references at fixed places (lists of members) and arrays of references; it
// calls no code of the program. step() keeps the rest: roots, objects with a trace() or a traced
// container, the end of marking, before_collect, destructors, the sweep. What the program
// overwrites meanwhile it hands over by sets of names: a bit for each 16 bytes of the heap, so the
// log never overflows.
//
// Waiting: the worker and step() with a limit never wait; step() hands over overwritten values
// and returns while the worker is in a piece. What must have the heap for itself (heap.mark_alone()
// has the list) waits until the worker has ended its unit: an object, or 128 references.
//
// Use it for: heaps where marking out of cache takes more of the frame than it has.
// Look elsewhere for: types with trace() throughout: there is nothing that the worker could do.
//
// Before a fork: mark_alone(), else the child waits for a worker that it does not have.
//
// Cost:    of the heap's upstream, 1.6 % of the heap's size in addresses, touched where references
//          are overwritten while marking, and 9 KiB. Where no worker is: nothing.
// Threads: run() from any thread but from one at a time (a second call returns false); the rest
//          from the program's.
#pragma once

#include <cstdint>

#include <cairn/collected/inside/collected_region.hpp>
#include <cairn/collected/marking_worker/protocol.hpp>
#include <cairn/core/inside/atomic.hpp>
#include <cairn/storage/work_limit.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Marks for one collected_heap, from whatever thread calls run().
class marking_worker {
public:
    marking_worker() noexcept = default;
    marking_worker(const marking_worker&) = delete;
    marking_worker& operator=(const marking_worker&) = delete;
    /// As heap.mark_alone(). Requires: no run() is on; the program's thread.
    ~marking_worker();

    /// Marks until the budget is used up, nothing is left that this side can do, or the program's
    /// thread wants to go on by itself. Returns at once where no cycle is marking.
    /// Returns: true when there is more to do at once; false: later, after the next step().
    ///
    /// Its marking counts for the heap's next step: step({.bytes = b}) and step() pay what is
    /// left of their work, so the two together do what required_budget() asks for, where the worker
    /// is given time or not. A step with a limit of time or of units alone leaves marking to a
    /// worker that marked anything since the last one.
    bool run(const work_limit& limit = {}) noexcept;

private:
    friend struct detail::marking_share;

    detail::basic_marking_gate<detail::std_atoms> gate_;
    detail::atomic<bool> is_wanted_{false};       // the gate, by the program's thread
    detail::atomic<std::uint64_t> work_{0};       // bytes, by this worker
    detail::collected_region* region_ = nullptr;  // changes while the gate is closed
};

}}  // namespace cairn::CAIRN_FLAVOUR
