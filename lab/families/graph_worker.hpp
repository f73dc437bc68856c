// lab/families/graph_worker.hpp - what a marking_worker takes off the program's thread.
//
//      100,000 slots of a table, about 200,000 live objects of 48 bytes with four references each
//      a frame     300 slots get new objects, 600 references are turned elsewhere, then step() within
//                  required_budget(); then a pause, as of a game whose other work goes on
//      measured    what the program's thread spends in step(), for each cycle
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include <cairn/collected/collected_heap.hpp>
#include <cairn/collected/marking_worker.hpp>

#include "lab/families/graph_family.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::graphs {

struct marked_node {
    cairn::ref<marked_node> to[field_count];
    char data[data_size];
    using references = cairn::refers_to<&marked_node::to>;
};
struct marked_table {
    cairn::ref_array<marked_node> slots;
    using references = cairn::refers_to<&marked_table::slots>;
};

/// One replay.
struct steps_of_cycles {
    bool has_worker = false;
    unsigned frames = 2'000;

    static constexpr std::size_t slots = 100'000;
    static constexpr unsigned replaced = 300;

    void operator()(lab::sample& s) const {
        cairn::collected_heap heap{std::size_t{24} << 20};
        const cairn::root<marked_table> table = heap.make<marked_table>();
        if (!table || !table->slots.reserve(slots)) return;
        dice random{1};
        for (std::size_t i = 0; i != slots; ++i) {
            if (!table->slots.push_back(heap.make<marked_node>())) return;
        }
        const auto any = [&] { return table->slots[random.below(slots)]; };
        const auto refer = [&](marked_node* n) {
            for (auto& r : n->to) r = any();
        };
        for (std::size_t i = 0; i != slots; ++i) refer(table->slots[i]);
        const std::size_t budget =
            heap.required_budget({.live_max = 12'000'000,
                                  .array_size = 1'000'000,
                                  .allocated_per_frame = replaced * sizeof(marked_node),
                                  .roots = 1,
                                  .types = 3});
        cairn::marking_worker worker;
        std::atomic<bool> ends{false};
        std::thread helper;
        if (has_worker && heap.mark_on(worker)) {
            helper = std::thread{[&] {
                while (!ends) {
                    if (!worker.run()) std::this_thread::sleep_for(std::chrono::microseconds{100});
                }
            }};
        }
        const std::uint64_t before = heap.stats().cycle_count;
        double ns = 0;
        double work = 0;
        double by_worker = 0;
        for (unsigned f = 0; f != frames; ++f) {
            for (unsigned i = 0; i != replaced; ++i) {
                marked_node* const n = heap.make<marked_node>();
                if (n == nullptr) return;
                refer(n);
                const std::size_t at = random.below(slots);
                for (auto& r : table->slots[at]->to) r = nullptr;
                table->slots.set(at, n);
                for (unsigned k = 0; k != 2; ++k) any()->to[random.below(field_count)] = any();
            }
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
        ends = true;
        if (helper.joinable()) helper.join();
        heap.mark_alone();
        const double cycles = static_cast<double>(heap.stats().cycle_count - before);
        s.value(cycles == 0 ? 0 : ns / 1e3 / cycles);
        s.also("marking: work of the worker", work == 0 ? 0 : 100 * by_worker / work);
    }
};

}  // namespace lab::graphs
