// aside.hpp on POSIX and on Windows.
//
//     parent                          pipe                             child
//     fork() ------------------------------------------------------>   work(context)
//     read how                    <--- how: aside_end ----------------  end_aside(), or its end
//     read report, if `reported`  <--- report: size bytes ------------
//     waitpid()                   <--- closed, when the child ends ----
//
// A child that dies writes less than `how`, or nothing: the pipe is closed by the system, and what
// is missing is the answer.
//
// On Windows, a fibre of the calling thread: what is known by thread (who is inside of an
// allocator, whose cache a slot comes from) is what it is for the caller. Leaving it leaves its
// stack as it lies.
#include "aside.hpp"

#include "../../src/os/windows_api.hpp"

#if defined(_WIN32)
#    include <csignal>
#    include <cstdlib>
#    include <cstring>
#else
#    include <sys/wait.h>
#    include <unistd.h>

#    include <cerrno>
#    include <csignal>
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

#if defined(_WIN32)

struct run {
    void (*work)(void*) noexcept;
    void* context;
    void* report;
    void* home;  // the caller's fibre
    void* aside;
    aside_end how;
};
run* current = nullptr;

[[noreturn]] void go_home(run& mine, aside_end how) noexcept {
    mine.how = how;
    ::SwitchToFiber(mine.home);
    std::abort();  // this fibre is left for good
}

void WINAPI run_in_fibre(void* parameter) {
    run& mine = *static_cast<run*>(parameter);
    mine.work(mine.context);
    go_home(mine, aside_end::returned);
}

// abort(), and what ends in it: an exception that is not caught.
void died(int) {
    if (current != nullptr && ::GetCurrentFiber() == current->aside) {
        go_home(*current, aside_end::died);
    }
}

#else

constexpr unsigned seconds_max = 60;  // of one run

int report_end = -1;  // in the child: the pipe's writing end

bool write_all(int to, const void* data, std::size_t size) noexcept {
    // A pipe takes what it has room for; a signal may come in between.
    for (const auto* next = static_cast<const std::byte*>(data); size != 0;) {
        const ssize_t written = ::write(to, next, size);
        if (written < 0 && errno == EINTR) { continue; }
        if (written <= 0) { return false; }
        next += written;
        size -= static_cast<std::size_t>(written);
    }
    return true;
}

/// Returns: bytes read; fewer than `size` when the other end was closed.
std::size_t read_all(int from, void* data, std::size_t size) noexcept {
    std::size_t read = 0;
    while (read != size) {
        const ssize_t more = ::read(from, static_cast<std::byte*>(data) + read, size - read);
        if (more < 0 && errno == EINTR) { continue; }
        if (more <= 0) { break; }
        read += static_cast<std::size_t>(more);
    }
    return read;
}

#endif

}  // namespace

#if defined(_WIN32)

aside_end run_aside(void (*work)(void*) noexcept, void* context, void* report,
                    std::size_t) noexcept {
    const bool is_fibre = ::IsThreadAFiber() != 0;
    void* const home = is_fibre ? ::GetCurrentFiber() : ::ConvertThreadToFiber(nullptr);
    run mine{work, context, report, home, nullptr, aside_end::impossible};
    if (home != nullptr) { mine.aside = ::CreateFiber(0, &run_in_fibre, &mine); }
    if (mine.aside != nullptr) {
        current = &mine;
        const auto before = std::signal(SIGABRT, &died);
        ::SwitchToFiber(mine.aside);
        (void)std::signal(SIGABRT, before);
        current = nullptr;
        // Else objects that lie on its stack may still stand in a list of the caller's.
        if (mine.how == aside_end::returned) { ::DeleteFiber(mine.aside); }
    }
    if (home != nullptr && !is_fibre) { ::ConvertFiberToThread(); }
    return mine.how;
}

void end_aside(const void* report, std::size_t size) noexcept {
    if (current != nullptr && ::GetCurrentFiber() == current->aside) {
        std::memcpy(current->report, report, size);
        go_home(*current, aside_end::reported);
    }
    for (;;) { ::Sleep(INFINITE); }  // a thread that `work` began
}

#else

aside_end run_aside(void (*work)(void*) noexcept, void* context, void* report,
                    std::size_t size) noexcept {
    int ends[2];
    if (::pipe(ends) != 0) { return aside_end::impossible; }
    const pid_t child = ::fork();
    if (child < 0) {
        ::close(ends[0]);
        ::close(ends[1]);
        return aside_end::impossible;
    }
    if (child == 0) {
        ::close(ends[0]);
        report_end = ends[1];
        // A minute, then a signal that ends the child: whatever handler the parent had for it.
        std::signal(SIGALRM, SIG_DFL);
        ::alarm(seconds_max);
        work(context);
        const auto how = aside_end::returned;
        (void)write_all(report_end, &how, sizeof how);
        // No destructors, no atexit, no flush of what the parent has written so far and flushes
        // itself.
        ::_exit(0);
    }
    // The parent's copy of the writing end: while it is open, read() would wait for ever.
    ::close(ends[1]);
    aside_end how = aside_end::died;
    if (read_all(ends[0], &how, sizeof how) != sizeof how) { how = aside_end::died; }
    if (how == aside_end::reported && read_all(ends[0], report, size) != size) {
        how = aside_end::died;
    }
    ::close(ends[0]);
    int status = 0;
    // Waited for in any case, or each run would leave a process behind.
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return how;
}

void end_aside(const void* report, std::size_t size) noexcept {
    const auto how = aside_end::reported;
    (void)(write_all(report_end, &how, sizeof how) && write_all(report_end, report, size));
    ::_exit(0);
}

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
