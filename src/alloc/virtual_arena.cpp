// Cold half of cairn/alloc/virtual_arena.hpp: everything that talks to the operating system.
//
//      begin        top       region_.end()          reserved_end_          + reservation_size_
//        v           v             v                       v                   v
//        +-----------+-------------+-----------------------+-------------------+
//        |   live    |  committed  |  addresses            |  guard, or none   |
//        +-----------+-------------+-----------------------+-------------------+
//
// begin, region_.end() and reserved_end_ are multiples of one step: a page, or a huge page where
// those were asked for. So whatever is committed or given back is whole pages, and a commit that
// is rounded up never passes reserved_end_.
#include <cairn/alloc/virtual_arena.hpp>

#include <utility>

#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/os/page_memory.hpp>
#include <cairn/storage/inside/address_place.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {
namespace {

void* address_of(std::uintptr_t edge) noexcept { return reinterpret_cast<void*>(edge); }

}  // namespace

virtual_arena::virtual_arena(std::size_t reserve_size, allocator_ref upstream, options how) noexcept
    : upstream_{upstream}, how_{how} {
    const bool huge = how.huge == huge_pages::advised;
    const std::size_t step = huge ? page_memory::huge_size() : page_memory::size();
    // Twice the step: rounding up adds less than one, the guard is one page, and a step is that or
    // more.
    if (reserve_size == 0 || reserve_size > PTRDIFF_MAX - 2 * step) { return; }
    const std::size_t usable = detail::round_up(reserve_size, alignment{step});
    const std::size_t guard_size = how.end_guard == guard::page_at_end ? page_memory::size() : 0;

    void* const base = page_memory::reserve(usable + guard_size, alignment{step});
    if (base == nullptr) { return; }
    page_memory::set_name(base, usable + guard_size, how.name);
    if (huge) { page_memory::advise_huge(base, usable); }
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    region_ = detail::bump_region::resumed(begin, begin, begin);
    reserved_end_ = begin + usable;
    reservation_size_ = usable + guard_size;
    if (how.name != default_name && how.name != nullptr) { set_name(how.name); }
    // From here on both steps are usable as they are: 0 < min <= max, min a multiple of `step`.
    const std::size_t least = how.commit_step_min < usable ? how.commit_step_min : usable;
    how_.commit_step_min = detail::round_up(least == 0 ? 1 : least, alignment{step});
    if (how_.commit_step_max < how_.commit_step_min) {
        how_.commit_step_max = how_.commit_step_min;
    }
    next_step_ = how_.commit_step_min;
}

virtual_arena::virtual_arena(virtual_arena&& from) noexcept
    : upstream_{from.upstream_}, marks_{std::move(from.marks_)}, watch_{std::move(from.watch_)} {
    // The region first: `from` then has an empty one, and its reserved_end_ becomes that region's
    // begin, so that its capacity() is 0 and it commits nothing.
    region_ = std::exchange(from.region_, {});
    reserved_end_ = std::exchange(from.reserved_end_, from.region_.begin());
    reservation_size_ = std::exchange(from.reservation_size_, 0);
    next_step_ = from.next_step_;
    how_ = from.how_;
}

virtual_arena& virtual_arena::operator=(virtual_arena&& from) noexcept {
    return detail::begin_anew(*this, from);
}

void virtual_arena::release() noexcept {
    detail::bump_region gone = std::exchange(region_, {});
    const std::size_t gone_size = std::exchange(reservation_size_, 0);
    reserved_end_ = region_.begin();
    watch_.forget_region();
    if (gone_size == 0) { return; }
    gone.unpoison_all();  // the addresses may be mapped for other code next
    page_memory::release(address_of(gone.begin()), gone_size);
    upstream_.refund(gone.capacity());  // last: a budget may call its handler
}

/// Moves the committed edge so that the first `size_needed` bytes are usable; tries for
/// `size_wanted`, to make the next call rare, and settles for less when the system refuses.
bool virtual_arena::commit_up_to(std::size_t size_needed, std::size_t size_wanted) noexcept {
    const std::size_t have = region_.capacity();
    if (size_needed <= have) { return true; }
    if (size_needed > capacity()) { return false; }
    const std::size_t page =
        how_.huge == huge_pages::advised ? page_memory::huge_size() : page_memory::size();
    // Two tries: what makes the next call rare, then what this request needs, which an upper limit
    // of the system may still allow.
    for (std::size_t size : {size_wanted, size_needed}) {
        // `size_wanted` may be SIZE_MAX, a sum that was cut off: cut again before it is rounded.
        size = size > capacity() ? capacity() : size;
        size = detail::round_up(size, alignment{page});  // capacity() is a whole number of them
        if (size < size_needed) { continue; }
        if (!upstream_.try_charge(size - have)) { continue; }
        if (region_.capacity() != have) {  // a budget's handler has used this arena
            upstream_.refund(size - have);
            return commit_up_to(size_needed, size_wanted);
        }
        if (page_memory::commit(address_of(region_.end()), size - have)) {
            // Poisoned before the region has it: no moment at which free bytes look allocated.
            poison(address_of(region_.end()), size - have);
            region_.set_end(region_.begin() + size);
            return true;
        }
        upstream_.refund(size - have);
    }
    return false;
}

void virtual_arena::raise_step() noexcept {
    const std::size_t max = how_.commit_step_max;
    // After a step that the system gave, and only then: a refusal does not make the next wish
    // larger.
    next_step_ = next_step_ < max / 2 ? next_step_ * 2 : max;
}

void virtual_arena::set_name(const char* name) noexcept {
    static constexpr detail::allocator_type type{
        "virtual_arena", [](const void* object, const void* address) noexcept {
            const auto& a = *static_cast<const virtual_arena*>(object);
            return detail::place_in_region(a.region_, a.reserved_end_, address);
        }};
    watch_.set_name(name, this, type);
    watch_.describe_region(region_.begin_pointer(), capacity());
}

void* virtual_arena::allocate_called(std::size_t size, alignment align) noexcept {
    return region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
        return allocate_elsewhere(s, a);
    });
}

void virtual_arena::deallocate_called(void* p, std::size_t size, call_site from) noexcept {
    detail::expect_block(region_, p, size, call_of(from));
    region_.deallocate(p, size);
}

void* virtual_arena::allocate_elsewhere(std::size_t size, alignment align) noexcept {
    watch_.expect_not_moved_from(this, "virtual_arena");
    // Subtracted, not added: size + padding could wrap. free_size() counts the whole reservation
    // here, not only what is committed.
    const std::size_t padding = detail::padding_to(region_.top(), align);
    if (size > free_size() || padding > free_size() - size) { return nullptr; }
    const std::size_t needed =
        detail::round_up(region_.used_size() + padding + size, detail::bump_granule);
    // Colouring is not counted in: it moves a block only where there is room for it.
    if (!commit_up_to(needed, detail::saturating_add(needed, next_step_))) { return nullptr; }
    raise_step();
    // Again where the handler of a budget has used the arena meanwhile, until free_size() is short.
    void* const p = region_.allocate(size, align);
    return p != nullptr ? p : allocate_elsewhere(size, align);
}

bool virtual_arena::commit_and_resize(void* p, std::size_t old_size,
                                      std::size_t new_size) noexcept {
    // The last block alone can grow into new pages. `offset` means nothing for other pointers, and
    // is not used for them: is_last() says no first.
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - region_.begin();
    if (!region_.is_last(p, old_size) || new_size > capacity() - offset) { return false; }
    const std::size_t needed = detail::round_up(offset + new_size, detail::bump_granule);
    if (!commit_up_to(needed, detail::saturating_add(needed, next_step_))) { return false; }
    raise_step();
    return region_.try_resize(p, old_size, new_size);
}

/// Requires: size is not close to SIZE_MAX, and nothing lives behind the first `size` bytes.
std::size_t virtual_arena::decommit_above(std::size_t size) noexcept {
    const std::size_t page =
        how_.huge == huge_pages::advised ? page_memory::huge_size() : page_memory::size();
    const std::size_t kept = detail::round_up(size, alignment{page});
    if (kept >= region_.capacity()) { return 0; }
    const std::size_t dropped = region_.capacity() - kept;
    // The edge first, the pages after. Then the steps begin anew: a smaller load follows.
    region_.set_end(region_.begin() + kept);
    unpoison(address_of(region_.end()), dropped);  // the pages fault now; no need for shadow
    page_memory::decommit(address_of(region_.end()), dropped);
    next_step_ = how_.commit_step_min;
    upstream_.refund(dropped);
    return dropped;
}

bool virtual_arena::commit(std::size_t size) noexcept { return commit_up_to(size, size); }

bool virtual_arena::prefault(std::size_t size) noexcept {
    if (!commit(size)) { return false; }
    const std::size_t pages = page_memory::round_up_to_pages(size);
    page_memory::prefault(address_of(region_.begin()), pages);  // live bytes keep their value
    return true;
}

}}  // namespace cairn::CAIRN_FLAVOUR
