// Cold half of cairn/alloc/scratch.hpp.
#include <cairn/alloc/scratch.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

detail::scratch_pair& detail::this_threads_scratch() noexcept {
    thread_local scratch_pair mine;
    return mine;
}

void release_scratch() noexcept {
    detail::scratch_pair& mine = detail::this_threads_scratch();
    mine.first.reset(reset_policy::release());
    mine.second.reset(reset_policy::release());
}

void configure_scratch(std::size_t first_block_size, allocator_ref upstream) noexcept {
    detail::scratch_pair& mine = detail::this_threads_scratch();
    mine.first = growing_arena{first_block_size, upstream};
    mine.second = growing_arena{first_block_size, upstream};
}

}  // namespace cairn::inline CAIRN_FLAVOUR
