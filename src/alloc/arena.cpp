// Cold half of cairn/alloc/arena.hpp: what happens once in an arena's life.
#include <cairn/alloc/arena.hpp>

#include <utility>

namespace cairn::inline CAIRN_FLAVOUR {

arena::arena(std::size_t size, allocator_ref upstream) noexcept : upstream_{upstream} {
    // Cache-line aligned: the first block then starts a line, whatever the upstream's habits.
    void* const block = upstream_.allocate(size, cache_line_alignment);
    if (block == nullptr) { return; }
    region_ = detail::bump_region{block, size};
    block_ = block;
    block_size_ = size;
}

arena::arena(arena&& from) noexcept
    : region_{std::exchange(from.region_, {})},
      block_{std::exchange(from.block_, nullptr)},
      block_size_{std::exchange(from.block_size_, 0)},
      upstream_{from.upstream_},
      marks_{std::move(from.marks_)} {}

arena& arena::operator=(arena&& from) noexcept {
    if (this != &from) {
        release();
        region_ = std::exchange(from.region_, {});
        block_ = std::exchange(from.block_, nullptr);
        block_size_ = std::exchange(from.block_size_, 0);
        upstream_ = from.upstream_;
        marks_ = std::move(from.marks_);
    }
    return *this;
}

void arena::release() noexcept {
    region_.unpoison_all();  // the buffer's owner may use it again
    region_ = {};
    if (block_ != nullptr) {
        upstream_.deallocate(std::exchange(block_, nullptr), std::exchange(block_size_, 0),
                             cache_line_alignment);
    }
}

}  // namespace cairn::inline CAIRN_FLAVOUR
