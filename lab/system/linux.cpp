#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lab/system/system.hpp"

namespace lab {

// ---- processors ---------------------------------------------------------------------------------

std::vector<unsigned> allowed_cpus() {
    std::vector<unsigned> cpus;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned c = 0; c != CPU_SETSIZE; ++c) {
            if (CPU_ISSET(c, &set)) cpus.push_back(c);
        }
    }
    return cpus;
}

bool run_on(const std::vector<unsigned>& cpus) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const unsigned c : cpus) CPU_SET(c, &set);
    return !cpus.empty() && ::sched_setaffinity(0, sizeof set, &set) == 0;
}

long times_displaced() noexcept {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

// ---- the machine --------------------------------------------------------------------------------

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

std::string chosen_in_brackets(const std::string& line) {  // "always [madvise] never"
    const std::size_t a = line.find('[');
    const std::size_t b = line.find(']');
    return a == std::string::npos || b == std::string::npos ? line : line.substr(a + 1, b - a - 1);
}

}  // namespace

machine_facts facts_of_system() {
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
        m.caches.push_back(
            {number, type, bytes_of(first_line(dir + "size")),
             bytes_of(first_line(dir + "coherency_line_size")),
             static_cast<unsigned>(bytes_of(first_line(dir + "ways_of_associativity"))),
             std::nullopt});
    }
    m.system = lookup("/etc/os-release", "PRETTY_NAME", '=');
    utsname names{};
    if (::uname(&names) == 0) m.kernel = std::string{names.sysname} + " " + names.release;
    m.c_library = std::string{"glibc "} + gnu_get_libc_version();
    m.huge_pages = chosen_in_brackets(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
    m.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    m.virtual_machine =
        lookup("/proc/cpuinfo", "flags", ':').find(" hypervisor") != std::string::npos;
    const int policy = ::sched_getscheduler(0);
    m.real_time = policy == SCHED_FIFO || policy == SCHED_RR;
    return m;
}

const char* name_of_system_malloc() { return "glibc"; }

// ---- pages --------------------------------------------------------------------------------------

void* take_pages(std::size_t size) noexcept {
    void* const p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}
void give_pages(void* p, std::size_t size) noexcept { ::munmap(p, size); }
void wish_for_huge_pages(void* p, std::size_t size) noexcept { ::madvise(p, size, MADV_HUGEPAGE); }

long page_faults() noexcept {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

std::size_t resident_bytes() noexcept {
    char text[128] = {};
    const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const auto got = ::read(file, text, sizeof(text) - 1);
    ::close(file);
    unsigned long total = 0;
    unsigned long resident = 0;
    unsigned long shared = 0;
    if (got <= 0 || std::sscanf(text, "%lu %lu %lu", &total, &resident, &shared) != 3) return 0;
    return (resident - shared) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void give_back_freed_memory() noexcept { ::malloc_trim(0); }
void ask_for_large_blocks_anew() noexcept { ::mallopt(M_MMAP_THRESHOLD, 1 << 17); }
void keep_freed_memory() noexcept {
    ::mallopt(M_MMAP_MAX, 0);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void return_freed_memory() noexcept {
    ::mallopt(M_MMAP_THRESHOLD, 1 << 14);
    ::mallopt(M_TRIM_THRESHOLD, 0);
}

// ---- the terminal and its user ------------------------------------------------------------------

void prepare_standard_files() {
    // If one was closed, its number is taken, by something that cannot be written.
    for (int fd = 0; fd != 3; ++fd) {
        if (::fcntl(fd, F_GETFD) == -1) (void)::open("/dev/null", O_RDONLY);
    }
}

void ignore_broken_pipes() noexcept { ::signal(SIGPIPE, SIG_IGN); }

void on_interrupt(void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

unsigned terminal_columns() {
    winsize w{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col != 0) return w.ws_col;
    return 80;
}

bool errors_go_to_a_terminal() { return ::isatty(STDERR_FILENO) == 1; }

// ---- this program -------------------------------------------------------------------------------

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void* find_function(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name); }

void handle_single_steps(void (*handler)(int)) noexcept {
    struct sigaction on_step{};
    on_step.sa_handler = handler;
    ::sigaction(SIGTRAP, &on_step, nullptr);
}

}  // namespace lab
