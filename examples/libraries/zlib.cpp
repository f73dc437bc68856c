// How does zlib get its memory from an arena, stream by stream?
#include <cairn/adapt/zlib.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::growing_arena memory;
    z_stream stream{};
    cairn::set_zlib_memory(stream, memory);  // before the init function
    const int made = deflateInit(&stream, Z_DEFAULT_COMPRESSION);
    // [/use]
    std::printf("a stream takes %zu bytes\n", memory.used_size());
    deflateEnd(&stream);
    memory.reset();  // after each stream
    return made;
}
