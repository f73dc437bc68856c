// lab/system/aligned_memory.hpp - memory that begins at a cache line or a page.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace lab {

/// Memory that ends with this object. Throws: std::bad_alloc.
class aligned_block {
public:
    aligned_block(std::size_t alignment, std::size_t size)
        : memory_{static_cast<std::byte*>(::operator new(size, std::align_val_t{alignment})),
                  give_back{std::align_val_t{alignment}}} {}
    [[nodiscard]] std::byte* get() const noexcept { return memory_.get(); }

private:
    struct give_back {
        std::align_val_t alignment;
        void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
    };
    std::unique_ptr<std::byte, give_back> memory_;
};

}  // namespace lab
