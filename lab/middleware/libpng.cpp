// Images with libpng and the zlib inside: 24 images of 16 to 256 pixels are written and read back.
#include <cairn/adapt/libpng.hpp>
#include <cairn/alloc/growing_arena.hpp>

#include <cstring>

#include "lab/middleware/run.hpp"

namespace {

unsigned char file[1 << 20];
std::size_t file_size;
std::size_t read_size;

void write(png_structp png, png_infop info, png_uint_32 side) {
    file_size = 0;
    png_set_write_fn(
        png, nullptr,
        [](png_structp, png_bytep data, png_size_t size) {
            std::memcpy(file + file_size, data, size);
            file_size += size;
        },
        nullptr);
    png_set_IHDR(png, info, side, side, 8, PNG_COLOR_TYPE_RGBA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, 1);
    png_write_info(png, info);
    unsigned char row[1024];
    for (png_uint_32 y = 0; y != side; ++y) {
        for (png_uint_32 x = 0; x != side * 4; ++x) row[x] = static_cast<unsigned char>(x * y / 64);
        png_write_row(png, row);
    }
    png_write_end(png, nullptr);
}

std::uint64_t read(png_structp png, png_infop info) {
    read_size = 0;
    png_set_read_fn(png, nullptr, [](png_structp, png_bytep data, png_size_t size) {
        std::memcpy(data, file + read_size, size);
        read_size += size;
    });
    png_read_info(png, info);
    unsigned char row[1024];
    std::uint64_t sum = 0;
    for (png_uint_32 left = png_get_image_height(png, info); left != 0; --left) {
        png_read_row(png, row, nullptr);
        sum += row[left];
    }
    png_read_end(png, nullptr);
    return sum;
}

}  // namespace

int main(int count, char** words) {
    std::memset(file, 1, sizeof file);  // its pages are the program's, not the library's
    cairn::growing_arena memory;
    return lab::middleware::run(count, words, [&](bool on_cairn, auto& call) -> std::uint64_t {
        constexpr const char* version = PNG_LIBPNG_VER_STRING;
        std::uint64_t sum = 0;
        for (int i = 0; i != 24; ++i) {
            call([&] {
                png_structp png = on_cairn
                                      ? cairn::new_png_writer(memory)
                                      : png_create_write_struct(version, nullptr, nullptr, nullptr);
                png_infop info = png_create_info_struct(png);
                write(png, info, 16U << i % 5);
                png_destroy_write_struct(&png, &info);
                if (on_cairn) memory.reset();
            });
            call([&] {
                png_structp png = on_cairn
                                      ? cairn::new_png_reader(memory)
                                      : png_create_read_struct(version, nullptr, nullptr, nullptr);
                png_infop info = png_create_info_struct(png);
                sum += read(png, info) + file_size;
                png_destroy_read_struct(&png, &info, nullptr);
                if (on_cairn) memory.reset();
            });
        }
        return sum;
    });
}
