// lab/peers/kinds.hpp - the kinds of things that peers offer to the families.
//
// A peer is a class in lab/peers/<name>.hpp with an overload of offer() for each kind that it has,
// and a line in lab/peers/peers.cmake:
//
//      struct my_peer {
//          template <std::size_t Size>
//          static void offer(kinds::pools<Size>, auto visit) {
//              visit.template operator()<my_pool<Size>>("my::pool");
//          }
//      };
#pragma once

#include <cstddef>

namespace lab::kinds {

struct arenas {};  ///< all is freed at once: families/arena_family.hpp
template <std::size_t Size>
struct pools {};  ///< slots of one size: families/pool_family.hpp
template <std::size_t Size>
struct thread_pools {};  ///< the same, from any thread: families/thread_family.hpp
template <std::size_t Capacity>
struct queues {};  ///< push(p), pop(p): experiments/messages.cpp
template <std::size_t RegionSize>
struct heaps {};  ///< any size, any order: families/heap_family.hpp
template <class T>
struct object_pools {};  ///< construct(), destroy(p): experiments/object-pool.cpp
template <class T>
struct stores {};  ///< things that come and go: families/particle_stores.hpp
template <class T>
struct small_vectors {};    ///< the first elements lie inside: experiments/parser.cpp
struct node_allocators {};  ///< a template for std::map: experiments/nodes.cpp
struct graphs {};           ///< objects with cycles: families/graph_family.hpp
template <class Base>
struct polymorphic_stores {};  ///< objects of several types: experiments/virtual-calls.cpp

}  // namespace lab::kinds
