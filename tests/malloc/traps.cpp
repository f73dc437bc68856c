// What programs do to a malloc. Each case is a process of its own: malloc_traps NAME. The test runs
// them with libcairn-malloc preloaded, linked, and linked into a static program (traps_test.py).
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "malloc/expect.hpp"

// C23. Weak: the program is linked without libcairn-malloc, too.
extern "C" [[gnu::weak]] void free_sized(void*, size_t);
extern "C" [[gnu::weak]] void free_aligned_sized(void*, size_t, size_t);

namespace {

// The compiler knows malloc, and would leave out what is never looked at.
[[gnu::noinline]] void* hidden(void* p) {
    void* volatile block = p;
    return block;
}
void* taken(size_t size) { return hidden(malloc(size)); }
size_t hidden(size_t n) {
    volatile size_t value = n;
    return value;
}
bool is_multiple(const void* p, size_t align) {
    return reinterpret_cast<uintptr_t>(p) % align == 0;
}
size_t resident() {
    size_t all = 0;
    size_t pages = 0;
    FILE* const f = fopen("/proc/self/statm", "r");
    if (f == nullptr || fscanf(f, "%zu %zu", &all, &pages) != 2) { abort(); }
    fclose(f);
    return pages * 4096;
}

// Before every other constructor: as in a static program, before anything else allocated, more keys
// are made than a thread has room for. The next pthread_setspecific allocates.
bool was_early_right = false;
[[gnu::constructor(101)]] void early() {
    for (int i = 0; i < 64; ++i) {
        pthread_key_t key{};
        if (pthread_key_create(&key, nullptr) != 0) { return; }
    }
    void* const p = taken(100);
    char text[40];
    snprintf(text, sizeof text, "%f %p", 1.5, p);
    was_early_right = p != nullptr && malloc_usable_size(p) >= 100;
    free(p);
}

void before_constructors() {
    EXPECT(was_early_right);
    EXPECT(dlsym(RTLD_DEFAULT, "no_such_symbol") == nullptr);
    EXPECT(dlerror() != nullptr);  // it allocates the message
    std::thread{[] { free(taken(10)); }}.join();
}

/// Sizes near 2^64: with what is added to them, or rounded up, they would be small. 2^64 * 8 / 9 with
/// an eighth more is 2^64.
void refuses_sizes_that_wrap() {
    const size_t sizes[] = {SIZE_MAX / 2 + 1, SIZE_MAX / 9 * 8 + 8, SIZE_MAX / 9 * 8 + 7,
                            SIZE_MAX - 4095,  SIZE_MAX - 65'535,    SIZE_MAX};
    for (const size_t size : sizes) {
        for (const size_t old_size : {size_t{10}, size_t{100'000}, size_t{50 << 20}}) {
            auto* const p = static_cast<char*>(taken(old_size));
            p[0] = p[old_size - 1] = 7;
            errno = 0;
            EXPECT(hidden(realloc(p, hidden(size))) == nullptr && errno == ENOMEM);
            errno = 0;
            EXPECT(hidden(reallocarray(p, hidden(size), 1)) == nullptr && errno == ENOMEM);
            EXPECT(p[0] == 7 && p[old_size - 1] == 7);
            free(p);
        }
        for (auto* const function : {&malloc, &valloc, &pvalloc}) {
            errno = 0;
            EXPECT(hidden(function(hidden(size))) == nullptr && errno == ENOMEM);
        }
        errno = 0;
        EXPECT(hidden(calloc(hidden(size), 1)) == nullptr && errno == ENOMEM);
        errno = 0;
        EXPECT(hidden(aligned_alloc(64, hidden(size))) == nullptr && errno == ENOMEM);
        errno = 0;
        EXPECT(hidden(memalign(1 << 20, hidden(size))) == nullptr && errno == ENOMEM);
        EXPECT(operator new(hidden(size), std::nothrow) == nullptr);
        EXPECT(operator new(hidden(size), std::align_val_t{128}, std::nothrow) == nullptr);
    }
}

void errno_stays() {
    void* const blocks[] = {taken(10), taken(100'000), taken(50 << 20), nullptr};
    for (void* p : blocks) {
        errno = 77;
        free(p);
        EXPECT(errno == 77);
    }
    errno = 0;
    EXPECT(taken(PTRDIFF_MAX) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(taken(SIZE_MAX) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(hidden(calloc(SIZE_MAX / 2, 3)) == nullptr && errno == ENOMEM);
    errno = 0;
    void* const p = taken(10);
    EXPECT(hidden(realloc(p, PTRDIFF_MAX)) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(reallocarray(p, SIZE_MAX / 2, 3) == nullptr && errno == ENOMEM);
    free(p);
    refuses_sizes_that_wrap();
    // A system call of free fails: the report of a foreign pointer has nowhere to go.
    static int not_ours[4] = {};
    close(2);
    errno = 77;
    free(hidden(not_ours));
    EXPECT(errno == 77);
}

void edges_as_glibc() {
    void* const a = taken(0);
    void* const b = taken(0);
    EXPECT(a != nullptr && b != nullptr && a != b);
    EXPECT(hidden(realloc(a, 0)) == nullptr);  // and it is free
    free(b);
    void* const c = hidden(realloc(nullptr, 0));
    EXPECT(c != nullptr);
    free(c);
    EXPECT(hidden(calloc(0, 5)) != nullptr);
    void* p = nullptr;
    EXPECT(posix_memalign(&p, 0, 8) == EINVAL && posix_memalign(&p, 4, 8) == EINVAL);
    EXPECT(posix_memalign(&p, 24, 8) == EINVAL && p == nullptr);
    EXPECT(posix_memalign(&p, 64, SIZE_MAX / 2 + 2) == ENOMEM && p == nullptr);
    EXPECT(is_multiple(hidden(memalign(hidden(size_t{48}), 8)), 64));  // the next power of two
    EXPECT(hidden(memalign(hidden(size_t{0}), 8)) != nullptr);
    errno = 0;
    EXPECT(hidden(memalign(hidden(SIZE_MAX / 2 + 2), 8)) == nullptr && errno == EINVAL);
    EXPECT(is_multiple(hidden(valloc(1)), 4096) && is_multiple(hidden(pvalloc(1)), 4096));
    EXPECT(malloc_usable_size(hidden(pvalloc(4097))) >= 8192);
    EXPECT(malloc_usable_size(nullptr) == 0);
    free(nullptr);
}

void every_function() {
    for (size_t align = 1; align <= 1 << 20; align *= 2) {
        for (const size_t size : {size_t{1}, size_t{1000}, size_t{40'000}, size_t{5'000'000}}) {
            void* p = nullptr;
            EXPECT(posix_memalign(&p, align < 8 ? 8 : align, size) == 0 && is_multiple(p, align));
            memset(p, 1, size);
            EXPECT(malloc_usable_size(p) >= size);
            free(p);
            auto* q = static_cast<char*>(hidden(aligned_alloc(align, size)));
            EXPECT(is_multiple(q, align));
            memset(q, 2, malloc_usable_size(q));
            q = static_cast<char*>(hidden(realloc(q, size * 3)));
            EXPECT(q[0] == 2 && q[size - 1] == 2);
            free_sized(q, size * 3);
        }
    }
    free_aligned_sized(hidden(aligned_alloc(64, 128)), 64, 128);
    for (const size_t size : {size_t{10}, size_t{3000}, size_t{200'000}, size_t{20'000'000}}) {
        auto* dirty = static_cast<char*>(taken(size));
        memset(dirty, 3, size);
        free(dirty);
        auto* const zero = static_cast<char*>(hidden(calloc(size, 1)));
        for (size_t i = 0; i < size; ++i) { EXPECT(zero[i] == 0); }
        free(zero);
    }
    char* grown = nullptr;
    for (size_t size = 1; size < 100'000'000; size = size * 3 / 2 + 1) {
        grown = static_cast<char*>(hidden(realloc(grown, size)));
        grown[size - 1] = static_cast<char>(size);
        if (size > 1) { EXPECT(grown[0] == 1 && malloc_usable_size(grown) >= size); }
    }
    grown = static_cast<char*>(hidden(realloc(grown, 10)));
    EXPECT(grown[0] == 1);
    const struct mallinfo2 info = mallinfo2();
    EXPECT(info.arena >= info.uordblks && info.uordblks >= 10);
    free(grown);
    EXPECT(malloc_trim(0) == 1);
    EXPECT(mallopt(M_TRIM_THRESHOLD, 1) == 1);
}

std::atomic<bool> ends{false};

void churn(unsigned seed) {
    std::vector<std::pair<char*, size_t>> live(200);
    while (!ends) {
        for (auto& [p, size] : live) {
            EXPECT(p == nullptr || (p[0] == 5 && p[size - 1] == 5));
            free(p);
            seed = seed * 1103515245 + 12345;
            size = 1 + (seed >> 8) % (seed % 50 == 0 ? 100'000 : 1000);
            p = static_cast<char*>(taken(size));
            p[0] = p[size - 1] = 5;
        }
    }
    for (auto& [p, size] : live) { free(p); }
}

void fork_while_others_allocate() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i) { threads.emplace_back(churn, i); }
    // They run while the heap is not locked: its own handlers were registered before them.
    pthread_atfork([] { free(taken(5000)); }, [] { free(taken(5000)); }, [] { free(taken(5000)); });
    for (int i = 0; i < 40; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (size_t size = 1; size < 300'000; size = size * 2 + 3) { free(taken(size)); }
            std::thread{[] { free(taken(3000)); }}.join();
            _exit(malloc_trim(0) == 1 ? 0 : 1);
        }
        int status = 1;
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    ends = true;
    for (auto& t : threads) { t.join(); }
}

void read_lines(FILE* file) {
    while (!ends) {
        rewind(file);
        for (int i = 0; i < 400; ++i) {
            char* line = nullptr;
            size_t size = 0;
            EXPECT(getline(&line, &size, file) > 0);  // it allocates while it holds the file
            free(line);
        }
    }
}

// The C library's fork() takes the lock of the list of all files. fflush(nullptr) holds it, and
// waits for a file, whose holder waits for the heap. The signal ends a process that does not go on.
void fork_while_others_use_files() {
    FILE* const file = tmpfile();
    EXPECT(file != nullptr);
    for (size_t i = 0; i < 400; ++i) {
        EXPECT(fprintf(file, "%s\n", std::string(100 + i * 60, 'x').c_str()) > 0);
    }
    rewind(file);  // no child has anything to write
    std::thread reader{read_lines, file};
    std::thread writer{[] {
        while (!ends) { fflush(nullptr); }
    }};
    alarm(30);
    for (int i = 0; i < 200; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            fflush(nullptr);  // no other thread of the parent holds the list here
            _exit(0);
        }
        int status = 1;
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    ends = true;
    reader.join();
    writer.join();
    fclose(file);
}

// Freed by a destructor that runs later than the thread's cache lives.
struct owner {
    void* p = taken(300);
    ~owner() {
        free(p);
        free(taken(70'000));
        std::string text(1000, 'x');
        EXPECT(text.size() == 1000);
    }
};
owner static_owner;
pthread_key_t last_key{};
void last_words(void* rounds) {
    free(taken(2000));
    auto* const left = static_cast<int*>(rounds);
    if (--*left > 0) {
        pthread_setspecific(last_key, rounds);
    } else {
        free(rounds);
    }
}

void ends_in_any_order() {
    atexit([] { free(taken(12'345)); });
    EXPECT(pthread_key_create(&last_key, &last_words) == 0);
    for (int i = 0; i < 50; ++i) {
        std::thread{[] {
            thread_local owner mine;
            free(mine.p);
            mine.p = taken(400);
            auto* const rounds = static_cast<int*>(taken(sizeof(int)));
            *rounds = 3;
            pthread_setspecific(last_key, rounds);
        }}.join();
    }
    std::thread{[] {
        for (;;) { free(taken(100)); }  // still at it when the process ends
    }}.detach();
}

struct base {
    int i = 1;
};
struct derived : base {
    char text[500] = {};
};
void wrong_size() {
    for (int i = 0; i < 3; ++i) {
        void* const d = hidden(new derived);
        const size_t size = malloc_usable_size(d);
        operator delete(d, sizeof(base));
        void* const again = taken(size);
        EXPECT(again == d && malloc_usable_size(again) == size);  // freed as what it was
        free(again);
    }
}

void foreign_pointers() {
    alignas(16) static char not_ours[64] = "from the loader";
    auto* const moved = static_cast<char*>(hidden(realloc(hidden(not_ours), 200)));
    EXPECT(moved != not_ours && strcmp(moved, "from the loader") == 0);
    free(moved);
    free(hidden(not_ours));
    free(hidden(static_cast<char*>(taken(100'000)) + 70'000));
    free(hidden(reinterpret_cast<void*>(uintptr_t{1} << 60)));
    EXPECT(strcmp(not_ours, "from the loader") == 0);
}

void freed_twice() {
    void* const p = taken(100);
    void* const same = hidden(p);
    free(p);
    free(same);
}

/// Takes blocks of `size` bytes until malloc refuses, and frees them. Returns: their bytes.
size_t fill_and_free(size_t size) {
    void* first = nullptr;
    size_t count = 0;
    errno = 0;
    for (void* p = taken(size); p != nullptr; p = taken(size)) {
        *static_cast<void**>(p) = first;
        first = p;
        ++count;
    }
    EXPECT(errno == ENOMEM);
    while (first != nullptr) {
        void* const next = *static_cast<void**>(first);
        free(first);
        first = next;
    }
    malloc_trim(0);
    return count * size;
}

// Address space for 200 MiB more, of which a part goes to what the C library maps.
void little_address_space() {
    const rlimit limit{300u << 20, 300u << 20};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    for (const size_t size : {size_t{1000}, size_t{100'000}, size_t{10'000'000}}) {
        EXPECT(fill_and_free(size) > 150u << 20);
    }
    std::thread{[] { free(taken(10)); }}.join();
}

bool is_refused(size_t size) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const p = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return p == MAP_FAILED || munmap(p, size) != 0;
}

// Without overcommit (vm.overcommit_memory=2) a mapping counts with all its writable pages, touched
// or not. RLIMIT_DATA counts the same pages of one process.
void counted_memory() {
    const rlimit limit{100u << 20, 100u << 20};
    EXPECT(setrlimit(RLIMIT_DATA, &limit) == 0);
    if (!is_refused(200u << 20)) {
        printf("skipped: this system does not count mappings by RLIMIT_DATA\n");
        return;
    }
    auto* const kept = static_cast<char*>(taken(6'000'000));
    memset(kept, 7, 6'000'000);
    for (int round = 0; round < 2; ++round) {
        for (const size_t size : {size_t{1000}, size_t{30'000}, size_t{100'000}}) {
            EXPECT(fill_and_free(size) > 60u << 20);
        }
        EXPECT(fill_and_free(8'000'000) > 60u << 20);
    }
    errno = 0;
    EXPECT(taken(200u << 20) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(hidden(realloc(kept, 200u << 20)) == nullptr && errno == ENOMEM);
    EXPECT(kept[0] == 7 && kept[5'999'999] == 7);
    free(kept);
    std::thread{[] { free(taken(10)); }}.join();
}

// No mapping at all is given any more: what malloc has serves until it is used up.
void refused_mappings() {
    std::atomic<int> step{0};
    std::thread late{[&] {
        while (step == 0) { std::this_thread::yield(); }
        void* const p = taken(500);  // no memory for a cache of this thread
        EXPECT(p != nullptr);
        free(p);
        step = 2;
    }};
    free(taken(1000));
    const rlimit limit{0, 0};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    step = 1;
    late.join();
    EXPECT(fill_and_free(1000) > 100'000);
    EXPECT(fill_and_free(20'000) > 100'000);
    EXPECT(fill_and_free(1000) > 100'000);
    EXPECT(taken(5'000'000) == nullptr && errno == ENOMEM);
    EXPECT(operator new(5'000'000, std::nothrow) == nullptr);
}

// 16 times 20 MiB, of other sizes each time: free memory serves other sizes, or the cgroup of 40 MiB
// in which traps_test.py runs this ends the process. Untouched pages count for nothing there.
void memory_of_a_cgroup() {
    void* const untouched = taken(size_t{1} << 30);
    EXPECT(untouched != nullptr);
    std::vector<void*> blocks;
    for (size_t round = 0; round < 16; ++round) {
        const size_t size = size_t{48} << round;
        for (size_t all = 0; all < 20u << 20; all += size) {
            blocks.push_back(memset(taken(size), 1, size));
        }
        for (void* p : blocks) { free(p); }
        blocks.clear();
        blocks.shrink_to_fit();
    }
    free(untouched);
}

void locked_memory() {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        printf("skipped: mlockall is refused\n");
        return;
    }
    std::vector<void*> blocks;
    for (int i = 0; i < 2000; ++i) { blocks.push_back(taken(3000)); }
    for (void* p : blocks) { free(p); }
    EXPECT(malloc_trim(0) == 1);
    auto* const zero = static_cast<char*>(hidden(calloc(1 << 20, 1)));
    EXPECT(zero[0] == 0 && zero[(1 << 20) - 1] == 0);
}

void* big_and_scattered() {
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) {
        blocks.push_back(taken(100'000));
        memset(blocks.back(), 1, 100'000);
    }
    for (size_t i = 1; i < blocks.size(); ++i) { free(blocks[i]); }
    return blocks[0];
}

bool has_segments_without_huge_pages() {
    FILE* const f = fopen("/proc/self/smaps", "r");
    char line[300];
    bool found = false;
    while (fgets(line, sizeof line, f) != nullptr) {
        found = found || (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " nh") != nullptr);
    }
    fclose(f);
    return found;
}

void trim_returns_pages() {
    const size_t before = resident();
    void* const kept = big_and_scattered();
    EXPECT(resident() > before + (90u << 20));
    EXPECT(malloc_trim(0) == 1);
    EXPECT(resident() < before + (4u << 20));
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0) {
        EXPECT(has_segments_without_huge_pages());  // none of them comes back as a huge one
    }
    free(kept);
}

void trims_itself() {
    // So few calls that the first look at the clock comes when all is free: one second is enough.
    constexpr size_t size = size_t{4} << 20;
    void* blocks[17];
    const size_t before = resident();
    for (void*& p : blocks) { memset(p = taken(size), 1, size); }
    EXPECT(resident() > before + 16 * size);
    for (void* p : blocks) {
        if (p != blocks[0]) { free(p); }
    }
    const time_t until = time(nullptr) + 4;
    while (resident() > before + 3 * size && time(nullptr) < until) {
        for (int i = 0; i < 100; ++i) { free(taken(40'000)); }
        usleep(10'000);
    }
    EXPECT(resident() <= before + 3 * size);
    free(blocks[0]);
}

void new_fails_as_it_should() {
    const size_t absurd = PTRDIFF_MAX;
    bool was_thrown = false;
    try {
        operator delete(hidden(operator new(absurd)));
    } catch (const std::bad_alloc& e) { was_thrown = e.what()[0] != '\0'; }
    EXPECT(was_thrown);
    EXPECT(operator new(absurd, std::nothrow) == nullptr);
    static int calls = 0;
    std::set_new_handler([] {
        if (++calls == 3) { std::set_new_handler(nullptr); }
    });
    EXPECT(operator new[](absurd, std::nothrow) == nullptr&& calls == 3);
    std::set_new_handler([] { throw std::bad_alloc{}; });
    EXPECT(operator new(absurd, std::align_val_t{64}, std::nothrow) == nullptr);
    std::set_new_handler(nullptr);
    void* const p = operator new(100, std::align_val_t{256});
    EXPECT(is_multiple(p, 256));
    operator delete(p, 100, std::align_val_t{256});
    delete[] static_cast<int*>(hidden(new int[3]));
}

// A thread of a library that is closed while the thread runs; its destructors come later.
void closed_library() {
    for (int i = 0; i < 10; ++i) {
        void* const library = dlopen(getenv("MALLOC_PLUGIN"), RTLD_NOW);
        EXPECT(library != nullptr);
        using function = void* (*)(void*);
        const auto make = reinterpret_cast<function>(dlsym(library, "plugin_make"));
        EXPECT(make != nullptr);
        std::atomic<int> step{0};
        std::thread t{[&] {
            void* const p = make(nullptr);
            step = 1;
            while (step != 2) { std::this_thread::yield(); }
            free(p);
        }};
        while (step != 1) { std::this_thread::yield(); }
        EXPECT(dlclose(library) == 0);
        step = 2;
        t.join();
    }
}

struct named_case {
    const char* name;
    void (*run)();
};
#define CASE(name) {#name, &name}
const named_case cases[] = {
    CASE(before_constructors),
    CASE(errno_stays),
    CASE(edges_as_glibc),
    CASE(every_function),
    CASE(fork_while_others_allocate),
    CASE(fork_while_others_use_files),
    CASE(ends_in_any_order),
    CASE(wrong_size),
    CASE(foreign_pointers),
    CASE(freed_twice),
    CASE(little_address_space),
    CASE(counted_memory),
    CASE(refused_mappings),
    CASE(memory_of_a_cgroup),
    CASE(locked_memory),
    CASE(trim_returns_pages),
    CASE(trims_itself),
    CASE(new_fails_as_it_should),
    CASE(closed_library),
};

}  // namespace

int main(int argc, char** argv) {
    for (const named_case& c : cases) {
        if (argc == 1) { printf("%s\n", c.name); }
        if (argc == 2 && strcmp(argv[1], c.name) == 0) {
            c.run();
            return 0;
        }
    }
    return argc == 1 ? 0 : 2;
}
