// What the lab uses of LLVM: its bump allocator, over an allocator of the user's.
#include <llvm/Support/Allocator.h>

#include <cstdlib>

namespace {

struct from_malloc : llvm::AllocatorBase<from_malloc> {
    void* Allocate(std::size_t size, std::size_t) { return std::malloc(size); }
    void Deallocate(const void* p, std::size_t, std::size_t) { std::free(const_cast<void*>(p)); }
    using llvm::AllocatorBase<from_malloc>::Allocate;
    using llvm::AllocatorBase<from_malloc>::Deallocate;
    void PrintStats() const {}
};

}  // namespace

int main() {
    llvm::BumpPtrAllocatorImpl<from_malloc, 4096, 4096> allocator;
    void* const a = allocator.Allocate(64, llvm::Align(8));
    void* const b = allocator.Allocate(10'000, llvm::Align(8));
    allocator.Reset();
    return a != nullptr && b != nullptr ? 0 : 1;
}
