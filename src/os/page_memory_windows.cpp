// Windows half of cairn/os/page_memory.hpp.
//
// Windows itself separates reserving from committing, so most calls are one call. Two things differ
// from the others: a reservation can only be released whole (so an aligned one cannot be cut out of
// a larger one), and pages are decommitted, not merely emptied.
#include <cairn/os/page_memory.hpp>

#include "windows_api.hpp"

#include <cstdint>

#include <cairn/core/assert.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/or_abort.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace page_memory {
namespace {

struct system_sizes {
    std::size_t page;         // 4096
    std::size_t granularity;  // 65536: every reservation begins at a multiple of it
};

const system_sizes& sizes() noexcept {
    static const system_sizes cached = [] {
        SYSTEM_INFO info;
        ::GetSystemInfo(&info);
        return system_sizes{info.dwPageSize, info.dwAllocationGranularity};
    }();
    return cached;
}

}  // namespace

std::size_t size() noexcept { return sizes().page; }

// Large pages must be asked for when memory is committed, by a user with SeLockMemoryPrivilege, and
// are never paged out. That is another kind of memory, not a wish for this one.
std::size_t huge_size() noexcept { return size(); }

std::size_t round_up_to_pages(std::size_t bytes) noexcept {
    return detail::saturating_add(bytes, size() - 1) & ~(size() - 1);
}

void* reserve(std::size_t bytes, alignment align) noexcept {
    if (bytes == 0 || bytes > PTRDIFF_MAX) { return nullptr; }
    const std::size_t wanted = round_up_to_pages(bytes);
    // Every reservation begins at a multiple of 64 KiB anyway.
    if (align.bytes() <= sizes().granularity) {
        return ::VirtualAlloc(nullptr, wanted, MEM_RESERVE, PAGE_NOACCESS);
    }
    const std::size_t roomy = detail::saturating_add(wanted, align.bytes());
    if (roomy > PTRDIFF_MAX) { return nullptr; }
    // Reserve enough to hold an aligned range, release it, and reserve the aligned range at that
    // address. Another thread may take it in between; then there is another room to try.
    // (VirtualAlloc2 does it in one call, but is not everywhere: Windows 10 1803.)
    for (int attempt = 0; attempt < 16; ++attempt) {
        void* const room = ::VirtualAlloc(nullptr, roomy, MEM_RESERVE, PAGE_NOACCESS);
        if (room == nullptr) { return nullptr; }
        auto* const first = static_cast<std::byte*>(room);
        std::byte* const aligned =
            first + detail::padding_to(reinterpret_cast<std::uintptr_t>(first), align);
        ::VirtualFree(room, 0, MEM_RELEASE);
        if (void* const result = ::VirtualAlloc(aligned, wanted, MEM_RESERVE, PAGE_NOACCESS)) {
            return result;
        }
    }
    return nullptr;
}

void* reserve_committed(std::size_t bytes, alignment align) noexcept {
    void* const first = reserve(bytes, align);
    if (first != nullptr && !commit(first, round_up_to_pages(bytes))) {
        release(first, bytes);
        return nullptr;
    }
    return first;
}

bool commit(void* address, std::size_t bytes) noexcept {
    // Committing committed pages is allowed and keeps their content, but not their protection.
    return ::VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

void decommit(void* address, std::size_t bytes) noexcept {
    [[maybe_unused]] const bool done = ::VirtualFree(address, bytes, MEM_DECOMMIT) != 0;
    CAIRN_ASSERT(done, "the range to decommit lies inside one reservation");
}

void discard(void* address, std::size_t bytes) noexcept {
    // MEM_RESET and DiscardVirtualMemory keep the pages but leave their content open; ours is zero.
    decommit(address, bytes);
    for (int attempt = 0; !commit(address, bytes); ++attempt) {
        // The bytes that were ours a moment ago have gone to another process. The pages have to be
        // usable, so there is nothing to return to: wait a little, then give up.
        if (attempt == 100) { detail::out_of_memory(bytes, alignment{size()}); }
        ::Sleep(1);
    }
}

void release(void* address, std::size_t) noexcept {
    [[maybe_unused]] const bool done = ::VirtualFree(address, 0, MEM_RELEASE) != 0;
    CAIRN_ASSERT(done, "the range to release is one whole reservation");
}

bool try_resize(void* address, std::size_t old_bytes, std::size_t new_bytes) noexcept {
    auto* const first = static_cast<std::byte*>(address);
    if (new_bytes < old_bytes) {
        decommit(first + new_bytes, old_bytes - new_bytes);  // the addresses go with release()
        return true;
    }
    if (new_bytes > PTRDIFF_MAX) { return false; }
    // Only into pages of the same reservation: behind it may lie other memory, and
    // committing there would succeed.
    MEMORY_BASIC_INFORMATION behind;
    if (::VirtualQuery(first + old_bytes, &behind, sizeof behind) != sizeof behind ||
        behind.AllocationBase != address || behind.State != MEM_RESERVE ||
        behind.RegionSize < new_bytes - old_bytes) {
        return false;
    }
    return commit(first + old_bytes, new_bytes - old_bytes);
}

bool try_move(void*, std::size_t, void*, std::size_t) noexcept { return false; }

bool protect(void* address, std::size_t bytes, access allowed) noexcept {
    const DWORD wanted = allowed == access::none        ? DWORD{PAGE_NOACCESS}
                         : allowed == access::read_only ? DWORD{PAGE_READONLY}
                                                        : DWORD{PAGE_READWRITE};
    DWORD before = 0;
    return ::VirtualProtect(address, bytes, wanted, &before) != 0;
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
    PSAPI_WORKING_SET_EX_INFORMATION pages[64];
    const auto* page = static_cast<const std::byte*>(address);
    std::size_t resident = 0;
    // 64 pages a question: no memory is allocated to ask about memory.
    for (std::size_t left = round_up_to_pages(bytes) / size(); left != 0;) {
        const std::size_t count = left < 64 ? left : 64;
        for (std::size_t i = 0; i < count; ++i) {
            pages[i].VirtualAddress = const_cast<std::byte*>(page + i * size());
        }
        if (::K32QueryWorkingSetEx(::GetCurrentProcess(), pages,
                                   static_cast<DWORD>(count * sizeof pages[0])) == 0) {
            return resident;
        }
        for (std::size_t i = 0; i < count; ++i) {
            resident += pages[i].VirtualAttributes.Valid ? size() : 0;
        }
        page += count * size();
        left -= count;
    }
    return resident;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::page_memory
