#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// after windows.h
#include <fcntl.h>
#include <io.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "lab/system/process.hpp"
#include "lab/system/system.hpp"

namespace lab {

namespace {

HANDLE handle_of(std::intptr_t name) { return reinterpret_cast<HANDLE>(name); }
std::intptr_t name_of(HANDLE h) { return reinterpret_cast<std::intptr_t>(h); }

/// A word of a command line, as the C library of the other process takes it apart again.
void append_word(std::wstring& line, const std::string& word) {
    if (!line.empty()) line += L' ';
    line += L'"';
    std::size_t strokes = 0;  // backslashes before a quotation mark count twice
    for (const char c : word) {
        if (c == '"') line.append(strokes + 1, L'\\');
        strokes = c == '\\' ? strokes + 1 : 0;
        line += static_cast<wchar_t>(static_cast<unsigned char>(c));
    }
    line.append(strokes, L'\\');
    line += L'"';
}

std::wstring own_file() {
    std::wstring name(32768, L'\0');
    name.resize(::GetModuleFileNameW(nullptr, name.data(), static_cast<DWORD>(name.size())));
    return name;
}

/// Handles that a child is given: files that it may use, of which this process has another end.
class handle {
public:
    handle() = default;
    explicit handle(HANDLE h) : h_{h} {}
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    handle(handle&& other) noexcept : h_{other.release()} {}
    handle& operator=(handle&& other) noexcept {
        std::swap(h_, other.h_);
        return *this;
    }
    ~handle() {
        if (is_open()) ::CloseHandle(h_);
    }
    [[nodiscard]] bool is_open() const { return h_ != INVALID_HANDLE_VALUE; }
    [[nodiscard]] HANDLE get() const { return h_; }
    HANDLE release() { return std::exchange(h_, INVALID_HANDLE_VALUE); }

private:
    HANDLE h_ = INVALID_HANDLE_VALUE;
};

SECURITY_ATTRIBUTES inherited() { return {sizeof(SECURITY_ATTRIBUTES), nullptr, TRUE}; }

/// A pipe whose end `theirs` a child inherits. `ours` waits for nobody: its reads are started, and
/// ended by wait().
struct pipe {
    handle ours;
    handle theirs;
    explicit pipe(bool is_ours_to_read) {
        static unsigned count = 0;
        char name[80];
        std::snprintf(name, sizeof name, "\\\\.\\pipe\\cairn-lab-%lu-%u", ::GetCurrentProcessId(),
                      count++);
        const DWORD direction = is_ours_to_read ? PIPE_ACCESS_INBOUND : PIPE_ACCESS_OUTBOUND;
        ours = handle{::CreateNamedPipeA(name,
                                         direction | FILE_FLAG_FIRST_PIPE_INSTANCE |
                                             (is_ours_to_read ? FILE_FLAG_OVERLAPPED : 0),
                                         PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT, 1,
                                         1 << 16, 1 << 16, 0, nullptr)};
        SECURITY_ATTRIBUTES security = inherited();
        theirs = handle{::CreateFileA(name, is_ours_to_read ? GENERIC_WRITE : GENERIC_READ, 0,
                                      &security, OPEN_EXISTING, 0, nullptr)};
    }
    [[nodiscard]] bool is_open() const { return ours.is_open() && theirs.is_open(); }
};

/// A file without a lasting name, which a child inherits.
handle file_for_errors() {
    wchar_t folder[MAX_PATH + 1] = {};
    wchar_t path[MAX_PATH + 1] = {};
    if (::GetTempPathW(MAX_PATH, folder) == 0) return {};
    if (::GetTempFileNameW(folder, L"crn", 0, path) == 0) return {};
    SECURITY_ATTRIBUTES security = inherited();
    return handle{::CreateFileW(
        path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
        &security, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr)};
}

/// All children are in it; it is closed when this process ends, and then they end.
HANDLE job_of_children() {
    static const HANDLE job = [] {
        const HANDLE h = ::CreateJobObjectW(nullptr, nullptr);
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        ::SetInformationJobObject(h, JobObjectExtendedLimitInformation, &limits, sizeof limits);
        return h;
    }();
    return job;
}

DWORD_PTR mask_of(const std::vector<unsigned>& cpus) {
    DWORD_PTR mask = 0;
    for (const unsigned c : cpus) mask |= DWORD_PTR{1} << c;
    return mask;
}

/// The read that is on its way from a child: of one byte, so that its end says "something came".
struct first_byte {
    OVERLAPPED state{};
    char byte = 0;
    bool is_asked = false;  ///< the system writes into this
    bool has_come = false;
};

}  // namespace

// ---- a child that answers -----------------------------------------------------------------------

std::string child_process::start(const child_order& order) {
    pipe down{false};
    pipe up{true};
    if (!down.is_open() || !up.is_open()) return "no pipe could be made";
    handle errors = file_for_errors();

    std::wstring line;
    for (const std::string& word : order.words) append_word(line, word);
    STARTUPINFOW how{};
    how.cb = sizeof how;
    how.dwFlags = STARTF_USESTDHANDLES;
    how.hStdInput = down.theirs.get();
    how.hStdOutput = up.theirs.get();
    how.hStdError = errors.get();
    PROCESS_INFORMATION started{};
    if (::CreateProcessW(own_file().c_str(), line.data(), nullptr, nullptr, TRUE,
                         CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP, nullptr, nullptr, &how,
                         &started) == 0) {
        return "no process could be started";
    }
    ::AssignProcessToJobObject(job_of_children(), started.hProcess);
    ::SetProcessAffinityMask(started.hProcess,
                             mask_of(order.cpus.empty() ? allowed_cpus() : order.cpus));
    ::ResumeThread(started.hThread);
    ::CloseHandle(started.hThread);
    auto* const next = new first_byte;
    next->state.hEvent = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
    extra_ = reinterpret_cast<std::intptr_t>(next);
    process_ = name_of(started.hProcess);
    commands_ = name_of(down.ours.release());
    replies_ = name_of(up.ours.release());
    if (errors.is_open()) errors_ = name_of(errors.release());
    return {};
}

bool child_process::send(const void* data, std::size_t size) noexcept {
    DWORD written = 0;
    return ::WriteFile(handle_of(commands_), data, static_cast<DWORD>(size), &written, nullptr) !=
               0 &&
           written == size;
}

child_process::answer child_process::wait(int milliseconds) noexcept {
    auto& next = *reinterpret_cast<first_byte*>(extra_);
    if (next.has_come) return answer::came;
    if (!next.is_asked) {
        if (::ReadFile(handle_of(replies_), &next.byte, 1, nullptr, &next.state) == 0 &&
            ::GetLastError() != ERROR_IO_PENDING) {
            return answer::came;  // its end
        }
        next.is_asked = true;
    }
    const DWORD end = ::WaitForSingleObject(next.state.hEvent, static_cast<DWORD>(milliseconds));
    if (end == WAIT_TIMEOUT) return answer::late;
    if (end != WAIT_OBJECT_0) return answer::broken;
    DWORD got = 0;
    next.is_asked = false;
    next.has_come =
        ::GetOverlappedResult(handle_of(replies_), &next.state, &got, FALSE) != 0 && got == 1;
    return answer::came;
}

bool child_process::receive(void* data, std::size_t size) noexcept {
    auto& next = *reinterpret_cast<first_byte*>(extra_);
    char* p = static_cast<char*>(data);
    if (size != 0 && next.has_come) {
        *p++ = next.byte;
        --size;
        next.has_come = false;
    }
    while (size != 0) {
        DWORD got = 0;
        if (::ReadFile(handle_of(replies_), p, static_cast<DWORD>(size), nullptr, &next.state) ==
                0 &&
            ::GetLastError() != ERROR_IO_PENDING) {
            return false;
        }
        if (::GetOverlappedResult(handle_of(replies_), &next.state, &got, TRUE) == 0 || got == 0) {
            return false;
        }
        p += got;
        size -= got;
    }
    return true;
}

std::string child_process::fate() {
    // A process that broke its pipe is about to end.
    DWORD code = STILL_ACTIVE;
    ::WaitForSingleObject(handle_of(process_), 2000);
    ::GetExitCodeProcess(handle_of(process_), &code);
    if (code == EXCEPTION_ACCESS_VIOLATION) return "crashed (access violation)";
    if (code == EXCEPTION_STACK_OVERFLOW) return "crashed (stack overflow)";
    if (code == EXCEPTION_ILLEGAL_INSTRUCTION) return "crashed (illegal instruction)";
    if (code == 3) return "ended without an answer (code 3, as after abort())";
    if (code >= 0xC0000000u) {
        char text[40];
        std::snprintf(text, sizeof text, "crashed (0x%08lX)", code);
        return text;
    }
    return "ended without an answer";
}

std::string child_process::errors() const {
    char buffer[200];
    DWORD got = 0;
    OVERLAPPED from_the_beginning{};
    if (errors_ == none ||
        ::ReadFile(handle_of(errors_), buffer, sizeof buffer, &got, &from_the_beginning) == 0) {
        return {};
    }
    return {buffer, got};
}

void child_process::stop() noexcept {
    if (process_ != none) {
        ::TerminateProcess(handle_of(process_), 1);
        ::WaitForSingleObject(handle_of(process_), INFINITE);
        ::CloseHandle(handle_of(process_));
        process_ = none;
    }
    if (extra_ != none) {
        auto* const next = reinterpret_cast<first_byte*>(extra_);
        if (next->is_asked) {  // until it has ended, the system may write into it
            DWORD got = 0;
            ::CancelIo(handle_of(replies_));
            ::GetOverlappedResult(handle_of(replies_), &next->state, &got, TRUE);
        }
        ::CloseHandle(next->state.hEvent);
        delete next;
        extra_ = none;
    }
    for (name* file : {&commands_, &replies_, &errors_}) {
        if (*file != none) ::CloseHandle(handle_of(*file));
        *file = none;
    }
}

pipe_ends ends_of_this_child() {
    // The pipes came as standard files, which contenders may use: they are moved away.
    const pipe_ends ends{::_dup(0), ::_dup(1)};
    ::_setmode(ends.commands, _O_BINARY);
    ::_setmode(ends.replies, _O_BINARY);
    (void)std::freopen("NUL", "r", stdin);
    (void)std::freopen("NUL", "w", stdout);
    return ends;
}

// ---- what there is not --------------------------------------------------------------------------

bool in_copy(const std::function<void()>& work) {
    work();
    return true;
}

copy_end in_copy(const std::function<int()>& work, unsigned) { return {work(), {}}; }

shared_memory::shared_memory(std::size_t size) : begin_{take_pages(size)}, size_{size} {
    if (begin_ == nullptr) throw std::bad_alloc{};
}
shared_memory::~shared_memory() {
    if (begin_ != nullptr) give_pages(begin_, size_);
}

std::string output_of(const std::vector<std::string>& words) {
    throw std::runtime_error{words[0] + " is not run on this system"};
}

bool is_on_path(const std::string&) { return false; }

}  // namespace lab
