// cairn/os/system_allocator.hpp - malloc, the root of most chains and the default upstream.
//
// Cost: one call to malloc or aligned_alloc, with whatever your malloc costs. Meant for blocks, not
// for single objects.
// Threads: any.
#pragma once

#include <cstddef>

#include <cairn/core/allocator_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

class system_allocator {
public:
    /// Returns: nullptr when malloc does, and for sizes above PTRDIFF_MAX.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept;

    void deallocate(void* p, std::size_t size, alignment align = default_alignment) noexcept;
};

/// The system allocator that any code can refer to: the default upstream everywhere.
[[nodiscard]] inline allocator_ref system_memory() noexcept {
    static constinit system_allocator instance;
    return instance;
}

}}  // namespace cairn::CAIRN_FLAVOUR
