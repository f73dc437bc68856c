// cairn/alloc/keeping.hpp - an arena to whom single frees mean nothing at all.
//
//      ~vector() ... ~vector() ... ~vector()      100,000 destructors: each would ask the arena
//          |             |             |          "am I the last block?"
//          v             v             v
//       keeping: deallocate() { }                 nothing is left of them, the loop disappears
//
// An arena gives the last block's bytes back when it is freed; asking costs a few instructions for
// each block. Where a whole structure dies at once (a syntax tree, a level), the answer is of no
// use, and an empty deallocate lets the compiler remove the destruction of trivial elements
// altogether.
//
//      cairn::keeping<cairn::growing_arena> memory;
//      std::vector<int, cairn::std_allocator<int, decltype(memory)>> v{memory};
//      ...
//      memory.reset();
//
// Use it for: many small containers that live until the reset.
// Look elsewhere for: containers that come and go (the arena itself), arrays that are outgrown again
//   and again (recycling.hpp).
//
// Cost:    allocate as A; deallocate: nothing. Under ASan freed memory is poisoned all the same.
// Threads: those of A.
#pragma once

#include <cstddef>
#include <type_traits>

#include <cairn/core/byte_allocator.hpp>
#include <cairn/core/poison.hpp>

namespace cairn::inline CAIRN_FLAVOUR {

/// Owns an arena A, or refers to one (`keeping{a}` is `keeping<A&>`).
template <byte_allocator A>
class keeping {
    using arena_type = std::remove_reference_t<A>;

public:
    template <class... Args>
        requires std::is_constructible_v<A, Args...>
    explicit keeping(Args&&... args) : inner_(static_cast<Args&&>(args)...) {}

    keeping(const keeping&) = delete;
    keeping& operator=(const keeping&) = delete;

    /// As A::allocate.
    [[nodiscard]] void* allocate(std::size_t size, alignment align = default_alignment) noexcept {
        return inner_.allocate(size, align);
    }

    /// Nothing: the bytes wait for a rewind or the reset.
    void deallocate([[maybe_unused]] void* p, [[maybe_unused]] std::size_t size,
                    alignment = default_alignment) noexcept {
        if constexpr (poison_is_watched) {
            if (p != nullptr) { poison(p, size); }
        }
    }

    /// As A::try_resize.
    [[nodiscard]] bool try_resize(void* p, std::size_t old_size, std::size_t new_size,
                                  alignment align = default_alignment) noexcept {
        return inner_.try_resize(p, old_size, new_size, align);
    }

    [[nodiscard]] std::size_t good_size(std::size_t size, alignment align) const noexcept {
        return inner_.good_size(size, align);
    }
    [[nodiscard]] bool owns(const void* p) const noexcept { return inner_.owns(p); }

    [[nodiscard]] auto mark() noexcept { return inner_.mark(); }
    void rewind(const typename arena_type::marker& to) noexcept { inner_.rewind(to); }
    void reset() noexcept { inner_.reset(); }

    [[nodiscard]] arena_type& inner() noexcept { return inner_; }

private:
    A inner_;
};

template <class A>
keeping(A&) -> keeping<A&>;

}  // namespace cairn::inline CAIRN_FLAVOUR
