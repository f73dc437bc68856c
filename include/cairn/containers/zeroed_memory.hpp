// cairn/containers/zeroed_memory.hpp - an upstream whose blocks begin as zeros, for several threads.
//
//      allocate() -> | 0 0 0 0 0 0 0 0 ... |      so that "never used" can be told from "used before"
//
// Cost: a memset and a lock per block: for upstreams, which are asked rarely.
#pragma once

#include <cstddef>
#include <cstring>

#include <cairn/core/allocator_ref.hpp>
#include <cairn/os/mutex.hpp>

namespace cairn::detail {

class zeroed_memory {
public:
    explicit zeroed_memory(allocator_ref memory) noexcept : memory_{memory} {}

    [[nodiscard]] void* allocate(std::size_t size, alignment align) noexcept {
        void* block;
        {
            const lock_scope held{lock_};
            block = memory_.allocate(size, align);
        }
        if (block != nullptr) { std::memset(block, 0, size); }
        return block;
    }
    void deallocate(void* block, std::size_t size, alignment align) noexcept {
        const lock_scope held{lock_};
        memory_.deallocate(block, size, align);
    }

private:
    allocator_ref memory_;
    mutex lock_;
};

}  // namespace cairn::detail
