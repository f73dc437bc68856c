#include "lab/harness/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "lab/harness/worker.hpp"

namespace lab {

namespace {

/// One contender while it is being measured.
struct lane {
    const contender* who;
    worker process;
    std::uint64_t repetitions = 1;
    std::uint64_t warm_up = 0;
    double sample_ns = 0;  ///< of a whole sample, warm-up included, as seen from here
    std::vector<double> samples;
    std::map<std::string, std::vector<double>> extras;
    std::vector<series> plots;
    std::uint64_t checksum = 0;
    row_status status = row_status::ok;
    std::string note;
    double start_seconds = 0;  ///< what starting its process took

    /// Its process gave no answer. After Ctrl-C that is nobody's fault.
    void lost() {
        status = interrupted               ? row_status::interrupted
                 : process.lacks_library() ? row_status::absent
                                           : row_status::failed;
        note = process.why();
    }
};

double scale_of(const case_options& o) {
    const std::string& u = o.unit;
    if (u.starts_with("us")) return 1e-3;
    if (u.starts_with("ms")) return 1e-6;
    if (u.starts_with("s/") || u == "s") return 1e-9;
    if (u.starts_with("cycles")) {
        static const double ghz = core_ghz();
        return ghz > 0 ? ghz : 1;
    }
    return 1;
}

/// Turns one sample into the case's number; false: the contender did nothing that counts.
bool number_of(const outcome& r, const case_options& o, double& number) {
    if (o.measure == measure::value) {
        number = r.value;
        return r.has_value;
    }
    if (r.operations == 0) return false;
    const double ns_per_op = r.elapsed_ns / static_cast<double>(r.operations);
    number = o.measure == measure::time_per_op ? ns_per_op * scale_of(o) : 1e9 / ns_per_op;
    return true;
}

bool sample_once(lane& l, const case_options& o, double limit_seconds, double* raw_ns = nullptr) {
    outcome r;
    const std::int64_t before = now_ns();
    if (!l.process.run(l.repetitions, l.warm_up, r, limit_seconds)) {
        l.lost();
        return false;
    }
    l.sample_ns = static_cast<double>(now_ns() - before);
    if (raw_ns != nullptr) {
        *raw_ns = std::max(r.elapsed_ns, 1.0);
        return true;
    }
    double number = 0;
    if (!number_of(r, o, number)) {
        l.status = row_status::suspect;
        l.note = "reports no operations: it does nothing";
        return false;
    }
    l.samples.push_back(number);
    for (const auto& [name, value] : r.extras) l.extras[name].push_back(value);
    if (!r.plots.empty()) l.plots = std::move(r.plots);
    l.checksum = r.checksum;
    return true;
}

constexpr double longest_interruption_ns = 1e8;

/// Finds how many repetitions make a sample of `target_ns`.
bool calibrate(lane& l, const case_options& o, double target_ns, double limit_seconds) {
    l.warm_up = 0;
    l.repetitions = 1;
    double ns = 0;
    if (o.one_repetition) {
        return sample_once(l, o, limit_seconds, &ns) &&
               (o.quick_samples != 0 || sample_once(l, o, limit_seconds, &ns));
    }
    // A sample that was interrupted looks long: what ends the search is looked at twice.
    const auto sample_for = [&](double enough) {
        if (!sample_once(l, o, limit_seconds, &ns)) return false;
        const double first = l.sample_ns;
        if (first < enough || first > longest_interruption_ns) return true;
        if (!sample_once(l, o, limit_seconds, &ns)) return false;
        l.sample_ns = std::min(first, l.sample_ns);
        return true;
    };
    if (!sample_for(4 * target_ns)) return false;  // the very first: page faults and all
    if (l.sample_ns > 4 * target_ns) return true;  // one repetition is a long sample
    for (int step = 0; step != 12; ++step) {
        if (!sample_for(target_ns / 2)) return false;
        // What the repetition costs includes what it does not time (set-up inside it).
        const double whole = std::max(l.sample_ns, 1.0);
        if (whole >= target_ns / 2) {
            const double fit = static_cast<double>(l.repetitions) * target_ns / whole;
            l.repetitions = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(fit));
            break;
        }
        const double grow = std::clamp(target_ns / whole * 0.8, 2.0, 16.0);
        l.repetitions = static_cast<std::uint64_t>(static_cast<double>(l.repetitions) * grow);
    }
    l.warm_up = l.repetitions / 8;
    return true;
}

bool start(lane& l, const experiment& e, const comparison& c, const sampler_options& o) {
    const std::int64_t before = now_ns();
    const bool started = o.in_process ? l.process.start_in_process(*l.who)
                                      : l.process.start(e, c, *l.who, o.time_limit);
    l.start_seconds = static_cast<double>(now_ns() - before) * 1e-9;
    if (!started) l.lost();
    return started;
}

/// A new process for each contender: where its memory happens to lie is luck that lasts as long as
/// the process does, and should not decide a comparison.
void start_new_lives(std::vector<lane>& lanes, const experiment& e, const comparison& c,
                     const sampler_options& o) {
    for (lane& l : lanes) {
        if (interrupted) return;
        if (l.status != row_status::ok || !l.process.alive()) continue;
        l.process.stop();
        outcome unused;
        if (start(l, e, c, o) && !l.process.run(l.repetitions, 0, unused, o.time_limit)) l.lost();
    }
}

double relative_spread(std::vector<double> v) {  // half the distance of the quartiles
    if (v.size() < 4) return 0;
    std::sort(v.begin(), v.end());
    return (v[v.size() * 3 / 4] - v[v.size() / 4]) / 2 / v[v.size() / 2];
}

/// As a cost: lower is better in both directions.
double cost(const contender_result& r, better direction) {
    return direction == better::lower ? r.figures.median : 1 / r.figures.median;
}

void check_equal_results(std::vector<contender_result>& rows, const std::vector<lane>& lanes) {
    std::map<std::uint64_t, int> votes;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        if (rows[i].counts()) ++votes[lanes[i].checksum];
    }
    if (votes.size() < 2) return;
    const auto majority = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) {
                              return a.second < b.second;
                          })->first;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        if (rows[i].counts() && lanes[i].checksum != majority) {
            rows[i].status = row_status::wrong;
            rows[i].note = "produced another result than the other contenders";
        }
    }
}

void add_ratios(case_result& c) {
    const contender_result* const limit = best_row(c, kind::limit);
    const contender_result* const best_peer = best_row(c, kind::peer);
    if (limit != nullptr) c.limit = limit->name;
    if (best_peer != nullptr) c.best_peer = best_peer->name;
    for (contender_result& r : c.contenders) {
        if (!r.counts()) continue;
        const double mine = cost(r, c.options.better);
        if (limit != nullptr && cost(*limit, c.options.better) > 0) {
            r.ratio_to_limit = mine / cost(*limit, c.options.better);
            if (c.options.compares && r.kind != kind::limit && r.note.empty() &&
                verdict_between(c, r, *limit) == verdict::faster) {
                r.note =
                    "ahead of \"" + limit->name + "\", the best loop by hand: it is no floor here";
            }
        }
        if (best_peer == nullptr) continue;
        if (cost(*best_peer, c.options.better) > 0) {
            r.ratio_to_best_peer = mine / cost(*best_peer, c.options.better);
        }
        if (r.kind == kind::cairn && c.options.compares) {
            const bool lower = c.options.better == better::lower;
            r.rounds_to_best_peer =
                summarize(lower ? ratios_of_rounds(r.samples, best_peer->samples)
                                : ratios_of_rounds(best_peer->samples, r.samples));
            r.best_peer_verdict = name_of(verdict_between(c, r, *best_peer));
        }
    }
    compare_with_cairn(c);
}

case_result empty_result(const comparison& c) {
    case_result r;
    r.name = c.name;
    r.options = c.options;
    return r;
}

contender_result row_of(const contender& who) {
    contender_result row;
    row.name = who.name;
    row.kind = who.kind;
    row.note = who.note_text;
    row.published = who.published_figures;
    return row;
}

/// What a contender contributes to a case that also() or relative() declared.
std::vector<double> side_samples(const comparison& c, const lane& l, const case_result& parent) {
    if (c.relative_to.empty()) {
        const auto found = l.extras.find(c.name);
        return found == l.extras.end() ? std::vector<double>{} : found->second;
    }
    double reference = 0;
    bool counts = false;
    for (const contender_result& row : parent.contenders) {
        if (row.name == c.relative_to && row.counts()) reference = row.figures.median;
        if (row.name == l.who->name) counts = row.counts();
    }
    if (reference == 0 || !counts) return {};
    std::vector<double> ratios;
    for (const double x : l.samples) {
        ratios.push_back(parent.options.better == better::higher ? x / reference : reference / x);
    }
    return ratios;
}

/// What cannot be is marked: it says nothing about anybody.
void mark_impossible(contender_result& row, const case_options& o, double empty_loop_ns) {
    if (!row.counts()) return;
    const double figure = row.figures.median;
    if (o.measure == measure::time_per_op && !o.many_per_cycle &&
        figure < 0.9 * empty_loop_ns * scale_of(o)) {
        row.status = row_status::suspect;
        row.note = "faster than an empty loop: it does nothing";
    }
    if (o.most_possible > 0 && figure > o.most_possible) {
        row.status = row_status::suspect;
        row.note = "more than is possible: its reference was disturbed";
    }
}

case_result side_case(const comparison& c, const std::vector<lane>& lanes,
                      const case_result& parent) {
    case_result r = empty_result(c);
    r.noise = parent.noise;
    r.least_ratio = parent.least_ratio;
    r.lives = parent.lives;
    for (const lane& l : lanes) {
        std::vector<double> samples = side_samples(c, l, parent);
        if (samples.empty()) continue;
        contender_result row = row_of(*l.who);
        row.note.clear();
        row.published.clear();
        for (const contender& declared : c.contenders) {  // notes and published of this column
            if (declared.name != row.name) continue;
            row.published = declared.published_figures;
        }
        row.samples = std::move(samples);
        row.figures = summarize(row.samples);
        mark_impossible(row, c.options, 0);
        r.contenders.push_back(std::move(row));
    }
    add_ratios(r);
    return r;
}

/// A case while it is measured: set-up, rounds, verdict.
class case_run {
public:
    case_run(const experiment& e, const comparison& c, sampler_options o, double seconds,
             std::function<void(double)> tell)
        : experiment_{&e},
          case_{&c},
          options_{std::move(o)},
          seconds_{seconds},
          tell_{std::move(tell)} {
        options_.time_limit *= c.options.time_limits;
        // Contenders of an exact case run at once, on one processor in the worst case.
        if (c.options.exact) options_.time_limit *= static_cast<double>(c.contenders.size());
        result = empty_result(c);
        result.least_ratio = options_.full ? least_ratio_full : least_ratio_quick;
        for (const contender& who : c.contenders) lanes.push_back(lane{.who = &who});
    }
    case_run(case_run&&) = delete;

    void measure() {
        set_up();
        play_rounds();
        judge();
    }

    case_result result;
    std::vector<lane> lanes;

private:
    [[nodiscard]] double elapsed() const { return static_cast<double>(now_ns() - begun_) * 1e-9; }
    /// A full run takes the samples that a case asks for, however long that lasts.
    [[nodiscard]] bool must_take_all() const {
        return options_.full && case_->options.full_samples != 0;
    }
    [[nodiscard]] unsigned wanted_rounds() const {
        const case_options& c = case_->options;
        if (c.one_sample) return 1;
        constexpr unsigned usual = 15;
        if (options_.full) return std::max(41u, c.full_samples);
        return c.quick_samples != 0 ? c.quick_samples : usual;
    }

    void set_up();
    void play_rounds();
    void play_round(std::mt19937& random);
    void judge();
    [[nodiscard]] contender_result finished_row(lane& l) const;

    const experiment* experiment_;
    const comparison* case_;
    sampler_options options_;
    double seconds_;
    std::function<void(double)> tell_;
    std::int64_t begun_ = now_ns();
    unsigned rounds_ = 1;
};

/// Starts the processes, calibrates each, and says how many rounds the time allows.
void case_run::set_up() {
    rounds_ = wanted_rounds();
    // Several times what asking for a sample takes, and the steps of the clock.
    constexpr double least_ns = has_copies ? 2e5 : 2e6;
    const double shares = static_cast<double>(lanes.size() * (rounds_ + 4));
    const double target_ns = std::clamp(seconds_ * 1e9 / shares, least_ns, 2e7);
    for (lane& l : lanes) {
        if (interrupted) break;
        tell_(0.15 * elapsed() / seconds_);
        if (start(l, *experiment_, *case_, options_) && !case_->options.one_sample) {
            calibrate(l, case_->options, target_ns, options_.time_limit);
        }
    }
    double round_seconds = 0;
    for (const lane& l : lanes) round_seconds += l.process.alive() ? l.sample_ns * 1e-9 : 0;
    if (case_->options.one_sample || round_seconds <= 0 || must_take_all()) return;
    const double left = std::max(seconds_ - elapsed(), seconds_ / 2);
    const double most = rounds_;
    rounds_ = static_cast<unsigned>(std::clamp(left / round_seconds, std::min(5.0, most), most));
}

void case_run::play_round(std::mt19937& random) {
    std::vector<lane*> order;
    for (lane& l : lanes) {
        order.push_back(&l);
        if (case_->options.exact && l.status == row_status::ok && l.process.alive()) {
            l.process.ask(l.repetitions, l.warm_up);
        }
    }
    std::shuffle(order.begin(), order.end(), random);
    for (lane* l : order) {
        if (interrupted) break;
        if (l->status == row_status::ok && l->process.alive()) {
            sample_once(*l, case_->options, options_.time_limit);
        }
    }
}

void case_run::play_rounds() {
    double start_seconds = 0;
    for (const lane& l : lanes) start_seconds += l.start_seconds;
    const unsigned lives =
        rounds_ >= 9 && start_seconds < 0.05 * seconds_ ? (options_.full ? 5 : 3) : 1;
    // A case of few rounds is looked at several times a round: its noise floor is shown all the same.
    constexpr unsigned least_probes = 8;
    std::vector<double> noise;
    std::mt19937 random{static_cast<unsigned>(std::hash<std::string>{}(case_->name))};
    for (unsigned round = 0; round != rounds_ && !interrupted; ++round) {
        tell_(static_cast<double>(round) / rounds_);
        const unsigned life = round * lives / rounds_;
        if (round != 0 && life != result.lives.back()) {
            start_new_lives(lanes, *experiment_, *case_, options_);
        }
        result.lives.push_back(life);
        for (unsigned i = 0; i < least_probes; i += rounds_) noise.push_back(noise_probe_ns());
        play_round(random);
        if (round >= 5 && elapsed() > 1.6 * seconds_ && !must_take_all()) break;
    }
    result.noise = relative_spread(std::move(noise));
}

contender_result case_run::finished_row(lane& l) const {
    contender_result row = row_of(*l.who);
    row.status = l.status;
    if (interrupted && !l.samples.empty()) {  // what it gave until then counts
        row.status = l.status == row_status::interrupted ? row_status::ok : l.status;
    } else if (!l.note.empty()) {
        row.note = l.note;
    }
    row.plots = l.plots;
    if (l.status == row_status::ok && l.samples.empty()) {
        row.status = interrupted ? row_status::interrupted : row_status::failed;
        if (interrupted) row.note = "not measured: the run was interrupted";
    }
    row.samples = l.samples;
    row.figures = summarize(row.samples);
    mark_impossible(row, case_->options, options_.empty_loop_ns);
    return row;
}

void case_run::judge() {
    for (lane& l : lanes) {
        l.process.stop();
        result.contenders.push_back(finished_row(l));
    }
    if (case_->options.equal_checksums) check_equal_results(result.contenders, lanes);
    add_ratios(result);
}

}  // namespace

experiment_result measure_experiment(const experiment& e, const sampler_options& o,
                                     const progress& tell) {
    experiment_result result;
    result.name = e.name;
    result.question = e.question;
    result.how = e.how;
    result.background = e.background;
    const std::int64_t begun = now_ns();
    double total_weight = 0;
    for (const comparison& c : e.comparisons) {
        if (c.measured_by == nullptr && !c.contenders.empty()) total_weight += c.options.weight;
    }
    if (e.set_up) {
        tell("set-up", 0);
        try {
            e.set_up(o.time_limit);
        } catch (const std::exception& x) {
            result.error = x.what();
            result.complete = false;
            return result;
        }
    }
    const double budget = (o.full ? e.full_seconds : e.quick_seconds) * o.speed;
    double weight_done = 0;
    for (const comparison& c : e.comparisons) {
        if (interrupted) result.complete = false;
        if (interrupted || c.measured_by != nullptr || c.contenders.empty()) continue;
        const double share = c.options.weight / total_weight;
        case_run run{e, c, o, budget * share,
                     [&](double part) { tell(c.name, weight_done + share * std::min(part, 1.0)); }};
        run.measure();
        weight_done += share;
        const std::size_t parent = result.cases.size();
        result.cases.push_back(std::move(run.result));
        for (const comparison& side : e.comparisons) {
            if (side.measured_by != &c) continue;
            case_result added = side_case(side, run.lanes, result.cases[parent]);
            if (!added.contenders.empty()) result.cases.push_back(std::move(added));
        }
    }
    if (interrupted) result.complete = false;
    if (e.take) result.take = e.take(result);
    result.seconds = static_cast<double>(now_ns() - begun) * 1e-9;
    return result;
}

}  // namespace lab
