// cairn/os/page_memory.hpp - address space and pages, straight from the operating system.
//
//      reserve(8 GiB)
//      |------------------------------------------------------------------|  addresses, no memory
//      commit(first 1 MiB)
//      |##########|-------------------------------------------------------|  pages on first touch
//      decommit(...)                                                          memory goes back, the
//      |-----|----|-------------------------------------------------------|  addresses stay
//      release(all)                                                           addresses go back
//
// Reserving costs no memory, so a container can own the addresses of its worst case and never
// move. This is the only place with system calls for memory; src/os/ has one file per system.
//
// Requires, everywhere: addresses and sizes are multiples of size() unless a line says otherwise,
//   and lie inside one live reservation.
// Cost:    one system call each (microseconds), never on a hot path; the first touch of each fresh
//          page costs a fault: about 1.3 microseconds for 4 KiB, 76 for a huge page of 2 MiB.
// Threads: any, on disjoint ranges.
//
//                 Linux                        macOS                      Windows
//   reserve       mmap PROT_NONE               mmap PROT_NONE             VirtualAlloc MEM_RESERVE
//   commit        mprotect                     mprotect                   VirtualAlloc MEM_COMMIT
//   decommit      mprotect, MADV_DONTNEED      mmap MAP_FIXED             VirtualFree MEM_DECOMMIT
//   discard       MADV_DONTNEED                mmap MAP_FIXED             decommit and commit
//   try_move      mremap MREMAP_FIXED          refused                    refused
//   huge pages    MADV_HUGEPAGE                refused: only when mapped  refused: need a privilege
//   names         PR_SET_VMA_ANON_NAME         one tag for all            none
#pragma once

#include <cstddef>

#include <cairn/core/alignment.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// How pages are asked for: `page_allocator{{.huge_pages = true, .name = "levels"}}`,
/// `map.reserve_address_space(1'000'000, {.prefault = true})`.
struct page_options {
    bool huge_pages = false;     // ranges of a huge page or more are aligned to one and advised
    bool prefault = false;       // pages are touched when they get memory: no fault later
    const char* name = nullptr;  // shown in /proc/self/maps, where the kernel can; a literal
};

namespace page_memory {

/// Bytes in a page: 4096 on most machines, 16384 on Apple silicon. Asked once, then cached.
[[nodiscard]] std::size_t size() noexcept;

/// Bytes in a transparent huge page, 2 MiB on x86-64; size() where there are none.
[[nodiscard]] std::size_t huge_size() noexcept;

/// `bytes` rounded up to whole pages; saturates at the last whole page below SIZE_MAX.
[[nodiscard]] std::size_t round_up_to_pages(std::size_t bytes) noexcept;

/// Reserves addresses without memory behind them; touching them faults.
/// `align` may exceed a page (a huge page, a chunk of a pool).
/// Returns: nullptr when the system refuses.
[[nodiscard]] void* reserve(std::size_t bytes, alignment align = alignment{1}) noexcept;

/// reserve() and commit() of all of it: one system call where the system has one for both.
/// Returns: nullptr when the system refuses either; nothing has changed then.
[[nodiscard]] void* reserve_committed(std::size_t bytes, alignment align = alignment{1}) noexcept;

/// Makes reserved pages readable and writable; they read as zero at first. Committing
/// committed pages is allowed and keeps their content.
/// Returns: false when the system refuses (commit limit); some of the pages may be committed then.
[[nodiscard]] bool commit(void* address, std::size_t bytes) noexcept;

/// Gives the memory back and keeps the addresses reserved; touching them faults again.
void decommit(void* address, std::size_t bytes) noexcept;

/// Lets the system take the memory back and keeps the pages usable: they read as zero next time.
/// Requires: the range is committed and readable and writable.
/// Windows: takes the pages away and asks for them again; aborts when another process has taken
///          the last of the commit limit in between.
void discard(void* address, std::size_t bytes) noexcept;

/// Gives addresses and memory back. `address` and `bytes` are those of reserve() (or of the last
/// try_resize()).
/// Requires: nothing in the range is still poisoned (core/poison.hpp): the addresses may come back
///           as any memory. Left to the caller, who knows which part of it was ever used.
void release(void* address, std::size_t bytes) noexcept;

/// Grows or shrinks a wholly committed reservation in place; grown pages are committed and zero.
/// Shrinking gives the addresses back too, except on Windows, where they go with release().
/// Returns: false when the addresses behind it are taken or the system refuses; nothing has
///          changed then. Windows grows only what was shrunk before.
[[nodiscard]] bool try_resize(void* address, std::size_t old_bytes, std::size_t new_bytes) noexcept;

/// The pages of `from` become the first ones of `to`, without a copy, and the addresses of `from`
/// go back. What `to` held is lost; behind the moved pages it reads zero.
/// Requires: two whole reservations, wholly committed; from_bytes <= to_bytes.
/// Returns: false when the system cannot; `from` is unchanged then, and what `to` held may be lost.
///          Only Linux can. Aborts when another thread has taken the addresses of `to` while the
///          system changed its mind, which it does not with memory left.
[[nodiscard]] bool try_move(void* from, std::size_t from_bytes, void* to,
                            std::size_t to_bytes) noexcept;

enum class access { none, read_only, read_write };

/// Changes what may be done with committed pages; `access::none` makes a guard page.
/// Returns: false when the system refuses.
[[nodiscard]] bool protect(void* address, std::size_t bytes, access allowed) noexcept;

/// Asks for huge pages (or no longer) behind the range. A wish: systems without them ignore it.
/// Returns: true when the system accepted the wish.
bool advise_huge(void* address, std::size_t bytes, bool wanted = true) noexcept;

/// Touches every page now, so that no first-touch fault happens later. O(pages), about 1.3
/// microseconds each.
void prefault(void* address, std::size_t bytes) noexcept;

/// Gives the range a name in /proc/self/maps, where the kernel can (Linux 5.17+). A wish.
void set_name(void* address, std::size_t bytes, const char* name) noexcept;

/// How many bytes of the range are in physical memory now; 0 where the system cannot tell.
/// For tests and the lab.
[[nodiscard]] std::size_t resident_bytes(const void* address, std::size_t bytes) noexcept;

}  // namespace page_memory
}}  // namespace cairn::CAIRN_FLAVOUR
