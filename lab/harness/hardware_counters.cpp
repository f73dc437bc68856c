#include "lab/harness/hardware_counters.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace lab {

namespace {

struct event {
    std::uint32_t type;
    std::uint64_t config;
};

constexpr std::uint64_t cache_event(std::uint64_t cache) {
    return cache | (std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8) |
           (std::uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16);
}
constexpr event events[4] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D)},
    {PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL)},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

int open_event(const event& what) {
    perf_event_attr a;
    std::memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = what.type;
    a.config = what.config;
    a.disabled = 1;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    return static_cast<int>(::syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

std::string words_of_counter_error(int error) {
    switch (error) {
        case EACCES:
        case EPERM:
            return "the system refuses them to this user (kernel.perf_event_paranoid)";
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
            return "this machine has none to lend, as most virtual ones";
        case ENOSYS:
            return "this kernel has no perf_event_open";
        default:
            return std::string{"perf_event_open: "} + std::strerror(error);
    }
}

hardware_counters::hardware_counters() noexcept {
    for (std::size_t i = 0; i != 4; ++i) {
        files_[i] = open_event(events[i]);
        if (files_[i] >= 0 || i != 0) continue;
        why_ = words_of_counter_error(errno);
        return;
    }
}

hardware_counters::~hardware_counters() {
    for (const int file : files_) {
        if (file >= 0) ::close(file);
    }
}

void hardware_counters::begins() noexcept {
    for (const int file : files_) {
        if (file >= 0) ::ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
    }
}

void hardware_counters::ends() noexcept {
    for (const int file : files_) {
        if (file >= 0) ::ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
    }
}

counts hardware_counters::result() const noexcept {
    const auto value = [](int file) {
        std::uint64_t n = 0;
        const bool has = file >= 0 && ::read(file, &n, sizeof n) == ssize_t{sizeof n};
        return has ? static_cast<double>(n) : -1.0;
    };
    return {value(files_[0]), value(files_[1]), value(files_[2]), value(files_[3])};
}

const std::string& why_no_hardware_counters() {
    static const std::string why = hardware_counters{}.why();
    return why;
}

}  // namespace lab
