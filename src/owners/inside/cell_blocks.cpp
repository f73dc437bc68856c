// Cold half of cairn/owners/inside/cell_blocks.hpp.
#include <cairn/owners/inside/cell_blocks.hpp>

#include <cstring>
#include <utility>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

cell_blocks::~cell_blocks() { shrink(0); }

void cell_blocks::shrink(std::size_t count) noexcept {
    for (std::size_t b = 0; b < block_count_max; ++b) {
        if (blocks_[b] == nullptr || first_of(b) < count) { continue; }
        // Before the call: a deallocate() of the user may come back into the store.
        std::byte* const block = std::exchange(blocks_[b], nullptr);
        upstream_.deallocate(block, (first_count << b) * cell_size_, cache_line_alignment);
    }
}

bool cell_blocks::reserve(std::size_t count) noexcept {
    for (std::size_t b = 0; first_of(b) < count; ++b) {
        if (b == block_count_max || (blocks_[b] == nullptr && !add(b))) { return false; }
    }
    return true;
}

bool cell_blocks::add(std::size_t b) noexcept {
    const std::size_t bytes = (first_count << b) * cell_size_;
    void* const block = upstream_.allocate(bytes, cache_line_alignment);
    if (block == nullptr) { return false; }
    if (blocks_[b] != nullptr) {  // the upstream has come back and made an object
        upstream_.deallocate(block, bytes, cache_line_alignment);
        return true;
    }
    std::memset(block, 0, bytes);
    // Release: a thread that finds the block finds its zeros.
    compiler::atomic_ref{blocks_[b]}.store(static_cast<std::byte*>(block),
                                           compiler::memory_order::release);
    return true;
}

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
