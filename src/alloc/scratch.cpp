// Cold half of cairn/alloc/scratch.hpp.
#include <cairn/alloc/scratch.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

detail::scratch_pair& detail::this_threads_scratch() noexcept {
    // Made by the first call in each thread; its arenas take no memory before they are asked for
    // some, and give it back when the thread ends.
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
    // An assignment gives back what the arena held: what lies in it is gone.
    mine.first = growing_arena{first_block_size, upstream};
    mine.second = growing_arena{first_block_size, upstream};
}

}}  // namespace cairn::CAIRN_FLAVOUR
