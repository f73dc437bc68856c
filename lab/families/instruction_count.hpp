// lab/families/instruction_count.hpp - how many instructions an operation takes at most: a child
// process steps through it.
//
//      begin();               the processor traps after each instruction from here on
//      p = a.allocate(64);    . . . . . . . . . . .  each trap is a signal, whose handler counts
//      end(3);                of the operations that ended with 3 the largest count is kept
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>

#include "lab/harness/processor.hpp"
#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab {
namespace detail {

inline volatile std::uint64_t steps = 0;
inline void count_step(int) { steps = steps + 1; }

// Out of line, so that what they add is the same everywhere.
[[gnu::noinline]] inline void begin_steps() {
    steps = 0;
    begin_single_steps();
    asm volatile("" ::: "memory");
}
[[gnu::noinline]] inline std::uint64_t end_steps() {
    asm volatile("" ::: "memory");
    end_single_steps();
    return steps;
}

}  // namespace detail

/// Calls operation(begin, end) in a child. What runs between begin() and end(label) is counted.
/// Returns: for each label the largest count. Requires: the first operation is empty: what the marks
/// themselves cost, and has_single_steps: where that is false, nothing is counted.
/// Throws: std::runtime_error when the child does not come to its end.
template <std::size_t Labels, class Operation>
[[nodiscard]] std::array<std::uint64_t, Labels> most_instructions(Operation operation) {
    using counts = std::array<std::uint64_t, Labels>;
    const shared_memory shared{sizeof(counts)};
    auto& most = *::new (shared.get()) counts{};
    const bool ended = in_copy([&] {
        handle_single_steps(&detail::count_step);
        Operation work = operation;  // on this stack: no instruction more to reach it
        std::uint64_t overhead = 0;  // of the marks
        bool is_first = true;
        // Inlined, so that nothing but the operation itself stands between the two calls.
        work([]() __attribute__((always_inline)) { detail::begin_steps(); },
             [&](std::size_t label) __attribute__((always_inline)) {
                 const std::uint64_t count = detail::end_steps();
                 if (is_first) { overhead = count; }
                 is_first = false;
                 most.at(label) = std::max(most.at(label), count - std::min(count, overhead));
             });
    });
    if (!ended) throw std::runtime_error{"the process that counts instructions did not end well"};
    return most;
}

}  // namespace lab
