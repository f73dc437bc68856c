// How does another thread take the marking of a collected heap off the frame?
#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>
#include <cairn/core/sizes.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace cairn::literals;

struct unit {
    cairn::ref<unit> leader, target;
    using references = cairn::refers_to<&unit::leader, &unit::target>;
};
struct army {
    cairn::ref_array<unit> units;
    using references = cairn::refers_to<&army::units>;
};

int main() {
    cairn::collected_heap heap{2_MiB};
    const cairn::root<army> all = heap.make<army>();
    if (all == nullptr || !all->units.reserve(50'000)) { return 1; }
    for (int i = 0; i < 50'000; ++i) {
        unit* const u = heap.make<unit>();
        if (u == nullptr || !all->units.push_back(u)) { return 1; }
        u->leader = all->units[0];
    }

    // [worker]
    cairn::marking_worker worker;
    if (!heap.mark_on(worker)) { return 1; }  // false: no memory for what the threads share
    std::atomic<bool> ends = false;
    std::thread thread{[&] {
        while (!ends) {
            // False: nothing to mark now. Marking goes on after the next step().
            if (!worker.run()) { std::this_thread::sleep_for(std::chrono::microseconds{100}); }
        }
    }};
    for (std::size_t frame = 0; frame < 1'000; ++frame) {
        for (std::size_t i = 0; i < 300; ++i) {  // the program makes, stores and reads as before
            unit* const u = heap.make<unit>();
            if (u == nullptr) { break; }
            u->leader = all->units[0];
            u->target = all->units[(frame * 7 + i) % 50'000];
            all->units.set((frame * 300 + i) % 50'000, u);
        }
        heap.step({.bytes = 32_KiB});  // pays for what the worker has not marked
    }
    heap.mark_alone();  // from here on the heap marks by itself
    ends = true;
    thread.join();
    // [/worker]
    const auto last = heap.stats().last_cycle;
    std::printf("%llu cycles; of the last one's work the worker did %llu of %llu bytes\n",
                static_cast<unsigned long long>(last.number),
                static_cast<unsigned long long>(last.work_by_worker),
                static_cast<unsigned long long>(last.bytes));
    heap.collect();
    return last.number > 0 && last.freed_count > 0 && heap.stats().object_count < 100'000 ? 0 : 2;
}
