// cairn/std/unique_in.hpp - std::unique_ptr and std::shared_ptr whose memory is cairn's.
//
//     auto p = cairn::make_unique_in<particle>(pool, position);      // null: the pool is exhausted
//     auto q = cairn::make_unique_in<float[]>(frame, 1024);          // 1024 zeros
//     auto s = cairn::make_shared_in<texture>(heap, "grass.png");    // control block included
//
//    type                     deleter holds                 words on 64 bits
//    unique_in<T>             allocator_ref                 3
//    unique_in<T, pool>       pool*                         2
//    unique_in<T[]>           allocator_ref, count          4
//    unique_in<T[], arena>    arena*, count                 3
//    std::shared_ptr<T>       nothing: the control block    2, and the allocator lives in the block
//                             remembers the allocator
//
// A unique_in<derived> does not convert to unique_in<base>: the memory must go back with the size
// it was asked with, which a base pointer does not know. make_shared_in's control block does: use
// it for that (or a variant).
//
// Cost:      make_unique_in is make<T> (core/make.hpp); the deleter is destroy<T>. make_shared_in
//            is one allocation for object and counts; atomic counts, as std::shared_ptr has them.
// Chains:    the end of an object that owns another ends that one, too, in the same destructor: a
//            long list needs a deep stack. deferred_in.hpp has both without recursion.
// Lifetimes: the allocator must outlive every pointer, and, for make_shared_in, every weak_ptr too:
//            the block goes back with the last of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <cairn/core/inside/rollback.hpp>
#include <cairn/core/make.hpp>
#include <cairn/std/std_allocator.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// Destroys an object and gives its memory back to the allocator it came from.
template <class T, byte_allocator A = allocator_ref>
class deleter_in {
public:
    using pointer = T*;

    explicit deleter_in(detail::held_allocator<A> held) noexcept : held_{held} {}

    /// nullptr does nothing.
    void operator()(T* object) noexcept { cairn::destroy(held_.get(), object); }

    /// The allocator behind it: an A&, or the allocator_ref.
    [[nodiscard]] decltype(auto) inner() const noexcept { return held_.get(); }

private:
    detail::held_allocator<A> held_;
};

template <class T, byte_allocator A>
class deleter_in<T[], A> {
public:
    using pointer = T*;

    deleter_in(detail::held_allocator<A> held, std::size_t count) noexcept
        : held_{held}, count_{count} {}

    /// nullptr does nothing.
    void operator()(T* first) noexcept {
        if (first == nullptr) { return; }
        for (std::size_t i = count_; i != 0;) {  // newest first, as arrays do
            first[--i].~T();
        }
        held_.get().deallocate(first, count_ * sizeof(T), alignment::of<T>());
    }

    /// Elements in the array.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    [[nodiscard]] decltype(auto) inner() const noexcept { return held_.get(); }

private:
    detail::held_allocator<A> held_;
    std::size_t count_;
};

/// Owns one object (or an array, unique_in<T[]>) in the memory of an allocator.
template <class T, byte_allocator A = allocator_ref>
using unique_in = std::unique_ptr<T, deleter_in<T, A>>;

/// A new T in memory of `allocator`. Name the allocator's type too for a smaller pointer and an
/// inlined path: `make_unique_in<particle, pool>(particles, position)`.
/// Returns: null when the allocator is exhausted; nothing is constructed then. Cannot throw unless
///          T's constructor does; the memory has gone back then.
template <class T, byte_allocator A = allocator_ref, class... Args>
    requires(!std::is_array_v<T>)
[[nodiscard]] unique_in<T, A> make_unique_in(
    std::type_identity_t<std::conditional_t<std::is_same_v<A, allocator_ref>, allocator_ref, A&>>
        allocator,
    Args&&... args) {
    const detail::held_allocator<A> held{allocator};
    return unique_in<T, A>{cairn::make<T>(held.get(), std::forward<Args>(args)...),
                           deleter_in<T, A>{held}};
}

/// `count` value-initialized elements: zeros, for numbers.
/// Returns: null when the allocator is exhausted or their size does not exist.
template <class T, byte_allocator A = allocator_ref>
    requires std::is_unbounded_array_v<T>
[[nodiscard]] unique_in<T, A> make_unique_in(
    std::type_identity_t<std::conditional_t<std::is_same_v<A, allocator_ref>, allocator_ref, A&>>
        allocator,
    std::size_t count) {
    using element = std::remove_extent_t<T>;
    const detail::held_allocator<A> held{allocator};
    const std::size_t size = detail::saturating_multiply(count, sizeof(element));
    void* const memory = held.get().allocate(size, alignment::of<element>());
    if (memory == nullptr) [[unlikely]] {
        return unique_in<T, A>{nullptr, deleter_in<T, A>{held, 0}};
    }
    detail::rollback undo{
        [&]() noexcept { held.get().deallocate(memory, size, alignment::of<element>()); }};
    auto* const first = static_cast<element*>(memory);
    std::uninitialized_value_construct_n(first,
                                         count);  // destroys the objects it made when one throws
    undo.cancel();
    return unique_in<T, A>{first, deleter_in<T, A>{held, count}};
}

/// A std::shared_ptr whose object and counts lie in one block of `allocator`.
/// Throws: std::bad_alloc when the allocator is exhausted (the standard's interface has no other
///         way); without exceptions: prints the size and aborts.
template <class T, byte_allocator A, class... Args>
    requires(!std::is_array_v<T> && !std::is_same_v<A, allocator_ref> && !std::is_const_v<A>)
[[nodiscard]] std::shared_ptr<T> make_shared_in(A& allocator, Args&&... args) {
    constexpr bool fit = std::is_constructible_v<T, Args...>;
    static_assert(fit, "an object is made as T(args...): these arguments build none");
    if constexpr (fit) {
        return std::allocate_shared<T>(std_allocator<T, A>{allocator}, std::forward<Args>(args)...);
    } else {
        return nullptr;
    }
}

template <class T, class... Args>
    requires(!std::is_array_v<T>)
[[nodiscard]] std::shared_ptr<T> make_shared_in(allocator_ref allocator, Args&&... args) {
    constexpr bool fit = std::is_constructible_v<T, Args...>;
    static_assert(fit, "an object is made as T(args...): these arguments build none");
    if constexpr (fit) {
        return std::allocate_shared<T>(std_allocator<T>{allocator}, std::forward<Args>(args)...);
    } else {
        return nullptr;
    }
}

/// `count` value-initialized elements, shared as one.
/// Throws: as above, and std::bad_array_new_length when their size does not exist.
template <class T>
    requires std::is_unbounded_array_v<T>
[[nodiscard]] std::shared_ptr<T> make_shared_in(allocator_ref allocator, std::size_t count) {
    using element = std::remove_extent_t<T>;
    // libstdc++ (gcc 12) multiplies without a look.
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(element)) [[unlikely]] {
        detail::refuse_length(count, alignment::of<element>());
    }
    return std::allocate_shared<T>(std_allocator<element>{allocator}, count);
}

static_assert(sizeof(unique_in<int>) == sizeof(void*) + sizeof(allocator_ref));
static_assert(sizeof(unique_in<int[]>) == 2 * sizeof(void*) + sizeof(allocator_ref));

}}  // namespace cairn::CAIRN_FLAVOUR
