// tests/support/explorer/scripts.hpp - programs of the explorer that are written as a few characters.
//
//      struct world {                                      // what the threads share, fresh each time
//          void step(std::size_t thread, char what);       // one character of a thread's script
//          void at_end();                                  // after all threads: require() what holds
//      };
//      expect_exhausted("p | c", run_scripts<world>({"p", "c"}, 4));
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "support/explorer.hpp"

namespace explorer {

inline constexpr std::uint64_t scripts_execution_limit = 400'000;

/// Explores a program with a thread for each script. `arguments` construct the world of an execution.
template <class World, class... Arguments>
result run_scripts(std::vector<const char*> scripts, int preemptions, Arguments... arguments) {
    const options o{.threads = static_cast<int>(scripts.size()),
                    .preemptions = preemptions,
                    .execution_limit = scripts_execution_limit};
    return explore(o, [=] {
        auto w = std::make_shared<World>(arguments...);
        return program{.thread =
                           [=](int id) {
                               const auto me = static_cast<std::size_t>(id);
                               for (const char* s = scripts[me]; *s != 0; ++s) { w->step(me, *s); }
                           },
                       .at_end = [=] { w->at_end(); }};
    });
}

/// Expects that every execution passed and that none was left out; prints how many there were.
inline void expect_exhausted(const char* name, const result& r) {
    EXPECT_FALSE(r.failed) << name << ": " << r.message;
    EXPECT_TRUE(r.exhausted || r.failed) << name << ": too many executions";
    std::printf("%-58s %9llu executions%s\n", name, static_cast<unsigned long long>(r.executions),
                r.exhausted ? ", exhausted" : "");
}

}  // namespace explorer
