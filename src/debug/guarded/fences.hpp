// The bytes around a guarded block, and the patterns in them.
//
// The life of a block, and what may be done with its bytes:
//
//     live           fences hold FD and are poisoned, a guard page faults; the user's bytes open
//     being checked  open_block(), or unpoison_fences(): the guard itself reads the patterns
//     quarantine     all of it holds its pattern and is poisoned; with a guard page all faults
//     given back     plain memory again, wholly open: take_down(), then the allocator inside
//
#pragma once

#include <cstddef>

#include <cairn/debug/guarded.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

// What bytes hold between the calls: fences, what was given out, what was freed.
constexpr int fence_byte = 0xFD;
constexpr int fresh_byte = 0xCD;
constexpr int freed_byte = 0xDD;

/// The parts of one block: [base, data) fence, [data, end) user, [end, fence_end) fence, then,
/// page-guarded, the guard page up to block_end.
struct block_parts {
    std::byte* base;
    std::byte* data;
    std::byte* end;
    std::byte* fence_end;
    std::byte* block_end;
    alignment align;
};

block_parts parts_of(const block_record& r) noexcept;

void raise_fences(const block_parts& b) noexcept;
/// Readable again, for the guard and for the next owner of the bytes.
void unpoison_fences(const block_parts& b) noexcept;
/// Requires: the fences are unpoisoned.
void check_fences(const block_record& r, const block_parts& b) noexcept;
/// Requires: the block is unpoisoned and readable.
void check_freed(const block_record& r) noexcept;
/// No access to anything between base and block_end, or all of it again.
void close_block(const block_record& r, const block_parts& b) noexcept;
void open_block(const block_record& r, const block_parts& b) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
