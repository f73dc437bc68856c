// All replaceable forms of operator new and operator delete. The C++ library is not linked: a
// program that has one provides it, and a program without one cannot catch std::bad_alloc.
#include <stddef.h>
#include <stdlib.h>

#include <new>

#include "process_heap.hpp"
#include "reports.hpp"

// What this object needs of the C++ library, to throw and to catch: absent in a C program.
__asm__(
    ".weak _ZSt15get_new_handlerv, _ZSt9terminatev\n"
    ".weak _ZTISt9bad_alloc, _ZTVSt9bad_alloc, _ZNSt9bad_allocD1Ev\n"
    ".weak __cxa_allocate_exception, __cxa_throw, __cxa_begin_catch, __cxa_end_catch\n"
    ".weak __cxa_call_terminate, __clang_call_terminate, __gxx_personality_v0, _Unwind_Resume\n");

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc { namespace {

/// Returns: nullptr also where there is no C++ library.
std::new_handler current_new_handler() noexcept {
    std::new_handler (*volatile get)() noexcept = &std::get_new_handler;
    return get != nullptr ? get() : nullptr;
}

[[noreturn]] void throw_bad_alloc(size_t size) {
    std::new_handler (*volatile of_the_library)() noexcept = &std::get_new_handler;
    if (of_the_library != nullptr) { throw std::bad_alloc{}; }
    report("no memory for operator new of %zu bytes, and no C++ library to throw with\n", size);
    ::abort();
}

/// Asks the handler for memory until there is some, or no handler.
[[gnu::noinline]] void* new_cold(size_t size, alignment align) {
    for (;;) {
        const std::new_handler handler = current_new_handler();
        if (handler == nullptr) { return nullptr; }
        handler();
        if (void* const p = allocate(size, align)) { return p; }
    }
}

[[gnu::noinline]] void* new_or_throw_cold(size_t size, alignment align) {
    void* const p = new_cold(size, align);
    if (p == nullptr) { throw_bad_alloc(size); }
    return p;
}

/// A handler that throws has no memory either.
[[gnu::noinline]] void* new_or_null_cold(size_t size, alignment align) noexcept {
    try {
        return new_cold(size, align);
    } catch (...) { return nullptr; }
}

[[CAIRN_FORCE_INLINE]] inline void* new_or_throw(size_t size) {
    void* const p = allocate(size);
    return p != nullptr ? p : new_or_throw_cold(size, default_alignment);
}
[[CAIRN_FORCE_INLINE]] inline void* new_or_null(size_t size) noexcept {
    void* const p = allocate(size);
    return p != nullptr ? p : new_or_null_cold(size, default_alignment);
}

alignment alignment_of(std::align_val_t align) noexcept {
    return alignment{static_cast<size_t>(align)};
}
void* new_or_throw(size_t size, std::align_val_t align) {
    void* const p = allocate(size, alignment_of(align));
    return p != nullptr ? p : new_or_throw_cold(size, alignment_of(align));
}
void* new_or_null(size_t size, std::align_val_t align) noexcept {
    void* const p = allocate(size, alignment_of(align));
    return p != nullptr ? p : new_or_null_cold(size, alignment_of(align));
}
void delete_sized(void* p, size_t size, std::align_val_t align) noexcept {
    deallocate_sized(p, size, alignment_of(align));
}

}}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc

namespace below = cairn::below_malloc;
using std::align_val_t;
using std::nothrow_t;
using std::size_t;

// <new> declares them with the visibility that they need.
void* operator new(size_t n) { return below::new_or_throw(n); }
void* operator new[](size_t n) { return below::new_or_throw(n); }
void* operator new(size_t n, const nothrow_t&) noexcept { return below::new_or_null(n); }
void* operator new[](size_t n, const nothrow_t&) noexcept { return below::new_or_null(n); }
void* operator new(size_t n, align_val_t a) { return below::new_or_throw(n, a); }
void* operator new[](size_t n, align_val_t a) { return below::new_or_throw(n, a); }
void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
    return below::new_or_null(n, a);
}
void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
    return below::new_or_null(n, a);
}

void operator delete(void* p) noexcept { below::deallocate(p); }
void operator delete[](void* p) noexcept { below::deallocate(p); }
void operator delete(void* p, const nothrow_t&) noexcept { below::deallocate(p); }
void operator delete[](void* p, const nothrow_t&) noexcept { below::deallocate(p); }
void operator delete(void* p, align_val_t) noexcept { below::deallocate(p); }
void operator delete[](void* p, align_val_t) noexcept { below::deallocate(p); }
void operator delete(void* p, align_val_t, const nothrow_t&) noexcept { below::deallocate(p); }
void operator delete[](void* p, align_val_t, const nothrow_t&) noexcept { below::deallocate(p); }
void operator delete(void* p, size_t n) noexcept {
    below::deallocate_sized(p, n, cairn::default_alignment);
}
void operator delete[](void* p, size_t n) noexcept {
    below::deallocate_sized(p, n, cairn::default_alignment);
}
void operator delete(void* p, size_t n, align_val_t a) noexcept { below::delete_sized(p, n, a); }
void operator delete[](void* p, size_t n, align_val_t a) noexcept { below::delete_sized(p, n, a); }
