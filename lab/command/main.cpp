// lab/command/main.cpp - the `cairn` command.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "lab/command/lab_command.hpp"
#include "lab/harness/preload.hpp"
#include "lab/harness/registry.hpp"
#include "lab/harness/worker.hpp"
#include "lab/layout/layout_command.hpp"
#include "lab/system/system.hpp"

namespace {

/// Infinity and NaN lie outside.
CLI::Validator number_between(double low, double high) {
    return {[=](std::string& text) -> std::string {
                double x = 0;
                if (CLI::detail::lexical_cast(text, x) && x >= low && x <= high) return {};
                return fmt::format("'{}' is not a number from {} to {}", text, low, high);
            },
            {}};
}

CLI::App* add_layout(CLI::App& app, lab::layout::layout_arguments& a) {
    CLI::App* const command = app.add_subcommand(
        "layout",
        "Holes, padding and cache lines of the structs of a program with debug information");
    command->add_option("binary", a.binary, "a program, library or object file, compiled with -g")
        ->required();
    command->add_option("type", a.type, "one type; without it all are listed, worst first");
    command
        ->add_option(
            "--uses", a.uses,
            "the members that one loop uses, such as position,velocity; once for each loop")
        ->type_name("MEMBERS")
        ->allow_extra_args(false);
    command->add_option("--line", a.line_size, "bytes of a cache line: 32, 64, 128 or 256")
        ->check(CLI::IsMember({32, 64, 128, 256}))
        ->type_name("BYTES");
    command->add_flag("--all", a.all, "list every type, not the worst ones only");
    command->add_option("--json", a.json, "write everything to FILE; - is standard output")
        ->type_name("FILE");
    command->add_flag("--in-process", a.in_process,
                      "read in this process (for debuggers; a damaged file may end it)");
    return command;
}

CLI::App* add_lab(CLI::App& app, lab::lab_arguments& a) {
    CLI::App* const command = app.add_subcommand(
        "lab", "Measure cairn beside what you would use instead, on this machine");
    command->add_option("experiment", a.experiments, "which experiments; all when none is named");
    CLI::Option* const full = command->add_flag("--full", a.full, "thorough: up to 30 minutes");
    command->add_flag_callback(
               "--quick", [] {}, "about 3 minutes for everything (the default)")
        ->excludes(full);
    command->add_option("--json", a.json, "write all figures to FILE")->type_name("FILE");
    command->add_option("--html", a.html, "write the page to FILE")->type_name("FILE");
    command
        ->add_option("--markdown", a.markdown_file,
                     "Markdown, to the terminal or to FILE (a name with a dot or a slash)")
        ->type_name("FILE")
        ->expected(0, 1);
    CLI::Option* const compare =
        command->add_option("--compare", a.compare, "what changed between two JSON files")
            ->type_name("OLD NEW")
            ->expected(2);
    command->add_flag(
        "--cachegrind", a.cachegrind,
        "misses and instructions too, with valgrind: cache-walk (with --full table 3.2 at its full "
        "size), struct-layout, aos-soa, showdown");
    CLI::Option* const show =
        command->add_option("--show", a.show, "a JSON file of an earlier run; nothing is measured")
            ->type_name("FILE");
    command
        ->add_option("--against", a.against, "every case beside NAME: mimalloc, boost, std::vector")
        ->type_name("NAME");
    command->add_flag("--tables", a.tables, "all tables (the default where experiments are named)");
    command->add_flag("--list", a.list, "name the experiments and end");
    command->add_flag("--quiet", a.quiet, "only reports and errors");
    command->add_flag("--in-process", a.in_process,
                      "run contenders in this process (for debuggers; no other mallocs)");
    command->add_option("--time-limit", a.time_limit, "seconds after which a contender has failed")
        ->check(number_between(0.001, 86400))
        ->type_name("SECONDS");
    command->add_option("--speed", a.speed, "scale the time spent: 0.1 for a smoke test")
        ->check(number_between(0.001, 100))
        ->type_name("FACTOR");
    for (CLI::Option* const measures : command->get_options()) {  // and --compare does not
        const std::string name = measures->get_name();
        if (name != "--help" && name != "--compare" && name != "--markdown" && name != "--quiet" &&
            name != "experiment") {
            compare->excludes(measures);
            if (name != "--show" && name != "--against" && name != "--tables") {
                show->excludes(measures);
            }
        }
    }
    return command;
}

/// Returns: the exit code of a word that is not for people, or -1.
int inner_command(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--lab-worker") == 0) return lab::worker_main(argc, argv);
    if (argc > 1 && std::strcmp(argv[1], "--lab-preloaded") == 0) {
        return lab::preloaded_main(argc, argv);
    }
    for (const lab::side_command& other : lab::side_commands()) {
        if (argc > 1 && other.word == argv[1]) return other.run(argc, argv);
    }
    return -1;
}

int command(int argc, char** argv) {
    if (const int code = inner_command(argc, argv); code >= 0) return code;
    const bool is_layout = argc > 1 && std::strcmp(argv[1], "layout") == 0;
    const char* const help = is_layout ? "cairn layout" : "cairn lab";
    for (int i = 1; i != argc; ++i) {  // "" names no file and no experiment
        if (*argv[i] != '\0') continue;
        std::fprintf(stderr, "cairn: an empty word stands after '%s' (see %s --help)\n",
                     argv[i - 1], help);
        return 2;
    }

    CLI::App app{"cairn: memory for real-time C++"};
    app.require_subcommand(1);
    lab::lab_arguments a;
    CLI::App* const command = add_lab(app, a);
    lab::layout::layout_arguments l;
    CLI::App* const layout = add_layout(app, l);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) {  // --help
            (void)app.exit(e);
            if (std::cout.flush()) return 0;
            std::fprintf(stderr, "cairn: standard output cannot be written\n");
            return 2;
        }
        std::fprintf(stderr, "cairn: %s (see %s --help)\n", e.what(), help);
        return 2;
    }
    if (layout->parsed()) return lab::layout::run_layout(l);
    a.markdown = command->count("--markdown") != 0;
    // The word after --markdown may also be an experiment: `--markdown frame` writes no file "frame".
    if (!a.markdown_file.empty() && a.markdown_file.find_first_of("./") == std::string::npos) {
        a.experiments.push_back(std::move(a.markdown_file));
        a.markdown_file.clear();
    }
    if ((!a.compare.empty() || !a.show.empty()) && !a.experiments.empty()) {
        std::fprintf(stderr, "cairn: %s measures nothing: '%s' is one word too many\n",
                     a.show.empty() ? "--compare" : "--show", a.experiments[0].c_str());
        return 2;
    }
    return lab::run_lab(a);
}

}  // namespace

int main(int argc, char** argv) {
    lab::prepare_standard_files();
    try {
        return command(argc, argv);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cairn: this run ended early: %s\n", e.what());
        return 2;
    }
}
