// lab/peers/llvm.cpp - llvm::BumpPtrAllocator with its own slabs of 4 KiB, and with slabs of 1 MiB.
#include <llvm/Support/Allocator.h>

#include <cstdlib>

#include "lab/families/arena_family.hpp"

namespace {

/// Passes on to malloc as LLVM's own MallocAllocator does, and counts.
struct counting_malloc : llvm::AllocatorBase<counting_malloc> {
    std::uint64_t* calls;
    explicit counting_malloc(std::uint64_t* c) : calls{c} {}
    void* Allocate(std::size_t size, std::size_t) {
        ++*calls;
        return std::malloc(size);
    }
    void Deallocate(const void* p, std::size_t, std::size_t) { std::free(const_cast<void*>(p)); }
    using llvm::AllocatorBase<counting_malloc>::Allocate;
    using llvm::AllocatorBase<counting_malloc>::Deallocate;
    void PrintStats() const {}
};

template <std::size_t Slab>
struct bump {
    std::uint64_t calls = 0;
    llvm::BumpPtrAllocatorImpl<counting_malloc, Slab, Slab> allocator{counting_malloc{&calls}};
    explicit bump(std::span<std::byte>) {}
    bump(const bump&) = delete;
    void* allocate(std::size_t size) { return allocator.Allocate(size, llvm::Align(8)); }
    void reset() { allocator.Reset(); }
    [[nodiscard]] std::uint64_t upstream_calls() const { return calls; }
};

const bool offered =
    lab::offer_arena<bump<4096>>("llvm::BumpPtrAllocator", lab::kind::peer) &&
    lab::offer_arena<bump<(1 << 20)>>("llvm::BumpPtrAllocator, 1 MiB slabs", lab::kind::peer);

}  // namespace
