// lab/experiments/false-sharing.cpp - thesis listings 7.1 and 7.2: counting odd numbers with P workers.
//
// 7.1 lets every worker count in its own element of one array: neighbours on one cache line. 7.2
// counts in a local variable. per_thread<T> gives each its own line, without a local variable.
//
//      count odd numbers, P workers   the time of each way
//      speed-up, P workers            one worker's time by that of P, as figures 7.1 and 7.2 have it; a curve over P
#include <cairn/os/per_thread.hpp>

#include <limits>

#include "lab/families/crew.hpp"
#include "lab/harness/experiment.hpp"

namespace {

constexpr std::size_t dimension = 1000;

struct matrix {
    std::vector<int> cells = std::vector<int>(dimension * dimension);
    matrix() {
        std::mt19937 random{1};
        for (int& c : cells) c = static_cast<int>(random() >> 1);
    }
    /// Rows [begin, end) of worker t of p.
    static std::size_t begin(unsigned t, unsigned p) { return dimension * t / p; }
};

/// A counter in memory: written for every element, as it must be when others could look. Without a
/// branch, which random numbers would make the slowest part.
void count(int& counter, int element) {
    volatile int& seen = counter;
    seen = seen + static_cast<int>(element % 2 != 0);
}

struct neighbours {  // listing 7.1
    std::vector<int> result = std::vector<int>(lab::crew_max);
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        result[t] = 0;
        each([&](int v) { count(result[t], v); });
    }
};
struct local_variable {  // listing 7.2
    std::vector<int> result = std::vector<int>(lab::crew_max);
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        int sum = 0;
        each([&](int v) { sum += static_cast<int>(v % 2 != 0); });
        result[t] = sum;
    }
};
struct padded {  // per_thread
    cairn::per_thread<int> result{lab::crew_max};
    template <class Rows>
    void run(unsigned t, const Rows& each) {
        int& mine = result.at(t);
        mine = 0;
        each([&](int v) { count(mine, v); });
    }
};
template <class Way>
struct counting {
    unsigned workers;
    lab::crew people;
    matrix m;
    Way way;
    explicit counting(unsigned count) : workers{count}, people{count} {}
    void operator()(lab::sample& sample) {
        run(sample);
        sample.did(sample.repetitions());
    }

    void run(lab::sample& sample) {
        people.run(sample, [&](unsigned t) {
            for (std::uint64_t r = 0; r != sample.repetitions(); ++r) {
                way.run(t, [&](auto&& visit) {
                    const std::size_t end = matrix::begin(t + 1, workers) * dimension;
                    for (std::size_t i = matrix::begin(t, workers) * dimension; i != end; ++i) {
                        visit(m.cells[i]);
                    }
                });
            }
        });
    }
};

/// What the thesis says of a way, as a line over the number of threads: from (1, one) to (P, all).
struct published_line {
    std::string name;
    double one = 0;
    double all = 0;
};

template <class Way>
auto speed_up(std::string name, unsigned most, published_line line) {
    std::vector<std::unique_ptr<counting<Way>>> crews;
    for (const unsigned p : lab::crew_sizes(most)) {
        crews.push_back(std::make_unique<counting<Way>>(p));
    }
    return [=, crews = std::move(crews)](lab::sample& sample) {
        lab::series curve{name, "threads", "speed-up", {}};
        double alone = 0;
        for (const auto& c : crews) {
            // A pass lasts 70 us: the first wakes the workers and warms their caches.
            lab::sample warm{4};
            c->run(warm);
            auto ns = std::numeric_limits<double>::max();
            for (int pass = 0; pass != 5; ++pass) {
                lab::sample timed{16 * sample.repetitions()};
                c->run(timed);
                ns = std::min(ns, static_cast<double>(timed.elapsed_ns()));
            }
            if (c->workers == 1) alone = ns;
            curve.points.emplace_back(c->workers, alone / ns);
        }
        sample.value(curve.points.back().second);
        if (!line.name.empty()) {
            sample.plot({line.name,
                         curve.x_label,
                         curve.y_label,
                         {{1, line.one}, {curve.points.back().first, line.all}}});
        }
        sample.plot(std::move(curve));
    };
}

void add_speed_up(lab::experiment& e, unsigned most) {
    lab::comparison& c =
        e.compare("speed-up, " + std::to_string(most) + " workers", {.unit = "x",
                                                                     .better = lab::better::higher,
                                                                     .measure = lab::measure::value,
                                                                     .unpinned = true,
                                                                     .most_possible = 1.05 * most});
    const auto add = [&]<class Way>(lab::kind kind, std::string name,
                                    published_line line) -> lab::contender& {
        return c.add(kind, name, [=] { return speed_up<Way>(name, most, line); });
    };
    add.operator()<neighbours>(lab::kind::baseline, "neighbours, listing 7.1",
                               {"published: thesis figure 7.1, never above", 1.4, 1.4})
        .published(most <= 15 ? 1.0 : 1.4, "x",
                   most <= 15
                       ? "thesis fig. 7.1 and 7.1: 2 to 15 threads were slower than one, so below 1"
                       : "thesis fig. 7.1 and 7.1: the most with up to 25 threads");
    add.operator()<local_variable>(
           lab::kind::baseline, "local variable, listing 7.2",
           {"published: thesis figure 7.2, perfectly linear", 1, double(most)})
        .note(
            "thesis fig. 7.2 and 7.1: \"scales perfectly linear\", so as many times as there are "
            "workers");
    add.operator()<padded>(lab::kind::cairn, "cairn::per_thread", {});
}

const lab::registration false_sharing{
    "false-sharing", "What does it cost when threads write to one cache line?",
    [](lab::experiment& e) {
        e.quick_seconds = 5;
        e.background = true;
        const std::vector<unsigned> sizes = lab::crew_sizes(e.options().hardware_threads());
        for (const unsigned workers : sizes) {
            lab::comparison& c = e.compare("count odd numbers, " + std::to_string(workers) +
                                               (workers == 1 ? " worker" : " workers"),
                                           {.unit = "us/matrix", .unpinned = true});
            c.limit("local variable, listing 7.2", lab::made<counting<local_variable>>(workers));
            c.baseline("neighbours, listing 7.1", lab::made<counting<neighbours>>(workers));
            c.cairn("cairn::per_thread", lab::made<counting<padded>>(workers));
        }
        if (sizes.back() > 1) { add_speed_up(e, sizes.back()); }
    }};

}  // namespace
