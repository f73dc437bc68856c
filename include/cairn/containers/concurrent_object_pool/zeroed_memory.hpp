// cairn/containers/concurrent_object_pool/zeroed_memory.hpp - an upstream whose blocks begin as
// zeros.
//
//    allocate() -> | 0 0 0 0 0 0 0 0 ... |      so that "never used" differs from "used before"
//
// Cost:    a memset per block: for upstreams, which are asked rarely.
// Threads: as the memory behind it. No lock of its own: one more lock would be one more that the
//          child of a fork finds held (concurrent_pool asks its upstream under a lock it can
//          forget).
#pragma once

#include <cstddef>
#include <cstring>

#include <cairn/core/allocator_ref.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

class zeroed_memory {
public:
    explicit zeroed_memory(allocator_ref upstream) noexcept : upstream_{upstream} {}

    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        void* const block = upstream_.allocate(size, align);
        if (block != nullptr) { std::memset(block, 0, size); }
        return block;
    }
    void deallocate(void* block, std::size_t size, alignment align) noexcept {
        upstream_.deallocate(block, size, align);
    }

    /// The memory behind it, for blocks that need no zeros.
    [[nodiscard]] allocator_ref unzeroed() const noexcept { return upstream_; }

private:
    allocator_ref upstream_;
};

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
