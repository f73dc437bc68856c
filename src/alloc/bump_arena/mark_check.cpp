// Cold half of cairn/alloc/bump_arena/mark_check.hpp.
#include <cairn/alloc/bump_arena/mark_check.hpp>

#include <atomic>

namespace cairn::inline CAIRN_FLAVOUR::detail {

std::uint64_t next_arena_id() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    // Begins at an address that is no other module's: markers of two plugins do not get mixed up.
    const std::uint64_t base = reinterpret_cast<std::uintptr_t>(&last) / alignof(decltype(last))
                               << 10;
    // relaxed: only uniqueness is wanted, nothing is published through the number.
    return base + last.fetch_add(1, std::memory_order_relaxed) + 1;
}

#if CAIRN_ASSERTS

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

}  // namespace cairn::inline CAIRN_FLAVOUR::detail
