// lab/experiments/builds.cpp - the same small program in all the ways that people build in.
//
//      {g++, clang++ on this machine} x {-O0, -Og, -O2, -O3} x {asserts, no asserts}
//
//      set-up       lab/builds/program.cpp and library.cpp are compiled here and now, each way once,
//                   in a temporary folder; the programs stay open, the folder goes
//      contender    a process of that program, which times its own loops and is asked over pipes
//
// A quick run has the first compiler, and of its builds the two that check (-O0, -O2) and the one
// that ships (-O2 without asserts). The library is compiled with -O2 in all of them, as the package
// does it. Ratios refer to -O2 without asserts. malloc and std containers are loops of the same
// program: they know no asserts, so they stand there once an optimization level.
#include <unistd.h>

#include <map>

#include <fmt/format.h>

#include "lab/builds/compilation.hpp"
#include "lab/harness/experiment.hpp"
#include "lab/harness/registry.hpp"
#include "lab/harness/results.hpp"
#include "lab/output/output.hpp"

namespace lab { namespace {

struct operation {
    const char* name;  ///< of the case
    const char* ours;
    const char* our_word;  ///< for lab/builds/program.cpp
    const char* other;
    const char* other_word;
};

constexpr std::array<operation, 5> operations{{
    {"pool pair", "cairn::pool", "pool", "malloc", "pool-malloc"},
    {"heap pair", "cairn::heap", "heap", "malloc", "heap-malloc"},
    {"arena allocation", "cairn::arena", "arena", "malloc", "arena-malloc"},
    {"slot_map look-up", "cairn::slot_map", "look-up", "std::vector[]", "look-up-vector"},
    {"soa for_each", "cairn::table", "rows", "std::vector, range-for", "rows-vector"},
}};
constexpr unsigned operations_per_repetition = 1000;

struct build_kind {
    const char* level;
    bool asserts;
};
constexpr std::size_t quick_builds = 3;  // the first ones
constexpr std::array<build_kind, 8> all_builds{{
    {"-O2", false},
    {"-O2", true},
    {"-O0", true},
    {"-O0", false},
    {"-Og", true},
    {"-Og", false},
    {"-O3", true},
    {"-O3", false},
}};

const char* name_of(bool asserts) { return asserts ? "asserts" : "no asserts"; }

/// One compiler, one way of building: the open program, or the reason why there is none.
struct built_program {
    std::string compiler;
    build_kind how;
    int file = -1;
    std::string why = "it was not compiled";
    ~built_program() {
        if (file >= 0) ::close(file);
    }
};

/// What the lab was built from, unless CAIRN_LAB_SOURCES names another checkout.
std::string sources() {
    const char* const named = std::getenv("CAIRN_LAB_SOURCES");
    return named != nullptr && *named != '\0' ? named : this_build().sources;
}

std::vector<std::string> words(const std::string& compiler, bool asserts, const std::string& level,
                               const std::string& source, const std::string& object) {
    std::vector<std::string> all{compiler,
                                 "-std=c++20",
                                 level,
                                 asserts ? "-DCAIRN_ASSERTS=1" : "-DCAIRN_ASSERTS=0",
                                 "-I" + sources(),
                                 "-I" + sources() + "/include",
                                 "-I" + sources() + "/src"};
    if (!asserts) all.emplace_back("-DNDEBUG");
    all.insert(all.end(), {"-c", sources() + "/lab/builds/" + source, "-o", object});
    return all;
}

/// Compiles all programs; afterwards each is open or says why not.
void build_all(const std::vector<std::shared_ptr<built_program>>& programs, unsigned at_once,
               double seconds) {
    if (::access((sources() + "/lab/builds/program.cpp").c_str(), R_OK) != 0) {
        throw std::runtime_error{fmt::format(
            "the sources are not in '{}' (CAIRN_LAB_SOURCES=FOLDER names another checkout)",
            sources())};
    }
    const temporary_folder folder;
    // The library first, which takes longest.
    std::vector<compile_job> objects;
    std::map<std::string, std::size_t>
        libraries;  // by compiler and asserts: its place in `objects`
    const auto library_of = [](const built_program& p) {
        return p.compiler + (p.how.asserts ? "1" : "0");
    };
    const auto object = [&](std::size_t i) { return fmt::format("{}/{}.o", folder.path(), i); };
    for (const auto& p : programs) {
        if (!libraries.emplace(library_of(*p), objects.size()).second) continue;
        objects.push_back(
            {words(p->compiler, p->how.asserts, "-O2", "library.cpp", object(objects.size())), ""});
    }
    const std::size_t first_program = objects.size();
    for (const auto& p : programs) {
        objects.push_back({words(p->compiler, p->how.asserts, p->how.level, "program.cpp",
                                 object(objects.size())),
                           ""});
    }
    compile(objects, folder, at_once, seconds);

    std::vector<compile_job> links;
    const auto executable = [&](std::size_t i) { return fmt::format("{}/{}", folder.path(), i); };
    for (std::size_t i = 0; i != programs.size(); ++i) {
        const std::size_t library = libraries.at(library_of(*programs[i]));
        const std::size_t program = first_program + i;
        const std::string& why =
            objects[library].why.empty() ? objects[program].why : objects[library].why;
        links.push_back({{programs[i]->compiler, object(program), object(library), "-pthread", "-o",
                          executable(i)},
                         why});
    }
    compile(links, folder, at_once, seconds);
    for (std::size_t i = 0; i != programs.size(); ++i) {
        programs[i]->why = links[i].why;
        if (!links[i].why.empty()) continue;
        programs[i]->file = open_program(executable(i));
        if (programs[i]->file < 0) programs[i]->why = "the compiled program cannot be opened";
    }
}

void add_contender(comparison& c, kind k, const std::string& name, const char* word,
                   const std::shared_ptr<built_program>& program) {
    c.add(k, name, [=] {
        if (program->file < 0) throw std::runtime_error{program->why};
        return [run = std::make_unique<running_program>(program->file, word)](sample& s) {
            const running_program::answer a = run->repeat(s.repetitions());
            s.took(a.ns);
            s.checksum(a.computed);
            s.did(s.repetitions() * operations_per_repetition);
        };
    });
}

std::string row_name(const char* who, const build_kind& how) {
    return fmt::format("{}, {}, {}", who, how.level, name_of(how.asserts));
}

/// What asserts cost, and what -O0 costs beside the same loop of others.
std::string take(const experiment_result& r, const std::string& left_out) {
    std::string checked;
    std::string unoptimized;
    for (std::size_t i = 0; i != std::min(operations.size(), r.cases.size()); ++i) {
        const operation& o = operations[i];
        const case_result& c = r.cases[i];
        const double ships = median_of(c, row_name(o.ours, {"-O2", false}));
        const double checks = median_of(c, row_name(o.ours, {"-O2", true}));
        const double debugs = median_of(c, row_name(o.ours, {"-O0", true}));
        const double other = median_of(c, fmt::format("{}, -O0", o.other));
        const auto add = [&](std::string& to, double a, double b, const char* more) {
            if (a > 0 && b > 0) {
                to +=
                    fmt::format("{}{} {} x{}", to.empty() ? "" : ", ", o.name, figure(a / b), more);
            }
        };
        add(checked, checks, ships, "");
        add(unoptimized, debugs, other, fmt::format(" {}", o.other).c_str());
    }
    std::string text;
    if (!checked.empty()) text += "With asserts, at -O2, of the time without: " + checked + ". ";
    if (!unoptimized.empty()) {
        text += "At -O0 with asserts, of the other's time in the same build: " + unoptimized + ". ";
    }
    text += left_out;
    if (text.ends_with(' ')) text.pop_back();
    return text;
}

using programs = std::vector<std::shared_ptr<built_program>>;

/// Those that are on the PATH: the first, in a full run all. `left_out`: a sentence about the others.
std::vector<std::string> compilers_here(bool all, std::string& left_out) {
    std::vector<std::string> compilers;
    for (const char* const name : {"g++", "clang++"}) {
        const std::string found = find_compiler(name);
        if (found.empty()) {
            left_out += fmt::format("{}{} is not on the PATH: its rows are left out.",
                                    left_out.empty() ? "" : " ", name);
        } else if (all || compilers.empty()) {
            compilers.push_back(found);
        }
    }
    return compilers;
}

programs all_programs(const std::vector<std::string>& compilers, bool full) {
    programs all;
    for (const std::string& compiler : compilers) {
        for (const build_kind& how :
             std::span{all_builds}.first(full ? all_builds.size() : quick_builds)) {
            all.push_back(std::make_shared<built_program>(compiler, how));
        }
    }
    return all;
}

void add_operation(experiment& e, const operation& o, const std::string& compiler,
                   const programs& all) {
    comparison& c = e.compare(fmt::format("{}, {}", o.name, compiler),
                              {.many_per_cycle = true, .equal_checksums = true, .compares = false});
    std::string levels;
    for (const auto& program : all) {
        if (program->compiler != compiler) continue;
        const build_kind& how = program->how;
        const bool is_reference = levels.empty();
        add_contender(c, is_reference ? kind::limit : kind::cairn, row_name(o.ours, how),
                      o.our_word, program);
        if (levels.find(how.level) != std::string::npos) continue;
        levels += how.level;
        add_contender(c, kind::baseline, fmt::format("{}, {}", o.other, how.level), o.other_word,
                      program);
    }
}

const registration builds{
    "builds", "What does an operation cost in the builds that people work in?", [](experiment& e) {
        e.quick_seconds = 4;
        e.full_seconds = 30;
        e.how =
            "A small program is compiled on this machine, when the lab runs; the library's own "
            "sources are compiled with -O2 in every build, as the installed package has them. Each "
            "row is a process of the program, which times itself. 'To limit' is to -O2 without "
            "asserts.";
        std::string left_out;
        const std::vector<std::string> compilers = compilers_here(e.options().full, left_out);
        const programs all = all_programs(compilers, e.options().full);
        for (const std::string& compiler : compilers) {
            for (const operation& o : operations) add_operation(e, o, compiler, all);
        }
        const unsigned at_once = e.options().hardware_threads();
        e.set_up = [all, at_once, left_out](double time_limit) {
            if (const std::string why = why_no_compilation(); !why.empty()) {
                throw std::runtime_error{why};
            }
            if (all.empty()) throw std::runtime_error{"no compiler is here: " + left_out};
            build_all(all, at_once, 6 * time_limit);  // a compiler may take longer than a sample
        };
        e.take = [left_out](const experiment_result& r) { return take(r, left_out); };
    }};

}}  // namespace lab
