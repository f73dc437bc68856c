// cairn/alloc/scratch.hpp - temporary memory that is never the memory you return into.
//
//      thread 1:  [ growing arena A ]  [ growing arena B ]
//      thread 2:  [ growing arena A ]  [ growing arena B ]
//
//      std::span<char> join(auto& result, ...) {
//          auto temporary = cairn::scratch(result);  // A, unless `result` is A: then B
//          ...                                       // collect pieces in `temporary`
//          return copy_to(result);                   // `result` survives the closing brace
//      }
//
// The classic bug: a function takes temporary memory from the arena that its caller wants the
// result in; the rewind at the end takes the result away. Two arenas a thread are enough to cure
// it: a function has one place to return into, and gets the other one.
// Idea: Ryan Fleury's scratch arenas. Thesis, section 6.1: the global temporary allocator.
//
// Cost:    a thread-local address, one or two compares, and an arena_scope. Nothing is allocated on
//          a thread before its first use; 64 KiB blocks from system_memory() then, kept until the
//          thread ends or release_scratch(). In the destructor of a thread-local that was made
//          before the thread's first scratch(), a scratch arena refuses every request.
// Threads: any; each has its own two arenas, and in each plugin that contains a cairn of its own
//          two more (docs/plugins.md).
#pragma once

#include <type_traits>

#include <cairn/alloc/arena_scope.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cairn/core/inside/forwards.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

struct scratch_pair {
    growing_arena first;
    growing_arena second;
    bool has_ended = false;  // with its thread: both refuse every request
};

/// This thread's two arenas. Out of line: thread-locals with destructors cost a guard anyway.
[[nodiscard]] CAIRN_DETAIL_MODULE_LOCAL scratch_pair& this_threads_scratch() noexcept;

template <class Arena>
[[nodiscard]] const void* address_of_arena(const arena_scope<Arena>& scope) noexcept {
    return compiler::address_of(scope.arena());
}
/// The arena behind wrappers (budget, tracked, array_recycler, locked ...), scopes and
/// std_allocators.
template <class T>
[[nodiscard]] const void* address_of_arena(const T& allocator) noexcept {
    static_assert(!std::is_same_v<T, allocator_ref>,
                  "an allocator_ref does not say which arena is behind it");
    if constexpr (requires { wrapped_in::of(allocator); }) {
        return detail::address_of_arena(wrapped_in::of(allocator));
    } else {
        return compiler::address_of(allocator);
    }
}

/// A pointer, a size or a container: its own address is never that of an arena. An allocator_ref or
/// another view of a memory: the arena behind it is not known.
template <class T>
inline constexpr bool hides_its_arena =
    std::is_pointer_v<T> || std::is_arithmetic_v<T> || std::is_same_v<T, allocator_ref> ||
    (!byte_allocator<T> && !requires(const T& avoided) { wrapped_in::of(avoided); } &&
     (requires { typename T::value_type; } || requires(const T& avoided) { avoided.data(); } ||
      requires(T& avoided) { avoided.inner(); }));

}  // namespace detail

/// A scope on a thread-local arena that is none of `avoid` (arenas, scopes, or wrappers of them;
/// another allocator never conflicts). An allocator_ref is refused at compile time, because it does
/// not say which arena is behind it; so are pointers, sizes and containers.
/// Requires: `avoid` does not name both of the thread's scratch arenas.
/// Returns: the scope; its end frees its memory and runs destructors of its objects.
template <class... Avoid>
    requires(!detail::hides_its_arena<Avoid> && ...)
[[nodiscard]] arena_scope<growing_arena> scratch(const Avoid&... avoid) noexcept {
    detail::scratch_pair& mine = detail::this_threads_scratch();
    const bool first_is_taken = ((detail::address_of_arena(avoid) == &mine.first) || ...);
    [[maybe_unused]] const bool second_is_taken =
        ((detail::address_of_arena(avoid) == &mine.second) || ...);
    CAIRN_ASSERT(!(first_is_taken && second_is_taken),
                 "one of the two scratch arenas is left for the caller");
    return arena_scope<growing_arena>{first_is_taken ? mine.second : mine.first};
}

template <class... Avoid>
void scratch(const Avoid&...) = delete;  // give arenas: no pointer, size, container, allocator_ref

/// Gives this thread's scratch memory back. Requires: no scratch scope is open on this thread.
CAIRN_DETAIL_MODULE_LOCAL void release_scratch(call_site from = call_site::current()) noexcept;

/// Sets the upstream of this thread's scratch blocks and the first size. Frees held blocks.
/// Requires: no scratch scope is open on this thread; `upstream` outlives the thread's last use.
CAIRN_DETAIL_MODULE_LOCAL void configure_scratch(std::size_t first_block_size,
                                                 allocator_ref upstream,
                                                 call_site from = call_site::current()) noexcept;

}}  // namespace cairn::CAIRN_FLAVOUR
