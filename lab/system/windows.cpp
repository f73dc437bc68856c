#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// after windows.h
#include <io.h>
#include <malloc.h>
#include <psapi.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "lab/system/system.hpp"
#include "lab/system/word.hpp"

namespace lab {

// ---- processors ---------------------------------------------------------------------------------

namespace {

/// Of this process's processor group: 64 at most.
thread_local DWORD_PTR bound_to = 0;  ///< by run_on(); 0: as the process

DWORD_PTR processors_of_process() {
    DWORD_PTR process = 0;
    DWORD_PTR system = 0;
    return ::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) != 0 ? process : 0;
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
    const DWORD_PTR mask = bound_to != 0 ? bound_to : processors_of_process();
    std::vector<unsigned> cpus;
    for (unsigned c = 0; c != 8 * sizeof mask; ++c) {
        if ((mask >> c & 1) != 0) cpus.push_back(c);
    }
    return cpus;
}

bool run_on(const std::vector<unsigned>& cpus) noexcept {
    DWORD_PTR mask = 0;
    for (const unsigned c : cpus) mask |= c < 8 * sizeof mask ? DWORD_PTR{1} << c : 0;
    if (mask == 0 || ::SetThreadAffinityMask(::GetCurrentThread(), mask) == 0) return false;
    bound_to = mask;
    return true;
}

long times_displaced() noexcept { return 0; }

// ---- the machine --------------------------------------------------------------------------------

namespace {

std::string registry_text(const char* key, const char* name) {
    char text[256] = {};
    DWORD size = sizeof text - 1;
    const LSTATUS status =
        ::RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, nullptr, text, &size);
    return status == ERROR_SUCCESS ? text : "";
}

template <class Function>
Function function_of(const char* library, const char* name) {
    return reinterpret_cast<Function>(
        reinterpret_cast<void (*)()>(::GetProcAddress(::GetModuleHandleA(library), name)));
}

/// "Windows 10.0.19045"; wine says so too, and which one it is.
void name_system(machine_facts& m) {
    OSVERSIONINFOW version{};
    version.dwOSVersionInfoSize = sizeof version;
    using version_function = LONG(WINAPI*)(OSVERSIONINFOW*);
    if (const auto ask = function_of<version_function>("ntdll.dll", "RtlGetVersion")) ask(&version);
    m.kernel = "Windows " + std::to_string(version.dwMajorVersion) + "." +
               std::to_string(version.dwMinorVersion) + "." + std::to_string(version.dwBuildNumber);
    m.system = m.kernel;
    using wine_function = const char*(CDECL*)();
    if (const auto ask = function_of<wine_function>("ntdll.dll", "wine_get_version")) {
        m.system = std::string{"wine "} + ask();
    }
}

std::vector<cache_facts> caches_of_first_processor() {
    std::vector<cache_facts> caches;
    DWORD size = 0;
    ::GetLogicalProcessorInformation(nullptr, &size);
    std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(size / sizeof all[0]);
    if (all.empty() || ::GetLogicalProcessorInformation(all.data(), &size) == 0) return caches;
    for (const auto& one : all) {
        if (one.Relationship != RelationCache || (one.ProcessorMask & 1) == 0) continue;
        const CACHE_DESCRIPTOR& c = one.Cache;
        const char* const type = c.Type == CacheData          ? "Data"
                                 : c.Type == CacheInstruction ? "Instruction"
                                                              : "Unified";
        const unsigned ways = c.Associativity == CACHE_FULLY_ASSOCIATIVE ? 0 : c.Associativity;
        caches.push_back({c.Level, type, c.Size, c.LineSize, ways, std::nullopt});
    }
    std::ranges::sort(caches, {}, &cache_facts::level);
    return caches;
}

}  // namespace

machine_facts facts_of_system() {
    machine_facts m;
    m.cpu =
        registry_text("HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString");
    m.hardware_threads = std::max(1u, std::thread::hardware_concurrency());
    m.usable_threads = static_cast<unsigned>(allowed_cpus().size());
    SYSTEM_INFO info{};
    ::GetSystemInfo(&info);
    m.page_bytes = info.dwPageSize;
    MEMORYSTATUSEX memory{};
    memory.dwLength = sizeof memory;
    if (::GlobalMemoryStatusEx(&memory) != 0) m.memory_bytes = memory.ullTotalPhys;
    m.caches = caches_of_first_processor();
    name_system(m);
    m.c_library = name_of_system_malloc();
    m.real_time = ::GetPriorityClass(::GetCurrentProcess()) == REALTIME_PRIORITY_CLASS;
    return m;
}

const char* name_of_system_malloc() {
#if defined(_UCRT)
    return "ucrt";
#else
    return "msvcrt";
#endif
}

// ---- pages --------------------------------------------------------------------------------------

void* take_pages(std::size_t size) noexcept {
    return ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}
void give_pages(void* p, std::size_t) noexcept { ::VirtualFree(p, 0, MEM_RELEASE); }
void wish_for_huge_pages(void*, std::size_t) noexcept {}

namespace {
PROCESS_MEMORY_COUNTERS memory_counters() noexcept {
    PROCESS_MEMORY_COUNTERS c{};
    c.cb = sizeof c;
    if (::K32GetProcessMemoryInfo(::GetCurrentProcess(), &c, sizeof c) == 0) return {};
    return c;
}
}  // namespace

long page_faults() noexcept { return static_cast<long>(memory_counters().PageFaultCount); }
std::size_t resident_bytes() noexcept { return memory_counters().WorkingSetSize; }
void give_back_freed_memory() noexcept { ::_heapmin(); }
void ask_for_large_blocks_anew() noexcept {}
void keep_freed_memory() noexcept {}
void return_freed_memory() noexcept {}

// ---- a word that threads sleep on ---------------------------------------------------------------

namespace {

// From kernelbase (Windows 8), by hand: no library more to link.
constexpr const char* kernel = "kernelbase.dll";
using waking = void(WINAPI*)(void*);

}  // namespace

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t old) noexcept {
    using waiting = BOOL(WINAPI*)(volatile void*, void*, SIZE_T, DWORD);
    static const auto wait = function_of<waiting>(kernel, "WaitOnAddress");
    (void)wait(&word, &old, sizeof old, INFINITE);
}

void wake_one(std::atomic<std::uint32_t>& word) noexcept {
    static const auto wake = function_of<waking>(kernel, "WakeByAddressSingle");
    wake(&word);
}

void wake_all(std::atomic<std::uint32_t>& word) noexcept {
    static const auto wake = function_of<waking>(kernel, "WakeByAddressAll");
    wake(&word);
}

// ---- the terminal and its user ------------------------------------------------------------------

void prepare_standard_files() {
    ::SetConsoleOutputCP(CP_UTF8);
    // A contender that crashes is a row, not a window that waits for somebody.
    ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
}

void ignore_broken_pipes() noexcept {}

namespace {
void (*interrupt_handler)(int) = nullptr;
BOOL WINAPI on_control(DWORD event) {
    interrupt_handler(static_cast<int>(event));
    return TRUE;
}
}  // namespace

void on_interrupt(void (*handler)(int)) {
    interrupt_handler = handler;
    ::SetConsoleCtrlHandler(on_control, TRUE);
}

unsigned terminal_columns() {
    CONSOLE_SCREEN_BUFFER_INFO info{};
    if (::GetConsoleScreenBufferInfo(::GetStdHandle(STD_OUTPUT_HANDLE), &info) == 0) return 80;
    return static_cast<unsigned>(info.srWindow.Right - info.srWindow.Left + 1);
}

bool errors_go_to_a_terminal() { return ::_isatty(2) != 0; }

// ---- this program -------------------------------------------------------------------------------

std::string own_program() {
    char name[32768] = {};
    if (::GetModuleFileNameA(nullptr, name, sizeof name - 1) == 0) {
        throw std::runtime_error{"this program has no file"};
    }
    return name;
}

void* find_function(const char*) noexcept { return nullptr; }
void handle_single_steps(void (*)(int)) noexcept {}

}  // namespace lab
