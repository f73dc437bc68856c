// Blocks of whole units of cairn/alloc/concurrent_heap.hpp, and what slots and they have in common.
#include <cairn/alloc/concurrent_heap.hpp>

#include <cstring>

#include <cairn/alloc/inside/byte_credits.hpp>

#include "heap_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

using detail::unit_map;
using detail::unit_size;

constexpr std::size_t units_for(std::size_t size) noexcept {
    return size / unit_size + (size % unit_size != 0 || size == 0 ? 1 : 0);
}

/// True for a block that has a segment of its own.
bool is_apart(std::size_t size, alignment align) noexcept {
    return size > detail::unit_store::shared_max || align.bytes() > unit_size;
}

}  // namespace

void* concurrent_heap::allocate_large(std::size_t size, alignment align) noexcept {
    watch_.expect_not_ended(this, "concurrent_heap");
    if (size > PTRDIFF_MAX) { return nullptr; }
    const std::size_t whole = units_for(size) * unit_size;
    if (limit_ != nullptr && !limit_->pay_shared(nullptr, whole)) { return nullptr; }
    const auto take = [&]() noexcept {
        return is_apart(size, align) ? units_.take_block(size, align)
                                     : units_.take(units_for(size));
    };
    record* r = take();
    if (r == nullptr) {
        // Waiting slots may be whole chunks.
        if (auto* const mine = detail::cache_registry::find(*this)) {
            empty(static_cast<cache&>(*mine));
        }
        drain_batches();
        r = take();
        if (r == nullptr) {
            refund(whole);
            return nullptr;
        }
    }
    r->begin = r->segment->begin_of(*r);
    units_.publish(*r, detail::unit_state::large);
    map_->enter(r->begin, r->unit_count, unit_map::large, r);
    unpoison(r->begin, size);
    return r->begin;
}

void concurrent_heap::deallocate_large(record& r) noexcept {
    const std::size_t whole = r.unit_count * unit_size;
    poison(r.begin, whole);
    map_->enter(r.begin, r.unit_count, unit_map::nothing, nullptr);
    if (r.segment->is_block) {
        units_.give_block(r);
    } else {
        units_.give(r);
    }
    refund(whole);
}

bool concurrent_heap::resize_large(record& r, std::size_t new_size) noexcept {
    const std::size_t old = r.unit_count;
    const std::size_t count = units_for(new_size);
    if (count == old) { return true; }
    // A segment of its own keeps its length: no other block could use what is cut off.
    if (r.segment->is_block) { return count < old; }
    if (count > detail::unit_store::shared_max / unit_size) { return false; }
    const std::size_t more = count > old ? (count - old) * unit_size : 0;
    if (limit_ != nullptr && !limit_->pay_shared(nullptr, more)) { return false; }
    if (count < old) {
        poison(r.begin + count * unit_size, (old - count) * unit_size);
        map_->enter(r.begin + count * unit_size, old - count, unit_map::nothing, nullptr);
    }
    if (!units_.resize(r, count)) {
        refund(more);
        return false;
    }
    if (count < old) { refund((old - count) * unit_size); }
    if (count > old) { map_->enter(r.begin + old * unit_size, count - old, unit_map::large, &r); }
    return true;
}

bool concurrent_heap::try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                 alignment align) noexcept {
    if (sizes::has(old_size, align) != sizes::has(new_size, align)) { return false; }
    if constexpr (asserts_enabled) { (void)expect_own(p, {}); }
    if (sizes::has(old_size, align)) {
        if (sizes::class_of(old_size, align) != sizes::class_of(new_size, align)) { return false; }
        poison(p, sizes::size_of(sizes::class_of(old_size, align)));
    } else {
        record& r = *map_->record(p);
        // What is freed as a block of one kind must have been taken as one.
        if (new_size > PTRDIFF_MAX || !resize_large(r, new_size)) { return false; }
        poison(p, r.unit_count * unit_size);
    }
    detail::unpoison_defined(p, new_size);
    return true;
}

void* concurrent_heap::resize_or_move(void* p, std::size_t old_size,
                                      std::size_t new_size) noexcept {
    if constexpr (asserts_enabled) { (void)expect_own(p, {}); }
    const bool has_own_segment =
        map_->kind(p) == unit_map::large && map_->record(p)->segment->is_block &&
        !sizes::has(new_size, default_alignment) && new_size <= PTRDIFF_MAX;
    if (!has_own_segment) { return try_resize(p, old_size, new_size) ? p : nullptr; }
    record& r = *map_->record(p);
    const std::size_t before = r.unit_count * unit_size;
    const std::size_t after = units_for(new_size) * unit_size;
    const std::size_t more = after > before ? after - before : 0;
    if (limit_ != nullptr && !limit_->pay_shared(nullptr, more)) { return nullptr; }
    map_->enter(r.begin, r.unit_count, unit_map::nothing, nullptr);
    record* const moved = units_.move_block(r, new_size);
    record& now = moved != nullptr ? *moved : r;
    now.begin = now.segment->begin_of(now);
    map_->enter(now.begin, now.unit_count, unit_map::large, &now);
    poison(now.begin, now.unit_count * unit_size);
    detail::unpoison_defined(now.begin, moved != nullptr ? new_size : old_size);
    // Paid are `before` and `more`.
    refund(before + more - now.unit_count * unit_size);
    return moved != nullptr ? now.begin : nullptr;
}

void concurrent_heap::clear_large(record& r, void* p, std::size_t size) noexcept {
    if (r.segment->is_block) {
        if (r.is_used) { std::memset(p, 0, size); }
        return;
    }
    const std::size_t first = r.segment->index_of(r);
    for (std::size_t at = 0; at < size; at += unit_size) {
        if (!r.segment->record(first + at / unit_size).is_used) { continue; }
        const std::size_t left = size - at;
        std::memset(static_cast<std::byte*>(p) + at, 0, left < unit_size ? left : unit_size);
    }
}

void* concurrent_heap::allocate_zeroed(std::size_t size, alignment align) noexcept {
    void* const p = allocate(size, align);
    if (p == nullptr) { return nullptr; }
    if (sizes::has(size, align)) {
        std::memset(p, 0, size);
    } else {
        clear_large(*map_->record(p), p, size);
    }
    return p;
}

std::size_t concurrent_heap::good_size(std::size_t size, alignment align) const noexcept {
    if (sizes::has(size, align)) { return sizes::size_of(sizes::class_of(size, align)); }
    const std::size_t whole = units_for(size) * unit_size;
    return whole < size ? size : whole;
}

std::size_t concurrent_heap::usable_size(const void* p) const noexcept {
    if constexpr (asserts_enabled) { (void)expect_own(p, {}); }
    const std::uint8_t kind = map_->kind(p);
    const std::size_t size = kind == unit_map::large ? map_->record(p)->unit_count * unit_size
                                                     : sizes::size_of(kind - 1u);
    // Told that they are there, the caller may use them: also what lies behind the asked size.
    detail::unpoison_defined(p, size);
    return size;
}

bool concurrent_heap::owns(const void* p) const noexcept {
    const record* const r = map_->find(p);
    return r != nullptr && r->segment->heap == this;
}

void concurrent_heap::deallocate_unsized(cache& c, void* p, call_site from) noexcept {
    if (p == nullptr) { return; }
    if constexpr (asserts_enabled) { (void)expect_own(p, from); }
    const std::uint8_t kind = map_->kind(p);
    if (kind == unit_map::nothing) [[unlikely]] { freed_elsewhere(p, from); }
    if (kind == unit_map::large) {
        record& r = *map_->record(p);
        if constexpr (asserts_enabled) { expect_large(r, p, 0, from); }
        deallocate_large(r);
        return;
    }
    const unsigned k = kind - 1u;
    if constexpr (asserts_enabled) { note_freed(p, k, from); }
    put(c, k, p);
}

}}  // namespace cairn::CAIRN_FLAVOUR
