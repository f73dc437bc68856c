// The functions of the C library that libcairn-malloc replaces. Where glibc says more than the
// standards do (size 0, alignments that are no power of two, errno), these do as glibc does.
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "process_heap.hpp"
#include "reports.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace below_malloc { namespace {

void* no_memory() noexcept {
    errno = ENOMEM;
    return nullptr;
}

bool is_power_of_two(std::size_t n) noexcept { return std::has_single_bit(n); }

/// As glibc's memalign: an alignment that is no power of two becomes the next one.
void* allocate_aligned(std::size_t align, std::size_t size) noexcept {
    constexpr std::size_t largest = SIZE_MAX / 2 + 1;
    if (align > largest) {
        errno = EINVAL;
        return nullptr;
    }
    if (size > PTRDIFF_MAX) { return no_memory(); }
    return allocate(size, alignment{std::bit_ceil(std::max<std::size_t>(align, 16))});
}

std::size_t size_of_block(const void* p, unsigned kind) noexcept {
    return is_slot(kind)
               ? slot_sizes::size_of(kind - 1)
               : concurrent_heap_registry::map_here().record(p)->unit_count * detail::unit_size;
}

/// A block that begins at `p`, of whatever size? Of slots only the chunk is asked.
bool is_block(const void* p, unsigned kind) noexcept {
    return is_slot(kind) ||
           (kind == unit_map::large && concurrent_heap_registry::map_here().record(p)->begin == p);
}

/// What another malloc gave before this one was there, such as the loader's: how long it is, is not
/// known. Copies as much of `size` bytes as can be read, and leaves the old block alone.
void* reallocate_foreign(void* p, std::size_t size) noexcept {
    report_foreign(p, "realloc");
    void* const moved = allocate(size);
    if (moved == nullptr) { return nullptr; }
    const iovec to{moved, size};
    const iovec from{p, size};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) < 0) {
        const std::size_t left = 4096 - reinterpret_cast<std::uintptr_t>(p) % 4096;
        ::memcpy(moved, p, std::min(size, left));  // what is on its page is there
    }
    return moved;
}

/// A block that shrinks to more than half stays where it is.
bool stays(std::size_t old_size, std::size_t size) noexcept {
    return size <= old_size && (size > old_size / 2 || old_size <= 64);
}

void* reallocate(void* p, unsigned kind, std::size_t size) noexcept {
    // The sums below would wrap, and the block would seem to be a small one.
    if (size > PTRDIFF_MAX) { return no_memory(); }
    const std::size_t old_size = size_of_block(p, kind);
    if (stays(old_size, size)) { return p; }
    const bool stays_large = kind == unit_map::large && size > slot_sizes::small_max;
    if (stays_large) {
        void* const resized = process_heap()->resize_or_move(p, old_size, size);
        if (resized != nullptr) { return resized; }
    }
    // A large block that moves gets an eighth of room, whose pages are untouched.
    const std::size_t room = stays_large && size > old_size ? size / 8 : 0;
    void* moved = allocate(size + room);
    if (moved == nullptr && room != 0) { moved = allocate(size); }
    if (moved == nullptr) { return size <= old_size ? p : nullptr; }
    ::memcpy(moved, p, std::min(old_size, size));
    deallocate(p, kind);
    return moved;
}

}}}}  // namespace cairn::CAIRN_FLAVOUR::below_malloc

namespace below = cairn::below_malloc;

#pragma GCC visibility push(default)
extern "C" {

void* malloc(size_t size) noexcept { return below::allocate(size); }

void free(void* p) noexcept { below::deallocate(p); }

void cfree(void* p) noexcept { below::deallocate(p); }  // in glibc until 2.25

void* calloc(size_t count, size_t size) noexcept {
    size_t all = 0;
    if (__builtin_mul_overflow(count, size, &all)) { return below::no_memory(); }
    if (all <= below::slot_sizes::small_max) {
        void* const p = below::allocate(all);
        return p != nullptr ? ::memset(p, 0, all) : nullptr;
    }
    auto* const heap = below::process_heap();
    void* const p = heap != nullptr ? heap->allocate_zeroed(all) : nullptr;
    return p != nullptr ? p : below::no_memory();
}

void* realloc(void* p, size_t size) noexcept {
    if (p == nullptr) { return below::allocate(size); }
    if (size == 0) {
        below::deallocate(p);
        return nullptr;
    }
    const unsigned kind = below::kind_of(p);
    return below::is_block(p, kind) ? below::reallocate(p, kind, size)
                                    : below::reallocate_foreign(p, size);
}

void* reallocarray(void* p, size_t count, size_t size) noexcept {
    size_t all = 0;
    if (__builtin_mul_overflow(count, size, &all)) { return below::no_memory(); }
    return ::realloc(p, all);
}

void* memalign(size_t align, size_t size) noexcept { return below::allocate_aligned(align, size); }

void* aligned_alloc(size_t align, size_t size) noexcept {
    return below::allocate_aligned(align, size);
}

int posix_memalign(void** out, size_t align, size_t size) noexcept {
    if (align % sizeof(void*) != 0 || !below::is_power_of_two(align)) { return EINVAL; }
    const int saved = errno;
    void* const p = below::allocate_aligned(align, size);
    errno = saved;
    if (p == nullptr) { return ENOMEM; }
    *out = p;
    return 0;
}

void* valloc(size_t size) noexcept {
    return below::allocate_aligned(cairn::page_memory::size(), size);
}

void* pvalloc(size_t size) noexcept {
    return below::allocate_aligned(cairn::page_memory::size(),
                                   cairn::page_memory::round_up_to_pages(size));
}

// C23. A block may have been resized in place, so that any size that fits is the right one.
void free_aligned_sized(void* p, size_t, size_t size) noexcept {
    const unsigned kind = below::kind_of(p);
    if (below::is_block(p, kind) && size > below::size_of_block(p, kind)) {
        below::report_wrong_size(p, size, below::size_of_block(p, kind));
    }
    below::deallocate(p, kind);
}

void free_sized(void* p, size_t size) noexcept { ::free_aligned_sized(p, 16, size); }

size_t malloc_usable_size(void* p) noexcept {
    const unsigned kind = below::kind_of(p);
    return below::is_block(p, kind) ? below::size_of_block(p, kind) : 0;
}

/// `pad` is not kept: what is needed again comes back with its first touch.
int malloc_trim(size_t) noexcept {
    auto* const heap = below::process_heap();
    const size_t bytes = heap != nullptr ? heap->trim() : 0;
    below::events.trims.fetch_add(1, cairn::detail::memory_order::relaxed);
    below::events.trimmed_size.fetch_add(bytes, cairn::detail::memory_order::relaxed);
    return bytes != 0 ? 1 : 0;
}

// ------------------------------------------------------------------------------------------------
// figures, in the fields that glibc has for its own

struct mallinfo2 mallinfo2() noexcept {
    struct mallinfo2 info{};
    const auto* const heap = below::process_heap();
    if (heap == nullptr) { return info; }
    const auto s = heap->stats();
    info.arena = s.segment_size;
    info.uordblks = s.live_size;
    info.fordblks = s.segment_size - s.live_size;
    info.fsmblks = s.cached_size + s.waiting_size;
    info.keepcost = s.segment_size - s.used_size;
    return info;
}

struct mallinfo mallinfo() noexcept {
    const struct mallinfo2 wide = ::mallinfo2();
    struct mallinfo info{};
    info.arena = static_cast<int>(wide.arena);
    info.uordblks = static_cast<int>(wide.uordblks);
    info.fordblks = static_cast<int>(wide.fordblks);
    info.fsmblks = static_cast<int>(wide.fsmblks);
    info.keepcost = static_cast<int>(wide.keepcost);
    return info;
}

/// No parameter of glibc's means anything here: all are accepted.
int mallopt(int, int) noexcept { return 1; }

}  // extern "C"
#pragma GCC visibility pop
