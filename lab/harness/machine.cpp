#include "lab/harness/machine.hpp"

#include <algorithm>

#include "lab/harness/clock.hpp"
#include "lab/harness/optimizer.hpp"
#include "lab/harness/processor.hpp"
#include "lab/system/system.hpp"

#if defined(__x86_64__) || defined(__i386__)
#    include <cpuid.h>
#endif

namespace lab {

namespace {

/// The processor's own list of caches (cpuid leaf 4; AMD's is 0x8000001d). The kernel passes the
/// ways on, and not whether a cache holds all that the level below holds.
std::optional<bool> is_inclusive([[maybe_unused]] int level,
                                 [[maybe_unused]] const std::string& type) {
#if defined(__x86_64__) || defined(__i386__)
    for (const unsigned leaf : {4u, 0x8000'001du}) {
        for (unsigned i = 0; i != 8; ++i) {
            unsigned a = 0;
            unsigned b = 0;
            unsigned c = 0;
            unsigned d = 0;
            if (__get_cpuid_count(leaf, i, &a, &b, &c, &d) == 0 || (a & 31) == 0) break;
            static const char* const types[] = {"", "Data", "Instruction", "Unified"};
            if ((a & 31) < 4 && types[a & 31] == type && static_cast<int>(a >> 5 & 7) == level) {
                return (d & 2) != 0;
            }
        }
    }
#endif
    return std::nullopt;
}

}  // namespace

double tsc_ghz() {
    static const double ghz = ticks_are_cycles ? 1 / measured_ns_per_tick(20'000'000) : 0;
    return ghz;
}

double core_ghz() {
    if (tsc_ghz() <= 0) return 0;
    constexpr int additions = 32'000;
    double best = 0;
    for (int round = 0; round != 24; ++round) {
        [[maybe_unused]] std::uint64_t x = 1;
        const std::int64_t begun = now_ns();
        for (int i = 0; i != additions; i += 16) {
#if defined(__x86_64__)
#    define LAB_ADD4 "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\t"
            asm volatile(LAB_ADD4 LAB_ADD4 LAB_ADD4 LAB_ADD4 : "+r"(x) : : "cc");
#    undef LAB_ADD4
#endif
        }
        const double ns = static_cast<double>(now_ns() - begun);
        if (ns > 0) best = std::max(best, additions / ns);
    }
    return best;
}

machine_facts look_at_machine() {
    machine_facts m = facts_of_system();
    for (cache_facts& c : m.caches) {  // below the first level is nothing that it could hold
        if (c.level > 1) c.inclusive = is_inclusive(c.level, c.type);
    }
    m.tsc_ghz = tsc_ghz();
    return m;
}

double empty_loop_ns() {
    constexpr std::uint64_t turns = 1'000'000;
    double best = 1e9;
    for (int i = 0; i != 500; ++i) {  // 140 ms: a processor that was idle has its speed by then
        const std::int64_t before = now_ns();
        for (std::uint64_t n = 0; n != turns; ++n) keep(n);
        best = std::min(best, static_cast<double>(now_ns() - before) / turns);
    }
    return best;
}

double noise_probe_ns() {
    std::uint64_t x = 88172645463325252u;
    const std::int64_t before = now_ns();
    for (int i = 0; i != 150'000; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    keep(x);
    return static_cast<double>(now_ns() - before);
}

}  // namespace lab
