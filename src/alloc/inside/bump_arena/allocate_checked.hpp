// Cold half of cairn/alloc/inside/bump_arena.hpp: what the quick way of checked builds has turned
// away.
//
// A request that is large or over-aligned, or does not fit, or that another thread is inside of.
// With the gate shut the last of these is named.
#pragma once

#include <cairn/alloc/inside/bump_arena.hpp>

#if CAIRN_ASSERTS
namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

template <class Arena, class Position>
void* bump_arena<Arena, Position>::allocate_checked(std::size_t size, alignment align) noexcept {
    void* p;
    if (self().region_.allocate_alone(size, align, p)) [[likely]] { return p; }
    const auto inside = enter();
    return self().region_.allocate_or(size, align, [this](std::size_t s, alignment a) noexcept {
        return self().allocate_elsewhere(s, a);
    });
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
#endif
