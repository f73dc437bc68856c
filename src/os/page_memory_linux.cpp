// Linux half of cairn/os/page_memory.hpp.
#include <cairn/os/page_memory.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>

// Older libc headers than kernel: the numbers are the kernel's ABI.
#if !defined(PR_SET_VMA)
#    define PR_SET_VMA 0x53564d41
#    define PR_SET_VMA_ANON_NAME 0
#endif
#if !defined(MADV_DONTNEED_LOCKED)
#    define MADV_DONTNEED_LOCKED 24
#endif
#if !defined(MAP_FIXED_NOREPLACE)
#    define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace page_memory {
namespace {

constexpr int reserved_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

/// Drops the pages of a range. Real-time programs lock their memory (mlockall), and MADV_DONTNEED
/// refuses locked pages; since Linux 5.18 there is a form that does not.
bool drop_pages(void* address, std::size_t bytes) noexcept {
    return ::madvise(address, bytes, MADV_DONTNEED) == 0 ||
           (errno == EINVAL && ::madvise(address, bytes, MADV_DONTNEED_LOCKED) == 0);
}

}  // namespace

std::size_t size() noexcept {
    static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

std::size_t huge_size() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return std::size_t{2} << 20;
#else
    // arm64: a huge page is one entry of the level above, size()/8 entries of size() bytes.
    return size() * (size() / 8);
#endif
}

std::size_t round_up_to_pages(std::size_t bytes) noexcept {
    return detail::saturating_add(bytes, size() - 1) & ~(size() - 1);
}

namespace {

/// An aligned range without a larger one around it: addresses may be limited (ulimit -v), and
/// Valgrind has fewer. Returns: nullptr when none of a few aligned places near a free one is free.
void* map_near(std::size_t bytes, alignment align, int protection) noexcept {
    void* const any = ::mmap(nullptr, bytes, protection, reserved_flags, -1, 0);
    if (any == MAP_FAILED) { return nullptr; }
    ::munmap(any, bytes);
    auto place = reinterpret_cast<std::uintptr_t>(any) & ~(align.bytes() - 1);
    for (int tries = 0; tries < 64 && place > align.bytes(); ++tries, place -= align.bytes()) {
        void* const hint = reinterpret_cast<void*>(place);
        void* const mapped = ::mmap(hint, bytes, protection, reserved_flags, -1, 0);
        if (mapped == hint) { return mapped; }
        if (mapped != MAP_FAILED) { ::munmap(mapped, bytes); }
    }
    return nullptr;
}

void* map(std::size_t bytes, alignment align, int protection) noexcept {
    if (bytes == 0 || bytes > PTRDIFF_MAX) { return nullptr; }
    if (align.bytes() / 2 > bytes) {
        void* const near = map_near(round_up_to_pages(bytes), align, protection);
        if (near != nullptr) { return near; }
    }
    // mmap gives multiples of a page: so much more holds an aligned range, wherever it begins.
    const std::size_t extra = align.bytes() > size() ? align.bytes() - size() : 0;
    const std::size_t asked = detail::saturating_add(round_up_to_pages(bytes), extra);
    if (asked > PTRDIFF_MAX) { return nullptr; }
    void* const mapped = ::mmap(nullptr, asked, protection, reserved_flags, -1, 0);
    if (mapped == MAP_FAILED) { return nullptr; }
    // [ lead ][ aligned ...... ][ tail ]: lead and tail go back at once.
    auto* const first = static_cast<std::byte*>(mapped);
    const std::size_t lead = detail::padding_to(reinterpret_cast<std::uintptr_t>(first), align);
    if (lead != 0) { ::munmap(first, lead); }
    if (extra > lead) {  // lead <= extra: both ends are whole pages
        ::munmap(first + lead + round_up_to_pages(bytes), extra - lead);
    }
    return first + lead;
}

}  // namespace

void* reserve(std::size_t bytes, alignment align) noexcept { return map(bytes, align, PROT_NONE); }

void* reserve_committed(std::size_t bytes, alignment align) noexcept {
    return map(bytes, align, PROT_READ | PROT_WRITE);
}

bool commit(void* address, std::size_t bytes) noexcept {
    // Pages come with the first touch, zeroed; this only says that they may. What is committed
    // already keeps its content.
    return ::mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}

void decommit(void* address, std::size_t bytes) noexcept {
    // Order matters: dropping the pages first would let a late write bring them back.
    bool done = ::mprotect(address, bytes, PROT_NONE) == 0 && drop_pages(address, bytes);
    if (!done) {  // locked pages on an old kernel: a fresh mapping over the range drops them too
        done = ::mmap(address, bytes, PROT_NONE, reserved_flags | MAP_FIXED, -1, 0) == address;
    }
    CAIRN_ASSERT(done, "the range to decommit lies inside one reservation");
}

void discard(void* address, std::size_t bytes) noexcept {
    if (!drop_pages(address, bytes)) {
        std::memset(address, 0, bytes);  // locked pages on an old kernel: they stay, but read zero
    }
}

void release(void* address, std::size_t bytes) noexcept {
    [[maybe_unused]] const bool unmapped = ::munmap(address, round_up_to_pages(bytes)) == 0;
    CAIRN_ASSERT(unmapped, "the range to release is one whole reservation");
}

bool try_resize(void* address, std::size_t old_bytes, std::size_t new_bytes) noexcept {
    auto* const first = static_cast<std::byte*>(address);
    if (new_bytes < old_bytes) {
        // munmap, not mremap: ThreadSanitizer sees it and forgets the pages.
        return ::munmap(first + new_bytes, old_bytes - new_bytes) == 0;
    }
    // Without MREMAP_MAYMOVE the kernel grows in place or refuses.
    return new_bytes <= PTRDIFF_MAX && ::mremap(address, old_bytes, new_bytes, 0) == address;
}

bool try_move(void* from, std::size_t from_bytes, void* to, std::size_t to_bytes) noexcept {
    // One call that moves and grows: what comes of it is one mapping again, and can move again
    // (before Linux 6.17 two side by side could not).
    if (::mremap(from, from_bytes, to_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to) {
        return true;
    }
    // Refused: before `to` was unmapped (then it is still there), or after.
    const void* const again =
        ::mmap(to, to_bytes, PROT_READ | PROT_WRITE, reserved_flags | MAP_FIXED_NOREPLACE, -1, 0);
    const bool has_target = again == to || (again == MAP_FAILED && errno == EEXIST);
    CAIRN_ASSERT(has_target, "pages that could not be moved still have a place to be copied to");
    if (!has_target) { std::abort(); }
    return false;
}

bool protect(void* address, std::size_t bytes, access allowed) noexcept {
    const int flags = allowed == access::none        ? PROT_NONE
                      : allowed == access::read_only ? PROT_READ
                                                     : PROT_READ | PROT_WRITE;
    return ::mprotect(address, bytes, flags) == 0;
}

bool advise_huge(void* address, std::size_t bytes, bool wanted) noexcept {
    return ::madvise(address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0;
}

namespace {

/// Writes back what each page holds. Not looked at by AddressSanitizer: a byte may be poisoned, and
/// its value does not change.
[[gnu::no_sanitize_address]] void touch_pages(void* address, std::size_t bytes) noexcept {
    auto* const first = static_cast<volatile std::byte*>(address);
    for (std::size_t offset = 0; offset < bytes; offset += size()) {
        first[offset] = first[offset];
    }
}

}  // namespace

void prefault(void* address, std::size_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
    if (::madvise(address, bytes, MADV_POPULATE_WRITE) == 0) {
        return;  // one call for all pages (Linux 5.14)
    }
#endif
    touch_pages(address, bytes);
}

void set_name(void* address, std::size_t bytes, const char* name) noexcept {
    // Fails on kernels without CONFIG_ANON_VMA_NAME, harmlessly.
    (void)::prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, bytes, name);
}

std::size_t resident_bytes(const void* address, std::size_t bytes) noexcept {
    // A byte a page, a window of 256 pages at a time: no memory is allocated to ask about memory.
    unsigned char in_memory[256];
    std::size_t resident = 0;
    const auto* page = static_cast<const std::byte*>(address);
    const std::size_t window = sizeof in_memory * size();
    for (std::size_t left = round_up_to_pages(bytes); left != 0;) {
        const std::size_t step = left < window ? left : window;
        if (::mincore(const_cast<std::byte*>(page), step, in_memory) != 0) { return resident; }
        for (std::size_t i = 0; i < step / size(); ++i) {
            resident += (in_memory[i] & 1) != 0 ? size() : 0;
        }
        page += step;
        left -= step;
    }
    return resident;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::page_memory
