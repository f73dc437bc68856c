// cairn/alloc/fit.hpp - what fits are made of: the parts for an index of free blocks.
//
//      block.hpp             the header in front of each block, and the links inside a free one
//      free_lists.hpp        doubly linked lists, one for each class, with a bitmap of those that
//        two_level_bitmap      are not empty
//      size_class.hpp        classes of sizes: 16 to an octave
//      corrupt.hpp           how a heap ends that finds its own words changed
//
// A fit is the policy of heap<Fit>: which free block a request takes. Four come with the library:
// good_fit.hpp, best_fit.hpp, first_fit.hpp, half_fit.hpp. Programs include heap.hpp; this header is
// for those who write a fit.
#pragma once

#include <cairn/alloc/fit/block.hpp>
#include <cairn/alloc/fit/corrupt.hpp>
#include <cairn/alloc/fit/free_lists.hpp>
#include <cairn/alloc/fit/size_class.hpp>
