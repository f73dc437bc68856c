// macOS half of cairn/os/page_memory.hpp.
//
// Untested: written from the manual pages and the XNU sources; no machine has compiled it yet.
//
// The one real difference to Linux: MADV_DONTNEED is only advice here and MADV_FREE(_REUSABLE) may
// keep the old content until memory is short. What is promised is zeros, so decommit and discard
// map fresh pages over the range, which drops the old ones at once and in one call.
#include <cairn/os/page_memory.hpp>

#include <mach/vm_statistics.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace page_memory {
namespace {

constexpr int flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE;

// Where Linux takes a name for a range, macOS takes a small number for the whole mapping: `vmmap`
// and Instruments show it as "Memory Tag 240".
constexpr int tag = VM_MAKE_TAG(VM_MEMORY_APPLICATION_SPECIFIC_1);

}  // namespace

std::size_t size() noexcept {
    static const std::size_t bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;  // 16384 on Apple silicon
}

// Superpages (VM_FLAGS_SUPERPAGE_SIZE_2MB) exist on Intel only, must be asked for when mapping and
// are wired: another kind of memory, not a wish for this one.
std::size_t huge_size() noexcept { return size(); }

std::size_t round_up_to_pages(std::size_t bytes) noexcept {
    return detail::saturating_add(bytes, size() - 1) & ~(size() - 1);
}

namespace {

void* map(std::size_t bytes, alignment align, int protection) noexcept {
    if (bytes == 0 || bytes > PTRDIFF_MAX) { return nullptr; }
    // mmap gives multiples of a page: so much more holds an aligned range, wherever it begins.
    const std::size_t extra = align.bytes() > size() ? align.bytes() - size() : 0;
    const std::size_t asked = detail::saturating_add(round_up_to_pages(bytes), extra);
    if (asked > PTRDIFF_MAX) { return nullptr; }
    void* const mapped = ::mmap(nullptr, asked, protection, flags, tag, 0);
    if (mapped == MAP_FAILED) { return nullptr; }
    // [ lead ][ aligned ...... ][ tail ]: lead and tail go back at once.
    auto* const first = static_cast<std::byte*>(mapped);
    const std::size_t lead = detail::padding_to(reinterpret_cast<std::uintptr_t>(first), align);
    if (lead != 0) { ::munmap(first, lead); }
    if (extra > lead) { ::munmap(first + lead + round_up_to_pages(bytes), extra - lead); }
    return first + lead;
}

}  // namespace

void* reserve(std::size_t bytes, alignment align) noexcept { return map(bytes, align, PROT_NONE); }

void* reserve_committed(std::size_t bytes, alignment align) noexcept {
    return map(bytes, align, PROT_READ | PROT_WRITE);
}

bool commit(void* address, std::size_t bytes) noexcept {
    return ::mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}

void decommit(void* address, std::size_t bytes) noexcept {
    [[maybe_unused]] const bool done =
        ::mmap(address, bytes, PROT_NONE, flags | MAP_FIXED, tag, 0) == address;
    CAIRN_ASSERT(done, "the range to decommit lies inside one reservation");
}

void discard(void* address, std::size_t bytes) noexcept {
    if (::mmap(address, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, tag, 0) != address) {
        std::memset(address, 0,
                    bytes);  // no fresh pages to be had: the old ones stay, but read zero
    }
}

void release(void* address, std::size_t bytes) noexcept {
    [[maybe_unused]] const bool done = ::munmap(address, round_up_to_pages(bytes)) == 0;
    CAIRN_ASSERT(done, "the range to release is one whole reservation");
}

bool try_resize(void* address, std::size_t old_bytes, std::size_t new_bytes) noexcept {
    auto* const first = static_cast<std::byte*>(address);
    if (new_bytes < old_bytes) { return ::munmap(first + new_bytes, old_bytes - new_bytes) == 0; }
    if (new_bytes > PTRDIFF_MAX) { return false; }
    // There is no mremap. The address is a hint: the system takes it when it is free.
    const std::size_t more = new_bytes - old_bytes;
    void* const got = ::mmap(first + old_bytes, more, PROT_READ | PROT_WRITE, flags, tag, 0);
    if (got == first + old_bytes) { return true; }
    // Elsewhere is no use: the addresses go back.
    if (got != MAP_FAILED) { ::munmap(got, more); }
    return false;
}

bool try_move(void*, std::size_t, void*, std::size_t) noexcept { return false; }

bool protect(void* address, std::size_t bytes, access allowed) noexcept {
    const int wanted = allowed == access::none        ? PROT_NONE
                       : allowed == access::read_only ? PROT_READ
                                                      : PROT_READ | PROT_WRITE;
    return ::mprotect(address, bytes, wanted) == 0;
}

bool advise_huge(void*, std::size_t, bool wanted) noexcept { return !wanted; }

void prefault(void* address, std::size_t bytes) noexcept {
    auto* const first = static_cast<volatile std::byte*>(address);
    for (std::size_t offset = 0; offset < bytes; offset += size()) {
        first[offset] = first[offset];
    }
}

void set_name(void*, std::size_t, const char*) noexcept {}

std::size_t resident_bytes(const void* address, std::size_t bytes) noexcept {
    char in_memory[256];
    std::size_t resident = 0;
    const auto* page = static_cast<const std::byte*>(address);
    const std::size_t window = sizeof in_memory * size();
    for (std::size_t left = round_up_to_pages(bytes); left != 0;) {
        const std::size_t step = left < window ? left : window;
        if (::mincore(const_cast<std::byte*>(page), step, in_memory) != 0) { return resident; }
        for (std::size_t i = 0; i < step / size(); ++i) {
            resident += (in_memory[i] & MINCORE_INCORE) != 0 ? size() : 0;
        }
        page += step;
        left -= step;
    }
    return resident;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::page_memory
