// How does libpng get its memory from an arena, image by image?
#include <cairn/adapt/libpng.hpp>
#include <cairn/alloc/growing_arena.hpp>
#include <cstdio>

int main() {
    // [use]
    cairn::growing_arena memory;
    png_structp png = cairn::new_png_reader(memory);  // nullptr: no memory
    png_infop info = png_create_info_struct(png);
    // [/use]
    std::printf("a reader takes %zu bytes\n", memory.used_size());
    png_destroy_read_struct(&png, &info, nullptr);
    memory.reset();  // after each image
    return 0;
}
