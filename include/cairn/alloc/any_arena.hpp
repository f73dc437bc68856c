// cairn/alloc/any_arena.hpp - what a function takes that works in every arena, both ends of a
// double_ended_arena included.
//
//      template <cairn::any_arena Arena>
//      level* load(Arena& memory, const file& from);
//
//      load(levels.low(), a);          load(levels.high(), b);          load(frames, c);
//
// Look elsewhere for: a function that is compiled once (allocator_ref.hpp).
#pragma once

#include <concepts>
#include <cstddef>

#include <cairn/core/byte_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// clang-format off: a member a line, with its sentence
/// Memory that is forgotten all at once: arena, growing_arena, virtual_arena, both ends of a
/// double_ended_arena, and frame_arena (this frame's memory). Functions that are compiled once take
/// an allocator_ref, and make objects with cairn::make.
template <class A>
concept any_arena =
    byte_allocator<A> && resizes_in_place<A> && has_good_size<A> && has_owns<A> && resettable<A> &&
    validatable<A> &&
    requires(A& arena, const A& read, const void* p, std::size_t n, typename A::marker marker) {
        { arena.mark() } noexcept -> std::same_as<typename A::marker>;
        { arena.rewind(marker) } noexcept;            // forgets what came since
        { read.is_last(p, n) } -> std::same_as<bool>; // only such a block grows or goes back
        { read.used_size() } -> std::same_as<std::size_t>;
        { read.high_water_size() } -> std::same_as<std::size_t>;
        arena.reset_high_water();
        { arena.template make<int>(1) } -> std::same_as<int*>;
        arena.template make_array<int>(n);
    };
// clang-format on

}}  // namespace cairn::CAIRN_FLAVOUR
