// lab/system/aligned_memory.hpp - std::aligned_alloc, which the C library of Windows does not have.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#if defined(_WIN32)
#    include <malloc.h>
#endif

namespace lab {

/// Requires: `size` is a multiple of `alignment`. Given back with free_aligned().
[[nodiscard]] inline void* aligned_memory(std::size_t alignment, std::size_t size) noexcept {
#if defined(_WIN32)
    return ::_aligned_malloc(size, alignment);
#else
    return std::aligned_alloc(alignment, size);
#endif
}
inline void free_aligned(void* p) noexcept {
#if defined(_WIN32)
    ::_aligned_free(p);
#else
    std::free(p);
#endif
}

/// Memory that ends with this object.
class aligned_block {
public:
    aligned_block(std::size_t alignment, std::size_t size)
        : memory_{static_cast<std::byte*>(aligned_memory(alignment, size)), free_aligned} {
        if (memory_ == nullptr) { std::abort(); }
    }
    [[nodiscard]] std::byte* get() const noexcept { return memory_.get(); }

private:
    std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

}  // namespace lab
