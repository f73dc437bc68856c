// Questions to cairn/alloc/concurrent_heap.hpp, and what checked builds look at: a bit for each
// slot says whether a caller has it.
#include <cairn/alloc/concurrent_heap.hpp>

#include <bit>

#include <cairn/storage/inside/address_place.hpp>

#include "heap_registry.hpp"

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Reports, and walks over all runs. Private to the library.
struct concurrent_heap_checks {
    static detail::evidence about(const concurrent_heap& h, misuse_kind kind, const void* p,
                                  std::source_location from) noexcept {
        detail::evidence known{.kind = kind,
                               .object = &h,
                               .type = "concurrent_heap",
                               .name = h.name(),
                               .caller = from,
                               .values = {}};
        const detail::unit_record* const r = h.map_->find(p);
        if (r == nullptr || r->segment->heap != &h) { return known; }
        const bool is_chunk = r->state() == detail::unit_state::chunk;
        known.values[0] = {"bytes of the block", is_chunk
                                                     ? detail::slot_sizes::size_of(r->slot_class)
                                                     : r->unit_count * detail::unit_size};
        return known;
    }

    /// About `p`, which is freed with another size than its own.
    static detail::evidence about_size(const concurrent_heap& h, const void* p, std::size_t freed,
                                       call_site from) noexcept {
        detail::evidence known = about(h, misuse_kind::wrong_size, p, from);
        known.values[1] = {"bytes freed", freed};
        return known;
    }

    /// Calls f(record) for each chunk and large block. Requires: the units are locked.
    template <class F>
    static void visit(concurrent_heap& h, F&& f) noexcept {
        for (auto* s = h.units_.first_segment(); s != nullptr; s = s->next) {
            if (s->is_block) {
                f(s->record(0));
                continue;
            }
            for (std::size_t i = s->first_unit; i < s->unit_count; i += s->record(i).unit_count) {
                f(s->record(i));
            }
        }
    }

    static detail::address_place place_of(const void* object, const void* address) noexcept;
};

namespace {

using detail::unit_size;
using detail::unit_state;

[[maybe_unused]] std::size_t free_bits_of(const detail::unit_record& r) noexcept {
    std::size_t count = 0;
    for (unsigned w = 0; w * 64 < r.slot_count; ++w) {
        count += static_cast<std::size_t>(std::popcount(r.free_bits[w]));
    }
    return count;
}

/// A live block, or a slot that was live, begins at `p`.
[[maybe_unused]] bool begins_block(const detail::unit_record& r, const void* p) noexcept {
    if (r.state() != unit_state::chunk) { return r.state() == unit_state::large && r.begin == p; }
    const auto distance = static_cast<std::size_t>(static_cast<const std::byte*>(p) - r.begin);
    const std::size_t i = r.number(distance);
    return i < r.slot_count && i * detail::slot_sizes::size_of(r.slot_class) == distance;
}

}  // namespace

concurrent_heap::stats_type concurrent_heap::stats() const noexcept {
    auto& self = const_cast<concurrent_heap&>(*this);
    stats_type s;
    const lock_scope held{home->lock};
    s.cache_count = cache_count;
    for (const auto* i = caches; i != nullptr; i = i->next_of_owner) {
        const auto* const c = static_cast<const cache*>(i);
        for (unsigned k = 0; k < sizes::class_count; ++k) {
            // Of another thread's stack, both ends may be of different moments.
            const unsigned count = c->count(k);
            if (count <= cache::limit_max(k)) { s.cached_size += count * sizes::size_of(k); }
        }
    }
    concurrent_heap_registry::lock(self);
    for (unsigned k = 0; k < sizes::class_count; ++k) {
        for (auto* b = bins_[k].first_batch(); b != nullptr; b = b->next) {
            s.waiting_size += b->count * sizes::size_of(k);
        }
    }
    std::size_t free_size = 0;
    concurrent_heap_checks::visit(self, [&](const record& r) {
        if (r.state() == unit_state::chunk) {
            s.used_size += r.unit_count * unit_size;
            free_size += r.unit_count * unit_size -
                         (r.slot_count - r.free_count) * sizes::size_of(r.slot_class);
        } else if (r.state() == unit_state::large) {
            s.used_size += r.unit_count * unit_size;
        }
    });
    s.segment_size = units_.segment_size_held();
    concurrent_heap_registry::unlock(self);
    free_size += s.cached_size + s.waiting_size;
    s.live_size = s.used_size > free_size ? s.used_size - free_size : 0;
    return s;
}

void concurrent_heap::validate() const noexcept {
    auto& self = const_cast<concurrent_heap&>(*this);
    self.units_.validate();
    const lock_scope held{home->lock};
    concurrent_heap_registry::lock(self);
    [[maybe_unused]] std::size_t listed = 0;
    for (unsigned k = 0; k < sizes::class_count; ++k) {
        const detail::slot_chunk* before = nullptr;
        for (auto* c = bins_[k].first_chunk(); c != nullptr; c = c->next) {
            CAIRN_ASSERT(c->slot_class == k && c->previous == before && c->free_count != 0,
                         "a bin lists the chunks of its class that have free slots");
            before = c;
            ++listed;
        }
    }
    concurrent_heap_checks::visit(self, [&](const record& r) {
        if (r.state() != unit_state::chunk) { return; }
        // In the child of a fork another thread may have had it on the way to or from its bin.
        const bool is_listed = r.previous != nullptr || bins_[r.slot_class].first_chunk() == &r;
        if (!is_listed && r.free_count == r.slot_count) { return; }
        CAIRN_ASSERT(map_->record(r.begin) == &r && map_->kind(r.begin) == r.slot_class + 1,
                     "the map knows each chunk and its class");
        CAIRN_ASSERT(free_bits_of(r) == r.free_count, "a chunk counts its free slots");
        listed -= r.free_count != 0 ? 1u : 0u;
    });
    CAIRN_ASSERT(listed == 0, "a chunk with free slots is in the list of its bin, once");
    for (const auto* i = caches; i != nullptr; i = i->next_of_owner) {
        const auto* const c = static_cast<const cache*>(i);
        std::size_t limits = 0;
        for (unsigned k = 0; k < sizes::class_count; ++k) {
            CAIRN_ASSERT(c->count(k) <= c->limits[k], "a stack keeps to its limit");
            limits += c->limits[k] * sizes::size_of(k);
        }
        CAIRN_ASSERT(limits + c->size_left == options_.cache_size_max,
                     "the limits of a cache stay below its bound");
        (void)limits;
    }
    concurrent_heap_registry::unlock(self);
}

void concurrent_heap::set_name(const char* name) noexcept {
    options_.name = name;
    if constexpr (asserts_enabled) {
        static constexpr detail::allocator_type type{"concurrent_heap",
                                                     &concurrent_heap_checks::place_of};
        watch_.set_name(name, this, type);
        units_.describe();
    }
}

detail::address_place concurrent_heap_checks::place_of(
    [[maybe_unused]] const void* object, [[maybe_unused]] const void* address) noexcept {
    detail::address_place place;
#if CAIRN_ASSERTS
    const auto& h = *static_cast<const concurrent_heap*>(object);
    const detail::unit_record* const r = h.map_->find(address);
    if (r == nullptr || r->segment->heap != &h) { return place; }
    const auto distance =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - r->begin);
    place.inside = true;
    if (r->state() == detail::unit_state::chunk) {
        const auto i = static_cast<unsigned>(r->number(distance));
        place.unit = "slot";
        place.index = i;
        place.size = detail::slot_sizes::size_of(r->slot_class);
        place.offset = distance - i * place.size;
        const auto bits =
            i < r->slot_count ? r->live_bits[i / 64].load(detail::memory_order::relaxed) : 0;
        place.state = (bits >> i % 64 & 1) != 0 ? "live" : "free";
    } else {
        place.size = r->unit_count * detail::unit_size;
        place.offset = distance;
        place.state = "live";
    }
#endif
    return place;
}

/// In every build.
void concurrent_heap::freed_twice(const void* p, call_site from) const noexcept {
    detail::assert_failed("the bit of the slot is clear (checked in every build)",
                          "a slot is freed once",
                          concurrent_heap_checks::about(*this, misuse_kind::double_free, p, from));
}

/// In every build: the block was freed, and its chunk or units went back.
void concurrent_heap::freed_elsewhere(const void* p, call_site from) const noexcept {
    detail::assert_failed(
        "a heap has a block at the address (checked in every build)",
        "a block comes back to the heap that gave it out",
        concurrent_heap_checks::about(*this, misuse_kind::foreign_pointer, p, from));
}

// ------------------------------------------------------------------------------------------------
// checked builds

concurrent_heap::record& concurrent_heap::expect_own(
    const void* p, [[maybe_unused]] call_site from) const noexcept {
    watch_.expect_not_ended(this, "concurrent_heap");
    record* const r = map_->find(p);
    CAIRN_ASSERT(r != nullptr && r->segment->heap == this,
                 "a block comes back to the heap that gave it out",
                 concurrent_heap_checks::about(*this, misuse_kind::foreign_pointer, p, from));
    return *r;
}

void concurrent_heap::expect_large([[maybe_unused]] const record& r, [[maybe_unused]] const void* p,
                                   [[maybe_unused]] std::size_t size,
                                   [[maybe_unused]] call_site from) const noexcept {
    CAIRN_ASSERT(begins_block(r, p), "a block comes back by the address it was given out with",
                 concurrent_heap_checks::about(*this, misuse_kind::foreign_pointer, p, from));
    CAIRN_ASSERT(r.state() == unit_state::large && size <= r.unit_count * unit_size,
                 "a block comes back with the size it was asked with",
                 concurrent_heap_checks::about_size(*this, p, size, from));
}

void concurrent_heap::note_taken([[maybe_unused]] void* p, [[maybe_unused]] unsigned k) noexcept {
#if CAIRN_ASSERTS
    record& r = *map_->record(p);
    const auto i = static_cast<unsigned>(
        r.number(static_cast<std::size_t>(static_cast<std::byte*>(p) - r.begin)));
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    const std::uint64_t before = r.live_bits[i / 64].fetch_or(bit, detail::memory_order::relaxed);
    CAIRN_ASSERT((before & bit) == 0 && r.slot_class == k, "a slot is given out once",
                 concurrent_heap_checks::about(*this, misuse_kind::corrupted, p, {}));
#endif
}

void concurrent_heap::note_freed([[maybe_unused]] void* p, [[maybe_unused]] unsigned k,
                                 [[maybe_unused]] call_site from) noexcept {
#if CAIRN_ASSERTS
    record& r = expect_own(p, from);
    // The address first: a pointer into a block has another size, too.
    CAIRN_ASSERT(begins_block(r, p), "a block comes back by the address it was given out with",
                 concurrent_heap_checks::about(*this, misuse_kind::foreign_pointer, p, from));
    CAIRN_ASSERT(r.state() == unit_state::chunk && r.slot_class == k,
                 "a block comes back with the size it was asked with",
                 concurrent_heap_checks::about(*this, misuse_kind::wrong_size, p, from));
    const auto i = static_cast<unsigned>(
        r.number(static_cast<std::size_t>(static_cast<std::byte*>(p) - r.begin)));
    const std::uint64_t bit = std::uint64_t{1} << i % 64;
    const std::uint64_t before = r.live_bits[i / 64].fetch_and(~bit, detail::memory_order::relaxed);
    CAIRN_ASSERT((before & bit) != 0, "a block is freed once",
                 concurrent_heap_checks::about(*this, misuse_kind::double_free, p, from));
#endif
}

}}  // namespace cairn::CAIRN_FLAVOUR
