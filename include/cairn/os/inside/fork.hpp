// cairn/os/inside/fork.hpp - three functions around fork(), for the library's own state.
//
// A child of fork() has one thread and a copy of every lock, also of locks that other threads held.
// Code that keeps locks across threads takes them before and gives them back after, on both sides.
//
// Use it for: programs that fork without exec and use cairn in the child: a test runner, a server
// with forked workers, a crash reporter (docs/gotchas.md). A game that only starts other programs
// does not need it. All handlers that the system knows are here and in src/os/inside/fork.cpp;
// src/alloc/concurrent_pool/fork.cpp repairs pools in the child.
//
// Threads: any. Where there is no fork (Windows), nothing is ever called.
#pragma once

#include <cairn/core/inside/flavour.hpp>

namespace cairn { inline namespace CAIRN_FLAVOUR { namespace detail {

/// Has `before` called in the parent before each fork(), `in_parent` and `in_child` after it.
/// The registration is for the life of the process: call it once, not once per object.
/// Returns: false when the system has no room for it.
[[nodiscard]] bool around_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

}}}  // namespace cairn::CAIRN_FLAVOUR::detail
