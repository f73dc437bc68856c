// The static part of a C runtime, for programs that tools/prove-msvc-abi links: what Microsoft's
// compilers expect beside vcruntime140.dll and ucrtbase.dll, and what Microsoft ships as libraries
// that need a licence. Not part of cairn.
//
//      mainCRTStartup      constructors (.CRT$XC*), main(), exit()
//      threads             .CRT$XL* callbacks, thread_local constructors (.CRT$XD*) and destructors
//      static variables    _Init_thread_header and its kin, for function-local ones
//      stacks              __chkstk
//      text                printf() and its kin, which Microsoft's headers define in line
//
// Compiled with -fno-rtti -fno-exceptions: the table of type_info is emitted only so.
#include <windows.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

using function = void(__cdecl*)();
using int_function = int(__cdecl*)();

extern "C" {

int _fltused = 0x9875;

// ---- sections that the linker sorts by name: what other units put in between is the list ----------

#pragma section(".CRT$XCA", long, read)
#pragma section(".CRT$XCZ", long, read)
#pragma section(".CRT$XDA", long, read)
#pragma section(".CRT$XDZ", long, read)
#pragma section(".CRT$XIA", long, read)
#pragma section(".CRT$XIZ", long, read)
#pragma section(".CRT$XLA", long, read)
#pragma section(".CRT$XLC", long, read)
#pragma section(".CRT$XLD", long, read)
#pragma section(".CRT$XLZ", long, read)
#pragma section(".rdata$T", long, read)

__declspec(allocate(".CRT$XCA")) function first_constructor[] = {nullptr};
__declspec(allocate(".CRT$XCZ")) function last_constructor[] = {nullptr};
__declspec(allocate(".CRT$XDA")) function first_of_thread[] = {nullptr};
__declspec(allocate(".CRT$XDZ")) function last_of_thread[] = {nullptr};
__declspec(allocate(".CRT$XIA")) int_function first_initializer[] = {nullptr};
__declspec(allocate(".CRT$XIZ")) int_function last_initializer[] = {nullptr};

// ---- thread-local variables -----------------------------------------------------------------------

#pragma data_seg(".tls")
char _tls_start = 0;
#pragma data_seg(".tls$ZZZ")
char _tls_end = 0;
#pragma data_seg()

ULONG _tls_index = 0;
thread_local bool __tls_guard = false;  // the constructors of this thread have run

void NTAPI __dyn_tls_init(void*, DWORD reason, void*) {
    if (reason != DLL_THREAD_ATTACH || __tls_guard) { return; }
    __tls_guard = true;
    for (function* f = first_of_thread + 1; f != last_of_thread; ++f) {
        if (*f != nullptr) { (*f)(); }
    }
}
void __dyn_tls_on_demand_init() { __dyn_tls_init(nullptr, DLL_THREAD_ATTACH, nullptr); }

struct thread_destructors {
    function called[64];
    int count;
    thread_destructors* before;
};
static thread_local thread_destructors* destructors = nullptr;

int __tlregdtor(function f) {
    if (destructors == nullptr || destructors->count == 64) {
        auto* const more = static_cast<thread_destructors*>(calloc(1, sizeof(thread_destructors)));
        if (more == nullptr) { return -1; }
        more->before = destructors;
        destructors = more;
    }
    destructors->called[destructors->count++] = f;
    return 0;
}
void NTAPI destroy_thread(void*, DWORD reason, void*) {
    if (reason != DLL_THREAD_DETACH && reason != DLL_PROCESS_DETACH) { return; }
    while (destructors != nullptr) {
        while (destructors->count != 0) { destructors->called[--destructors->count](); }
        thread_destructors* const done = destructors;
        destructors = done->before;
        free(done);
    }
}

__declspec(allocate(".CRT$XLA")) PIMAGE_TLS_CALLBACK first_callback = nullptr;
__declspec(allocate(".CRT$XLC")) PIMAGE_TLS_CALLBACK construct_callback = __dyn_tls_init;
__declspec(allocate(".CRT$XLD")) PIMAGE_TLS_CALLBACK destroy_callback = destroy_thread;
__declspec(allocate(".CRT$XLZ")) PIMAGE_TLS_CALLBACK last_callback = nullptr;

__declspec(allocate(".rdata$T")) extern const IMAGE_TLS_DIRECTORY64 _tls_used = {
    reinterpret_cast<ULONGLONG>(&_tls_start),
    reinterpret_cast<ULONGLONG>(&_tls_end),
    reinterpret_cast<ULONGLONG>(&_tls_index),
    reinterpret_cast<ULONGLONG>(&first_callback + 1),
    0,
    {0}};

// ---- function-local static variables ------------------------------------------------------------
// Their guard is 0 before, -1 during, and the epoch of its end after their construction. A thread
// whose epoch is not older than the guard has seen the construction.

int _Init_global_epoch = INT_MIN;
thread_local int _Init_thread_epoch = INT_MIN;
static SRWLOCK static_lock = SRWLOCK_INIT;
static CONDITION_VARIABLE static_done = CONDITION_VARIABLE_INIT;

void _Init_thread_header(int* guard) {
    AcquireSRWLockExclusive(&static_lock);
    while (*guard == -1) { SleepConditionVariableSRW(&static_done, &static_lock, INFINITE, 0); }
    if (*guard == 0) {
        *guard = -1;
    } else {
        _Init_thread_epoch = _Init_global_epoch;
    }
    ReleaseSRWLockExclusive(&static_lock);
}
void _Init_thread_footer(int* guard) {
    AcquireSRWLockExclusive(&static_lock);
    *guard = ++_Init_global_epoch;
    _Init_thread_epoch = _Init_global_epoch;
    ReleaseSRWLockExclusive(&static_lock);
    WakeAllConditionVariable(&static_done);
}
void _Init_thread_abort(int* guard) {
    AcquireSRWLockExclusive(&static_lock);
    *guard = 0;
    ReleaseSRWLockExclusive(&static_lock);
    WakeAllConditionVariable(&static_done);
}

// ---- stacks ---------------------------------------------------------------------------------------
// Touches each page between the lowest one that was touched (gs:16) and rsp - rax.

__asm__(
    ".globl __chkstk\n"
    "__chkstk:\n"
    "    subq $16, %rsp\n"
    "    movq %r10, (%rsp)\n"
    "    movq %r11, 8(%rsp)\n"
    "    xorq %r11, %r11\n"
    "    leaq 24(%rsp), %r10\n"
    "    subq %rax, %r10\n"
    "    cmovbq %r11, %r10\n"
    "    movq %gs:16, %r11\n"
    "    cmpq %r11, %r10\n"
    "    jae 2f\n"
    "    andw $0xF000, %r10w\n"
    "1:  leaq -4096(%r11), %r11\n"
    "    movb $0, (%r11)\n"
    "    cmpq %r11, %r10\n"
    "    jne 1b\n"
    "2:  movq (%rsp), %r10\n"
    "    movq 8(%rsp), %r11\n"
    "    addq $16, %rsp\n"
    "    ret\n");

// ---- text -------------------------------------------------------------------------------------------

int __stdio_common_vfprintf(unsigned long long, FILE*, const char*, _locale_t, va_list);
int __stdio_common_vsprintf(unsigned long long, char*, size_t, const char*, _locale_t, va_list);
int __stdio_common_vsscanf(unsigned long long, const char*, size_t, const char*, _locale_t,
                           va_list);
// Returns the length that was wanted, as C99 says.
static constexpr unsigned long long standard_snprintf = 2;

int vfprintf(FILE* to, const char* format, va_list a) {
    return __stdio_common_vfprintf(0, to, format, nullptr, a);
}
int vprintf(const char* format, va_list a) { return vfprintf(stdout, format, a); }
int vsnprintf(char* to, size_t size, const char* format, va_list a) {
    const int n = __stdio_common_vsprintf(standard_snprintf, to, size, format, nullptr, a);
    return n < 0 ? -1 : n;
}
int vsprintf(char* to, const char* format, va_list a) {
    return vsnprintf(to, static_cast<size_t>(-1), format, a);
}
int vsscanf(const char* from, const char* format, va_list a) {
    return __stdio_common_vsscanf(0, from, static_cast<size_t>(-1), format, nullptr, a);
}
int _vsnprintf(char* to, size_t size, const char* format, va_list a) {
    return vsnprintf(to, size, format, a);
}
#define CAIRN_TEST_VARIADIC(result, name, call, last, ...) \
    result name(__VA_ARGS__, ...) {                        \
        va_list a;                                         \
        va_start(a, last);                                 \
        const result n = call;                             \
        va_end(a);                                         \
        return n;                                          \
    }
CAIRN_TEST_VARIADIC(int, printf, vprintf(format, a), format, const char* format)
CAIRN_TEST_VARIADIC(int, fprintf, vfprintf(to, format, a), format, FILE* to, const char* format)
CAIRN_TEST_VARIADIC(int, sprintf, vsprintf(to, format, a), format, char* to, const char* format)
CAIRN_TEST_VARIADIC(int, snprintf, vsnprintf(to, size, format, a), format, char* to, size_t size,
                    const char* format)
CAIRN_TEST_VARIADIC(int, sscanf, vsscanf(from, format, a), format, const char* from,
                    const char* format)

// ---- begin and end -----------------------------------------------------------------------------------

int main(int, char**, char**);
int _crt_atexit(function);
int _configure_narrow_argv(int);
int _initialize_narrow_environment();
int* __p___argc();
char*** __p___argv();
char** _get_initial_narrow_environment();
void _register_thread_local_exe_atexit_callback(PIMAGE_TLS_CALLBACK);

int atexit(function f) { return _crt_atexit(f); }

int mainCRTStartup() {
    constexpr int unexpanded_arguments = 1;
    _configure_narrow_argv(unexpanded_arguments);
    _initialize_narrow_environment();
    for (int_function* f = first_initializer + 1; f != last_initializer; ++f) {
        if (*f != nullptr) { (*f)(); }
    }
    for (function* f = first_constructor + 1; f != last_constructor; ++f) {
        if (*f != nullptr) { (*f)(); }
    }
    __dyn_tls_init(nullptr, DLL_THREAD_ATTACH, nullptr);
    _register_thread_local_exe_atexit_callback(destroy_thread);
    exit(main(*__p___argc(), *__p___argv(), _get_initial_narrow_environment()));
}

}  // extern "C"

// The table of type_info, to which the descriptor of each type points.
class type_info {
public:
    virtual ~type_info();

private:
    void* data_;
    char name_[1];
};
type_info::~type_info() {
    data_ = nullptr;  // not empty, or no table is emitted
}
