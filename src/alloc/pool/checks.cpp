// Questions to cairn/alloc/pool.hpp, and what checked builds look at.
#include <algorithm>
#include <cstring>
#include <functional>

#include "checks.hpp"

namespace cairn::inline CAIRN_FLAVOUR {
#if CAIRN_ASSERTS

namespace {

constexpr auto freed_byte = std::byte{0xDD};  // what a free slot is filled with

// What is true of a slot while checks run, and what is compared:
//   free    its byte in chunk::live is false, all its bytes are 0xDD, checkers have it poisoned
//   live    its byte is true
// So a second free finds false, a slot that the stack has twice finds true, and a write after a
// free is found when the slot is given out again.
// Slots are short, and a call of memset() or memcmp() costs as much as all else here together.
constexpr std::size_t short_min = 32;
constexpr std::size_t short_max = 256;
using chunk16 = unsigned long long __attribute__((vector_size(16)));
__extension__ using product = unsigned __int128;

chunk16 freed_pattern() noexcept {
    unsigned long long word = 0xDDDD'DDDD'DDDD'DDDD;
    __asm__("" : "+r"(word));  // of a known one gcc makes a call of memset()
    return chunk16{word, word};
}

void write16(std::byte* at, chunk16 value) noexcept { std::memcpy(at, &value, sizeof value); }

chunk16 difference(const std::byte* at, chunk16 pattern) noexcept {
    chunk16 seen;
    std::memcpy(&seen, at, sizeof seen);
    return seen ^ pattern;
}

// Two words at each end are all of a slot of 32 to 64 bytes: no loop.
[[gnu::always_inline]] inline void fill_short(void* slot, std::size_t size) noexcept {
    auto* const bytes = static_cast<std::byte*>(slot);
    const chunk16 pattern = freed_pattern();
    write16(bytes, pattern);
    write16(bytes + 16, pattern);
    for (std::size_t i = 32; i + 32 < size; i += 16) { write16(bytes + i, pattern); }
    write16(bytes + size - 32, pattern);
    write16(bytes + size - 16, pattern);
}

[[nodiscard]] [[gnu::always_inline]] inline bool is_short_as_freed(const void* slot,
                                                                   std::size_t size) noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    const chunk16 pattern = freed_pattern();
    chunk16 other = difference(bytes, pattern) | difference(bytes + 16, pattern);
    for (std::size_t i = 32; i + 32 < size; i += 16) { other |= difference(bytes + i, pattern); }
    other |= difference(bytes + size - 32, pattern) | difference(bytes + size - 16, pattern);
    return (other[0] | other[1]) == 0;
}

// The same for slots of any size: calls.

void fill_freed(void* slot, std::size_t size) noexcept {
    std::memset(slot, std::to_integer<int>(freed_byte), size);
}

[[nodiscard]] bool is_as_freed(const void* slot, std::size_t size) noexcept {
    const auto* const bytes = static_cast<const std::byte*>(slot);
    return bytes[0] == freed_byte && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

}  // namespace

/// The next slots are looked for in `c` first.
void pool_checks::remember(pool& p, const pool::chunk& c) noexcept {
    if (c.live == nullptr) { return; }
    p.lookup_.first = reinterpret_cast<std::uintptr_t>(c.first);
    p.lookup_.size = c.slot_count * p.stride_;
    p.lookup_.live = c.live;
    // Under Valgrind the bytes of a free slot may not be read: no short way there.
    const bool is_short = p.stride_ >= short_min && p.stride_ <= short_max && !poison_is_seen();
    p.lookup_.short_size = is_short ? p.lookup_.size : 0;
}

/// Returns: nullptr when the address lies elsewhere or inside a slot, and for slots of one byte.
inline bool* pool_checks::live_of(const pool& p, const void* slot) noexcept {
    const detail::slot_lookup& l = p.lookup_;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(slot) - l.first;
    if (offset >= l.size) [[unlikely]] { return nullptr; }
    // inverse = floor((2^64 - 1) / stride) + 1, so offset * inverse / 2^64 is offset / stride
    // rounded down wherever offset * stride < 2^64. The product back tells whether a slot begins
    // there; one of a larger chunk may be missed, and takes the other way. For a stride of 1 the
    // sum wraps to 0: only slot 0 is found, all others take the other way.
    const auto i = static_cast<std::size_t>((product{offset} * l.inverse) >> 64);
    return i * p.stride_ == offset ? l.live + i : nullptr;
}

/// `slot` is about to be given out.
void pool_checks::take(pool& p, void* slot, bool recycled) noexcept {
    const pool::chunk* const c = p.find_chunk(slot);
    CAIRN_ASSERT(c != nullptr, "a free slot lies in a chunk of its pool",
                 about(p, misuse_kind::corrupted));
    remember(p, *c);
    // An untouched slot has no pattern yet: it is whatever upstream gave.
    if (recycled) {
        unpoison_defined(slot, p.stride_);
        CAIRN_ASSERT(is_as_freed(slot, p.stride_), "a free slot is not written to",
                     about(p, misuse_kind::corrupted, {}, c, slot));
    }
    if (c->live != nullptr) {
        const std::size_t i = index(p, *c, slot);
        CAIRN_ASSERT(!is_live(*c, i), "a slot is given out once",
                     about(p, misuse_kind::corrupted, {}, c, slot));
        c->live[i] = true;
    }
    unpoison(slot, p.stride_);
}

const pool::chunk& pool_checks::expect_live(pool& p, const void* slot, call_site from) noexcept {
    const pool::chunk* const c = p.find_chunk(slot);
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
    remember(p, c);
    if (c.live != nullptr) { c.live[index(p, c, slot)] = false; }
    // Filled before it is poisoned, or the checkers would name this write.
    fill_freed(slot, p.stride_);
    poison(slot, p.stride_);
}

// Each operation has two ways: one for a slot about which all is well, in few instructions and
// without a call; and one for any slot, under any checker, with a sentence for what is wrong. The
// first changes nothing before it knows, so the second begins anew. Short slots, which most are,
// have a first way of their own.

// Apart, or their calls would cost the short ones a frame.
[[gnu::noinline]] void* pool_checks::allocate_uncommon(pool& p) noexcept {
    // short_size == size: the slots are short, and the short way has just said no.
    const detail::slot_lookup& l = p.lookup_;
    if (l.short_size != l.size && p.top_ != p.floor_ && !poison_is_seen()) {
        const detail::allocator_watch::use inside{p.watch_, &p, "pool", {}};
        void* const slot = p.top_[-1];
        bool* const live = live_of(p, slot);
        if (live != nullptr && !*live && is_as_freed(slot, p.stride_)) {
            *live = true;
            --p.top_;
            return slot;
        }
    }
    return p.allocate_any();
}
[[gnu::noinline]] void pool_checks::deallocate_uncommon(pool& p, void* slot,
                                                        call_site from) noexcept {
    const detail::slot_lookup& l = p.lookup_;
    if (l.short_size != l.size && !poison_is_seen()) {
        const detail::allocator_watch::use inside{p.watch_, &p, "pool", from};
        bool* const live = live_of(p, slot);
        if (live != nullptr && *live) {
            *live = false;
            fill_freed(slot, p.stride_);
            *p.top_++ = slot;
            return;
        }
    }
    p.deallocate_any(slot, from);
}

void* pool::checked_allocate() noexcept {
    if (watch_.inside() != nullptr || top_ == floor_) [[unlikely]] {
        return pool_checks::allocate_uncommon(*this);
    }
    // What allocator_watch::use does, written out, without its frame: the thread is noted, and
    // asked for again at the end. The slot changes only when all is known to be well.
    const void* const thread = detail::this_thread_word();
    watch_.set_inside(thread);
    void* const slot = top_[-1];
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(slot) - lookup_.first;
    bool is_well = false;
    if (offset < lookup_.short_size) [[likely]] {
        // The stack lies outside of the slots: what it holds is where a slot begins.
        bool* const live = lookup_.live + (product{offset} * lookup_.inverse >> 64);
        is_well = !*live && is_short_as_freed(slot, stride_);
        if (is_well) [[likely]] {
            *live = true;
            --top_;
        }
    }
    if (watch_.inside() != thread) [[unlikely]] {
        detail::allocator_watch::use::two_threads(watch_, this, "pool", {});
    }
    watch_.set_inside(nullptr);
    return is_well ? slot : pool_checks::allocate_uncommon(*this);
}

void pool::checked_deallocate(void* p, call_site from) noexcept {
    if (p == nullptr) [[unlikely]] { return; }
    if (watch_.inside() != nullptr) [[unlikely]] {
        return pool_checks::deallocate_uncommon(*this, p, from);
    }
    const void* const thread = detail::this_thread_word();
    watch_.set_inside(thread);
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - lookup_.first;
    bool is_well = false;
    if (offset < lookup_.short_size) [[likely]] {
        // offset = q * stride + r: the product is q * 2^64 + q * e + r * inverse, where e is below
        // the stride. So its lower half is below the inverse where r is 0: q * e is below 2^52, the
        // inverse of a short stride at least 2^56.
        const product number = product{offset} * lookup_.inverse;
        bool* const live = lookup_.live + (number >> 64);
        is_well = static_cast<std::uint64_t>(number) < lookup_.inverse && *live;
        if (is_well) [[likely]] {
            *live = false;
            fill_short(p, stride_);
            *top_++ = p;
        }
    }
    if (watch_.inside() != thread) [[unlikely]] {
        detail::allocator_watch::use::two_threads(watch_, this, "pool", from);
    }
    watch_.set_inside(nullptr);
    if (!is_well) [[unlikely]] { pool_checks::deallocate_uncommon(*this, p, from); }
}

void* pool::allocate_any() noexcept {
    const detail::allocator_watch::use inside{watch_, this, "pool", {}};
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

void* pool::checked_allocate(std::size_t size, alignment align) noexcept {
    if (size > stride_ || align > align_) { return nullptr; }
    return checked_allocate();
}

void pool::deallocate_any(void* p, call_site from) noexcept {
    const detail::allocator_watch::use inside{watch_, this, "pool", from};
    pool_checks::give(*this, p, from);
    *top_++ = p;
}

void pool::checked_deallocate(void* p, std::size_t size, alignment align, call_site from) noexcept {
    if (p == nullptr) { return; }
    CAIRN_ASSERT(size <= stride_ && align <= align_,
                 "a slot comes back with the size it was asked with",
                 {.kind = misuse_kind::wrong_size,
                  .object = this,
                  .type = "pool",
                  .name = options_.name,
                  .caller = from,
                  .values = {{"bytes of a slot", stride_}, {"bytes freed", size}}});
    checked_deallocate(p, from);
}

void pool::check_destroyed(const void* p, call_site from) noexcept {
    (void)pool_checks::expect_live(*this, p, from);
}

#endif

void pool::check_end() const noexcept {
    CAIRN_ASSERT(!options_.all_back_at_end || stats().live_count == 0,
                 "every slot comes back before the pool ends (pool_options::all_back_at_end)",
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

// ------------------------------------------------------------------------------------------------
// questions

/// Returns: the chunk that `p` lies in, or nullptr.
const pool::chunk* pool::find_chunk(const void* p) const noexcept {
    const chunk* const after =
        std::upper_bound(chunks_, chunks_ + chunk_count_, p,
                         [](const void* q, const chunk& c) { return std::less<>{}(q, c.first); });
    if (after == chunks_) { return nullptr; }
    const chunk& c = after[-1];
    // The last chunk that begins at or before p; behind its slots p lies in none.
    const auto offset =
        reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(c.first);
    return offset < c.slot_count * stride_ ? &c : nullptr;
}

pool_stats pool::stats() const noexcept {
    pool_stats s;
    const std::size_t free_count = static_cast<std::size_t>(top_ - floor_);
    s.slot_count = slot_count_;
    // Each slot is untouched, on the stack or live: what is not counted is left over.
    s.live_count = slot_count_ - untouched_count() - free_count;
    s.chunk_count = chunk_count_;
    s.upstream_size = fixed_ || chunks_ == nullptr ? 0
                                                   : slot_count_ * stride_ + embedded_size_ +
                                                         (side_is_embedded() ? 0 : side_size());
    return s;
}

void pool::validate() const noexcept {
    CAIRN_ASSERT(floor_ <= top_ && top_ <= floor_ + stack_capacity_,
                 "the stack of free slots has room for every slot");
    std::size_t slots = 0;
    std::size_t live = 0;
    bool every_bit_known = true;
    for (std::size_t i = 0; i < chunk_count_; ++i) {
        const chunk& c = chunks_[i];
        CAIRN_ASSERT(i == 0 || std::less<>{}(chunks_[i - 1].first, c.first), "chunks are sorted");
        CAIRN_ASSERT(is_aligned(c.first, align_), "slots are aligned");
        CAIRN_ASSERT(c.first <= carved_end(i) && carved_end(i) <= c.first + c.slot_count * stride_,
                     "carving stays inside its chunk");
        slots += c.slot_count;
        every_bit_known = every_bit_known && c.live != nullptr;
        live += c.live != nullptr ? pool_checks::count(c) : 0;
    }
    CAIRN_ASSERT(slots == slot_count_, "slot_count_ counts the slots of all chunks");
    for (std::size_t i = 0; i < lookahead && floor_ != nullptr; ++i) {
        CAIRN_ASSERT(floor_[-1 - static_cast<std::ptrdiff_t>(i)] == nullptr,
                     "below the stack lie null entries");
    }
    for (void* const* free = floor_; free != top_; ++free) {
        const chunk* const c = find_chunk(*free);
        CAIRN_ASSERT(c != nullptr && static_cast<std::byte*>(*free) <
                                         carved_end(static_cast<std::size_t>(c - chunks_)),
                     "a free slot lies among the carved slots of its pool");
        CAIRN_ASSERT(
            c->live == nullptr || !pool_checks::is_live(*c, pool_checks::index(*this, *c, *free)),
            "a free slot is not live");
    }
    CAIRN_ASSERT(!every_bit_known || live == stats().live_count,
                 "each carved slot is live or free, once");
    (void)live;
}

}  // namespace cairn::inline CAIRN_FLAVOUR
