// cairn/std/std_allocator.hpp - cairn memory for the containers of the standard library.
//
//      std::vector<int, std_allocator<int, pool>>        std::vector<int, std_allocator<int>>
//      +-------+------+-----+----------+                 +-------+------+-----+----------------+
//      | begin | end  | cap | pool* ---+--> the pool     | begin | end  | cap | allocator_ref -+-->
//      +-------+------+-----+----------+                 +-------+------+-----+----------------+
//      one word more, and the pool's hot path inlines    two words more, any allocator, one type
//
//      cairn::system_allocator memory;
//      std::vector<int, cairn::std_allocator<int, cairn::system_allocator>> numbers{memory};
//
// Name the type when it is known (the first form); leave it out where the allocator is chosen at
// run time, or where a function should take the container whatever is behind it (the second).
//
// What a container does with the allocator of another one:
//
//  operation              trait                                   here     so it ...
//  a = move(b)            propagate_..._on_container_move_...     true     takes b's memory, O(1)
//  swap(a, b)             propagate_..._on_container_swap         true     swaps pointers, O(1)
//  a = b                  propagate_..._on_container_copy_...     false    keeps a's memory, copies
//  C a = b                select_on_container_copy_construction   b's own  lives where b lives
//  C a{b, memory}         -                                       memory   copies to `memory`
//  C a{move(b), memory}   ==                                      memory   moves when same, else
//                                                                          element by element
//  ==                     same allocator object (is_always_equal: false)
//
// A std_allocator that is default-constructed refers to no allocator and refuses every request, as
// an exhausted one does: memory never comes from somewhere by accident. Containers that hold a
// default-constructed container (EnTT's views, the mapped type of an unordered_map) need it. Traps
// (docs/std.md): a container must die before its memory does, and a copy lives where the original
// lives.
//
// Cost:      allocate and deallocate are those of the allocator plus one predictable branch.
// Lifetimes: refers to the allocator, never owns it.
// Threads:   those of the allocator.
#pragma once

#include <cstddef>
#include <type_traits>
#include <version>
#if defined(__cpp_lib_allocate_at_least)
#    include <memory>  // std::allocation_result
#endif

#include <cairn/core/allocator_ref.hpp>
#include <cairn/core/inside/bits.hpp>
#include <cairn/core/null_allocator.hpp>
#include <cairn/std/inside/bad_alloc.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// How a holder refers to an allocator: by pointer, or, being a reference already,
/// by value.
template <byte_allocator A>
class held_allocator {
public:
    constexpr held_allocator() noexcept = default;
    constexpr held_allocator(A& allocator) noexcept : pointer_{compiler::address_of(allocator)} {}
    [[nodiscard]] constexpr A& get() const noexcept { return *pointer_; }
    [[nodiscard]] constexpr bool refuses() const noexcept { return pointer_ == nullptr; }
    friend constexpr bool operator==(held_allocator, held_allocator) noexcept = default;

private:
    std::remove_reference_t<A>* pointer_ = nullptr;
};

template <>
class held_allocator<allocator_ref> {
public:
    held_allocator() noexcept : ref_{no_memory()} {}
    held_allocator(allocator_ref allocator) noexcept : ref_{allocator} {}
    [[nodiscard]] const allocator_ref& get() const noexcept { return ref_; }
    [[nodiscard]] static constexpr bool refuses() noexcept { return false; }
    friend bool operator==(held_allocator, held_allocator) noexcept = default;

private:
    allocator_ref ref_;
};

#if defined(__cpp_lib_allocate_at_least)
template <class T>
using allocation_result = std::allocation_result<T*, std::size_t>;
#else
template <class T>
struct allocation_result {
    T* ptr;
    std::size_t count;
};
#endif

}  // namespace detail

/// An Allocator, as [allocator.requirements] says, over any byte_allocator.
template <class T, byte_allocator A = allocator_ref>
class std_allocator {
    static_assert(!std::is_reference_v<A>,
                  "a std_allocator refers to its allocator always: std_allocator<T, arena>");

public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using propagate_on_container_copy_assignment = std::false_type;
    using is_always_equal = std::false_type;

    template <class Other>
    struct rebind {
        using other = std_allocator<Other, A>;
    };

    /// Refers to no allocator: each request of memory throws std::bad_alloc.
    std_allocator() noexcept = default;

    /// Refers to `allocator`, which must outlive every container that uses it. Implicit, so that
    /// `vector{memory}` works. With A = allocator_ref: any allocator, or a ref by value.
    std_allocator(A& allocator CAIRN_LIFETIMEBOUND) noexcept
        requires(!std::is_same_v<A, allocator_ref>)
        : held_{allocator} {}

    std_allocator(allocator_ref allocator) noexcept
        requires std::is_same_v<A, allocator_ref>
        : held_{allocator} {}

    template <byte_allocator B>
        requires(std::is_same_v<A, allocator_ref> && !std::is_const_v<B> &&
                 !std::is_same_v<B, allocator_ref>)
    std_allocator(B& allocator CAIRN_LIFETIMEBOUND,
                  call_site made_at = call_site::current()) noexcept
        : held_{allocator_ref{allocator, made_at}} {}

    template <class Other>
    std_allocator(const std_allocator<Other, A>& other) noexcept : held_{other.held()} {}

    /// Uninitialized memory for `count` objects of type T.
    /// Throws: std::bad_alloc when the allocator is exhausted, std::bad_array_new_length when their
    ///         size does not exist. Without exceptions: prints the size and aborts.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > size_max / sizeof(T)) [[unlikely]] {
            detail::refuse_length(count, alignment::of<T>());
        }
        if (held_.refuses()) [[unlikely]] { detail::refuse(count * sizeof(T), alignment::of<T>()); }
        void* const p = held_.get().allocate(count * sizeof(T), alignment::of<T>());
        if (p == nullptr) [[unlikely]] { detail::refuse(count * sizeof(T), alignment::of<T>()); }
        return static_cast<T*>(p);
    }

    /// Gives memory back, as the allocator understands it: the last block of an arena returns its
    /// bytes, a pool gets its slot, most of an arena's other blocks just wait for the reset.
    void deallocate(T* p, std::size_t count) noexcept {
        held_.get().deallocate(p, count * sizeof(T), alignment::of<T>());
    }

    /// As many objects as fit in what `count` of them would occupy anyway (good_size), at least
    /// `count`. Returns: {ptr, count}; to be freed with that count. Containers ask for it from
    /// C++23 on. Throws as allocate().
    [[nodiscard]] detail::allocation_result<T> allocate_at_least(std::size_t count) {
        if constexpr (has_good_size<A>) {
            if (count <= size_max / sizeof(T) && !held_.refuses()) [[likely]] {
                const std::size_t good =
                    held_.get().good_size(count * sizeof(T), alignment::of<T>()) / sizeof(T);
                count = good > count ? good : count;
            }
        }
        return {allocate(count), count};
    }

    /// A copy of a container lives where the original lives.
    [[nodiscard]] std_allocator select_on_container_copy_construction() const noexcept {
        return *this;
    }

    /// The allocator behind it: an A&, or the allocator_ref.
    [[nodiscard]] decltype(auto) inner() const noexcept { return held_.get(); }

    /// Internal, for the rebinding constructor.
    [[nodiscard]] const detail::held_allocator<A>& held() const noexcept { return held_; }

private:
    static constexpr std::size_t size_max = static_cast<std::size_t>(-1);

    detail::held_allocator<A> held_;
};

/// The same allocator object behind both: what one allocated, the other can free.
template <class T, class Other, byte_allocator A>
[[nodiscard]] bool operator==(const std_allocator<T, A>& a,
                              const std_allocator<Other, A>& b) noexcept {
    return a.held() == b.held();
}

static_assert(sizeof(std_allocator<int>) == sizeof(allocator_ref));
static_assert(std::is_trivially_copyable_v<std_allocator<int>>);

}}  // namespace cairn::CAIRN_FLAVOUR
