#include "lab/harness/machine.hpp"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "lab/harness/clock.hpp"
#include "lab/harness/optimizer.hpp"
#include "lab/harness/processor.hpp"
#include "lab/harness/worker.hpp"

#if defined(__x86_64__) || defined(__i386__)
#    include <cpuid.h>
#endif

namespace lab {

namespace {

std::string first_line(const std::string& path) {
    std::ifstream in{path};
    std::string line;
    std::getline(in, line);
    return line;
}

/// The value behind "key<separator>" in a file of such lines.
std::string lookup(const std::string& path, const std::string& key, char separator) {
    std::ifstream in{path};
    for (std::string line; std::getline(in, line);) {
        if (line.compare(0, key.size(), key) != 0) continue;
        const std::size_t at = line.find(separator);
        if (at == std::string::npos) continue;
        std::string value = line.substr(at + 1);
        const std::size_t first = value.find_first_not_of(" \t\"");
        const std::size_t last = value.find_last_not_of(" \t\"");
        return first == std::string::npos ? "" : value.substr(first, last - first + 1);
    }
    return {};
}

std::uint64_t bytes_of(const std::string& text) {  // "48K"
    std::uint64_t n = 0;
    std::size_t i = 0;
    for (; i != text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        n = n * 10 + static_cast<std::uint64_t>(text[i] - '0');
    }
    if (i == text.size()) return n;
    return text[i] == 'K' ? n << 10 : text[i] == 'M' ? n << 20 : text[i] == 'G' ? n << 30 : n;
}

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

std::string chosen_in_brackets(const std::string& line) {  // "always [madvise] never"
    const std::size_t a = line.find('[');
    const std::size_t b = line.find(']');
    return a == std::string::npos || b == std::string::npos ? line : line.substr(a + 1, b - a - 1);
}

}  // namespace

double tsc_ghz() {
    static const double ghz = ticks_are_cycles ? 1 / measured_ns_per_tick(20'000'000) : 0;
    return ghz;
}

machine_facts look_at_machine() {
    machine_facts m;
    m.cpu = lookup("/proc/cpuinfo", "model name", ':');
    if (m.cpu.empty()) m.cpu = first_line("/sys/firmware/devicetree/base/model");
    m.hardware_threads = std::max(1u, std::thread::hardware_concurrency());
    m.usable_threads = static_cast<unsigned>(allowed_cpus().size());
    m.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    m.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * m.page_bytes;
    for (int i = 0; i != 8; ++i) {
        const std::string dir =
            "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        const std::string type = first_line(dir + "type");
        if (type.empty()) break;
        const std::string level = first_line(dir + "level");
        const int number = level.empty() ? 0 : level[0] - '0';
        // Below the first level is nothing that it could hold.
        m.caches.push_back(
            {number, type, bytes_of(first_line(dir + "size")),
             bytes_of(first_line(dir + "coherency_line_size")),
             static_cast<unsigned>(bytes_of(first_line(dir + "ways_of_associativity"))),
             number < 2 ? std::nullopt : is_inclusive(number, type)});
    }
    m.system = lookup("/etc/os-release", "PRETTY_NAME", '=');
    utsname names{};
    if (::uname(&names) == 0) m.kernel = std::string{names.sysname} + " " + names.release;
    m.c_library = std::string{"glibc "} + gnu_get_libc_version();
    m.huge_pages = chosen_in_brackets(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
    m.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    m.virtual_machine =
        lookup("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
    m.tsc_ghz = tsc_ghz();
    const int policy = ::sched_getscheduler(0);
    m.real_time = policy == SCHED_FIFO || policy == SCHED_RR;
    return m;
}

double empty_loop_ns() {
    constexpr std::uint64_t turns = 1'000'000;
    double best = 1e9;
    for (int i = 0; i != 15; ++i) {
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
