// lab/harness/registry.hpp - every experiment, peer and malloc library that this binary knows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/harness/experiment.hpp"

namespace lab {

struct registered_experiment {
    std::string name;
    std::string question;
    std::function<void(experiment&)> fill;
};

/// In the order of lab/CMakeLists.txt.
[[nodiscard]] std::vector<registered_experiment>& experiments();

/// Runs the registering function. Throws bad_input when the user's input cannot be used.
[[nodiscard]] std::unique_ptr<experiment> build(const registered_experiment& which,
                                                const run_options& options);

/// A row of an experiment, and the experiment that it points into; null where there is none.
struct found_row {
    std::unique_ptr<experiment> in;
    const contender* who = nullptr;
};
/// Throws as build().
[[nodiscard]] found_row find_row(std::string_view experiment_name, std::string_view case_name,
                                 std::string_view row_name, const run_options& options);

/// A peer that was looked for.
struct peer_status {
    std::string name;
    bool present;
    std::string detail;  ///< version or place; for an absent one, why, or the package that has it
};

/// Those that lab/CMakeLists.txt found, as look_at_mallocs() corrects them.
[[nodiscard]] const std::vector<peer_status>& peers();

/// A malloc replacement that can be preloaded; `path` is empty for the C library's own.
struct malloc_library {
    std::string name;
    std::string path;
    std::string symbol;  ///< a function that only this library defines
};

/// "glibc" first; then those found at configure time, less what look_at_mallocs() took out.
[[nodiscard]] const std::vector<malloc_library>& malloc_libraries();
[[nodiscard]] const malloc_library* find_malloc_library(std::string_view name);

/// Starts this program once with each malloc library preloaded (some milliseconds each). What does
/// not come up there is no longer in malloc_libraries(), and peers() says why. For the command,
/// before it builds an experiment; a worker looks at its own process instead.
void look_at_mallocs();

/// What an experiment runs this program for, under another program (cachegrind): `cairn WORD ...`.
struct side_command {
    std::string word;
    int (*run)(int argc, char** argv);
};
[[nodiscard]] std::vector<side_command>& side_commands();

/// Generated: compiler, flags, sources.
struct build_facts {
    std::string compiler;
    std::string flags;
    std::string sources;  ///< the checkout that it was built from, which may be gone by now
};
[[nodiscard]] const build_facts& this_build();

}  // namespace lab
