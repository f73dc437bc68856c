// cairn/fwd.hpp - names of cairn's classes, for headers that only point to them.
//
// The classes lie in an inline namespace (core/inside/flavour.hpp), so a declaration written by
// hand, `namespace cairn { class arena; }`, names another class: include this instead. Templates
// with default arguments are not here; their own headers are light (tools/header_cost.py).
#pragma once

#include <cairn/core/inside/element.hpp>
#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR {

// core, os
class alignment;
class allocator_ref;
class mutex;
class null_allocator;
class page_allocator;
class system_allocator;
template <detail::element T>
class per_thread;

// alloc
class arena;
class concurrent_heap;
class concurrent_pool;
class concurrent_relocatable_heap;
class double_ended_arena;
class growing_arena;
class pool;
class relocatable_heap;
class tagged_arenas;
class virtual_arena;
template <class Arena>
class arena_scope;
template <detail::element T>
class pool_of;

// containers
template <detail::element T>
class packed_array;

}}  // namespace cairn::CAIRN_FLAVOUR
