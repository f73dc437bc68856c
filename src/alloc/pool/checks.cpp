// What checked builds of cairn/alloc/pool.hpp look at. Questions to a pool are in questions.cpp.
#include <cstring>

#include "checks.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
#if CAIRN_ASSERTS

namespace {

// What is true of a slot while checks run, and what is compared:
//   free    its byte in chunk::live is false, all its bytes are 0xDD, checkers have it poisoned
//   live    its byte is true; it was written to since it was free
// So a second free finds false, a slot that the stack has twice finds true or another byte, and a
// write after a free is found when the slot is given out again.
// As detail::fill_short_slot() and is_short_slot_as_filled(), for slots of any size.

void fill_freed(void* slot, std::size_t size) noexcept {
    std::memset(slot, detail::freed_slot_byte, size);
}

[[nodiscard]] bool is_as_freed(const void* slot, std::size_t size) noexcept {
    const auto* const bytes = static_cast<const unsigned char*>(slot);
    return bytes[0] == detail::freed_slot_byte && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

[[nodiscard]] bool is_short(std::size_t size) noexcept { return size >= 16 && size <= 256; }

}  // namespace

/// The next slots near `slot` are looked for in `c` first. Requires: `slot` lies in `c`.
void pool_checks::remember(pool& p, const pool::chunk& c, const void* slot) noexcept {
    if (c.live == nullptr) { return; }
    const std::size_t size = c.slot_count * p.stride_;
    const unsigned shift = detail::seen_chunks::shift_for(size);
    if (shift > p.seen_.shift) {
        p.seen_ = detail::seen_chunks{p.stride_};
        p.seen_.shift = shift;
    }
    // Where a memory checker watches, the bytes of a free slot may not be read.
    p.seen_.remember({reinterpret_cast<std::uintptr_t>(c.first), size,
                      is_short(p.stride_) && !detail::poison_is_seen() ? size : 0, c.live},
                     slot);
}

/// Returns: nullptr when the address lies elsewhere or inside a slot, and for slots of one byte.
bool* pool_checks::live_of(pool& p, const void* slot) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(slot);
    const detail::seen_chunk* seen = &p.seen_.at(slot);
    if (address - seen->first >= seen->size) {
        const pool::chunk* const c = p.find_chunk(slot);
        if (c == nullptr || c->live == nullptr) [[unlikely]] { return nullptr; }
        remember(p, *c, slot);
        seen = &p.seen_.at(slot);
    }
    // The number may be wrong for a slot of a very large chunk, and for slots of one byte. The
    // product finds that out; expect_live() and take() then divide.
    const std::size_t distance = address - seen->first;
    const std::size_t i = p.seen_.number(distance);
    return i * p.stride_ == distance ? seen->live + i : nullptr;
}

/// `slot` is about to be given out.
void pool_checks::take(pool& p, void* slot, bool recycled) noexcept {
    const pool::chunk* const c = p.find_chunk(slot);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool",
                 about(p, misuse_kind::corrupted));
    remember(p, *c, slot);
    // First: one that was given out is written to, too.
    if (c->live != nullptr) {
        const std::size_t i = index(p, *c, slot);
        CAIRN_ASSERT(!is_live(*c, i), "a slot is given out once",
                     about(p, misuse_kind::corrupted, {}, c, slot));
        c->live[i] = true;
    }
    // An untouched slot has no pattern yet: it is whatever upstream gave.
    if (recycled) {
        detail::unpoison_defined(slot, p.stride_);
        CAIRN_ASSERT(is_as_freed(slot, p.stride_), "a free slot is not written to",
                     about(p, misuse_kind::corrupted, {}, c, slot));
    }
    unpoison(slot, p.stride_);
}

const pool::chunk& pool_checks::expect_live(pool& p, const void* slot, call_site from) noexcept {
    const pool::chunk* const c = p.find_chunk(slot);
    if (c == nullptr) { p.watch_.expect_not_ended(&p, "pool"); }
    CAIRN_ASSERT(c != nullptr, "a slot comes back to the pool that gave it out",
                 about(p, misuse_kind::foreign_pointer, from));
    const std::size_t i = index(p, *c, slot);
    CAIRN_ASSERT(c->first + i * p.stride_ == slot,
                 "a slot comes back by the address it was given out with",
                 about(p, misuse_kind::foreign_pointer, from, c, slot));
    if (c->live != nullptr) {
        CAIRN_ASSERT(pool_checks::is_live(*c, i), "a slot is freed once",
                     about(p, misuse_kind::double_free, from, c, slot));
    }
    return *c;
}

/// `slot` came back.
void pool_checks::give(pool& p, void* slot, call_site from) noexcept {
    const pool::chunk& c = expect_live(p, slot, from);
    remember(p, c, slot);
    if (c.live != nullptr) { c.live[index(p, c, slot)] = false; }
    // Filled before it is poisoned, or the checkers would name this write.
    fill_freed(slot, p.stride_);
    poison(slot, p.stride_);
}

void* pool::allocate_checked() noexcept {
    if (void* const slot = allocate_short(); slot != nullptr) { return slot; }
    const bool recycled = top_ != floor_;
    if (detail::poison_is_seen() || (!recycled && carve_ == carve_end_)) { return allocate_any(); }
    void* const slot = recycled ? top_[-1] : carve_;
    bool* const live = pool_checks::live_of(*this, slot);
    // An untouched slot has no pattern yet: its bytes are those that the upstream gave.
    if (live == nullptr || *live || (recycled && !is_as_freed(slot, stride_))) [[unlikely]] {
        (void)allocate_any();  // gives out the same slot, or stops
    } else {
        *live = true;
        if (recycled) {
            --top_;
        } else {
            carve_ += stride_;
        }
    }
    if (recycled && is_short(stride_)) { detail::mark_given_out(slot); }
    return slot;
}

void pool::deallocate_checked(void* p, call_site from) noexcept {
    if (p == nullptr || deallocate_short(p)) { return; }
    bool* const live = pool_checks::live_of(*this, p);
    if (live != nullptr && *live && !detail::poison_is_seen()) {
        *live = false;
        fill_freed(p, stride_);
    } else {
        pool_checks::give(*this, p, from);
    }
    *top_++ = p;
}

/// By all that the memory checkers and the sentences ask for.
void* pool::allocate_any() noexcept {
    const bool recycled = top_ != floor_;
    if (!recycled && carve_ == carve_end_) { return allocate_in_next_chunk(); }
    void* p = carve_;
    if (recycled) {
        p = *--top_;
    } else {
        carve_ += stride_;
    }
    pool_checks::take(*this, p, recycled);
    return p;
}

void pool::deallocate_checked(void* p, std::size_t size, alignment align, call_site from) noexcept {
    if (p == nullptr) { return; }
    CAIRN_ASSERT(size <= stride_, "a slot comes back with the size it was asked with",
                 {.kind = misuse_kind::wrong_size,
                  .object = this,
                  .type = "pool",
                  .name = options_.name,
                  .caller = from,
                  .values = {{"bytes of a slot", stride_}, {"bytes freed", size}}});
    CAIRN_ASSERT(
        align <= align_, "a slot comes back with the alignment it was asked with",
        {.kind = misuse_kind::wrong_size,
         .object = this,
         .type = "pool",
         .name = options_.name,
         .caller = from,
         .values = {{"alignment of a slot", align_.bytes()}, {"alignment freed", align.bytes()}}});
    deallocate_checked(p, from);
}

void pool::begin_destruction(const void* p, call_site from) noexcept {
    (void)pool_checks::expect_live(*this, p, from);
    if (bool* const live = pool_checks::live_of(*this, p)) { *live = false; }
}

void pool::end_destruction(const void* p) noexcept {
    if (bool* const live = pool_checks::live_of(*this, p)) { *live = true; }
}

#endif

void pool::check_end() const noexcept {
    CAIRN_ASSERT(!options_.all_back_at_end || stats().live_count == 0,
                 "every slot comes back before the pool ends (pool::options::all_back_at_end)",
                 {.kind = misuse_kind::leak,
                  .object = this,
                  .type = "pool",
                  .name = options_.name,
                  .values = {{"live slots", stats().live_count}}});
}

void pool::check_objects_end() const noexcept {
    CAIRN_ASSERT(
        stats().live_count == 0,
        "every object is destroyed before its pool ends (destroy_all), or dropped by reset()",
        {.kind = misuse_kind::leak,
         .object = this,
         .type = "pool_of",
         .name = options_.name,
         .values = {{"live objects", stats().live_count}}});
}

void pool::set_name(const char* name) noexcept {
    options_.name = name;
    static constexpr detail::allocator_type type{"pool", &pool_checks::place_of};
    watch_.set_name(name, this, type);
    for (std::size_t i = 0; i < chunk_count_; ++i) { pool_checks::describe(*this, chunks_[i]); }
}

/// Slots are numbered by address, over all chunks.
detail::address_place pool_checks::place_of(const void* object, const void* address) noexcept {
    const pool& p = *static_cast<const pool*>(object);
    const pool::chunk* const c = p.find_chunk(address);
    if (c == nullptr) { return {}; }
    const std::size_t i = index(p, *c, address);
    const std::byte* const slot = c->first + i * p.stride_;
    const bool carved = slot < p.carved_end(static_cast<std::size_t>(c - p.chunks_));
    return {.inside = true,
            .unit = "slot",
            .index = number(p, *c, address),
            .offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - slot),
            .size = p.stride_,
            .state = !carved                                ? "not given out since the last reset"
                     : c->live == nullptr || is_live(*c, i) ? "live"
                                                            : "freed"};
}

}}  // namespace cairn::CAIRN_FLAVOUR
