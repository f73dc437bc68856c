// lab/peers/llvm.hpp - llvm::BumpPtrAllocator with its own slabs of 4 KiB, and with slabs of 1 MiB.
#pragma once

#include <llvm/Support/Allocator.h>

#include "lab/harness/experiment.hpp"
#include "lab/peers/kinds.hpp"

namespace lab::peers {

struct llvm {
    /// Passes on to malloc as LLVM's own MallocAllocator does, and counts.
    struct counting_malloc : ::llvm::AllocatorBase<counting_malloc> {
        std::uint64_t* calls;
        explicit counting_malloc(std::uint64_t* c) : calls{c} {}
        void* Allocate(std::size_t size, std::size_t) {
            ++*calls;
            return std::malloc(size);
        }
        void Deallocate(const void* p, std::size_t, std::size_t) {
            std::free(const_cast<void*>(p));
        }
        using ::llvm::AllocatorBase<counting_malloc>::Allocate;
        using ::llvm::AllocatorBase<counting_malloc>::Deallocate;
        void PrintStats() const {}
    };

    template <std::size_t Slab>
    struct bump {
        std::uint64_t calls = 0;
        ::llvm::BumpPtrAllocatorImpl<counting_malloc, Slab, Slab> allocator{
            counting_malloc{&calls}};
        explicit bump(std::span<std::byte>) {}
        bump(const bump&) = delete;
        void* allocate(std::size_t size) { return allocator.Allocate(size, ::llvm::Align(8)); }
        void reset() { allocator.Reset(); }
        [[nodiscard]] std::uint64_t upstream_calls() const { return calls; }
    };

    static void offer(kinds::arenas, auto visit) {
        visit.template operator()<bump<4096>>("llvm::BumpPtrAllocator");
        visit.template operator()<bump<(1 << 20)>>("llvm::BumpPtrAllocator, 1 MiB slabs");
    }
};

}  // namespace lab::peers
