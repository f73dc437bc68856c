#include "lab/command/lab_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "lab/command/report_file.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/registry.hpp"
#include "lab/harness/sampler.hpp"
#include "lab/harness/worker.hpp"
#include "lab/output/choosing.hpp"
#include "lab/output/compare.hpp"
#include "lab/output/output.hpp"
#include "lab/output/summary.hpp"
#include "lab/system/system.hpp"

namespace lab {

namespace {

void note_interrupt(int) { interrupted = interrupted + 1; }

std::string utc_now() {
    const std::time_t t = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&t));
    return text;
}

/// Standard output. The first piece that cannot be written is the last that is tried.
class standard_output {
public:
    void say(const std::string& text) {
        if (broken()) return;
        errno = 0;
        if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
            std::fflush(stdout) == 0) {
            return;
        }
        why_ = errno != 0 ? std::strerror(errno) : "it ended";
    }
    [[nodiscard]] bool broken() const { return !why_.empty(); }
    /// One sentence, or nothing.
    [[nodiscard]] std::string complaint() const {
        return broken() ? "standard output cannot be written: " + why_ : "";
    }

private:
    std::string why_;
};

/// Errors of the user, said at once, each once, and repeated in the reports.
class complaints {
public:
    void add(const std::string& sentence) {
        if (sentence.empty() || std::ranges::find(sentences_, sentence) != sentences_.end()) return;
        fmt::print(stderr, "cairn lab: {}\n", sentence);
        sentences_.push_back(sentence);
    }
    [[nodiscard]] bool any() const { return !sentences_.empty(); }
    [[nodiscard]] const std::vector<std::string>& all() const { return sentences_; }

private:
    std::vector<std::string> sentences_;
};

/// The files that the user's words ask for, as far as they can be written.
class report_files {
public:
    explicit report_files(complaints& c) : complaints_{&c} {}
    report_file accept(const std::string& path) {
        report_file file{path};
        if (!file) return file;
        asked_ = true;
        std::string why = file.obstacle();
        for (const report_file& other : accepted_) {
            if (file.same_as(other)) why = "another report goes there";
        }
        if (why.empty()) return accepted_.emplace_back(std::move(file));
        complaints_->add(fmt::format("the report '{}' cannot be written: {}", path, why));
        return {};
    }
    [[nodiscard]] bool all_refused() const { return asked_ && accepted_.empty(); }

private:
    complaints* complaints_;
    std::vector<report_file> accepted_;
    bool asked_ = false;
};

bool write_report(const report_file& file, const std::string& text, complaints& c) {
    const std::string why = file.write(text);
    if (!why.empty()) c.add(fmt::format("the report '{}' cannot be written: {}", file.path(), why));
    return why.empty();
}

bool anything_measured(const run_result& run) {
    for (const experiment_result& e : run.experiments) {
        for (const case_result& c : e.cases) {
            for (const contender_result& r : c.contenders) {
                if (r.counts()) return true;
            }
        }
    }
    return false;
}

std::string known_names() {
    std::string s;
    for (const auto& e : experiments()) s += (s.empty() ? "" : ", ") + e.name;
    return s;
}

std::string clock_text(double seconds) {
    const int s = static_cast<int>(seconds + 0.5);
    return fmt::format("{}:{:02}", s / 60, s % 60);
}

/// The line at the bottom of the terminal: where we are, how much is left.
class progress_line {
public:
    explicit progress_line(bool shown) : shown_{shown} {}
    void show(const std::string& where, double left_seconds) {
        if (!shown_ || now_ns() - last_ < 100'000'000) return;
        last_ = now_ns();
        fmt::print(stderr, "\r\033[K{} · about {} left", where, clock_text(left_seconds));
        std::fflush(stderr);
    }
    void clear() {
        if (shown_) fmt::print(stderr, "\r\033[K");
    }

private:
    bool shown_;
    std::int64_t last_ = 0;
};

}  // namespace

int run_lab(const lab_arguments& a) {
    standard_output out;
    complaints bad;
    if (a.list) {
        for (const auto& e : experiments()) out.say(fmt::format("{:16} {}\n", e.name, e.question));
        bad.add(out.complaint());
        return bad.any() ? 2 : 0;
    }

    report_files files{bad};
    if (!a.compare.empty()) {
        std::string text;
        const int result = compare_runs(a.compare[0], a.compare[1], a.markdown, text);
        if (result != 0) {
            bad.add(text);
        } else if (a.markdown_file.empty()) {
            out.say(text);
            bad.add(out.complaint());
        } else if (const report_file file = files.accept(a.markdown_file);
                   !file || !write_report(file, text, bad)) {
            return 2;
        }
        return result == 0 && bad.any() ? 2 : result;
    }

    std::vector<const registered_experiment*> chosen;
    std::vector<std::string> words = a.experiments;
    if (std::erase(words, "summary") != 0) {  // it needs what its lines are derived from
        for (const need& n : needs()) {
            for (const covered& where : n.where) words.emplace_back(where.experiment);
        }
        std::erase_if(words, [](const std::string& name) {
            return std::none_of(experiments().begin(), experiments().end(),
                                [&](const auto& e) { return e.name == name; });
        });
    }
    for (const std::string& name : words) {
        const auto found = std::find_if(experiments().begin(), experiments().end(),
                                        [&](const auto& e) { return e.name == name; });
        if (found == experiments().end()) {
            bad.add(
                fmt::format("no experiment is called '{}'; there are: {}", name, known_names()));
        } else if (std::find(chosen.begin(), chosen.end(), &*found) == chosen.end()) {
            chosen.push_back(&*found);
        }
    }
    if (words.empty()) {
        for (const auto& e : experiments()) chosen.push_back(&e);
    }

    const report_file json = files.accept(a.json);
    const report_file html = files.accept(a.html);
    const report_file markdown = files.accept(a.markdown_file);
    if (files.all_refused()) return 2;  // before minutes of measuring for nobody

    run_options options;
    options.full = a.full;
    options.source = a.source;
    options.cachegrind = a.cachegrind && has_valgrind;
    if (a.cachegrind && !has_valgrind)
        bad.add("--cachegrind: there is no valgrind for this system");
    options.cpus = allowed_cpus();
    remember_cpus(options.cpus);

    run_result run;
    run.date = utc_now();
    run.full = a.full;
    run.machine = look_at_machine();
    run.machine.pinned = !options.cpus.empty() && pin_to(options.cpus.back());
    run.timer_overhead_ns = timer_overhead_ns();
    run.empty_loop_ns = empty_loop_ns();

    if (!chosen.empty() && !a.in_process) look_at_mallocs();
    std::vector<std::unique_ptr<experiment>> built;
    double budget = 0;
    for (const registered_experiment* which : chosen) {
        try {
            built.push_back(build(*which, options));
            budget += (a.full ? built.back()->full_seconds : built.back()->quick_seconds) * a.speed;
        } catch (const bad_input& e) {
            bad.add(e.what());
            built.push_back(nullptr);
            experiment_result skipped;
            skipped.name = which->name;
            skipped.question = which->question;
            skipped.error = e.what();
            skipped.complete = false;
            run.experiments.push_back(std::move(skipped));
        }
    }

    // What the experiments ask for together must stay within what the command promises.
    // (112: work that is not scaled, mostly starting processes, takes about a minute of the three
    // of a quick run.)
    const double promised = a.full ? 1600 : 112;
    const double speed = a.speed * std::min(1.0, promised * a.speed / std::max(budget, 1.0));
    budget *= speed / a.speed;

    on_interrupt(note_interrupt);
    ignore_broken_pipes();

    const bool is_reported = json || html || markdown;
    if (!chosen.empty() && !a.quiet) out.say(heading(run));
    progress_line line{errors_go_to_a_terminal() && !a.quiet};
    const std::int64_t begun = now_ns();
    double budget_done = 0;
    for (const auto& e : built) {
        if (e == nullptr || interrupted) continue;
        if (out.broken() && !is_reported) break;  // its figures would go nowhere
        sampler_options o;
        o.full = a.full;
        o.in_process = a.in_process;
        o.speed = speed;
        o.time_limit = a.time_limit > 0 ? a.time_limit : a.full ? 60 : 20;
        o.empty_loop_ns = run.empty_loop_ns;
        const double share = (a.full ? e->full_seconds : e->quick_seconds) * speed;
        run.experiments.push_back(
            measure_experiment(*e, o, [&](const std::string& name, double done) {
                // Budgets say how much is left; how far they were off until now corrects them.
                const double elapsed = static_cast<double>(now_ns() - begun) * 1e-9;
                const double planned = budget_done + share * done;
                const double pace = planned > 1 ? std::clamp(elapsed / planned, 0.5, 3.0) : 1.0;
                line.show(fmt::format("{} / {}", e->name, name), (budget - planned) * pace);
            }));
        budget_done += share;
        line.clear();
        if (!a.quiet) { out.say(as_text(run.experiments.back(), terminal_columns())); }
        if (json.replaceable()) {  // a run that is killed loses what it had not finished, no more
            run.interrupted = true;
            run.seconds = static_cast<double>(now_ns() - begun) * 1e-9;
            run.errors = bad.all();
            write_report(json, as_json(run), bad);
        }
    }
    run.interrupted = interrupted != 0;
    run.seconds = static_cast<double>(now_ns() - begun) * 1e-9;
    run.errors = bad.all();

    // Reports first: nothing that happens to the terminal can cost them.
    std::string written;
    if (json && write_report(json, as_json(run), bad)) {
        written += fmt::format("figures: {}\n", a.json);
    }
    if (html && write_report(html, as_page(run), bad)) {
        written += fmt::format("page: {}\n", a.html);
        if (!has_page()) {
            written +=
                "a plain page: when this command was built, node, npm or their packages "
                "were missing; with them the page has plots\n";
        }
    }
    if (markdown && write_report(markdown, as_markdown(run), bad)) {
        written += fmt::format("Markdown: {}\n", a.markdown_file);
    }
    if (!chosen.empty() && !a.quiet) {
        out.say(fmt::format("{}\nmeasured in {}\n", summary_as_text(run), clock_text(run.seconds)));
    }
    if (!a.quiet) out.say(written);
    if (a.markdown && a.markdown_file.empty()) out.say(as_markdown(run));
    bad.add(out.complaint());
    if (run.interrupted) {
        fmt::print(stderr, "cairn lab: interrupted; what was measured until then is reported\n");
        return 130;
    }
    if (bad.any()) return 2;
    return chosen.empty() || anything_measured(run) ? 0 : 1;
}

}  // namespace lab
