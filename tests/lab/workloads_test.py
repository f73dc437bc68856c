#!/usr/bin/env python3
"""The work behind each published figure is the work that the source describes.

Usage: tests/lab/workloads_test.py ROOT
tools/check_coverage.py compares a figure's value, unit and statistic; it cannot see what was done. Here stand the
lines of each experiment that say how much it does. Who changes one compares with the source, and changes it here.
Exit status 0: all lines are there; 1: one is not, or docs/coverage.md has an experiment that has no line here.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pinned = {
    "cache-walk": """
        constexpr std::array<std::size_t, 5> paddings{0, 7, 15, 31, 63};
        constexpr simulated as_in_the_thesis{std::size_t{1} << 28, std::size_t{1} << 23};
        {13, "thesis table 3.1, L1d latency of the i7-6700k", 4},
        {17, "thesis table 3.1, L2 latency of the i7-6700k", 12},
        {22, "thesis table 3.1, L3 latency of the i7-6700k", 42},""",
    "matrix": """
        constexpr std::array<size, 6> sizes{{{200, 100, 2.08},
        {2000, 1900, 8}}};
        for (int i = 0; i < p.a.width; i++) p.result.at(x, y) += p.a.at(i, y) * p.b.at(x, i);""",
    "struct-layout": """
        constexpr std::size_t member_bytes = 125;
        add_figure(all.unused, "one byte", [] { return unused_share(0, 1); })
        all.add<as_written>("as written (listing 5.1)", true);""",
    "malloc-in-a-loop": """
        constexpr std::size_t count = 5000;
        std::vector<particle*> particles(count);
        for (std::size_t i = 0; i != count; ++i) particles.push_back(new particle());
        std::vector<particle> particles(count);
        for (std::size_t i = 0; i != count; ++i) particles.push_back(particle());""",
    "linear": """
        constexpr std::size_t frame = 1000;
        add_case<8>(e, "8 b", 0, {12629, 73824});
        add_case<256>(e, "256 b", write_bound_ns, {9395, 189199});
        add_case<8192>(e, "8 kb", write_bound_ns, {9374, 3354756});
        add_case<(1 << 20)>(e, "1 mb", write_bound_ns, {9966, 4927997});
        published(table_6_1.linear / 1000, "cycles/allocation",
        in lab/families/arena_contenders.hpp: inline constexpr std::size_t frame_allocations = 1000;
        in lab/families/arena_family.hpp: for (std::uint64_t i = 0; i != frame_allocations; ++i) {
        in lab/families/arena_family.hpp: allocate_and_touch(arena, Size, i);""",
    "pool": """
        static constexpr std::uint64_t pairs = 3000;
        std::vector<void*> live = std::vector<void*>(2000);
        for (std::size_t i = 0; i != 1000; ++i) pool.deallocate(live[shuffle[i]]);
        for (std::size_t i = 0; i != 1000; ++i) {
        for (const std::uint32_t i : shuffle) pool.deallocate(live[(i * 7 + 3) % 2000]);
        lab::comparison& c = add_case<256, thesis_6_2>(e, "thesis 6.2", 1);""",
    "heap": """
        sizes{log_uniform(count, 4, 16, high)},
        runs<rising>(frees, counts{1000, 2000, 3000, 4000}, 4096.0, last_over_first)
        for (const std::uint32_t i : order_of_frees) a.deallocate(live[i], sizes[i]);
        runs<thesis>(frees, 2000)
        add_pattern(e, "random", order::random);""",
    "hooks-and-growth": """
        constexpr std::size_t object_count = 10000;""",
    "showdown": """
        constexpr std::size_t churned_frames = 1000;
        add_all<first_touch>(touched, alloc_ms, static_cast<double>(which.allocated + which.freed),
        add_all<iterate>(iterated, iterate_ms, passes * static_cast<double>(which.live()), true, which,
        add_all<churn>(churned, churn_ms, 500.0 * 1000.0, true, which);
        add_set(e, "set 1", {10000, 9500}, {12.99, 0.17, 0.27, 0.15}, {35.91, 0.44, 0.39, 1.19},
        add_set(e, "set 2", {10000, 500}, {12.94, 0.13, 0.15, 0.15}, {613.37, 0.51, 0.80, 1.69},
        add_set(e, "set 3", {100000, 99500}, {1244.46, 1.41, 2.73, 1.62}, {34.84, 0.46, 0.39, 1.19},
        add_set(e, "set 4", {10000, 9500}, {12.78, 0.15, 0.26, 0.15}, {35.44, 0.43, 0.38, 1.17},
        {273.18, 542.18, 30.79, 30.62}, 100000.0);
        in lab/families/particle_scene.hpp: constexpr std::size_t replaced = 500;
        in lab/families/particle_scene.hpp: for (std::size_t f = 0; f < frames; ++f) {""",
    "fast-alloc": """
        constexpr std::size_t frame = 1000;
        lab::keep(a.allocate(64, cairn::alignment{16}));
        for (std::size_t k = 0; k != frame; ++k) {
        lab::keep(a.allocate(64, cairn::alignment{8}));
        void** const blocks = new void*[frame];
        lab::made<cairn::pool>(std::size_t{64})""",
    "object-pool": """
        constexpr std::size_t object_count = 10000;
        for (int j = 0; j < 1000; ++j) { i = i + 1; }
        volatile int i = 15;
        for (auto& p : held) { way.take(p); }
        (void)pool.prewarm(object_count, threads);""",
    "parser": """
        constexpr std::size_t article_lines = 45'000;
        .full_samples = 300,
        parser<Lists>{source, lists, t}.parse();
        s.repeat(lines, [&] {""",
    "false-sharing": """
        constexpr std::size_t dimension = 1000;
        seen = seen + static_cast<int>(element % 2 != 0);
        each([&](int v) { count(result[t], v); });
        each([&](int v) { sum += static_cast<int>(v % 2 != 0); });""",
    "aos-soa": """
        add_particles(e, 5000);
        t[i].linear_velocity += t[i].linear_force * dt;
        t[i].position += t[i].linear_velocity * dt;""",
}


def squeezed(text):
    return re.sub(r"\s+", " ", text)


failures = []
for experiment, lines in pinned.items():
    for line in filter(None, map(str.strip, lines.split("\n"))):
        elsewhere = re.match(r"in (\S+): (.*)", line)
        file, text = elsewhere.groups() if elsewhere else (f"lab/experiments/{experiment}.cpp", line)
        if squeezed(text) not in squeezed((root / file).read_text()):
            failures.append(f"{file} has no longer: {text}")
rows = [[cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in (root / "docs/coverage.md").read_text().split("\n") if line.startswith("|")]
named = {row[3].split()[0] for row in rows if len(row) > 5 and row[3] not in ("-", "experiment", "---")}
failures += [f"docs/coverage.md has figures of {e}, and no line of it is pinned here" for e in sorted(named - pinned.keys())]
if len(named) < 10:
    failures.append(f"docs/coverage.md is read wrongly: {sorted(named)}")
print("\n".join(failures) or f"the workloads of {len(pinned)} experiments are as they were")
sys.exit(bool(failures))
