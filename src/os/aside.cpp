// cairn/os/aside.hpp on POSIX and on Windows.
//
//     parent                          pipe                             child
//     fork() ------------------------------------------------------>   work(context)
//     read how                    <--- how: aside_end ----------------  end_aside(), or its end
//     read report, if `reported`  <--- report: size bytes ------------
//     waitpid()                   <--- closed, when the child ends ----
//
// A child that dies writes less than `how`, or nothing: the pipe is closed by the system, and what
// is missing is the answer.
#include <cairn/os/aside.hpp>

#if defined(_WIN32)
#    define WIN32_LEAN_AND_MEAN
#    include <windows.h>
//
#    include <cstring>
#else
#    include <sys/wait.h>
#    include <unistd.h>

#    include <cerrno>
#    include <csignal>
#endif

namespace cairn::inline CAIRN_FLAVOUR::detail {
namespace {

constexpr unsigned seconds_max = 60;  // of one run

#if defined(_WIN32)

struct run {
    void (*work)(void*) noexcept;
    void* context;
    void* report;
    HANDLE ended;
    aside_end how;
};
run* current = nullptr;

DWORD WINAPI run_in_thread(void* parameter) {
    run& mine = *static_cast<run*>(parameter);
    mine.work(mine.context);
    mine.how = aside_end::returned;
    SetEvent(mine.ended);
    return 0;
}

#else

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
    // Static: a thread that did not end in time may still write to it.
    static run mine;
    mine = {work, context, report, CreateEventW(nullptr, TRUE, FALSE, nullptr), aside_end::died};
    if (mine.ended == nullptr) { return aside_end::impossible; }
    current = &mine;
    HANDLE const thread = CreateThread(nullptr, 0, &run_in_thread, &mine, 0, nullptr);
    if (thread == nullptr) {
        CloseHandle(mine.ended);
        return aside_end::impossible;
    }
    const bool in_time = WaitForSingleObject(mine.ended, seconds_max * 1000) == WAIT_OBJECT_0;
    CloseHandle(thread);
    // The event stays open: the thread may still set it. `current` is taken away, so that a late
    // report finds no place to be written to.
    if (!in_time) {
        current = nullptr;
        return aside_end::died;
    }
    CloseHandle(mine.ended);
    return mine.how;
}

void end_aside(const void* report, std::size_t size) noexcept {
    if (current != nullptr) {  // else it took too long, and the report has no place any more
        std::memcpy(current->report, report, size);
        current->how = aside_end::reported;
        SetEvent(current->ended);
    }
    for (;;) { Sleep(INFINITE); }
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

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
