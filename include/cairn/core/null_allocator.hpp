// cairn/core/null_allocator.hpp - the end of a chain that may not grow.
//
// Give it as upstream after reserve(), and growth inside the frame is impossible instead of rare:
// what does not fit is refused, visibly, by a null pointer.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class null_allocator {
public:
    /// Returns: nullptr, always.
    [[nodiscard]] void* allocate(std::size_t, alignment) noexcept { return nullptr; }

    /// Requires: `p` is nullptr; nothing else was given out.
    void deallocate([[maybe_unused]] void* p, std::size_t, alignment) noexcept {
        CAIRN_ASSERT(
            p == nullptr, "null_allocator gave nothing out, so nothing can come back",
            {.kind = misuse_kind::foreign_pointer, .object = this, .type = "null_allocator"});
    }

    [[nodiscard]] bool owns(const void*) const noexcept { return false; }
};

/// The one null allocator that any code can refer to.
[[nodiscard]] inline allocator_ref no_memory() noexcept {
    static constinit null_allocator instance;
    return instance;
}

}}  // namespace cairn::CAIRN_FLAVOUR
