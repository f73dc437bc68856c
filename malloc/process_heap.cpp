// Cold half of malloc/process_heap.hpp: the heap's first call, what the caches cannot answer, giving
// back, and reports.
#include "process_heap.hpp"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "reports.hpp"

// What fork() of glibc does to the list of all files. Exported, but declared in no header.
extern "C" {
[[gnu::weak]] void _IO_list_lock() noexcept;
[[gnu::weak]] void _IO_list_unlock() noexcept;
[[gnu::weak]] void _IO_list_resetlock() noexcept;
}

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc {
namespace {

constexpr auto unordered = detail::memory_order::relaxed;

alignas(concurrent_heap) constinit std::byte heap_memory[sizeof(concurrent_heap)] = {};
constinit detail::atomic<concurrent_heap*> heap_when_made{nullptr};
constinit mutex making{};
CAIRN_INITIAL_EXEC constinit thread_local bool is_making = false;
CAIRN_INITIAL_EXEC constinit thread_local unsigned cold_calls = 0;
constinit detail::atomic<std::uint64_t> last_look{0};

/// The heap found a slot twice, or a pointer into the middle of one: it stops the process.
void stop(const broken_promise&, void*) noexcept {
    report("a block was freed twice, or through a pointer to its middle; the process stops\n");
}

/// Has fork() lock the list of all files before the heap. fork() locks it after all handlers, when
/// the heap is locked: a thread in fflush(nullptr) that holds the list would wait for a file whose
/// holder waits for the heap. The lock is recursive, and fork() takes it once more. Registered
/// after the heap's handlers, so these run before them, and after them when the fork is over.
void watch_file_list() noexcept {
    if (&_IO_list_lock == nullptr || &_IO_list_unlock == nullptr ||
        &_IO_list_resetlock == nullptr) {
        return;  // another C library
    }
    (void)detail::around_fork(&_IO_list_lock, &_IO_list_unlock, &_IO_list_resetlock);
}

[[gnu::noinline]] concurrent_heap* make_heap() noexcept {
    if (is_making) { return nullptr; }
    const lock_scope held{making};
    if (concurrent_heap* const h = heap_when_made.load(unordered)) { return h; }
    is_making = true;
    (void)set_assert_handler(&stop);
    auto* const h = ::new (static_cast<void*>(heap_memory)) concurrent_heap;
    watch_file_list();
    is_making = false;
    heap_when_made.store(h, detail::memory_order::release);
    return h;
}

std::uint64_t milliseconds() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

/// One of 64 cold calls reads the clock; one a second gives back what was free all that second.
void trim_now_and_then(concurrent_heap& h) noexcept {
    if (++cold_calls % 64 != 0) { return; }
    // Read before the clock, and added to: another thread's look may be later than `now`.
    std::uint64_t before = last_look.load(unordered);
    const std::uint64_t now = milliseconds();
    if (now < before + 1000 ||
        !last_look.compare_exchange_strong(before, now, unordered, unordered)) {
        return;
    }
    const std::size_t bytes = h.trim_idle();
    if (bytes == 0) { return; }
    events.trims.fetch_add(1, unordered);
    events.trimmed_size.fetch_add(bytes, unordered);
}

}  // namespace

concurrent_heap* process_heap() noexcept {
    concurrent_heap* const h = heap_when_made.load(detail::memory_order::acquire);
    return h != nullptr ? h : make_heap();
}

[[gnu::noinline]] void* allocate_cold(std::size_t size, alignment align) noexcept {
    concurrent_heap* const h = process_heap();
    void* const p = h != nullptr ? h->allocate(size, align) : nullptr;
    if (p == nullptr) {
        errno = ENOMEM;
    } else {
        trim_now_and_then(*h);
    }
    return p;
}

[[gnu::noinline]] void deallocate_cold(void* p) noexcept {
    if (p == nullptr) { return; }
    const int saved = errno;
    const unsigned kind = kind_of(p);
    const heap_cache* const c = cache_here();
    if (kind == unit_map::nothing ||
        (kind == unit_map::large && concurrent_heap_registry::map_here().record(p)->begin != p)) {
        report_foreign(p, "free");
    } else if (is_slot(kind) && c != nullptr && c->top(kind - 1)[-1] == p) {
        report("the block at %p was freed twice; the process stops\n", p);
        ::abort();
    } else {
        process_heap()->deallocate(p);
        trim_now_and_then(*process_heap());
    }
    errno = saved;
}

// ------------------------------------------------------------------------------------------------
// reports

namespace {

// No stdio: its locks may be held, and its buffers come from malloc.
void write_text(const char* prefix, const char* format, va_list arguments) noexcept {
    char text[512] = {};
    const std::size_t head = ::strlen(::strcpy(text, prefix));
    (void)::vsnprintf(text + head, sizeof text - head, format, arguments);
    if (::write(2, text, ::strlen(text)) < 0) { return; }  // there is no other place to say it
}

}  // namespace

void report(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_text("cairn-malloc: ", format, arguments);
    va_end(arguments);
}

void write_line(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_text("", format, arguments);
    va_end(arguments);
}

void report_foreign(const void* p, const char* function) noexcept {
    if (events.foreign_pointers.fetch_add(1, unordered) >= 16) { return; }
    report("%s got the pointer %p, which no block begins at; it was left alone\n", function, p);
}

void report_wrong_size(const void* p, std::size_t told, std::size_t real) noexcept {
    if (events.wrong_sizes.fetch_add(1, unordered) != 0) { return; }
    report(
        "the block at %p has room for %zu bytes and was deleted as one of %zu: a base class "
        "without a virtual destructor? It was freed as what it is; no more of these are reported\n",
        p, real, told);
}

}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc
