// Cold half of cairn/alloc/scratch.hpp.
#include <cairn/alloc/scratch.hpp>

#include <cstddef>
#include <initializer_list>
#include <new>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace {

/// Ends with the thread, after the thread-locals that were made later. Destructors of thread-locals
/// that were made earlier may still use the arenas: these have no memory then, and take none.
struct end_of_thread {
    detail::scratch_pair& mine;
    ~end_of_thread() {
        for (growing_arena* const a : {&mine.first, &mine.second}) {
            a->reset(reset_policy::release());
            a->set_growth(growing_arena::growth::forbidden);
        }
        mine.has_ended = true;
    }
};

/// Checked builds: the memory of an open scope is not taken away.
void expect_no_scope([[maybe_unused]] const detail::scratch_pair& mine,
                     [[maybe_unused]] call_site from) noexcept {
    CAIRN_ASSERT(mine.first.open_scope_count() + mine.second.open_scope_count() == 0,
                 "scratch scopes end before the thread's scratch memory is released or configured",
                 {.kind = misuse_kind::out_of_order,
                  .object = &mine,
                  .type = "scratch",
                  .caller = from,
                  .values = {{"open scopes",
                              mine.first.open_scope_count() + mine.second.open_scope_count()}}});
}

}  // namespace

detail::scratch_pair& detail::this_threads_scratch() noexcept {
    // Made by the first call in each thread, and never destroyed: see end_of_thread.
    alignas(scratch_pair) thread_local constinit std::byte memory[sizeof(scratch_pair)]{};
    thread_local const end_of_thread guard{*::new (static_cast<void*>(memory)) scratch_pair};
    return guard.mine;
}

void release_scratch(call_site from) noexcept {
    detail::scratch_pair& mine = detail::this_threads_scratch();
    expect_no_scope(mine, from);
    mine.first.reset(reset_policy::release());
    mine.second.reset(reset_policy::release());
}

void configure_scratch(std::size_t first_block_size, allocator_ref upstream,
                       call_site from) noexcept {
    detail::scratch_pair& mine = detail::this_threads_scratch();
    expect_no_scope(mine, from);
    // What a later destructor of this thread would take now would never go back.
    if (mine.has_ended) { return; }
    // An assignment gives back what the arena held: what lies in it is gone.
    mine.first = growing_arena{first_block_size, upstream};
    mine.second = growing_arena{first_block_size, upstream};
}

}}  // namespace cairn::CAIRN_FLAVOUR
