// Cold half of cairn/alloc/inside/arena_checks.hpp.
#include <cairn/alloc/inside/arena_checks.hpp>

#include <atomic>

#include <cairn/storage/inside/address_place.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

evidence watched_call::about(misuse_kind kind) const noexcept {
    return {.kind = kind, .object = object, .type = type, .name = name, .caller = from};
}

evidence watched_call::about(misuse_kind kind, std::size_t size,
                             std::size_t offset) const noexcept {
    evidence known = about(kind);
    known.values[0] = {"bytes", size};
    known.values[1] = {"offset", offset};
    return known;
}

std::uint64_t next_arena_id() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    // Begins at an address that is no other module's: markers of two plugins do not get mixed up.
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(&last) / alignof(decltype(last))
                               << 10;
    // relaxed: only uniqueness is wanted, nothing is published through the number.
    return base + last.fetch_add(1, std::memory_order_relaxed) + 1;
}

address_place place_in_region(const bump_region& region, std::uintptr_t end,
                              const void* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    // `end` is the caller's: a virtual arena's addresses and the high end of a double-ended arena
    // lie beyond the region's own end.
    if (at < region.begin() || at >= end) { return {}; }
    return {.inside = true,
            .offset = at - region.begin(),
            .size = end - region.begin(),
            .state = at < region.top() ? given_out : not_given_out};
}

void expect_block([[maybe_unused]] const bump_region& region, [[maybe_unused]] const void* p,
                  [[maybe_unused]] std::size_t size,
                  [[maybe_unused]] const watched_call& call) noexcept {
#if CAIRN_ASSERTS
    if (p == nullptr) { return; }
    // A block of size 0 owns no byte: the top may have retreated below it.
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    CAIRN_ASSERT(region.owns(p) || (size == 0 && address == region.end()),
                 "a block comes back to the arena that it was allocated from",
                 call.about(misuse_kind::foreign_pointer));
    CAIRN_ASSERT(size == 0 || (region.contains(p) && size <= region.top() - address),
                 "a block is freed once, with its size, before its arena was rewound",
                 call.about(misuse_kind::outlived, size, address - region.begin()));
#endif
}

#if CAIRN_ASSERTS

mark_stamp mark_check::mark(std::uintptr_t position) noexcept {
    if (id_ == 0) { id_ = next_arena_id(); }
    // Two marks of one position are one mark: siblings in a loop do not pile up.
    if (count_ == 0 || live_[count_ - 1].position != position) {
        if (count_ == capacity) {
            oldest_known_ = live_[1].serial;
            for (std::size_t i = 1; i < capacity; ++i) { live_[i - 1] = live_[i]; }
            --count_;
        }
        live_[count_++] = {next_serial_++, position};
    }
    return {id_, live_[count_ - 1].serial, depth_};
}

void mark_check::rewind(mark_stamp to, std::uintptr_t position, const watched_call& call) noexcept {
    CAIRN_ASSERT(to.arena_id == id_, "a marker is rewound on the arena that it was taken from",
                 call.about(misuse_kind::foreign_pointer));
    CAIRN_ASSERT(to.serial >= first_valid_, "a marker does not outlive reset()",
                 call.about(misuse_kind::outlived));
    while (count_ != 0 && live_[count_ - 1].serial > to.serial) { --count_; }
    const bool live = count_ != 0 && live_[count_ - 1].serial == to.serial;
    CAIRN_ASSERT(live || to.serial < oldest_known_,
                 "markers are rewound newest first: this one died with an older one",
                 call.about(misuse_kind::out_of_order));
    (void)live;
    if (depth_ > to.depth) {
        dead_ = {to.depth, depth_, position};
        ++next_serial_;
    }
}

void mark_check::reset() noexcept {
    count_ = 0;
    first_valid_ = ++next_serial_;
    oldest_known_ = 0;
}

mark_check& mark_check::operator=(mark_check&& from) noexcept {
    take(from);
    return *this;
}

void mark_check::check_scope(scope_stamp scope, std::uintptr_t position,
                             const watched_call& call) noexcept {
    CAIRN_ASSERT(scope.serial >= first_valid_, "a marker does not outlive reset()",
                 call.about(misuse_kind::outlived));
    if (dead_.to == scope.depth) {
        CAIRN_ASSERT(dead_.position == position,
                     "markers are rewound newest first: this one died with an older one",
                     call.about(misuse_kind::out_of_order));
        // The scope around it is the next to ask.
        dead_.to = scope.depth - 1 > dead_.from ? scope.depth - 1 : 0;
    }
    // The marks that were taken in it die, but for one of the place where it began: that one is
    // the scope's own, and is good as long as memory in front of it is.
    std::size_t kept = count_;
    while (kept != 0 && live_[kept - 1].serial >= scope.serial) { --kept; }
    if (kept != count_ && live_[kept].position == position) { ++kept; }
    count_ = kept;
}

void mark_check::take(mark_check& from) noexcept {
    CAIRN_ASSERT(from.depth_ == 0 && depth_ == 0, "an arena does not move while a scope is open");
    id_ = from.id_;
    count_ = from.count_;
    for (std::size_t i = 0; i < count_; ++i) { live_[i] = from.live_[i]; }
    next_serial_ = from.next_serial_;
    first_valid_ = from.first_valid_;
    oldest_known_ = from.oldest_known_;
    dead_ = {};
    from.id_ = 0;
    from.reset();
}

#endif

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
