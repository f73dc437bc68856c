// How do I compose allocators: a buffer first and the heap then, small ones here and large ones
// there?
#include <cairn/alloc/arena.hpp>
#include <cairn/alloc/builder.hpp>
#include <cairn/alloc/heap.hpp>
#include <cairn/alloc/pool_of.hpp>
#include <cairn/core/byte_allocator.hpp>

#include <cstddef>
#include <cstdio>

// [fallback]
/// Asks `first`, and `second` where that is exhausted. Any type with these two functions is an
/// allocator; `first` must be able to tell its own.
template <cairn::byte_allocator First, cairn::byte_allocator Second>
    requires cairn::has_owns<First>
struct first_then {
    First& first;
    Second& second;

    void* allocate(std::size_t size, cairn::alignment align = cairn::default_alignment) noexcept {
        void* const p = first.allocate(size, align);
        return p != nullptr ? p : second.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size,
                    cairn::alignment align = cairn::default_alignment) noexcept {
        if (first.owns(p)) {
            first.deallocate(p, size, align);
        } else {
            second.deallocate(p, size, align);
        }
    }
};
// [/fallback]

// [segregator]
/// Requests of up to `Limit` bytes go to `small`. Sizes come back, so nothing has to be remembered.
template <std::size_t Limit, cairn::byte_allocator Small, cairn::byte_allocator Large>
struct by_size {
    Small& small;
    Large& large;

    void* allocate(std::size_t size, cairn::alignment align = cairn::default_alignment) noexcept {
        return size <= Limit ? small.allocate(size, align) : large.allocate(size, align);
    }
    void deallocate(void* p, std::size_t size,
                    cairn::alignment align = cairn::default_alignment) noexcept {
        size <= Limit ? small.deallocate(p, size, align) : large.deallocate(p, size, align);
    }
};
// [/segregator]

int main() {
    cairn::heap<> heap;
    // [use]
    alignas(16) std::byte buffer[1024];
    cairn::arena local{buffer};
    first_then memory{local, heap};
    cairn::builder<int> list{memory};  // as a fixed_vector that may overflow
    for (int i = 0; i < 1000; ++i) {
        if (!list.push_back(i)) { return 1; }
    }
    const bool spilled = heap.owns(list.begin()) && list[999] == 999;

    cairn::pool slots{64};
    by_size<64, cairn::pool, cairn::heap<>> both{slots, heap};
    void* const small = both.allocate(40);
    void* const large = both.allocate(400);
    const bool sorted = slots.owns(small) && heap.owns(large);
    // [/use]
    both.deallocate(small, 40);
    both.deallocate(large, 400);

    // [fixed]
    alignas(16) std::byte room[cairn::pool_of<long>::required_size(100)];
    cairn::pool_of<long> numbers{room};  // a hundred, and never one from elsewhere
    std::size_t count = 0;
    while (numbers.make(1L) != nullptr) { ++count; }
    // [/fixed]
    std::printf("%zu in the buffer\n", count);
    return spilled && sorted && count == 100 ? 0 : 1;
}
