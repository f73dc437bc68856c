// Cold half of cairn/alloc/arena.hpp, and of inside/bump_region.hpp: what happens once in an
// arena's life.
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/double_ended_arena.hpp>
#include <cairn/core/inside/begin_anew.hpp>
#include <cairn/storage/inside/address_place.hpp>

#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR {

detail::bump_region::bump_region(void* address, std::size_t size) noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t begin = detail::round_up(first, bump_granule);
    const std::uintptr_t end = detail::round_down(first + size, bump_granule);
    if (begin < end) {
        begin_ = top_ = peak_ = begin;
        end_ = end;
    }
    poison(begin_.pointer(), end_ - begin_);
}

detail::bump_region detail::bump_region::resumed(std::uintptr_t begin, std::uintptr_t top,
                                                 std::uintptr_t end) noexcept {
    bump_region region;
    region.begin_ = begin;
    region.top_ = region.peak_ = top;
    region.end_ = end;
    poison(reinterpret_cast<void*>(top), end - top);
    return region;
}

void detail::bump_region::validate() const noexcept {
    CAIRN_ASSERT(begin_ <= top_, "the top never leaves the region on the left");
    CAIRN_ASSERT(top_ <= end_, "the top never leaves the region on the right");
    CAIRN_ASSERT((begin_ | top_ | end_) % bump_granule.bytes() == 0,
                 "all edges are multiples of the granule");
}

arena::arena(std::size_t size, allocator_ref upstream, options how) noexcept : upstream_{upstream} {
    // Cache-line aligned: the first block then starts a line, whatever the upstream's habits.
    // A refusal leaves an empty region, which refuses every request: capacity() is 0.
    void* const block = upstream_.allocate(size, detail::cache_line_alignment);
    if (block == nullptr) { return; }
    region_ = detail::bump_region{block, size};
    block_ = block;
    block_size_ = size;
    if (how.name != nullptr) { set_name(how.name); }
}

arena::arena(arena&& from) noexcept
    : region_{std::exchange(from.region_, {})},
      block_{std::exchange(from.block_, nullptr)},
      block_size_{std::exchange(from.block_size_, 0)},
      upstream_{from.upstream_},
      marks_{std::move(from.marks_)},
      watch_{std::move(from.watch_)} {}

// Marks and name follow the memory: those of this arena end with its own.
arena& arena::operator=(arena&& from) noexcept { return detail::begin_anew(*this, from); }

void arena::set_name(const char* name) noexcept {
    static constexpr detail::allocator_type type{
        "arena", [](const void* object, const void* address) noexcept {
            const detail::bump_region& region = static_cast<const arena*>(object)->region_;
            return detail::place_in_region(region, region.end(), address);
        }};
    watch_.set_name(name, this, type);
    watch_.describe_region(region_.begin_pointer(), region_.capacity());
}

void double_ended_arena::set_name(const char* name) noexcept {
    static constexpr detail::allocator_type type{
        "double_ended_arena", [](const void* object, const void* address) noexcept {
            const auto& a = *static_cast<const double_ended_arena*>(object);
            const detail::bump_region& low = a.low_.region_;
            detail::address_place place = detail::place_in_region(low, a.high_.limit_, address);
            const auto at = reinterpret_cast<std::uintptr_t>(address);
            place.state = at < low.top()   ? "at the low end: given out, perhaps freed since"
                          : at < low.end() ? "between the ends: never given out, or rewound"
                                           : "at the high end: given out, perhaps freed since";
            return place;
        }};
    high_.watch_.set_name(name, this, type);
    high_.watch_.describe_region(low_.region_.begin_pointer(), capacity());
}

void* arena::allocate_called(std::size_t size, alignment align) noexcept {
    return region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
        return allocate_elsewhere(s, a);
    });
}

void arena::deallocate_called(void* p, std::size_t size, call_site from) noexcept {
    detail::expect_block(region_, p, size, call_of(from));
    region_.deallocate(p, size);
}

void arena_high_end::expect_block(
    [[maybe_unused]] const void* p, [[maybe_unused]] std::size_t size,
    [[maybe_unused]] const detail::watched_call& call) const noexcept {
#if CAIRN_ASSERTS
    // A block of size 0 owns no byte: the top may have retreated above it.
    if (p == nullptr || size == 0) { return; }
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    const std::uintptr_t low_top = low_->region_.top();
    CAIRN_ASSERT(address - low_top < limit_ - low_top,
                 "a block comes back to the end that it was allocated from",
                 call.about(misuse_kind::foreign_pointer));
    CAIRN_ASSERT(owns(p) && size <= limit_ - address,
                 "a block is freed once, with its size, before its arena was rewound",
                 call.about(misuse_kind::outlived, size, limit_ - address));
#endif
}

void arena::release() noexcept {
    region_.unpoison_all();  // the buffer's owner may use it again
    // The region before the block: nothing points into bytes that upstream may give to others.
    region_ = {};
    watch_.forget_region();
    if (block_ != nullptr) {
        upstream_.deallocate(std::exchange(block_, nullptr), std::exchange(block_size_, 0),
                             detail::cache_line_alignment);
    }
}

}}  // namespace cairn::CAIRN_FLAVOUR
