// lab/families/longest_operation.hpp - the longest of many operations that follow each other.
//
//      lab::comparison& c = lab::compare_longest(e, "worst insert");      and "all of them"
//      c.cairn("packed_array", lab::longest_of(1'000'000, make, insert)); insert(state, 0), (state, 1) ..
//
// A clock stands around each of them; a sample begins with a new state.
#pragma once

#include "lab/harness/experiment.hpp"

namespace lab {

inline comparison& compare_longest(experiment& e, std::string name) {
    constexpr double interrupt_us = 20;  // the longest of many readings has one in it, or has not
    comparison& c =
        e.compare(std::move(name),
                  {.unit = "us", .measure = measure::value, .least_difference = interrupt_us});
    e.also(c, "all of them", {.unit = "ms"});
    return c;
}

template <class Make, class Operation>
auto longest_of(std::size_t count, Make make, Operation operation) {
    return [=] {
        return [=](sample& s) {
            auto state = make();
            std::int64_t worst = 0;
            const std::int64_t begun = now_ns();
            for (std::size_t i = 0; i != count; ++i) {
                const std::int64_t before = now_ns();
                operation(state, i);
                worst = std::max(worst, now_ns() - before);
            }
            const std::int64_t total = now_ns() - begun;
            keep(&state);
            s.value(static_cast<double>(worst) / 1000);
            s.also("all of them", static_cast<double>(total) / 1e6);
        };
    };
}

}  // namespace lab
