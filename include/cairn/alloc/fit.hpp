// cairn/alloc/fit.hpp - what a fit is: the part of a heap that says which free block a request
// gets.
//
//      heap<my_fit>     regions, headers, merging, checks     written once, heap.hpp and region.hpp
//           |
//      my_fit           how large a block of a request is     constants and static functions
//           |
//      my_fit::index    which blocks are free, by size        in the region, in front of the blocks
//
// The concepts below say all that a heap asks of one. docs/adding-a-fit.md lists the files of a new
// fit, tests/alloc/fit_test.cpp has the smallest one that works.
//
// Parts for an index, in the folder fit/:
//      block.hpp                 the header in front of each block, and the links inside a free one
//      free_lists.hpp            a doubly linked list for each class; a two_level_bitmap of those
//                                that are not empty
//      size_class.hpp            classes of sizes: 16 to an octave
//      corrupt.hpp               how a heap ends that finds its own words changed
//
// Trust: an index lies in front of the blocks and is believed. What it keeps in free blocks (links)
//        may have been written over: it is looked at before it is followed, see free_lists.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <cairn/alloc/fit/block.hpp>
#include <cairn/alloc/fit/corrupt.hpp>
#include <cairn/alloc/fit/free_lists.hpp>
#include <cairn/alloc/fit/hidden_word.hpp>
#include <cairn/alloc/fit/size_class.hpp>
#include <cairn/storage/step_counter.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

namespace detail {

/// Visits nothing: the concept needs some visitor.
struct no_visit {
    void operator()(std::uint32_t) const noexcept {}
};

/// What knows the free blocks of one region. It is an object at the region's front, 8-aligned and
/// made of plain numbers, with an array behind it: the bytes may move, so it holds no address.
/// Blocks are named by their granule, sizes count granules, no_block is none.
template <class Index>
concept fit_index = requires(Index& index, const Index& looked_at, block_map b,
                             std::uint32_t g, std::uint32_t size, std::uint32_t key) {
    // Bytes of the array behind the object, for a region of `size` granules; grows by less than
    // they do.
    { Index::array_size(size) } -> std::convertible_to<std::size_t>;
    // Forgets all blocks of a region of `size` granules; links are encoded with `key` from now on.
    index.clear(size, key);
    // Block `g` of `size` is free now. Its header is written afterwards: it may not be read here.
    index.insert(b, g, size);
    // Block `g` of `size`, which the index has, is free no longer. Its links may be read, not its
    // header.
    index.remove(b, g, size);
    // The free block `g` of `size` becomes another one that overlaps it: remove, then insert, or
    // less.
    index.replace(b, g, size, g, size);
    // A free block of at least `size`, which stays in the index, or no_block.
    { looked_at.find(b, size) } -> std::same_as<std::uint32_t>;
    // Size of the largest free block, 0 without one. A question, never asked by an operation.
    { looked_at.largest(b) } -> std::same_as<std::uint32_t>;
    // Calls visit(g) once for each free block, and asserts what the index believes of it.
    looked_at.validate(b, no_visit{});
};

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

// ---------------------------------------------------------------- what a fit may offer besides

/// Parameters of the fit, which go into the mark of a region beside its name.
template <class F>
concept has_shape = requires {
    { F::shape } -> std::convertible_to<std::uint32_t>;
};

/// Requests and free blocks are numbered by size classes: a request whose class is known is found
/// and cut without computing it again (index::find_class), and small ones are looked up.
template <class F>
concept has_size_classes = requires(std::uint32_t n, std::size_t granules) {
    { F::class_of_request(n) } -> std::same_as<std::uint32_t>;       // rounded up
    { F::class_of_free(n) } -> std::same_as<std::uint32_t>;          // rounded down
    { F::size_of_class(n) } -> std::same_as<std::uint32_t>;          // the smallest of the class
    { F::small_max } -> std::convertible_to<std::uint32_t>;          // in granules
    { F::class_of_small(granules) } -> std::same_as<std::uint32_t>;  // up to small_max
    { F::size_of_small_class(n) } -> std::same_as<std::uint32_t>;    // of such a class
};

/// Freed blocks wait before they merge (deferred.hpp): that needs classes.
template <class F>
concept defers = has_size_classes<F> && F::deferred_max != 0 && requires {
    // What waits in one class is at most one part in this many of the heap.
    { F::deferred_share } -> std::convertible_to<std::uint32_t>;
    // Nor more than so many bytes.
    { F::deferred_size_max } -> std::convertible_to<std::uint32_t>;
};

/// A heap of several regions compares what each would give, and takes the smallest.
template <class F>
concept takes_smallest_of_all_regions = requires { F::smallest_of_all_regions; };

/// What is found stands at the head of a list: it is taken out, or replaced by its rest, as the
/// head.
template <class Index>
concept finds_heads = requires(Index& index, block_map b, std::uint32_t size) {
    index.remove(b, index.find_head(b, size));
    index.replace(b, index.find_head(b, size), size, size);
};

/// A freed block and its free neighbours become one in one go.
template <class Index>
concept joins =
    requires(Index& index, block_map b, std::uint32_t g) { index.join(b, g, g, g, g); };

/// Looks at a few blocks more for one that `accept` takes: over-aligned requests.
template <class Index>
concept finds_if = requires(const Index& index, block_map b, std::uint32_t size) {
    index.find_if(b, size, 4u, [](std::uint32_t) { return true; });
};

}  // namespace detail
}}  // namespace cairn::CAIRN_FLAVOUR
