// lab/families/soak_memories.hpp - the heaps under the load of soak.hpp, and their figures.
//
//      relocatable          cairn::relocatable_heap, compacted at the end of each frame
//      never_refuses        the same; what finds no hole is compacted for at once
//      fixed<A>             what cannot move: a heap over the same region, or malloc
//      curve, strip         a figure over the frames; the map of the region
#pragma once

#include <cairn/alloc/heap.hpp>
#include <cairn/movable/relocatable_heap.hpp>

#include "lab/families/soak.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/system/aligned_memory.hpp"

namespace lab::soak {

inline double now() { return static_cast<double>(lab::now_ns()); }

/// A region that is there: page faults are nobody's result here.
struct resident_region {
    std::size_t size;
    aligned_block memory{4096, size};
    explicit resident_region(std::size_t n) : size{n} { std::memset(memory.get(), 0, n); }
    [[nodiscard]] cairn::byte_slice slice() const { return {memory.get(), size}; }
};

struct relocatable {
    using id = cairn::relocatable_heap::handle_type;
    resident_region region;
    cairn::relocatable_heap heap;
    cairn::work_limit budget;
    std::deque<cairn::pinned<void>> pins;
    std::vector<float> overshoot_ns;
    std::uint64_t moved = 0;

    relocatable(const plan& p, cairn::work_limit b)
        : region{p.region},
          heap{region.slice(), cairn::system_memory(), {.object_count = 4'096}},
          budget{b} {
        overshoot_ns.reserve(p.frames);
    }
    [[nodiscard]] bool compacts() const { return budget.steps != 0; }
    id allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(id h, std::size_t) { heap.deallocate(h); }
    void* at(id h) { return heap.get(h); }
    void hold(id h) { pins.push_back(heap.pin(h)); }
    void let_go() { pins.pop_front(); }
    double end_frame() {
        if (!compacts()) return 0;
        const double start = now();
        const cairn::compaction_report r = heap.compact(budget);
        const double ns = now() - start;
        moved += r.bytes;
        overshoot_ns.push_back(static_cast<float>(std::max(0.0, ns - budget.microseconds * 1e3)));
        return ns;
    }
    double fragmentation() const { return heap.stats().fragmentation() * 100; }
    std::size_t end_of_last() const {
        std::size_t end = 0;
        heap.for_each_range([&](const cairn::relocatable_heap::range& r) {
            if (!r.is_free) end = r.offset + r.size;
        });
        return end;
    }
};

struct never_refuses : relocatable {
    using relocatable::relocatable;
    id allocate(std::size_t size) {
        id h = relocatable::allocate(size);
        if (!h) {
            moved += heap.compact().bytes;
            h = relocatable::allocate(size);
        }
        return h;
    }
};

/// What does not move: a heap over the same region, and malloc without one.
template <class A>
struct fixed {
    struct id {
        void* p;
        explicit operator bool() const { return p != nullptr; }
    };
    A a;
    id allocate(std::size_t size) { return {a.allocate(size)}; }
    void deallocate(id h, std::size_t size) { a.deallocate(h.p, size); }
    void* at(id h) { return h.p; }
    void hold(id) {}
    void let_go() {}
    double end_frame() { return 0; }
};

struct good_fit_over_the_region {
    resident_region region;
    cairn::heap<> heap{region.slice()};
    explicit good_fit_over_the_region(const plan& p) : region{p.region} {}
    void* allocate(std::size_t size) { return heap.allocate(size); }
    void deallocate(void* p, std::size_t size) { heap.deallocate(p, size); }
};

/// At most 200 points of a curve over the frames.
struct curve {
    unsigned every;
    lab::series series;
    curve(const plan& p, std::string name, std::string y)
        : every{std::max(1u, p.frames / 200)}, series{std::move(name), "frame", std::move(y), {}} {}
    [[nodiscard]] bool wants(unsigned frame) const { return frame % every == every - 1; }
    void add(unsigned frame, double y) { series.points.emplace_back(frame + 1, y); }
};

/// The memory map, merged to about a thousand runs: a run is occupied if most of it is.
inline lab::series strip(const cairn::relocatable_heap& heap, std::string name) {
    lab::series s{std::move(name), "bytes", "occupied", {}};
    const std::size_t least = heap.capacity() / 1000;
    std::size_t from = 0;
    std::size_t used = 0;
    heap.for_each_range([&](const cairn::relocatable_heap::range& r) {
        used += r.is_free ? 0 : r.size;
        const std::size_t end = r.offset + r.size;
        if (end - from < least && end != heap.capacity()) return;
        const double y = 2 * used >= end - from ? 1 : 0;
        if (!s.points.empty() && s.points.back().second == y) s.points.pop_back();
        s.points.emplace_back(end, y);
        from = end;
        used = 0;
    });
    return s;
}

}  // namespace lab::soak
