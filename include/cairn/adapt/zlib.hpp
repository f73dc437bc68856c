// cairn/adapt/zlib.hpp - a stream of zlib in a memory of its own.
//
//      cairn::growing_arena memory;
//      z_stream stream{};
//      cairn::set_zlib_memory(stream, memory);      // before deflateInit() or inflateInit()
//
// When the memory refuses, zlib returns Z_MEM_ERROR.
//
// Memory:    a stream takes 4 to 5 blocks at its start and gives them back at its end: an arena
//            that is reset after each stream, or a heap<>.
// Lifetimes: the memory outlives the stream.
// Threads:   those of the memory. A stream is used by one thread at a time.
#pragma once

#include <cairn/adapt/hooks.hpp>

#include <zlib.h>

namespace cairn { inline namespace CAIRN_FLAVOUR {

/// `stream` takes its blocks from `memory`. Requires: its init function was not called yet.
template <byte_allocator A>
void set_zlib_memory(z_stream& stream, A& memory) noexcept {
    using in = context_hooks<A>;
    stream.zalloc = [](void* context, uInt count, uInt size) -> void* {
        return (in::malloc)(context, std::size_t{count} * size);
    };
    stream.zfree = [](void* context, void* p) { (in::free)(context, p); };
    stream.opaque = &memory;
}

}}  // namespace cairn::CAIRN_FLAVOUR
