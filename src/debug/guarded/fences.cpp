#include "fences.hpp"

#include <cstdint>
#include <cstring>

#include <cairn/core/inside/bits.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_memory.hpp>

#include "../misuse.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
namespace {

/// Offset of the first byte that does not hold `byte`, or `size`.
std::size_t first_other(const std::byte* data, std::size_t size, int byte) noexcept {
    std::size_t i = 0;
    while (i < size && data[i] == static_cast<std::byte>(byte)) { ++i; }
    return i;
}

}  // namespace

guard::footprint guard::footprint_of(std::size_t size, alignment align,
                                     bool page_guarded) noexcept {
    // plain        | front: align bytes | size | 16 |      front >= 16: data is aligned and fenced
    // page guard   | front | size | less than align | guard page |  ends as late as align lets it
    if (!page_guarded) {
        if (align.bytes() < fence_size) { align = alignment{fence_size}; }
        const std::size_t front = align.bytes();
        return {detail::saturating_add(detail::saturating_add(size, front), fence_size), align,
                front};
    }
    const std::size_t page = page_memory::size();
    // For size 0 a page all the same: `data` has an address in the block, or where its guard page
    // begins.
    const std::size_t pages = page_memory::round_up_to_pages(size != 0 ? size : 1);
    const std::size_t front = round_down(pages - size, align);
    return {detail::saturating_add(pages, page), align.bytes() < page ? alignment{page} : align,
            front};
}

block_parts parts_of(const block_record& r) noexcept {
    // Computed anew from the record at each look: so a record need not hold it, and the sizes that
    // are asked for and given back are the same.
    const guard::footprint f = guard::footprint_of(r.size, r.align, r.page_guarded);
    std::byte* const base = r.data - f.front;
    std::byte* const block_end = base + f.size;
    return {base,
            r.data,
            r.data + r.size,
            r.page_guarded ? block_end - page_memory::size() : block_end,
            block_end,
            f.align};
}

void raise_fences(const block_parts& b) noexcept {
    std::memset(b.base, fence_byte, static_cast<std::size_t>(b.data - b.base));
    std::memset(b.end, fence_byte, static_cast<std::size_t>(b.fence_end - b.end));
    // Written before they are poisoned.
    poison(b.base, static_cast<std::size_t>(b.data - b.base));
    poison(b.end, static_cast<std::size_t>(b.fence_end - b.end));
}

void unpoison_fences(const block_parts& b) noexcept {
    detail::unpoison_defined(b.base, static_cast<std::size_t>(b.data - b.base));
    detail::unpoison_defined(b.end, static_cast<std::size_t>(b.fence_end - b.end));
}

void check_fences(const block_record& r, const block_parts& b) noexcept {
    const auto front = static_cast<std::size_t>(b.data - b.base);
    const auto back = static_cast<std::size_t>(b.fence_end - b.end);
    if (const std::size_t i = first_other(b.base, front, fence_byte); i != front) {
        misuse(misuse_kind::corrupted, r.where, "the bytes in front of a block stay as they are",
               "a byte %zu in front of 0x%zx (%zu bytes, allocated here) was overwritten with %02x",
               front - i, reinterpret_cast<std::uintptr_t>(b.data), r.size,
               std::to_integer<unsigned>(b.base[i]));
    }
    if (const std::size_t i = first_other(b.end, back, fence_byte); i != back) {
        misuse(misuse_kind::corrupted, r.where, "the bytes behind a block stay as they are",
               "byte %zu of 0x%zx (%zu bytes, allocated here) was overwritten with %02x",
               r.size + i, reinterpret_cast<std::uintptr_t>(b.data), r.size,
               std::to_integer<unsigned>(b.end[i]));
    }
}

void check_freed(const block_record& r) noexcept {
    if (const std::size_t i = first_other(r.data, r.size, freed_byte); i != r.size) {
        misuse(misuse_kind::corrupted, r.where, "a block that was freed stays as it is",
               "byte %zu of 0x%zx (%zu bytes, freed here) was overwritten with %02x", i,
               reinterpret_cast<std::uintptr_t>(r.data), r.size,
               std::to_integer<unsigned>(r.data[i]));
    }
}

void close_block(const block_record& r, const block_parts& b) noexcept {
    // A page guard takes the whole block away, its pages belong to it alone: then reads fault, too,
    // under no checker.
    poison(b.base, static_cast<std::size_t>(b.fence_end - b.base));
    if (r.page_guarded) {
        (void)page_memory::protect(b.base, static_cast<std::size_t>(b.block_end - b.base),
                                   page_memory::access::none);
    }
}
void open_block(const block_record& r, const block_parts& b) noexcept {
    if (r.page_guarded) {
        (void)page_memory::protect(b.base, static_cast<std::size_t>(b.block_end - b.base),
                                   page_memory::access::read_write);
    }
    detail::unpoison_defined(b.base, static_cast<std::size_t>(b.fence_end - b.base));
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
