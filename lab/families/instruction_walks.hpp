// lab/families/instruction_walks.hpp - the traces whose instructions `tail` counts, in named phases.
//
//      fill    an empty allocator gives its first blocks
//      comb    every other block goes, and others come into the holes
//      teeth   the rest goes: everything merges
//      churn   one goes, one comes, at random
//      shift   the same with other sizes than before
//      leave   everything goes
#pragma once

#include "lab/families/heap_family.hpp"
#include "lab/harness/experiment.hpp"

namespace lab::heaps {

/// What a trace is doing when an operation takes long.
enum class phase : std::size_t { fill, comb, teeth, churn, shift, leave };
inline constexpr std::size_t phase_count = 6;
inline constexpr const char* phase_numbers = "1 fill, 2 comb, 3 teeth, 4 churn, 5 shift, 6 leave";

/// Takes and gives, counted or not, from `a`, of one size when that is not 0.
template <class A, std::uint32_t OneSize, class Begin, class End>
struct counted_memory {
    A& a;
    Begin begin;
    End end;
    phase now = phase::fill;
    object take(std::size_t size, bool counted) {
        size = OneSize != 0 ? OneSize : size;
        if (counted) begin();
        void* const p = a.allocate(size);
        if (counted) end(static_cast<std::size_t>(now));
        if (p != nullptr) touch(p, size);
        return object{p, size};
    }
    void give(const object& o, bool counted) {
        if (counted) begin();
        a.deallocate(o.p, o.size);
        if (counted) end(phase_count + static_cast<std::size_t>(now));
    }
};

/// Sizes of 16 to 7200 bytes, and the states that are worst on paper for a heap.
template <class Memory>
void walk_many_sizes(Memory& m) {
    std::mt19937 random{21};
    std::vector<object> live;
    m.now = phase::fill;
    for (int i = 0; i < 20; ++i) live.push_back(m.take(64 + 100u * i, true));
    // A comb: holes of many sizes, then requests that split them and frees that merge.
    m.now = phase::comb;
    std::vector<object> holes, teeth;
    for (std::size_t i = 0; i < 1500; ++i) {
        holes.push_back(m.take(24 + i * 37 % 6000, false));
        teeth.push_back(m.take(16, false));
    }
    for (std::size_t i = 0; i < holes.size(); ++i) m.give(holes[i], i % 50 == 0);
    for (std::size_t i = 0; i < 60; ++i) live.push_back(m.take(i * 61 % 5000 + 16, true));
    m.now = phase::teeth;
    for (std::size_t i = 0; i < teeth.size(); ++i) m.give(teeth[i], i % 25 == 0);
    m.now = phase::churn;
    for (int i = 0; i < 100; ++i) {
        std::swap(live[random() % live.size()], live.back());
        m.give(live.back(), true);
        live.back() = m.take(log_uniform(1, static_cast<unsigned>(random()))[0], true);
    }
    // The sizes shift: what still waits to be asked for again has to give way.
    m.now = phase::shift;
    std::vector<object> large;
    for (std::size_t i = 0; i < 1200; ++i) {
        large.push_back(m.take(4200 + i * 53 % 3000, i % 30 == 0));
    }
    for (int i = 0; i < 300; ++i) {
        std::swap(live[random() % live.size()], live.back());
        m.give(live.back(), i % 5 == 0);
        live.back() = m.take(log_uniform(1, static_cast<unsigned>(random()))[0], i % 5 == 1);
    }
    m.now = phase::leave;
    for (std::size_t i = 0; i < large.size(); ++i) m.give(large[i], i % 40 == 0);
    for (const object& o : live) m.give(o, false);
}

/// All of one size: every operation that may ask for more, or give a magazine away, is counted.
template <class Memory>
void walk_one_size(Memory& m) {
    std::mt19937 random{22};
    std::vector<object> live;
    m.now = phase::fill;
    for (int i = 0; i < 600; ++i) live.push_back(m.take(0, true));
    m.now = phase::comb;
    for (std::size_t i = 0; i < live.size(); i += 2) m.give(live[i], i % 20 == 0);
    for (std::size_t i = 0; i < live.size(); i += 2) live[i] = m.take(0, i % 20 == 0);
    m.now = phase::churn;
    for (int i = 0; i < 50; ++i) {
        std::swap(live[random() % live.size()], live.back());
        m.give(live.back(), true);
        live.back() = m.take(0, true);
    }
    m.now = phase::leave;
    for (const object& o : live) m.give(o, true);
}

}  // namespace lab::heaps
