// cairn/alloc/fit.hpp - a fit: the part of a heap that chooses the free block for a
// request.
//
//      heap<my_fit>     regions, headers, merging, checks     written once, heap.hpp and heap/
//           |
//      my_fit           how large a block of a request is     constants and static functions
//           |
//      my_fit::index    which blocks are free, by size        in the region, in front of the blocks
//
// The concepts below list all members of a fit. docs/adding-a-fit.md lists the files of a new
// fit, tests/alloc/fit_test.cpp has the smallest one that works.
//
// Parts for an index, in the folder inside/:
//      heap_block.hpp            the header before each block, the links inside a free one, and
//                                how a heap ends that finds its own words changed
//      free_lists.hpp            classes of sizes, 16 to an octave; a doubly linked list for each;
//                                a bitmap of the lists that have a block
//
// Trust: an index lies in front of the blocks and is believed. What it keeps in free blocks (links)
//        may have been written over: it is looked at before it is followed, see free_lists.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/inside/heap_block.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Visits nothing: the concept needs some visitor.
struct no_visit {
    void operator()(std::uint32_t) const noexcept {}
};

/// What knows the free blocks of one region. It is an object at the region's front, 8-aligned and
/// made of plain numbers, with an array behind it: the bytes may move, so it holds no address.
/// Blocks are named by their granule, sizes count granules.
template <class Index>
concept fit_index = requires(Index& index, const Index& looked_at, block_map b, hole h,
                             std::uint32_t g, std::uint32_t size, std::uint32_t key) {
    // Bytes of the array behind the object, for a region of `size` granules; grows by less than
    // they do.
    { Index::array_size(size) } -> std::convertible_to<std::size_t>;
    // Forgets all blocks of a region of `size` granules; links are encoded with `key` from now on.
    index.clear(size, key);
    // A free block of at least `size`, which stays in the index; block: no_block when there is
    // none. `where` is for the next call of take() or keep_rest(), if the fit wants to know.
    { looked_at.find(b, size) } -> std::same_as<hole>;
    // The free block `h` is used as a whole. Its links may be read, not its header.
    index.take(b, h);
    // The first `size` granules of the free block `h` are used, the rest stays free.
    index.keep_rest(b, h, size);
    // The block of `size` at `g` is free now, and one with its free neighbours: the granules of the
    // left and of the right one are given, 0 where it is not free. Headers are written afterwards:
    // that of `g` may not be read here.
    index.give(b, size, g, size, size);
    // Size of the largest free block, 0 without one. A question, never asked by an operation.
    { looked_at.largest(b) } -> std::same_as<std::uint32_t>;
    // Calls visit(g) once for each free block, and asserts the index's entry for it.
    looked_at.validate(b, no_visit{});
};

/// give() for an index that has insert(b, g, size), remove(b, g, size) and
/// change(b, from, from_size, to, to_size).
template <class Index>
[[CAIRN_FORCE_INLINE]] inline void give_by_change(Index& index, block_map b,
                                                  std::uint32_t left_size, std::uint32_t at,
                                                  std::uint32_t size,
                                                  std::uint32_t right_size) noexcept {
    const std::uint32_t start = at - left_size;
    const std::uint32_t right = at + size;
    const std::uint32_t total = left_size + size + right_size;
    if (left_size != 0) {
        if (right_size != 0) { index.remove(b, right, right_size); }
        index.change(b, start, left_size, start, total);
    } else if (right_size != 0) {
        index.change(b, right, right_size, start, total);
    } else {
        index.insert(b, start, total);
    }
}

}  // namespace detail

/// What heap<F> needs of F.
template <class F>
concept fit = requires(std::uint32_t granules) {
    // Goes into the mark of a region: adopt() takes the regions of a fit of this name only.
    { F::name } -> std::convertible_to<const char*>;
    // Granules of the block for a request of `granules`, header included: at least as many,
    // constexpr, and never fewer for more.
    { F::block_size(granules) } -> std::same_as<std::uint32_t>;
    // How many freed blocks of a class may always wait unmerged; 0: every block merges as it is
    // freed.
    { F::deferred_max } -> std::convertible_to<std::uint32_t>;
    requires detail::fit_index<typename F::index>;
};

namespace detail {

// ---------------------------------------------------------------- optional members of a fit

/// Parameters of the fit, which go into the mark of a region beside its name.
template <class F>
concept has_shape = requires {
    { F::shape } -> std::convertible_to<std::uint32_t>;
};

/// Requests and free blocks are numbered by size classes.
template <class F>
concept has_size_classes = requires(std::uint32_t n) {
    { F::class_of_request(n) } -> std::same_as<std::uint32_t>;  // rounded up
    { F::class_of_free(n) } -> std::same_as<std::uint32_t>;     // rounded down
    { F::size_of_class(n) } -> std::same_as<std::uint32_t>;     // the smallest of the class
    { F::small_max } -> std::convertible_to<std::uint32_t>;     // granules; larger ones never wait
};

/// Freed blocks wait before they merge (heap/waiting_blocks.hpp): that needs classes.
template <class F>
concept defers = has_size_classes<F> && F::deferred_max != 0 && requires {
    // The blocks that wait in one class are at most one part in this many of the heap.
    { F::deferred_share } -> std::convertible_to<std::uint32_t>;
    // Nor more than so many bytes.
    { F::deferred_size_max } -> std::convertible_to<std::uint32_t>;
};

/// A heap of several regions compares what each would give, and takes the smallest.
template <class F>
concept takes_smallest_of_all_regions = requires { F::smallest_of_all_regions; };

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
