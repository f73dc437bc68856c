#include "lab/command/lab_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "lab/command/report_file.hpp"
#include "lab/harness/counters.hpp"
#include "lab/harness/registry.hpp"
#include "lab/harness/sampler.hpp"
#include "lab/harness/worker.hpp"
#include "lab/output/choosing.hpp"
#include "lab/output/output.hpp"
#include "lab/output/report_json.hpp"
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

/// A file of an earlier run, shown as a run that has just ended.
int show(const lab_arguments& a, standard_output& out, complaints& bad) {
    json run;
    std::string text;
    if (!read_report(a.show, run, text)) {
        bad.add(text);
        return 2;
    }
    try {
        if (!a.against.empty()) {
            const bool known = against(run, a.against, text);
            known ? out.say(text) : bad.add(text);
        } else if (a.tables) {
            for (const json& e : run.at("experiments")) out.say(tables_of(e, terminal_columns()));
        }
        if (a.against.empty()) out.say(screen_of(run, a.show));
    } catch (const json::exception&) {
        bad.add(
            fmt::format("'{}' lacks what this command shows: another version wrote it", a.show));
    }
    bad.add(out.complaint());
    return bad.any() ? 2 : 0;
}

int compare(const lab_arguments& a, standard_output& out, complaints& bad) {
    std::string text;
    if (compare_runs(a.compare[0], a.compare[1], a.markdown, text) != 0) {
        bad.add(text);
    } else if (a.markdown_file.empty()) {
        out.say(text);
        bad.add(out.complaint());
    } else {
        report_files files{bad};
        const report_file file = files.accept(a.markdown_file);
        if (file) write_report(file, text, bad);
    }
    return bad.any() ? 2 : 0;
}

/// The experiments that the words name: all where there are none.
std::vector<const registered_experiment*> chosen_by(std::vector<std::string> words,
                                                    complaints& bad) {
    const auto find = [](const std::string& name) {
        return std::ranges::find(experiments(), name, &registered_experiment::name);
    };
    if (std::erase(words, "summary") != 0) {  // it needs what its lines are derived from
        for (const need& n : needs()) {
            for (const covered& where : n.where) {
                if (find(where.experiment) != experiments().end()) {
                    words.emplace_back(where.experiment);
                }
            }
        }
    }
    std::vector<const registered_experiment*> chosen;
    for (const std::string& name : words) {
        const auto found = find(name);
        if (found == experiments().end()) {
            bad.add(
                fmt::format("no experiment is called '{}'; there are: {}", name, known_names()));
        } else if (std::ranges::find(chosen, &*found) == chosen.end()) {
            chosen.push_back(&*found);
        }
    }
    if (words.empty()) {
        for (const auto& e : experiments()) chosen.push_back(&e);
    }
    return chosen;
}

/// A run from the words of the user to its reports.
class lab_run {
public:
    lab_run(const lab_arguments& a, standard_output& out, complaints& bad)
        : words_{&a}, out_{&out}, bad_{&bad}, files_{bad} {
        tables_ = a.tables || (!a.experiments.empty() &&
                               std::ranges::find(a.experiments, "summary") == a.experiments.end());
    }

    int play() {
        const auto chosen = chosen_by(words_->experiments, *bad_);
        json_ = files_.accept(words_->json);
        html_ = files_.accept(words_->html);
        markdown_ = files_.accept(words_->markdown_file);
        if (files_.all_refused()) return 2;  // before minutes of measuring for nobody
        look_around();
        if (!chosen.empty() && !words_->in_process) look_at_mallocs();
        build_all(chosen);
        on_interrupt(note_interrupt);
        ignore_broken_pipes();
        if (!chosen.empty() && !words_->quiet) out_->say(tables_ ? heading(run_) : "");
        measure();
        return report(chosen.empty());
    }

private:
    [[nodiscard]] double seconds_of(const experiment& e) const {
        return words_->full ? e.full_seconds : e.quick_seconds;
    }
    [[nodiscard]] double seconds_since_begin() const {
        return static_cast<double>(now_ns() - begun_) * 1e-9;
    }
    void look_around();
    void build_all(const std::vector<const registered_experiment*>& chosen);
    void measure();
    void measure(const experiment& e, progress_line& line);
    [[nodiscard]] std::string write_reports();
    [[nodiscard]] int report(bool nothing_was_chosen);

    const lab_arguments* words_;
    standard_output* out_;
    complaints* bad_;
    report_files files_;
    report_file json_{""};
    report_file html_{""};
    report_file markdown_{""};
    bool tables_ = false;
    run_options options_;
    run_result run_;
    std::vector<std::unique_ptr<experiment>> built_;  ///< null: its input was refused
    double budget_ = 0;                               ///< seconds of all of them
    double speed_ = 1;
    double budget_done_ = 0;
    std::int64_t begun_ = 0;
};

void lab_run::look_around() {
    options_.full = words_->full;
    options_.cachegrind = words_->cachegrind && has_valgrind;
    if (words_->cachegrind && !has_valgrind) {
        bad_->add("--cachegrind: there is no valgrind for this system");
    }
    options_.cpus = allowed_cpus();
    remember_cpus(options_.cpus);
    run_.date = utc_now();
    run_.full = words_->full;
    run_.machine = look_at_machine();
    run_.machine.pinned = !options_.cpus.empty() && pin_to(options_.cpus.back());
    run_.timer_overhead_ns = timer_overhead_ns();
    run_.empty_loop_ns = empty_loop_ns();
}

void lab_run::build_all(const std::vector<const registered_experiment*>& chosen) {
    for (const registered_experiment* which : chosen) {
        try {
            built_.push_back(build(*which, options_));
            budget_ += seconds_of(*built_.back()) * words_->speed;
        } catch (const bad_input& e) {
            bad_->add(e.what());
            built_.push_back(nullptr);
            experiment_result skipped;
            skipped.name = which->name;
            skipped.question = which->question;
            skipped.error = e.what();
            skipped.complete = false;
            run_.experiments.push_back(std::move(skipped));
        }
    }
    // What the experiments ask for together must stay within what the command promises.
    // (100: work that is not scaled, mostly starting processes, takes about a minute of the three
    // of a quick run.)
    const double promised = words_->full ? 1600 : 100;
    speed_ = words_->speed * std::min(1.0, promised * words_->speed / std::max(budget_, 1.0));
    budget_ *= speed_ / words_->speed;
}

void lab_run::measure(const experiment& e, progress_line& line) {
    sampler_options o;
    o.full = words_->full;
    o.in_process = words_->in_process;
    o.speed = speed_;
    o.time_limit = words_->time_limit > 0 ? words_->time_limit : words_->full ? 60 : 20;
    o.empty_loop_ns = run_.empty_loop_ns;
    const double share = seconds_of(e) * speed_;
    run_.experiments.push_back(measure_experiment(e, o, [&](const std::string& name, double done) {
        // Budgets say how much is left; how far they were off until now corrects them.
        const double planned = budget_done_ + share * done;
        const double pace =
            planned > 1 ? std::clamp(seconds_since_begin() / planned, 0.5, 3.0) : 1.0;
        line.show(fmt::format("{} / {}", e.name, name), (budget_ - planned) * pace);
    }));
    budget_done_ += share;
    line.clear();
}

void lab_run::measure() {
    const bool is_reported = json_ || html_ || markdown_;
    const bool has_line = errors_go_to_a_terminal() && !words_->quiet;
    progress_line line{has_line};
    begun_ = now_ns();
    for (std::size_t i = 0; i != built_.size(); ++i) {
        if (built_[i] == nullptr || interrupted) continue;
        if (out_->broken() && !is_reported) break;  // its figures would go nowhere
        measure(*built_[i], line);
        const experiment_result& done = run_.experiments.back();
        if (!words_->quiet && tables_) {
            out_->say(as_text(done, terminal_columns()));
        } else if (!words_->quiet && !has_line) {
            out_->say(fmt::format("{} of {}: {}, {:.0f} s\n", i + 1, built_.size(), done.name,
                                  done.seconds));
        }
        if (json_.replaceable()) {  // a run that is killed loses what it had not finished, no more
            run_.interrupted = true;
            run_.seconds = seconds_since_begin();
            run_.errors = bad_->all();
            write_report(json_, as_json(run_), *bad_);
        }
    }
    run_.interrupted = interrupted != 0;
    run_.seconds = seconds_since_begin();
    run_.errors = bad_->all();
}

/// Returns: what was written, for the user.
std::string lab_run::write_reports() {
    std::string written;
    if (json_ && write_report(json_, as_json(run_), *bad_)) {
        written += fmt::format("figures: {}\n", words_->json);
    }
    if (html_ && write_report(html_, as_page(run_), *bad_)) {
        written += fmt::format("page: {}\n", words_->html);
        if (!has_page()) {
            written +=
                "a plain page: when this command was built, node, npm or their packages "
                "were missing; with them the page has plots\n";
        }
    }
    if (markdown_ && write_report(markdown_, as_markdown(run_), *bad_)) {
        written += fmt::format("Markdown: {}\n", words_->markdown_file);
    }
    return written;
}

int lab_run::report(bool nothing_was_chosen) {
    const std::string written =
        write_reports();  // nothing that happens to the terminal can cost them
    if (!nothing_was_chosen && !words_->quiet) {
        const json document = json_of(run_);
        std::string text;
        if (words_->against.empty()) {
            out_->say(screen_of(document, words_->json));
        } else if (against(document, words_->against, text)) {
            out_->say(text);
        } else {
            bad_->add(text);
        }
        out_->say(fmt::format("\nmeasured in {}\n", clock_text(run_.seconds)));
    }
    if (!words_->quiet) out_->say(written);
    if (words_->markdown && words_->markdown_file.empty()) out_->say(as_markdown(run_));
    bad_->add(out_->complaint());
    if (run_.interrupted) {
        fmt::print(stderr, "cairn lab: interrupted; what was measured until then is reported\n");
        return 130;
    }
    if (bad_->any()) return 2;
    return nothing_was_chosen || anything_measured(run_) ? 0 : 1;
}

}  // namespace

int run_lab(const lab_arguments& a) {
    standard_output out;
    complaints bad;
    if (a.list) {
        for (const auto& e : experiments()) out.say(fmt::format("{:16} {}\n", e.name, e.question));
        bad.add(out.complaint());
        return bad.any() ? 2 : 0;
    }
    if (!a.show.empty()) return show(a, out, bad);
    if (!a.compare.empty()) return compare(a, out, bad);
    return lab_run{a, out, bad}.play();
}

}  // namespace lab
