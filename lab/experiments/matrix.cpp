// lab/experiments/matrix.cpp - thesis 3.1.9: multiplying matrices down columns, or along rows.
//
// A is n x m, B is m x n. The naive loop (listing 3.2) walks down a column of B for each element of
// the result; the other (listing 3.3) transposes B first and walks along rows. A sample computes some
// columns of the result: each costs the same, and a whole 2000 x 1900 product takes half a minute.
// The transposed one transposes as many columns of B as it uses, so its share of the work is the same.
#include <fmt/format.h>

#include "lab/harness/experiment.hpp"
#include "lab/harness/machine.hpp"
#include "lab/harness/results.hpp"
#include "lab/output/output.hpp"

namespace lab { namespace {

struct matrix {
    int width;
    int height;
    std::vector<int> cells;
    matrix(int w, int h)
        : width{w}, height{h}, cells(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
    [[nodiscard]] int& at(int x, int y) {
        return cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(x)];
    }
    [[nodiscard]] const int& at(int x, int y) const {
        return cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(x)];
    }
};

struct problem {
    matrix a;
    matrix b;
    matrix result;
    int next = 0;  // the column of the result that comes next
    problem(int n, int m) : a{m, n}, b{n, m}, result{n, n} {
        unsigned x = 1;
        for (matrix* which : {&a, &b}) {
            for (int& cell : which->cells)
                cell = static_cast<int>((x = x * 1664525 + 1013904223) >> 28);
        }
    }
};

[[gnu::noinline]] void naive(problem& p, int columns, matrix&) {
    for (int k = 0; k != columns; ++k) {
        const int x = p.next;
        p.next = (p.next + 1) % p.result.width;
        for (int y = 0; y < p.result.height; y++) {
            p.result.at(x, y) = 0;
            for (int i = 0; i < p.a.width; i++) p.result.at(x, y) += p.a.at(i, y) * p.b.at(x, i);
        }
    }
}

/// Listing 3.2 with its sum in a register: without the store that each addition waits for.
LAB_NO_VECTORS
void naive_in_register(problem& p, int columns, matrix&) {
    for (int k = 0; k != columns; ++k) {
        const int x = p.next;
        p.next = (p.next + 1) % p.result.width;
        for (int y = 0; y < p.result.height; y++) {
            int sum = 0;
            LAB_NO_VECTORS_LOOP
            for (int i = 0; i < p.a.width; i++) sum += p.a.at(i, y) * p.b.at(x, i);
            p.result.at(x, y) = sum;
        }
    }
}

/// As much of B as is used.
void transpose(const problem& p, int columns, matrix& rows) {
    for (int i = 0; i < p.b.height; ++i) {
        for (int k = 0; k != columns; ++k) rows.at(i, k) = p.b.at((p.next + k) % p.b.width, i);
    }
}

[[gnu::noinline]] void transposed(problem& p, int columns, matrix& rows) {
    transpose(p, columns, rows);
    for (int k = 0; k != columns; ++k) {
        const int x = p.next;
        p.next = (p.next + 1) % p.result.width;
        for (int y = 0; y < p.result.height; ++y) {
            int sum = 0;
            for (int i = 0; i < p.a.width; ++i) sum += p.a.at(i, y) * rows.at(i, k);
            p.result.at(x, y) = sum;
        }
    }
}

/// The same without vectors, as the compilers of 2018 had it at -O2.
LAB_NO_VECTORS
void transposed_scalar(problem& p, int columns, matrix& rows) {
    transpose(p, columns, rows);
    for (int k = 0; k != columns; ++k) {
        const int x = p.next;
        p.next = (p.next + 1) % p.result.width;
        for (int y = 0; y < p.result.height; ++y) {
            int sum = 0;
            LAB_NO_VECTORS_LOOP
            for (int i = 0; i < p.a.width; ++i) sum += p.a.at(i, y) * rows.at(i, k);
            p.result.at(x, y) = sum;
        }
    }
}

using multiply = void (*)(problem&, int, matrix&);

struct size {
    int n;
    int m;
    double published;  // speed-up, figure 3.10; 0: not said in words
};
constexpr std::array<size, 6> sizes{{{200, 100, 2.08},
                                     {400, 300, 0},
                                     {800, 700, 0},
                                     {1200, 1100, 0},
                                     {1600, 1500, 0},
                                     {2000, 1900, 8}}};

/// About 4 million multiplications, at least one column.
int columns_of(const size& s) { return std::clamp(4'000'000 / (s.n * s.m), 1, s.n); }

std::string words(const size& s) { return fmt::format("{} x {}", s.n, s.m); }

double measured_speedup(const size& s, multiply as_it_lies, multiply by_rows) {
    problem p{s.n, s.m};
    const int columns = columns_of(s);
    matrix rows{s.m, columns};
    std::array<double, 5> ratios{};
    as_it_lies(p, 1, rows);
    by_rows(p, columns, rows);
    for (double& ratio : ratios) {
        const std::int64_t begun = now_ns();
        as_it_lies(p, columns, rows);
        const std::int64_t middle = now_ns();
        by_rows(p, columns, rows);
        ratio = static_cast<double>(middle - begun) /
                static_cast<double>(std::max<std::int64_t>(now_ns() - middle, 1));
    }
    keep(p.result.cells.data());
    std::sort(ratios.begin(), ratios.end());
    return ratios[2];
}

constexpr const char* scalar = "naive / transposed, not vectorized";
constexpr const char* vectors = "naive / transposed";
constexpr const char* registers = "naive summed in a register / transposed, not vectorized";

std::string take(const experiment_result& r) {
    for (const case_result& c : r.cases) {
        const double whole = median_of(c, scalar);
        const double memory = median_of(c, registers);
        if (c.name != "speed-up, 2000 x 1900" || whole == 0 || memory == 0) continue;
        return fmt::format(
            "Transposing first makes the product of 2000 x 1900 {} times as fast as listing 3.2; "
            "the thesis measured 8. That factor holds two effects: listing 3.2 adds into memory, "
            "so that each addition waits for the store before it. With its sum in a register the "
            "walk along columns costs {} times the walk along rows: this is the order of memory. "
            "Vectors, which only the transposed loop can use, make it {} times.",
            figure(whole), figure(memory), figure(median_of(c, vectors)));
    }
    return {};
}

auto speedups(std::string name, multiply as_it_lies, multiply by_rows) {
    return [=] {
        return [=](sample& s) {
            series curve{name, "rows of the matrix", "speed-up", {}};
            for (const size& at : sizes) {
                const double ratio = measured_speedup(at, as_it_lies, by_rows);
                curve.points.emplace_back(at.n, ratio);
                s.value(ratio);
                if (at.n != 2000) s.also("speed-up, " + words(at), ratio);
            }
            s.plot(curve);
            s.plot({"published: thesis figure 3.10, its ends",
                    curve.x_label,
                    curve.y_label,
                    {{200, 2.08}, {2000, 8}}});
        };
    };
}

void add_speed_ups(experiment& e) {
    constexpr const char* source = "thesis fig. 3.10 and 3.1.9, i7-6700k";
    comparison& c = e.compare("speed-up, 2000 x 1900",
                              {.unit = "x", .better = better::higher, .measure = measure::value});
    c.baseline(scalar, speedups(scalar, naive, transposed_scalar)).published(8, "x", source);
    c.baseline(vectors, speedups(vectors, naive, transposed));
    c.baseline(registers, speedups(registers, naive_in_register, transposed_scalar));
    for (const size& at : sizes) {
        if (at.n == 2000) continue;
        comparison& side =
            e.also(c, "speed-up, " + words(at), {.unit = "x", .better = better::higher});
        if (at.published <= 0) continue;
        side.baseline(scalar, [] { return [](sample&) {}; }).published(at.published, "x", source);
    }
}

struct multiplication {
    size at;
    problem p{at.n, at.m};
    matrix rows{at.m, columns_of(at)};
};
auto multiplied(const size& at, multiply work) {
    const auto count =
        static_cast<std::uint64_t>(columns_of(at)) * static_cast<std::uint64_t>(at.n * at.m);
    return repeated_on(count, made<multiplication>(at), [work](multiplication& m) {
        work(m.p, columns_of(m.at), m.rows);
        keep(m.p.result.cells.data());
    });
}

const registration matrices{
    "matrix", "What is it worth to walk memory in the order in which it lies?", [](experiment& e) {
        e.quick_seconds = 6;
        e.background = true;
        e.how =
            "A share of the columns of the result, as many of B transposed. The transposed loop is "
            "vectorized by today's compilers; without vectors is what the thesis could have "
            "measured.";
        add_speed_ups(e);
        for (const size& at : {sizes.front(), sizes[2], sizes.back()}) {
            comparison& one =
                e.compare(words(at),
                          {.unit = "cycles/multiplication", .weight = 0.5, .many_per_cycle = true});
            one.baseline("naive, listing 3.2", multiplied(at, naive));
            one.baseline("listing 3.2, summed in a register", multiplied(at, naive_in_register));
            one.limit("transposed, listing 3.3", multiplied(at, transposed));
        }
        e.take = take;
    }};

}}  // namespace lab
