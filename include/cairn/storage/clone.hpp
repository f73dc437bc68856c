// cairn/storage/clone.hpp - a copy of a container, as a value that is absent when memory is
// exhausted.
//
//      if (auto saved = clone(world)) { ... world = std::move(*saved); }
//      auto in_arena = clone(world, level_memory);
//
// Containers have no copy constructors: a copy needs memory, and a constructor cannot return that
// there is none. The maps have a member clone() as well; packed_array and table, whose headers are
// lighter than <optional>, have copy_from() and this function.
//
// Cost: that of copy_from(); the container is returned without a move.
#pragma once

#include <optional>

#include <cairn/core/allocator_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// A copy of `from` in memory of `upstream`.
/// Returns: nothing when that is exhausted; what was taken until then has gone back.
/// Throws:  what copying an element throws; as well then.
template <class Container>
[[nodiscard]] std::optional<Container> clone(const Container& from, allocator_ref upstream) {
    std::optional<Container> copy{std::in_place, upstream};
    if (!copy->copy_from(from)) { copy.reset(); }
    return copy;
}
/// The same in memory of its own upstream.
template <class Container>
[[nodiscard]] std::optional<Container> clone(const Container& from) {
    return cairn::clone(from, from.upstream());
}

}}  // namespace cairn::CAIRN_FLAVOUR
