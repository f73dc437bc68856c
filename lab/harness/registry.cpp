#include "lab/harness/registry.hpp"

#include <unistd.h>

#include <algorithm>

namespace lab {

std::vector<registered_experiment>& experiments() {
    static std::vector<registered_experiment> all;
    return all;
}

std::vector<side_command>& side_commands() {
    static std::vector<side_command> all;
    return all;
}

registration::registration(std::string_view name, std::string_view question,
                           std::function<void(experiment&)> fill) {
    experiments().push_back({std::string{name}, std::string{question}, std::move(fill)});
}

std::unique_ptr<experiment> build(const registered_experiment& which, const run_options& options) {
    auto e = std::make_unique<experiment>(which.name, which.question, options);
    which.fill(*e);
    return e;
}

namespace {
/// Generated as well: all that were found when the lab was configured.
std::vector<malloc_library> installed(std::vector<malloc_library> found) {
    std::erase_if(found, [](const malloc_library& m) {
        return !m.path.empty() && ::access(m.path.c_str(), R_OK) != 0;
    });
    return found;
}
}  // namespace

std::vector<malloc_library> configured_mallocs();

const std::vector<malloc_library>& malloc_libraries() {
    static const std::vector<malloc_library> all = installed(configured_mallocs());
    return all;
}

const malloc_library* find_malloc_library(std::string_view name) {
    for (const malloc_library& m : malloc_libraries()) {
        if (m.name == name) return &m;
    }
    return nullptr;
}

void comparison::add_mallocs(body_factory make, std::string_view suffix) {
    for (const malloc_library& m : malloc_libraries()) {
        contenders.emplace_back(
            contender{m.name + std::string{suffix}, kind::peer, make, m.name, {}, {}, {}});
    }
}

void comparison::add_with_malloc(std::string_view library, std::string contender_name,
                                 body_factory make) {
    if (const malloc_library* m = find_malloc_library(library)) {
        contenders.emplace_back(
            contender{std::move(contender_name), kind::peer, std::move(make), m->name, {}, {}, {}});
    }
}

}  // namespace lab
