// Cold half of cairn/debug/guarded.hpp: all of it, since each call touches every byte of a block.
// What may be done with those bytes, and when: guarded/fences.hpp.
//
// What is found wrong is named at once and ends the program: no state has to be mended.
#include <cairn/debug/guarded.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include <cairn/core/inside/bits.hpp>
#include <cairn/core/poison.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/inside/address_place.hpp>
#include "guarded/fences.hpp"
#include "misuse.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {
guard::guard(guard_options options, allocator_ref inner) noexcept
    : inner_{inner}, options_{options} {
    if (options_.name != nullptr) {
        static constexpr allocator_type type{"guarded", &place_of};
        watch_.set_name(options_.name, this, type);
    }
    if (options_.quarantine_count != 0) {
        const std::size_t size =
            detail::saturating_multiply(options_.quarantine_count, sizeof(block_record));
        // Of the system, not of the allocator inside: that may be an arena, which a reset empties.
        void* const memory = system_memory().allocate(size, alignment::of<block_record>());
        if (memory == nullptr) {
            options_.quarantine_count = 0;  // no quarantine then: freed blocks go back at once
            return;
        }
        quarantine_ = static_cast<block_record*>(memory);
        for (std::size_t i = 0; i < options_.quarantine_count; ++i) {
            ::new (&quarantine_[i]) block_record{};
        }
    }
}

guard::~guard() {
    // The quarantine first: its blocks are checked a last time and go back to the allocator inside,
    // which outlives the guard.
    while (quarantined_count_ != 0) { leave_quarantine(quarantine_oldest_); }
    if (quarantine_ != nullptr) {
        system_memory().deallocate(quarantine_, options_.quarantine_count * sizeof(block_record),
                                   alignment::of<block_record>());
    }
    // What is still live was forgotten by its owner; but its guard pages would outlive the guard.
    forget_since(0);
}

void* guard::allocate(std::size_t size, alignment align,
                      const std::source_location& where) noexcept {
    const bool page_guarded =
        options_.page_guard_every != 0 && (next_serial_ + 1) % options_.page_guard_every == 0;
    if (size > PTRDIFF_MAX) { return nullptr; }
    const footprint f = footprint_of(size, align, page_guarded);
    auto* const base = static_cast<std::byte*>(inner_.allocate(f.size, f.align, call_site{where}));
    if (base == nullptr) { return nullptr; }
    const block_record record{.data = base + f.front,
                              .size = size,
                              .serial = next_serial_,
                              .where = where,
                              .align = align,
                              .page_guarded = page_guarded};
    const block_parts b = parts_of(record);
    // The record before the fences: without one the block could not be checked, and is given back
    // untouched.
    if (!blocks_.insert(record)) {
        inner_.deallocate(base, f.size, f.align);
        return nullptr;
    }
    if (page_guarded &&
        !page_memory::protect(b.fence_end, page_memory::size(), page_memory::access::none)) {
        blocks_.erase(blocks_.find(record.data));
        inner_.deallocate(base, f.size, f.align);
        return nullptr;
    }
    // Counted only now, so that a refused request takes no serial, and every n-th block stays the
    // n-th.
    ++next_serial_;
    std::memset(b.data, fresh_byte, size);
    raise_fences(b);
    return b.data;
}

block_record* guard::live_block(void* p, std::size_t size, alignment align,
                                const std::source_location& where) noexcept {
    block_record* const known = blocks_.find(p);
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (known == nullptr) {
        // The last 64 frees. The address may have been given out again since: then it is live, and
        // this is not reached. An empty record has data nullptr.
        for (const block_record& r : recent_) {
            if (r.data == p && p != nullptr) {
                misuse(misuse_kind::double_free, where, "a block is freed once",
                       "0x%zx (%zu bytes) was freed before, by %s:%u", address, r.size,
                       r.where.file_name(), static_cast<unsigned>(r.where.line()));
            }
        }
        misuse(misuse_kind::foreign_pointer, where, "a block that comes back was given out here",
               "0x%zx, freed with %zu bytes, is no live block", address, size);
    }
    if (known->size != size) {
        misuse(misuse_kind::wrong_size, where,
               "a block is freed with the size it was allocated with",
               "0x%zx has %zu bytes (allocated by %s:%u) and is freed as %zu", address, known->size,
               file_of(known->where), static_cast<unsigned>(known->where.line()), size);
    }
    if (known->align != align) {
        misuse(misuse_kind::wrong_size, where,
               "a block is freed with the alignment it was allocated with",
               "0x%zx is aligned to %zu (allocated by %s:%u) and is freed as %zu", address,
               known->align.bytes(), file_of(known->where),
               static_cast<unsigned>(known->where.line()), align.bytes());
    }
    return known;
}

void guard::deallocate(void* p, std::size_t size, alignment align,
                       const std::source_location& where) noexcept {
    if (p == nullptr) { return; }
    block_record* const known = live_block(p, size, align, where);
    block_record record = *known;
    const block_parts b = parts_of(record);
    unpoison_fences(b);
    check_fences(record, b);
    // The record is copied: erase() moves others into its place.
    blocks_.erase(known);
    record.where = where;  // from now on: who freed it
    recent_[recent_next_] = record;
    recent_next_ = (recent_next_ + 1) % recent_max;
    std::memset(b.data, freed_byte, size);
    if (options_.quarantine_count == 0) {
        give_back(record);
        return;
    }
    // A ring: the oldest leaves when it is full, and the new one takes the place behind the last.
    if (quarantined_count_ == options_.quarantine_count) { leave_quarantine(quarantine_oldest_); }
    quarantine_[(quarantine_oldest_ + quarantined_count_) % options_.quarantine_count] = record;
    ++quarantined_count_;
    describe_freed(
        quarantine_[(quarantine_oldest_ + quarantined_count_ - 1) % options_.quarantine_count]);
    close_block(record, b);
}

/// Valgrind says who freed a block that is read or written in quarantine.
void guard::describe_freed(block_record& record) const noexcept {
    // AddressSanitizer asks place_of() instead, in the middle of its report.
    if (detail::poison_is_seen() && !detail::poison_is_queryable) {
        char text[512];
        std::snprintf(text, sizeof text, "guarded '%s', freed by %s:%u",
                      options_.name != nullptr ? options_.name : "memory", record.where.file_name(),
                      static_cast<unsigned>(record.where.line()));
        record.description = detail::describe_memory(record.data, record.size, text);
    }
}

void guard::leave_quarantine(std::size_t index) noexcept {
    // Out of the ring before it is checked, so that the ring is whole whatever the checks find.
    const block_record record = quarantine_[index];
    quarantine_[index] = block_record{};
    quarantine_oldest_ = (quarantine_oldest_ + 1) % options_.quarantine_count;
    --quarantined_count_;
    if (record.data == nullptr) {
        return;  // a rewind or reset took it from here
    }
    const block_parts b = parts_of(record);
    // Both kinds of damage: a late write beside the block, and one into it.
    open_block(record, b);
    check_fences(record, b);
    check_freed(record);
    give_back(record);
}

void guard::give_back(const block_record& record) noexcept {
    const block_parts b = parts_of(record);
    take_down(record);
    inner_.deallocate(b.base, static_cast<std::size_t>(b.block_end - b.base), b.align);
}

/// The block becomes plain memory of the allocator inside again.
void guard::take_down(const block_record& record) noexcept {
    const block_parts b = parts_of(record);
    detail::forget_description(record.description);
    if (record.page_guarded) {
        (void)page_memory::protect(b.fence_end, page_memory::size(),
                                   page_memory::access::read_write);
    }
    unpoison(b.base, static_cast<std::size_t>(b.block_end - b.base));
}

bool guard::try_resize(void* p, std::size_t old_size, std::size_t new_size, alignment align,
                       const std::source_location& where) noexcept {
    block_record* const known = live_block(p, old_size, align, where);
    const block_parts b = parts_of(*known);
    // A guard page is where the block ends: it cannot move.
    if (known->page_guarded || new_size > PTRDIFF_MAX) { return false; }
    unpoison_fences(b);
    check_fences(*known, b);
    // before   | fence | old_size           | fence |         the old end fence is checked, and may
    // after    | fence | new_size ................. | fence |    become the user's bytes
    // The front does not depend on the size, so `data` stays.
    const footprint now = footprint_of(new_size, align, false);
    const bool resized = inner_.try_resize(b.base, static_cast<std::size_t>(b.block_end - b.base),
                                           now.size, b.align);
    if (resized) {
        known->size = new_size;
        if (new_size > old_size) {
            std::memset(b.data + old_size, fresh_byte, new_size - old_size);
        }
    }
    // Around the new size, or the old one again.
    raise_fences(parts_of(*known));
    return resized;
}

void guard::forget_since(std::uint64_t serial) noexcept {
    // The allocator inside forgets these blocks as a whole, by a rewind or a reset: they are
    // checked and opened, and not given back one by one. What was freed but waits in quarantine is
    // among them; its place in the ring stays, empty.
    blocks_.erase_since(serial, [this](const block_record& r) {
        const block_parts b = parts_of(r);
        unpoison_fences(b);
        check_fences(r, b);
        take_down(r);
    });
    for (std::size_t i = 0; i < quarantined_count_; ++i) {
        block_record& r = quarantine_[(quarantine_oldest_ + i) % options_.quarantine_count];
        if (r.data != nullptr && r.serial >= serial) {
            const block_parts b = parts_of(r);
            open_block(r, b);
            check_fences(r, b);
            check_freed(r);
            take_down(r);
            r = block_record{};
        }
    }
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
